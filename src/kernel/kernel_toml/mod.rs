//! `kernel.toml`: its form, its checks, and the kernel that it makes.

pub(crate) mod check;
pub(crate) mod dialect;
mod encoding;
pub(crate) mod include;
pub(crate) mod load;
pub(crate) mod names;
pub(crate) mod run_spec;
pub(crate) mod source;
pub mod spec;
pub(crate) mod template;
pub(crate) mod version;
