//! What was observed beside an outcome: what the program needs, and how the device was.

use serde::{Deserialize, Serialize};

/// What the compiler says that a program needs, per work-item and per work-group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// 32-bit registers of a work-item.
    pub registers: u32,
    /// Registers that the work-items of a wave share (AMD).
    #[serde(default)]
    pub scalar_registers: u32,
    /// Bytes of local (shared) memory that the program declares.
    pub local_bytes: u32,
    /// Bytes of local memory that the launch adds.
    pub dynamic_local_bytes: u32,
    /// Bytes of a work-item's registers that are spilled to memory.
    pub spill_bytes: u32,
    /// Bytes of a work-item's stack.
    pub stack_bytes: u32,
    /// Work-groups that a compute unit holds at once; 0: none, the launch fails.
    pub groups_per_unit: u32,
    /// Share of a compute unit's work-items that these occupy, in percent.
    pub occupancy: u32,
}

/// How a device was when a config was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Clock of the compute units and of the memory in MHz.
    pub clock_mhz: u32,
    pub memory_clock_mhz: u32,
    /// Degrees Celsius.
    pub temperature: u32,
    /// Why the device ran below the clock that it could have had, in the driver's names.
    pub throttled: Vec<String>,
}

/// What was observed beside an outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    pub resources: Option<Resources>,
    pub conditions: Option<Conditions>,
    /// Why there is no energy where it was asked for.
    pub unmetered: Option<String>,
    /// Time of the vendor's library for the same problem in microseconds, where it was measured beside: a reference, no config.
    #[serde(default)]
    pub library_us: Option<f32>,
}

impl Observed {
    pub fn is_empty(&self) -> bool {
        *self == Observed::default()
    }
}
