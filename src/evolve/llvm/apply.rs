//! Edits are applied one after the other. One that no longer fits, since an earlier edit took what it names, changes nothing.

use crate::edit;
use crate::edit::{Edit, Id};
use crate::llvm::library::{Node, Type};
use crate::llvm::module::Program;

/// An edit does not fit the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

type Applied<T> = std::result::Result<T, Gone>;

impl Program<'_> {
    /// Applies edits, and returns those that fit.
    pub fn apply_all(&mut self, edits: &[Edit]) -> Vec<Edit> {
        edits.iter().filter(|edit| self.apply(edit).is_ok()).cloned().collect()
    }

    /// Applies an edit.
    ///
    /// # Errors
    /// [`Gone`] where it does not fit; then nothing is changed.
    pub fn apply(&mut self, edit: &Edit) -> Applied<()> {
        match edit {
            Edit::Delete { at, instead } => self.delete(*at, *instead),
            Edit::Operand { at, index, to } => {
                let (user, index) = (self.instruction(*at)?, *index as usize);
                let value = self.fitting(*to, user, index)?;
                self.llvm.set_operand(user, index, value);
                Ok(())
            }
            Edit::Copy { of, new, before, operands, user, index } => {
                self.copy([*of, *new, *before], operands, user.map(|user| (user, *index as usize)))
            }
            Edit::Move { of, new, before, operands, instead } => self.shift([*of, *new, *before], operands, *instead),
            Edit::Replace { at, by, new, operands } => {
                let (old, by) = (self.movable(*at)?, self.movable(*by)?);
                if self.llvm.type_of(old) != self.llvm.type_of(by) || old == by {
                    return Err(Gone);
                }
                let operands = self.operands_at(by, operands, old)?;
                let made = self.place(by, *new, old, &operands)?;
                self.take_over(*at, old, made);
                Ok(())
            }
            Edit::Swap { pair, new, operands } => self.swap(*pair, *new, operands),
        }
    }

    fn instruction(&self, id: Id) -> Applied<Node> {
        let value = self.values.get(&id).copied().ok_or(Gone)?;
        if self.llvm.is_instruction(value) { Ok(value) } else { Err(Gone) }
    }

    fn movable(&self, id: Id) -> Applied<Node> {
        let value = self.instruction(id)?;
        if self.is_movable(value) { Ok(value) } else { Err(Gone) }
    }

    fn resolve(&self, value: edit::Value, of: Type) -> Applied<Node> {
        let kind = self.llvm.kind(of);
        match value {
            edit::Value::Id(id) => self.values.get(&id).copied().ok_or(Gone),
            edit::Value::Int(value) if kind == super::library::INTEGER => Ok(self.llvm.const_int(of, value)),
            edit::Value::Real(bits) if (super::library::HALF..=super::library::DOUBLE).contains(&kind) => {
                Ok(self.llvm.const_real(of, f64::from_bits(bits)))
            }
            _ => Err(Gone),
        }
    }

    /// A value for an operand of an instruction where it is now.
    fn fitting(&self, value: edit::Value, user: Node, index: usize) -> Applied<Node> {
        if !self.slots(user).contains(&index) {
            return Err(Gone);
        }
        let old = self.llvm.operands(user)[index];
        let new = self.resolve(value, self.llvm.type_of(old))?;
        if self.is_alike(new, old) && self.is_available(new, user, index) { Ok(new) } else { Err(Gone) }
    }

    /// Operands of an instruction in front of another one.
    fn operands_at(&self, of: Node, wanted: &[edit::Value], before: Node) -> Applied<Vec<Node>> {
        let own = self.llvm.operands(of);
        if own.len() != wanted.len() {
            return Err(Gone);
        }
        let resolved = own.iter().zip(wanted).map(|(own, wanted)| match wanted {
            edit::Value::Same => Ok(*own),
            wanted => self.resolve(*wanted, self.llvm.type_of(*own)),
        });
        let resolved = resolved.collect::<Applied<Vec<Node>>>()?;
        let fits = |(new, old): (&Node, &Node)| self.is_alike(*new, *old) && self.is_there(*new, before);
        if resolved.iter().zip(&own).all(fits) { Ok(resolved) } else { Err(Gone) }
    }

    /// Whether a value is there in front of an instruction that is no join.
    pub(super) fn is_there(&self, value: Node, before: Node) -> bool {
        !self.llvm.is_instruction(value) || self.precedes(value, before)
    }

    fn delete(&mut self, at: Id, instead: Option<edit::Value>) -> Applied<()> {
        let old = self.instruction(at)?;
        let is_used = !self.llvm.users(old).is_empty();
        if !self.is_removable(old) {
            return Err(Gone);
        }
        if is_used {
            let value = self.resolve(instead.ok_or(Gone)?, self.llvm.type_of(old))?;
            if value == old || !self.is_alike(value, old) || !self.is_there(value, old) {
                return Err(Gone);
            }
            self.llvm.replace_uses(old, value);
        }
        self.forget(at, old);
        self.llvm.erase(old);
        Ok(())
    }

    fn copy(&mut self, [of, new, before]: [Id; 3], operands: &[edit::Value], user: Option<(Id, usize)>) -> Applied<()> {
        let (source, before) = (self.movable(of)?, self.instruction(before)?);
        if self.is_join(before) || self.has_result(source) != user.is_some() {
            return Err(Gone);
        }
        let operands = self.operands_at(source, operands, before)?;
        let Some((user, index)) = user else { return self.place(source, new, before, &operands).map(drop) };
        let user = self.instruction(user)?;
        if !self.slots(user).contains(&index) || !self.is_alike(source, self.llvm.operands(user)[index]) {
            return Err(Gone);
        }
        let is_before = user == before && !self.is_join(user) || self.is_there_for(before, user, index);
        if !is_before {
            return Err(Gone);
        }
        let made = self.place(source, new, before, &operands)?;
        self.llvm.set_operand(user, index, made);
        Ok(())
    }

    /// Whether what is put in front of `before` is there for an operand of `user`.
    fn is_there_for(&self, before: Node, user: Node, index: usize) -> bool {
        let block = self.llvm.block_of(before);
        match self.is_join(user) {
            true => self.dominators.dominates(block, self.llvm.incoming_block(user, index)),
            false => self.precedes(before, user),
        }
    }

    fn shift(
        &mut self,
        [of, new, before]: [Id; 3],
        operands: &[edit::Value],
        instead: Option<edit::Value>,
    ) -> Applied<()> {
        let (old, place) = (self.movable(of)?, self.instruction(before)?);
        if self.is_join(place) || old == place {
            return Err(Gone);
        }
        let operands = self.operands_at(old, operands, place)?;
        if operands.contains(&old) {
            return Err(Gone);
        }
        let late: Vec<(Node, usize)> = self
            .uses(old)
            .into_iter()
            .filter(|(user, index)| !(*user == place || self.is_there_for(place, *user, *index)))
            .collect();
        let stand_in = match late.is_empty() {
            true => None,
            false => {
                let value = self.resolve(instead.ok_or(Gone)?, self.llvm.type_of(old))?;
                let fits = value != old && self.is_alike(value, old) && self.is_there(value, old);
                Some(value).filter(|_| fits).ok_or(Gone).map(Some)?
            }
        };
        let made = self.place(old, new, place, &operands)?;
        for (user, index) in late {
            let Some(value) = stand_in else { continue };
            self.llvm.set_operand(user, index, value);
        }
        self.take_over(of, old, made);
        Ok(())
    }

    fn swap(&mut self, pair: [Id; 2], new: [Id; 2], operands: &[Vec<edit::Value>; 2]) -> Applied<()> {
        let [first, second] = [self.movable(pair[0])?, self.movable(pair[1])?];
        if first == second || self.llvm.type_of(first) != self.llvm.type_of(second) {
            return Err(Gone);
        }
        let at_second = self.operands_at(first, &operands[0], second)?;
        let at_first = self.operands_at(second, &operands[1], first)?;
        let first_there = self.place(first, new[0], second, &at_second)?;
        let second_there = self.place(second, new[1], first, &at_first)?;
        self.take_over(pair[0], first, second_there);
        self.take_over(pair[1], second, first_there);
        Ok(())
    }

    /// Uses of an instruction: users, and the indices of their operands.
    pub(super) fn uses(&self, value: Node) -> Vec<(Node, usize)> {
        let mut users = self.llvm.users(value);
        users.sort();
        users.dedup();
        let of = |user: Node| {
            let operands = self.llvm.operands(user).into_iter().enumerate();
            operands.filter(|(_, operand)| *operand == value).map(|(at, _)| (user, at)).collect::<Vec<_>>()
        };
        users.into_iter().flat_map(of).collect()
    }

    /// A copy of an instruction in front of another one, with operands of its own and a name for later edits.
    fn place(&mut self, of: Node, new: Id, before: Node, operands: &[Node]) -> Applied<Node> {
        if self.values.contains_key(&new) {
            return Err(Gone);
        }
        let made = self.llvm.clone_before(self.handles(), of, before);
        for (index, operand) in operands.iter().enumerate() {
            self.llvm.set_operand(made, index, *operand);
        }
        self.values.insert(new, made);
        self.ids.insert(made, new);
        Ok(made)
    }

    /// Gives the users of an instruction another one, and removes it.
    fn take_over(&mut self, id: Id, old: Node, by: Node) {
        if self.has_result(old) {
            self.llvm.replace_uses(old, by);
        }
        self.forget(id, old);
        self.llvm.erase(old);
    }

    fn forget(&mut self, id: Id, value: Node) {
        self.values.remove(&id);
        self.ids.remove(&value);
    }
}
