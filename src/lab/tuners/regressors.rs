//! Tuners that fit a surrogate of the time: ISAAC's network, MLKAPS's boosted trees with adaptive sampling, and none at all, a roofline.

use crate::tuners::lab::{ReplayEnv, Tuner};
use crate::tuners::perceptron::Perceptron;
use crate::tuners::search::differing;
use crate::tuners::tree::{ClassedRow, Tree};
use rand::Rng;
use seqtune_data::MeasuredProblem;
use seqtune_eval::baselines::lightgbm::{LightGbm, Samples, Task, Trees};
use seqtune_kernel::Config;
use seqtune_kernel::error::Result;

/// ISAAC (Tillet and Cox 2017): random legal configs of random problems, a network on logarithms, every config of a new problem scored, the
/// best of them measured again. A replayed sweep has legal configs only, so that its way to draw them has no part.
pub struct Isaac;

/// MLKAPS (Jam et al. 2025): random pairs first, then pairs that boosted trees hold good, more and more of them; optima of the trees on a
/// grid of problems; a decision tree for each parameter. Its genetic search of the surrogate is exhaustive here, over the sweep's configs.
pub struct Mlkaps(pub LightGbm);

/// An analytic model in the manner of Origami and tritonBLAS: nothing is measured. Time is what a roofline allows a tile, times what is
/// computed in vain and the unused part of the last wave, by the features of that name in kernel.toml.
pub struct Roofline;

/// Share of the seconds that measures the best predictions again.
const AGAIN: f64 = 0.2;
/// Share that MLKAPS samples at random at first, its rounds, and the share of each that follows the surrogate, from the first to the last.
const FIRST: f64 = 0.2;
const ROUNDS: usize = 8;
const FOLLOWED: [f64; 2] = [0.2, 0.8];

/// Measured pairs of problem and config, and the logarithm of the time per operation.
#[derive(Default)]
struct Pairs {
    rows: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

impl Pairs {
    /// Measures a random config of a random problem.
    fn draw(&mut self, lab: &mut ReplayEnv) {
        let tried = lab.learned[lab.rng.random_range(0..lab.learned.len())];
        let configs = lab.candidates(tried);
        let config = &configs[lab.draw(configs.len())];
        self.add(lab, tried, config);
    }

    /// Draws until `spare` seconds are left. Pairs that were drawn before cost nothing, so that their number ends it too.
    fn fill(&mut self, lab: &mut ReplayEnv, spare: f64) {
        let mut idle = 0;
        while lab.left > spare && idle < 1_000 {
            let before = lab.left;
            self.draw(lab);
            idle = if lab.left == before { idle + 1 } else { 0 };
        }
    }

    fn add(&mut self, lab: &mut ReplayEnv, tried: &MeasuredProblem, config: &Config) {
        if let Some(us) = lab.measure(tried, config) {
            self.rows.push(lab.row(tried, config));
            self.labels.push((us / lab.kernel.flops(&tried.problem).max(1.0)).ln());
        }
    }
}

/// The candidates of each unseen problem, the lowest scores first.
fn rank_by_score(
    lab: &ReplayEnv,
    score: impl Fn(&MeasuredProblem, &[Config]) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<Config>>> {
    let rank = |tried: &&MeasuredProblem| {
        // not by their times, which the order of candidates would tell
        let mut configs = lab.candidates(tried);
        configs.sort();
        let scores = score(tried, &configs)?;
        let mut order: Vec<usize> = (0..configs.len()).collect();
        order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        Ok(order.into_iter().map(|at| configs[at].clone()).collect())
    };
    lab.unseen.iter().map(rank).collect()
}

impl Tuner for Isaac {
    fn name(&self) -> &str {
        "a network on logarithms, the best measured again (ISAAC's manner)"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let (mut pairs, spare) = (Pairs::default(), AGAIN * lab.left);
        pairs.fill(lab, spare);
        if pairs.rows.len() < 2 {
            return rank_by_score(lab, |_, configs| Ok(vec![0.0; configs.len()]));
        }
        let network = Perceptron::fit(&pairs.rows, &pairs.labels, &mut lab.rng);
        let score = |tried: &MeasuredProblem, configs: &[Config]| {
            Ok(configs.iter().map(|config| network.predict(&lab.row(tried, config))).collect())
        };
        let rankings = rank_by_score(lab, score)?;
        Ok(lab.measure_first(rankings))
    }
}

impl Mlkaps {
    fn fit(&self, pairs: &Pairs, seed: u64) -> Result<Trees> {
        let part = |keep: &dyn Fn(usize) -> bool| {
            let chosen: Vec<usize> = (0..pairs.rows.len()).filter(|at| keep(*at)).collect();
            Samples {
                rows: chosen.iter().flat_map(|at| pairs.rows[*at].clone()).collect(),
                columns: pairs.rows[0].len(),
                labels: chosen.iter().map(|at| pairs.labels[*at] as f32).collect(),
                groups: Vec::new(),
            }
        };
        // threads that wait for each other cost more than they bring where a core is busy
        self.0.fit(&part(&|at| at % 8 != 0), &part(&|at| at % 8 == 0), Task::Regression, 1, seed)
    }

    /// The config that the trees hold the fastest.
    fn optimum(lab: &ReplayEnv, trees: &Trees, tried: &MeasuredProblem) -> Result<Config> {
        let mut configs = lab.candidates(tried);
        configs.sort();
        let rows: Vec<f64> = configs.iter().flat_map(|config| lab.row(tried, config)).collect();
        let said = trees.predict(&rows, 1)?;
        let best = (0..configs.len()).min_by(|a, b| said[*a].total_cmp(&said[*b])).unwrap_or(0);
        Ok(configs.swap_remove(best))
    }
}

impl Tuner for Mlkaps {
    fn name(&self) -> &str {
        "boosted trees, adaptive sampling, decision trees (MLKAPS's manner)"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let (mut pairs, whole) = (Pairs::default(), lab.left);
        pairs.fill(lab, whole * (1.0 - FIRST));
        for round in 0..ROUNDS {
            if pairs.rows.len() < 40 {
                break;
            }
            let trees = self.fit(&pairs, round as u64)?;
            let share = FOLLOWED[0] + (FOLLOWED[1] - FOLLOWED[0]) * round as f64 / (ROUNDS - 1) as f64;
            let spare = whole * (1.0 - FIRST) * (1.0 - (round + 1) as f64 / ROUNDS as f64);
            let (mut idle, draws) = (0, lab.learned.len() * 8);
            let mut optima: Vec<Option<Config>> = vec![None; lab.learned.len()];
            while lab.left > spare && idle < draws {
                let before = lab.left;
                if lab.rng.random::<f64>() < share {
                    let at = lab.draw(lab.learned.len());
                    let tried = lab.learned[at];
                    let best = match &optima[at] {
                        Some(best) => best.clone(),
                        None => optima[at].insert(Mlkaps::optimum(lab, &trees, tried)?).clone(),
                    };
                    pairs.add(lab, tried, &best);
                } else {
                    pairs.draw(lab);
                }
                idle = if lab.left == before { idle + 1 } else { 0 };
            }
        }
        pairs.fill(lab, 0.0);
        if pairs.rows.len() < 40 {
            return rank_by_score(lab, |_, configs| Ok(vec![0.0; configs.len()]));
        }
        let trees = self.fit(&pairs, ROUNDS as u64)?;
        let mut grid: Vec<(Vec<f64>, Config)> = Vec::new();
        for tried in &lab.learned {
            grid.push((lab.kernel.env(&tried.problem, None), Mlkaps::optimum(lab, &trees, tried)?));
        }
        let chosen = |at: usize| -> Vec<ClassedRow> {
            grid.iter().map(|(row, config)| ClassedRow { row, class: config.0[at] as usize }).collect()
        };
        let of_parameter: Vec<Tree> = (0..lab.kernel.parameters.len()).map(|at| Tree::grow(&chosen(at))).collect();
        // what the trees of all parameters say together may not be among the configs: the nearest is
        rank_by_score(lab, |tried, configs| {
            let row = lab.kernel.env(&tried.problem, None);
            let said = Config(of_parameter.iter().map(|tree| tree.class(&row) as _).collect());
            Ok(configs.iter().map(|config| differing(&said, config) as f64).collect())
        })
    }
}

impl Tuner for Roofline {
    fn name(&self) -> &str {
        "a roofline of tiles, nothing measured (Origami's manner)"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let limits = &lab.device.limits;
        // operations that the memory feeds an element with
        let balance = 4.0 * limits.f32_gflops.unwrap_or(64.0) / limits.bandwidth_gbs.unwrap_or(16.0);
        let cost = |tried: &MeasuredProblem, config: &Config| {
            let env = lab.kernel.env_of(&tried.problem, Some(lab.device), config);
            let mut cost = 0.0;
            for feature in &lab.kernel.features {
                let value = feature.expr.eval(&env);
                cost += match feature.name.as_str() {
                    name if name.starts_with("waste_") || name == "tail_of_last_wave" => (1.0 + value.max(0.0)).ln(),
                    "log_tile_intensity" => (balance / value.exp2()).max(1.0).ln(),
                    _ => 0.0,
                };
            }
            cost
        };
        rank_by_score(lab, |tried, configs| Ok(configs.iter().map(|config| cost(tried, config)).collect()))
    }
}
