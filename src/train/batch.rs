//! Sequences of several problems of one kernel as tensors.

use crate::network::layers::Paths;
use crate::network::transformer::{Finished, Scores, Steps, Transformer};
use crate::prefix_tree::PrefixTree;
use seqtune_predict::featurizer::Featurizer;
use seqtune_predict::kernel::Choice;
use seqtune_predict::sequence::Sequence;
use tch::{Kind, Tensor};

/// Sequences of B problems, R rows per problem, N = B R, T steps each. What two rows of a problem begin with is decoded once: the steps of
/// a problem's rows make a tree of M nodes (short ones padded), each of which sees those it follows. The tokens that may be chosen are
/// counted within the kernel: V of them, parameter after parameter.
pub struct Batch {
    kernel: usize,
    sizes: Sizes,
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
    /// By row, the node at "finished" (N), without a re-ranker.
    last: Option<Tensor>,
    finished: Finished,
}

/// A batch's sizes, by the letters of [`Batch`].
#[derive(Clone, Copy)]
pub struct Sizes {
    /// B.
    pub problems: usize,
    /// R.
    pub rows: usize,
    /// M: those of the largest tree.
    pub nodes: usize,
    /// T: those of the longest row.
    pub steps: usize,
    /// Nodes of the longest row: its steps, and "finished" where that is asked for.
    pub path: usize,
    /// V.
    pub tokens: usize,
    /// Numbers of a step.
    pub width: usize,
    /// C: legal choices of a step, at most.
    pub choices: usize,
    /// W: numbers that a choice decides, at most.
    pub columns: usize,
}

impl Sizes {
    fn new(featurizer: &Featurizer, rows: usize, sequences: &[&Sequence], trees: &[PrefixTree]) -> Sizes {
        let parameters = &featurizer.kernel.parameters;
        Sizes {
            problems: trees.len(),
            rows,
            nodes: trees.iter().map(|tree| tree.nodes.len()).max().unwrap_or(1).max(1),
            steps: sequences.iter().map(|s| s.legal.len()).max().unwrap_or(1).max(1),
            path: trees.iter().flat_map(|tree| &tree.paths).map(Vec::len).max().unwrap_or(1).max(1),
            tokens: parameters.iter().map(|p| p.values.len()).sum(),
            width: featurizer.step_width(),
            choices: sequences.iter().flat_map(|s| &s.legal).map(|l| l.len()).max().unwrap_or(1),
            columns: (0..parameters.len()).map(|at| featurizer.choice_columns(at).len()).max().unwrap_or(0),
        }
    }
}

/// A batch's arrays while they are filled, row-major, in the shapes of [`Batch`].
struct Arrays<'a> {
    featurizer: &'a Featurizer,
    sizes: Sizes,
    /// By parameter, its first token within the kernel's.
    offsets: Vec<usize>,
    tokens: Vec<i64>,
    positions: Vec<i64>,
    features: Vec<f32>,
    /// By row and step, its node, "finished" included; by node, a row and step where it stands.
    paths: Vec<i64>,
    homes: Vec<i64>,
    illegal: Vec<bool>,
    /// Encodings of legal choices, their columns, their tokens.
    encodings: Vec<f32>,
    encoded_columns: Vec<i64>,
    encoded_tokens: Vec<i64>,
    nodes: Vec<i64>,
    targets: Vec<i64>,
    asked: Vec<f32>,
    last: Vec<i64>,
}

impl<'a> Arrays<'a> {
    fn new(featurizer: &'a Featurizer, sizes: Sizes) -> Arrays<'a> {
        let Sizes { problems, rows, nodes, steps, path, tokens, width, choices, columns } = sizes;
        let (all_nodes, all_steps) = (problems * nodes, problems * rows * steps);
        let parameters = &featurizer.kernel.parameters;
        let offset = |next: &mut usize, values: usize| Some(std::mem::replace(next, *next + values));
        Arrays {
            featurizer,
            sizes,
            offsets: parameters.iter().map(|p| p.values.len()).scan(0, offset).collect(),
            tokens: vec![featurizer.vocab.tokens() as i64; all_nodes],
            positions: vec![featurizer.parameter(parameters.len()) as i64; all_nodes],
            features: vec![0.0; all_nodes * width],
            paths: vec![0; problems * rows * path],
            homes: vec![0; all_nodes],
            illegal: vec![false; all_nodes * tokens],
            encodings: vec![0.0; all_nodes * choices * columns],
            encoded_columns: vec![0; all_nodes * columns],
            encoded_tokens: vec![0; all_nodes * choices],
            nodes: vec![0; all_steps],
            targets: vec![0; all_steps],
            asked: vec![0.0; all_steps],
            last: Vec::new(),
        }
    }

    /// Fills in what stands for one problem: its nodes, and the way of each of its sequences through them.
    fn fill(&mut self, problem: usize, tree: &PrefixTree, sequences: &[&Sequence]) {
        let Sizes { nodes: m, rows, path, .. } = self.sizes;
        for (at, node) in tree.nodes.iter().enumerate() {
            self.homes[problem * m + at] = ((problem * rows + node.row) * path + node.at) as i64;
            self.fill_node(problem * m + at, sequences[node.row], node.at);
        }
        for (row, (path, sequence)) in tree.paths.iter().zip(sequences).enumerate() {
            self.fill_path(problem, row, path, sequence);
        }
    }

    /// Fills in the step `at` of a sequence as the node `here`.
    fn fill_node(&mut self, here: usize, sequence: &Sequence, at: usize) {
        let Sizes { tokens, width, .. } = self.sizes;
        self.features[here * width..][..width].copy_from_slice(&sequence.features[at * width..][..width]);
        let position = sequence.asked[at] as usize;
        self.tokens[here] = self.featurizer.last_token(&sequence.config.0[..position]) as i64;
        self.positions[here] = self.featurizer.parameter(position) as i64;
        if at < sequence.legal.len() {
            self.illegal[here * tokens..][..tokens].fill(true);
            self.fill_choices(here, sequence, at, position);
        }
    }

    /// Fills in the legal choices of the step `at`, which decides the parameter at `position`.
    fn fill_choices(&mut self, here: usize, sequence: &Sequence, at: usize, position: usize) {
        let (featurizer, Sizes { tokens, choices, columns, .. }) = (self.featurizer, self.sizes);
        let (own, decides) = (featurizer.choice_columns(position), featurizer.decides(position));
        for (k, c) in own.iter().enumerate() {
            self.encoded_columns[here * columns + k] = *c as i64;
        }
        let before = sequence.asked.iter().zip(&sequence.legal).take(at);
        let skipped: usize = before.map(|(p, legal)| featurizer.decides(*p as usize) * legal.len()).sum();
        let mut weighed = &sequence.weighed[skipped..];
        let mut numbers = Vec::new();
        for (k, choice) in sequence.legal[at].iter().enumerate() {
            let token = self.offsets[position] + choice as usize;
            self.illegal[here * tokens + token] = false;
            self.encoded_tokens[here * choices + k] = token as i64;
            let (raw, rest) = weighed.split_at(decides);
            numbers.clear();
            featurizer.encode_choice(position, raw, &mut numbers);
            self.encodings[(here * choices + k) * columns..][..own.len()].copy_from_slice(&numbers);
            weighed = rest;
        }
    }

    /// Fills in the node and the chosen token of each step of a sequence.
    fn fill_path(&mut self, problem: usize, row: usize, path: &[usize], sequence: &Sequence) {
        let Sizes { rows, nodes, steps, path: longest, .. } = self.sizes;
        for (at, node) in path.iter().enumerate() {
            self.paths[(problem * rows + row) * longest + at] = (problem * nodes + node) as i64;
        }
        for (at, node) in path.iter().enumerate().take(sequence.legal.len()) {
            let (step, position) = ((problem * rows + row) * steps + at, sequence.asked[at] as usize);
            self.nodes[step] = (problem * nodes + node) as i64;
            self.targets[step] = self.offsets[position] as i64 + sequence.config.0[position] as i64;
            self.asked[step] = 1.0;
        }
        self.last.extend(path.last().map(|node| (problem * nodes + node) as i64));
    }
}

/// Whether each of `steps` steps is before each.
fn later(steps: usize) -> Vec<bool> {
    (0..steps).flat_map(|at| (0..steps).map(move |other| other > at)).collect()
}

fn shaped<T: tch::kind::Element>(values: &[T], shape: &[usize]) -> Tensor {
    let shape: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
    Tensor::from_slice(values).reshape(shape)
}

impl Batch {
    /// `rows`: sequences per problem, the same number for each. Either all sequences carry the features of finished configs, or none does.
    pub fn new(featurizer: &Featurizer, problems: &[&[f32]], rows: usize, sequences: &[&Sequence]) -> Batch {
        debug_assert_eq!(sequences.len(), problems.len() * rows);
        // the re-ranker has no use for the step at "finished"
        let reranked = sequences.iter().all(|s| !s.finished.is_empty());
        let steps = |s: &Sequence| s.asked.len() - reranked as usize;
        let trees: Vec<_> = sequences.chunks(rows).map(|of_problem| PrefixTree::new(of_problem, steps)).collect();
        let sizes = Sizes::new(featurizer, rows, sequences, &trees);
        let mut arrays = Arrays::new(featurizer, sizes);
        for (problem, (tree, of_problem)) in trees.iter().zip(sequences.chunks(rows)).enumerate() {
            arrays.fill(problem, tree, of_problem);
        }
        let mut source = Vec::new();
        problems.iter().for_each(|quantities| featurizer.vocab.encode(quantities, &mut source));
        let Sizes { problems: b, nodes: m, steps: t, path, tokens: v, width, choices, columns, .. } = sizes;
        let n = b * rows;
        Batch {
            kernel: featurizer.of,
            sizes,
            source: shaped(&source, &[b, source.len() / b]),
            steps: Steps {
                tokens: shaped(&arrays.tokens, &[b, m]),
                positions: shaped(&arrays.positions, &[b, m]),
                features: shaped(&arrays.features, &[b, m, width]),
                paths: Paths {
                    nodes: shaped(&arrays.paths, &[n, path]),
                    later: shaped(&later(path), &[path, path]),
                    homes: shaped(&arrays.homes, &[b * m]),
                },
            },
            vocabulary: vocabulary(featurizer),
            illegal: shaped(&arrays.illegal, &[b, m, v]),
            weighed: (columns > 0).then(|| {
                (
                    shaped(&arrays.encodings, &[b, m, choices, columns]),
                    shaped(&arrays.encoded_columns, &[b, m, columns]),
                    shaped(&arrays.encoded_tokens, &[b, m, choices]),
                )
            }),
            nodes: shaped(&arrays.nodes, &[n, t]),
            targets: shaped(&arrays.targets, &[n, t]),
            asked: shaped(&arrays.asked, &[n, t]),
            last: (!reranked).then(|| Tensor::from_slice(&arrays.last)),
            finished: finished(featurizer, sequences),
        }
    }

    /// How large it is.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Log-probabilities of all tokens of the kernel at each node, among the legal ones (B, M, V), and the scores of each finished
    /// sequence.
    pub fn forward(&self, net: &Transformer) -> (Tensor, Scores) {
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
        (log, net.score(&memory, &self.finished, self.last.as_ref().map(at_end).as_ref(), self.kernel))
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

/// Tokens of a kernel's values within the vocabulary, parameter after parameter: (V).
fn vocabulary(featurizer: &Featurizer) -> Tensor {
    let parameters = featurizer.kernel.parameters.iter().enumerate();
    let tokens: Vec<i64> = parameters
        .flat_map(|(at, p)| (0..p.values.len()).map(move |c| featurizer.token(at, c as Choice) as i64))
        .collect();
    Tensor::from_slice(&tokens)
}

/// The sequences' whole configs.
fn finished(featurizer: &Featurizer, sequences: &[&Sequence]) -> Finished {
    let (mut features, mut tokens) = (Vec::new(), Vec::new());
    for sequence in sequences {
        features.extend_from_slice(&sequence.finished);
        tokens.extend(sequence.config.0.iter().enumerate().map(|(at, c)| featurizer.token(at, *c) as i64));
    }
    let n = sequences.len();
    Finished { instance: shaped(&features, &[n, features.len() / n]), tokens: shaped(&tokens, &[n, tokens.len() / n]) }
}
