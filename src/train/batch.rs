//! Sequences of several problems of one kernel as tensors.

use crate::network::transformer::{Finished, Judged, Steps, Transformer};
use seqtune_predict::featurizer::Featurizer;
use seqtune_predict::kernel::Choice;
use seqtune_predict::sequence::Sequence;
use std::collections::HashMap;
use tch::{Kind, Tensor};

/// Sequences of B problems, R rows per problem, N = B R, T steps each. What two rows of a problem begin with is decoded once: the steps of
/// a problem's rows make a tree of M nodes (short ones padded), each of which sees those it follows. The tokens that may be chosen are
/// counted within the kernel: V of them, parameter after parameter.
pub struct Batch {
    kernel: usize,
    /// (B, numbers)
    source: Tensor,
    /// (B, M)
    steps: Steps,
    /// Vocabulary's tokens of the kernel: (V).
    vocabulary: Tensor,
    /// Legal tokens, true where not: (B, M, V).
    illegal: Tensor,
    /// What each legal choice decides: encoding (B, M, C, W), its columns (B, M, W), its token (B, M, C). `None` where no choice
    /// decides anything.
    weighed: Option<(Tensor, Tensor, Tensor)>,
    /// The node of each step of each row, counted through the batch, and the token chosen there, 0 in the padding: (N, T).
    nodes: Tensor,
    targets: Tensor,
    /// 1 where a choice was asked for: (N, T).
    asked: Tensor,
    /// By row, the node at "finished" (N), where nobody judges.
    last: Option<Tensor>,
    finished: Finished,
}

/// A step that rows of one problem share.
struct Node {
    /// That it follows; itself for the first.
    parent: usize,
    /// A row that takes it, and which of its steps it is.
    row: usize,
    at: usize,
}

/// The tree that the first `steps` of each sequence of one problem make, and the node of each step by row.
fn tree(sequences: &[&Sequence], steps: impl Fn(&Sequence) -> usize) -> (Vec<Node>, Vec<Vec<usize>>) {
    let mut known: HashMap<&[Choice], usize> = HashMap::new();
    let (mut nodes, mut paths) = (Vec::new(), Vec::new());
    for (row, sequence) in sequences.iter().enumerate() {
        let mut path: Vec<usize> = Vec::new();
        for (at, position) in sequence.asked.iter().enumerate().take(steps(sequence)) {
            let node = *known.entry(&sequence.config.0[..*position as usize]).or_insert_with(|| {
                nodes.push(Node { parent: path.last().copied().unwrap_or(nodes.len()), row, at });
                nodes.len() - 1
            });
            path.push(node);
        }
        paths.push(path);
    }
    (nodes, paths)
}

impl Batch {
    /// `rows`: sequences per problem, the same number for each. Sequences are to be judged, or none is.
    pub fn new(featurizer: &Featurizer, problems: &[&[f32]], rows: usize, sequences: &[&Sequence]) -> Batch {
        let kernel = &featurizer.kernel;
        let mut offsets = vec![0];
        let mut vocabulary = Vec::new();
        for (at, p) in kernel.parameters.iter().enumerate() {
            vocabulary.extend((0..p.values.len()).map(|c| featurizer.token(at, c as u16) as i64));
            offsets.push(vocabulary.len());
        }
        debug_assert_eq!(sequences.len(), problems.len() * rows);
        // the re-ranker has no use for the step at "finished"
        let judged = sequences.iter().all(|s| !s.finished.is_empty());
        let steps = |s: &Sequence| s.asked.len() - judged as usize;
        let trees: Vec<_> = sequences.chunks(rows).map(|of_problem| tree(of_problem, steps)).collect();
        let (b, n, v, width) = (problems.len(), sequences.len(), vocabulary.len(), featurizer.step_width());
        let m = trees.iter().map(|(nodes, _)| nodes.len()).max().unwrap_or(1).max(1);
        let t = sequences.iter().map(|s| s.legal.len()).max().unwrap_or(1).max(1);
        let choices = sequences.iter().flat_map(|s| &s.legal).map(|l| l.len()).max().unwrap_or(1);
        let columns = (0..kernel.parameters.len()).map(|at| featurizer.choice_columns(at).len()).max().unwrap_or(0);
        let mut tokens = vec![featurizer.vocab.tokens() as i64; b * m];
        let mut positions = vec![featurizer.parameter(kernel.parameters.len()) as i64; b * m];
        let mut features = vec![0f32; b * m * width];
        let mut unseen = vec![true; b * m * m];
        let mut illegal = vec![false; b * m * v];
        let mut instance = vec![0f32; b * m * choices * columns];
        let mut column = vec![0i64; b * m * columns];
        let mut token = vec![0i64; b * m * choices];
        let (mut nodes, mut targets, mut asked) = (vec![0i64; n * t], vec![0i64; n * t], vec![0f32; n * t]);
        let mut last = Vec::new();
        let mut numbers = Vec::new();
        for (problem, (tree, paths)) in trees.iter().enumerate() {
            let first = problem * m;
            for at in 0..m {
                // padding sees itself
                unseen[(first + at) * m + at] = false;
            }
            for (at, node) in tree.iter().enumerate() {
                let here = first + at;
                let (before, own) = unseen.split_at_mut(here * m);
                if node.parent < at {
                    let parent = &before[(first + node.parent) * m..][..m];
                    own[..m].iter_mut().zip(parent).for_each(|(own, parent)| *own &= parent);
                }
                let sequence = sequences[problem * rows + node.row];
                features[here * width..][..width].copy_from_slice(&sequence.features[node.at * width..][..width]);
                let position = sequence.asked[node.at] as usize;
                tokens[here] = featurizer.last_token(&sequence.config.0[..position]) as i64;
                positions[here] = featurizer.parameter(position) as i64;
                let Some(legal) = sequence.legal.get(node.at) else { continue };
                illegal[here * v..][..v].fill(true);
                let (own, decides) = (featurizer.choice_columns(position), featurizer.decides(position));
                for (k, c) in own.iter().enumerate() {
                    column[here * columns + k] = *c as i64;
                }
                let before = sequence.asked.iter().zip(&sequence.legal).take(node.at);
                let skipped: usize = before.map(|(p, legal)| featurizer.decides(*p as usize) * legal.len()).sum();
                let mut weighed = &sequence.weighed[skipped..];
                for (k, choice) in legal.iter().enumerate() {
                    illegal[here * v + offsets[position] + choice as usize] = false;
                    token[here * choices + k] = (offsets[position] + choice as usize) as i64;
                    let (raw, rest) = weighed.split_at(decides);
                    numbers.clear();
                    featurizer.encode_choice(position, raw, &mut numbers);
                    instance[(here * choices + k) * columns..][..own.len()].copy_from_slice(&numbers);
                    weighed = rest;
                }
            }
            for (row, path) in paths.iter().enumerate() {
                let sequence = sequences[problem * rows + row];
                for (at, node) in path.iter().enumerate().take(sequence.legal.len()) {
                    let (step, position) = ((problem * rows + row) * t + at, sequence.asked[at] as usize);
                    nodes[step] = (first + node) as i64;
                    targets[step] = offsets[position] as i64 + sequence.config.0[position] as i64;
                    asked[step] = 1.0;
                }
                last.extend(path.last().map(|node| (first + node) as i64));
            }
        }
        let (mut source, mut ends, mut configs) = (Vec::new(), Vec::new(), Vec::new());
        problems.iter().for_each(|quantities| featurizer.vocab.encode(quantities, &mut source));
        for sequence in sequences {
            ends.extend_from_slice(&sequence.finished);
            configs.extend(sequence.config.0.iter().enumerate().map(|(at, c)| featurizer.token(at, *c) as i64));
        }
        let (b, n, m, t, v) = (b as i64, n as i64, m as i64, t as i64, v as i64);
        let (choices, columns) = (choices as i64, columns as i64);
        let box_of = |values: &[f32], shape: &[i64]| Tensor::from_slice(values).reshape(shape);
        let whole = |values: &[i64], shape: &[i64]| Tensor::from_slice(values).reshape(shape);
        let truth = |values: &[bool], shape: &[i64]| Tensor::from_slice(values).reshape(shape).to_kind(Kind::Bool);
        Batch {
            kernel: featurizer.of,
            source: box_of(&source, &[b, -1]),
            steps: Steps {
                tokens: whole(&tokens, &[b, m]),
                positions: whole(&positions, &[b, m]),
                features: box_of(&features, &[b, m, width as i64]),
                unseen: truth(&unseen, &[b, 1, m, m]),
            },
            vocabulary: Tensor::from_slice(&vocabulary),
            illegal: truth(&illegal, &[b, m, v]),
            weighed: (columns > 0).then(|| {
                (
                    box_of(&instance, &[b, m, choices, columns]),
                    whole(&column, &[b, m, columns]),
                    whole(&token, &[b, m, choices]),
                )
            }),
            nodes: whole(&nodes, &[n, t]),
            targets: whole(&targets, &[n, t]),
            asked: box_of(&asked, &[n, t]),
            last: (!judged).then(|| Tensor::from_slice(&last)),
            finished: Finished {
                instance: box_of(&ends, &[n, ends.len() as i64 / n]),
                tokens: whole(&configs, &[n, -1]),
            },
        }
    }

    /// Log-probabilities of all tokens of the kernel at each node, among the legal ones (B, M, V), and what is said of each finished
    /// sequence.
    pub fn forward(&self, net: &Transformer) -> (Tensor, Judged) {
        let memory = net.encode(&self.source, self.kernel);
        let hidden = net.decode(&memory, &self.steps, self.kernel); // (B, M, D)
        let mut scores = net.logits(&hidden, &self.vocabulary).to_kind(Kind::Float);
        if let Some((instance, columns, tokens)) = &self.weighed {
            let query = net.weigh(&hidden, self.kernel).to_kind(Kind::Float).gather(2, columns, false); // (B, M, W)
            // not as a product of matrices: of thousands of tiny ones each costs a call
            let weights = (instance * query.unsqueeze(2)).sum_dim_intlist(-1, false, Kind::Float); // (B, M, C)
            scores = scores.scatter_add(2, tokens, &weights);
        }
        let log = scores.masked_fill(&self.illegal, -1e9).log_softmax(-1, Kind::Float);
        let at_end = |last: &Tensor| hidden.flatten(0, 1).index_select(0, last).to_kind(Kind::Float);
        (log, net.judge(&memory, &self.finished, self.last.as_ref().map(at_end).as_ref(), self.kernel))
    }

    /// What `of_nodes` (B, M) says of the node of each step, 0 in the padding: (N, T).
    fn along(&self, of_nodes: &Tensor) -> Tensor {
        of_nodes.reshape([-1]).index_select(0, &self.nodes.reshape([-1])).view_as(&self.asked) * &self.asked
    }

    /// Log-probability of each chosen token, 0 in the padding: (N, T).
    pub fn chosen(&self, log: &Tensor) -> Tensor {
        let v = log.size()[2];
        let at = &self.nodes * v + &self.targets;
        log.reshape([-1]).index_select(0, &at.reshape([-1])).view_as(&self.asked) * &self.asked
    }

    /// Mean log-probability of the legal tokens at each step, 0 in the padding: (N, T). What label smoothing adds.
    pub fn mean_of_legal(&self, log: &Tensor) -> Tensor {
        let count = self.illegal.logical_not().to_kind(Kind::Float).sum_dim_intlist(-1, false, Kind::Float);
        self.along(&(log.masked_fill(&self.illegal, 0.0).sum_dim_intlist(-1, false, Kind::Float) / count))
    }

    /// 1 where every asked token is the most probable one: (N).
    pub fn greedy_exact(&self, log: &Tensor) -> Tensor {
        let likeliest = self.along(&log.argmax(2, false).to_kind(Kind::Float));
        let wrong = likeliest.ne_tensor(&(self.targets.to_kind(Kind::Float) * &self.asked)).to_kind(Kind::Float);
        wrong.sum_dim_intlist(1, false, Kind::Float).eq(0.0).to_kind(Kind::Float)
    }
}
