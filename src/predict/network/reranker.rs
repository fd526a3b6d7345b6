//! The head that judges finished configs, for prediction: plain slices, as [`crate::network::transformer`].
//!
//! What a config is worth to it begins as a sum: of the problem, of each value chosen, and of what each choice decides. So configs that
//! come in the order of a walk through the space share the sums of their common prefixes, and all legal configs of a problem can be judged.

use crate::error::Result;
use crate::featurizer::{Spelled, Speller};
use crate::kernel::Choice;
use crate::network::dense::{Linear, Norm, add, get, linears};
use crate::network::weights::Weights;
use crate::softmax::softmax;

/// What is said of a finished config: of its time and energy as [`Speller::read_costs`] takes them, and what ranks it, the higher the better.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    pub costs: [f32; 2],
    pub rank: f32,
}

impl Said {
    /// Adds a share of what another network says.
    pub fn add(&mut self, said: Said, share: f32) {
        self.costs[0] += share * said.costs[0];
        self.costs[1] += share * said.costs[1];
        self.rank += share * said.rank;
    }
}

/// One network's judge.
pub struct Judge {
    features: Vec<Linear>,
    tokens: Vec<f32>,
    problem: Linear,
    norm: Norm,
    up: Linear,
    down: Linear,
    norm_out: Norm,
    out: Linear,
}

impl Judge {
    pub fn new(weights: &Weights) -> Result<Judge> {
        Ok(Judge {
            features: linears(weights, "judge.features")?,
            tokens: get(weights, "judge.tokens", "weight")?,
            problem: Linear::new(weights, "judge.problem")?,
            norm: Norm::new(weights, "judge.norm")?,
            up: Linear::new(weights, "judge.up")?,
            down: Linear::new(weights, "judge.down")?,
            norm_out: Norm::new(weights, "judge.norm_out")?,
            out: Linear::new(weights, "judge.out")?,
        })
    }

    /// The sum before any choice (D), from the problem's summary (D).
    fn begin(&self, summary: &[f32], kernel: usize) -> Vec<f32> {
        let mut x = self.problem.forward(summary);
        add(&mut x, &self.features[kernel].bias);
        x
    }

    /// Adds a chosen token, and the `numbers` in `columns` that spell what it decides, to the sum `x` (D).
    fn choose(&self, kernel: usize, token: usize, (columns, numbers): (&[u16], &[f32]), x: &mut [f32]) {
        let d = x.len();
        add(x, &self.tokens[token * d..][..d]);
        let weight = &self.features[kernel].weight;
        for (column, number) in columns.iter().zip(numbers).filter(|(_, n)| **n != 0.0) {
            let row = &weight[*column as usize * d..][..d];
            x.iter_mut().zip(row).for_each(|(x, w)| *x += number * w);
        }
    }

    /// What is said of finished sums `x` (n, D).
    fn say(&self, x: &mut [f32]) -> Vec<Said> {
        let mut up = self.up.forward(&self.norm.forward(x));
        up.iter_mut().for_each(|v| *v = v.max(0.0));
        add(x, &self.down.forward(&up));
        let said = self.out.forward(&self.norm_out.forward(x));
        said.chunks_exact(3).map(|s| Said { costs: [s[0], s[1]], rank: s[2] }).collect()
    }
}

/// Configs that are judged together, as many as keep the cache warm.
const TOGETHER: usize = 256;

/// Judges configs of one problem, in the order they come.
pub struct Hearing<'a, 'k> {
    speller: &'a Speller<'k>,
    spelled: &'a Spelled<'k>,
    judges: Vec<&'a Judge>,
    /// Slots with the last config set.
    env: Vec<f64>,
    last: Vec<Choice>,
    /// By network, the sums before each choice of the last config (P + 1, D).
    sums: Vec<Vec<f32>>,
    /// By network, the finished sums that nothing was said of yet (n, D).
    waiting: Vec<Vec<f32>>,
    said: Vec<Said>,
    /// By network, the ranks of those in `said`.
    ranks: Vec<Vec<f32>>,
    numbers: Vec<f32>,
}

impl<'a, 'k> Hearing<'a, 'k> {
    /// By several networks with the problem's summary to each.
    pub fn new(
        speller: &'a Speller<'k>,
        spelled: &'a Spelled<'k>,
        judges: impl Iterator<Item = (&'a Judge, &'a [f32])>,
    ) -> Hearing<'a, 'k> {
        let (judges, sums): (Vec<&Judge>, Vec<Vec<f32>>) =
            judges.map(|(judge, summary)| (judge, judge.begin(summary, speller.of))).unzip();
        Hearing {
            speller,
            spelled,
            waiting: vec![Vec::new(); judges.len()],
            ranks: vec![Vec::new(); judges.len()],
            judges,
            env: spelled.slots(),
            last: Vec::new(),
            sums,
            said: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Takes in one more config.
    pub fn add(&mut self, config: &[Choice]) {
        let shared = std::iter::zip(&self.last, config).take_while(|(a, b)| a == b).count();
        for (at, choice) in config.iter().enumerate().skip(shared) {
            self.numbers.clear();
            self.speller.decide(self.spelled, &mut self.env, (at, *choice), &mut self.numbers);
            let (token, columns) = (self.speller.token(at, *choice) as usize, self.speller.choice_columns(at));
            for (judge, sums) in self.judges.iter().zip(&mut self.sums) {
                let d = judge.norm.width();
                sums.truncate((at + 1) * d);
                sums.extend_from_within(at * d..);
                judge.choose(self.speller.of, token, (columns, &self.numbers), &mut sums[(at + 1) * d..]);
            }
        }
        self.last.clear();
        self.last.extend_from_slice(config);
        for (judge, (sums, waiting)) in self.judges.iter().zip(self.sums.iter().zip(&mut self.waiting)) {
            waiting.extend_from_slice(&sums[config.len() * judge.norm.width()..]);
        }
        if self.waiting.first().is_some_and(|w| w.len() >= TOGETHER * self.judges[0].norm.width()) {
            self.say();
        }
    }

    fn say(&mut self) {
        let (share, first) = (1.0 / self.judges.len() as f32, self.said.len());
        for (judge, (waiting, ranks)) in self.judges.iter().zip(self.waiting.iter_mut().zip(&mut self.ranks)) {
            let said = judge.say(waiting);
            waiting.clear();
            ranks.extend(said.iter().map(|s| s.rank));
            self.said.resize(first + said.len(), Said::default());
            self.said[first..].iter_mut().zip(said).for_each(|(all, said)| all.add(said, share));
        }
    }

    /// What the networks say on average of the configs since it was last asked.
    pub fn said(&mut self) -> Vec<Said> {
        self.say();
        self.ranks.iter_mut().for_each(Vec::clear);
        std::mem::take(&mut self.said)
    }

    /// As [`Hearing::said`], of configs that are compared with one another: the rank is the logarithm of how probable each is the best of them,
    /// the networks' probabilities averaged. What one network alone is sure of then comes early in a short list (LOG.md).
    pub fn compared(&mut self) -> Vec<Said> {
        self.say();
        let ranks = mixed(&self.ranks);
        let mut said = self.said();
        said.iter_mut().zip(ranks).for_each(|(said, rank)| said.rank = rank);
        said
    }
}

/// The logarithm of the mean, over networks, of the probabilities that each one's ranks of the same configs make.
fn mixed(ranks: &[Vec<f32>]) -> Vec<f32> {
    let mut shares = vec![0.0; ranks.first().map_or(0, Vec::len)];
    for ranks in ranks {
        let ranks: Vec<f64> = ranks.iter().map(|r| *r as f64).collect();
        shares.iter_mut().zip(softmax(&ranks, 1.0)).for_each(|(all, share)| *all += share);
    }
    shares.iter().map(|share| (share / ranks.len() as f64).max(f64::MIN_POSITIVE).ln() as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_network_is_sure_of_comes_before_what_both_find_fair() {
        let ranks = mixed(&[vec![3.0, -9.0, 0.5, -9.0], vec![-9.0, 3.0, 0.5, -9.0]]);
        assert!(ranks[0] > ranks[2] && ranks[1] > ranks[2] && ranks[2] > ranks[3], "{ranks:?}");
        let total: f32 = ranks.iter().map(|r| r.exp()).sum();
        assert!((total - 1.0).abs() < 1e-5, "{total}");
    }

    #[test]
    fn one_network_is_left_as_it_is_but_for_a_constant() {
        let ranks = mixed(&[vec![1.0, -2.0, 0.25]]);
        assert!((ranks[0] - ranks[1] - 3.0).abs() < 1e-5 && (ranks[0] - ranks[2] - 0.75).abs() < 1e-5, "{ranks:?}");
    }
}
