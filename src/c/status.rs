//! What functions answer with, and the sentence behind it.

use seqtune_kernel::error::{Error, printable};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function answers with. More may come: take what is unknown for a failure.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names)] // C has no other place for the prefix
pub enum Status {
    /// Done.
    SeqtuneOk = 0,
    /// The machine failed, or the library has a fault.
    SeqtuneFailed = 1,
    /// An argument is wrong: a null pointer, a size, a number out of its range.
    SeqtuneInput = 2,
    /// A driver or a device is not on this machine.
    SeqtuneUnavailable = 3,
    /// A file is missing, or is another kind of thing.
    SeqtuneFile = 4,
    /// A model's file is damaged or of another format.
    SeqtuneModel = 5,
    /// A model was made for another kernel, another version of it, or another objective.
    SeqtuneMismatch = 6,
    /// A kernel is not there, or its kernel.toml is wrong.
    SeqtuneKernel = 7,
    /// No device is described by the name, or a limit is wrong.
    SeqtuneDevice = 8,
    /// A problem is not one of the kernel's.
    SeqtuneProblem = 9,
    /// A config is not one of the kernel's.
    SeqtuneConfig = 10,
    /// A config breaks a constraint; seqtune_last_error gives the reason.
    SeqtuneIllegal = 11,
    /// No config is legal for the problem on the device.
    SeqtuneNoLegalConfig = 12,
    /// The room for the answer is too small.
    SeqtuneTooSmall = 13,
}

/// A status other than OK, with its sentence.
pub(crate) struct Fault {
    status: Status,
    sentence: String,
}

impl Fault {
    pub(crate) fn new(status: Status, sentence: impl Into<String>) -> Fault {
        Fault { status, sentence: sentence.into() }
    }

    /// Of a wrong argument.
    pub(crate) fn input(sentence: impl Into<String>) -> Fault {
        Fault::new(Status::SeqtuneInput, sentence)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let status = match error {
            Error::Failed(_) => Status::SeqtuneFailed,
            Error::Unavailable(_) => Status::SeqtuneUnavailable,
            Error::File(_) => Status::SeqtuneFile,
            Error::Model(_) => Status::SeqtuneModel,
            Error::Mismatch(_) => Status::SeqtuneMismatch,
            Error::KernelNotFound(_) | Error::Kernel(_) => Status::SeqtuneKernel,
            Error::DeviceNotFound(_) => Status::SeqtuneDevice,
            Error::Problem(_) => Status::SeqtuneProblem,
            Error::Config(_) => Status::SeqtuneConfig,
            Error::NoLegalConfig(_) => Status::SeqtuneNoLegalConfig,
            _ => Status::SeqtuneInput,
        };
        Fault { status, sentence: error.to_string() }
    }
}

/// Answer within the library.
pub(crate) type Answer<T> = Result<T, Fault>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Sentence of the last function that did not answer SEQTUNE_OK in this thread; "" where all did. It stays until the next
/// such answer in this thread. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seqtune_last_error() -> *const c_char {
    // a thread that ends has no sentence any more
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Does the work of a function; keeps the sentence where it fails, also where it panics.
pub(crate) fn guard(work: impl FnOnce() -> Answer<()>) -> Status {
    // what a panic leaves half done belongs to this call alone, or to a session, which the next call fills anew
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(fault_of(panic.as_ref())));
    match done {
        Ok(()) => Status::SeqtuneOk,
        Err(fault) => {
            // `printable` leaves no zero inside
            let sentence = CString::new(printable(&fault.sentence)).unwrap_or_default();
            LAST.try_with(|last| last.replace(sentence)).ok();
            fault.status
        }
    }
}

/// As [`guarded`], where a function answers with a value: `otherwise` where it fails.
pub(crate) fn guarded_value<T>(otherwise: T, work: impl FnOnce() -> Answer<T>) -> T {
    let mut value = otherwise;
    guard(|| {
        value = work()?;
        Ok(())
    });
    value
}

fn fault_of(panic: &(dyn Any + Send)) -> Fault {
    let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    Fault::new(Status::SeqtuneFailed, format!("a fault of seqtune, please report it: {}", said.unwrap_or("no word")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last_sentence() -> String {
        // SAFETY: a text of this thread that ends with a zero
        unsafe { CStr::from_ptr(seqtune_last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_stays_inside_and_leaves_its_sentence_in_its_thread() {
        assert_eq!(guard(|| panic!("a b\0c")), Status::SeqtuneFailed);
        assert_eq!(last_sentence(), "a fault of seqtune, please report it: a b\\u{0}c");
        assert_eq!(guard(|| Ok(())), Status::SeqtuneOk);
        std::thread::spawn(|| assert_eq!(last_sentence(), "")).join().unwrap();
        assert_eq!(guarded_value(7, || Err(Fault::input("no"))), 7);
        assert_eq!(last_sentence(), "no");
    }
}
