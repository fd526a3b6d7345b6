//! What a hidden state makes of the values that may be chosen at its node: log-probabilities, forward and backward.
//!
//! A value's score is its token's, and what the value decides, encoded, weighed by what the hidden state makes of that.
//!
//! Letters of the shapes: N nodes, D the model width, V tokens of the kernel, C numbers per choice, W of these that the choices of one node
//! decide.

use crate::network::decoder::norm::{Gradients, empty, zeros};
use crate::network::layers::Linear;
use crate::network::tensors::{slice, slice_mut};
use seqtune_predict::network::simd::{add_product, dot_of, exp, sum};
use seqtune_predict::widest;
use tch::Tensor;

/// By node, the values that may be chosen there.
#[derive(Default)]
pub struct Choices {
    /// By node, where its choices end, and its parameter.
    nodes: Vec<(usize, usize)>,
    /// By choice, its token among the kernel's.
    tokens: Vec<u32>,
    /// By choice, what it decides, encoded: W numbers of its node's parameter.
    encodings: Vec<f32>,
    /// By parameter, which of the C numbers those are.
    columns: Vec<Vec<u16>>,
}

impl Choices {
    /// Of parameters whose choices decide these columns.
    pub fn new(columns: Vec<Vec<u16>>) -> Choices {
        Choices { columns, ..Choices::default() }
    }

    /// Appends a node where a value of `parameter` is chosen: the values' tokens, and what they decide, W numbers of each.
    pub fn push(&mut self, parameter: usize, tokens: impl IntoIterator<Item = u32>, encodings: &[f32]) {
        self.tokens.extend(tokens);
        self.encodings.extend_from_slice(encodings);
        self.nodes.push((self.tokens.len(), parameter));
    }

    /// Appends a node where nothing is chosen.
    pub fn push_none(&mut self) {
        self.nodes.push((self.tokens.len(), 0));
    }

    /// Where a node's choices stand among all.
    pub fn range(&self, node: usize) -> std::ops::Range<usize> {
        let begin = if node == 0 { 0 } else { self.nodes[node - 1].0 };
        begin..self.nodes[node].0
    }

    /// The tokens of choices.
    pub fn tokens(&self, choices: std::ops::Range<usize>) -> &[u32] {
        &self.tokens[choices]
    }

    /// Nodes, also those where nothing is chosen.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes with choices: their number, where their choices stand, and what is known of them.
    fn each<'a>(
        &'a self,
        hidden: &'a Tensor,
        query: &'a Tensor,
    ) -> impl Iterator<Item = (usize, std::ops::Range<usize>, ScoredNode<'a>)> {
        let (d, c) = (hidden.size()[1] as usize, query.size()[1] as usize);
        let (hidden, query) = (slice(hidden), slice(query));
        let mut encoded = 0;
        (0..self.nodes.len()).filter_map(move |node| {
            let (choices, columns) = (self.range(node), &self.columns[self.nodes[node].1]);
            let encodings = &self.encodings[encoded..][..choices.len() * columns.len()];
            encoded += encodings.len();
            let (hidden, query) = (&hidden[node * d..][..d], &query[node * c..][..c]);
            let of = ScoredNode { hidden, query, tokens: &self.tokens[choices.clone()], columns, encodings };
            (!choices.is_empty()).then_some((node, choices, of))
        })
    }
}

/// One node with its choices.
#[derive(Clone, Copy)]
struct ScoredNode<'a> {
    hidden: &'a [f32],
    query: &'a [f32],
    tokens: &'a [u32],
    columns: &'a [u16],
    encodings: &'a [f32],
}

/// Weights (V, D) and biases (V) of the tokens.
#[derive(Clone, Copy)]
struct Table<'a> {
    weight: &'a [f32],
    bias: &'a [f32],
}

/// Gradients of what a node's log-probabilities depend on, which are added to.
struct Into<'a> {
    hidden: &'a mut [f32],
    query: &'a mut [f32],
    weight: &'a mut [f32],
    bias: &'a mut [f32],
}

widest! {
    /// Log-probabilities of a node's choices.
    fn judge(node: ScoredNode, table: Table, log: &mut [f32]) = judge_generic
}

#[inline(always)]
fn judge_generic<const FMA: bool>(node: ScoredNode, table: Table, log: &mut [f32]) {
    let (d, w) = (node.hidden.len(), node.columns.len());
    let mut highest = f32::NEG_INFINITY;
    for (k, (token, log)) in node.tokens.iter().zip(log.iter_mut()).enumerate() {
        let token = *token as usize;
        let mut score = dot_of::<FMA>(node.hidden, &table.weight[token * d..][..d]) + table.bias[token];
        for (number, column) in node.encodings[k * w..][..w].iter().zip(node.columns) {
            score = add_product::<FMA>(*number, node.query[*column as usize], score);
        }
        *log = score;
        highest = highest.max(score);
    }
    let all: f32 = log.iter().map(|score| exp::<FMA>(*score - highest)).sum();
    let all = highest + all.ln();
    log.iter_mut().for_each(|log| *log -= all);
}

widest! {
    /// What the gradient `dlog` of a node's log-probabilities `log` means.
    fn judge_back(node: ScoredNode, log: &[f32], dlog: &[f32], table: Table, into: Into) = judged_back
}

#[inline(always)]
fn judged_back<const FMA: bool>(node: ScoredNode, log: &[f32], dlog: &[f32], table: Table, into: Into) {
    let (d, w) = (node.hidden.len(), node.columns.len());
    let total = sum(dlog, |x| x);
    for (k, (token, (log, dlog))) in node.tokens.iter().zip(log.iter().zip(dlog)).enumerate() {
        let (token, slope) = (*token as usize, dlog - exp::<FMA>(*log) * total);
        let (row, drow) = (&table.weight[token * d..][..d], &mut into.weight[token * d..][..d]);
        for i in 0..d {
            into.hidden[i] = add_product::<FMA>(slope, row[i], into.hidden[i]);
            drow[i] = add_product::<FMA>(slope, node.hidden[i], drow[i]);
        }
        into.bias[token] += slope;
        for (number, column) in node.encodings[k * w..][..w].iter().zip(node.columns) {
            let column = *column as usize;
            into.query[column] = add_product::<FMA>(slope, *number, into.query[column]);
        }
    }
}

/// The log-probabilities of all choices of all nodes.
pub(crate) struct ChoiceScores {
    /// One after the other, as the choices stand.
    pub(crate) log: Tensor,
    hidden: Tensor,
    query: Tensor,
}

impl ChoiceScores {
    /// From hidden states (N, D): `tokens` has a row for each of the kernel's (V, D), `weigh` makes C numbers.
    pub(crate) fn new(hidden: &Tensor, tokens: &Linear, weigh: &Linear, choices: &Choices) -> ChoiceScores {
        let mut log = empty(&[choices.tokens.len() as i64]);
        let made =
            ChoiceScores { log: log.shallow_clone(), hidden: hidden.shallow_clone(), query: weigh.forward(hidden) };
        let table = Table { weight: slice(&tokens.weight), bias: slice(&tokens.bias) };
        let log = slice_mut(&mut log);
        for (_, at, node) in choices.each(&made.hidden, &made.query) {
            judge(node, table, &mut log[at]);
        }
        made
    }

    /// What the gradient `dlog` means for the hidden states (N, D), and for the weights of `tokens` and `weigh`, each beside its weight.
    pub(crate) fn back(
        &self,
        dlog: &Tensor,
        tokens: &Linear,
        weigh: &Linear,
        choices: &Choices,
    ) -> (Tensor, Vec<(Tensor, Tensor)>) {
        let mut gradients = Gradients::default();
        let (mut hidden, mut query) = (zeros(&self.hidden.size()), zeros(&self.query.size()));
        let (mut weight, mut bias) = (zeros(&tokens.weight.size()), zeros(&tokens.bias.size()));
        let table = Table { weight: slice(&tokens.weight), bias: slice(&tokens.bias) };
        let (d, c) = (self.hidden.size()[1] as usize, self.query.size()[1] as usize);
        let (log, dlog) = (slice(&self.log), slice(dlog));
        let (dhidden, dquery) = (slice_mut(&mut hidden), slice_mut(&mut query));
        let (dweight, dbias) = (slice_mut(&mut weight), slice_mut(&mut bias));
        for (at, choices, node) in choices.each(&self.hidden, &self.query) {
            let into = Into {
                hidden: &mut dhidden[at * d..][..d],
                query: &mut dquery[at * c..][..c],
                weight: dweight,
                bias: dbias,
            };
            judge_back(node, &log[choices.clone()], &dlog[choices], table, into);
        }
        hidden += gradients.linear(weigh, &query, &self.hidden);
        gradients.kept.push((tokens.weight.shallow_clone(), weight));
        gradients.kept.push((tokens.bias.shallow_clone(), bias));
        (hidden, gradients.kept)
    }
}
