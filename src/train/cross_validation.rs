//! Cross-validation on sweeps: folds grouped by shape, a model trained for each, and everything judged on what it has not seen.
//!
//! The measure is regret, 1 - best time / chosen time, of the best of the first few. What was measured is ranked, by replay.

use crate::distil;
use crate::few::{self, on_cores};
use crate::fit::{Existing, train};
use seqtune_data::{KernelTable, MeasuredProblem, Table};
use seqtune_eval::baselines::light_gbm_rankers::{Rankers, by_score};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_eval::baselines::method::Method;
use seqtune_eval::baselines::{Average, Neighbours};
use seqtune_eval::measures::regrets::{FoldsReport, JudgedProblem, LeftOut, TOPS, losing, rows};
use seqtune_eval::measures::reliability::CalibrationError;
use seqtune_eval::measures::reliability::{Reliability, Sureness};
use seqtune_eval::measures::replay::nothing_to_judge;
use seqtune_kernel::Objective;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Device, Kernel};
use seqtune_predict::confidence::{ScoredConfigs, TopPrediction};
use seqtune_predict::model::{Part, Split};
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Model, Predictor, Query, Scored, Settings};
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
pub struct CrossValidationOptions<'a> {
    /// What is held out in turn.
    pub held_out: HeldOut,
    /// Quantity that configs are compared by.
    pub objective: Objective,
    /// `None` leaves out the trees.
    pub library: Option<&'a LightGbm>,
    /// Settings of every fold's model; their split is replaced.
    pub settings: &'a Settings,
    /// How each fold's model is distilled, where it is.
    pub distil: Option<&'a distil::DistilOptions>,
    /// Where the models of the folds are kept; one that is there and was made of the same is used again.
    pub models: &'a Path,
}

/// One fold: what is learned from, and what is asked. `learned` has its own devices.
struct Fold {
    /// Its place among the folds, from 1.
    number: usize,
    name: String,
    learned: Table,
    split: Split,
    tests: Vec<(MeasuredProblem, Device)>,
}

/// Cross-validates on one kernel's sweeps.
///
/// # Errors
/// `Error::Input` where a fold has nothing to learn from or to judge by, else the error of training.
pub fn cross_validate(
    kernel: &Kernel,
    table: &Table,
    ask: &CrossValidationOptions,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<FoldsReport> {
    let folds = folds(kernel, table, ask)?;
    enough(kernel, &folds, ask)?;
    let cross = |fold: &Fold, threads: usize| {
        let settings = Settings { split: fold.split, ..ask.settings.clone() };
        tch::set_num_threads(threads as i32);
        let tell = |what: &str| tell(&format!("{} ({} of {}): {what}", fold.name, fold.number, folds.len()));
        tell("training");
        let corpus = [KernelTable::new(kernel.clone(), fold.learned.clone())];
        let folder = ask.models.join(fold.name.replace(' ', "-"));
        let model = train(&corpus, &settings, &folder, Existing::Replace, &mut |_| {})?;
        let small = ask.distil.map(|options| {
            tell("distilling");
            distil::distil_or_keep(&model, &corpus, options, &folder)
        });
        tell("judging");
        judge(kernel, fold, &model, small.transpose()?.as_ref(), ask)
    };
    let judged = on_cores(&folds, cross)?;
    let all: Vec<&JudgedProblem> = judged.iter().flatten().collect();
    let left_out = |(device, judged): (&Device, &Vec<JudgedProblem>)| LeftOut {
        device: device.name.clone(),
        problems: judged.len(),
        rows: rows(&judged.iter().collect::<Vec<_>>()),
        trueness: trueness(judged),
    };
    let left_out = match ask.held_out {
        HeldOut::Devices => table.devices.iter().zip(&judged).map(left_out).collect(),
        HeldOut::Shapes(_) => Vec::new(),
    };
    let measured = table.problems.iter().map(|t| t.costs(ask.objective).len()).filter(|n| *n >= 2);
    Ok(FoldsReport {
        kernel: kernel.name.clone(),
        objective: ask.objective,
        devices: table.devices.iter().map(|d| d.name.clone()).collect(),
        data: table.hashes.clone(),
        folds: match ask.held_out {
            HeldOut::Shapes(_) => format!("{} grouped by shape", count_noun(folds.len(), "fold")),
            HeldOut::Devices => "each device left out in turn".into(),
        },
        problems: all.len(),
        configs_per_problem: measured.sum::<usize>() as f64 / all.len() as f64,
        rows: rows(&all),
        left_out,
        shapes: losing(&all),
        sureness: Reliability::from_answers(&all.iter().filter_map(|j| j.said).collect::<Vec<_>>()),
    })
}

/// How true the probabilities of first choices are; `None` of none.
fn trueness(judged: &[JudgedProblem]) -> Option<CalibrationError> {
    let firsts: Vec<TopPrediction> = judged.iter().filter_map(|j| Some(j.said?.first)).collect();
    (!firsts.is_empty()).then(|| CalibrationError::from_predictions(&firsts))
}

/// The folds: a share of the shapes, or a device, is asked; a tenth of the shapes of all that is left chooses weights.
fn folds(kernel: &Kernel, table: &Table, ask: &CrossValidationOptions) -> Result<Vec<Fold>> {
    let whole = Split { test: 0.0, validation: 0.1, from: 0.0, ..ask.settings.split };
    let with_device = |t: &MeasuredProblem| (t.clone(), table.devices[t.device].clone());
    match ask.held_out {
        HeldOut::Shapes(count) if count < 2 => input("--folds must be at least 2"),
        HeldOut::Shapes(count) => {
            let share = 1.0 / count as f64;
            let fold = |i: usize| {
                let split = Split { test: share, from: share * i as f64, ..whole };
                let tests = table.part(kernel, &split, Part::Test, ask.objective);
                let tests = tests.iter().map(|i| with_device(&table.problems[*i])).collect();
                // named as before there were others, so that models of then are found again
                Fold { number: i + 1, name: format!("fold {i}"), learned: table.clone(), split, tests }
            };
            let folds: Vec<Fold> = (0..count).map(fold).collect();
            let has = |fold: &Fold, part| !table.part(kernel, &fold.split, part, ask.objective).is_empty();
            let is_whole =
                |fold: &Fold| [Part::Train, Part::Validation, Part::Test].iter().all(|part| has(fold, *part));
            if folds.iter().all(is_whole) { Ok(folds) } else { few_folds(kernel, table, ask, count, whole) }
        }
        HeldOut::Devices if table.devices.len() < 2 => {
            input("a cross-validation by device needs datasets of two devices or more; these are of one")
        }
        HeldOut::Devices => {
            let fold = |device: usize| {
                let (tests, learned): (Vec<&MeasuredProblem>, Vec<&MeasuredProblem>) =
                    table.problems.iter().partition(|t| t.device == device);
                let tests = tests.into_iter().filter(|t| t.costs(ask.objective).len() >= 2).map(with_device).collect();
                let name = format!("without {}", table.devices[device].name);
                Fold { number: device + 1, name, learned: table.with_problems(learned), split: whole, tests }
            };
            Ok((0..table.devices.len()).map(fold).collect())
        }
    }
}

/// Folds of shapes so few that the split by hash would leave parts of them empty: as many shapes each as can be, and one each where more
/// folds are asked for than there are shapes.
fn few_folds(
    kernel: &Kernel,
    table: &Table,
    ask: &CrossValidationOptions,
    count: usize,
    whole: Split,
) -> Result<Vec<Fold>> {
    let problems: Vec<&MeasuredProblem> = table.problems.iter().filter(|t| t.costs(ask.objective).len() >= 2).collect();
    let parts = few::parts(kernel, &problems, whole.seed, count);
    let folds = parts.len();
    let fold = |(at, part): (usize, few::FewPart)| Fold {
        number: at + 1,
        name: format!("fold {at} of {folds}"),
        learned: table.with_problems(part.learned),
        split: whole,
        tests: part.tests.into_iter().map(|t| (t.clone(), table.devices[t.device].clone())).collect(),
    };
    Ok(parts.into_iter().enumerate().map(fold).collect())
}

/// Refuses folds that cannot be learned or judged, before hours of training.
fn enough(kernel: &Kernel, folds: &[Fold], ask: &CrossValidationOptions) -> Result<()> {
    if folds.iter().all(|fold| fold.tests.is_empty()) {
        return nothing_to_judge(ask.objective);
    }
    // what would choose weights may be none: few are all learned from
    let learns = |fold: &Fold| {
        fold.learned
            .problems
            .iter()
            .any(|t| t.costs(ask.objective).len() >= 2 && fold.split.part(&kernel.shape(&t.problem)) != Part::Test)
    };
    match folds.iter().find(|fold| !learns(fold)) {
        Some(fold) => input(format!("too few shapes: {} would have none to learn from; sweep more", fold.name)),
        None => Ok(()),
    }
}

/// What ranks the problems of one fold: the model, and what is learned from the same problems beside it.
struct FoldJudge<'a> {
    kernel: &'a Kernel,
    objective: Objective,
    predictor: Predictor,
    small: Option<Predictor>,
    average: Average,
    neighbours: Neighbours<'a>,
    light_gbm: Option<Rankers>,
}

/// Places of a problem's measured configs, best first.
type Ranking = Vec<usize>;

fn judge(
    kernel: &Kernel,
    fold: &Fold,
    model: &Model,
    small: Option<&Model>,
    ask: &CrossValidationOptions,
) -> Result<Vec<JudgedProblem>> {
    let table = &fold.learned;
    let part = |part| table.part(kernel, &fold.split, part, ask.objective);
    let (train, valid) = (part(Part::Train), part(Part::Validation));
    let valid = if valid.is_empty() { train.clone() } else { valid };
    let learned: Vec<&MeasuredProblem> = train.iter().map(|i| &table.problems[*i]).collect();
    let judge = FoldJudge {
        kernel,
        objective: ask.objective,
        predictor: Predictor::new(kernel, model)?,
        small: small.map(|model| Predictor::new(kernel, model)).transpose()?,
        average: Average::new(&learned, ask.objective),
        neighbours: Neighbours::new(kernel, &learned, ask.objective),
        light_gbm: match ask.library {
            Some(library) => {
                Some(Rankers::fit(library, kernel, table, [&train, &valid], ask.objective, ask.settings.seed)?)
            }
            None => None,
        },
    };
    fold.tests.iter().map(|(tried, device)| judge.problem(tried, device)).collect()
}

impl FoldJudge<'_> {
    /// The regrets of every method on a problem.
    fn problem(&self, tried: &MeasuredProblem, device: &Device) -> Result<JudgedProblem> {
        let costs = tried.costs(self.objective);
        let configs = tried.configs(self.objective);
        let mut rankings = self.baselines(tried, device, &configs)?;
        let (by_model, said) = self.model(tried, device, &configs)?;
        rankings.extend(by_model);
        let regret = |(method, ranking): (Method, Ranking)| {
            let best_of = |top: usize| ranking.iter().take(top).map(|i| costs[*i].cost).fold(f64::INFINITY, f64::min);
            (method, (!ranking.is_empty()).then(|| TOPS.map(|top| 1.0 - costs[0].cost / best_of(top))))
        };
        let mut regrets: Vec<_> = rankings.into_iter().map(regret).collect();
        if let (Objective::Time, Some(us)) = (self.objective, tried.library_us) {
            regrets.push((Method::VendorLibrary, Some([1.0 - costs[0].cost / us; TOPS.len()])));
        }
        Ok(JudgedProblem { shape: self.kernel.shape(&tried.problem), regrets, said })
    }

    fn baselines(
        &self,
        tried: &MeasuredProblem,
        device: &Device,
        configs: &[Config],
    ) -> Result<Vec<(Method, Ranking)>> {
        let mut rankings = vec![
            (Method::KernelDefault, places(configs, &[self.kernel.default_config()])),
            (Method::BestOnAverage, places(configs, &self.average.ranking())),
            (Method::NearestNeighbour, places(configs, &self.neighbours.ranking(&tried.problem))),
        ];
        if let Some(rankers) = &self.light_gbm {
            let scored = rankers.scores(self.kernel, &tried.problem, device, configs)?;
            rankings.extend(scored.into_iter().map(|by| (by.method, by_score(configs, |i| by.scores[i]))));
        }
        Ok(rankings)
    }

    /// The rankings of the model and of its parts, and what is known of its first choice.
    #[allow(clippy::type_complexity)] // the pair that Judged holds
    fn model(
        &self,
        tried: &MeasuredProblem,
        device: &Device,
        configs: &[Config],
    ) -> Result<(Vec<(Method, Ranking)>, Option<Sureness>)> {
        let (predictor, objective) = (&self.predictor, self.objective);
        let ScoredConfigs { scored, problem: known } =
            predictor.score_known(&tried.problem, device, objective, &tried.costs(objective))?;
        let cost = |s: &Scored| objective.cost_of(s.time_us, s.joules).unwrap_or(f64::NAN);
        let by = |score: &dyn Fn(&Scored) -> f64| by_score(configs, |i| score(&scored[i]));
        let query = Query { objective, top: WIDTH, ..Query::new(device) };
        let found = predictor.predict_among(&tried.problem, &query, configs)?;
        let found: Vec<Config> = found.candidates.into_iter().map(|c| c.config).collect();
        let mut rankings = Vec::new();
        if let Some(small) = &self.small {
            let scored = small.score(&tried.problem, device, objective, configs)?;
            rankings.push((Method::Distilled, by_score(configs, |i| -scored[i].log_probability)));
        }
        rankings.extend([
            (Method::Likelihood, by(&|s| -s.log_probability)),
            (Method::PredictedCost, by(&cost)),
            (Method::Reranker, by(&|s| -s.rank)),
            (Method::Networks, by(&|s| -s.log_probability - s.rank)),
            (Method::OwnTrees, by(&|s| -s.trees.iter().sum::<f64>())),
            (Method::Pooled, by(&|s| -predictor.pooled_score(s))),
            (Method::Predict, places(configs, &found)),
        ]);
        Ok((rankings, Sureness::from_prediction(predictor, &tried.problem, &Query { top: 1, ..query }, &known)?))
    }
}

/// Where the configs of a ranking stand among the measured ones.
fn places(configs: &[Config], ranking: &[Config]) -> Ranking {
    ranking.iter().filter_map(|c| configs.iter().position(|k| k == c)).collect()
}
