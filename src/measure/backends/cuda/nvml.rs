//! NVIDIA's management library (NVML), opened at run time: energy counter, clocks, temperature and throttling reasons, all read only.

use crate::measuring::energy::EnergyMeter;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use seqtune_data::Conditions;
use std::sync::{Arc, OnceLock};

/// Library, opened once for the process.
fn library() -> Result<&'static Nvml, String> {
    static LIBRARY: OnceLock<Result<Nvml, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| Nvml::init().map_err(|e| format!("NVML: {e}")));
    opened.as_ref().map_err(Clone::clone)
}

/// Version of NVIDIA's driver, such as `580.159.03`.
///
/// # Errors
/// The message of NVML, where it is not installed or the query fails.
pub fn driver_version() -> Result<String, String> {
    library()?.sys_driver_version().map_err(|e| format!("NVML: {e}"))
}

/// GPU by its PCI bus address.
#[derive(Clone)]
pub struct Gpu(Arc<Device<'static>>);

impl Gpu {
    /// Opens the GPU at a PCI bus address, because CUDA and NVML number devices differently.
    ///
    /// # Errors
    /// The message of NVML, where it is not installed or does not know the address.
    pub fn at(bus: &str) -> Result<Gpu, String> {
        let device = library()?.device_by_pci_bus_id(bus).map_err(|e| format!("NVML: {e}"))?;
        Ok(Gpu(Arc::new(device)))
    }

    fn ask<T>(&self, ask: impl Fn(&Device) -> Result<T, NvmlError>) -> Result<T, String> {
        ask(&self.0).map_err(|e| format!("NVML: {e}"))
    }

    /// Current clocks, temperature and throttling reasons; `None` where a query fails.
    pub fn conditions(&self) -> Option<Conditions> {
        let asked = self.ask(|device| {
            let reasons = device.current_throttle_reasons()?;
            // idleness at the moment of the query is no throttling
            let named = (reasons - ThrottleReasons::GPU_IDLE).iter_names().map(|(name, _)| name.to_string());
            Ok(Conditions {
                clock_mhz: device.clock_info(Clock::SM)?,
                memory_clock_mhz: device.clock_info(Clock::Memory)?,
                temperature: device.temperature(TemperatureSensor::Gpu)?,
                throttled: named.collect(),
            })
        });
        asked.ok()
    }
}

impl EnergyMeter for Gpu {
    fn joules(&mut self) -> Result<f64, String> {
        // millijoules since the driver was loaded; Volta and newer
        self.ask(|device| device.total_energy_consumption()).map(|mj| mj as f64 / 1e3)
    }
}
