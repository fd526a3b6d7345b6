//! Cross-validation on sweeps: folds grouped by shape, a model trained for each, and everything judged on what it has not seen.
//!
//! The measure is regret, 1 - best time / chosen time, of the best of the first few. What was measured is ranked, by replay.

use crate::fit::{Existing, train};
use crate::gbdt::{centred, known};
use crate::loss::relevance;
use seqtune_data::{MeasuredProblem, Table};
use seqtune_eval::baselines::{Average, Neighbours};
use seqtune_eval::lightgbm::{LightGbm, Samples, Task};
use seqtune_eval::regrets::{Judged, LeftOut, PREDICT, Report, TOPS, losing, rows};
use seqtune_eval::reliability::Reliability;
use seqtune_eval::replay::nothing_to_judge;
use seqtune_predict::error::{Result, input};
use seqtune_predict::featurizer::Instance;
use seqtune_predict::kernel::Objective;
use seqtune_predict::kernel::{Config, Device, Kernel};
use seqtune_predict::model::Model;
use seqtune_predict::predictor::{Predictor, WIDTH};
use seqtune_predict::settings::Settings;
use seqtune_predict::split::{Part, Split};
use seqtune_predict::threads::{cores, on_threads};
use std::path::Path;

/// What is held out in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldOut {
    /// So many parts of the problem shapes.
    Shapes(usize),
    /// Each device: what is learned on the others is asked of it.
    Devices,
}

/// What is asked for.
pub struct Options<'a> {
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
    tests: Vec<(MeasuredProblem, Device)>,
}

/// Cross-validates on one kernel's sweeps.
pub fn cross_validate(kernel: &Kernel, table: &Table, ask: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let folds: Vec<(usize, Fold)> = folds(kernel, table, ask)?.into_iter().enumerate().collect();
    enough(kernel, &folds, ask)?;
    let cross = |(at, fold): &(usize, Fold), threads: usize| {
        let settings = Settings { split: fold.split, ..ask.settings.clone() };
        tch::set_num_threads(threads as i32);
        let tell = |what: &str| tell(&format!("{} ({} of {}): {what}", fold.name, at + 1, folds.len()));
        tell("training");
        let corpus = [(kernel.clone(), fold.learned.clone())];
        let folder = ask.models.join(fold.name.replace(' ', "-"));
        let model = train(&corpus, &settings, (&folder, Existing::Replace), &mut |_| {})?;
        tell("judging");
        judge(kernel, fold, &model, ask)
    };
    // a core for each fold: networks that share cores wait for each other; the last few, if they are fewer than the cores, share those
    let (full, rest) = folds.split_at(folds.len() / cores() * cores());
    let mut judged = on_threads(full, cores(), |fold| cross(fold, 1))?;
    judged.extend(on_threads(rest, rest.len(), |fold| cross(fold, cores() / rest.len()))?);
    let all: Vec<&Judged> = judged.iter().flatten().collect();
    let left_out = |(device, judged): (&Device, &Vec<Judged>)| LeftOut {
        device: device.name.clone(),
        problems: judged.len(),
        rows: rows(&judged.iter().collect::<Vec<_>>()),
    };
    let left_out = match ask.held_out {
        HeldOut::Devices => table.devices.iter().zip(&judged).map(left_out).collect(),
        HeldOut::Shapes(_) => Vec::new(),
    };
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
        problems: all.len(),
        configs_per_problem: measured.sum::<usize>() as f64 / all.len() as f64,
        rows: rows(&all),
        left_out,
        shapes: losing(&all),
        sureness: Reliability::of(all.iter().filter_map(|j| j.first).collect()),
    })
}

/// The folds: a share of the shapes, or a device, is asked; a tenth of the shapes of all that is left chooses weights.
fn folds(kernel: &Kernel, table: &Table, ask: &Options) -> Result<Vec<Fold>> {
    let whole = Split { test: 0.0, validation: 0.1, from: 0.0, ..ask.settings.split };
    let with_device = |t: &MeasuredProblem| (t.clone(), table.devices[t.device].clone());
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
                let (tests, learned): (Vec<&MeasuredProblem>, Vec<&MeasuredProblem>) =
                    table.tried.iter().partition(|t| t.device == device);
                let tests = tests.into_iter().filter(|t| t.costs(ask.objective).len() >= 2).map(with_device).collect();
                let name = format!("without {}", table.devices[device].name);
                Fold { name, learned: table.of(learned), split: whole, tests }
            };
            Ok((0..table.devices.len()).map(fold).collect())
        }
    }
}

/// Refuses folds that cannot be learned or judged, before hours of training.
fn enough(kernel: &Kernel, folds: &[(usize, Fold)], ask: &Options) -> Result<()> {
    if folds.iter().all(|(_, fold)| fold.tests.is_empty()) {
        return nothing_to_judge(ask.objective);
    }
    let has = |fold: &Fold, part| !fold.learned.part(kernel, &fold.split, part, ask.objective).is_empty();
    match folds.iter().find(|(_, fold)| !has(fold, Part::Train) || !has(fold, Part::Validation)) {
        Some((_, fold)) => input(format!(
            "too few shapes: {} would have none to learn from, or none to choose weights by; sweep more, or ask for fewer folds",
            fold.name
        )),
        None => Ok(()),
    }
}

fn judge(kernel: &Kernel, fold: &Fold, model: &Model, ask: &Options) -> Result<Vec<Judged>> {
    let table = &fold.learned;
    let part = |part| table.part(kernel, &fold.split, part, ask.objective);
    let (train, valid) = (part(Part::Train), part(Part::Validation));
    let learned: Vec<&MeasuredProblem> = train.iter().map(|i| &table.tried[*i]).collect();
    let (average, neighbours) =
        (Average::new(&learned, ask.objective), Neighbours::new(kernel, &learned, ask.objective));
    let mut others = Vec::new();
    for (name, task, sign) in [("trees, regression", Task::Regression, 1.0), ("trees, lambdarank", Task::Ranking, -1.0)]
    {
        let Some(library) = ask.library else { break };
        let (fit, stop) = (samples(kernel, table, &train, ask, task), samples(kernel, table, &valid, ask, task));
        others.push((name, sign, library.fit(&fit, &stop, task, 1, ask.settings.seed)?));
    }
    let predictor = Predictor::new(kernel, model)?;
    let mut judged = Vec::new();
    for (tried, device) in &fold.tests {
        let costs = tried.costs(ask.objective);
        let configs: Vec<Config> = costs.iter().map(|(c, _)| (*c).clone()).collect();
        let places =
            |ranking: &[Config]| ranking.iter().filter_map(|c| configs.iter().position(|k| k == c)).collect::<Vec<_>>();
        let by = |score: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..configs.len()).collect();
            order.sort_by(|a, b| score(*a).total_cmp(&score(*b)).then(configs[*a].cmp(&configs[*b])));
            order
        };
        let mut rankings: Vec<(&'static str, Vec<usize>)> = vec![
            ("kernel default", places(&[kernel.default_config()])),
            ("best on average", places(&average.ranking())),
            ("nearest neighbour", places(&neighbours.ranking(&tried.problem))),
        ];
        let instance = Instance::new(kernel, &tried.problem, device);
        let rows: Vec<f64> = configs.iter().flat_map(|c| instance.row(c)).map(f64::from).collect();
        for (name, sign, trees) in &others {
            let said = trees.predict(&rows, 1)?;
            rankings.push((name, by(&|i| sign * said[i])));
        }
        let (scored, judged_by) = predictor.score_known(&tried.problem, device, ask.objective, &costs)?;
        let cost = |i: usize| ask.objective.cost_of(Some(scored[i].time_us), Some(scored[i].joules));
        rankings.push(("seqtune, likelihood alone", by(&|i| -scored[i].log_probability)));
        rankings.push(("seqtune, predicted cost alone", by(&|i| cost(i).unwrap_or(f64::NAN))));
        rankings.push(("seqtune, judge alone, all configs", by(&|i| -scored[i].rank)));
        rankings.push((
            "seqtune, its networks: likelihood and judge",
            by(&|i| -scored[i].log_probability - scored[i].rank),
        ));
        rankings.push(("seqtune, its trees alone, all configs", by(&|i| -scored[i].trees.iter().sum::<f64>())));
        rankings.push(("seqtune, networks and trees, all configs", by(&|i| -predictor.pooled_score(&scored[i]))));
        let found = predictor.predict_among(&tried.problem, device, ask.objective, (WIDTH, WIDTH), &configs)?;
        let found: Vec<Config> = found.into_iter().map(|c| c.config).collect();
        rankings.push((PREDICT, places(&found)));
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

/// What LightGBM learns of problems: the logarithm of the cost beside the problem's mean, or how near a config comes to the best.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], ask: &Options, task: Task) -> Samples {
    let mut samples = Samples::default();
    for (rows, costs) in known(kernel, table, problems, ask.objective) {
        samples.columns = rows.first().map_or(samples.columns, Vec::len);
        samples.rows.extend(rows.into_iter().flatten().map(f64::from));
        match task {
            Task::Ranking => {
                samples.labels.extend(costs.iter().map(|cost| relevance(cost / costs[0]).round() as f32));
                samples.groups.push(costs.len() as i32);
            }
            _ => samples.labels.extend(centred(&costs).into_iter().map(|ln| ln as f32)),
        }
    }
    samples
}
