//! Joules of configs that were timed but not metered: their time by a power that metered ones teach.
//!
//! To meter a config takes a second, to time it milliseconds, so that few of a sweep are metered. Power differs less between configs than time
//! does, and follows from how fast a config computes and moves its bytes, which its time tells. So boosted trees learn the logarithm of the
//! power of what was metered, from the numbers of problem and config and from both rates.

use crate::gbdt::{WeightedValue, fit_values};
use crate::parts::divide;
use seqtune_data::{Energy, KernelTable, MeasuredProblem, Outcome, Table, TriedConfig};
use seqtune_kernel::{Config, Device, Kernel, Problem};
use seqtune_predict::Settings;
use seqtune_predict::features::Instance;
use seqtune_predict::trees::Forest;
use std::borrow::Cow;

/// Metered problems that power is learned from, at least.
const FEWEST: usize = 10;

/// The tables, with joules for the timed configs of problems to learn from where others were metered; as they are where all or none were.
/// Held-out problems keep what was measured.
pub fn complete_joules<'a>(corpus: &'a [KernelTable], settings: &Settings) -> Cow<'a, [KernelTable]> {
    let is_metered = |tried: &MeasuredProblem| tried.results.iter().any(|trial| trial.outcome.joules().is_some());
    let mut completed = Cow::Borrowed(corpus);
    if !corpus.iter().flat_map(|data| &data.table.problems).any(is_metered) {
        return completed;
    }
    for (at, problems) in divide(corpus, &settings.split, false).into_iter().enumerate() {
        let KernelTable { kernel, table } = &corpus[at];
        let mut learned = problems.train.iter().map(|i| &table.problems[*i]);
        let lacks = |tried: &MeasuredProblem| tried.results.iter().any(|trial| unmetered_us(&trial.outcome).is_some());
        if learned.clone().filter(|tried| is_metered(tried)).count() < FEWEST || !learned.any(lacks) {
            continue;
        }
        let forest = learn(kernel, table, &problems.train, settings.seed);
        let filled = &mut completed.to_mut()[at].table.problems;
        for i in problems.train {
            fill(kernel, &table.devices[table.problems[i].device], &mut filled[i], &forest);
        }
    }
    completed
}

/// Time in microseconds of what was timed and not metered.
fn unmetered_us(outcome: &Outcome) -> Option<f64> {
    outcome.time_us().filter(|_| outcome.joules().is_none())
}

/// Trees that say the logarithm of the power in watts of a row of [`row`].
fn learn(kernel: &Kernel, table: &Table, problems: &[usize], seed: u64) -> Forest {
    let (mut seen, mut watts, mut columns) = (Vec::new(), Vec::new(), 0);
    for tried in problems.iter().map(|i| &table.problems[*i]) {
        let row = row(kernel, &tried.problem, &table.devices[tried.device]);
        for TriedConfig { config, outcome } in &tried.results {
            let (Some(us), Some(joules)) = (outcome.time_us(), outcome.joules()) else { continue };
            let known = row(config, us);
            columns = known.len();
            seen.extend(known);
            watts.push(WeightedValue { value: (1e6 * joules / us).ln() as f32, weight: 1.0 });
        }
    }
    fit_values(columns, seen, watts, seed)
}

/// What power follows from, of a config of the problem and its time in microseconds: its numbers, and the rates of operations and bytes.
fn row(kernel: &Kernel, problem: &Problem, device: &Device) -> impl Fn(&Config, f64) -> Vec<f32> {
    let instance = Instance::new(kernel, problem, device);
    let work = [kernel.flops(problem), kernel.bytes(problem)].map(|work| work.max(1.0));
    move |config, us| instance.row(config).into_iter().chain(work.map(|work| (work / us).ln() as f32)).collect()
}

/// Joules for all configs of a problem that were timed alone. How far they may be off is not known.
fn fill(kernel: &Kernel, device: &Device, tried: &mut MeasuredProblem, forest: &Forest) {
    let row = row(kernel, &tried.problem, device);
    for TriedConfig { config, outcome } in &mut tried.results {
        if let (Some(us), Outcome::Measured(measurement)) = (unmetered_us(outcome), outcome) {
            let joules = 1e-6 * us * f64::from(forest.predict(&row(config, us))).exp();
            measurement.energy = Some(Energy { joules, half_width: f64::NAN, idle_watts: f64::NAN });
        }
    }
}
