//! The C interface of libLLVM, opened at run time in the version that PoCL itself links. All unsafe calls stand here.

use libloading::Library;
use seqtune_kernel::error::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

/// A handle of LLVM. It is valid as long as its module is, and nothing that was erased is used again.
type Handle = *mut c_void;

/// A value: argument, instruction, constant, function or global variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node(Handle);

/// A type; two types of one module are the same where their handles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Type(Handle);

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Block(Handle);

/// A module with the context that owns it.
#[derive(Debug)]
pub(crate) struct Owned {
    context: Handle,
    module: Handle,
}

/// Kinds of types, as in `llvm-c/Core.h`.
pub(crate) const VOID: i32 = 0;
pub(crate) const HALF: i32 = 1;
pub(crate) const DOUBLE: i32 = 3;
pub(crate) const INTEGER: i32 = 8;
pub(crate) const POINTER: i32 = 12;
pub(crate) const VECTOR: i32 = 13;

/// What `LLVMVerifyModule` does at a fault: it answers.
const RETURN_STATUS: c_int = 2;

macro_rules! functions {
    ($($field:ident = $name:literal ($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that are used.
        pub(crate) struct Llvm {
            $($field: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
            // closed last
            _library: Library,
        }

        impl Llvm {
            /// Opens `libLLVM-VERSION.so.1`.
            ///
            /// # Errors
            /// [`Error::Unavailable`] where it is missing or lacks a function.
            pub(crate) fn open(version: u32) -> Result<Llvm> {
                let file = format!("libLLVM-{version}.so.1");
                let missing = |e: libloading::Error| Error::Unavailable(format!("{file}: {e}"));
                // SAFETY: LLVM's library changes nothing when it is loaded; PoCL has loaded the same one
                let library = unsafe { Library::new(&file) }.map_err(missing)?;
                // SAFETY: prototypes as in LLVM's headers
                unsafe {
                    Ok(Llvm {
                        $($field: *library.get($name).map_err(missing)?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    context_create = b"LLVMContextCreate" () -> Handle;
    diagnostics = b"LLVMContextSetDiagnosticHandler" (Handle, unsafe extern "C" fn(Handle, Handle), Handle);
    context_dispose = b"LLVMContextDispose" (Handle);
    buffer_of = b"LLVMCreateMemoryBufferWithMemoryRangeCopy" (*const u8, usize, *const c_char) -> Handle;
    buffer_start = b"LLVMGetBufferStart" (Handle) -> *const u8;
    buffer_size = b"LLVMGetBufferSize" (Handle) -> usize;
    buffer_dispose = b"LLVMDisposeMemoryBuffer" (Handle);
    parse_bitcode = b"LLVMParseBitcodeInContext2" (Handle, Handle, *mut Handle) -> c_int;
    write_bitcode = b"LLVMWriteBitcodeToMemoryBuffer" (Handle) -> Handle;
    set_source_file = b"LLVMSetSourceFileName" (Handle, *const c_char, usize);
    module_dispose = b"LLVMDisposeModule" (Handle);
    verify = b"LLVMVerifyModule" (Handle, c_int, *mut *mut c_char) -> c_int;
    message_dispose = b"LLVMDisposeMessage" (*mut c_char);
    pass_options = b"LLVMCreatePassBuilderOptions" () -> Handle;
    pass_options_dispose = b"LLVMDisposePassBuilderOptions" (Handle);
    run_passes = b"LLVMRunPasses" (Handle, *const c_char, Handle, Handle) -> Handle;
    error_message = b"LLVMGetErrorMessage" (Handle) -> *mut c_char;
    error_message_dispose = b"LLVMDisposeErrorMessage" (*mut c_char);
    named_function = b"LLVMGetNamedFunction" (Handle, *const c_char) -> Handle;
    first_function = b"LLVMGetFirstFunction" (Handle) -> Handle;
    next_function = b"LLVMGetNextFunction" (Handle) -> Handle;
    named_global = b"LLVMGetNamedGlobal" (Handle, *const c_char) -> Handle;
    attribute_kind = b"LLVMGetEnumAttributeKindForName" (*const c_char, usize) -> c_uint;
    attribute = b"LLVMCreateEnumAttribute" (Handle, c_uint, u64) -> Handle;
    attribute_get = b"LLVMGetEnumAttributeAtIndex" (Handle, c_uint, c_uint) -> Handle;
    attribute_add = b"LLVMAddAttributeAtIndex" (Handle, c_uint, Handle);
    attribute_remove = b"LLVMRemoveEnumAttributeAtIndex" (Handle, c_uint, c_uint);
    count_params = b"LLVMCountParams" (Handle) -> c_uint;
    param = b"LLVMGetParam" (Handle, c_uint) -> Handle;
    first_block = b"LLVMGetFirstBasicBlock" (Handle) -> Handle;
    next_block = b"LLVMGetNextBasicBlock" (Handle) -> Handle;
    terminator = b"LLVMGetBasicBlockTerminator" (Handle) -> Handle;
    count_successors = b"LLVMGetNumSuccessors" (Handle) -> c_uint;
    successor = b"LLVMGetSuccessor" (Handle, c_uint) -> Handle;
    first_instruction = b"LLVMGetFirstInstruction" (Handle) -> Handle;
    next_instruction = b"LLVMGetNextInstruction" (Handle) -> Handle;
    block_of = b"LLVMGetInstructionParent" (Handle) -> Handle;
    opcode = b"LLVMGetInstructionOpcode" (Handle) -> c_int;
    called = b"LLVMGetCalledValue" (Handle) -> Handle;
    is_call = b"LLVMIsACallInst" (Handle) -> Handle;
    is_instruction = b"LLVMIsAInstruction" (Handle) -> Handle;
    is_argument = b"LLVMIsAArgument" (Handle) -> Handle;
    is_constant_int = b"LLVMIsAConstantInt" (Handle) -> Handle;
    is_constant_real = b"LLVMIsAConstantFP" (Handle) -> Handle;
    is_global = b"LLVMIsAGlobalVariable" (Handle) -> Handle;
    int_value = b"LLVMConstIntGetSExtValue" (Handle) -> i64;
    real_value = b"LLVMConstRealGetDouble" (Handle, *mut c_int) -> f64;
    count_operands = b"LLVMGetNumOperands" (Handle) -> c_int;
    operand = b"LLVMGetOperand" (Handle, c_uint) -> Handle;
    set_operand = b"LLVMSetOperand" (Handle, c_uint, Handle);
    first_use = b"LLVMGetFirstUse" (Handle) -> Handle;
    next_use = b"LLVMGetNextUse" (Handle) -> Handle;
    user = b"LLVMGetUser" (Handle) -> Handle;
    incoming_block = b"LLVMGetIncomingBlock" (Handle, c_uint) -> Handle;
    replace_uses = b"LLVMReplaceAllUsesWith" (Handle, Handle);
    erase = b"LLVMInstructionEraseFromParent" (Handle);
    clone = b"LLVMInstructionClone" (Handle) -> Handle;
    builder_create = b"LLVMCreateBuilderInContext" (Handle) -> Handle;
    builder_before = b"LLVMPositionBuilderBefore" (Handle, Handle);
    builder_insert = b"LLVMInsertIntoBuilder" (Handle, Handle);
    builder_sub = b"LLVMBuildSub" (Handle, Handle, Handle, *const c_char) -> Handle;
    builder_load = b"LLVMBuildLoad2" (Handle, Handle, Handle, *const c_char) -> Handle;
    builder_dispose = b"LLVMDisposeBuilder" (Handle);
    type_of = b"LLVMTypeOf" (Handle) -> Handle;
    type_kind = b"LLVMGetTypeKind" (Handle) -> c_int;
    int_width = b"LLVMGetIntTypeWidth" (Handle) -> c_uint;
    const_int = b"LLVMConstInt" (Handle, u64, c_int) -> Handle;
    const_real = b"LLVMConstReal" (Handle, f64) -> Handle;
    print = b"LLVMPrintValueToString" (Handle) -> *mut c_char;
    name = b"LLVMGetValueName2" (Handle, *mut usize) -> *const c_char;
    line = b"LLVMGetDebugLocLine" (Handle) -> c_uint;
}

/// Remarks of the reader, such as one on debug information, are nothing to a user.
unsafe extern "C" fn ignore(_: Handle, _: Handle) {}

/// What a handle stands for; `None` where LLVM answers with a null.
fn some<T>(handle: Handle, make: fn(Handle) -> T) -> Option<T> {
    (!handle.is_null()).then(|| make(handle))
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

// SAFETY (of all calls below): handles come from LLVM, and belong to a module that lives; what is asked of a value was asked whether it has it.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Llvm {
    /// Reads bitcode.
    ///
    /// # Errors
    /// [`Error::Failed`] where it is none of this version.
    pub(crate) fn parse(&self, bitcode: &[u8]) -> Result<Owned> {
        let name = c_string("program");
        unsafe {
            let context = (self.context_create)();
            (self.diagnostics)(context, ignore, std::ptr::null_mut());
            let buffer = (self.buffer_of)(bitcode.as_ptr(), bitcode.len(), name.as_ptr());
            let mut module = std::ptr::null_mut();
            let failed = (self.parse_bitcode)(context, buffer, &mut module) != 0;
            (self.buffer_dispose)(buffer);
            if failed || module.is_null() {
                (self.context_dispose)(context);
                return Err(Error::Failed("this libLLVM does not read the bitcode that PoCL wrote".into()));
            }
            // PoCL names it by a temporary file
            (self.set_source_file)(module, name.as_ptr(), name.as_bytes().len());
            Ok(Owned { context, module })
        }
    }

    pub(crate) fn dispose(&self, owned: &Owned) {
        unsafe {
            (self.module_dispose)(owned.module);
            (self.context_dispose)(owned.context);
        }
    }

    pub(crate) fn bitcode(&self, owned: &Owned) -> Vec<u8> {
        unsafe {
            let buffer = (self.write_bitcode)(owned.module);
            let bytes = std::slice::from_raw_parts((self.buffer_start)(buffer), (self.buffer_size)(buffer)).to_vec();
            (self.buffer_dispose)(buffer);
            bytes
        }
    }

    /// The first words of LLVM's verifier about a fault.
    pub(crate) fn fault(&self, owned: &Owned) -> Option<String> {
        unsafe {
            let mut message = std::ptr::null_mut();
            let is_wrong = (self.verify)(owned.module, RETURN_STATUS, &mut message) != 0;
            let told = self.text(message);
            is_wrong.then(|| told.lines().next().unwrap_or("LLVM's verifier refuses it").to_string())
        }
    }

    unsafe fn text(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.message_dispose)(message);
            text
        }
    }

    /// Runs passes of LLVM's new pass manager.
    ///
    /// # Errors
    /// [`Error::Failed`] with LLVM's words.
    pub(crate) fn run_passes(&self, owned: &Owned, passes: &str) -> Result<()> {
        let text = c_string(passes);
        unsafe {
            let options = (self.pass_options)();
            let error = (self.run_passes)(owned.module, text.as_ptr(), std::ptr::null_mut(), options);
            (self.pass_options_dispose)(options);
            if error.is_null() {
                return Ok(());
            }
            let message = (self.error_message)(error);
            let told = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.error_message_dispose)(message);
            Err(Error::Failed(format!("LLVM's passes {passes}: {told}")))
        }
    }

    pub(crate) fn function(&self, owned: &Owned, name: &str) -> Option<Node> {
        let name = c_string(name);
        some(unsafe { (self.named_function)(owned.module, name.as_ptr()) }, Node)
    }

    pub(crate) fn functions(&self, owned: &Owned) -> Vec<Node> {
        let first = some(unsafe { (self.first_function)(owned.module) }, Node);
        std::iter::successors(first, |f| some(unsafe { (self.next_function)(f.0) }, Node)).collect()
    }

    pub(crate) fn global(&self, owned: &Owned, name: &str) -> Option<Node> {
        let name = c_string(name);
        some(unsafe { (self.named_global)(owned.module, name.as_ptr()) }, Node)
    }

    /// Sets an attribute of a function; returns whether it was not set before.
    pub(crate) fn set_attribute(&self, owned: &Owned, function: Node, name: &str) -> bool {
        unsafe {
            let kind = (self.attribute_kind)(name.as_ptr().cast(), name.len());
            if !(self.attribute_get)(function.0, c_uint::MAX, kind).is_null() {
                return false;
            }
            (self.attribute_add)(function.0, c_uint::MAX, (self.attribute)(owned.context, kind, 0));
            true
        }
    }

    pub(crate) fn remove_attribute(&self, function: Node, name: &str) {
        unsafe {
            let kind = (self.attribute_kind)(name.as_ptr().cast(), name.len());
            (self.attribute_remove)(function.0, c_uint::MAX, kind);
        }
    }

    pub(crate) fn arguments(&self, function: Node) -> Vec<Node> {
        unsafe { (0..(self.count_params)(function.0)).map(|at| Node((self.param)(function.0, at))).collect() }
    }

    pub(crate) fn blocks(&self, function: Node) -> Vec<Block> {
        let first = some(unsafe { (self.first_block)(function.0) }, Block);
        std::iter::successors(first, |b| some(unsafe { (self.next_block)(b.0) }, Block)).collect()
    }

    pub(crate) fn successors(&self, block: Block) -> Vec<Block> {
        unsafe {
            let end = (self.terminator)(block.0);
            if end.is_null() {
                return Vec::new();
            }
            (0..(self.count_successors)(end)).map(|at| Block((self.successor)(end, at))).collect()
        }
    }

    pub(crate) fn instructions(&self, block: Block) -> Vec<Node> {
        let first = some(unsafe { (self.first_instruction)(block.0) }, Node);
        std::iter::successors(first, |i| some(unsafe { (self.next_instruction)(i.0) }, Node)).collect()
    }

    pub(crate) fn block_of(&self, instruction: Node) -> Block {
        Block(unsafe { (self.block_of)(instruction.0) })
    }

    pub(crate) fn opcode(&self, instruction: Node) -> i32 {
        unsafe { (self.opcode)(instruction.0) }
    }

    /// Name of the function that a call calls.
    pub(crate) fn callee(&self, instruction: Node) -> Option<String> {
        unsafe {
            if (self.is_call)(instruction.0).is_null() {
                return None;
            }
            some((self.called)(instruction.0), Node).map(|called| self.name(called))
        }
    }

    pub(crate) fn name(&self, value: Node) -> String {
        unsafe {
            let mut length = 0;
            let name = (self.name)(value.0, &mut length);
            String::from_utf8_lossy(std::slice::from_raw_parts(name.cast::<u8>(), length)).into_owned()
        }
    }

    pub(crate) fn is_instruction(&self, value: Node) -> bool {
        unsafe { !(self.is_instruction)(value.0).is_null() }
    }

    pub(crate) fn is_argument(&self, value: Node) -> bool {
        unsafe { !(self.is_argument)(value.0).is_null() }
    }

    pub(crate) fn is_global(&self, value: Node) -> bool {
        unsafe { !(self.is_global)(value.0).is_null() }
    }

    pub(crate) fn int_of(&self, value: Node) -> Option<i64> {
        // wider ones have no such number
        let is_int = unsafe { !(self.is_constant_int)(value.0).is_null() };
        let fits = is_int && self.int_width(self.type_of(value)).is_some_and(|width| width <= 64);
        fits.then(|| unsafe { (self.int_value)(value.0) })
    }

    pub(crate) fn real_of(&self, value: Node) -> Option<f64> {
        unsafe {
            let mut loses = 0;
            (!(self.is_constant_real)(value.0).is_null()).then(|| (self.real_value)(value.0, &mut loses))
        }
    }
}

mod operands;
