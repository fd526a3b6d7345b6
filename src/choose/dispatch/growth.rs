//! A dispatch whose tree is grown: on a model's answers to random problems, or on losses that are known.

use crate::dispatch::tree::{Sample, Tree};
use crate::dispatch::{Dispatch, DispatchChoice, DispatchOptions, FixedChoice, LAST_RESORT, Loss, Source, quantities};
use crate::losses::{LossOptions, LossTable, speed_lost};
use crate::points::{Point, Points};
use crate::ranges::Ranges;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_predict::{Config, Device, Kernel, Problem};
use std::collections::HashMap;

impl Dispatch {
    /// Asks `points` for the configs of `fixed` problems and of random ones within `ranges`.
    ///
    /// # Errors
    /// As [`Points::best`]; [`Error::Input`](seqtune_predict::Error::Input) where the ranges hold no problem.
    pub fn new(
        kernel: &Kernel,
        device: &Device,
        points: &dyn Points,
        fixed: &[Problem],
        ranges: &Ranges,
        options: &DispatchOptions,
    ) -> Result<Dispatch> {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        let third = options.third();
        let random = ranges.sample(kernel, device, options.samples + 2 * third, &mut rng)?;
        let first = |problem: &Problem| -> Result<Point> {
            let found = points.best(problem, options.objective, 1)?;
            found.into_iter().next().ok_or_else(|| {
                seqtune_predict::Error::NoLegalConfig(format!("no config for {}", kernel.brief_problem(problem)))
            })
        };
        let answers: Vec<Point> = on_threads(&random, options.threads, first)?;
        let loss_options =
            LossOptions { objective: options.objective, threads: options.threads, ..LossOptions::default() };
        let firsts: Vec<&Point> = answers.iter().collect();
        let columns = options.only.clone().unwrap_or_else(|| frequent(&answers, options.configs));
        let table = LossTable::judge_configs(points, &random, &firsts, columns, &loss_options)?;
        let sample = |(losses, problem): (Vec<f64>, &Problem)| Sample {
            losses,
            quantities: quantities(kernel, problem, device),
        };
        let samples: Vec<Sample> = table.losses.into_iter().zip(&random).map(sample).collect();
        let mut configs = table.configs;
        let (grow, rest) = samples.split_at(options.samples);
        let (size, test) = rest.split_at(third);
        let tree = Tree::grow(grow, size, options.leaves);
        let last_resort = last_resort(kernel, &mut configs, grow);
        let loss = loss_on(&tree, grow, test);
        let mut dispatch = Dispatch {
            kernel: kernel.clone(),
            device: device.clone(),
            source: points.identity(),
            grounds: points.grounds(),
            basis: Vec::new(),
            is_by_lines: false,
            configs,
            table: Vec::new(),
            tree,
            last_resort,
            loss,
        };
        if options.only.is_none() {
            let firsts = on_threads(fixed, options.threads, first)?;
            let choice =
                |(problem, first): (&Problem, Point)| FixedChoice { problem: problem.clone(), config: first.config };
            dispatch.put(fixed.iter().zip(firsts).map(choice));
        }
        dispatch.tidy();
        dispatch.compare(&random[options.samples + third..], &answers[options.samples + third..]);
        dispatch.basis = dispatch.words_of_growth(&ranges.words(kernel));
        Ok(dispatch)
    }

    /// Choices among the configs of a table by a tree that is grown on its problems, of which every third decides its size.
    pub fn from_losses(
        kernel: &Kernel,
        device: &Device,
        problems: &[Problem],
        table: &LossTable,
        leaves: usize,
    ) -> Dispatch {
        let sample = |(losses, problem): (&Vec<f64>, &Problem)| Sample {
            losses: losses.clone(),
            quantities: quantities(kernel, problem, device),
        };
        let samples: Vec<Sample> = table.losses.iter().zip(problems).map(sample).collect();
        let part = |is_size: bool| {
            let own = samples.iter().enumerate().filter(move |(at, _)| (at % 3 == 2) == is_size);
            own.map(|(_, sample)| sample.clone()).collect::<Vec<Sample>>()
        };
        let mut configs = table.configs.clone();
        let last_resort = last_resort(kernel, &mut configs, &samples);
        let mut dispatch = Dispatch {
            kernel: kernel.clone(),
            device: device.clone(),
            source: String::new(),
            grounds: String::new(),
            basis: Vec::new(),
            is_by_lines: false,
            configs,
            table: Vec::new(),
            tree: Tree::grow(&part(false), &part(true), leaves),
            last_resort,
            loss: Loss::default(),
        };
        dispatch.tidy();
        dispatch
    }

    /// Counts how often the tree agrees with the model, on problems that it did not grow on.
    fn compare(&mut self, random: &[Problem], answers: &[Point]) {
        let chosen: Vec<Option<DispatchChoice>> = random.iter().map(|problem| self.by_tree(problem)).collect();
        let share = |count: usize| count as f64 / random.len().max(1) as f64;
        let agrees = chosen.iter().zip(answers).filter(|(c, a)| c.as_ref().is_some_and(|c| c.config == a.config));
        self.loss.agreement = share(agrees.count());
        let astray = chosen.iter().filter(|c| c.as_ref().is_none_or(|c| c.source == Source::LastResort));
        self.loss.last_resort = share(astray.count());
    }

    /// How the tree was grown, and what it loses.
    fn words_of_growth(&self, ranges: &str) -> Vec<String> {
        let Loss { problems, agreement, mean, .. } = &self.loss;
        vec![
            format!("The tree was grown for {ranges}."),
            format!(
                "The tree against the model, on {problems} other random problems: it chooses as the model in {:.1} %, and loses {:.2} % of the speed that the model predicts. How good the model is stands with the model.",
                100.0 * agreement,
                100.0 * mean
            ),
        ]
    }
}

/// The configs that come first most often.
fn frequent(answers: &[Point], most: usize) -> Vec<Config> {
    let mut counts: HashMap<&Config, usize> = HashMap::new();
    answers.iter().for_each(|answer| *counts.entry(&answer.config).or_default() += 1);
    let mut counts: Vec<(&Config, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts.into_iter().take(most).map(|(config, _)| config.clone()).collect()
}

/// The default, and those configs that are legal for most of the problems that are left.
fn last_resort(kernel: &Kernel, configs: &mut Vec<Config>, samples: &[Sample]) -> Vec<usize> {
    let mut left: Vec<&Sample> = samples.iter().collect();
    let mut chosen = Vec::new();
    while chosen.len() < LAST_RESORT && !left.is_empty() {
        let legal = |at: usize| left.iter().filter(|s| s.losses[at].is_finite()).count();
        let Some(best) = (0..configs.len()).max_by_key(|at| (legal(*at), std::cmp::Reverse(*at))) else { break };
        if legal(best) == 0 {
            break;
        }
        left.retain(|sample| !sample.losses[best].is_finite());
        chosen.push(best);
    }
    let default = kernel.default_config();
    let at = configs.iter().position(|config| *config == default).unwrap_or_else(|| {
        configs.push(default);
        configs.len() - 1
    });
    chosen.retain(|other| *other != at);
    chosen.insert(0, at);
    chosen
}

/// What a tree loses on `test`, beside one config for all that was chosen on `grown`.
fn loss_on(tree: &Tree, grown: &[Sample], test: &[Sample]) -> Loss {
    let mut losses: Vec<f64> = test.iter().map(|sample| speed_lost(tree.loss(sample))).collect();
    losses.sort_by(f64::total_cmp);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    let one = Tree::grow(grown, &[], 1);
    let by_one: Vec<f64> = test.iter().map(|sample| speed_lost(one.loss(sample))).collect();
    Loss {
        problems: test.len(),
        mean: mean(&losses),
        p90: losses.get(losses.len() * 9 / 10).copied().unwrap_or_default(),
        one_config: mean(&by_one),
        ..Loss::default()
    }
}
