//! NVIDIA's management library, opened at run time: counter of energy, clocks, temperature, reasons of throttling. It only reads.

use crate::measuring::energy::EnergyMeter;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use seqtune_data::Conditions;
use std::sync::{Arc, OnceLock};

/// The library, opened once for the process.
fn library() -> Result<&'static Nvml, String> {
    static LIBRARY: OnceLock<Result<Nvml, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| Nvml::init().map_err(|e| format!("NVML: {e}")));
    opened.as_ref().map_err(Clone::clone)
}

/// Version of NVIDIA's driver, `580.159.03`.
pub fn driver_version() -> Result<String, String> {
    library()?.sys_driver_version().map_err(|e| format!("NVML: {e}"))
}

/// The GPU at a bus address as the driver writes it.
#[derive(Clone)]
pub struct Gpu(Arc<Device<'static>>);

impl Gpu {
    /// The driver's and the library's numbers of devices differ: the bus address is what both know.
    pub fn at(bus: &str) -> Result<Gpu, String> {
        let device = library()?.device_by_pci_bus_id(bus).map_err(|e| format!("NVML: {e}"))?;
        Ok(Gpu(Arc::new(device)))
    }

    fn ask<T>(&self, ask: impl Fn(&Device) -> Result<T, NvmlError>) -> Result<T, String> {
        ask(&self.0).map_err(|e| format!("NVML: {e}"))
    }

    /// Clocks, temperature and throttling now.
    pub fn conditions(&self) -> Option<Conditions> {
        let asked = self.ask(|device| {
            let reasons = device.current_throttle_reasons()?;
            // that nothing runs at the moment of asking throttles nothing
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
