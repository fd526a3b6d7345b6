//! Cross-validation on sweeps: folds grouped by shape, a model trained for each, and everything judged on what it has not seen.
//!
//! The measure is regret, 1 - best time / chosen time, of the best of the first few. What was measured is ranked, by replay.

use super::baselines::{Average, Neighbours};
use super::lightgbm::{LightGbm, Samples, Task};
use super::paired::{Margin, Paired};
use super::sureness::Sureness;
use crate::dataset::{Objective, Part, Split, Table, Tried};
use crate::error::{Result, input};
use crate::kernel::{Config, Device, Kernel};
use crate::model::calibration::First;
use crate::model::loss::relevance;
use crate::model::merit;
use crate::model::speller::Spelled;
use crate::model::{Existing, Model, Predictor, Settings, WIDTH, train};
use crate::threads::{cores, on_threads};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Sizes of the short lists that are judged.
pub const TOPS: [usize; 4] = [1, 2, 3, 5];

/// The row of what `predict` does.
const PREDICT: &str = "seqtune, as predict: beam, then all";

/// Shapes that a report names.
const LOSING: usize = 20;

/// A method's mean regret over the problems of all folds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub method: String,
    /// Mean regret of the best of the first [`TOPS`], and the standard error of the first over shapes.
    pub regret: [f64; 4],
    pub error: f64,
    /// How much less `predict` regrets, or, above 0, more, on the same problems.
    pub predict_less: Option<[Margin; TOPS.len()]>,
    /// Share of the problems that it has an answer for; the others are left out of its means.
    pub answered: f64,
}

/// A shape, and its part of each method's mean regrets: what they would be less without it.
#[derive(Clone, Debug, Serialize)]
pub struct Losing {
    pub shape: String,
    pub problems: usize,
    /// Of the trees and of `predict`.
    pub parts: Vec<(&'static str, [f64; 4])>,
}

/// What came of a cross-validation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub kernel: String,
    pub objective: Objective,
    pub devices: Vec<String>,
    pub data: Vec<String>,
    /// What was held out.
    pub folds: String,
    pub problems: usize,
    pub configs_per_problem: f64,
    pub rows: Vec<Row>,
    /// Shapes that lose most in the best of the first 5 as `predict` finds them, that with the largest part of the mean first: where to look.
    pub shapes: Vec<Losing>,
    pub sureness: Option<Sureness>,
}

/// What is held out in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldOut {
    /// So many parts of the problem shapes.
    Shapes(usize),
    /// Each device: what is learned on the others is asked of it.
    Devices,
}

/// What is asked for.
pub struct Ask<'a> {
    pub held_out: HeldOut,
    pub objective: Objective,
    /// `None` leaves out the trees.
    pub library: Option<&'a LightGbm>,
    pub settings: &'a Settings,
    /// Where the models of the folds are kept; one that is there and was made of the same is used again.
    pub models: &'a Path,
}

/// One fold: what is learned from, and what is asked. `learned` has its own devices.
struct Fold {
    name: String,
    learned: Table,
    split: Split,
    tests: Vec<(Tried, Device)>,
}

/// One problem, judged.
struct Judged {
    shape: String,
    /// By method the regret of the best of the first [`TOPS`], if there is an answer.
    regrets: Vec<(&'static str, Option<[f64; 4]>)>,
    /// What the model's first choice was said and found to be worth, and whether it was marked unsure.
    first: Option<(First, bool)>,
}

/// Cross-validates on one kernel's sweeps.
pub fn cross_validate(kernel: &Kernel, table: &Table, ask: &Ask, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let folds = folds(kernel, table, ask)?;
    let judged = on_threads(&folds, cores(), |fold| {
        let settings = Settings { split: fold.split, ..ask.settings.clone() };
        // a core for each fold: networks that share cores wait for each other
        tch::set_num_threads(1);
        tell(&format!("{} of {}: training", fold.name, folds.len()));
        let corpus = [(kernel.clone(), fold.learned.clone())];
        let folder = ask.models.join(fold.name.replace(' ', "-"));
        let model = train(&corpus, &settings, (&folder, Existing::Replace), &mut |_| {})?;
        tell(&format!("{} of {}: judging", fold.name, folds.len()));
        judge(kernel, fold, &model, ask)
    })?;
    let judged: Vec<Judged> = judged.into_iter().flatten().collect();
    let Some(one) = judged.first() else {
        return input("no problem has two working configs; there is nothing to judge by");
    };
    let rows = one.regrets.iter().map(|(method, _)| row(method, &judged)).collect::<Vec<_>>();
    let measured = table.tried.iter().map(|t| t.costs(ask.objective).len()).filter(|n| *n >= 2);
    Ok(Report {
        kernel: kernel.name.clone(),
        objective: ask.objective,
        devices: table.devices.iter().map(|d| d.name.clone()).collect(),
        data: table.hashes.clone(),
        folds: match ask.held_out {
            HeldOut::Shapes(count) => format!("{count} folds grouped by shape"),
            HeldOut::Devices => "each device left out in turn".into(),
        },
        problems: judged.len(),
        configs_per_problem: measured.sum::<usize>() as f64 / judged.len() as f64,
        rows: rows.into_iter().filter(|r| r.answered > 0.0).collect(),
        shapes: losing(&judged),
        sureness: Sureness::of(judged.iter().filter_map(|j| j.first).collect()),
    })
}

/// The folds: a share of the shapes, or a device, is asked; a tenth of the shapes of all that is left chooses weights.
fn folds(kernel: &Kernel, table: &Table, ask: &Ask) -> Result<Vec<Fold>> {
    let whole = Split { test: 0.0, validation: 0.1, from: 0.0, ..ask.settings.split };
    let with_device = |t: &Tried| (t.clone(), table.devices[t.device].clone());
    match ask.held_out {
        HeldOut::Shapes(count) if count < 2 => input("--folds must be at least 2"),
        HeldOut::Shapes(count) => {
            let share = 1.0 / count as f64;
            let fold = |i: usize| {
                let split = Split { test: share, from: share * i as f64, ..whole };
                let tests = table.part(kernel, &split, Part::Test, ask.objective);
                let tests = tests.iter().map(|i| with_device(&table.tried[*i])).collect();
                // named as before there were others, so that models of then are found again
                Fold { name: format!("fold {i}"), learned: table.clone(), split, tests }
            };
            Ok((0..count).map(fold).collect())
        }
        HeldOut::Devices if table.devices.len() < 2 => {
            input("--leave-device-out needs datasets of two devices or more; these are of one")
        }
        HeldOut::Devices => {
            let fold = |device: usize| {
                let (tests, learned): (Vec<&Tried>, Vec<&Tried>) = table.tried.iter().partition(|t| t.device == device);
                let tests = tests.into_iter().filter(|t| t.costs(ask.objective).len() >= 2).map(with_device).collect();
                let name = format!("without {}", table.devices[device].name);
                Fold { name, learned: table.of(learned), split: whole, tests }
            };
            Ok((0..table.devices.len()).map(fold).collect())
        }
    }
}

fn judge(kernel: &Kernel, fold: &Fold, model: &Model, ask: &Ask) -> Result<Vec<Judged>> {
    let table = &fold.learned;
    let part = |part| table.part(kernel, &fold.split, part, ask.objective);
    let (train, valid) = (part(Part::Train), part(Part::Validation));
    let learned: Vec<&Tried> = train.iter().map(|i| &table.tried[*i]).collect();
    let (average, neighbours) =
        (Average::new(&learned, ask.objective), Neighbours::new(kernel, &learned, ask.objective));
    let mut trees = Vec::new();
    for (name, task, sign) in [("trees, regression", Task::Regression, 1.0), ("trees, lambdarank", Task::Ranking, -1.0)]
    {
        let Some(library) = ask.library else { break };
        let (fit, stop) = (samples(kernel, table, &train, ask, task), samples(kernel, table, &valid, ask, task));
        trees.push((name, sign, library.fit(&fit, &stop, task, 1, ask.settings.seed)?));
    }
    let predictor = Predictor::new(kernel, model)?;
    let mut judged = Vec::new();
    for (tried, device) in &fold.tests {
        let costs = tried.costs(ask.objective);
        let configs: Vec<Config> = costs.iter().map(|(c, _)| (*c).clone()).collect();
        let known =
            |ranking: &[Config]| ranking.iter().filter_map(|c| configs.iter().position(|k| k == c)).collect::<Vec<_>>();
        let by = |score: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..configs.len()).collect();
            order.sort_by(|a, b| score(*a).total_cmp(&score(*b)).then(configs[*a].cmp(&configs[*b])));
            order
        };
        let mut rankings: Vec<(&'static str, Vec<usize>)> = vec![
            ("kernel default", known(&[kernel.default_config()])),
            ("best on average", known(&average.ranking())),
            ("nearest neighbour", known(&neighbours.ranking(&tried.problem))),
        ];
        let spelled = Spelled::new(kernel, &tried.problem, device);
        let rows: Vec<f64> = configs.iter().flat_map(|c| spelled.row(c)).map(f64::from).collect();
        for (name, sign, trees) in &trees {
            let said = trees.predict(&rows, 1)?;
            rankings.push((name, by(&|i| sign * said[i])));
        }
        let (scored, judged_by) = predictor.score_measured(tried, device, ask.objective)?;
        let cost = |i: usize| ask.objective.cost_of(Some(scored[i].time_us), Some(scored[i].joules));
        rankings.push(("seqtune, likelihood alone", by(&|i| -scored[i].log_probability)));
        rankings.push(("seqtune, predicted cost alone", by(&|i| cost(i).unwrap_or(f64::NAN))));
        rankings.push(("seqtune, judge alone, all configs", by(&|i| -scored[i].rank)));
        rankings.push((
            "seqtune, its networks: likelihood and judge",
            by(&|i| -merit(scored[i].log_probability, scored[i].rank)),
        ));
        rankings.push(("seqtune, its trees alone, all configs", by(&|i| -scored[i].trees)));
        rankings.push(("seqtune, networks and trees, all configs", by(&|i| -scored[i].merit())));
        let found = predictor.predict_among(&tried.problem, device, ask.objective, (WIDTH, WIDTH), &configs)?;
        let found: Vec<Config> = found.into_iter().map(|c| c.config).collect();
        rankings.push((PREDICT, known(&found)));
        let regret = |(method, ranking): (&'static str, Vec<usize>)| {
            let best_of = |top: usize| ranking.iter().take(top).map(|i| costs[*i].1).fold(f64::INFINITY, f64::min);
            (method, (!ranking.is_empty()).then(|| TOPS.map(|top| 1.0 - costs[0].1 / best_of(top))))
        };
        let mut regrets: Vec<_> = rankings.into_iter().map(regret).collect();
        if let (Objective::Time, Some(us)) = (ask.objective, tried.library_us) {
            regrets.push(("the vendor's library", Some([1.0 - costs[0].1 / us; TOPS.len()])));
        }
        let first = predictor.first(device, &judged_by);
        judged.push(Judged { shape: kernel.shape(&tried.problem), regrets, first });
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
            let row = spelled.row(config);
            samples.columns = row.len();
            samples.rows.extend(row.into_iter().map(f64::from));
            let relevance = relevance(cost / costs[0].1).round();
            samples.labels.push(if task == Task::Ranking { relevance } else { cost.ln() - mean } as f32);
        }
        if task == Task::Ranking {
            samples.groups.push(costs.len() as i32);
        }
    }
    samples
}

/// The [`LOSING`] shapes that make most of the mean regret of the best of the last of [`TOPS`].
fn losing(judged: &[Judged]) -> Vec<Losing> {
    let mut shapes: BTreeMap<&str, Losing> = BTreeMap::new();
    for one in judged {
        let wanted = |(method, _): &&(&'static str, _)| method.starts_with("trees") || *method == PREDICT;
        let zero = |(method, _): &(&'static str, _)| (*method, [0.0; 4]);
        let losing = shapes.entry(&one.shape).or_insert_with(|| Losing {
            shape: one.shape.clone(),
            problems: 0,
            parts: one.regrets.iter().filter(wanted).map(zero).collect(),
        });
        losing.problems += 1;
        for ((_, part), (_, regret)) in losing.parts.iter_mut().zip(one.regrets.iter().filter(wanted)) {
            for (part, regret) in part.iter_mut().zip(regret.unwrap_or_default()) {
                *part += regret / judged.len() as f64;
            }
        }
    }
    let mut shapes: Vec<Losing> = shapes.into_values().collect();
    let last = |l: &Losing| l.parts.last().map_or(0.0, |(_, part)| part[3]);
    shapes.sort_by(|a, b| last(b).total_cmp(&last(a)));
    shapes.truncate(LOSING);
    shapes
}

fn row(method: &str, judged: &[Judged]) -> Row {
    let of =
        |j: &Judged, wanted: &str| j.regrets.iter().find(|(name, _)| *name == wanted).and_then(|(_, regret)| *regret);
    let (mut own, mut less) = (Paired::default(), Paired::default());
    for one in judged {
        let Some(regret) = of(one, method) else { continue };
        own.add(one.shape.clone(), regret);
        if let (Some(predict), true) = (of(one, PREDICT), method != PREDICT) {
            less.add(one.shape.clone(), std::array::from_fn(|top| predict[top] - regret[top]));
        }
    }
    let margins = own.margins();
    Row {
        method: method.into(),
        regret: margins.map(|(mean, _)| mean),
        error: margins[0].1,
        predict_less: (less.problems() > 0).then(|| less.margins()),
        answered: own.problems() as f64 / judged.len() as f64,
    }
}

impl Report {
    /// What the `count` first of the losing shapes make of the means, in percent.
    pub fn losing(&self, count: usize) -> String {
        let mut text =
            String::from("\nShapes with the largest part of the mean regret of the best of the first 5, in percent:\n");
        for Losing { shape, problems, parts } in self.shapes.iter().take(count) {
            let parts = parts.iter().rev().map(|(method, part)| {
                format!("{:.3} {}", 100.0 * part[3], method.split(':').next().unwrap_or_default())
            });
            let parts: Vec<String> = parts.collect();
            text += &format!("  {}  {shape}, {problems} problems\n", parts.join("; "));
        }
        if count.min(self.shapes.len()) == 0 { String::new() } else { text }
    }

    /// A Markdown table, regret in percent.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} on {}, objective {:?}: {} problems of {:.0} measured configs each, {}, the same for every row.\n\
             Mean regret of the best of the first 1, 2, 3 and 5, in percent.\n\n\
             | method | best of 1 | ± | of 2 | of 3 | of 5 |\n|---|---|---|---|---|---|\n",
            self.kernel,
            self.devices.join(", "),
            self.objective,
            self.problems,
            self.configs_per_problem,
            self.folds
        );
        for Row { method, regret, error, answered, .. } in &self.rows {
            let [one, two, three, five] = regret.map(|r| 100.0 * r);
            let name = match *answered < 1.0 {
                true => format!("{method} ({:.1} % answered)", 100.0 * answered),
                false => method.clone(),
            };
            text += &format!("| {name} | {one:.2} | {:.2} | {two:.2} | {three:.3} | {five:.3} |\n", 100.0 * error);
        }
        let less = self.rows.iter().filter(|row| row.method.starts_with("trees")).filter_map(|row| {
            let [one, two, three, five] =
                row.predict_less?.map(|(m, e)| format!("{:+.3} ± {:.3}", 100.0 * m, 100.0 * e));
            Some(format!("Predict less {}: {one}, {two}, {three}, {five}\n", row.method))
        });
        let less: String = less.collect();
        let less = if less.is_empty() { less } else { format!("\n{less}") };
        text + &less + &self.sureness.map_or(String::new(), |sureness| sureness.text())
    }
}
