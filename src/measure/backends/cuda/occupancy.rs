//! Occupancy of a program on an NVIDIA GPU, and reasons for programs that cannot launch.
//!
//! Limits are those of the CUDA C++ Programming Guide, technical specifications per compute capability. Allocation units of registers and
//! shared memory are those of the CUDA Occupancy Calculator.

use seqtune_data::Resources;
use seqtune_kernel::canonical::{Canonical, structure};

/// Resources that a multiprocessor shares among its work-groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiprocessor {
    /// Most resident work-items, and most resident work-groups.
    items: u32,
    groups: u32,
    /// 32-bit registers.
    registers: u32,
    /// Shared memory in bytes, and the reserved bytes of each work-group.
    local: u32,
    reserved: u32,
    /// Most shared memory of one work-group in bytes, by opt-in at launch.
    pub group_local: u32,
}

/// Work-items of a warp, allocation unit of its registers, and allocation unit of shared memory in bytes.
const WARP: u32 = 32;
const REGISTER_STEP: u32 = 256;
const LOCAL_STEP: u32 = 128;
/// Parts of a multiprocessor that registers belong to, on every architecture below.
const QUARTERS: u32 = 4;
const MOST_REGISTERS: u32 = 255;
const MOST_ITEMS: u32 = 1_024;

impl Multiprocessor {
    /// Multiprocessor of an architecture such as `sm_90`; `None` where it is unknown.
    pub fn from_architecture(architecture: &str) -> Option<Multiprocessor> {
        let capability: u32 = architecture.strip_prefix("sm_")?.trim_end_matches(['a', 'f']).parse().ok()?;
        let unit = |items, groups, local_kib: u32, reserved: u32| Multiprocessor {
            items,
            groups,
            registers: 65_536,
            local: local_kib << 10,
            reserved,
            group_local: (local_kib << 10) - reserved,
        };
        Some(match capability {
            70 | 72 => unit(2_048, 32, 96, 0),
            75 => unit(1_024, 16, 64, 0),
            80 => unit(2_048, 32, 164, 1_024),
            86 => unit(1_536, 16, 100, 1_024),
            87 => unit(1_536, 16, 164, 1_024),
            89 => unit(1_536, 24, 100, 1_024),
            90 | 100 | 103 => unit(2_048, 32, 228, 1_024),
            110 => unit(1_536, 24, 228, 1_024),
            120 | 121 => unit(1_536, 24, 100, 1_024),
            _ => return None,
        })
    }

    /// Computes the occupancy of a program with work-groups of `items` work-items.
    ///
    /// # Errors
    /// The reason why the program cannot launch.
    pub fn fit(&self, needs: &mut Resources, items: u32) -> Result<(), String> {
        let local = needs.local_bytes + needs.dynamic_local_bytes;
        // what a program may declare by itself is less on most architectures, of which the assembler tells
        let wrong = if local > self.group_local {
            Some(format!("needs {local} bytes of local memory, the device gives {} to a work-group", self.group_local))
        } else if items > MOST_ITEMS {
            Some(format!("has {items} work-items in a work-group, more than {MOST_ITEMS}"))
        } else if needs.registers > MOST_REGISTERS {
            Some(format!("needs {} registers, a work-item has {MOST_REGISTERS}", needs.registers))
        } else {
            None
        };
        let warps = items.div_ceil(WARP).max(1);
        let registers_of_warp = (needs.registers * WARP).next_multiple_of(REGISTER_STEP).max(REGISTER_STEP);
        // each quarter of a unit has registers of its own, and a work-group's warps are dealt out to them in turn
        let by_registers = self.registers / QUARTERS / registers_of_warp * QUARTERS / warps;
        let by_local = self.local / (local + self.reserved).next_multiple_of(LOCAL_STEP).max(1);
        let by_items = self.items / (warps * WARP);
        needs.groups_per_unit =
            if wrong.is_some() { 0 } else { self.groups.min(by_registers).min(by_local).min(by_items) };
        needs.occupancy = needs.groups_per_unit * warps * WARP * 100 / self.items;
        match wrong {
            Some(wrong) => Err(wrong),
            None if needs.groups_per_unit == 0 => Err(format!(
                "needs {} registers for each of {items} work-items, a compute unit has {}",
                needs.registers, self.registers
            )),
            None => Ok(()),
        }
    }
}

impl Canonical for Multiprocessor {
    fn canonical(&self) -> String {
        let Multiprocessor { items, groups, registers, local, reserved, group_local } = self;
        structure(
            "ComputeUnit",
            &[
                ("items", items),
                ("groups", groups),
                ("registers", registers),
                ("local", local),
                ("reserved", reserved),
                ("group_local", group_local),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canonical_text_of_a_multiprocessor_is_what_it_always_was() {
        let expected = "Some(ComputeUnit { items: 2048, groups: 32, registers: 65536, local: 233472, reserved: 1024, group_local: 232448 })";
        assert_eq!(Multiprocessor::from_architecture("sm_90").canonical(), expected);
    }

    fn needs(registers: u32, local_bytes: u32) -> Resources {
        Resources { registers, local_bytes, ..Resources::default() }
    }

    #[test]
    fn occupancy_is_what_the_makers_calculator_says() {
        // CUDA Occupancy Calculator: capability, registers, shared bytes, work-items -> work-groups per multiprocessor
        for (capability, registers, local, items, groups) in [
            ("sm_90", 32, 0, 256, 8),
            ("sm_90", 64, 0, 256, 4),
            ("sm_90", 255, 0, 256, 1),
            ("sm_90", 40, 32_768, 128, 6),
            ("sm_90", 189, 0, 32, 8),
            ("sm_90", 194, 0, 64, 4),
            ("sm_90", 168, 0, 384, 1),
            ("sm_80", 32, 49_152, 256, 3),
            ("sm_86", 32, 0, 256, 6),
            ("sm_75", 32, 0, 1_024, 1),
        ] {
            let mut needs = needs(registers, local);
            Multiprocessor::from_architecture(capability).unwrap().fit(&mut needs, items).unwrap();
            assert_eq!(needs.groups_per_unit, groups, "{capability} {registers} {local} {items}");
        }
    }

    /// Lists, by the header that NVIDIA ships, how many work-groups a multiprocessor holds.
    const LISTED: &str = r#"
#include <limits.h>
#include <stdio.h>
#include "cuda_occupancy.h"
int main(int count, char **word)
{
    for (int at = 1; at < count; ++at) {
        int capability, threads, local, reserved;
        sscanf(word[at], "%d,%d,%d,%d", &capability, &threads, &local, &reserved);
        cudaOccDeviceProp unit = {0};
        unit.computeMajor = capability / 10, unit.computeMinor = capability % 10;
        unit.maxThreadsPerBlock = 1024, unit.maxThreadsPerMultiprocessor = threads, unit.warpSize = 32, unit.numSms = 1;
        unit.regsPerBlock = unit.regsPerMultiprocessor = 65536;
        unit.sharedMemPerBlock = 49152, unit.sharedMemPerMultiprocessor = local;
        unit.sharedMemPerBlockOptin = local - reserved, unit.reservedSharedMemPerBlock = reserved;
        for (int registers = 1; registers <= 255; registers += 3)
            for (int items = 32; items <= 1024; items += items < 256 ? 32 : 96)
                for (int bytes = 0; bytes <= local - reserved; bytes += 4864) {
                    cudaOccFuncAttributes f = {1024, registers, bytes, PARTITIONED_GC_OFF, FUNC_SHMEM_LIMIT_OPTIN, INT_MAX, 1};
                    cudaOccDeviceState state = {CACHE_PREFER_SHARED, SHAREDMEM_CARVEOUT_MAX_SHARED};
                    cudaOccResult found;
                    if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &unit, &f, &state, items, 0)) return 1;
                    printf("%d %d %d %d %d\n", capability, registers, items, bytes, found.activeBlocksPerMultiprocessor);
                }
    }
}
"#;

    #[test]
    fn work_groups_per_multiprocessor_are_as_many_as_the_makers_header_says() {
        let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.nvrtc/include");
        if !std::path::Path::new(include).join("cuda_occupancy.h").exists() {
            return println!("skipped: CUDA's headers are not here; `scripts/setup.sh nvrtc` fetches them");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("list.c"), LISTED).unwrap();
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-O1", "-w", "-I", include, "list.c", "-o", "list"]).current_dir(folder.path());
        assert!(compiler.status().unwrap().success());
        let known = [70, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121].map(|capability| {
            let unit = Multiprocessor::from_architecture(&format!("sm_{capability}")).unwrap();
            format!("{capability},{},{},{}", unit.items, unit.local, unit.reserved)
        });
        let output = std::process::Command::new(folder.path().join("list")).args(known).output().unwrap();
        let mut cases = 0;
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let numbers: Vec<u32> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            let [capability, registers, items, bytes, groups] = numbers[..] else { panic!("{line}") };
            let mut needs = needs(registers, bytes);
            let _ = Multiprocessor::from_architecture(&format!("sm_{capability}")).unwrap().fit(&mut needs, items);
            assert_eq!(needs.groups_per_unit, groups, "{line}");
            cases += 1;
        }
        assert!(output.status.success() && cases > 500_000, "{cases} cases");
        println!("{cases} cases of twelve architectures agree");
    }

    #[test]
    fn what_cannot_launch_is_told_with_its_reason() {
        let unit = Multiprocessor::from_architecture("sm_90").unwrap();
        let why = |mut needs: Resources, items| unit.fit(&mut needs, items).unwrap_err();
        assert!(why(needs(128, 0), 1_024).contains("128 registers for each of 1024"));
        assert!(why(needs(32, 250_000), 64).contains("250000 bytes"));
        let big = Resources { dynamic_local_bytes: 233_000, ..needs(32, 0) };
        assert!(why(big, 64).contains("gives 232448"));
        assert!(unit.fit(&mut Resources { dynamic_local_bytes: 232_448, ..needs(32, 0) }, 64).is_ok());
        assert_eq!(Multiprocessor::from_architecture("gfx906"), None);
    }
}
