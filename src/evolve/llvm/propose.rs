//! The six operators: draws an edit that fits a program, with its repairs.

use crate::edit::{self, Edit, Id};
use crate::llvm::library::Node;
use crate::llvm::module::Program;
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// Draws before a program is held to have no further edit.
const DRAWS: usize = 50;

/// An operator: draws an edit at an instruction, among all of the program.
type Operator = fn(&Program, Node, &[Node], &mut ChaCha8Rng) -> Option<Edit>;

/// The operators with their shares: exchanges are right least often.
const OPERATORS: [(u32, Operator); 6] = [(5, delete), (7, operand), (3, copy), (3, shift), (2, replace), (1, swap)];

/// Draws edits.
pub struct Proposer {
    /// Share of edits at promising places; as they come where it is 0.
    pub promising: f64,
}

impl Proposer {
    /// An edit that fits the program as it is; `None` where none was found. The program is changed by it.
    pub fn propose(&self, program: &mut Program, rng: &mut ChaCha8Rng) -> Option<Edit> {
        (0..DRAWS).find_map(|_| {
            let edit = self.draw(program, rng)?;
            program.apply(&edit).is_ok().then_some(edit)
        })
    }

    fn draw(&self, program: &Program, rng: &mut ChaCha8Rng) -> Option<Edit> {
        let all = program.instructions();
        let is_chosen = rng.random_bool(self.promising);
        let places: Vec<Node> =
            all.iter().copied().filter(|one| !is_chosen || program.class(*one).is_promising()).collect();
        let places = if places.is_empty() { &all } else { &places };
        let at = *places.choose(rng)?;
        operator(rng)(program, at, &all, rng)
    }
}

fn operator(rng: &mut ChaCha8Rng) -> Operator {
    let mut drawn = rng.random_range(0..OPERATORS.iter().map(|(share, _)| share).sum::<u32>());
    for (share, operator) in OPERATORS {
        if drawn < share {
            return operator;
        }
        drawn -= share;
    }
    OPERATORS[0].1
}

fn id(program: &Program, value: Node) -> Option<Id> {
    program.ids.get(&value).copied()
}

fn new_id(rng: &mut ChaCha8Rng) -> Id {
    Id::Inserted(rng.random())
}

/// A value of the type of an instruction that is there where it stands.
fn stand_in(program: &Program, at: Node, rng: &mut ChaCha8Rng) -> Option<edit::Value> {
    let pool = program.stand_ins(at);
    pool.choose(rng).copied()
}

fn delete(program: &Program, at: Node, _: &[Node], rng: &mut ChaCha8Rng) -> Option<Edit> {
    if !program.is_removable(at) {
        return None;
    }
    let is_used = !program.uses(at).is_empty();
    let instead = if is_used { Some(stand_in(program, at, rng)?) } else { None };
    Some(Edit::Delete { at: id(program, at)?, instead })
}

fn operand(program: &Program, at: Node, _: &[Node], rng: &mut ChaCha8Rng) -> Option<Edit> {
    let index = *program.slots(at).choose(rng)?;
    let to = *program.pool(program.operand(at, index), at, index).choose(rng)?;
    Some(Edit::Operand { at: id(program, at)?, index: index as u32, to })
}

/// Operands of an instruction in front of another one: its own where they are there, else others.
fn operands_for(program: &Program, of: Node, before: Node, rng: &mut ChaCha8Rng) -> Option<Vec<edit::Value>> {
    let operands = program.operand_list(of).into_iter();
    operands
        .map(|own| match program.is_there(own, before) {
            true => Some(edit::Value::Same),
            false => program.pool_before(own, before).choose(rng).copied(),
        })
        .collect()
}

fn copy(program: &Program, before: Node, all: &[Node], rng: &mut ChaCha8Rng) -> Option<Edit> {
    let of = *all.choose(rng)?;
    if !program.is_movable(of) || program.is_join(before) {
        return None;
    }
    let operands = operands_for(program, of, before, rng)?;
    let (mut user, mut index) = (None, 0);
    if program.has_result(of) {
        let takes = |one: &Node| {
            let slots = program.slots(*one).into_iter();
            slots
                .map(|slot| (*one, slot))
                .filter(|(one, slot)| program.is_alike(of, program.operand(*one, *slot)))
                .collect::<Vec<_>>()
        };
        let users: Vec<(Node, usize)> =
            all.iter().filter(|one| **one == before || program.precedes(before, **one)).flat_map(takes).collect();
        let (chosen, slot) = *users.choose(rng)?;
        (user, index) = (Some(id(program, chosen)?), slot as u32);
    }
    Some(Edit::Copy { of: id(program, of)?, new: new_id(rng), before: id(program, before)?, operands, user, index })
}

fn shift(program: &Program, of: Node, all: &[Node], rng: &mut ChaCha8Rng) -> Option<Edit> {
    let before = *all.choose(rng)?;
    if !program.is_movable(of) || program.is_join(before) || before == of {
        return None;
    }
    let operands = operands_for(program, of, before, rng)?;
    let instead = if program.has_result(of) { stand_in(program, of, rng) } else { None };
    Some(Edit::Move { of: id(program, of)?, new: new_id(rng), before: id(program, before)?, operands, instead })
}

fn replace(program: &Program, at: Node, all: &[Node], rng: &mut ChaCha8Rng) -> Option<Edit> {
    let by = partner(program, at, all, rng)?;
    let operands = operands_for(program, by, at, rng)?;
    Some(Edit::Replace { at: id(program, at)?, by: id(program, by)?, new: new_id(rng), operands })
}

fn swap(program: &Program, at: Node, all: &[Node], rng: &mut ChaCha8Rng) -> Option<Edit> {
    let other = partner(program, at, all, rng)?;
    let operands = [operands_for(program, at, other, rng)?, operands_for(program, other, at, rng)?];
    Some(Edit::Swap { pair: [id(program, at)?, id(program, other)?], new: [new_id(rng), new_id(rng)], operands })
}

/// Another instruction of the same type.
fn partner(program: &Program, at: Node, all: &[Node], rng: &mut ChaCha8Rng) -> Option<Node> {
    if !program.is_movable(at) {
        return None;
    }
    let fits = |one: &&Node| **one != at && program.is_movable(**one) && program.is_alike(**one, at);
    all.iter().filter(fits).collect::<Vec<_>>().choose(rng).map(|one| **one)
}
