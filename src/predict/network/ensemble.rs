//! Several networks that answer as one: their probabilities are averaged at every step.

use crate::features::featurizer::{Featurizer, Instance};
use crate::model::settings::Hparams;
use crate::network::reranker::BatchScorer;
use crate::network::transformer::{DecodingRow, KvCache, Stepped, Transformer};
use crate::network::weights::{NetworkWeights, Weights};
use crate::numeric::softmax::softmax;
use rayon::prelude::*;
use seqtune_kernel::Choice;
use seqtune_kernel::elementary::ln;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::{cores, run_in_pool};

/// The members of a model, ready to predict.
pub struct Ensemble(Vec<Transformer>);

/// Keys and values of a batch of problems.
pub struct KvCaches {
    members: Vec<KvCache>,
    /// Whether the members compute side by side: for a batch that has several threads to itself.
    parallel: bool,
}

/// Hidden states of the rows of one step, by member, with what its members score tokens and features by.
pub struct Hidden {
    states: Vec<Vec<f32>>,
    logits: Vec<Vec<f32>>,
    weights: Vec<Vec<f32>>,
}

/// The hidden state of one row.
#[derive(Clone, Copy)]
pub struct HiddenRow<'h> {
    /// Those of all rows of the step.
    pub hidden: &'h Hidden,
    /// Which row.
    pub row: usize,
}

/// What a decoding step gives.
pub struct EnsembleStep {
    /// Hidden states of the rows.
    pub hidden: Hidden,
    /// The entry that each row adds to its history: the same for all members.
    pub entries: Vec<u32>,
}

impl Ensemble {
    /// Builds `members` networks from the weights of a model file.
    ///
    /// # Errors
    /// [`Error::Model`](crate::Error::Model) where a weight is missing or has another shape.
    pub fn new(hparams: &Hparams, weights: &Weights, members: usize) -> Result<Ensemble> {
        if members == 0 {
            return input("the model has no member; fetch or train it again");
        }
        let network = |i| Transformer::new(hparams, &NetworkWeights::of_member(weights, i));
        let networks = || (0..members).into_par_iter().map(network).collect::<Result<_>>();
        Ok(Ensemble(run_in_pool(cores().min(members), networks)??))
    }

    /// Encodes `problems` sources of one kernel. If `parallel`, the members compute on several threads, here and in each step.
    pub fn encode(&self, source: &[f32], problems: usize, kernel: usize, parallel: bool) -> KvCaches {
        KvCaches { members: self.0.iter().map(|m| m.encode(source, problems, kernel)).collect(), parallel }
    }

    /// One decoding step of rows of one kernel.
    pub fn step(&self, caches: &mut KvCaches, rows: &[DecodingRow], features: &[f32], kernel: usize) -> EnsembleStep {
        let step = |(member, session): (&Transformer, &mut KvCache)| {
            let Stepped { states, entries } = member.step(session, rows, features, kernel);
            (member.logits(&states), member.weigh(&states, kernel), states, entries)
        };
        let stepped: Vec<_> = match caches.parallel {
            true => self.0.par_iter().zip(&mut caches.members).map(step).collect(),
            false => self.0.iter().zip(&mut caches.members).map(step).collect(),
        };
        let mut hidden = Hidden { states: Vec::new(), logits: Vec::new(), weights: Vec::new() };
        let mut added = Vec::new();
        for (logits, weights, states, entries) in stepped {
            hidden.logits.push(logits);
            hidden.weights.push(weights);
            hidden.states.push(states);
            added = entries;
        }
        EnsembleStep { hidden, entries: added }
    }

    /// Natural logarithm of the probability of each of the legal `choices` after `prefix`, by a hidden state.
    pub fn choose(
        &self,
        featurizer: &Featurizer,
        instance: &Instance,
        state: HiddenRow,
        prefix: &[Choice],
        choices: &[Choice],
    ) -> Vec<f64> {
        let HiddenRow { hidden, row } = state;
        let at = prefix.len();
        let tokens = featurizer.vocab.tokens();
        let (columns, decides) = (featurizer.choice_columns(at), featurizer.decides(at));
        let (mut raw, mut numbers) = (Vec::new(), Vec::new());
        featurizer.weigh(instance, prefix, choices.iter().copied(), &mut raw);
        raw.chunks_exact(decides.max(1)).for_each(|raw| featurizer.encode_choice(at, raw, &mut numbers));
        let mut mean = vec![0.0; choices.len()];
        for (logits, weights) in hidden.logits.iter().zip(&hidden.weights) {
            let logits = &logits[row * tokens..][..tokens];
            let weights = &weights[row * featurizer.choice_width()..][..featurizer.choice_width()];
            let score = |(i, choice): (usize, &Choice)| {
                let numbers = numbers.get(i * columns.len()..(i + 1) * columns.len()).unwrap_or_default();
                let weighed: f32 = columns.iter().zip(numbers).map(|(c, x)| weights[*c as usize] * x).sum();
                (logits[featurizer.token(at, *choice) as usize] + weighed) as f64
            };
            let scores: Vec<f64> = choices.iter().enumerate().map(score).collect();
            mean.iter_mut().zip(softmax(&scores, 1.0)).for_each(|(mean, p)| *mean += p);
        }
        mean.iter().map(|p| ln((p / self.0.len() as f64).max(f64::MIN_POSITIVE))).collect()
    }

    /// Whether the networks have a re-ranker for finished configs.
    pub fn reranks(&self) -> bool {
        self.0.iter().all(Transformer::reranks)
    }

    /// Re-ranks configs of one of the caches' problems.
    pub fn scorer<'a>(
        &'a self,
        featurizer: &'a Featurizer,
        instance: &'a Instance,
        caches: &'a KvCaches,
        problem: usize,
    ) -> BatchScorer<'a> {
        let rerankers =
            std::iter::zip(&self.0, &caches.members).filter_map(|(member, session)| member.reranker(session, problem));
        BatchScorer::new(featurizer, instance, rerankers)
    }

    /// The time of each row at "finished" on average, of networks without a re-ranker.
    pub fn times(&self, hidden: &Hidden) -> Vec<f32> {
        let mut mean: Vec<f32> = Vec::new();
        for (member, states) in self.0.iter().zip(&hidden.states) {
            let times = member.time(states);
            mean.resize(times.len(), 0.0);
            mean.iter_mut().zip(times).for_each(|(mean, time)| *mean += time / self.0.len() as f32);
        }
        mean
    }
}
