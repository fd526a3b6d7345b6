//! Clocks that are held while configs are measured.

use crate::clocks::guardian::Guardian;
use crate::clocks::setter::{ClockSetter, Refusal};
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::Clocks;
use seqtune_kernel::error::{Error, Result};
use std::time::Duration;

/// Time that a device gets to change its clocks. Those of both makers take some tens of milliseconds.
const SETTLE: Duration = Duration::from_millis(100);

/// Clocks of a device while configs are measured. When it is dropped, or the process dies in whatever way, they are the driver's again.
pub struct HeldClocks {
    setter: Box<dyn ClockSetter>,
    held: Clocks,
    /// Another process, which outlives this one.
    guardian: Option<Guardian>,
}

impl HeldClocks {
    /// Begins with the clocks of the driver.
    pub fn new(setter: Box<dyn ClockSetter>) -> HeldClocks {
        HeldClocks { setter, held: Clocks::default(), guardian: None }
    }

    /// Holds the device at these clocks, and waits until it has changed them.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where clocks cannot be set at all, [`Error::Failed`] where they cannot be given back; the inner failure is
    /// that of a config whose clocks the device does not have.
    pub fn set(&mut self, clocks: Clocks) -> Result<Attempt<()>> {
        if clocks == self.held {
            return Ok(Ok(()));
        }
        if clocks.is_free() {
            self.free()?;
            return Ok(Ok(()));
        }
        // before the first change: there is no moment at which nobody would give them back
        if self.guardian.is_none() {
            self.guardian = Some(Guardian::start(&self.setter.address())?);
        }
        // where it fails one of both may be held
        self.held = clocks;
        match self.setter.set(clocks) {
            Ok(()) => {
                std::thread::sleep(SETTLE);
                Ok(Ok(()))
            }
            Err(Refusal::NoSuchClock(reason)) => {
                self.free()?;
                Ok(Err(Invalidity::new(InvalidityKind::Runtime, format!("{clocks}: {reason}"))))
            }
            Err(Refusal::Denied(reason)) => Err(Error::Unavailable(format!("setting clocks ({clocks}): {reason}"))),
        }
    }

    fn free(&mut self) -> Result<()> {
        self.setter.restore().map_err(|e| Error::Failed(format!("giving the clocks back to the driver: {e}")))?;
        self.held = Clocks::default();
        Ok(())
    }
}

impl Drop for HeldClocks {
    fn drop(&mut self) {
        if !self.held.is_free() {
            // where this fails the guardian tries again
            let _ = self.setter.restore();
        }
    }
}
