//! Clocks given back by another process than the one that set them.

use crate::backends::cuda::nvml;
use crate::backends::hip::dpm::{self, Dpm};
use crate::clocks::setter::ClockSetter;
use crate::processes::tree::RESTORE_CLOCKS as VERB;
use seqtune_kernel::error::{Error, Result, input};
use std::io::Read;

/// Where drivers show their devices: files elsewhere are none of a GPU's.
const DRIVERS: &str = "/sys/";

/// Waits for the end of standard input, then gives the clocks of the device at `address` back to its driver.
///
/// # Errors
/// `Error::Input` for another address than [`ClockSetter::address`] says, `Error::Failed` where the driver refuses.
pub fn restore(address: &[String]) -> Result<()> {
    let mut setter: Box<dyn ClockSetter> = match address {
        [api, bus] if api == nvml::ADDRESS => Box::new(nvml::NvmlGpu::open(bus).map_err(Error::Unavailable)?),
        [api, folder] if api == dpm::ADDRESS && folder.starts_with(DRIVERS) => {
            Box::new(Dpm::in_folder(folder.as_ref()))
        }
        _ => return input(format!("{VERB}: name `{} BUS` or `{} FOLDER`", nvml::ADDRESS, dpm::ADDRESS)),
    };
    let mut byte = [0];
    while matches!(std::io::stdin().read(&mut byte), Ok(read) if read > 0) {}
    setter.restore().map_err(|e| Error::Failed(format!("giving the clocks back to the driver: {e}")))
}
