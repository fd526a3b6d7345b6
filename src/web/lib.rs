//! Predictions in a browser: the page `docs/try` and everything else that runs WebAssembly asks in JSON and is answered in JSON.
//!
//! The module exports four functions, and needs no generated code beside it. To ask: call [`seqtune_room`] with the bytes of the
//! question, write it where that points, call [`seqtune_ask`], and read as many bytes as that returns from [`seqtune_answer`]. A
//! model comes in the same way, as the bytes of its file, by [`seqtune_model`]. Pointers hold until the next call. Questions are
//! those of [`question::Question`]; what cannot be answered is an object with `error`, one sentence.

pub mod choosing;
pub mod question;
pub mod session;
pub mod starts;

use session::Session;
use std::cell::RefCell;

thread_local! {
    /// What was asked last, and what was answered.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Session> = RefCell::new(Session::default());
}

/// Where the next `bytes` bytes of a question or a model are to be written; null where there is no memory for them.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn seqtune_room(bytes: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        // what was there goes first: a model is large
        *room = Vec::new();
        match room.try_reserve_exact(bytes) {
            Ok(()) => {
                room.resize(bytes, 0);
                room.as_mut_ptr()
            }
            Err(_) => std::ptr::null_mut(),
        }
    })
}

/// Answers the question in the room: the bytes of the answer.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn seqtune_ask() -> usize {
    answer(Session::ask)
}

/// Takes the model whose file lies in the room: the bytes of the answer, which says what the model knows. A model that cannot be used
/// leaves the one before in its place.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn seqtune_model() -> usize {
    answer(Session::take_model)
}

/// Where the answer lies.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn seqtune_answer() -> *const u8 {
    ANSWER.with_borrow(Vec::as_ptr)
}

fn answer(by: fn(&mut Session, &[u8]) -> serde_json::Value) -> usize {
    let room = ROOM.take();
    let text = SESSION.with_borrow_mut(|session| by(session, &room)).to_string().into_bytes();
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        answer.len()
    })
}
