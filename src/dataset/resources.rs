//! What a compiled program needs of a device.

use serde::{Deserialize, Serialize};

/// What the compiler says that a program needs, per work-item and per work-group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// 32-bit registers of a work-item.
    pub registers: u32,
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
