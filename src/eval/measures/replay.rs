//! Judging by replay: a method ranks the configs that were measured for a problem, and their measured cost is the answer.
//!
//! By replay the beam is masked to the configs measured for the problem. What is predicted without that mask has to be
//! judged live.

use crate::baselines::light_gbm_rankers::{MethodScores, Rankers, by_score};
use crate::baselines::lightgbm::LightGbm;
use crate::baselines::method::Method;
use crate::baselines::{Average, Neighbours, expected_of_random};
use crate::measures::reliability::{Reliability, Sureness};
use crate::pages::markdown;
use seqtune_data::stats::quantile;
use seqtune_data::{MeasuredProblem, Table};
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits::MEMBERS;
use seqtune_kernel::{Config, ConfigSpace, Kernel};
use seqtune_predict::confidence::{ScoredConfigs, TopPrediction};
use seqtune_predict::model::{Part, Split};
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Model, Predictor, Query, Scored};
use serde::Serialize;

/// Sizes of the short lists that are judged.
pub const TOPS: [usize; 4] = [1, 3, 5, 10];

/// One method's quality over the test problems: shares of the best known speed.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayRow {
    /// Method that is judged.
    pub method: Method,
    /// Mean share of the first choice.
    pub mean: f64,
    /// Tenth percentile of that share.
    pub p10: f64,
    /// Least share.
    pub min: f64,
    /// Mean share of the best of the first 3, 5 and 10.
    pub best_of_3: f64,
    /// Mean share of the best of the first 5.
    pub best_of_5: f64,
    /// Mean share of the best of the first 10.
    pub best_of_10: f64,
    /// Share of problems whose best config comes first.
    pub exact: f64,
    /// Share of first choices that are legal.
    pub legal: f64,
    /// Share of the test problems that the method has an answer for.
    pub answered: f64,
}

/// An evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Quantity that configs are compared by.
    pub objective: Objective,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Hashes of the datasets.
    pub data: Vec<String>,
    /// Problems that baselines learn from.
    pub train_problems: usize,
    /// Problems judged.
    pub test_problems: usize,
    /// Mean number of measured configs per test problem.
    pub configs_per_problem: f64,
    /// A row for each method, the model first.
    pub rows: Vec<ReplayRow>,
    /// What the model knows of how good it is; `None` of one without calibration.
    pub sureness: Option<Reliability>,
    /// What its first choices were worth: what `sureness` is made of.
    pub firsts: Vec<TopPrediction>,
    /// Top-1 share of the model per test problem, lowest first: where to look.
    pub problems: Vec<(String, f64)>,
}

/// A part of the model, and its score of a config: the higher the better.
type ModelPart = (Method, fn(&Scored) -> f64);

/// The parts that rank all measured configs alone.
const PARTS: [ModelPart; 3] = [
    (Method::Likelihood, |s| s.log_probability),
    (Method::Reranker, |s| s.rank),
    (Method::OwnTrees, |s| s.trees.iter().sum()),
];

/// Answers of one method: per test problem a ranking, or nothing.
type Rankings = Vec<Option<Vec<Config>>>;

/// What is asked for.
#[derive(Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// Quantity that configs are compared by.
    pub objective: Objective,
    /// All problems are judged, not the test part of the model's split: for data that it did not learn from.
    pub whole: bool,
    /// LightGBM's rankers are judged too, where the library is given and there is something to learn from, with this seed.
    pub trees: Option<(&'a LightGbm, u64)>,
}

/// Problems of a table by a model's split.
pub struct Tests<'t> {
    /// Those that baselines learn from.
    pub learned: Vec<&'t MeasuredProblem>,
    /// Those that methods are compared on.
    pub tests: Vec<&'t MeasuredProblem>,
}

/// The problems of a table that a model did not learn from: those held out by its split or, of other data, all.
///
/// # Errors
/// Where there is none.
pub fn held_out<'t>(
    kernel: &Kernel,
    model: &Model,
    table: &'t Table,
    ReplayOptions { objective, whole, .. }: ReplayOptions,
) -> Result<Tests<'t>> {
    let split = if whole { Split { test: 1.0, ..model.meta.split } } else { model.meta.split };
    let train = table.part(kernel, &split, Part::Train, objective);
    let test = table.part(kernel, &split, Part::Test, objective);
    if test.is_empty() && whole {
        return nothing_to_judge(objective);
    }
    if test.is_empty() {
        return input(format!(
            "none of the {} problem shapes falls into the test part of the model's split; `seqtune evaluate folds --folds {} DATASETS` leaves each out in \
             turn",
            table.problems.len(),
            table.problems.len().clamp(2, MEMBERS)
        ));
    }
    let problems = |indices: &[usize]| indices.iter().map(|i| &table.problems[*i]).collect();
    Ok(Tests { learned: problems(&train), tests: problems(&test) })
}

/// Judges `model` and the baselines on the test part of `table`, or on the whole. Baselines learn from the training part only (and the
/// validation part, which chooses the model's weights, stays out); of a whole none is left for them.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::Error::Input) where nothing is held out, [`Error::Mismatch`](seqtune_predict::Error::Mismatch) where
/// the model does not fit the kernel or the objective.
pub fn evaluate(
    kernel: &Kernel,
    model: &Model,
    table: &Table,
    options: ReplayOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<ReplayReport> {
    let objective = options.objective;
    let predictor = Predictor::new(kernel, model)?;
    model.check_objective(objective)?;
    let Tests { learned, tests } = held_out(kernel, model, table, options)?;
    progress("model");
    let by_model = ModelRankings::new(&predictor, table, &tests, objective)?;
    progress("baselines");
    let methods = by_model.rankings.iter().cloned().chain(baselines(kernel, &learned, &tests, objective));
    let row = |(method, rankings): (Method, Rankings)| row(kernel, table, method, &tests, objective, &rankings);
    let mut rows: Vec<ReplayRow> = methods.map(row).collect();
    if let Some((library, seed)) = options.trees.filter(|_| !learned.is_empty()) {
        progress("LightGBM");
        let [train, valid] =
            [Part::Train, Part::Validation].map(|part| table.part(kernel, &model.meta.split, part, objective));
        let rankers = Rankers::fit(library, kernel, table, [&train, &valid], objective, seed)?;
        rows.extend(by_light_gbm(&rankers, kernel, table, &tests, objective)?.into_iter().map(row));
    }
    rows.push(random_row(&tests, objective));
    Ok(ReplayReport {
        kernel: kernel.name.clone(),
        objective,
        devices: table.devices.iter().map(|d| d.name.clone()).collect(),
        data: table.hashes.clone(),
        train_problems: learned.len(),
        test_problems: tests.len(),
        configs_per_problem: tests.iter().map(|t| t.costs(objective).len()).sum::<usize>() as f64 / tests.len() as f64,
        rows,
        problems: worst(kernel, &tests, objective, &by_model.rankings[0].1),
        firsts: by_model.said.iter().map(|said| said.first).collect(),
        sureness: Reliability::from_answers(&by_model.said),
    })
}

/// The model's answers to the test problems.
struct ModelRankings {
    /// What `predict` answers, then what its parts alone do.
    rankings: Vec<(Method, Rankings)>,
    /// What is said of each problem.
    said: Vec<Sureness>,
}

impl ModelRankings {
    fn new(
        predictor: &Predictor,
        table: &Table,
        tests: &[&MeasuredProblem],
        objective: Objective,
    ) -> Result<ModelRankings> {
        let parts = match (predictor.has_trees(objective), predictor.reranks()) {
            (true, _) => &PARTS[..],
            (false, true) => &PARTS[..2],
            (false, false) => &PARTS[..1],
        };
        let (mut predicted, mut by_part) = (Rankings::new(), vec![Rankings::new(); parts.len()]);
        let mut said = Vec::new();
        for tried in tests {
            let device = &table.devices[tried.device];
            let configs = tried.configs(objective);
            let query = Query { objective, top: WIDTH, ..Query::new(device) };
            let found = predictor.predict_among(&tried.problem, &query, &configs)?;
            predicted.push(Some(found.candidates.into_iter().map(|c| c.config).collect()));
            let ScoredConfigs { scored, problem: known } =
                predictor.score_known(&tried.problem, device, objective, &tried.costs(objective))?;
            said.extend(Sureness::from_prediction(predictor, &tried.problem, &Query { top: 1, ..query }, &known)?);
            for ((_, score), rankings) in parts.iter().zip(&mut by_part) {
                let mut order: Vec<usize> = (0..configs.len()).collect();
                order.sort_by(|a, b| score(&scored[*b]).total_cmp(&score(&scored[*a])));
                rankings.push(Some(order.into_iter().map(|i| configs[i].clone()).collect()));
            }
        }
        let by_part = parts.iter().map(|(method, _)| *method).zip(by_part);
        Ok(ModelRankings { rankings: std::iter::once((Method::Predict, predicted)).chain(by_part).collect(), said })
    }
}

/// What the baselines answer: the default, and what was learned where there is anything to learn from.
fn baselines(
    kernel: &Kernel,
    learned: &[&MeasuredProblem],
    tests: &[&MeasuredProblem],
    objective: Objective,
) -> Vec<(Method, Rankings)> {
    let rankings = |ranking: &dyn Fn(&MeasuredProblem) -> Vec<Config>| {
        tests.iter().map(|tried| measured_part(tried, objective, ranking(tried))).collect()
    };
    let mut all = vec![(Method::KernelDefault, rankings(&|_| vec![kernel.default_config()]))];
    if !learned.is_empty() {
        let average = Average::new(learned, objective);
        let neighbours = Neighbours::new(kernel, learned, objective);
        all.push((Method::BestOnAverage, rankings(&|_| average.ranking())));
        all.push((Method::NearestNeighbour, rankings(&|tried| neighbours.ranking(&tried.problem))));
    }
    all
}

/// What LightGBM's rankers answer, which learn what the model learned from.
fn by_light_gbm(
    rankers: &Rankers,
    kernel: &Kernel,
    table: &Table,
    tests: &[&MeasuredProblem],
    objective: Objective,
) -> Result<Vec<(Method, Rankings)>> {
    let mut all: Vec<(Method, Rankings)> = Vec::new();
    for tried in tests {
        let configs = tried.configs(objective);
        let scored = rankers.scores(kernel, &tried.problem, &table.devices[tried.device], &configs)?;
        for (at, MethodScores { method, scores }) in scored.into_iter().enumerate() {
            if all.len() == at {
                all.push((method, Rankings::new()));
            }
            let order = by_score(&configs, |i| scores[i]);
            all[at].1.push(Some(order.into_iter().map(|i| configs[i].clone()).collect()));
        }
    }
    Ok(all)
}

/// The part of a ranking that was measured; `None` where nothing was.
fn measured_part(tried: &MeasuredProblem, objective: Objective, ranking: Vec<Config>) -> Option<Vec<Config>> {
    let costs = tried.costs(objective);
    let known: Vec<Config> =
        ranking.into_iter().filter(|c| costs.iter().any(|known| known.config == c)).take(10).collect();
    (!known.is_empty()).then_some(known)
}

/// Shares of the best speed of a ranking's configs, in its order.
fn shares(tried: &MeasuredProblem, objective: Objective, ranking: &[Config]) -> Vec<f64> {
    let costs = tried.costs(objective);
    let share =
        |c: &Config| costs.iter().find(|known| known.config == c).map_or(0.0, |known| costs[0].cost / known.cost);
    ranking.iter().map(share).collect()
}

fn worst(kernel: &Kernel, tests: &[&MeasuredProblem], objective: Objective, rankings: &Rankings) -> Vec<(String, f64)> {
    let mut problems: Vec<(String, f64)> = tests
        .iter()
        .zip(rankings)
        .filter_map(|(t, r)| Some((kernel.brief_problem(&t.problem), *shares(t, objective, r.as_ref()?).first()?)))
        .collect();
    problems.sort_by(|a, b| a.1.total_cmp(&b.1));
    problems
}

fn row(
    kernel: &Kernel,
    table: &Table,
    method: Method,
    tests: &[&MeasuredProblem],
    objective: Objective,
    rankings: &Rankings,
) -> ReplayRow {
    let mut of_tops: [Vec<f64>; TOPS.len()] = Default::default();
    let (mut exact, mut legal) = (0.0, 0.0);
    for (tried, ranking) in tests.iter().zip(rankings) {
        let Some(ranking) = ranking else { continue };
        let shares = shares(tried, objective, ranking);
        for (list, top) in of_tops.iter_mut().zip(TOPS) {
            list.push(shares.iter().take(top).copied().fold(0.0, f64::max));
        }
        exact += (shares[0] == 1.0) as u8 as f64;
        let space = ConfigSpace::new(kernel, &tried.problem, &table.devices[tried.device]);
        legal += space.is_legal(&ranking[0]) as u8 as f64;
    }
    summarise(method, of_tops, exact, legal, tests.len())
}

fn summarise(method: Method, mut of_tops: [Vec<f64>; TOPS.len()], exact: f64, legal: f64, tests: usize) -> ReplayRow {
    let n = of_tops[0].len() as f64;
    let means: Vec<f64> = of_tops.iter().map(|list| list.iter().sum::<f64>() / n).collect();
    of_tops[0].sort_by(f64::total_cmp);
    ReplayRow {
        method,
        mean: means[0],
        p10: quantile(&of_tops[0], 0.1),
        min: quantile(&of_tops[0], 0.0),
        best_of_3: means[1],
        best_of_5: means[2],
        best_of_10: means[3],
        exact: exact / n,
        legal: legal / n,
        answered: n / tests as f64,
    }
}

/// The expectation of drawing measured configs at random.
fn random_row(tests: &[&MeasuredProblem], objective: Objective) -> ReplayRow {
    let mut of_tops: [Vec<f64>; TOPS.len()] = Default::default();
    let mut exact = 0.0;
    for tried in tests {
        let costs = tried.costs(objective);
        let shares: Vec<f64> = costs.iter().map(|known| costs[0].cost / known.cost).collect();
        for (list, top) in of_tops.iter_mut().zip(TOPS) {
            list.push(expected_of_random(&shares, top));
        }
        exact += 1.0 / shares.len() as f64;
    }
    summarise(Method::Random, of_tops, exact, tests.len() as f64, tests.len())
}

impl ReplayReport {
    /// The table as text.
    pub fn table(&self) -> String {
        let percent = |x: f64| if x.is_finite() { format!("{:.1}", 100.0 * x) } else { "-".into() };
        let text = format!(
            "{} on {}, objective {}: {} held-out problems ({} trained on), {:.0} measured configs each.\n\
             Share of the best measured speed in percent; by replay, the beam masked to the measured configs.\n\n",
            self.kernel,
            self.devices.join(", "),
            self.objective,
            self.test_problems,
            self.train_problems,
            self.configs_per_problem
        );
        let mut table = markdown::Table::new(&[
            "method",
            "top-1 mean",
            "10th percentile",
            "minimum",
            "best of 3",
            "of 5",
            "of 10",
            "exact",
            "legal",
        ]);
        for row in &self.rows {
            let numbers =
                [row.mean, row.p10, row.min, row.best_of_3, row.best_of_5, row.best_of_10, row.exact, row.legal];
            let partly =
                if row.answered < 1.0 { format!(" ({} % answered)", percent(row.answered)) } else { String::new() };
            let cells = numbers.into_iter().map(percent);
            table.row(&std::iter::once(format!("{}{partly}", row.method)).chain(cells).collect::<Vec<_>>());
        }
        text + &table.to_string() + &self.sureness.map_or(String::new(), |sureness| sureness.text())
    }
}

/// Refuses data that no method can be judged by.
///
/// # Errors
/// `Error::Input`, always.
pub fn nothing_to_judge<T>(objective: Objective) -> Result<T> {
    input(format!("no problem has two working configs with what {objective} needs; there is nothing to judge by"))
}
