//! How problems, devices and configs are spelled for the network. Nothing else knows.
//!
//! Source: one token per problem field, one for the objective, one for the device and as many as needed for the derived
//! quantities that need no parameter. Each token is a vector of [`WIDTH`] numbers with a projection of its own.
//! Target: one token per parameter value. At each decoding step the network also sees the features that the prefix
//! decides. Encoding of sizes after the comparison in the project's log: log-scaled features beat digits and value
//! vocabularies.

use crate::dataset::{Objective, Table};
use crate::error::{Result, input};
use crate::kernel::expr::Code;
use crate::kernel::spec::FieldKind;
use crate::kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use serde::{Deserialize, Serialize};

/// Numbers per source token.
pub const WIDTH: usize = 32;

/// Mean and standard deviation that make a quantity comparable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    pub mean: f64,
    pub deviation: f64,
}

impl Scale {
    /// Of the finite values; a constant keeps deviation 1.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let finite = || values.clone().filter(|v| v.is_finite());
        let n = finite().count().max(1) as f64;
        let mean = finite().sum::<f64>() / n;
        let deviation = (finite().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        Scale { mean, deviation: if deviation > 1e-6 { deviation } else { 1.0 } }
    }

    /// In deviations from the mean, within +-5; 0 where the value is unknown.
    pub fn apply(&self, value: f64) -> f32 {
        if value.is_finite() { ((value - self.mean) / self.deviation).clamp(-5.0, 5.0) as f32 } else { 0.0 }
    }
}

/// The spelling of one kernel's problems and configs, fixed when a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vocab {
    /// First token of each parameter; the last entry is the number of tokens.
    pub offsets: Vec<u16>,
    /// Scale of each feature of the kernel, in its order.
    pub features: Vec<Scale>,
    /// Natural logarithm of operations per microsecond, what the time head predicts.
    pub rate: Scale,
}

/// One problem on one device, ready to be spelled: its space and compiled features.
pub struct Spelled<'k> {
    pub space: ConfigSpace<'k>,
    /// Features in the kernel's order.
    codes: Vec<Code>,
    env: Vec<f64>,
    flops: f64,
}

impl Vocab {
    /// Learns the scales from the problems `train` of a table.
    pub fn new(kernel: &Kernel, table: &Table, train: &[usize]) -> Vocab {
        let mut offsets = vec![0];
        for p in &kernel.parameters {
            offsets.push(offsets[offsets.len() - 1] + p.values.len() as u16);
        }
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); kernel.features.len()];
        let mut rates = Vec::new();
        for tried in train.iter().map(|i| &table.tried[*i]) {
            let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
            for (config, outcome) in &tried.results {
                let mut env = spelled.env.clone();
                set(&mut env, kernel, &config.0);
                for (column, code) in columns.iter_mut().zip(&spelled.codes) {
                    column.push(code.eval(&env));
                }
                rates.extend(outcome.time_us().map(|t| (spelled.flops / t).ln()));
            }
        }
        let features = columns.iter().map(|c| Scale::of(c.iter().copied())).collect();
        Vocab { offsets, features, rate: Scale::of(rates.iter().copied()) }
    }

    /// Number of target tokens; the same number stands for "begin".
    pub fn tokens(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize
    }

    /// Number of parameters.
    pub fn positions(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Token of value `choice` of the parameter at `position`.
    pub fn token(&self, position: usize, choice: u8) -> u16 {
        self.offsets[position] + choice as u16
    }

    /// Number of source tokens of `kernel`.
    pub fn source_length(kernel: &Kernel) -> usize {
        kernel.fields.len() + 2 + problem_features(kernel).div_ceil(WIDTH)
    }

    /// Numbers per decoding step: the features that need a parameter; one that stays 0 where there are none.
    pub fn step_width(kernel: &Kernel) -> usize {
        (kernel.features.len() - problem_features(kernel)).max(1)
    }

    /// The source of a problem: `source_length * WIDTH` numbers.
    pub fn source(&self, kernel: &Kernel, spelled: &Spelled, objective: Objective) -> Vec<f32> {
        let mut source = Vec::with_capacity(Self::source_length(kernel) * WIDTH);
        let mut token = |numbers: &[f32]| {
            source.extend_from_slice(&numbers[..numbers.len().min(WIDTH)]);
            source.resize(source.len().next_multiple_of(WIDTH), 0.0);
        };
        let count = kernel.parameters.len();
        for (i, field) in kernel.fields.iter().enumerate() {
            let value = spelled.env[count + i];
            match field.kind {
                FieldKind::Size => token(&spell_size(value)),
                FieldKind::Real => token(&spell_real(value)),
                FieldKind::Choice => token(&one_hot(value as usize, field.labels.len())),
            }
        }
        token(&one_hot(objective as usize, Objective::ALL.len()));
        let limits = &spelled.env[count + kernel.fields.len()..];
        // logarithm to base 2, in units of its usual spread, and whether it is known
        let spell = |v: &f64| if v.is_nan() { [0.0, 0.0] } else { [(v + 1.0).log2() as f32 / 8.0, 1.0] };
        token(&limits.iter().flat_map(spell).collect::<Vec<f32>>());
        let known: Vec<f32> = (0..kernel.features.len())
            .filter(|i| kernel.features[*i].known_after == 0)
            .map(|i| self.features[i].apply(spelled.codes[i].eval(&spelled.env)))
            .collect();
        known.chunks(WIDTH).for_each(token);
        source
    }

    /// The features that a prefix decides, scaled, 0 for those it does not: `step_width` numbers appended to `out`.
    pub fn step(&self, kernel: &Kernel, spelled: &Spelled, prefix: &[u8], out: &mut Vec<f32>) {
        let mut env = spelled.env.clone();
        set(&mut env, kernel, prefix);
        if problem_features(kernel) == kernel.features.len() {
            out.push(0.0);
        }
        for (i, feature) in kernel.features.iter().enumerate() {
            if feature.known_after > 0 {
                let decided = feature.known_after <= prefix.len();
                out.push(if decided { self.features[i].apply(spelled.codes[i].eval(&env)) } else { 0.0 });
            }
        }
    }

    /// All features of a finished config, unscaled, for other learners.
    pub fn features_of(kernel: &Kernel, spelled: &Spelled, config: &Config) -> Vec<f64> {
        let mut env = spelled.env.clone();
        set(&mut env, kernel, &config.0);
        spelled.codes.iter().map(|c| c.eval(&env)).collect()
    }

    /// What the time head is to say of a time in microseconds.
    pub fn spell_time(&self, spelled: &Spelled, time_us: f64) -> f32 {
        self.rate.apply((spelled.flops / time_us).ln())
    }

    /// Microseconds from what the time head says.
    pub fn read_time(&self, spelled: &Spelled, head: f32) -> f64 {
        spelled.flops / (head as f64 * self.rate.deviation + self.rate.mean).exp()
    }

    /// Refuses a kernel that this vocabulary was not made for.
    pub fn check(&self, kernel: &Kernel) -> Result<()> {
        let values = kernel.parameters.iter().map(|p| p.values.len()).sum::<usize>();
        match self.tokens() == values && self.features.len() == kernel.features.len() {
            true => Ok(()),
            false => input("the model's vocabulary does not fit the kernel; train it again"),
        }
    }
}

impl<'k> Spelled<'k> {
    pub fn new(kernel: &'k Kernel, problem: &Problem, device: &Device) -> Spelled<'k> {
        let env = kernel.env(problem, Some(device));
        let count = kernel.parameters.len();
        Spelled {
            space: ConfigSpace::new(kernel, problem, device),
            codes: kernel.features.iter().map(|f| f.expr.specialise(&env, count).compile()).collect(),
            flops: kernel.flops.eval(&env),
            env,
        }
    }
}

impl Spelled<'_> {
    /// The device's limits, NaN where unknown.
    pub fn limits(&self) -> &[f64] {
        let kernel = self.space.kernel;
        &self.env[kernel.parameters.len() + kernel.fields.len()..]
    }
}

fn problem_features(kernel: &Kernel) -> usize {
    kernel.features.iter().filter(|f| f.known_after == 0).count()
}

fn set(env: &mut [f64], kernel: &Kernel, prefix: &[u8]) {
    for ((slot, p), choice) in env.iter_mut().zip(&kernel.parameters).zip(prefix) {
        *slot = p.values[*choice as usize] as f64;
    }
}

fn one_hot(index: usize, of: usize) -> Vec<f32> {
    (0..of).map(|i| (i == index) as u8 as f32).collect()
}

/// Logarithm and its square, divisibility by powers of two, low bits, phases of the logarithm, small divisors.
fn spell_size(x: f64) -> Vec<f32> {
    let log = (x + 1e-9).max(0.5).log2();
    let whole = x as u64;
    let mut numbers = vec![(log / 8.0) as f32, (log * log / 64.0) as f32];
    numbers.push(whole.max(1).trailing_zeros().min(8) as f32 / 4.0);
    numbers.extend((0..3).map(|bit| (whole >> bit & 1) as f32));
    for octaves in [1.0, 2.0, 4.0, 8.0] {
        let phase = std::f64::consts::TAU * log / octaves;
        numbers.extend([phase.sin() as f32, phase.cos() as f32]);
    }
    numbers.extend([3, 5, 7].map(|d| whole.is_multiple_of(d) as u8 as f32));
    numbers.extend([8, 16, 32, 64, 128].map(|d| whole.is_multiple_of(d) as u8 as f32));
    numbers.extend([1, 2, 4, 8, 16, 32, 64].map(|bound| (whole <= bound) as u8 as f32));
    numbers
}

fn spell_real(x: f64) -> Vec<f32> {
    vec![(x == 0.0) as u8 as f32, (x == 1.0) as u8 as f32, x.signum() as f32, (x.abs() + 1.0).log2() as f32]
}
