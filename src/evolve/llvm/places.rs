//! Instructions by what they do, and the values that may stand in their operands.

use crate::edit;
use crate::edit::Id;
use crate::llvm::library::{DOUBLE, HALF, INTEGER, Node, POINTER, Type, VECTOR, VOID};
use crate::llvm::module::Program;

/// Opcodes of `llvm-c/Core.h`.
const BRANCH: i32 = 2;
const SWITCH: i32 = 3;
const TERMINATORS: [i32; 7] = [1, BRANCH, SWITCH, 4, 5, 7, 67];
const ALLOCA: i32 = 26;
pub(super) const LOAD: i32 = 27;
const STORE: i32 = 28;
const ADDRESS: i32 = 29;
const BITCAST: i32 = 41;
const COMPARES: [i32; 2] = [42, 43];
const PHI: i32 = 44;
const CALL: i32 = 45;
const SELECT: i32 = 46;
const ATOMICS: [i32; 3] = [55, 56, 57];

/// Intrinsics that say something of the code and do nothing.
const REMARKS: [&str; 3] = ["llvm.dbg", "llvm.lifetime", "llvm.assume"];

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A barrier.
    Barrier,
    /// A store or an atomic operation.
    Store,
    /// A compare, a conditional jump or a selection.
    Condition,
    /// A load.
    Load,
    /// Computes an address.
    Address,
    /// Joins values of several paths.
    Join,
    /// Calls a function.
    Call,
    /// Anything else that computes.
    Arithmetic,
}

impl Class {
    /// The classes of which a single edit is right thirty times as often as of the others.
    pub fn is_promising(self) -> bool {
        matches!(self, Class::Barrier | Class::Store | Class::Condition)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Barrier => "barrier",
            Class::Store => "store",
            Class::Condition => "condition",
            Class::Load => "load",
            Class::Address => "address",
            Class::Join => "join",
            Class::Call => "call",
            Class::Arithmetic => "arithmetic",
        }
    }
}

/// An instruction of the unedited program.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its name in edits.
    pub id: Id,
    /// What it does.
    pub class: Class,
    /// LLVM's text.
    pub text: String,
    /// Line of source; 0 where none is known.
    pub line: u32,
    /// Number of loops that it stands in.
    pub depth: u32,
}

/// The memory that a pointer leads to, as far as that is seen.
#[derive(PartialEq, Eq)]
enum Root {
    Argument(Node),
    Variable(Node),
    Unknown,
}

impl Program<'_> {
    pub(super) fn class(&self, instruction: Node) -> Class {
        match self.llvm.opcode(instruction) {
            STORE => Class::Store,
            op if ATOMICS.contains(&op) => Class::Store,
            BRANCH | SWITCH | SELECT => Class::Condition,
            op if COMPARES.contains(&op) => Class::Condition,
            LOAD => Class::Load,
            ADDRESS => Class::Address,
            PHI => Class::Join,
            CALL if self.llvm.callee(instruction).is_some_and(|name| name.contains("barrier")) => Class::Barrier,
            CALL => Class::Call,
            _ => Class::Arithmetic,
        }
    }

    /// The instructions, in order.
    pub fn places(&self) -> Vec<Place> {
        let known = self.instructions().into_iter().filter_map(|value| Some((*self.ids.get(&value)?, value)));
        known
            .map(|(id, value)| Place {
                id,
                class: self.class(value),
                text: self.llvm.print(value).trim().to_string(),
                line: self.llvm.line(value),
                depth: self.dominators.depth(self.llvm.block_of(value)),
            })
            .collect()
    }

    pub(super) fn is_join(&self, instruction: Node) -> bool {
        self.llvm.opcode(instruction) == PHI
    }

    pub(super) fn ends_block(&self, instruction: Node) -> bool {
        TERMINATORS.contains(&self.llvm.opcode(instruction))
    }

    /// Whether an instruction can be removed.
    pub(super) fn is_removable(&self, instruction: Node) -> bool {
        let remarks = || self.llvm.callee(instruction).is_some_and(|name| REMARKS.iter().any(|r| name.starts_with(r)));
        !self.ends_block(instruction)
            && self.llvm.opcode(instruction) != ALLOCA
            && self.dominators.is_reached(self.llvm.block_of(instruction))
            && !remarks()
    }

    /// Whether an instruction can stand elsewhere.
    pub(super) fn is_movable(&self, instruction: Node) -> bool {
        self.is_removable(instruction) && !self.is_join(instruction)
    }

    /// Whether an instruction gives a value.
    pub(super) fn has_result(&self, instruction: Node) -> bool {
        self.llvm.kind(self.llvm.type_of(instruction)) != VOID
    }

    /// Indices of operands that can be others.
    pub(super) fn slots(&self, instruction: Node) -> Vec<usize> {
        let operands = self.llvm.operands(instruction);
        match self.llvm.opcode(instruction) {
            // the others are blocks and their cases
            BRANCH if operands.len() == 3 => vec![0],
            SWITCH => vec![0],
            op if TERMINATORS.contains(&op) => Vec::new(),
            _ => (0..operands.len()).filter(|at| self.is_editable(operands[*at])).collect(),
        }
    }

    fn is_editable(&self, operand: Node) -> bool {
        matches!(self.llvm.kind(self.llvm.type_of(operand)), HALF..=DOUBLE | INTEGER | POINTER | VECTOR)
    }

    /// Whether a value is there when an instruction, or the jump to a join, is executed.
    pub(super) fn is_available(&self, value: Node, user: Node, index: usize) -> bool {
        if !self.llvm.is_instruction(value) {
            return true;
        }
        let block = self.llvm.block_of(value);
        if self.is_join(user) {
            return self.dominators.dominates(block, self.llvm.incoming_block(user, index));
        }
        self.precedes(value, user)
    }

    /// Whether every path to `second` passes the instruction `first` before it.
    pub(super) fn precedes(&self, first: Node, second: Node) -> bool {
        let [own, other] = [first, second].map(|instruction| self.llvm.block_of(instruction));
        if own != other {
            return self.dominators.dominates(own, other);
        }
        let mut all = self.llvm.instructions(own).into_iter();
        first != second && all.find(|one| *one == first || *one == second) == Some(first)
    }

    fn root(&self, mut pointer: Node) -> Root {
        loop {
            if self.llvm.is_argument(pointer) {
                return Root::Argument(pointer);
            }
            if self.llvm.is_global(pointer) {
                return Root::Variable(pointer);
            }
            match self.llvm.is_instruction(pointer).then(|| self.llvm.opcode(pointer)) {
                Some(ADDRESS | BITCAST) => pointer = self.llvm.operands(pointer)[0],
                _ => return Root::Unknown,
            }
        }
    }

    /// Whether a value can stand where another one does: of its type, and a pointer to the same memory.
    pub(super) fn is_alike(&self, value: Node, other: Node) -> bool {
        let [own, wanted] = [value, other].map(|one| self.llvm.type_of(one));
        own == wanted && (self.llvm.kind(own) != POINTER || self.root(value) == self.root(other))
    }

    pub(super) fn operand_list(&self, instruction: Node) -> Vec<Node> {
        self.llvm.operands(instruction)
    }

    pub(super) fn operand(&self, instruction: Node, index: usize) -> Node {
        self.llvm.operands(instruction)[index]
    }

    /// Values that can stand where `like` does, as an operand of `user`.
    pub(super) fn pool(&self, like: Node, user: Node, index: usize) -> Vec<edit::Value> {
        self.alike(like, |value| value != user && self.is_available(value, user, index))
    }

    /// Values that can stand where `like` does, in front of an instruction.
    pub(super) fn pool_before(&self, like: Node, before: Node) -> Vec<edit::Value> {
        self.alike(like, |value| self.is_there(value, before))
    }

    /// Values that users of an instruction can get instead of it.
    pub(super) fn stand_ins(&self, at: Node) -> Vec<edit::Value> {
        self.alike(at, |value| self.is_there(value, at))
    }

    fn alike(&self, like: Node, is_there: impl Fn(Node) -> bool) -> Vec<edit::Value> {
        let fits = |value: Node| value != like && self.is_alike(value, like) && is_there(value);
        let mut all: Vec<Id> = self.values.iter().filter(|(_, value)| fits(**value)).map(|(id, _)| *id).collect();
        // the order of a map is not that of the next run
        all.sort();
        all.into_iter().map(edit::Value::Id).chain(self.constants(self.llvm.type_of(like))).collect()
    }

    /// Zero, one and the numbers of this type that the kernel has. Pointers have none: what is null is taken for unreachable.
    fn constants(&self, of: Type) -> Vec<edit::Value> {
        let kind = self.llvm.kind(of);
        let mut found = match kind {
            INTEGER => vec![edit::Value::Int(0), edit::Value::Int(1)],
            HALF..=DOUBLE => [0.0f64, 1.0].map(|value| edit::Value::Real(value.to_bits())).to_vec(),
            _ => return Vec::new(),
        };
        let width = self.llvm.int_width(of);
        let operands = self.instructions().into_iter().flat_map(|one| self.llvm.operands(one));
        for operand in operands.filter(|operand| self.llvm.type_of(*operand) == of && width != Some(1)) {
            let int = self.llvm.int_of(operand).map(edit::Value::Int);
            let value = int.or_else(|| self.llvm.real_of(operand).map(|value| edit::Value::Real(value.to_bits())));
            found.extend(value.filter(|value| !found.contains(value)));
        }
        found
    }
}
