//! Joules of configs that were timed but not metered: their time by a power that metered ones teach.
//!
//! To meter a config takes a second, to time it milliseconds, so that few of a sweep are metered. Power differs less between configs than time
//! does, and follows from how fast a config computes and moves its bytes, which its time tells. So boosted trees learn the logarithm of the
//! power of what was metered, from the numbers of problem and config and from both rates.

use crate::gbdt::fit_values;
use crate::plan::divide;
use seqtune_data::{Energy, MeasuredProblem, Outcome, Table};
use seqtune_predict::featurizer::Instance;
use seqtune_predict::forest::Forest;
use seqtune_predict::kernel::{Config, Device, Kernel};
use seqtune_predict::settings::Settings;
use std::borrow::Cow;

/// Metered problems that power is learned from, at least.
const FEWEST: usize = 10;

/// The tables, with joules for the timed configs of problems to learn from where others were metered; as they are where all or none were.
/// Held-out problems keep what was measured.
pub fn completed<'a>(corpus: &'a [(Kernel, Table)], settings: &Settings) -> Cow<'a, [(Kernel, Table)]> {
    let mut completed = Cow::Borrowed(corpus);
    for (at, problems) in divide(corpus, &settings.split, false).into_iter().enumerate() {
        let (kernel, table) = &corpus[at];
        let results = |i: &usize| table.tried[*i].results.iter().map(|(_, outcome)| outcome);
        let metered = problems.train.iter().filter(|i| results(i).any(|o| o.joules().is_some())).count();
        let lacks = |o: &Outcome| o.time_us().is_some() && o.joules().is_none();
        if metered < FEWEST || !problems.train.iter().any(|i| results(i).any(lacks)) {
            continue;
        }
        let forest = learn(kernel, table, &problems.train, settings.seed);
        let filled = &mut completed.to_mut()[at].1.tried;
        for i in problems.train {
            let device = &table.devices[table.tried[i].device];
            fill(kernel, device, &mut filled[i], &forest);
        }
    }
    completed
}

/// Trees that say the logarithm of the power in watts of a row of [`rows`].
fn learn(kernel: &Kernel, table: &Table, problems: &[usize], seed: u64) -> Forest {
    let (mut seen, mut watts, mut columns) = (Vec::new(), Vec::new(), 0);
    for i in problems {
        let tried = &table.tried[*i];
        let known = tried.results.iter().filter_map(|(config, outcome)| {
            let (us, joules) = (outcome.time_us()?, outcome.joules()?);
            watts.push(((1e6 * joules / us).ln() as f32, 1.0));
            Some((config, us))
        });
        for row in rows(kernel, &table.devices[tried.device], tried, known) {
            columns = row.len();
            seen.extend(row);
        }
    }
    fit_values(columns, seen, watts, seed)
}

/// What power follows from, of configs with their times in microseconds: their numbers, and the rates of operations and bytes.
fn rows<'a>(
    kernel: &Kernel,
    device: &Device,
    tried: &MeasuredProblem,
    configs: impl Iterator<Item = (&'a Config, f64)>,
) -> Vec<Vec<f32>> {
    let instance = Instance::new(kernel, &tried.problem, device);
    let work = [kernel.flops(&tried.problem), kernel.bytes(&tried.problem)].map(|work| work.max(1.0));
    let row = |(config, us): (&Config, f64)| {
        instance.row(config).into_iter().chain(work.map(|work| (work / us).ln() as f32)).collect()
    };
    configs.map(row).collect()
}

/// Joules for all configs of a problem that were timed alone. How far they may be off is not known.
fn fill(kernel: &Kernel, device: &Device, tried: &mut MeasuredProblem, forest: &Forest) {
    let timed = |(_, outcome): &(Config, Outcome)| match outcome.joules() {
        None => outcome.time_us(),
        Some(_) => None,
    };
    let unmetered: Vec<usize> = (0..tried.results.len()).filter(|i| timed(&tried.results[*i]).is_some()).collect();
    let configs = unmetered.iter().filter_map(|i| Some((&tried.results[*i].0, timed(&tried.results[*i])?)));
    let rows = rows(kernel, device, tried, configs);
    for (i, row) in unmetered.into_iter().zip(rows) {
        if let Outcome::Measured(measurement) = &mut tried.results[i].1 {
            let joules = 1e-6 * measurement.median_us() * f64::from(forest.predict(&row)).exp();
            measurement.energy = Some(Energy { joules, half_width: f64::NAN, idle_watts: f64::NAN });
        }
    }
}
