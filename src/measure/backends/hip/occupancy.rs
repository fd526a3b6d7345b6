//! Occupancy of a program on an AMD GPU, and reasons for programs that cannot launch.
//!
//! The figures are those that LLVM's AMDGPU backend counts with (AMDGPUBaseInfo). From gfx10 on the unit is the work-group processor, two
//! compute units that share local memory, because that is where work-groups are placed.

use seqtune_data::Resources;

/// Resources that a compute unit shares among its work-groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputeUnit {
    /// Work-items of a wave, as programs are compiled.
    wave: u32,
    simds: u32,
    /// Most resident waves of a SIMD.
    waves: u32,
    /// Vector registers of a SIMD per lane, their allocation unit, and the most of one wave.
    registers: u32,
    step: u32,
    most_registers: u32,
    /// Whether waves share a file of scalar registers.
    shares_scalars: bool,
    /// Most resident work-groups of more than one wave.
    groups: u32,
    /// Local memory in bytes, and the most of one work-group.
    local: u32,
    group_local: u32,
}

const LOCAL_STEP: u32 = 512;
const MOST_ITEMS: u32 = 1_024;

impl ComputeUnit {
    /// Compute unit of an architecture such as `gfx90a` or `gfx90a:sramecc+:xnack-`; `None` where it is unknown.
    pub fn from_architecture(architecture: &str) -> Option<ComputeUnit> {
        let gcn = ComputeUnit {
            wave: 64,
            simds: 4,
            waves: 10,
            registers: 256,
            step: 4,
            most_registers: 256,
            shares_scalars: true,
            groups: 16,
            local: 64 << 10,
            group_local: 64 << 10,
        };
        let cdna = ComputeUnit { waves: 8, registers: 512, step: 8, most_registers: 512, ..gcn };
        let rdna = ComputeUnit {
            wave: 32,
            waves: 16,
            registers: 1_024,
            step: 16,
            shares_scalars: false,
            groups: 32,
            local: 128 << 10,
            ..gcn
        };
        Some(match architecture.split(':').next()?.strip_prefix("gfx")? {
            "900" | "902" | "904" | "906" | "908" | "909" | "90c" => gcn,
            "90a" | "940" | "941" | "942" => cdna,
            "950" => ComputeUnit { local: 160 << 10, group_local: 160 << 10, ..cdna },
            "1010" | "1011" | "1012" | "1013" => ComputeUnit { waves: 20, step: 8, ..rdna },
            "1030" | "1031" | "1032" | "1033" | "1034" | "1035" | "1036" => rdna,
            "1100" | "1101" | "1151" | "1200" | "1201" => ComputeUnit { registers: 1_536, step: 24, ..rdna },
            "1102" | "1103" | "1150" | "1152" | "1153" => rdna,
            _ => return None,
        })
    }

    /// Computes the occupancy of a program with work-groups of `items` work-items.
    ///
    /// # Errors
    /// The reason why the program cannot launch.
    pub fn fit(&self, needs: &mut Resources, items: u32) -> Result<(), String> {
        let local = needs.local_bytes + needs.dynamic_local_bytes;
        let waves_of_group = items.div_ceil(self.wave).max(1);
        let by_registers = self.registers / needs.registers.max(1).next_multiple_of(self.step);
        let waves = self.simds * by_registers.min(self.waves).min(self.by_scalars(needs.scalar_registers));
        let by_local = self.local / local.next_multiple_of(LOCAL_STEP).max(1);
        let most = if waves_of_group == 1 { waves } else { self.groups };
        let groups = (waves / waves_of_group).min(by_local).min(most);
        let wrong = if local > self.group_local {
            Some(format!("needs {local} bytes of local memory, the device gives {} to a work-group", self.group_local))
        } else if items > MOST_ITEMS {
            Some(format!("has {items} work-items in a work-group, more than {MOST_ITEMS}"))
        } else if needs.registers > self.most_registers {
            Some(format!("needs {} registers, a work-item has {}", needs.registers, self.most_registers))
        } else if groups == 0 {
            Some(format!(
                "needs {} registers for each of {items} work-items, more than a compute unit has",
                needs.registers
            ))
        } else {
            None
        };
        needs.groups_per_unit = if wrong.is_some() { 0 } else { groups };
        needs.occupancy = needs.groups_per_unit * waves_of_group * 100 / (self.simds * self.waves);
        wrong.map_or(Ok(()), Err)
    }

    /// Most waves of a SIMD for a number of scalar registers.
    fn by_scalars(&self, scalars: u32) -> u32 {
        match scalars {
            _ if !self.shares_scalars => self.waves,
            ..=80 => 10,
            81..=88 => 9,
            89..=100 => 8,
            _ => 7,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_is_what_llvm_counts() {
        // architecture, vector and scalar registers, local bytes, work-items -> work-groups per unit, percent of its waves
        for (architecture, registers, scalars, local, items, groups, occupancy) in [
            ("gfx906", 24, 40, 0, 256, 10, 100),
            ("gfx906", 128, 40, 0, 256, 2, 20),
            ("gfx906", 64, 102, 0, 256, 4, 40),
            ("gfx906", 24, 40, 30_000, 64, 2, 5),
            ("gfx90a:sramecc+:xnack-", 128, 40, 0, 256, 4, 50),
            ("gfx90a", 512, 40, 0, 256, 1, 12),
            ("gfx1030", 64, 102, 0, 256, 8, 100),
            ("gfx1100", 96, 102, 0, 256, 8, 100),
            ("gfx1100", 120, 102, 0, 1_024, 1, 50),
            ("gfx1030", 32, 0, 65_536, 256, 2, 25),
        ] {
            let mut needs =
                Resources { registers, scalar_registers: scalars, local_bytes: local, ..Resources::default() };
            ComputeUnit::from_architecture(architecture).unwrap().fit(&mut needs, items).unwrap();
            assert_eq!(
                (needs.groups_per_unit, needs.occupancy),
                (groups, occupancy),
                "{architecture} {registers} {scalars} {local} {items}"
            );
        }
    }

    #[test]
    fn what_cannot_launch_is_told_with_its_reason() {
        let why = |architecture, registers, local_bytes, items| {
            let mut needs = Resources { registers, local_bytes, ..Resources::default() };
            let why = ComputeUnit::from_architecture(architecture).unwrap().fit(&mut needs, items).unwrap_err();
            assert_eq!(needs.groups_per_unit, 0);
            why
        };
        assert!(why("gfx906", 32, 65_600, 64).contains("the device gives 65536"));
        assert!(why("gfx906", 128, 0, 1_024).contains("128 registers for each of 1024"));
        assert!(why("gfx906", 300, 0, 64).contains("a work-item has 256"));
        assert!(why("gfx1100", 32, 0, 2_048).contains("more than 1024"));
        assert_eq!(ComputeUnit::from_architecture("gfx9999"), None);
    }
}
