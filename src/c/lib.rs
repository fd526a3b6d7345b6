//! `libseqtune`: predictions for programs in C, C++, and whatever calls C.
//!
//! `include/seqtune.h` is made of these files by cbindgen, `include/seqtune.hpp` wraps it for C++17. What pointers have to
//! be stands at the head of the header (`cbindgen.toml`). No panic leaves a function, and none keeps a pointer of the caller's.
#![allow(clippy::missing_safety_doc)] // said once, at the head of the header

// in the order of the header
mod version;

mod status;

mod predictor;

mod session;

mod open;

mod describe;

mod device;

mod predict;

mod shown;

mod text;

mod check;

mod chooser;

mod engine;
mod fields;
mod pointers;
pub mod pool;

pub use check::*;
pub use chooser::*;
pub use describe::*;
pub use device::*;
pub use open::*;
pub use predict::*;
pub use predictor::Predictor;
pub use session::Session;
pub use shown::*;
pub use status::{Status, seqtune_last_error};
pub use text::*;
pub use version::*;

#[global_allocator]
static POOL: pool::Pool = pool::Pool;
