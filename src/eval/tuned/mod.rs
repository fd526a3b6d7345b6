//! Judging by what tuners chose: how often a method names the very config, and how probable it held it.
//!
//! Only one config per problem is known, and near ties are decided by chance: how often twins were tuned alike tells how far labels
//! reproduce. Probabilities are among legal configs for all methods that give one. Parameters that the constraints decide count as
//! right in the shares per parameter, for every method alike.

pub mod answers;
pub mod classifier_chain;
pub mod labels;
pub mod report;
pub mod solvers;

use crate::baselines::lightgbm::LightGbm;
use crate::baselines::method::Method;
use crate::measures::paired::{Margin, Paired};
use crate::measures::reliability::CalibrationError;
use crate::measures::sets::{CredibleSet, Sets};
use crate::tuned::answers::{Answer, TOPS, TestSet, tuned_config};
use crate::tuned::classifier_chain::ClassifierChain;
use crate::tuned::labels::{Labels, labels};
use crate::tuned::solvers::{Timed, solver_times};
use seqtune_data::{MeasuredProblem, Table};
use seqtune_kernel::Objective;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel};
use seqtune_predict::confidence::TopPrediction;
use seqtune_predict::features::Featurizer;
use seqtune_predict::model::Part;
use seqtune_predict::{Model, Predictor, Query};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What the model and the trees are compared by: [`TOPS`], and nats.
pub const MEASURES: usize = TOPS.len() + 1;

/// One method's quality on one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct TunedRow {
    /// Method that is judged.
    pub method: Method,
    /// Share of problems whose tuned config is among the first 1, 5, 10.
    pub exact: [f64; TOPS.len()],
    /// Mean share of parameters that the first choice has right, and by parameter.
    pub free: f64,
    /// Share of problems by parameter whose first choice has it right.
    pub free_by_parameter: Vec<f64>,
    /// The same after the tuned config's prefix.
    pub forced: Option<f64>,
    /// The same by parameter.
    pub forced_by_parameter: Vec<f64>,
    /// Mean nats per config.
    pub nats: Option<f64>,
    /// Share of first choices that are illegal.
    pub illegal: f64,
}

/// An evaluation of one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct TunedReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Records of the datasets.
    pub records: usize,
    /// Problems learned from.
    pub train_problems: usize,
    /// Problems judged.
    pub test_problems: usize,
    /// Shapes that these problems are of.
    pub test_shapes: usize,
    /// The model first.
    pub rows: Vec<TunedRow>,
    /// The model less the boosted trees, where these were fitted: shares of problems whose config is among the first of [`TOPS`], and the mean
    /// nats, negative where the model is better.
    pub margins: Option<[Margin; MEASURES]>,
    /// What these are made of.
    #[serde(skip)]
    pub paired: Option<Paired<MEASURES>>,
    /// The model less another model, likewise; made of `paired_beside`.
    pub margins_beside: Option<[Margin; MEASURES]>,
    /// What these are made of.
    #[serde(skip)]
    pub paired_beside: Option<Paired<MEASURES>>,
    /// Times of its problems, where a find database told them.
    #[serde(skip)]
    pub timed: Vec<Timed>,
    /// How true the model's probabilities of its first choices are.
    pub trueness: CalibrationError,
    /// What that is made of, by problem.
    pub firsts: Vec<TopPrediction>,
    /// Whether sets hold the tuned config that are to hold it.
    pub sets: Option<Sets>,
    /// What that is made of.
    #[serde(skip)]
    pub each_set: Vec<CredibleSet>,
    /// Greedy decoding without look-ahead.
    pub unmasked: Unmasked,
    /// Reproducibility of the labels.
    pub labels: Labels,
}

/// A report with the model's answers that it rests on.
pub struct Evaluation<'a> {
    /// The report.
    pub report: TunedReport,
    /// Problems to judge by and to learn from.
    pub test_set: TestSet<'a>,
    /// What predicts.
    pub predictor: Predictor,
    /// The model's answers to the judged problems, in their order.
    pub answers: Vec<Answer>,
}

/// What to judge, and with what means.
pub struct TunedSettings<'a> {
    /// Device to judge by; `None` for all.
    pub device: Option<&'a Device>,
    /// Problems to judge by.
    pub part: Part,
    /// The boosted trees' library; `None` leaves them out.
    pub library: Option<&'a LightGbm>,
    /// Whether probabilities are judged as the model states them, without what is known of devices.
    pub as_stated: bool,
    /// Threads to use.
    pub threads: usize,
    /// Seed of the trees.
    pub seed: u64,
}

/// Judges a model on one kernel's test problems, `beside` another model and what could be done without either; `None` where there is no test
/// problem.
///
/// # Errors
/// `Error::Mismatch` where the model does not fit the kernel, `Error::Failed` where LightGBM fails.
pub fn evaluate<'a>(
    kernel: &'a Kernel,
    table: &'a Table,
    model: &Model,
    beside: Option<&Model>,
    ask: &TunedSettings,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<Evaluation<'a>>> {
    let asked = TestSet::new(kernel, table, model, ask.part, ask.device);
    if asked.judged.is_empty() {
        return Ok(None);
    }
    progress("model");
    let predictor = Predictor::new(kernel, model)?;
    let predictor = if ask.as_stated { predictor.without_correction() } else { predictor };
    let by_model = model_answers(&asked, &predictor, ask.threads)?;
    let mut rows = vec![judge(&asked, Method::Predict, &by_model)];
    let mut paired_beside = None;
    if let Some(beside) = beside {
        progress("the model beside");
        let by_other = model_answers(&asked, &Predictor::new(kernel, beside)?, ask.threads)?;
        rows.push(judge(&asked, Method::Beside, &by_other));
        paired_beside = Some(compare(&asked, &by_model, &by_other));
    }
    let mut paired = None;
    if let Some(library) = ask.library {
        let by_trees = judge_trees(&asked, model, library, ask, &mut rows, progress)?;
        paired = Some(compare(&asked, &by_model, &by_trees));
    }
    progress("neighbours");
    rows.push(judge(&asked, Method::NearestNeighbour, &nearest(&asked, ask.threads)?));
    rows.push(judge(&asked, Method::Majority, &majority(&asked)));
    let firsts: Vec<TopPrediction> = asked.judged.iter().zip(&by_model).filter_map(|(t, a)| first(t, a)).collect();
    progress("sets");
    let set = |tried: &&MeasuredProblem| CredibleSet::of_tuned(&predictor, tried, asked.device(tried));
    let each_set: Vec<CredibleSet> = on_threads(&asked.judged, ask.threads, set)?.into_iter().flatten().collect();
    let report = TunedReport {
        kernel: kernel.name.clone(),
        parameters: kernel.parameters.iter().map(|p| p.name.clone()).collect(),
        records: table.records(),
        train_problems: asked.train.len(),
        test_problems: asked.judged.len(),
        test_shapes: asked.shapes(),
        rows,
        margins: paired.as_ref().map(Paired::margins),
        paired,
        margins_beside: paired_beside.as_ref().map(Paired::margins),
        paired_beside,
        timed: solver_times(&asked, &by_model),
        trueness: CalibrationError::from_predictions(&firsts),
        firsts,
        sets: Sets::summarize(&each_set),
        each_set,
        unmasked: greedy_unmasked(&asked, &predictor, ask.threads)?,
        labels: labels(&asked),
    };
    Ok(Some(Evaluation { report, test_set: asked, predictor, answers: by_model }))
}

/// Judges what boosted trees answer with the same records, a classifier for each parameter; gives their answers.
fn judge_trees(
    asked: &TestSet,
    model: &Model,
    library: &LightGbm,
    ask: &TunedSettings,
    rows: &mut Vec<TunedRow>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Answer>> {
    progress("boosted trees");
    let featurizer = Featurizer::new(&Arc::new(model.meta.vocab.clone()), asked.kernel)?;
    let chain = ClassifierChain::fit(library, asked, &featurizer, ask.threads, ask.seed)?;
    let by_trees = chain.answers()?;
    rows.push(judge(asked, Method::LightGbmChain, &by_trees));
    Ok(by_trees)
}

/// Predicted probability of the first choice, and whether it was right; its cost beside the tuned config was not measured.
fn first(tried: &MeasuredProblem, answer: &Answer) -> Option<TopPrediction> {
    let best = answer.ranking.first() == Some(tuned_config(tried));
    Some(TopPrediction { probability: answer.first?, best, lost: None })
}

/// Paired differences of two methods.
fn compare(asked: &TestSet, a: &[Answer], b: &[Answer]) -> Paired<MEASURES> {
    let mut paired = Paired::default();
    for (t, (a, b)) in asked.judged.iter().zip(a.iter().zip(b)) {
        let found = |x: &Answer, top: usize| x.ranking.iter().take(top).any(|c| c == tuned_config(t)) as u8 as f64;
        let nats = |x: &Answer| -x.log_probability.unwrap_or(f64::NAN);
        let exact = |at: usize| TOPS.get(at).map(|top| found(a, *top) - found(b, *top));
        let difference = |at: usize| exact(at).unwrap_or_else(|| nats(a) - nats(b));
        paired.add(asked.kernel.shape(&t.problem), std::array::from_fn(difference));
    }
    paired
}

/// What greedy decoding does without look-ahead.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unmasked {
    /// Share of illegal configs where every value may follow.
    pub illegal: f64,
    /// Share of problems that end without a legal value where only broken prefixes are masked.
    pub dead_ends: f64,
}

/// The model's answers, on `threads` threads.
///
/// # Errors
/// The error of a prediction.
pub fn model_answers(asked: &TestSet, predictor: &Predictor, threads: usize) -> Result<Vec<Answer>> {
    let most = TOPS[TOPS.len() - 1];
    let answer = |tried: &&MeasuredProblem| -> Result<Answer> {
        let device = asked.device(tried);
        let query = Query { top: most, width: most, ..Query::new(device) };
        let found = predictor.predict_one(&tried.problem, &query)?.candidates;
        let scored = predictor
            .score(&tried.problem, device, Objective::Time, std::slice::from_ref(tuned_config(tried)))?
            .remove(0);
        Ok(Answer {
            first: found.first().and_then(|c| c.probability),
            time_us: found.first().and_then(|c| c.time_us),
            ranking: found.into_iter().map(|c| c.config).collect(),
            log_probability: Some(scored.log_probability),
            steps: Some(scored.steps),
        })
    };
    on_threads(&asked.judged, threads, answer)
}

/// Judges answers to the test problems.
pub fn judge(asked: &TestSet, method: Method, answers: &[Answer]) -> TunedRow {
    let n = asked.judged.len() as f64;
    let count = asked.kernel.parameters.len();
    let mut exact = [0.0; TOPS.len()];
    let (mut free, mut wrong) = (vec![0.0; count], vec![0.0; count]);
    let (mut nats, mut illegal) = (0.0, 0.0);
    for (tried, answer) in asked.judged.iter().zip(answers) {
        let wanted = tuned_config(tried);
        let rank = answer.ranking.iter().position(|c| c == wanted);
        exact.iter_mut().zip(TOPS).for_each(|(share, top)| *share += rank.is_some_and(|r| r < top) as u8 as f64 / n);
        match answer.ranking.first() {
            Some(first) => {
                free.iter_mut()
                    .zip(first.0.iter().zip(&wanted.0))
                    .for_each(|(f, (a, b))| *f += (a == b) as u8 as f64 / n);
                illegal += !asked.is_legal(first, tried) as u8 as f64 / n;
            }
            None => illegal += 1.0 / n,
        }
        nats -= answer.log_probability.unwrap_or(f64::NAN) / n;
        let missed = answer.steps.iter().flatten().filter(|(_, right)| !right);
        missed.for_each(|(position, _)| wrong[*position] += 1.0 / n);
    }
    let forced = answers.iter().all(|a| a.steps.is_some());
    let forced_by_parameter: Vec<f64> = if forced { wrong.iter().map(|w| 1.0 - w).collect() } else { Vec::new() };
    TunedRow {
        method,
        exact,
        free: free.iter().sum::<f64>() / count as f64,
        free_by_parameter: free,
        forced: forced.then(|| forced_by_parameter.iter().sum::<f64>() / count as f64),
        forced_by_parameter,
        nats: nats.is_finite().then_some(nats),
        illegal,
    }
}

/// The most frequent configs of the training problems that are legal for each test problem: those of its device first, then those of others.
pub fn majority(asked: &TestSet) -> Vec<Answer> {
    // by device; a config counts first on the device, then on all
    let devices: BTreeSet<usize> = asked.judged.iter().map(|tried| tried.device).collect();
    let frequent = |device: usize| {
        let mut counts: HashMap<&Config, [usize; 2]> = HashMap::new();
        for tried in &asked.train {
            let [here, all] = counts.entry(tuned_config(tried)).or_default();
            *here += usize::from(tried.device == device);
            *all += 1;
        }
        let mut frequent: Vec<(&Config, [usize; 2])> = counts.into_iter().collect();
        frequent.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        frequent
    };
    let frequent: BTreeMap<usize, _> = devices.into_iter().map(|device| (device, frequent(device))).collect();
    let answer = |tried: &&MeasuredProblem| {
        let space = ConfigSpace::new(asked.kernel, &tried.problem, asked.device(tried));
        let legal = frequent[&tried.device].iter().filter(|(c, _)| space.is_legal(c)).take(TOPS[TOPS.len() - 1]);
        Answer {
            ranking: legal.map(|(c, _)| (*c).clone()).collect(),
            log_probability: None,
            steps: None,
            first: None,
            time_us: None,
        }
    };
    asked.judged.iter().map(answer).collect()
}

/// The configs of the nearest training problems that are legal, by Euclidean distance in log sizes; another choice or device
/// counts as four octaves.
///
/// # Errors
/// `Error::Failed` where a thread panics.
pub fn nearest(asked: &TestSet, threads: usize) -> Result<Vec<Answer>> {
    let answer = |tried: &&MeasuredProblem| {
        let far = |t: &&&MeasuredProblem| {
            let other = if t.device == tried.device { 0.0 } else { 16.0 };
            crate::baselines::distance(asked.kernel, &t.problem, &tried.problem) + other
        };
        let mut near: Vec<(f64, &&MeasuredProblem)> = asked.train.iter().map(|t| (far(&t), t)).collect();
        let most = 40.min(near.len().saturating_sub(1));
        if near.len() > most {
            near.select_nth_unstable_by(most, |a, b| a.0.total_cmp(&b.0));
            near.truncate(most + 1);
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let space = ConfigSpace::new(asked.kernel, &tried.problem, asked.device(tried));
        let mut ranking: Vec<Config> = Vec::new();
        for (_, t) in near {
            let config = tuned_config(t);
            if ranking.len() < TOPS[TOPS.len() - 1] && !ranking.contains(config) && space.is_legal(config) {
                ranking.push(config.clone());
            }
        }
        Ok(Answer { ranking, log_probability: None, steps: None, first: None, time_us: None })
    };
    on_threads(&asked.judged, threads, answer)
}

/// What greedy decoding does without the look-ahead.
///
/// # Errors
/// `Error::Failed` where a thread panics.
pub fn greedy_unmasked(asked: &TestSet, predictor: &Predictor, threads: usize) -> Result<Unmasked> {
    let greedy = |tried: &&MeasuredProblem| {
        let device = asked.device(tried);
        let free = predictor.greedy(&tried.problem, device, false);
        let space = ConfigSpace::new(asked.kernel, &tried.problem, device);
        let illegal = free.is_none_or(|config| !space.is_legal(&config));
        Ok((illegal, predictor.greedy(&tried.problem, device, true).is_none()))
    };
    let found = on_threads(&asked.judged, threads, greedy)?;
    let share = |count: usize| count as f64 / found.len().max(1) as f64;
    let illegal = share(found.iter().filter(|(illegal, _)| *illegal).count());
    Ok(Unmasked { illegal, dead_ends: share(found.iter().filter(|(_, dead)| *dead).count()) })
}
