//! Restoring and comparing of outputs on the device itself.
//!
//! The host needs tens of milliseconds for results of megabytes, and checks only those that the device finds wrong.

use crate::compile::Job;
use crate::executor::{BufferId, Executor, KernelArg, ProgramId, Timing};
use crate::launch::LaunchDims;
use crate::verify::compare::CANARY;
use crate::verify::format::Format;
use seqtune_data::Invalidity;
use seqtune_kernel::Define;
use std::collections::HashMap;

const SOURCE: &str = include_str!("on_device.cl");
const GROUP: usize = 256;
/// Work-items are numbered in 32 bits.
const MOST_WORDS: usize = 1 << 30;
/// Margin for the rounding of a difference to f32 on the device, so that nothing passes that the host would reject.
const SLACK: f64 = 1.0 - 1e-6;

/// Programs that restore and compare outputs, by format.
#[derive(Default)]
pub struct DeviceComparison(HashMap<Format, Option<[ProgramId; 2]>>);

/// Copies on the device of an output's initial and expected content.
pub struct ShadowBuffers {
    before: BufferId,
    expected: BufferId,
    flag: BufferId,
    format: Format,
    bytes: usize,
    programs: [ProgramId; 2],
}

impl DeviceComparison {
    /// Copies the initial and expected content with canaries to the device, and tests both programs on `output`.
    ///
    /// `None` on a CPU, where the host is as fast, or where the device fails.
    pub fn shadows(
        &mut self,
        executor: &mut dyn Executor,
        output: BufferId,
        format: Format,
        before: &[u8],
        expected: &[u8],
    ) -> Option<ShadowBuffers> {
        let is_cpu = executor.device().limits.is_cpu != Some(0.0);
        if is_cpu || !executor.computes() || before.len() / format.bytes() > MOST_WORDS {
            return None;
        }
        let programs = (*self.0.entry(format).or_insert_with(|| compile(executor, format)))?;
        let mut copy = |data: &[u8]| {
            let buffer = executor.alloc(data.len()).ok()?;
            executor.write(buffer, data).ok().map(|()| buffer)
        };
        let (before_there, expected_there, flag) = (copy(before)?, copy(expected)?, copy(&[0; 4])?);
        let shadows = ShadowBuffers {
            before: before_there,
            expected: expected_there,
            flag,
            format,
            bytes: before.len(),
            programs,
        };
        let works =
            shadows.restore(executor, output).is_ok() && shadows.agrees(executor, expected_there, 0.0) == Ok(true);
        works.then_some(shadows)
    }
}

fn compile(executor: &mut dyn Executor, format: Format) -> Option<[ProgramId; 2]> {
    let defines = [Define::new(format.macro_name(), "1")];
    let mut program = |entry: &str| {
        let job = Job {
            file: "on_device.cl",
            source: SOURCE,
            entry,
            defines: &defines,
            group: vec![GROUP as u32],
            dynamic_local_bytes: 0,
        };
        executor.compile(&job).ok()
    };
    Some([program("seqtune_restore")?, program("seqtune_compare")?])
}

impl ShadowBuffers {
    fn words(&self) -> usize {
        self.bytes / self.format.bytes()
    }

    fn launch(&self, executor: &mut dyn Executor, program: ProgramId, values: &[KernelArg]) -> Result<(), Invalidity> {
        let geometry = LaunchDims { global: vec![self.words().next_multiple_of(GROUP)], local: vec![GROUP] };
        executor.launch(program, values, &geometry, 1, Timing::Warm).map(drop)
    }

    /// Restores the initial content of an output.
    ///
    /// # Errors
    /// [`Invalidity`] where the launch fails.
    pub fn restore(&self, executor: &mut dyn Executor, output: BufferId) -> Result<(), Invalidity> {
        let [from, to, flag] = [self.before, output, self.flag].map(KernelArg::Buffer);
        self.launch(executor, self.programs[0], &[KernelArg::Int(self.words() as i32), from, to, flag])
    }

    /// Checks whether an output is within `most` of its expected content; the host has to check one that is not.
    ///
    /// # Errors
    /// [`Invalidity`] where the launch fails.
    pub fn agrees(&self, executor: &mut dyn Executor, output: BufferId, most: f64) -> Result<bool, Invalidity> {
        let count = (self.bytes - CANARY) / self.format.bytes();
        let [found, expected, flag] = [output, self.expected, self.flag].map(KernelArg::Buffer);
        let most = KernelArg::Float((most * SLACK) as f32);
        let values = [KernelArg::Int(count as i32), KernelArg::Int(self.words() as i32), most, found, expected, flag];
        self.launch(executor, self.programs[1], &values)?;
        let mut differs = [1; 4];
        // a flag that cannot be read counts as a difference
        Ok(executor.read(self.flag, &mut differs).is_ok() && differs == [0; 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use crate::registry::{devices, open};
    use crate::verify::compare::{canary, difference, random_data, scale};
    use rand::Rng;

    /// In a process of its own: a CPU's OpenCL and AMD's compiler, which other tests open, do not get on in one process.
    #[test]
    fn the_device_finds_wrong_what_the_host_finds_wrong() {
        let name = "verify::on_device::tests::alone_the_device_finds_wrong_what_the_host_finds_wrong";
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        let output = test.args(["--ignored", "--exact", name, "--nocapture"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        println!("{text}");
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    #[test]
    #[ignore = "run by the test above"]
    fn alone_the_device_finds_wrong_what_the_host_finds_wrong() {
        let found = devices().found;
        let Some(device) = found.first() else {
            println!("skipped: no OpenCL device opens here; `scripts/setup.sh opencl` makes the processor one");
            return;
        };
        let mut executor = open(&device.id).unwrap();
        let executor = executor.as_mut();
        let mut rng = test_generator(4);
        for format in [Format::F32, Format::F16, Format::Bf16] {
            let size = format.bytes();
            let mut data = |count| [random_data(count, format, &mut rng), canary().into()].concat();
            let (before, expected) = (data(1_001), data(1_001));
            let most = 1e-2 * scale(&expected, format);
            let programs = compile(executor, format).expect("agree.cl compiles");
            let mut copy = |data: &[u8]| {
                let buffer = executor.alloc(data.len()).unwrap();
                executor.write(buffer, data).unwrap();
                buffer
            };
            let (output, flag) = (copy(&vec![0xff; before.len()]), copy(&[9; 4]));
            let bytes = before.len();
            let shadows =
                ShadowBuffers { before: copy(&before), expected: copy(&expected), flag, format, bytes, programs };
            shadows.restore(executor, output).unwrap();
            let mut restored = vec![0; before.len()];
            executor.read(output, &mut restored).unwrap();
            assert!(restored == before, "{format:?} is not put back");
            assert!(!shadows.agrees(executor, output, most).unwrap());
            // one bit of one element, from the last of its mantissa to its sign, or of the canary
            let (mut agreed, mut refused) = (0, 0);
            for round in 0..96 {
                let mut found = expected.clone();
                let at =
                    if round % 8 == 7 { bytes - 1 - round } else { rng.random_range(0..1_001) * size + round % size };
                found[at] ^= 1 << rng.random_range(0..8);
                if round == 5 {
                    let nan = [0xff; 4];
                    found[400 * size..][..size].copy_from_slice(&nan[..size]);
                }
                shadows.restore(executor, output).unwrap();
                executor.write(output, &found).unwrap();
                let wrong = difference(&found, &expected, format, most).is_some();
                assert_eq!(shadows.agrees(executor, output, most).unwrap(), !wrong, "{format:?}, byte {at}");
                *(if wrong { &mut refused } else { &mut agreed }) += 1;
            }
            assert!(agreed > 10 && refused > 20, "{format:?}: {agreed} agree, {refused} do not");
        }
    }
}
