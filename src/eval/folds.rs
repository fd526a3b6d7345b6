//! Cross-validation on sweeps: folds grouped by shape, a model trained for each, and everything judged on what it has not seen.
//!
//! The measure is regret, 1 - best time / chosen time, of the best of the first few. What was measured is ranked, by replay.

use super::baselines::{Average, Neighbours};
use super::lightgbm::{LightGbm, Samples, Task};
use crate::dataset::{Objective, Part, Split, Table, Tried};
use crate::error::{Result, input};
use crate::kernel::{Config, Kernel};
use crate::model::vocab::Spelled;
use crate::model::{Existing, Model, Predictor, Settings, teacher, train};
use crate::threads::on_threads;
use serde::Serialize;
use std::path::Path;

/// Sizes of the short lists that are judged.
pub const TOPS: [usize; 4] = [1, 2, 3, 5];

/// A method's mean regret over the problems of all folds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub method: String,
    /// Mean regret of the best of the first [`TOPS`], and the standard error of the first over shapes.
    pub regret: [f64; 4],
    pub error: f64,
    /// Share of the problems that it has an answer for; the others are left out of its means.
    pub answered: f64,
}

/// What came of a cross-validation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub kernel: String,
    pub objective: Objective,
    pub devices: Vec<String>,
    pub data: Vec<String>,
    pub folds: usize,
    pub problems: usize,
    pub configs_per_problem: f64,
    pub rows: Vec<Row>,
}

/// Of one problem: its shape, and by method the regret of the best of the first [`TOPS`], if there is an answer.
type Judged = (String, Vec<Option<[f64; 4]>>);

/// What is asked for.
pub struct Ask<'a> {
    pub folds: usize,
    pub objective: Objective,
    /// `None` leaves out the trees.
    pub library: Option<&'a LightGbm>,
    pub settings: &'a Settings,
    /// Where the models of the folds are kept; one that is there and was made of the same is used again.
    pub models: &'a Path,
}

const METHODS: [&str; 10] = [
    "kernel default",
    "best on average",
    "nearest neighbour",
    "trees, regression",
    "trees, lambdarank",
    "seqtune, likelihood alone",
    "seqtune, time head alone",
    "seqtune, ranking head alone",
    "seqtune, likelihood and ranking head",
    "seqtune, as predict (beam 10, then both)",
];

/// Cross-validates on one kernel's sweeps.
pub fn cross_validate(kernel: &Kernel, table: &Table, ask: &Ask, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    if ask.folds < 2 {
        return input("--folds must be at least 2");
    }
    let folds: Vec<usize> = (0..ask.folds).collect();
    let judged = on_threads(&folds, 2, |fold| {
        let settings = Settings { split: split(ask, *fold), ..ask.settings.clone() };
        let folder = ask.models.join(format!("fold-{fold}"));
        // a core for each fold: two networks that share two cores wait for each other
        tch::set_num_threads(1);
        tell(&format!("fold {} of {}: training", fold + 1, ask.folds));
        let corpus = [(kernel.clone(), table.clone())];
        let model = train(&corpus, &settings, (&folder, Existing::Replace), &mut |_| {})?;
        tell(&format!("fold {} of {}: judging", fold + 1, ask.folds));
        judge(kernel, table, &model, &settings.split, ask)
    })?;
    let judged: Vec<Judged> = judged.into_iter().flatten().collect();
    if judged.is_empty() {
        return input("no problem has two working configs; there is nothing to judge by");
    }
    let rows = METHODS.iter().enumerate().map(|(at, method)| row(method, at, &judged)).collect::<Vec<_>>();
    let measured = table.tried.iter().map(|t| t.costs(ask.objective).len()).filter(|n| *n >= 2);
    Ok(Report {
        kernel: kernel.name.clone(),
        objective: ask.objective,
        devices: table.devices.iter().map(|d| d.name.clone()).collect(),
        data: table.hashes.clone(),
        folds: ask.folds,
        problems: judged.len(),
        configs_per_problem: measured.sum::<usize>() as f64 / judged.len() as f64,
        rows: rows.into_iter().filter(|r| r.answered > 0.0).collect(),
    })
}

/// A fold's split: its share of the shapes for testing, a tenth of all that follows for choosing weights.
fn split(ask: &Ask, fold: usize) -> Split {
    let share = 1.0 / ask.folds as f64;
    Split { test: share, from: share * fold as f64, validation: 0.1, ..ask.settings.split }
}

fn judge(kernel: &Kernel, table: &Table, model: &Model, split: &Split, ask: &Ask) -> Result<Vec<Judged>> {
    let part = |part| table.part(kernel, split, part, ask.objective);
    let (train, valid, test) = (part(Part::Train), part(Part::Validation), part(Part::Test));
    let learned: Vec<&Tried> = train.iter().map(|i| &table.tried[*i]).collect();
    let (average, neighbours) =
        (Average::new(&learned, ask.objective), Neighbours::new(kernel, &learned, ask.objective));
    let mut trees = Vec::new();
    for task in [Task::Regression, Task::Ranking] {
        let Some(library) = ask.library else { break };
        let (fit, stop) = (samples(kernel, table, &train, ask, task), samples(kernel, table, &valid, ask, task));
        trees.push(library.fit(&fit, &stop, task, 1, ask.settings.seed)?);
    }
    let predictor = Predictor::new(kernel, model)?;
    let mut judged = Vec::new();
    for tried in test.iter().map(|i| &table.tried[*i]) {
        let device = &table.devices[tried.device];
        let costs = tried.costs(ask.objective);
        let configs: Vec<Config> = costs.iter().map(|(c, _)| (*c).clone()).collect();
        let known = |ranking: Vec<Config>| ranking.iter().filter_map(|c| configs.iter().position(|k| k == c)).collect();
        let by = |score: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..configs.len()).collect();
            order.sort_by(|a, b| score(*a).total_cmp(&score(*b)).then(configs[*a].cmp(&configs[*b])));
            order
        };
        let mut rankings: Vec<Vec<usize>> =
            vec![known(vec![kernel.default_config()]), known(average.ranking()), known(neighbours.ranking(tried))];
        let spelled = Spelled::new(kernel, &tried.problem, device);
        let rows: Vec<f64> = configs.iter().flat_map(|c| teacher::row(kernel, &tried.problem, &spelled, c)).collect();
        for (trees, sign) in trees.iter().zip([1.0, -1.0]) {
            let said = trees.predict(&rows, 1)?;
            rankings.push(by(&|i| sign * said[i]));
        }
        rankings.resize(5, Vec::new());
        let scored = predictor.score(&tried.problem, device, ask.objective, &configs)?;
        rankings.push(by(&|i| -scored[i].log_probability));
        rankings.push(by(&|i| scored[i].time_us));
        rankings.push(by(&|i| -scored[i].rank));
        rankings.push(by(&|i| -scored[i].merit()));
        let found = predictor.predict_among(&tried.problem, device, ask.objective, (10, 10), &configs)?;
        rankings.push(known(found.into_iter().map(|c| c.config).collect()));
        let regret = |ranking: Vec<usize>| {
            let best_of = |top: usize| ranking.iter().take(top).map(|i| costs[*i].1).fold(f64::INFINITY, f64::min);
            (!ranking.is_empty()).then(|| TOPS.map(|top| 1.0 - costs[0].1 / best_of(top)))
        };
        judged.push((kernel.shape(&tried.problem), rankings.into_iter().map(regret).collect()));
    }
    Ok(judged)
}

/// What trees learn of problems: the logarithm of the cost beside the problem's mean, or how near a config comes to the best.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], ask: &Ask, task: Task) -> Samples {
    let mut samples = Samples::default();
    for tried in problems.iter().map(|i| &table.tried[*i]) {
        let costs = tried.costs(ask.objective);
        let mean = costs.iter().map(|(_, c)| c.ln()).sum::<f64>() / costs.len() as f64;
        let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
        for (config, cost) in &costs {
            let row = teacher::row(kernel, &tried.problem, &spelled, config);
            samples.columns = row.len();
            samples.rows.extend(row);
            // 15 for the best, 14 at 1 % above it, 11 at 5, 7 at 12: gains double from one to the next
            let relevance = (15.0 * (-(cost / costs[0].1 - 1.0) / 0.16).exp()).round();
            samples.labels.push(if task == Task::Ranking { relevance } else { cost.ln() - mean } as f32);
        }
        if task == Task::Ranking {
            samples.groups.push(costs.len() as i32);
        }
    }
    samples
}

fn row(method: &str, at: usize, judged: &[Judged]) -> Row {
    let answers: Vec<(&str, [f64; 4])> = judged.iter().filter_map(|(s, by)| Some((s.as_str(), by[at]?))).collect();
    let n = answers.len().max(1) as f64;
    let regret = std::array::from_fn(|top| answers.iter().map(|(_, r)| r[top]).sum::<f64>() / n);
    // problems of one shape are alike: the error is that of a ratio of sums over shapes
    let mut shapes: std::collections::BTreeMap<&str, f64> = Default::default();
    answers.iter().for_each(|(shape, r)| *shapes.entry(shape).or_default() += r[0] - regret[0]);
    let error = shapes.values().map(|sum| sum * sum).sum::<f64>().sqrt() / n;
    Row { method: method.into(), regret, error, answered: answers.len() as f64 / judged.len() as f64 }
}

impl Report {
    /// A Markdown table, regret in percent.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} on {}, objective {:?}: {} problems of {:.0} measured configs each, {} folds grouped by shape, the same for every row.\n\
             Mean regret of the best of the first 1, 2, 3 and 5, in percent.\n\n\
             | method | best of 1 | ± | of 2 | of 3 | of 5 |\n|---|---|---|---|---|---|\n",
            self.kernel,
            self.devices.join(", "),
            self.objective,
            self.problems,
            self.configs_per_problem,
            self.folds
        );
        for Row { method, regret, error, answered } in &self.rows {
            let [one, two, three, five] = regret.map(|r| 100.0 * r);
            let name = match *answered < 1.0 {
                true => format!("{method} ({:.1} % answered)", 100.0 * answered),
                false => method.clone(),
            };
            text += &format!("| {name} | {one:.2} | {:.2} | {two:.2} | {three:.3} | {five:.3} |\n", 100.0 * error);
        }
        text
    }
}
