//! Measured configs as the sequences that the network is trained on and scored by.

use super::net::Steps;
use super::teacher::{Teacher, between};
use super::vocab::{Spelled, Vocab, WIDTH};
use crate::dataset::{Objective, Table, Tried};
use crate::error::{Result, input};
use crate::kernel::{Config, Kernel};
use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

/// A config as decoding steps: one per parameter that has more than one legal value, then "finished".
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    pub tokens: Vec<i64>,
    pub positions: Vec<i64>,
    pub features: Vec<f32>,
    /// Legal values at each asked step, as bits; one fewer than steps.
    pub legal: Vec<u64>,
    /// Chosen token at each asked step.
    pub targets: Vec<i64>,
}

impl Sequence {
    /// Spells `config`, which must be legal.
    pub fn new(vocab: &Vocab, kernel: &Kernel, spelled: &Spelled, config: &Config) -> Result<Sequence> {
        let mut sequence = Sequence::default();
        for (at, choice) in config.0.iter().enumerate() {
            let prefix = &config.0[..at];
            let legal = spelled.space.completions(prefix)?;
            if legal >> choice & 1 == 0 {
                let reason = spelled.space.violation(config).unwrap_or_default();
                return input(format!("config {} is not legal: {reason}", kernel.show_config(config)));
            }
            if legal.count_ones() > 1 {
                sequence.push(vocab, kernel, spelled, prefix);
                sequence.legal.push(legal);
                sequence.targets.push(vocab.token(at, *choice) as i64);
            }
        }
        sequence.push(vocab, kernel, spelled, &config.0);
        Ok(sequence)
    }

    fn push(&mut self, vocab: &Vocab, kernel: &Kernel, spelled: &Spelled, prefix: &[u8]) {
        self.tokens.push(last_token(vocab, prefix));
        self.positions.push(prefix.len() as i64);
        vocab.step(kernel, spelled, prefix, &mut self.features);
    }
}

/// The token before the next step: that of the last parameter set, or "begin".
pub fn last_token(vocab: &Vocab, prefix: &[u8]) -> i64 {
    match prefix {
        [] => vocab.tokens() as i64,
        [.., choice] => vocab.token(prefix.len() - 1, *choice) as i64,
    }
}

/// All that was measured for one problem and one objective.
pub struct Example {
    /// `source_length * WIDTH` numbers.
    pub source: Vec<f32>,
    pub sequences: Vec<Sequence>,
    /// Target distribution over the sequences; sums to 1.
    pub target: Vec<f32>,
    /// What the time head should say of each; NaN where it is not known.
    pub time: Vec<f32>,
    /// Cost relative to the best, 1 for the best.
    pub cost: Vec<f64>,
    /// Labelled by the teacher instead of measured.
    pub imagined: bool,
}

/// One example per problem of `indices` and objective that was measured. With `tau`, the target is
/// p ~ exp(-(cost / best - 1) / tau); without, all of it is on the best config.
pub fn examples(
    kernel: &Kernel,
    vocab: &Vocab,
    table: &Table,
    indices: &[usize],
    objectives: &[Objective],
    tau: Option<f64>,
) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for tried in indices.iter().map(|i| &table.tried[*i]) {
        let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
        for objective in objectives {
            let costs = tried.costs(*objective);
            let Some((_, best)) = costs.first().copied() else { continue };
            let cost: Vec<f64> = costs.iter().map(|(_, cost)| cost / best).collect();
            let time = |config: &Config| {
                let outcome = tried.results.iter().find(|(c, _)| c == config).and_then(|(_, o)| o.time_us());
                vocab.spell_time(&spelled, outcome.unwrap_or(f64::NAN))
            };
            examples.push(Example {
                source: vocab.source(kernel, &spelled, *objective),
                sequences: costs
                    .iter()
                    .map(|(config, _)| Sequence::new(vocab, kernel, &spelled, config))
                    .collect::<Result<_>>()?,
                target: distribution(&cost, tau),
                time: costs.iter().map(|(config, _)| time(config)).collect(),
                cost,
                imagined: false,
            });
        }
    }
    Ok(examples)
}

/// What examples of unmeasured problems are made from.
pub struct Imagine<'a> {
    pub kernel: &'a Kernel,
    pub vocab: &'a Vocab,
    pub table: &'a Table,
    /// Measured problems that new ones are drawn between.
    pub indices: &'a [usize],
    pub objective: Objective,
    pub teacher: &'a Teacher<'a>,
    /// Configs that the teacher is asked about, see [`contenders`].
    pub contenders: &'a [&'a Config],
}

impl Imagine<'_> {
    /// Examples of `count` problems: the teacher says what each contender would cost, and the best `keep` make up the target
    /// as in [`examples`]. They say nothing of the time.
    pub fn examples(&self, count: usize, keep: usize, tau: Option<f64>, rng: &mut ChaCha8Rng) -> Result<Vec<Example>> {
        let tried: Vec<&Tried> = self.indices.iter().map(|i| &self.table.tried[*i]).collect();
        let mut examples = Vec::with_capacity(count);
        for _ in 0..count {
            let (problem, device) = between(self.kernel, &tried, rng);
            let spelled = Spelled::new(self.kernel, &problem, &self.table.devices[device]);
            let legal: Vec<&Config> = self.contenders.iter().copied().filter(|c| spelled.space.is_legal(c)).collect();
            if legal.len() < 2 {
                continue;
            }
            let mut ranked = self.teacher.rank(&problem, &spelled, &legal);
            ranked.truncate(keep);
            let cost: Vec<f64> = ranked.iter().map(|(_, log)| (log - ranked[0].1).exp()).collect();
            examples.push(Example {
                source: self.vocab.source(self.kernel, &spelled, self.objective),
                sequences: ranked
                    .iter()
                    .map(|(config, _)| Sequence::new(self.vocab, self.kernel, &spelled, config))
                    .collect::<Result<_>>()?,
                target: distribution(&cost, tau),
                time: vec![f32::NAN; ranked.len()],
                cost,
                imagined: true,
            });
        }
        Ok(examples)
    }
}

/// Configs that somewhere came within twice the best cost: others need not be asked about.
pub fn contenders<'t>(table: &'t Table, indices: &[usize], objective: Objective) -> Vec<&'t Config> {
    let mut known = Vec::new();
    for tried in indices.iter().map(|i| &table.tried[*i]) {
        let costs = tried.costs(objective);
        known.extend(costs.iter().take_while(|(_, cost)| *cost <= 2.0 * costs[0].1).map(|(c, _)| *c));
    }
    known.sort();
    known.dedup();
    known
}

/// The target over configs of these costs relative to the best, which come best first: p ~ exp(-(cost - 1) / tau), or,
/// without tau, all on the best.
fn distribution(cost: &[f64], tau: Option<f64>) -> Vec<f32> {
    let weight = |(i, cost): (usize, &f64)| match tau {
        Some(tau) => (-(cost - 1.0) / tau).exp(),
        None => (i == 0) as u8 as f64,
    };
    let weights: Vec<f64> = cost.iter().enumerate().map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| (w / total) as f32).collect()
}

/// Sequences of several problems as tensors, R per problem (short ones padded), T steps each.
pub struct Batch {
    /// (B, S, W)
    pub source: Tensor,
    /// (B R, T)
    pub steps: Steps,
    /// Legal tokens, true where not: (B R, T - 1, V).
    pub illegal: Tensor,
    /// Chosen tokens, 0 in the padding: (B R, T - 1, 1).
    pub targets: Tensor,
    /// 1 where a choice was asked for: (B R, T - 1).
    pub asked: Tensor,
    /// Step of each sequence's "finished": (B R).
    pub last: Tensor,
}

impl Batch {
    /// `rows`: sequences per problem, the same number for each.
    pub fn new(vocab: &Vocab, step_width: usize, sources: &[&[f32]], rows: usize, sequences: &[&Sequence]) -> Batch {
        let (n, v) = (sequences.len(), vocab.tokens());
        let t = sequences.iter().map(|s| s.tokens.len()).max().unwrap_or(1).max(2);
        let mut tokens = vec![v as i64; n * t];
        let mut positions = vec![vocab.positions() as i64; n * t];
        let mut features = vec![0f32; n * t * step_width];
        let mut illegal = vec![false; n * (t - 1) * v];
        let mut targets = vec![0i64; n * (t - 1)];
        let mut asked = vec![0f32; n * (t - 1)];
        let mut last = vec![0i64; n];
        for (row, sequence) in sequences.iter().enumerate() {
            let length = sequence.tokens.len();
            tokens[row * t..][..length].copy_from_slice(&sequence.tokens);
            positions[row * t..][..length].copy_from_slice(&sequence.positions);
            features[row * t * step_width..][..length * step_width].copy_from_slice(&sequence.features);
            last[row] = (row * t + length - 1) as i64;
            for (at, (legal, target)) in sequence.legal.iter().zip(&sequence.targets).enumerate() {
                let step = row * (t - 1) + at;
                targets[step] = *target;
                asked[step] = 1.0;
                let position = sequence.positions[at] as usize;
                let first = vocab.offsets[position] as usize;
                let mask = &mut illegal[step * v..][..v];
                mask.fill(true);
                for (i, illegal) in mask[first..vocab.offsets[position + 1] as usize].iter_mut().enumerate() {
                    *illegal = legal >> i & 1 == 0;
                }
            }
        }
        debug_assert_eq!(n, sources.len() * rows);
        let (n, t, b) = (n as i64, t as i64, sources.len() as i64);
        Batch {
            source: Tensor::from_slice(&sources.concat()).reshape([b, -1, WIDTH as i64]),
            steps: Steps {
                tokens: Tensor::from_slice(&tokens).reshape([n, t]),
                positions: Tensor::from_slice(&positions).reshape([n, t]),
                features: Tensor::from_slice(&features).reshape([n, t, step_width as i64]),
            },
            illegal: Tensor::from_slice(&illegal).reshape([n, t - 1, v as i64]).to_kind(Kind::Bool),
            targets: Tensor::from_slice(&targets).reshape([n, t - 1, 1]),
            asked: Tensor::from_slice(&asked).reshape([n, t - 1]),
            last: Tensor::from_slice(&last),
        }
    }

    /// Log-probability of each sequence among legal ones (B R), and what the time head says of it (B R).
    pub fn forward(&self, net: &super::net::Net) -> (Tensor, Tensor) {
        let hidden = net.decode(&net.encode(&self.source), &self.steps); // (N, T, D)
        let t = hidden.size()[1];
        let scores = net.logits(&hidden.narrow(1, 0, t - 1)).masked_fill(&self.illegal, -1e9);
        let log = scores.log_softmax(-1, Kind::Float).gather(2, &self.targets, false).squeeze_dim(2); // (N, T - 1)
        let log = (log * &self.asked).sum_dim_intlist(1, false, Kind::Float);
        let at_end = hidden.reshape([-1, hidden.size()[2]]).index_select(0, &self.last);
        (log, net.head(&at_end))
    }
}
