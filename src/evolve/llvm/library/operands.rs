//! Operands, uses, types and changes.

use super::*;

#[allow(clippy::undocumented_unsafe_blocks)] // as in the file above
impl Llvm {
    /// Operands, of a call without the function.
    pub(crate) fn operands(&self, instruction: Node) -> Vec<Node> {
        unsafe {
            let all = (self.count_operands)(instruction.0).max(0) as c_uint;
            let count = if (self.is_call)(instruction.0).is_null() { all } else { all.saturating_sub(1) };
            (0..count).map(|at| Node((self.operand)(instruction.0, at))).collect()
        }
    }

    pub(crate) fn set_operand(&self, instruction: Node, at: usize, value: Node) {
        unsafe { (self.set_operand)(instruction.0, at as c_uint, value.0) }
    }

    /// Block from which a phi takes its operand.
    pub(crate) fn incoming_block(&self, phi: Node, at: usize) -> Block {
        Block(unsafe { (self.incoming_block)(phi.0, at as c_uint) })
    }

    pub(crate) fn users(&self, value: Node) -> Vec<Node> {
        unsafe {
            let first = (self.first_use)(value.0);
            let uses = std::iter::successors((!first.is_null()).then_some(first), |one| {
                let next = (self.next_use)(*one);
                (!next.is_null()).then_some(next)
            });
            uses.map(|one| Node((self.user)(one))).collect()
        }
    }

    pub(crate) fn replace_uses(&self, value: Node, by: Node) {
        unsafe { (self.replace_uses)(value.0, by.0) }
    }

    pub(crate) fn erase(&self, instruction: Node) {
        unsafe { (self.erase)(instruction.0) }
    }

    /// A copy of an instruction, in front of another one.
    pub(crate) fn clone_before(&self, owned: &Owned, instruction: Node, before: Node) -> Node {
        unsafe {
            let copy = (self.clone)(instruction.0);
            let builder = (self.builder_create)(owned.context);
            (self.builder_before)(builder, before.0);
            (self.builder_insert)(builder, copy);
            (self.builder_dispose)(builder);
            Node(copy)
        }
    }

    /// Has all users of a load of `index` see `size - 1 - index` instead, where `size` is loaded from a variable.
    pub(crate) fn reverse_index(&self, owned: &Owned, load: Node, size: Node) {
        let name = c_string("");
        unsafe {
            let kind = (self.type_of)(load.0);
            let builder = (self.builder_create)(owned.context);
            (self.builder_before)(builder, load.0);
            let size = (self.builder_load)(builder, kind, size.0, name.as_ptr());
            let last = (self.builder_sub)(builder, size, (self.const_int)(kind, 1, 0), name.as_ptr());
            let index = self.clone_before(owned, load, load);
            let reversed = (self.builder_sub)(builder, last, index.0, name.as_ptr());
            (self.builder_dispose)(builder);
            (self.replace_uses)(load.0, reversed);
            (self.erase)(load.0);
        }
    }

    pub(crate) fn type_of(&self, value: Node) -> Type {
        Type(unsafe { (self.type_of)(value.0) })
    }

    pub(crate) fn kind(&self, of: Type) -> i32 {
        unsafe { (self.type_kind)(of.0) }
    }

    /// Bits of an integer type.
    pub(crate) fn int_width(&self, of: Type) -> Option<u32> {
        (self.kind(of) == INTEGER).then(|| unsafe { (self.int_width)(of.0) })
    }

    pub(crate) fn const_int(&self, of: Type, value: i64) -> Node {
        Node(unsafe { (self.const_int)(of.0, value as u64, 1) })
    }

    pub(crate) fn const_real(&self, of: Type, value: f64) -> Node {
        Node(unsafe { (self.const_real)(of.0, value) })
    }

    pub(crate) fn print(&self, value: Node) -> String {
        unsafe { self.text((self.print)(value.0)) }
    }

    /// Line of source; 0 where there is none.
    pub(crate) fn line(&self, instruction: Node) -> u32 {
        unsafe { (self.line)(instruction.0) }
    }
}
