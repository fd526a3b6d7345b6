//! The head that re-ranks finished configs, for prediction: plain slices, as [`crate::network::transformer`].
//!
//! What a config is worth to it begins as a sum: of the problem, of each value chosen, and of what each choice decides. So configs that
//! come in the order of a walk through the space share the sums of their common prefixes, and all legal configs of a problem can be scored.

use crate::features::featurizer::{Featurizer, Instance};
use crate::network::dense::{Linear, Norm, add, get, linears};
use crate::network::weights::NetworkWeights;
use crate::numeric::softmax::softmax;
use seqtune_kernel::Choice;
use seqtune_kernel::elementary::ln;
use seqtune_kernel::error::Result;

/// Scores of a finished config: its time and energy as [`Featurizer::decode_costs`] takes them, and what ranks it, the higher the better.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Outputs of the time and the energy head.
    pub costs: [f32; 2],
    /// Ranking score, a logit.
    pub rank: f32,
}

impl Scores {
    /// Adds a share of another network's scores.
    pub fn add(&mut self, scores: Scores, share: f32) {
        self.costs[0] += share * scores.costs[0];
        self.costs[1] += share * scores.costs[1];
        self.rank += share * scores.rank;
    }
}

/// One network's re-ranker.
pub struct Reranker {
    features: Vec<Linear>,
    tokens: Vec<f32>,
    problem: Linear,
    norm: Norm,
    up: Linear,
    down: Linear,
    norm_out: Norm,
    out: Linear,
}

impl Reranker {
    /// Builds the re-ranker of one member.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where a weight is missing.
    pub fn new(weights: &NetworkWeights) -> Result<Reranker> {
        Ok(Reranker {
            features: linears(weights, "judge.features")?,
            tokens: get(weights, "judge.tokens", "weight")?.to_vec(),
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

    /// Adds a chosen token, and what it decides, to the sum `x` (D).
    fn choose(&self, kernel: usize, token: usize, decided: Decided, x: &mut [f32]) {
        let d = x.len();
        add(x, &self.tokens[token * d..][..d]);
        let weight = &self.features[kernel].weight;
        for (column, number) in decided.columns.iter().zip(decided.numbers).filter(|(_, n)| **n != 0.0) {
            let row = &weight[*column as usize * d..][..d];
            x.iter_mut().zip(row).for_each(|(x, w)| *x += number * w);
        }
    }

    /// Scores of finished sums `x` (n, D).
    fn score(&self, x: &mut [f32]) -> Vec<Scores> {
        let mut up = self.up.forward(&self.norm.forward(x));
        up.iter_mut().for_each(|v| *v = v.max(0.0));
        add(x, &self.down.forward(&up));
        let scores = self.out.forward(&self.norm_out.forward(x));
        scores.chunks_exact(3).map(|s| Scores { costs: [s[0], s[1]], rank: s[2] }).collect()
    }
}

/// A re-ranker with a problem.
pub struct AskedReranker<'a> {
    /// One network's re-ranker.
    pub reranker: &'a Reranker,
    /// The problem's summary by that network (D).
    pub summary: &'a [f32],
}

/// What a choice decides, spelled: `numbers` in the columns of the same places.
#[derive(Clone, Copy)]
pub(crate) struct Decided<'n> {
    pub(crate) columns: &'n [u16],
    pub(crate) numbers: &'n [f32],
}

/// Configs that are scored together, as many as keep the cache warm.
const CONFIGS_PER_BATCH: usize = 256;

/// Scores configs of one problem, in the order they come.
pub struct BatchScorer<'a> {
    featurizer: &'a Featurizer,
    instance: &'a Instance,
    rerankers: Vec<&'a Reranker>,
    /// Slots with the last config set.
    env: Vec<f64>,
    last: Vec<Choice>,
    /// By network, the sums before each choice of the last config (P + 1, D).
    sums: Vec<Vec<f32>>,
    /// By network, the finished sums that have no scores yet (n, D).
    waiting: Vec<Vec<f32>>,
    scores: Vec<Scores>,
    /// By network, the ranks of those in `scores`.
    ranks: Vec<Vec<f32>>,
    numbers: Vec<f32>,
}

impl<'a> BatchScorer<'a> {
    /// By the re-rankers of several networks.
    pub fn new(
        featurizer: &'a Featurizer,
        instance: &'a Instance,
        asked: impl Iterator<Item = AskedReranker<'a>>,
    ) -> BatchScorer<'a> {
        let begin =
            |asked: AskedReranker<'a>| (asked.reranker, asked.reranker.begin(asked.summary, featurizer.kernel_index));
        let (rerankers, sums): (Vec<&Reranker>, Vec<Vec<f32>>) = asked.map(begin).unzip();
        BatchScorer {
            featurizer,
            instance,
            waiting: vec![Vec::new(); rerankers.len()],
            ranks: vec![Vec::new(); rerankers.len()],
            rerankers,
            env: instance.slots(),
            last: Vec::new(),
            sums,
            scores: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Takes in one more config.
    pub fn add(&mut self, config: &[Choice]) {
        let shared = std::iter::zip(&self.last, config).take_while(|(a, b)| a == b).count();
        for (at, choice) in config.iter().enumerate().skip(shared) {
            self.numbers.clear();
            self.featurizer.decide(self.instance, &mut self.env, at, *choice, &mut self.numbers);
            let (token, columns) = (self.featurizer.token(at, *choice) as usize, self.featurizer.choice_columns(at));
            for (reranker, sums) in self.rerankers.iter().zip(&mut self.sums) {
                let d = reranker.norm.width();
                sums.truncate((at + 1) * d);
                sums.extend_from_within(at * d..);
                let decided = Decided { columns, numbers: &self.numbers };
                reranker.choose(self.featurizer.kernel_index, token, decided, &mut sums[(at + 1) * d..]);
            }
        }
        self.last.clear();
        self.last.extend_from_slice(config);
        for (reranker, (sums, waiting)) in self.rerankers.iter().zip(self.sums.iter().zip(&mut self.waiting)) {
            waiting.extend_from_slice(&sums[config.len() * reranker.norm.width()..]);
        }
        if self.waiting.first().is_some_and(|w| w.len() >= CONFIGS_PER_BATCH * self.rerankers[0].norm.width()) {
            self.score_waiting();
        }
    }

    fn score_waiting(&mut self) {
        let (share, first) = (1.0 / self.rerankers.len() as f32, self.scores.len());
        for (reranker, (waiting, ranks)) in self.rerankers.iter().zip(self.waiting.iter_mut().zip(&mut self.ranks)) {
            let scores = reranker.score(waiting);
            waiting.clear();
            ranks.extend(scores.iter().map(|s| s.rank));
            self.scores.resize(first + scores.len(), Scores::default());
            self.scores[first..].iter_mut().zip(scores).for_each(|(all, scores)| all.add(scores, share));
        }
    }

    /// What the networks say on average of the configs since it was last asked.
    pub fn take(&mut self) -> Vec<Scores> {
        self.score_waiting();
        self.ranks.iter_mut().for_each(Vec::clear);
        std::mem::take(&mut self.scores)
    }

    /// As [`BatchScorer::take`], of configs that are compared with one another: the rank is the logarithm of how probable each is the best of them,
    /// the networks' probabilities averaged. What one network alone is sure of then comes early in a short list (docs/log).
    pub fn take_averaged(&mut self) -> Vec<Scores> {
        self.score_waiting();
        let ranks = mix_ranks(&self.ranks);
        let mut scores = self.take();
        scores.iter_mut().zip(ranks).for_each(|(scores, rank)| scores.rank = rank);
        scores
    }
}

/// The logarithm of the mean, over networks, of the probabilities that each one's ranks of the same configs make.
fn mix_ranks(ranks: &[Vec<f32>]) -> Vec<f32> {
    let mut shares = vec![0.0; ranks.first().map_or(0, Vec::len)];
    for ranks in ranks {
        let ranks: Vec<f64> = ranks.iter().map(|r| *r as f64).collect();
        shares.iter_mut().zip(softmax(&ranks, 1.0)).for_each(|(all, share)| *all += share);
    }
    shares.iter().map(|share| ln((share / ranks.len() as f64).max(f64::MIN_POSITIVE)) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_network_is_sure_of_comes_before_what_both_find_fair() {
        let ranks = mix_ranks(&[vec![3.0, -9.0, 0.5, -9.0], vec![-9.0, 3.0, 0.5, -9.0]]);
        assert!(ranks[0] > ranks[2] && ranks[1] > ranks[2] && ranks[2] > ranks[3], "{ranks:?}");
        let total: f32 = ranks.iter().map(|r| r.exp()).sum();
        assert!((total - 1.0).abs() < 1e-5, "{total}");
    }

    #[test]
    fn one_network_is_left_as_it_is_but_for_a_constant() {
        let ranks = mix_ranks(&[vec![1.0, -2.0, 0.25]]);
        assert!((ranks[0] - ranks[1] - 3.0).abs() < 1e-5 && (ranks[0] - ranks[2] - 0.75).abs() < 1e-5, "{ranks:?}");
    }
}
