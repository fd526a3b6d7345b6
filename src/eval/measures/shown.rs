//! What a model's first choices are worth on problems that it did not learn from, as its file tells it with every answer.

use seqtune_data::stats::quantile;
use seqtune_data::{KernelTable, MeasuredProblem, Table, TriedConfig};
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, Device, Kernel, Objective};
use seqtune_predict::confidence::{
    CandidatePool, HeldOut, HeldOutResult, HeldOutScore, LearnedProblem, MIN_PROBLEMS, TrainingRange, UNSURE_SHARE,
};
use seqtune_predict::model::Part;
use seqtune_predict::{Candidate, Meta, Model, Predictor, Query};
use std::collections::BTreeSet;

/// Share of the problems whose very first choice was measured, so that shares are those of a search among all legal configs. Of the others
/// nothing is known.
const LIVE: f64 = 0.9;

/// Problems that are judged at most; of more, every so many-th.
const MOST: usize = 1_000;

/// What a model answers to a problem held out.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Share of the best measured, of the first choice among all legal configs (where it was measured) and among the measured ones; of what a
    /// tuner chose, whether the first choice and one of the first five are it.
    pub shares: [Option<f64>; 2],
    /// Stated probability of the first choice.
    pub probability: f64,
    /// Its risk.
    pub risk: Option<f64>,
}

/// A problem held out, with what a model answers to it.
#[derive(Clone, Debug)]
pub struct AnsweredProblem<'t> {
    /// The problem, with what was measured of it.
    pub tried: &'t MeasuredProblem,
    /// The answer.
    pub answered: Answered,
}

/// A kernel with its data, ready to be asked.
struct Subject<'a> {
    kernel: &'a Kernel,
    table: &'a Table,
    predictor: Predictor,
}

/// A problem that nothing was learned from, with whom to ask about it.
#[derive(Clone, Copy)]
struct Asked<'a> {
    subject: &'a Subject<'a>,
    tried: &'a MeasuredProblem,
}

/// Records in a model what its first choices are worth on problems that it did not learn from, and which sizes it learned from, as far as data of
/// its kernels tell; what else was recorded stays. For each device and objective, by kernel: problems of shapes that none of the model's own data
/// has, which are to be among these data, else those of the test part of its split, else those of its validation part. Kernels of which fewer
/// than [`MIN_PROBLEMS`] are held out count together. The new records.
///
/// # Errors
/// The error of a prediction.
pub fn record(model: &mut Model, corpus: &[KernelTable], threads: usize) -> Result<Vec<HeldOutResult>> {
    let meta = &model.meta;
    let mut subjects = Vec::new();
    for KernelTable { kernel, table } in corpus {
        subjects.push(Subject { kernel, table, predictor: Predictor::new(kernel, model)?.without_correction() });
    }
    let mut found = Vec::new();
    for (device, objective) in meta.devices.iter().flat_map(|d| meta.objectives.iter().map(move |o| (d, *o))) {
        let mut together: [Vec<Asked>; 3] = Default::default();
        let mut kernels = Vec::new();
        for subject in &subjects {
            let own = held_out(subject, meta, device, objective);
            match newest(&own) {
                Some(at) => found.push(show_tier(&own[at], at, device, objective, threads)?),
                None => {
                    kernels.push(subject.kernel.name.clone());
                    together.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
                }
            }
        }
        if let Some(at) = newest(&together) {
            found.push(HeldOutResult { kernels, ..show_tier(&together[at], at, device, objective, threads)? });
        }
    }
    let reaches: Vec<TrainingRange> = subjects.iter().filter_map(|subject| reach(subject, meta)).collect();
    let is_anew = |old: &HeldOutResult| {
        found.iter().any(|s| s.kernels == old.kernels && s.device == old.device && s.objective == old.objective)
    };
    model.meta.held_out.retain(|old| !is_anew(old));
    model.meta.held_out.extend(found.iter().cloned());
    model.meta.training_ranges.retain(|old| reaches.iter().all(|reach| reach.kernel != old.kernel));
    model.meta.training_ranges.extend(reaches);
    Ok(found)
}

/// The first tier of problems that has enough of them.
fn newest(tiers: &[Vec<Asked>; 3]) -> Option<usize> {
    tiers.iter().position(|asked| asked.len() >= MIN_PROBLEMS)
}

/// What first choices are worth on problems of a tier.
fn show_tier(
    asked: &[Asked],
    tier: usize,
    device: &Device,
    objective: Objective,
    threads: usize,
) -> Result<HeldOutResult> {
    let every = asked.len().div_ceil(MOST).max(1);
    let asked: Vec<Asked> = asked.iter().copied().step_by(every).collect();
    let ask = |Asked { subject, tried }: &Asked| answer(&subject.predictor, device, objective, tried);
    let answered = on_threads(&asked, threads, ask)?;
    let mut of = Vec::new();
    for Asked { subject: Subject { kernel, table, .. }, tried } in &asked {
        of.push(Of { kernel, table, tried });
    }
    let held_out = [HeldOut::Apart, HeldOut::Test, HeldOut::Validation][tier];
    Ok(sum_up(&device.name, objective, held_out, &of, &answered))
}

/// What was shown of a model by others that learned as it did, from all problems but a part each. For each device of [`MIN_PROBLEMS`] problems or more.
pub fn in_turn(kernel: &Kernel, table: &Table, asked: &[AnsweredProblem]) -> Vec<HeldOutResult> {
    let of_device = |(at, device): (usize, &Device)| {
        let own = asked.iter().filter(|asked| asked.tried.device == at);
        let (of, answered): (Vec<Of>, Vec<Answered>) =
            own.map(|asked| (Of { kernel, table, tried: asked.tried }, asked.answered.clone())).unzip();
        (of.len() >= MIN_PROBLEMS).then(|| sum_up(&device.name, Objective::Time, HeldOut::InTurn, &of, &answered))
    };
    table.devices.iter().enumerate().filter_map(of_device).collect()
}

/// A problem that was asked about, with its kernel and its data.
struct Of<'a> {
    kernel: &'a Kernel,
    table: &'a Table,
    tried: &'a MeasuredProblem,
}

/// What the answers to problems are worth.
fn sum_up(device: &str, objective: Objective, held_out: HeldOut, of: &[Of], answered: &[Answered]) -> HeldOutResult {
    let kernels: BTreeSet<String> = of.iter().map(|of| of.kernel.name.clone()).collect();
    let shapes: BTreeSet<String> =
        of.iter().map(|of| format!("{} {}", of.kernel.name, of.kernel.shape(&of.tried.problem))).collect();
    let data: BTreeSet<&String> = of.iter().map(|of| &of.table.hashes[of.tried.dataset]).collect();
    let risks: Vec<f64> = answered.iter().filter_map(|a| a.risk).collect();
    HeldOutResult {
        kernels: kernels.into_iter().collect(),
        device: device.into(),
        objective,
        held_out,
        problems: of.len(),
        shapes: shapes.len(),
        worth: worth(answered, of.iter().all(|of| of.tried.tuned_config().is_some())),
        least: percentile(answered.iter().map(|a| a.probability), UNSURE_SHARE),
        riskiest: (risks.len() == answered.len()).then(|| percentile(risks.into_iter(), 1.0 - UNSURE_SHARE)),
        data: data.into_iter().cloned().collect(),
    }
}

/// Sizes that a model learned from, by its own data among a table's; `None` where none of them are.
fn reach<'a>(Subject { kernel, table, .. }: &Subject<'a>, meta: &Meta) -> Option<TrainingRange> {
    let learned = |tried: &&MeasuredProblem| {
        is_own(table, meta, tried) && meta.split.part(&kernel.shape(&tried.problem)) != Part::Test
    };
    let least = |tried: &MeasuredProblem| tried.costs(Objective::Time).first().map(|known| known.cost);
    let of = |tried: &'a MeasuredProblem| LearnedProblem {
        problem: &tried.problem,
        device: &table.devices[tried.device].name,
        least_us: least(tried),
    };
    TrainingRange::from_problems(kernel, table.problems.iter().filter(learned).map(of))
}

fn is_own(table: &Table, meta: &Meta, tried: &MeasuredProblem) -> bool {
    meta.data.contains(&table.hashes[tried.dataset])
}

/// The problems of a device that nothing was learned from: those of shapes that none of the model's data has, those of the test part, and those
/// that chose its weights.
fn held_out<'a>(subject: &'a Subject<'a>, meta: &Meta, device: &Device, objective: Objective) -> [Vec<Asked<'a>>; 3] {
    let Subject { kernel, table, .. } = subject;
    let shape = |tried: &MeasuredProblem| kernel.shape(&tried.problem);
    let fits = |tried: &MeasuredProblem| {
        let is_known = tried.tuned_config().is_some() || tried.costs(objective).len() > 1;
        table.devices[tried.device].name == device.name && is_known
    };
    let (own, others): (Vec<_>, Vec<_>) = table.problems.iter().partition(|tried| is_own(table, meta, tried));
    let known: BTreeSet<String> = own.iter().map(|tried| shape(tried)).collect();
    let of_part = |part: Part| {
        let held_out = own.iter().copied().filter(|tried| meta.split.part(&shape(tried)) == part);
        held_out.filter(|tried| fits(tried)).map(|tried| Asked { subject, tried }).collect::<Vec<_>>()
    };
    // without its own data nothing tells which shapes it knows
    let apart = others.into_iter().filter(|tried| !own.is_empty() && fits(tried) && !known.contains(&shape(tried)));
    [apart.map(|tried| Asked { subject, tried }).collect(), of_part(Part::Test), of_part(Part::Validation)]
}

/// What a model answers to a problem, beside what was measured of it.
///
/// # Errors
/// The error of a prediction.
pub fn answer(
    predictor: &Predictor,
    device: &Device,
    objective: Objective,
    tried: &MeasuredProblem,
) -> Result<Answered> {
    let query = Query { objective, top: 5, ..Query::new(device) };
    let found = predictor.predict_one(&tried.problem, &query)?.candidates;
    let (probability, risk) = (found.first().and_then(|c| c.probability), found.first().and_then(|c| c.risk));
    let probability = probability.unwrap_or(0.0);
    if let Some(TriedConfig { config: tuned, .. }) = tried.tuned_config() {
        let within = |few: usize| Some(found.iter().take(few).any(|c| c.config == *tuned) as u8 as f64);
        return Ok(Answered { shares: [within(1), within(5)], probability, risk });
    }
    let costs = tried.costs(objective);
    let least = costs.iter().map(|known| known.cost).fold(f64::INFINITY, f64::min);
    let share = |first: Option<&Candidate>| {
        let cost = costs.iter().find(|known| first.is_some_and(|first| first.config == *known.config));
        cost.map(|known| least / known.cost)
    };
    let live = share(found.first());
    let measured: Vec<Config> = costs.iter().map(|known| known.config.clone()).collect();
    let replayed = predictor.predict_among(&tried.problem, &Query { top: 1, ..query }, &measured)?;
    Ok(Answered { shares: [live, share(replayed.first())], probability, risk })
}

fn worth(answered: &[Answered], is_tuned: bool) -> HeldOutScore {
    let of = |at: usize| answered.iter().filter_map(move |a| a.shares[at]);
    let mean = |at: usize| of(at).sum::<f64>() / of(at).count().max(1) as f64;
    if is_tuned {
        return HeldOutScore::Tuned { first: mean(0), five: mean(1) };
    }
    let (at, among) = match of(0).count() as f64 >= LIVE * answered.len() as f64 {
        true => (0, CandidatePool::Legal),
        false => (1, CandidatePool::Measured),
    };
    HeldOutScore::Best { mean: mean(at), p10: percentile(of(at), 0.1), among }
}

fn percentile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, share)
}
