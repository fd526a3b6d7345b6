//! Clocks of a device: set for a config, and given back to the driver on every way out.

pub mod guardian;
pub mod held;
pub mod restore;
pub mod setter;
