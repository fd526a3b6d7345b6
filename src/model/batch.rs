//! Sequences of several problems of one kernel as tensors.

use super::examples::Sequence;
use super::net::{Finished, Judged, Net, Steps};
use super::vocab::Speller;
use tch::{Kind, Tensor};

/// Sequences of B problems, R rows per problem (short ones padded), T steps each, N = B R. The tokens that may be chosen are
/// counted within the kernel: V of them, parameter after parameter.
pub struct Batch {
    kernel: usize,
    /// (B, numbers)
    source: Tensor,
    /// (N, T)
    steps: Steps,
    /// Vocabulary's tokens of the kernel: (V).
    vocabulary: Tensor,
    /// Legal tokens, true where not: (N, T - 1, V).
    illegal: Tensor,
    /// What each legal choice decides: spelling (N, T - 1, C, W), its columns (N, T - 1, W), its token (N, T - 1, C). `None` where
    /// no choice decides anything.
    weighed: Option<(Tensor, Tensor, Tensor)>,
    /// Chosen tokens, 0 in the padding: (N, T - 1, 1).
    targets: Tensor,
    /// 1 where a choice was asked for: (N, T - 1).
    asked: Tensor,
    /// Step of each sequence's "finished": (N).
    last: Tensor,
    finished: Finished,
}

impl Batch {
    /// `rows`: sequences per problem, the same number for each.
    pub fn new(speller: &Speller, problems: &[&[f32]], rows: usize, sequences: &[&Sequence]) -> Batch {
        let kernel = speller.kernel;
        let mut offsets = vec![0];
        let mut vocabulary = Vec::new();
        for (at, p) in kernel.parameters.iter().enumerate() {
            vocabulary.extend((0..p.values.len()).map(|c| speller.token(at, c as u16) as i64));
            offsets.push(vocabulary.len());
        }
        let (n, v, width) = (sequences.len(), vocabulary.len(), speller.step_width());
        let t = sequences.iter().map(|s| s.asked.len()).max().unwrap_or(1).max(2);
        let mut tokens = vec![speller.vocab.tokens() as i64; n * t];
        let mut positions = vec![speller.parameter(kernel.parameters.len()) as i64; n * t];
        let mut features = vec![0f32; n * t * width];
        let mut illegal = vec![false; n * (t - 1) * v];
        let mut targets = vec![0i64; n * (t - 1)];
        let mut asked = vec![0f32; n * (t - 1)];
        let mut last = vec![0i64; n];
        let choices = sequences.iter().flat_map(|s| &s.legal).map(|l| l.len()).max().unwrap_or(1);
        let columns = (0..kernel.parameters.len()).map(|at| speller.choice_columns(at).len()).max().unwrap_or(0);
        let mut spelled = vec![0f32; n * (t - 1) * choices * columns];
        let mut column = vec![0i64; n * (t - 1) * columns];
        let mut token = vec![0i64; n * (t - 1) * choices];
        let mut numbers = Vec::new();
        let (mut ends, mut configs) = (Vec::new(), Vec::new());
        for sequence in sequences {
            ends.extend_from_slice(&sequence.finished);
            let tokens = sequence.config.0.iter().enumerate().map(|(at, c)| speller.token(at, *c) as i64);
            configs.extend(tokens);
        }
        for (row, sequence) in sequences.iter().enumerate() {
            let length = sequence.asked.len();
            features[row * t * width..][..length * width].copy_from_slice(&sequence.features);
            last[row] = (row * t + length - 1) as i64;
            let mut weighed = &sequence.weighed[..];
            for (at, position) in sequence.asked.iter().enumerate() {
                let position = *position as usize;
                tokens[row * t + at] = speller.last_token(&sequence.config.0[..position]) as i64;
                positions[row * t + at] = speller.parameter(position) as i64;
                let Some(legal) = sequence.legal.get(at) else { break };
                let step = row * (t - 1) + at;
                targets[step] = offsets[position] as i64 + sequence.config.0[position] as i64;
                asked[step] = 1.0;
                illegal[step * v..][..v].fill(true);
                let (here, decides) = (speller.choice_columns(position), speller.decides(position));
                for (k, c) in here.iter().enumerate() {
                    column[step * columns + k] = *c as i64;
                }
                for (k, choice) in legal.iter().enumerate() {
                    illegal[step * v + offsets[position] + choice as usize] = false;
                    token[step * choices + k] = (offsets[position] + choice as usize) as i64;
                    let (raw, rest) = weighed.split_at(decides);
                    numbers.clear();
                    speller.spell_choice(position, raw, &mut numbers);
                    spelled[(step * choices + k) * columns..][..here.len()].copy_from_slice(&numbers);
                    weighed = rest;
                }
            }
        }
        debug_assert_eq!(n, problems.len() * rows);
        let mut source = Vec::new();
        problems.iter().for_each(|quantities| speller.vocab.spell(quantities, &mut source));
        let (n, t, v, b) = (n as i64, t as i64, v as i64, problems.len() as i64);
        let (choices, columns) = (choices as i64, columns as i64);
        let box_of = |values: &[f32], shape: &[i64]| Tensor::from_slice(values).reshape(shape);
        let whole = |values: &[i64], shape: &[i64]| Tensor::from_slice(values).reshape(shape);
        Batch {
            kernel: speller.of,
            source: box_of(&source, &[b, -1]),
            steps: Steps {
                tokens: whole(&tokens, &[n, t]),
                positions: whole(&positions, &[n, t]),
                features: box_of(&features, &[n, t, width as i64]),
            },
            vocabulary: Tensor::from_slice(&vocabulary),
            illegal: Tensor::from_slice(&illegal).reshape([n, t - 1, v]).to_kind(Kind::Bool),
            weighed: (columns > 0).then(|| {
                (
                    box_of(&spelled, &[n, t - 1, choices, columns]),
                    whole(&column, &[n, t - 1, columns]),
                    whole(&token, &[n, t - 1, choices]),
                )
            }),
            targets: whole(&targets, &[n, t - 1, 1]),
            asked: box_of(&asked, &[n, t - 1]),
            last: Tensor::from_slice(&last),
            finished: Finished { spelled: box_of(&ends, &[n, ends.len() as i64 / n]), tokens: whole(&configs, &[n, -1]) },
        }
    }

    /// Log-probabilities of all tokens of the kernel at each step, among the legal ones (N, T - 1, V), and what is said of each finished
    /// sequence.
    pub fn forward(&self, net: &Net) -> (Tensor, Judged) {
        let memory = net.encode(&self.source, self.kernel);
        let hidden = net.decode(&memory, &self.steps, self.kernel); // (N, T, D)
        let t = hidden.size()[1];
        let steps = hidden.narrow(1, 0, t - 1);
        let mut scores = net.logits(&steps, &self.vocabulary).to_kind(Kind::Float);
        if let Some((spelled, columns, tokens)) = &self.weighed {
            let query = net.weigh(&steps, self.kernel).to_kind(Kind::Float).gather(2, columns, false); // (N, T - 1, W)
            // not as a product of matrices: of thousands of tiny ones each costs a call
            let weights = (spelled * query.unsqueeze(2)).sum_dim_intlist(-1, false, Kind::Float); // (N, T - 1, C)
            scores = scores.scatter_add(2, tokens, &weights);
        }
        let log = scores.masked_fill(&self.illegal, -1e9).log_softmax(-1, Kind::Float);
        let at_end = hidden.reshape([-1, hidden.size()[2]]).index_select(0, &self.last);
        (log, net.judge(&memory, &self.finished, &at_end.to_kind(Kind::Float), self.kernel))
    }

    /// Log-probability of each chosen token, 0 in the padding: (N, T - 1).
    pub fn chosen(&self, log: &Tensor) -> Tensor {
        log.gather(2, &self.targets, false).squeeze_dim(2) * &self.asked
    }

    /// Mean log-probability of the legal tokens at each step, 0 in the padding: (N, T - 1). What label smoothing adds.
    pub fn mean_of_legal(&self, log: &Tensor) -> Tensor {
        let legal = self.illegal.logical_not().to_kind(Kind::Float);
        let count = legal.sum_dim_intlist(-1, false, Kind::Float);
        log.masked_fill(&self.illegal, 0.0).sum_dim_intlist(-1, false, Kind::Float) / count * &self.asked
    }

    /// 1 where every asked token is the most probable one: (N).
    pub fn greedy_exact(&self, log: &Tensor) -> Tensor {
        let right = log.argmax(2, true).eq_tensor(&self.targets).squeeze_dim(2).to_kind(Kind::Float);
        let wrong = (right.ones_like() - right) * &self.asked;
        wrong.sum_dim_intlist(1, false, Kind::Float).eq(0.0).to_kind(Kind::Float)
    }
}
