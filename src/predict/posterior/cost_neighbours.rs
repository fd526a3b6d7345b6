//! Profiles of problems in spaces of few combinations: what all configs of an unseen problem cost, by those of learned problems that are like it.
//!
//! Extremely randomised trees over the features of problems weigh the learned ones: each counts by how often it shares a leaf with the asked one
//! (forest weights, as in quantile regression forests, Meinshausen 2006). That is a distribution over whole profiles, so that it tells what a choice
//! costs if the neighbours mislead. Where problems are told by statistics, and few were learned, it knows more than networks and boosted trees do
//! (docs/log), which learn config by config. Kernels ask for it by `profiles`.

use crate::confidence::calibration::LOSS;
use crate::features::featurizer::{Instance, number};
use crate::numeric::softmax::softmax;
use crate::trees::extra_trees::ExtraTrees;
use bincode::{Decode, Encode};
use seqtune_kernel::elementary::{self, exp, ln};
use seqtune_kernel::limits::COMBINATIONS;
use seqtune_kernel::{Config, Kernel, LIMIT_NAMES, Objective};

/// The number of combinations of a kernel's values, where these are few.
pub fn small_space_size(kernel: &Kernel) -> Option<usize> {
    let combinations = kernel.parameters.iter().try_fold(1usize, |all, p| all.checked_mul(p.values.len()));
    combinations.filter(|all| *all <= COMBINATIONS)
}

/// Which of the combinations of a kernel's values a config is.
pub fn combination(kernel: &Kernel, config: &Config) -> usize {
    kernel.parameters.iter().zip(&config.0).fold(0, |at, (p, choice)| at * p.values.len() + *choice as usize)
}

/// The learned problems of one kernel and objective.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct CostNeighbours {
    /// Kernel that they are of.
    pub kernel: String,
    /// What configs cost.
    pub objective: Objective,
    /// Temperature of the soft target.
    pub tau: f64,
    /// Weighs learned problems by rows of [`columns`].
    pub forest: ExtraTrees,
    /// Of each learned problem the natural logarithms of the costs of all combinations, but for an offset of the problem.
    pub costs: Vec<Vec<f32>>,
}

/// Opinion of boosted trees, or of cost neighbours, on a config.
#[derive(Clone, Copy, Debug)]
pub struct TreeOpinion {
    /// The natural logarithms of how probably it is the best of those that are compared: by the values and by the lists; or by the mean of the neighbours and one by one.
    pub logs: [f64; 2],
    /// How probably it loses more than [`LOSS`] beside the best of them; `None` without cost neighbours.
    pub risk: Option<f64>,
}

impl TreeOpinion {
    /// Where there are no trees.
    pub const NEUTRAL: TreeOpinion = TreeOpinion { logs: [0.0; 2], risk: None };
}

/// How many numbers [`row`] has.
pub fn columns(kernel: &Kernel) -> usize {
    LIMIT_NAMES.len() + if tells_problems(kernel) { kernel.features.len() } else { kernel.fields.len() }
}

/// A problem on a device as numbers: the device's limits and the kernel's features, without one that a parameter decides; fields, sizes as
/// logarithms, where the kernel has no feature of the problem alone.
pub fn row(kernel: &Kernel, instance: &Instance) -> Vec<f32> {
    let own = match tells_problems(kernel) {
        true => {
            let features = kernel.features.iter().zip(&instance.codes);
            features.map(|(f, code)| if f.known_after == 0 { code.eval(&instance.env) } else { 0.0 }).collect()
        }
        false => instance.fields(),
    };
    own.into_iter().chain(instance.limits().iter().copied()).map(number).collect()
}

/// Whether a feature of the kernel is of the problem alone.
fn tells_problems(kernel: &Kernel) -> bool {
    kernel.features.iter().any(|f| f.known_after == 0)
}

impl CostNeighbours {
    /// Whether they can be asked about a kernel: what was read may be damaged.
    pub fn is_sound(&self, kernel: &Kernel) -> bool {
        let whole =
            |costs: &Vec<f32>| Some(costs.len()) == small_space_size(kernel) && costs.iter().all(|c| c.is_finite());
        self.forest.is_sound(columns(kernel))
            && self.forest.labels == self.costs.len()
            && self.tau.is_finite()
            && self.tau > 0.0
            && self.costs.iter().all(whole)
    }

    /// Gives predicted costs of configs of one problem the shape of the mean profile; their geometric mean stays. Costs that are not known stay so.
    pub fn reshape(&self, instance: &Instance, configs: &[Config], costs: &mut [&mut Option<f64>]) {
        let kernel = &instance.space.kernel;
        let shares = self.forest.predict(&row(kernel, instance));
        let log = |config: &Config| {
            let at = combination(kernel, config);
            shares.iter().zip(&self.costs).map(|(share, costs)| f64::from(share * costs[at])).sum()
        };
        let logs: Vec<f64> = configs.iter().map(log).collect();
        let offsets = costs.iter().zip(&logs).map(|(cost, log)| Some(ln((**cost)?) - log));
        let level = offsets.sum::<Option<f64>>().map(|sum| sum / logs.len() as f64);
        if let Some(level) = level.filter(|level| level.is_finite()) {
            costs.iter_mut().zip(logs).for_each(|(cost, log)| **cost = Some(exp(level + log)));
        }
    }

    /// What the learned problems say of configs of one problem: the natural logarithms of how probably each is the best of them, by the mean of
    /// the neighbours and by the neighbours one by one; and how probably it loses more than [`LOSS`] beside the best of them.
    pub fn weigh(&self, instance: &Instance, configs: &[Config]) -> Vec<TreeOpinion> {
        let kernel = &instance.space.kernel;
        let shares = self.forest.predict(&row(kernel, instance));
        let asked: Vec<usize> = configs.iter().map(|config| combination(kernel, config)).collect();
        let (mut mean, mut best, mut risk) = (vec![0.0; asked.len()], vec![0.0; asked.len()], vec![0.0; asked.len()]);
        let most = -elementary::ln(1.0 - LOSS);
        for (share, costs) in shares.into_iter().map(f64::from).zip(&self.costs).filter(|(share, _)| *share > 0.0) {
            let costs: Vec<f64> = asked.iter().map(|at| f64::from(costs[*at])).collect();
            let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let scores: Vec<f64> = costs.iter().map(|cost| -cost / self.tau).collect();
            for (at, probability) in softmax(&scores, 1.0).into_iter().enumerate() {
                mean[at] += share * costs[at];
                best[at] += share * probability;
                risk[at] += if costs[at] - least > most { share } else { 0.0 };
            }
        }
        let means: Vec<f64> = mean.into_iter().map(|mean| -mean / self.tau).collect();
        let ln = |p: f64| elementary::ln(p.max(f64::MIN_POSITIVE));
        let by_mean = softmax(&means, 1.0).into_iter();
        by_mean
            .zip(best)
            .zip(risk)
            .map(|((m, b), risk)| TreeOpinion { logs: [ln(m), ln(b)], risk: Some(risk) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::extra_trees::Node;
    use seqtune_kernel::Device;
    use std::path::Path;

    fn toy() -> Kernel {
        Kernel::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("toy").display().to_string()).unwrap()
    }

    /// Three problems: small ones are like the first, others half like the second and half like the third.
    fn profiles(kernel: &Kernel) -> CostNeighbours {
        let tree = vec![Node::Cut(0, 5.0, [1, 2]), Node::Leaf(vec![(0, 1.0)]), Node::Leaf(vec![(1, 0.5), (2, 0.5)])];
        let cheapest = |best: usize| (0..21).map(|at| if at == best { -0.5 } else { 0.1 }).collect();
        let costs = vec![cheapest(0), cheapest(3), cheapest(9)];
        let forest = ExtraTrees { trees: vec![tree], labels: 3 };
        CostNeighbours { kernel: kernel.name.clone(), objective: Objective::Time, tau: 0.05, forest, costs }
    }

    #[test]
    fn what_problems_that_are_alike_say_of_configs_are_their_chances_and_what_a_choice_may_lose() {
        let kernel = toy();
        let profiles = profiles(&kernel);
        assert!(profiles.is_sound(&kernel));
        let asked = ["tile=1,width=1", "tile=2,width=1", "tile=8,width=1"];
        let configs = asked.map(|config| kernel.config(config).unwrap());
        assert_eq!(configs.each_ref().map(|config| combination(&kernel, config)), [0, 3, 9]);
        let weigh = |problem: &str| {
            let problem = kernel.problem(problem).unwrap();
            let instance = Instance::new(&kernel, &problem, &Device::find_described("A100").unwrap());
            let said = profiles.weigh(&instance, &configs);
            (
                said.iter().map(|w| exp(w.logs[1])).collect::<Vec<_>>(),
                said.iter().filter_map(|w| w.risk).collect::<Vec<_>>(),
            )
        };
        let (chances, risks) = weigh("M=16");
        assert!(chances[0] > 0.99 && risks == [0.0, 1.0, 1.0], "{chances:?} {risks:?}");
        let (chances, risks) = weigh("M=4000");
        assert!((chances[1] - 0.5).abs() < 0.01 && risks == [1.0, 0.5, 0.5], "{chances:?} {risks:?}");
    }

    #[test]
    fn damaged_profiles_are_refused() {
        let kernel = toy();
        let damage: [fn(&mut CostNeighbours); 5] = [
            |p| p.costs[1][2] = f32::NAN,
            |p| p.costs[2].truncate(20),
            |p| p.forest.labels = 2,
            |p| p.forest.trees[0][0] = Node::Cut(17, 5.0, [1, 2]),
            |p| p.forest.trees[0][0] = Node::Cut(0, 5.0, [0, 2]),
        ];
        for (at, damage) in damage.into_iter().enumerate() {
            let mut broken = profiles(&kernel);
            damage(&mut broken);
            assert!(!broken.is_sound(&kernel), "{at}");
        }
    }
}
