//! The program's own figures: legality, latency, throughput. Printed, not asserted.

use crate::dataset::{Objective, quantile};
use crate::error::Result;
use crate::kernel::spec::FieldKind;
use crate::kernel::{ConfigSpace, Device, Kernel, Problem};
use crate::model::Predictor;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use std::time::Instant;

/// A random problem: sizes log-uniform over their range (up to `most`), everything else uniform, until the rules hold.
pub fn random_problem(kernel: &Kernel, most: f64, rng: &mut ChaCha8Rng) -> Problem {
    loop {
        let text: Vec<String> = kernel
            .fields
            .iter()
            .map(|f| match f.kind {
                FieldKind::Size => {
                    let high = (f.max as f64).min(most);
                    let low = (f.min as f64).min(high);
                    let x = ((low + 1.0).ln() + rng.random::<f64>() * ((high + 1.0) / (low + 1.0)).ln()).exp() - 1.0;
                    format!("{}={}", f.name, x.round().clamp(low, high))
                }
                FieldKind::Real => format!("{}={}", f.name, [0.0, 1.0, 0.5][rng.random_range(0..3)]),
                FieldKind::Choice => format!("{}={}", f.name, f.labels[rng.random_range(0..f.labels.len())]),
            })
            .collect();
        if let Ok(problem) = kernel.problem(&text.join(",")) {
            return problem;
        }
    }
}

/// Predictions of random problems on all devices, and how many of their configs were illegal.
#[derive(Clone, Debug, Serialize)]
pub struct Legality {
    pub predictions: usize,
    pub configs: usize,
    pub illegal: usize,
    pub devices: usize,
    pub seconds: f64,
}

/// Predicts `count` random problems, spread over `devices`, top 1, and checks each against every constraint.
pub fn legality(
    kernel: &Kernel,
    predictor: &Predictor,
    devices: &[Device],
    count: usize,
    (seed, threads): (u64, usize),
    progress: &mut dyn FnMut(usize),
) -> Result<Legality> {
    let began = Instant::now();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut predictions, mut configs, mut illegal) = (0, 0, 0);
    let chunk = 480;
    let mut device = devices.iter().cycle();
    while predictions < count {
        let Some(device) = device.next() else { break };
        let problems: Vec<Problem> = (0..chunk.min(count - predictions))
            .map(|_| {
                loop {
                    let problem = random_problem(kernel, f64::INFINITY, &mut rng);
                    if ConfigSpace::new(kernel, &problem, device).completions(&[]).is_ok_and(|m| !m.is_empty()) {
                        return problem;
                    }
                }
            })
            .collect();
        let answers = predictor.predict(&problems, device, Objective::Time, (1, 1), threads)?;
        for (problem, answer) in problems.iter().zip(&answers) {
            let space = ConfigSpace::new(kernel, problem, device);
            configs += answer.len();
            illegal += answer.iter().filter(|c| space.violation(&c.config).is_some()).count();
        }
        predictions += problems.len();
        progress(predictions);
    }
    Ok(Legality { predictions, configs, illegal, devices: devices.len(), seconds: began.elapsed().as_secs_f64() })
}

/// Times of single predictions in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    pub count: usize,
    pub width: usize,
    pub median_ms: f64,
    pub p90_ms: f64,
}

/// Single predictions on one thread, model loaded.
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
    for i in 0..count + 20 {
        let problem = [random_problem(kernel, 4_096.0, &mut rng)];
        let began = Instant::now();
        predictor.predict(&problem, device, Objective::Time, (width, width), 1)?;
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
    pub problems: usize,
    pub width: usize,
    pub threads: usize,
    pub seconds: f64,
    pub per_second: f64,
}

/// `count` problems at once.
pub fn throughput(
    kernel: &Kernel,
    predictor: &Predictor,
    device: &Device,
    (count, width): (usize, usize),
    threads: usize,
    seed: u64,
) -> Result<Throughput> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let problems: Vec<Problem> = (0..count).map(|_| random_problem(kernel, 4_096.0, &mut rng)).collect();
    let began = Instant::now();
    predictor.predict(&problems, device, Objective::Time, (width, width), threads)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Throughput { problems: count, width, threads, seconds, per_second: count as f64 / seconds })
}
