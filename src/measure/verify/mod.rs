//! Whether a config computes what the kernel's reference does.

pub mod compare;
pub mod double_precision;
pub mod format;
pub mod on_device;
pub mod workload;
