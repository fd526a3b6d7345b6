//! NVIDIA's management library (NVML), opened at run time: energy counter, clocks, which can be held, temperature and throttling reasons.

use crate::clocks::setter::{ClockSetter, Refusal};
use crate::measuring::energy::EnergyMeter;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use seqtune_data::Conditions;
use seqtune_kernel::Clocks;
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

/// First word of the address of a GPU's clocks.
pub const ADDRESS: &str = "nvml";

/// GPU by its PCI bus address.
#[derive(Clone)]
pub struct NvmlGpu {
    device: Arc<Device<'static>>,
    bus: String,
}

impl NvmlGpu {
    /// Opens the GPU at a PCI bus address, because CUDA and NVML number devices differently.
    ///
    /// # Errors
    /// The message of NVML, where it is not installed or does not know the address.
    pub fn open(bus: &str) -> Result<NvmlGpu, String> {
        let device = library()?.device_by_pci_bus_id(bus).map_err(|e| format!("NVML: {e}"))?;
        Ok(NvmlGpu { device: Arc::new(device), bus: bus.into() })
    }

    fn ask<T>(&self, ask: impl Fn(&Device) -> Result<T, NvmlError>) -> Result<T, String> {
        ask(&self.device).map_err(|e| format!("NVML: {e}"))
    }

    /// The device as it is taken by calls that change it.
    fn own(&self) -> Result<Device<'static>, NvmlError> {
        library().map_err(|_| NvmlError::Uninitialized)?.device_by_pci_bus_id(self.bus.as_str())
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

impl EnergyMeter for NvmlGpu {
    fn joules(&mut self) -> Result<f64, String> {
        // millijoules since the driver was loaded; Volta and newer
        self.ask(|device| device.total_energy_consumption()).map(|mj| mj as f64 / 1e3)
    }
}

impl ClockSetter for NvmlGpu {
    fn set(&mut self, clocks: Clocks) -> Result<(), Refusal> {
        let set = |device: &mut Device| {
            match clocks.core_mhz {
                Some(mhz) => {
                    let only = GpuLockedClocksSetting::Numeric { min_clock_mhz: mhz, max_clock_mhz: mhz };
                    device.set_gpu_locked_clocks(only)?;
                }
                None => device.reset_gpu_locked_clocks()?,
            }
            match clocks.memory_mhz {
                Some(mhz) => device.set_mem_locked_clocks(mhz, mhz),
                // older GPUs do not know these at all
                None => device.reset_mem_locked_clocks().or_else(unless_unsupported),
            }
        };
        self.own().and_then(|mut device| set(&mut device)).map_err(|e| match e {
            NvmlError::InvalidArg => Refusal::NoSuchClock(format!("NVML: {e}")),
            NvmlError::NoPermission => Refusal::Denied(format!("NVML: {e}; run as root")),
            _ => Refusal::Denied(format!("NVML: {e}")),
        })
    }

    fn restore(&mut self) -> Result<(), String> {
        let reset = |device: &mut Device| {
            let cores = device.reset_gpu_locked_clocks();
            device.reset_mem_locked_clocks().or_else(unless_unsupported).and(cores)
        };
        self.own().and_then(|mut device| reset(&mut device)).map_err(|e| format!("NVML: {e}"))
    }

    fn address(&self) -> [String; 2] {
        [ADDRESS.into(), self.bus.clone()]
    }
}

fn unless_unsupported(e: NvmlError) -> Result<(), NvmlError> {
    if matches!(e, NvmlError::NotSupported) { Ok(()) } else { Err(e) }
}
