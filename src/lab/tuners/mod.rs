//! The field's other ways to tune, at an equal budget of seconds, by replay of sweeps.
//!
//! Each is written from its paper's description and named for what it is, "in the manner of"; none of their code is used. All see the same
//! sizes, pay the same prices for what they measure, and answer for the same sizes that they may not have measured for nothing.

pub mod lab;
pub mod orders;
mod perceptron;
mod regressors;
pub mod report;
mod search;
mod tables;
mod tree;

use crate::tuners::lab::{CostModel, ReplayEnv, Surveyed, Tuner};
use crate::tuners::orders::Other;
use crate::tuners::report::{Played, TunersReport};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{MeasuredProblem, Table};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Kernel, Objective};
use seqtune_predict::model::{Part, Split};
use seqtune_predict::{Model, Predictor, Query};

/// Trains a model on what was surveyed, for seconds and a seed; asked again for the same, it may give the same model.
pub type Trainer<'a> = &'a dyn Fn(&[Surveyed], f64, u64) -> Result<Model>;

/// This project's own way: up to half of the configs of random problems with four fifths of the seconds, a model, its ranking.
struct Own<'a> {
    train: Trainer<'a>,
    seconds: f64,
    seed: u64,
    /// Whether the first predictions are measured with the rest of the seconds; else these are not used.
    again: bool,
}

/// Share of the seconds in which the first predictions are measured.
const AGAIN: f64 = 0.2;

/// Share of a problem's configs that are measured at most: more problems teach more than all configs of few.
const CONFIGS: f64 = 0.5;

/// Problems that are measured at least, if no program served two of them: of fewer nothing can be learned.
const PROBLEMS: f64 = 12.0;

impl Tuner for Own<'_> {
    fn name(&self) -> &str {
        if self.again { "seqtune, the first predictions measured" } else { "seqtune, predicted" }
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let most = lab.learned.iter().map(|tried| tried.results.len()).max().unwrap_or(0);
        let spare = AGAIN * self.seconds;
        let affordable = lab.affordable(self.seconds - spare) / PROBLEMS;
        let surveyed = lab.survey(affordable.clamp(2.0, (CONFIGS * most as f64).ceil().max(2.0)) as usize, spare);
        let model = (self.train)(&surveyed, self.seconds, self.seed)?;
        let predictor = Predictor::new(lab.kernel, &model)?;
        let rank = |tried: &&MeasuredProblem| -> Result<Vec<Config>> {
            let mut configs = lab.candidates(tried);
            configs.sort();
            let query = Query { top: configs.len(), width: configs.len(), ..Query::new(lab.device) };
            let found = predictor.predict_among(&tried.problem, &query, &configs)?;
            Ok(found.candidates.into_iter().map(|candidate| candidate.config).collect())
        };
        let rankings = lab.unseen.iter().map(rank).collect::<Result<Vec<_>>>()?;
        Ok(if self.again { lab.measure_first(rankings) } else { rankings })
    }
}

/// What is compared.
pub struct Comparison<'a> {
    /// Budgets in seconds.
    pub seconds: &'a [f64],
    /// Seeds of the draws and of the split by shape.
    pub seeds: &'a [u64],
    /// Prices of a measurement.
    pub prices: CostModel,
    /// Share of the shapes that answers are wanted for.
    pub held_out: f64,
    /// Trains our own models; without it only the others play.
    pub train: Option<Trainer<'a>>,
    /// LightGBM, where it is installed: MLKAPS's surrogate.
    pub trees: Option<LightGbm>,
    /// Other tuners, by the orders in which they measure.
    pub others: &'a [Other],
}

/// Lets all play on a table of one device.
///
/// # Errors
/// `Error::Input` where the table has several devices, or nothing to learn from or to answer for.
pub fn compare(
    kernel: &Kernel,
    table: &Table,
    game: &Comparison,
    progress: &mut dyn FnMut(&str),
) -> Result<TunersReport> {
    let [device] = &table.devices[..] else {
        return input(format!("tuners are compared on the data of one device, not of {}", table.devices.len()));
    };
    let mut report = TunersReport::new(kernel, device, game.seconds);
    for seed in game.seeds {
        let split = Split { seed: *seed, test: game.held_out, ..Split::default() };
        let problems = |part| -> Vec<&MeasuredProblem> {
            table.part(kernel, &split, part, Objective::Time).iter().map(|at| &table.problems[*at]).collect()
        };
        let (learned, unseen) = (problems(Part::Train), problems(Part::Test));
        if learned.is_empty() || unseen.is_empty() {
            return input("too few problem shapes to learn from some and answer for others: sweep more");
        }
        for seconds in game.seconds {
            for rival in rivals(game, *seconds, *seed) {
                progress(&format!("{}, {seconds:.0} s, seed {seed}", rival.name()));
                let rng = ChaCha8Rng::seed_from_u64(*seed);
                let mut lab =
                    ReplayEnv::new(kernel, device, [learned.clone(), unseen.clone()], rng, *seconds, game.prices);
                let answers = rival.play(&mut lab)?;
                report.add(Played::from_answers(rival.name(), *seconds, *seed, &lab, &answers));
            }
        }
    }
    Ok(report)
}

/// All that play, our own first.
fn rivals<'a>(game: &'a Comparison, seconds: f64, seed: u64) -> Vec<Box<dyn Tuner + 'a>> {
    let mut all: Vec<Box<dyn Tuner + 'a>> = Vec::new();
    if let Some(train) = game.train {
        all.extend([false, true].map(|again| Box::new(Own { train, seconds, seed, again }) as Box<dyn Tuner>));
    }
    all.push(Box::new(regressors::Isaac));
    if let Some(trees) = &game.trees {
        all.push(Box::new(regressors::Mlkaps(trees.clone())));
    }
    all.push(Box::new(tables::OperatingPoints));
    all.push(Box::new(tables::Nearest));
    all.push(Box::new(tables::SizeClasses));
    all.push(Box::new(search::LocalSearch));
    all.push(Box::new(search::RandomSearch));
    all.extend(game.others.iter().map(|other| Box::new(orders::Ordered { other, seed }) as Box<dyn Tuner>));
    all.push(Box::new(regressors::Roofline));
    all
}
