//! A kernel's module: read, looked at, and written.

use crate::edit::Id;
use crate::llvm::dominators::Dominators;
use crate::llvm::library::{Block, Llvm, Node, Owned};
use seqtune_kernel::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Functions of PoCL's own library, which stay calls: what the kernel's author wrote is inlined before it is edited.
const LIBRARY_PREFIXES: [&str; 5] = ["_Z", "_cl_", "__pocl", "llvm.", "__builtin"];

/// What makes one function of a kernel and its helpers.
const INLINE: &str = "cgscc(inline),function(sroa,early-cse,instcombine,simplifycfg)";

/// What makes twins of programs that differ in nothing that counts.
const NORMAL: &str = "function(instcombine,gvn,adce,dse,simplifycfg,instcombine)";

/// Places of work-items, which the driver sets for each, and sizes of their groups.
const PLACES: [[&str; 2]; 3] =
    [["_local_id_x", "_local_size_x"], ["_local_id_y", "_local_size_y"], ["_local_id_z", "_local_size_z"]];

/// libLLVM in the version that PoCL links.
pub struct Library {
    pub(crate) llvm: Llvm,
    /// Its major version.
    pub version: u32,
}

impl Library {
    /// Opens a version.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where it is not known, or not installed.
    pub fn open(version: u32) -> Result<Library> {
        match version {
            15 => Ok(Library { llvm: Llvm::open(version)?, version }),
            _ => Err(Error::Unavailable(format!(
                "PoCL uses LLVM {version}, whose code was never edited here; LLVM 15 was"
            ))),
        }
    }

    /// Bitcode in which the kernel's own helpers are inlined: that which is edited.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be read, or lacks the kernel.
    pub fn prepare(&self, bitcode: &[u8]) -> Result<Vec<u8>> {
        let llvm = &self.llvm;
        let owned = Module { llvm, owned: llvm.parse(bitcode)? };
        let is_library = |name: &str| LIBRARY_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let functions = llvm.functions(&owned.owned).into_iter().filter(|function| is_library(&llvm.name(*function)));
        let held: Vec<Node> =
            functions.filter(|function| llvm.set_attribute(&owned.owned, *function, "noinline")).collect();
        llvm.run_passes(&owned.owned, INLINE)?;
        held.into_iter().for_each(|function| llvm.remove_attribute(function, "noinline"));
        Ok(llvm.bitcode(&owned.owned))
    }
}

/// A module that is freed with its context.
struct Module<'l> {
    llvm: &'l Llvm,
    owned: Owned,
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        self.llvm.dispose(&self.owned);
    }
}

/// The code of a kernel.
pub struct Program<'l> {
    pub(super) llvm: &'l Llvm,
    module: Module<'l>,
    pub(super) function: Node,
    pub(super) dominators: Dominators,
    /// Values by their names in edits, and back.
    pub(super) values: HashMap<Id, Node>,
    pub(super) ids: HashMap<Node, Id>,
}

impl<'l> Program<'l> {
    /// Reads prepared bitcode.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be read, or lacks the kernel.
    pub fn read(library: &'l Library, bitcode: &[u8], entry: &str) -> Result<Program<'l>> {
        let llvm = &library.llvm;
        let module = Module { llvm, owned: llvm.parse(bitcode)? };
        let missing = || Error::Failed(format!("the bitcode has no kernel `{entry}`"));
        let function = llvm.function(&module.owned, entry).ok_or_else(missing)?;
        let blocks = llvm.blocks(function);
        let dominators = Dominators::new(llvm, &blocks);
        let arguments = llvm.arguments(function).into_iter().zip(0..).map(|(value, at)| (Id::Argument(at), value));
        let instructions = blocks.iter().flat_map(|block| llvm.instructions(*block));
        let instructions = instructions.zip(0..).map(|(value, at)| (Id::Original(at), value));
        let values: HashMap<Id, Node> = arguments.chain(instructions).collect();
        let ids = values.iter().map(|(id, value)| (*value, *id)).collect();
        Ok(Program { llvm, module, function, dominators, values, ids })
    }

    pub(super) fn handles(&self) -> &Owned {
        &self.module.owned
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        self.llvm.blocks(self.function)
    }

    /// Instructions of the kernel, in order.
    pub(super) fn instructions(&self) -> Vec<Node> {
        self.blocks().into_iter().flat_map(|block| self.llvm.instructions(block)).collect()
    }

    /// Number of instructions.
    pub fn size(&self) -> usize {
        self.instructions().len()
    }

    /// What LLVM's verifier refuses; `None` where it is content.
    pub fn fault(&self) -> Option<String> {
        self.llvm.fault(self.handles())
    }

    /// The bitcode: the same for the same edits of the same program.
    pub fn bitcode(&self) -> Vec<u8> {
        self.llvm.bitcode(self.handles())
    }

    /// The bitcode with the work-items of each group in reversed order.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be read again.
    pub fn reversed_bitcode(&self) -> Result<Vec<u8>> {
        let (llvm, module) = (self.llvm, Module { llvm: self.llvm, owned: self.llvm.parse(&self.bitcode())? });
        for [index, size] in PLACES {
            let (Some(index), Some(size)) = (llvm.global(&module.owned, index), llvm.global(&module.owned, size))
            else {
                continue;
            };
            for load in llvm.users(index).into_iter().filter(|user| llvm.opcode(*user) == super::places::LOAD) {
                llvm.reverse_index(&module.owned, load, size);
            }
        }
        Ok(llvm.bitcode(&module.owned))
    }

    /// A name that programs share whose code is the same once it is simplified.
    ///
    /// # Errors
    /// [`Error::Failed`] where LLVM's passes fail.
    pub fn normal_form(&self) -> Result<[u8; 32]> {
        let module = Module { llvm: self.llvm, owned: self.llvm.parse(&self.bitcode())? };
        self.llvm.run_passes(&module.owned, NORMAL)?;
        let name = self.llvm.name(self.function);
        let function = self.llvm.function(&module.owned, &name);
        let text = function.map_or_else(String::new, |function| self.llvm.print(function));
        Ok(Sha256::digest(text.as_bytes()).into())
    }
}
