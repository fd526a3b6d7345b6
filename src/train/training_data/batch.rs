//! Sequences of several problems of one kernel as tensors.

use crate::network::decoder::DecoderPart;
use crate::network::decoder::choices::Choices;
use crate::network::tensors::numbers;
use crate::network::transformer::{Decoded, Finished, Scores, Steps, Transformer};
use crate::training_data::prefix_tree::PrefixTree;
use seqtune_kernel::Choice;
use seqtune_kernel::error::Result;
use seqtune_predict::features::{Featurizer, Sequence};
use tch::{Device, Kind, Tensor};

/// Sequences of B problems, R rows per problem, N = B R, T steps each. What two rows of a problem begin with is decoded once: the steps of
/// a problem's rows make a tree, whose nodes see those they follow; M are those of all trees. The tokens that may be chosen are
/// counted within the kernel: V of them, parameter after parameter.
pub struct Batch {
    kernel: usize,
    sizes: Sizes,
    /// (B, numbers)
    source: Tensor,
    /// (M)
    steps: Steps,
    /// The choice of each step of each row, counted among those of all nodes, 0 in the padding: (N, T).
    chosen: Tensor,
    /// 1 where a choice was asked for: (N, T).
    asked: Tensor,
    /// By row, the node at "finished" (N), without a re-ranker.
    last: Option<Tensor>,
    finished: Finished,
}

/// What a network says of a batch.
pub struct Forward<'a> {
    /// The decoder's pass with the log-probabilities of all choices, which is to be told when a loss of them has been differentiated.
    pub decoded: Decoded<'a>,
    /// Scores of each finished sequence.
    pub scores: Scores,
}

/// A batch's sizes, by the letters of [`Batch`].
#[derive(Clone, Copy)]
pub struct Sizes {
    /// B.
    pub problems: usize,
    /// R.
    pub rows: usize,
    /// M: those of all trees.
    pub nodes: usize,
    /// T: those of the longest row.
    pub steps: usize,
    /// Numbers of a step.
    pub width: usize,
}

impl Sizes {
    fn new(featurizer: &Featurizer, rows: usize, sequences: &[&Sequence], trees: &[PrefixTree]) -> Sizes {
        Sizes {
            problems: trees.len(),
            rows,
            nodes: trees.iter().map(|tree| tree.nodes.len()).sum(),
            steps: sequences.iter().map(|s| s.legal.len()).max().unwrap_or(1).max(1),
            width: featurizer.step_width(),
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
    choices: Choices,
    chosen: Vec<i64>,
    asked: Vec<f32>,
    last: Vec<i64>,
}

impl<'a> Arrays<'a> {
    fn new(featurizer: &'a Featurizer, sizes: Sizes) -> Arrays<'a> {
        let Sizes { problems, rows, nodes, steps, width } = sizes;
        let all_steps = problems * rows * steps;
        let parameters = &featurizer.kernel.parameters;
        let offset = |next: &mut usize, values: usize| Some(std::mem::replace(next, *next + values));
        Arrays {
            featurizer,
            sizes,
            offsets: parameters.iter().map(|p| p.values.len()).scan(0, offset).collect(),
            tokens: Vec::with_capacity(nodes),
            positions: Vec::with_capacity(nodes),
            features: Vec::with_capacity(nodes * width),
            choices: Choices::new((0..parameters.len()).map(|at| featurizer.choice_columns(at).to_vec()).collect()),
            chosen: vec![0; all_steps],
            asked: vec![0.0; all_steps],
            last: Vec::new(),
        }
    }

    /// Fills in what stands for one problem: its nodes, and the way of each of its sequences through them.
    fn fill(&mut self, problem: usize, tree: &PrefixTree, sequences: &[&Sequence]) {
        let first = self.tokens.len();
        tree.nodes.iter().for_each(|node| self.fill_node(sequences[node.row], node.at));
        for (row, (path, sequence)) in tree.paths.iter().zip(sequences).enumerate() {
            self.fill_path(first, problem * self.sizes.rows + row, path, sequence);
        }
    }

    /// Appends the step `at` of a sequence as a node.
    fn fill_node(&mut self, sequence: &Sequence, at: usize) {
        let width = self.sizes.width;
        self.features.extend_from_slice(&sequence.features[at * width..][..width]);
        let position = sequence.asked[at] as usize;
        self.tokens.push(self.featurizer.last_token(&sequence.config.0[..position]) as i64);
        self.positions.push(self.featurizer.parameter(position) as i64);
        match at < sequence.legal.len() {
            true => self.fill_choices(sequence, at, position),
            false => self.choices.push_none(),
        }
    }

    /// Fills in the legal choices of the step `at`, which decides the parameter at `position`.
    fn fill_choices(&mut self, sequence: &Sequence, at: usize, position: usize) {
        let (featurizer, decides) = (self.featurizer, self.featurizer.decides(position));
        let before = sequence.asked.iter().zip(&sequence.legal).take(at);
        let skipped: usize = before.map(|(p, legal)| featurizer.decides(*p as usize) * legal.len()).sum();
        let (legal, mut encodings) = (&sequence.legal[at], Vec::new());
        for raw in sequence.weighed[skipped..].chunks(decides.max(1)).take(legal.len()) {
            featurizer.encode_choice(position, raw, &mut encodings);
        }
        let first = self.offsets[position] as u32;
        self.choices.push(position, legal.iter().map(|choice| first + choice as u32), &encodings);
    }

    /// Fills in the choice of each step of a sequence, the batch's `row`; `first` is its tree's first node.
    fn fill_path(&mut self, first: usize, row: usize, path: &[usize], sequence: &Sequence) {
        for (at, node) in path.iter().enumerate().take(sequence.legal.len()) {
            let (step, position) = (row * self.sizes.steps + at, sequence.asked[at] as usize);
            let token = (self.offsets[position] + sequence.config.0[position] as usize) as u32;
            let open = self.choices.range(first + node);
            let among = self.choices.tokens(open.clone()).iter().position(|other| *other == token);
            self.chosen[step] = (open.start + among.expect("a config of legal choices")) as i64;
            self.asked[step] = 1.0;
        }
        self.last.extend(path.last().map(|node| (first + node) as i64));
    }
}

/// Problems that are decoded together, each with `sources` rows of the memory.
fn parts(trees: &[PrefixTree], sources: usize) -> Vec<DecoderPart> {
    let mut parts: Vec<DecoderPart> = Vec::new();
    let mut nodes = DecoderPart::NODES;
    for tree in trees {
        if nodes + tree.nodes.len() > DecoderPart::NODES {
            parts.push(DecoderPart::default());
            nodes = 0;
        }
        let Some(part) = parts.last_mut() else { continue };
        let problem = part.nodes.len();
        for node in &tree.nodes {
            part.path.push(tree.paths[node.row][..=node.at].iter().map(|before| (nodes + before) as u32));
            part.memory.push((problem * sources..(problem + 1) * sources).map(|row| row as u32));
        }
        part.nodes.push(tree.nodes.len());
        nodes += tree.nodes.len();
    }
    parts
}

fn shape_tensor<T: tch::kind::Element>(values: &[T], shape: &[usize]) -> Tensor {
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
        let Sizes { problems: b, nodes: m, steps: t, width, .. } = sizes;
        let n = b * rows;
        Batch {
            kernel: featurizer.kernel_index,
            sizes,
            source: shape_tensor(&source, &[b, source.len() / b]),
            steps: Steps {
                tokens: shape_tensor(&arrays.tokens, &[m]),
                positions: shape_tensor(&arrays.positions, &[m]),
                features: shape_tensor(&arrays.features, &[m, width]),
                // the kernel is a source token too
                parts: parts(&trees, featurizer.vocab.source.len() + 1),
                choices: arrays.choices,
                vocabulary: vocabulary(featurizer),
            },
            chosen: shape_tensor(&arrays.chosen, &[n, t]),
            asked: shape_tensor(&arrays.asked, &[n, t]),
            last: (!reranked).then(|| Tensor::from_slice(&arrays.last)),
            finished: finished_configs(featurizer, sequences),
        }
    }

    /// How large it is.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// What a network says of the sequences.
    pub fn forward<'a>(&'a self, net: &'a Transformer) -> Forward<'a> {
        let decoded = net.decode(&self.source, &self.steps, self.kernel);
        let at_end = self.last.as_ref().map(|last| decoded.hidden.index_select(0, last));
        let scores = net.score(&decoded.summary(), &self.finished, at_end.as_ref(), self.kernel);
        Forward { decoded, scores }
    }

    /// What a re-ranker's heads are linear in, of each finished sequence: (N, D); `None` without one.
    pub fn judge(&self, net: &Transformer) -> Option<Tensor> {
        net.judge(&self.source, &self.finished, self.kernel)
    }

    /// What `of_choices` says of the chosen one at each step, 0 in the padding: (N, T).
    pub fn take_chosen(&self, of_choices: &Tensor) -> Tensor {
        if of_choices.numel() == 0 {
            // every value is decided by the constraints: nothing is chosen, and the loss is 0 by way of the network
            return &self.asked * of_choices.sum(None);
        }
        of_choices.index_select(0, &self.chosen.reshape([-1])).view_as(&self.asked) * &self.asked
    }

    /// Mean of what is said of a node's choices, for each choice. What label smoothing adds.
    pub fn mean_of_node(&self, of_choices: &Tensor) -> Tensor {
        let choices = &self.steps.choices;
        let node = |node: usize| choices.range(node).map(move |_| node as i64);
        let node = Tensor::from_slice(&(0..choices.nodes()).flat_map(node).collect::<Vec<i64>>());
        let zeros = || Tensor::zeros([choices.nodes() as i64], (Kind::Float, Device::Cpu));
        let count = zeros().index_add(0, &node, &of_choices.ones_like());
        (zeros().index_add(0, &node, of_choices) / count).index_select(0, &node)
    }

    /// Of how many sequences each chosen value is the most probable one of its node, by the log-probabilities of all choices.
    ///
    /// # Errors
    /// `Error::Failed` where libtorch does not give its numbers.
    pub fn greedy_exact(&self, log: &Tensor) -> Result<f64> {
        let log = numbers(log)?;
        let choices = &self.steps.choices;
        let mut best = vec![0f32; log.len()];
        for open in (0..choices.nodes()).map(|node| choices.range(node)) {
            let likeliest = open.clone().max_by(|a, b| log[*a].total_cmp(&log[*b]));
            likeliest.into_iter().for_each(|choice| best[choice] = 1.0);
        }
        let right = self.take_chosen(&Tensor::from_slice(&best)).sum_dim_intlist(1, false, Kind::Float);
        let asked = self.asked.sum_dim_intlist(1, false, Kind::Float);
        Ok(right.eq_tensor(&asked).sum(Kind::Float).double_value(&[]))
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
fn finished_configs(featurizer: &Featurizer, sequences: &[&Sequence]) -> Finished {
    let (mut features, mut tokens) = (Vec::new(), Vec::new());
    for sequence in sequences {
        features.extend_from_slice(&sequence.finished);
        tokens.extend(sequence.config.0.iter().enumerate().map(|(at, c)| featurizer.token(at, *c) as i64));
    }
    let n = sequences.len();
    Finished {
        instance: shape_tensor(&features, &[n, features.len() / n]),
        tokens: shape_tensor(&tokens, &[n, tokens.len() / n]),
    }
}
