//! The program's own figures: legality, latency, throughput. Printed, not asserted.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_data::stats::quantile;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::{Checker, ConfigSpace, Device, Kernel, Problem};
use seqtune_predict::{Predictor, Query};
use serde::Serialize;
use std::time::Instant;

/// Changes of one field before a random problem that still breaks rules is given up for another.
const CHANGES: usize = 2_000;
/// Random problems thrown for one that has a legal config on a device.
const TRIES: usize = 200;
/// Random problems given up before the search for one ends.
const STARTS: usize = 100;

/// A random value of a field: sizes log-uniform over their range (up to `most`), everything else uniform.
fn random_value(field: &Field, most: f64, rng: &mut ChaCha8Rng) -> f64 {
    match field.kind {
        FieldKind::Size => {
            let high = (field.max as f64).min(most);
            let low = (field.min as f64).min(high);
            let x = ((low + 1.0).ln() + rng.random::<f64>() * ((high + 1.0) / (low + 1.0)).ln()).exp() - 1.0;
            x.round().clamp(low, high)
        }
        FieldKind::Real => [0.0, 1.0, 0.5][rng.random_range(0..3)],
        FieldKind::Choice => rng.random_range(0..field.labels.len()) as f64,
    }
}

/// A random problem that keeps the kernel's rules. Where the first throw breaks some, one field after another is thrown again, or set
/// to its default or a small value, and a change that breaks more is taken back: rules like `stride == 1` are hardly ever met by
/// chance.
///
/// # Errors
/// [`Error::Failed`] where none is found that keeps the rules.
pub fn random_problem(kernel: &Kernel, most: f64, rng: &mut ChaCha8Rng) -> Result<Problem> {
    let checker = Checker::new(kernel);
    let broken = |values: &[f64]| {
        let env = kernel.env(&Problem { values: values.to_vec() }, None);
        checker.broken_rules(&env)
    };
    for _ in 0..STARTS {
        let mut values: Vec<f64> = kernel.fields.iter().map(|f| random_value(f, most, rng)).collect();
        let mut now = broken(&values);
        for _ in 0..CHANGES {
            if now == 0 {
                return Ok(Problem { values });
            }
            let at = rng.random_range(0..values.len());
            let field = &kernel.fields[at];
            let default = field.default.as_ref().and_then(|text| field.value(text).ok());
            let before = values[at];
            values[at] = match rng.random_range(0..4) {
                0 => default.unwrap_or(before),
                1 if field.kind == FieldKind::Size => field.min as f64,
                2 if field.kind == FieldKind::Size => rng.random_range(field.min..=field.max.min(field.min + 8)) as f64,
                _ => random_value(field, most, rng),
            };
            let then = broken(&values);
            match then <= now {
                true => now = then,
                false => values[at] = before,
            }
        }
    }
    Err(Error::Failed(format!("kernel {}: no random problem was found that keeps its rules", kernel.name)))
}

/// A random problem that has a legal config on a device, if one is soon found.
fn problem_for(kernel: &Kernel, device: &Device, most: f64, rng: &mut ChaCha8Rng) -> Result<Option<Problem>> {
    for _ in 0..TRIES {
        let problem = random_problem(kernel, most, rng)?;
        if ConfigSpace::new(kernel, &problem, device).completions(&[]).is_ok_and(|m| !m.is_empty()) {
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

/// The problems that times are taken of.
fn timed_problems(kernel: &Kernel, device: &Device, count: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Problem>> {
    let none =
        || Error::Failed(format!("kernel {} has no legal config for random problems on {}", kernel.name, device.name));
    (0..count).map(|_| problem_for(kernel, device, 4_096.0, rng)?.ok_or_else(none)).collect()
}

/// Random problems to predict, and with what means.
#[derive(Clone, Copy, Debug)]
pub struct SpeedRun {
    /// Number of problems.
    pub problems: usize,
    /// Threads to use.
    pub threads: usize,
    /// Seed of the problems.
    pub seed: u64,
}

/// Predictions of random problems on all devices, and how many of their configs were illegal.
#[derive(Clone, Debug, Serialize)]
pub struct Legality {
    /// Problems predicted.
    pub predictions: usize,
    /// Configs predicted.
    pub configs: usize,
    /// Configs that break a constraint.
    pub illegal: usize,
    /// Devices that they were predicted for.
    pub devices: usize,
    /// Seconds in all.
    pub seconds: f64,
}

/// Predicts random problems, spread over those `devices` that serve any, top 1, and checks each against every constraint.
///
/// # Errors
/// The error of [`random_problem`] or of a prediction.
pub fn legality(
    kernel: &Kernel,
    predictor: &Predictor,
    devices: &[Device],
    SpeedRun { problems: count, threads, seed }: SpeedRun,
    progress: &mut dyn FnMut(usize),
) -> Result<Legality> {
    let began = Instant::now();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut predictions, mut configs, mut illegal) = (0, 0, 0);
    let chunk = 480;
    let mut served = devices.to_vec();
    for turn in 0.. {
        if predictions >= count || served.is_empty() {
            break;
        }
        let at = turn % served.len();
        let device = &served[at];
        let problem = |_| problem_for(kernel, device, f64::INFINITY, &mut rng).transpose();
        let problems: Vec<Problem> = (0..chunk.min(count - predictions)).map_while(problem).collect::<Result<_>>()?;
        if problems.is_empty() {
            served.remove(at);
            continue;
        }
        let answers = predictor.predict(&problems, &Query { width: 1, threads, ..Query::new(device) })?;
        for (problem, answer) in problems.iter().zip(&answers) {
            let space = ConfigSpace::new(kernel, problem, device);
            configs += answer.candidates.len();
            illegal += answer.candidates.iter().filter(|c| space.violation(&c.config).is_some()).count();
        }
        predictions += problems.len();
        progress(predictions);
    }
    Ok(Legality { predictions, configs, illegal, devices: served.len(), seconds: began.elapsed().as_secs_f64() })
}

/// Times of single predictions in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Predictions timed.
    pub count: usize,
    /// Width of the beam.
    pub width: usize,
    /// Median in milliseconds.
    pub median_ms: f64,
    /// 90th percentile in milliseconds.
    pub p90_ms: f64,
}

/// Single predictions on one thread, model loaded.
///
/// # Errors
/// The error of [`random_problem`] or of a prediction.
pub fn latency(
    kernel: &Kernel,
    predictor: &Predictor,
    device: &Device,
    count: usize,
    width: usize,
    seed: u64,
) -> Result<Latency> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut times = Vec::new();
    // the first few warm up
    for (i, problem) in timed_problems(kernel, device, count + 20, &mut rng)?.iter().enumerate() {
        let began = Instant::now();
        predictor.predict_one(problem, &Query { top: width, width, ..Query::new(device) })?;
        if i >= 20 {
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(Latency { count, width, median_ms: quantile(&times, 0.5), p90_ms: quantile(&times, 0.9) })
}

/// Predictions per second in a batch.
#[derive(Clone, Debug, Serialize)]
pub struct Throughput {
    /// Problems of the batch.
    pub problems: usize,
    /// Width of the beam.
    pub width: usize,
    /// Threads used.
    pub threads: usize,
    /// Seconds in all.
    pub seconds: f64,
    /// Predictions per second.
    pub per_second: f64,
}

/// Predicts all problems at once.
///
/// # Errors
/// The error of [`random_problem`] or of a prediction.
pub fn throughput(
    kernel: &Kernel,
    predictor: &Predictor,
    device: &Device,
    width: usize,
    SpeedRun { problems: count, threads, seed }: SpeedRun,
) -> Result<Throughput> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let problems = timed_problems(kernel, device, count, &mut rng)?;
    let began = Instant::now();
    predictor.predict(&problems, &Query { top: width, width, threads, ..Query::new(device) })?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Throughput { problems: count, width, threads, seconds, per_second: count as f64 / seconds })
}

/// Legal configs judged per second.
#[derive(Clone, Debug, Serialize)]
pub struct Judging {
    /// Problems whose spaces were judged.
    pub problems: usize,
    /// Legal configs of these problems.
    pub configs: u64,
    /// Those that a network scored: the others are behind prefixes that are less probable than the best configs.
    pub scored: u64,
    /// Threads used.
    pub threads: usize,
    /// Seconds in all.
    pub seconds: f64,
    /// Configs per second.
    pub per_second: f64,
}

/// Judges all legal configs of random problems, problem after problem.
///
/// # Errors
/// The error of [`random_problem`], or of a model that ranks no spaces.
pub fn judging(
    kernel: &Kernel,
    predictor: &Predictor,
    device: &Device,
    SpeedRun { problems: count, threads, seed }: SpeedRun,
) -> Result<Judging> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let problems = timed_problems(kernel, device, count, &mut rng)?;
    let began = Instant::now();
    let (mut configs, mut scored) = (0, 0);
    for problem in &problems {
        let found = predictor.exhaustive(problem, &Query { top: 10, threads, ..Query::new(device) })?;
        (configs, scored) = (configs + found.considered, scored + found.scored);
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(Judging { problems: count, configs, scored, threads, seconds, per_second: configs as f64 / seconds })
}
