//! What sets the clocks of one device.

use seqtune_kernel::Clocks;

/// Why clocks were not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The device has no such clock: a failure of the config.
    NoSuchClock(String),
    /// Clocks of this device cannot be set, or not by this user.
    Denied(String),
}

/// Sets the clocks of one device.
pub trait ClockSetter {
    /// Holds the clocks of the device; those that are `None` are the driver's.
    ///
    /// # Errors
    /// [`Refusal`], with the driver's message.
    fn set(&mut self, clocks: Clocks) -> std::result::Result<(), Refusal>;

    /// Gives all clocks back to the driver, as they were before the first were set.
    ///
    /// # Errors
    /// The driver's message.
    fn restore(&mut self) -> std::result::Result<(), String>;

    /// Words by which [`restore`](crate::clocks::restore::restore) finds the device again, in another process.
    fn address(&self) -> [String; 2];
}
