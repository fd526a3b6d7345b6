//! What the drivers of NVIDIA and AMD state alike, under numbers of their own.

use seqtune_kernel::Limits;

/// The numbers of a driver's attributes.
pub(crate) struct Numbers {
    /// Work-items of a work-group, in all and by dimension.
    pub group_items: [i32; 4],
    /// Bytes of local memory of a work-group.
    pub local_memory: i32,
    /// Registers of a work-group.
    pub group_registers: i32,
    /// Work-items in lock step.
    pub sub_group: i32,
    /// Clock in kHz.
    pub clock: i32,
    /// Bytes of the last-level cache.
    pub cache: i32,
    /// Clock of the memory in kHz, and bits of its bus.
    pub memory: [i32; 2],
}

/// What is known besides.
pub(crate) struct Known {
    /// Compute units.
    pub units: Option<f64>,
    /// Lanes of f32 arithmetic in each.
    pub lanes: f64,
    /// Registers that a work-item may use.
    pub item_registers: f64,
    /// Bytes of memory.
    pub bytes: usize,
    /// Bytes of local memory that a launch may ask for.
    pub local_memory_opt_in: Option<f64>,
    /// Registers of a work-group, where the driver's word does not count.
    pub group_registers: Option<f64>,
    /// Least bytes of the last-level cache: a driver may state that of an earlier level.
    pub cache: Option<f64>,
    /// Transfers per clock of the memory; `None` where its clock tells no bandwidth.
    pub transfers: Option<f64>,
}

impl Numbers {
    /// The limits of a device, whose attributes `ask` gives.
    pub(crate) fn limits(&self, ask: &dyn Fn(i32) -> Option<f64>, known: Known) -> Limits {
        let clock = ask(self.clock).map(|khz| khz / 1e3);
        let memory = ask(self.memory[0]).zip(ask(self.memory[1])).zip(known.transfers);
        let bandwidth = memory.map(|((khz, bits), transfers)| transfers * khz * 1e3 * bits / 8.0 / 1e9);
        let cache = ask(self.cache).into_iter().chain(known.cache).reduce(f64::max);
        Limits {
            max_group_items: ask(self.group_items[0]),
            max_items_0: ask(self.group_items[1]),
            max_items_1: ask(self.group_items[2]),
            max_items_2: ask(self.group_items[3]),
            local_memory: ask(self.local_memory),
            group_registers: known.group_registers.or_else(|| ask(self.group_registers)),
            item_registers: Some(known.item_registers),
            sub_group: ask(self.sub_group),
            compute_units: known.units,
            clock_mhz: clock,
            cache_bytes: cache,
            memory_bytes: Some(known.bytes as f64),
            bandwidth_gbs: bandwidth,
            f32_gflops: known.units.zip(clock).map(|(units, mhz)| units * known.lanes * 2.0 * mhz / 1e3),
            is_cpu: Some(0.0),
            local_memory_opt_in: known.local_memory_opt_in,
        }
    }
}
