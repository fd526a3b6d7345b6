//! Pointers of the caller's: texts, lists, objects, and room for answers.

use crate::status::{Answer, Fault, Status, guard};
use std::ffi::{CStr, c_char};

fn wrong<T>(at: *const T, what: &str) -> Option<Fault> {
    match () {
        () if at.is_null() => Some(Fault::input(format!("`{what}` is NULL"))),
        () if !at.is_aligned() => Some(Fault::input(format!("`{what}` is not aligned for its type"))),
        () => None,
    }
}

/// A text that ends with a zero.
///
/// # Safety
/// The pointer is null or that of such a text, which stays as it is.
pub(crate) unsafe fn text<'a>(at: *const c_char, what: &str) -> Answer<&'a str> {
    if at.is_null() {
        return Err(Fault::input(format!("`{what}` is NULL")));
    }
    // SAFETY: as the caller promises
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| Fault::input(format!("`{what}` is not text in UTF-8")))
}

/// The text of a pointer that may be null.
///
/// # Safety
/// As `text`.
pub(crate) unsafe fn optional<'a>(at: *const c_char, what: &str) -> Answer<Option<&'a str>> {
    // SAFETY: as the caller promises
    if at.is_null() { Ok(None) } else { unsafe { text(at, what) }.map(Some) }
}

/// What a pointer leads to.
///
/// # Safety
/// The pointer is null or that of such an object, which stays.
pub(crate) unsafe fn object<'a, T>(at: *const T, what: &str) -> Answer<&'a T> {
    match wrong(at, what) {
        Some(fault) => Err(fault),
        // SAFETY: as the caller promises
        None => Ok(unsafe { &*at }),
    }
}

/// A list; a null pointer where it is empty.
///
/// # Safety
/// The pointer is null or leads to so many, which stay as they are.
pub(crate) unsafe fn list<'a, T>(at: *const T, count: usize, what: &str) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Fault::input(format!("`{what}`: {count} of them are more than memory holds")));
    }
    match wrong(at, what) {
        Some(fault) => Err(fault),
        // SAFETY: as the caller promises
        None => Ok(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}

/// Room for one value.
///
/// # Safety
/// The pointer is null or leads to room for it.
pub(crate) unsafe fn put<T>(at: *mut T, what: &str, value: T) -> Answer<()> {
    match wrong(at, what) {
        Some(fault) => Err(fault),
        None => {
            // SAFETY: as the caller promises
            unsafe { at.write(value) };
            Ok(())
        }
    }
}

/// Ends what was opened; null is let pass.
///
/// # Safety
/// The pointer is null or that of a box, which nobody uses any more.
pub(crate) unsafe fn close<T>(at: *mut T) {
    guard(|| {
        if !at.is_null() {
            // SAFETY: as the caller promises
            drop(unsafe { Box::from_raw(at) });
        }
        Ok(())
    });
}

/// Room for a text.
pub(crate) struct TextBuffer {
    at: *mut c_char,
    bytes: usize,
    needed: *mut usize,
}

impl TextBuffer {
    /// The room at `at`, and a place for the number of bytes that are needed.
    ///
    /// # Safety
    /// `at` is null or leads to so many bytes; `needed` is null or leads to room for a number.
    pub(crate) unsafe fn new(at: *mut c_char, bytes: usize, needed: *mut usize) -> Answer<TextBuffer> {
        match wrong(needed, "needed").filter(|_| !needed.is_null()) {
            Some(fault) => Err(fault),
            None => Ok(TextBuffer { at, bytes: if at.is_null() { 0 } else { bytes }, needed }),
        }
    }

    /// Puts a text and its zero there, whole or not at all.
    pub(crate) fn put(self, text: &str) -> Answer<()> {
        let needed = text.len() + 1;
        if !self.needed.is_null() {
            // SAFETY: leads to room for a number
            unsafe { self.needed.write(needed) };
        }
        if self.bytes < needed {
            if self.bytes > 0 {
                // SAFETY: there is room for one byte
                unsafe { self.at.write(0) };
            }
            let sentence = format!("the text needs {needed} bytes, and there is room for {}", self.bytes);
            return Err(Fault::new(Status::SeqtuneTooSmall, sentence));
        }
        // SAFETY: there is room for the text and a zero, and it is not that of the text
        unsafe {
            self.at.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            self.at.add(text.len()).write(0);
        }
        Ok(())
    }
}
