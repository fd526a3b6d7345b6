//! Observations beside an outcome: resources of the program and state of the device.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Resources and occupancy of a compiled program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// 32-bit registers per work-item.
    pub registers: u32,
    /// Scalar registers per wave (AMD).
    #[serde(default)]
    pub scalar_registers: u32,
    /// Local (shared) memory that the program declares, in bytes per work-group.
    pub local_bytes: u32,
    /// Dynamic local memory that the launch adds, in bytes per work-group.
    pub dynamic_local_bytes: u32,
    /// Spilled registers in bytes per work-item.
    pub spill_bytes: u32,
    /// Stack in bytes per work-item.
    pub stack_bytes: u32,
    /// Resident work-groups per compute unit; 0 where the launch fails.
    pub groups_per_unit: u32,
    /// Occupancy of a compute unit in percent.
    pub occupancy: u32,
}

/// State of a device during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Clock of the compute units in MHz.
    pub clock_mhz: u32,
    /// Clock of the memory in MHz; 0 where unknown.
    pub memory_clock_mhz: u32,
    /// Temperature in degrees Celsius.
    pub temperature: u32,
    /// Throttling reasons, as the driver names them.
    pub throttled: Vec<String>,
}

/// Observations beside an outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Resources of the program, where the API reports them.
    pub resources: Option<Resources>,
    /// State of the device, where the API reports it.
    pub conditions: Option<Conditions>,
    /// Reason for missing energy, where energy was requested.
    pub unmetered: Option<String>,
    /// Time of the vendor's library for the same problem in microseconds, where measured.
    #[serde(default)]
    pub library_us: Option<f32>,
    /// Further numbers that a program reported, by name: medians over its runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
}

impl Observed {
    /// Checks whether nothing was observed.
    pub fn is_empty(&self) -> bool {
        *self == Observed::default()
    }
}
