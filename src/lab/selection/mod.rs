//! Few configs for many problems, by replay of a sweep: sets that are chosen by predictions beside those that other ways choose.
//!
//! The candidates are the configs that most problems of a sweep were measured with. For a problem, every way chooses among those that it was measured
//! with, so that every choice has a measured time.

mod k_medoids;

use k_medoids::k_medoids;
use seqtune_choose::Predicted;
use seqtune_choose::dispatch::{Dispatch, DispatchOptions};
use seqtune_choose::losses::{LossOptions, LossTable, speed_lost};
use seqtune_choose::ranges::Ranges;
use seqtune_choose::selection::select;
use seqtune_data::stats::quantile;
use seqtune_data::{MeasuredProblem, Table};
use seqtune_eval::baselines::distance;
use seqtune_eval::measures::replay::{ReplayOptions, Tests, held_out};
use seqtune_eval::pages::markdown;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem};
use seqtune_predict::{Model, Predictor};
use serde::Serialize;
use std::collections::HashMap;

/// Share of the problems that a candidate was measured for at least.
const MEASURED_SHARE: f64 = 0.5;
/// Leaves of a tree at most.
const LEAVES: usize = 64;

/// A way to choose a set and the config of it for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum SetMethod {
    /// By predictions for the very problems: none of them is measured.
    Predicted,
    /// The same set, each problem's config by the tree that is exported.
    PredictedTree,
    /// By the measured times of the training problems, and a tree that is grown on them.
    Measured,
    /// The configs that are best most often, and the same kind of tree.
    Winners,
    /// The best configs of the medoids of the training problems, each problem by its nearest medoid.
    Medoids,
    /// By the measured times of the very problems: what no way can beat.
    Oracle,
}

impl SetMethod {
    /// All of them.
    pub const ALL: [SetMethod; 6] = [
        SetMethod::Predicted,
        SetMethod::PredictedTree,
        SetMethod::Measured,
        SetMethod::Winners,
        SetMethod::Medoids,
        SetMethod::Oracle,
    ];

    /// Its name in tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            SetMethod::Predicted => "seqtune, sizes known",
            SetMethod::PredictedTree => "seqtune, by its tree",
            SetMethod::Measured => "measured set and tree",
            SetMethod::Winners => "most frequent winners",
            SetMethod::Medoids => "k-medoids of problems",
            SetMethod::Oracle => "oracle",
        }
    }
}

/// What a set of so many configs loses.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetResult {
    /// The way.
    pub method: SetMethod,
    /// Configs.
    pub configs: usize,
    /// Mean share of the best measured speed that is lost.
    pub mean: f64,
    /// Ninth decile of it.
    pub p90: f64,
    /// The largest.
    pub worst: f64,
}

/// A comparison on one sweep.
#[derive(Clone, Debug, Serialize)]
pub struct SetComparison {
    /// The kernel's name.
    pub kernel: String,
    /// The device's name.
    pub device: String,
    /// Held-out problems that were judged.
    pub problems: usize,
    /// Problems that were learned from.
    pub learned: usize,
    /// Candidates.
    pub candidates: usize,
    /// By number of configs and method.
    pub results: Vec<SetResult>,
}

/// What is compared on.
struct SetReplay<'t> {
    kernel: &'t Kernel,
    device: &'t Device,
    points: Predicted,
    learned: Vec<Problem>,
    tests: Vec<Problem>,
    /// Measured, by problem and candidate.
    learned_table: LossTable,
    test_table: LossTable,
    /// Predicted, of the test problems.
    predicted: LossTable,
}

/// Compares on the problems that a model did not learn from.
///
/// # Errors
/// `Error::Input` where nothing is held out, or no two configs were measured for half of the problems; else the error of the model.
pub fn compare(
    kernel: &Kernel,
    model: &Model,
    table: &Table,
    counts: &[usize],
    samples: usize,
) -> Result<SetComparison> {
    let [device] = &table.devices[..] else { return input("sets are compared on one device at a time") };
    let objective = Objective::Time;
    let Tests { learned, tests } =
        held_out(kernel, model, table, ReplayOptions { objective, whole: false, trees: None })?;
    let candidates = candidates(&[&learned[..], &tests[..]].concat(), objective);
    if candidates.len() < 2 || learned.is_empty() {
        return input("no two configs were measured for half of the problems, so that sets cannot be judged by replay");
    }
    let problems = |tried: &[&MeasuredProblem]| tried.iter().map(|t| t.problem.clone()).collect::<Vec<Problem>>();
    let points = Predicted::with_predictor(kernel, Predictor::new(kernel, model)?, model.digest(), device);
    let options = LossOptions { objective, threads: cores(), ..LossOptions::default() };
    let asked = problems(&tests);
    let test_table = measured_losses(&tests, &candidates, objective);
    let mut predicted = LossTable::for_candidates(kernel, device, &points, &asked, &candidates, &options)?;
    for (row, measured) in predicted.losses.iter_mut().zip(&test_table.losses) {
        let unmeasured = row.iter_mut().zip(measured).filter(|(_, measured)| !measured.is_finite());
        unmeasured.for_each(|(loss, _)| *loss = f64::INFINITY);
    }
    let replay = SetReplay {
        kernel,
        device,
        predicted,
        points,
        learned_table: measured_losses(&learned, &candidates, objective),
        test_table,
        learned: problems(&learned),
        tests: asked,
    };
    let mut results = Vec::new();
    for count in counts.iter().copied().filter(|count| *count <= candidates.len()) {
        for method in SetMethod::ALL {
            let columns = replay.choices(method, count, samples)?;
            results.push(replay.result(method, count, &columns));
        }
    }
    Ok(SetComparison {
        kernel: kernel.name.clone(),
        device: device.name.clone(),
        problems: replay.tests.len(),
        learned: replay.learned.len(),
        candidates: candidates.len(),
        results,
    })
}

/// The configs that half of the problems were measured with, or more.
fn candidates(tried: &[&MeasuredProblem], objective: Objective) -> Vec<Config> {
    let mut counts: HashMap<Config, usize> = HashMap::new();
    tried.iter().flat_map(|t| t.configs(objective)).for_each(|config| *counts.entry(config).or_default() += 1);
    let least = (MEASURED_SHARE * tried.len() as f64).ceil() as usize;
    let mut all: Vec<Config> =
        counts.into_iter().filter(|(_, count)| *count >= least).map(|(config, _)| config).collect();
    all.sort();
    all
}

/// What candidates lost against the best of them.
fn measured_losses(tried: &[&MeasuredProblem], candidates: &[Config], objective: Objective) -> LossTable {
    let row = |tried: &&MeasuredProblem| {
        let costs = tried.costs(objective);
        let cost = |config: &Config| costs.iter().find(|known| known.config == config).map(|known| known.cost);
        let costs: Vec<Option<f64>> = candidates.iter().map(cost).collect();
        let least = costs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        costs.into_iter().map(|cost| cost.map_or(f64::INFINITY, |cost| (cost / least).ln())).collect()
    };
    LossTable { configs: candidates.to_vec(), losses: tried.iter().map(row).collect() }
}

/// The column of the least number of a row among some; of equal ones the first.
fn least(row: &[f64], columns: &[usize]) -> Option<usize> {
    columns.iter().copied().min_by(|a, b| row[*a].total_cmp(&row[*b]))
}

impl SetReplay<'_> {
    /// The candidate that each test problem takes.
    fn choices(&self, method: SetMethod, count: usize, samples: usize) -> Result<Vec<Option<usize>>> {
        let even = |table: &LossTable| vec![1.0; table.losses.len()];
        let chosen = |table: &LossTable| select(table, &even(table), count).map(|found| found.columns);
        Ok(match method {
            SetMethod::Predicted => {
                let set = chosen(&self.predicted)?;
                self.predicted.losses.iter().map(|row| least(row, &set)).collect()
            }
            SetMethod::PredictedTree => {
                let set = chosen(&self.predicted)?;
                let only = self.predicted.with_columns(&set).configs;
                let ranges = Ranges::new(self.kernel, &self.tests, &[])?;
                let threads = cores();
                let options = DispatchOptions {
                    samples,
                    leaves: LEAVES,
                    only: Some(only),
                    threads,
                    ..DispatchOptions::default()
                };
                let dispatch = Dispatch::new(self.kernel, self.device, &self.points, &[], &ranges, &options)?;
                self.by_dispatch(&dispatch, &set)
            }
            SetMethod::Measured => self.by_tree_of(&chosen(&self.learned_table)?),
            SetMethod::Winners => self.by_tree_of(&self.winners(count)),
            SetMethod::Medoids => self.by_medoids(count),
            SetMethod::Oracle => {
                let set = chosen(&self.test_table)?;
                self.test_table.losses.iter().map(|row| least(row, &set)).collect()
            }
        })
    }

    /// By a tree; where it names nothing that the problem was measured with, by the set's first such config.
    fn by_dispatch(&self, dispatch: &Dispatch, set: &[usize]) -> Vec<Option<usize>> {
        let choice = |(problem, row): (&Problem, &Vec<f64>)| {
            let is_measured = |column: &usize| row[*column].is_finite();
            let place = |config: &Config| set.iter().copied().find(|at| self.test_table.configs[*at] == *config);
            let found = dispatch.choose_where(problem, &|config| place(config).is_some_and(|at| is_measured(&at)));
            found.and_then(|found| place(&found.config)).or_else(|| set.iter().copied().find(is_measured))
        };
        self.tests.iter().zip(&self.test_table.losses).map(choice).collect()
    }

    /// By a tree that is grown on the measured times of the training problems.
    fn by_tree_of(&self, set: &[usize]) -> Vec<Option<usize>> {
        let table = self.learned_table.with_columns(set);
        let dispatch = Dispatch::from_losses(self.kernel, self.device, &self.learned, &table, LEAVES);
        self.by_dispatch(&dispatch, set)
    }

    /// The candidates that are best most often.
    fn winners(&self, count: usize) -> Vec<usize> {
        let all: Vec<usize> = (0..self.learned_table.configs.len()).collect();
        let mut wins = vec![0; all.len()];
        self.learned_table.losses.iter().filter_map(|row| least(row, &all)).for_each(|at| wins[at] += 1);
        let mut order = all;
        order.sort_by_key(|at| (std::cmp::Reverse(wins[*at]), *at));
        order.truncate(count);
        order
    }

    fn by_medoids(&self, count: usize) -> Vec<Option<usize>> {
        let between = |a: &Problem, b: &Problem| distance(self.kernel, a, b);
        let medoids = k_medoids(&self.learned, count, &between);
        let all: Vec<usize> = (0..self.learned_table.configs.len()).collect();
        let best = |medoid: usize| least(&self.learned_table.losses[medoid], &all);
        let choice = |(problem, row): (&Problem, &Vec<f64>)| {
            let from = |at: &usize| between(problem, &self.learned[*at]);
            let mut near = medoids.clone();
            near.sort_by(|a, b| from(a).total_cmp(&from(b)));
            // the nearest one whose config the problem was measured with
            near.into_iter().filter_map(best).find(|column| row[*column].is_finite())
        };
        self.tests.iter().zip(&self.test_table.losses).map(choice).collect()
    }

    fn result(&self, method: SetMethod, configs: usize, columns: &[Option<usize>]) -> SetResult {
        let loss = |(row, column): (&Vec<f64>, &Option<usize>)| match column.map(|column| row[column]) {
            Some(loss) if loss.is_finite() => speed_lost(loss),
            // a problem without a config that works has no speed at all
            _ => 1.0,
        };
        let mut losses: Vec<f64> = self.test_table.losses.iter().zip(columns).map(loss).collect();
        losses.sort_by(f64::total_cmp);
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        SetResult { method, configs, mean, p90: quantile(&losses, 0.9), worst: quantile(&losses, 1.0) }
    }
}

impl SetComparison {
    /// A Markdown table: mean, ninth decile and worst loss in percent, by method and number of configs.
    pub fn table(&self) -> String {
        let mut counts: Vec<usize> = self.results.iter().map(|result| result.configs).collect();
        counts.sort_unstable();
        counts.dedup();
        let head = |count: &usize| if *count == 1 { "1 config".to_string() } else { format!("{count} configs") };
        let heads: Vec<String> =
            std::iter::once("speed lost, %: mean / 90th percentile / worst (less is better)".to_string())
                .chain(counts.iter().map(head))
                .collect();
        let mut table = markdown::Table::new(&heads);
        for method in SetMethod::ALL {
            let cell = |count: &usize| {
                let found = self.results.iter().find(|result| result.method == method && result.configs == *count);
                found.map_or("-".into(), |r| {
                    format!("{:.1} / {:.1} / {:.1}", 100.0 * r.mean, 100.0 * r.p90, 100.0 * r.worst)
                })
            };
            let cells: Vec<String> =
                std::iter::once(method.name().to_string()).chain(counts.iter().map(cell)).collect();
            table.row(&cells);
        }
        format!(
            "{} on {}: {} held-out problems ({} learned from), {} candidates\n\n{table}",
            self.kernel, self.device, self.problems, self.learned, self.candidates
        )
    }
}
