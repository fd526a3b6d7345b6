//! Fake device for tests (`--device fake`, not listed), whose times and injected failures are functions of the config.
//!
//! It computes nothing: kernel and reference leave the same bytes, unless a wrong result is injected.
//! `SEQTUNE_FAKE` selects modes: `faults` injects failures, `energy` adds an energy counter, `slow=MS` sleeps for MS milliseconds at each
//! launch, `hot` reports throttling after each launch, `refuse=N` rejects references of N work-items.

use crate::compile::Job;
use crate::executor::{BufferId, Executor, KernelArg, ProgramId, Timing};
use crate::launch::LaunchDims;
use crate::measuring::energy::EnergyMeter;
use seqtune_data::{Attempt, Conditions, Invalidity, InvalidityKind};
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Device, Limits};
use sha2::{Digest, Sha256};

/// Id of the fake device.
pub const ID: &str = "fake";

struct FakeProgram {
    seed: u64,
    is_reference: bool,
}

/// Fake device for tests.
pub struct Fake {
    device: Device,
    programs: Vec<Option<FakeProgram>>,
    buffers: Vec<Vec<u8>>,
    faults: bool,
    poisoned: bool,
    slow: std::time::Duration,
    refuse: Option<usize>,
    hot: bool,
    worked: bool,
}

impl Fake {
    /// Creates a device with the modes of `SEQTUNE_FAKE`.
    pub fn from_environment() -> Fake {
        let mode = std::env::var("SEQTUNE_FAKE").unwrap_or_default();
        let number = |name: &str| mode.split(',').find_map(|m| m.strip_prefix(name)?.parse().ok());
        let limits = Limits {
            max_group_items: Some(256.0),
            max_items_0: Some(256.0),
            max_items_1: Some(256.0),
            max_items_2: Some(256.0),
            local_memory: Some(32_768.0),
            sub_group: Some(1.0),
            compute_units: Some(4.0),
            cache_bytes: Some(1e6),
            is_cpu: Some(1.0),
            ..Limits::default()
        };
        let device = Device {
            aliases: Vec::new(),
            name: "fake".into(),
            vendor: "seqtune".into(),
            architecture: "fake".into(),
            driver: "fake 1".into(),
            source: "made up, for tests".into(),
            limits,
        };
        Fake {
            device,
            programs: Vec::new(),
            buffers: Vec::new(),
            faults: mode.contains("faults"),
            poisoned: false,
            slow: std::time::Duration::from_millis(number("slow=").unwrap_or(0)),
            refuse: number("refuse=").map(|n| n as usize),
            hot: mode.contains("hot"),
            worked: false,
        }
    }
}

impl Executor for Fake {
    fn device(&self) -> &Device {
        &self.device
    }

    fn compile(&mut self, job: &Job) -> Attempt<ProgramId> {
        let entry = job.entry;
        let digest = Sha256::digest(job.defines.canonical());
        let seed = digest.iter().take(4).fold(0, |x, b| x << 8 | *b as u64);
        let is_reference = entry.ends_with("_reference");
        if self.faults && !is_reference && seed % 11 == 1 {
            return Err(Invalidity::new(InvalidityKind::Compile, "injected"));
        }
        self.programs.push(Some(FakeProgram { seed, is_reference }));
        Ok(ProgramId(self.programs.len() - 1))
    }

    fn computes(&self) -> bool {
        false
    }

    fn conditions(&mut self) -> Option<Conditions> {
        // hot for as long as it works: a second query after a launch is too late
        let throttled = std::mem::take(&mut self.worked).then(|| "hot".to_string());
        let conditions =
            Conditions { clock_mhz: 1_000, throttled: throttled.into_iter().collect(), ..Conditions::default() };
        self.hot.then_some(conditions)
    }

    fn release(&mut self, program: ProgramId) {
        self.programs[program.0] = None;
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId> {
        self.buffers.push(vec![0; bytes]);
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn free_all(&mut self) {
        self.buffers.clear();
    }

    fn write(&mut self, buffer: BufferId, data: &[u8]) -> Result<()> {
        self.buffers[buffer.0][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn read(&mut self, buffer: BufferId, data: &mut [u8]) -> Result<()> {
        data.copy_from_slice(&self.buffers[buffer.0][..data.len()]);
        Ok(())
    }

    fn launch(
        &mut self,
        program: ProgramId,
        values: &[KernelArg],
        geometry: &LaunchDims,
        repeat: usize,
        _timing: Timing,
    ) -> Attempt<Vec<f32>> {
        std::thread::sleep(self.slow);
        self.worked = true;
        if self.poisoned {
            return Err(Invalidity::new(InvalidityKind::Runtime, "the device is lost"));
        }
        let Some(FakeProgram { seed, is_reference }) = &self.programs[program.0] else {
            return Err(Invalidity::new(InvalidityKind::Runtime, "the program was released"));
        };
        let items: usize = geometry.global.iter().product();
        if *is_reference && self.refuse == Some(items) {
            return Err(Invalidity::new(InvalidityKind::Runtime, "refused"));
        }
        // the one work-group of the smallest problem is spared, so that configs fail when measured, not when compiled
        if self.faults && !is_reference && geometry.global != geometry.local {
            match seed % 11 {
                2 => std::process::abort(),
                3 => loop {
                    std::thread::sleep(std::time::Duration::from_secs(1));
                },
                4 => return Err(Invalidity::new(InvalidityKind::Runtime, "injected")),
                6 => {
                    self.poisoned = true;
                    return Err(Invalidity::new(InvalidityKind::Runtime, "injected, and the device is lost"));
                }
                5 => {
                    // the output is the last buffer argument of every kernel
                    if let Some(KernelArg::Buffer(b)) = values.iter().rev().find(|v| matches!(v, KernelArg::Buffer(_)))
                    {
                        self.buffers[b.0][3] ^= 0x40;
                    }
                }
                _ => {}
            }
        }
        let time = items as f32 * 1e-3 * (1.0 + (seed % 1_000) as f32 / 100.0);
        Ok((0..repeat).map(|i| time * (1.0 + i as f32 * 1e-3)).collect())
    }

    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String> {
        if std::env::var("SEQTUNE_FAKE").is_ok_and(|mode| mode.contains("energy")) {
            return Ok(Box::new(FakeCounter(0.0)));
        }
        Err("the device is not one that uses energy".into())
    }

    fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// Counter that adds a joule at each read.
struct FakeCounter(f64);

impl EnergyMeter for FakeCounter {
    fn joules(&mut self) -> std::result::Result<f64, String> {
        self.0 += 1.0;
        Ok(self.0)
    }
}
