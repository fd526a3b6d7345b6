//! The device: buffers that all sizes share, programs by config, and what setting each up cost.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::kernel_toml::spec::ArgumentKind;
use seqtune_measure::compile::Job;
use seqtune_measure::{Executor, KernelArg, LaunchDims, ProgramId, Timing};
use seqtune_predict::{Config, Device, Kernel, Problem};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Elements of each matrix at most.
const ELEMENTS: usize = 1 << 20;

/// What a call took.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Microseconds on the device.
    pub us: f64,
}

/// An open device with its programs.
pub struct Bench {
    executor: Box<dyn Executor>,
    pub device: Device,
    kernel: Kernel,
    buffers: Vec<KernelArg>,
    programs: HashMap<Config, ProgramId>,
    /// Configs and problems that ran once.
    touched: HashSet<String>,
    /// Microseconds that setting up a config took, and its first call of a problem beyond the second one.
    costs: BTreeMap<String, f64>,
    place: PathBuf,
}

impl Bench {
    pub fn open(kernel: &Kernel, folder: &Path) -> Result<Bench> {
        let mut executor = seqtune_measure::open("opencl:0")?;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut buffers = Vec::new();
        for argument in &kernel.source()?.arguments {
            if matches!(argument.kind, ArgumentKind::In | ArgumentKind::Out) {
                let data: Vec<u8> = (0..ELEMENTS).flat_map(|_| (rng.random::<f32>() - 0.5).to_le_bytes()).collect();
                let buffer = executor.alloc(data.len())?;
                executor.write(buffer, &data)?;
                buffers.push(KernelArg::Buffer(buffer));
            }
        }
        let place = folder.join("costs.json");
        let costs = std::fs::read(&place).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Ok(Bench {
            device: executor.device().clone(),
            executor,
            kernel: kernel.clone(),
            buffers,
            programs: HashMap::new(),
            touched: HashSet::new(),
            costs,
            place,
        })
    }

    /// Whether the matrices of a problem fit the buffers.
    pub fn fits(&self, problem: &Problem) -> bool {
        let env = self.kernel.env(problem, None);
        let arguments = self.kernel.source().map(|source| &source.arguments[..]).unwrap_or_default();
        arguments.iter().all(|a| a.amount.eval(&env) <= ELEMENTS as f64 || a.kind == ArgumentKind::Float)
    }

    /// Writes what setting up cost.
    pub fn keep_costs(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(&self.costs).map_err(|e| Error::Failed(e.to_string()))?;
        write_whole(&self.place, &text)
    }

    /// Microseconds that setting up a config took, once it ran.
    pub fn setup_us(&self, config: &Config) -> f64 {
        self.costs.get(&self.kernel.show_config(config)).copied().unwrap_or_default()
    }

    /// Mean of [`Bench::setup_us`] over all configs so far.
    pub fn mean_setup_us(&self) -> f64 {
        self.costs.values().sum::<f64>() / self.costs.len().max(1) as f64
    }

    /// Runs a config once. Its first call of a problem is preceded by one that is not timed, and its very first one is its set-up.
    pub fn call(&mut self, problem: &Problem, config: &Config) -> Result<Call> {
        let name = self.kernel.show_config(config);
        let program = match self.programs.get(config) {
            Some(program) => *program,
            None => {
                let began = Instant::now();
                let source = self.kernel.source()?;
                let env = self.kernel.env_of(problem, Some(&self.device), config);
                let defines = self.kernel.defines(problem, config);
                let job = Job::new(&self.kernel, &source.program, &defines, &env);
                let compiled =
                    self.executor.compile(&job).map_err(|e| Error::Failed(format!("{name}: {}", e.detail)))?;
                self.programs.insert(config.clone(), compiled);
                // the driver compiles the rest at the first launch
                self.launch(problem, config, compiled)?;
                let spent = began.elapsed().as_secs_f64() * 1e6;
                self.costs.entry(name.clone()).or_insert(spent);
                compiled
            }
        };
        if self.touched.insert(format!("{:?} {name}", problem.values)) {
            self.launch(problem, config, program)?;
        }
        self.launch(problem, config, program)
    }

    fn launch(&mut self, problem: &Problem, config: &Config, program: ProgramId) -> Result<Call> {
        let source = self.kernel.source()?;
        let env = self.kernel.env(problem, None);
        let mut buffers = self.buffers.iter();
        let mut values = Vec::new();
        for argument in &source.arguments {
            let amount = argument.amount.eval(&env);
            values.push(match argument.kind {
                ArgumentKind::Int => KernelArg::Int(amount as i32),
                ArgumentKind::Float => KernelArg::Float(amount as f32),
                ArgumentKind::In | ArgumentKind::Out => match buffers.next() {
                    Some(buffer) => *buffer,
                    None => return Err(Error::Failed("a buffer is missing".into())),
                },
            });
        }
        let dims = LaunchDims::new(&self.kernel, &self.device, &source.program, problem, Some(config));
        let times = self.executor.launch(program, &values, &dims, 1, Timing::Warm);
        let times = times.map_err(|e| Error::Failed(format!("{}: {}", self.kernel.show_config(config), e.detail)))?;
        let us = times.first().copied().unwrap_or_default() as f64;
        Ok(Call { us: us.max(0.01) })
    }
}
