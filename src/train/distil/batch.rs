//! Lessons of several problems as tensors.
//!
//! Letters of the shapes: B problems, R configs of each, N = B R, T steps of the longest, and those of [`crate::distil::network`]. Nodes
//! stand in the order of their positions, so that those which are asked for the same parameter are neighbours.

use crate::distil::lesson::Lesson;
use crate::distil::network::{Inputs, Student, TokenRange};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::Choice;
use seqtune_predict::features::Featurizer;
use std::collections::HashMap;
use tch::{Kind, Tensor};

/// Nodes that are asked for the same parameter.
pub struct Group {
    /// How many there are.
    pub count: i64,
    /// Tokens of its values.
    pub tokens: TokenRange,
    /// True where a value may not follow: (nodes, values).
    pub illegal: Tensor,
    /// Columns of what the values decide, and their encoding (nodes, values, columns); `None` where they decide nothing.
    pub decided: Option<(Tensor, Tensor)>,
}

/// A batch of lessons.
pub struct LessonBatch {
    /// What the network reads.
    pub inputs: Inputs,
    /// All nodes but the finished ones.
    pub groups: Vec<Group>,
    /// Share of the target of each score of all groups; `None` where the target is of configs.
    pub shares: Option<Tensor>,
    /// How many finished nodes there are; they come last.
    pub finished: i64,
    /// By config and step, the place of its choice among the scores of all groups, one behind them where there is no step: (N, T).
    pub chosen: Tensor,
    /// By config, its finished node, counted among these: (N).
    pub ends: Tensor,
    /// (B, R)
    pub target: Tensor,
    /// True where a config only fills up: (B, R).
    pub filler: Tensor,
    /// 1 where the target is among the configs of the lesson alone: (B, 1).
    pub listed: Tensor,
    /// By head, encoded costs: N.
    pub costs: [Vec<f32>; 2],
    /// B and R.
    pub shape: [i64; 2],
}

/// What a network answers to a batch.
pub struct Answers {
    /// Log-probability of each config: (N).
    pub log: Tensor,
    /// What the heads say of time and energy: (N, 2).
    pub costs: Tensor,
    /// Nats of what the lessons say behind their prefixes, of all lessons together; `None` where their target is of configs.
    pub nats: Option<Tensor>,
}

/// The configs of a lesson that an update learns from: two thirds by weight, the rest at random; some twice where there are too few.
fn choose(lesson: &Lesson, count: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, f32)> {
    let all = lesson.paths.len();
    let heavy = (count * 2 / 3).max(1).min(all);
    let mut rest: Vec<usize> = (heavy..all).collect();
    rest.shuffle(rng);
    let mut chosen: Vec<usize> = (0..heavy).chain(rest.into_iter().take(count - heavy)).collect();
    let total: f32 = chosen.iter().map(|i| lesson.target[*i]).sum();
    let drawn = chosen.len();
    while chosen.len() < count {
        chosen.push(rng.random_range(0..all));
    }
    let share = |(at, i): (usize, &usize)| (*i, if at < drawn { lesson.target[*i] / total } else { 0.0 });
    chosen.iter().enumerate().map(share).collect()
}

fn shape_tensor<T: tch::kind::Element>(values: &[T], shape: &[usize]) -> Tensor {
    let shape: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
    Tensor::from_slice(values).reshape(shape)
}

/// A node of a lesson of the batch.
struct Placed<'a> {
    problem: usize,
    lesson: &'a Lesson,
    node: usize,
}

impl Placed<'_> {
    /// The parameter that is asked for.
    fn position(&self) -> usize {
        self.lesson.prefixes[self.node].len()
    }
}

/// Configs of a lesson with their shares of the target.
type Drawn = Vec<(usize, f32)>;

/// The nodes of a batch in the order of their positions, with where each stands.
struct Nodes<'a> {
    placed: Vec<Placed<'a>>,
    /// By problem and node of its lesson.
    places: HashMap<(usize, usize), usize>,
}

/// Where scores stand.
struct ScorePlaces {
    /// By node, where its own begin among those of all groups.
    begins: Vec<usize>,
    /// How many there are.
    count: usize,
    /// The first finished node.
    finished: usize,
}

impl<'a> Nodes<'a> {
    fn new(lessons: &[&'a Lesson], drawn: &[Drawn]) -> Nodes<'a> {
        let mut placed: Vec<Placed> = Vec::new();
        for (problem, (lesson, drawn)) in lessons.iter().zip(drawn).enumerate() {
            let mut used = vec![false; lesson.prefixes.len()];
            for (config, _) in drawn {
                let path = &lesson.paths[*config];
                path.steps.iter().for_each(|(node, _)| used[*node as usize] = true);
                used[path.finished as usize] = true;
            }
            lesson.shares.iter().zip(&mut used).for_each(|(shares, used)| *used |= !shares.is_empty());
            placed.extend((0..used.len()).filter(|node| used[*node]).map(|node| Placed { problem, lesson, node }));
        }
        placed.sort_by_key(Placed::position);
        let places = placed.iter().enumerate().map(|(at, node)| ((node.problem, node.node), at)).collect();
        Nodes { placed, places }
    }

    /// All nodes but the finished ones by position, and where their scores stand.
    fn groups(&self, featurizer: &Featurizer, values: &[usize]) -> (Vec<Group>, ScorePlaces) {
        let (mut groups, mut first) = (Vec::new(), 0);
        let mut scores = ScorePlaces { begins: vec![0; self.placed.len()], count: 0, finished: 0 };
        for of_position in self.placed.chunk_by(|a, b| a.position() == b.position()) {
            let Some(values) = values.get(of_position[0].position()) else { break };
            for at in 0..of_position.len() {
                scores.begins[first + at] = scores.count + at * values;
            }
            scores.count += of_position.len() * values;
            groups.push(group(featurizer, of_position, of_position[0].position()));
            first += of_position.len();
        }
        scores.finished = first;
        (groups, scores)
    }

    /// What the lessons say of all scores.
    fn shares(&self, scores: &ScorePlaces) -> Option<Tensor> {
        let mut shares = vec![0f32; scores.count];
        for (placed, begin) in self.placed.iter().zip(&scores.begins) {
            let legal = placed.lesson.legal[placed.node].iter();
            let own = &placed.lesson.shares[placed.node];
            legal.zip(own).for_each(|(choice, share)| shares[begin + choice as usize] = *share);
        }
        shares.iter().any(|share| *share > 0.0).then(|| Tensor::from_slice(&shares))
    }

    /// By config and step, the place of its choice among the scores; by config, its finished node; the number of steps.
    fn paths(&self, lessons: &[&Lesson], drawn: &[Drawn], scores: &ScorePlaces) -> (Vec<i64>, Vec<i64>, usize) {
        let steps = drawn.iter().zip(lessons).flat_map(|(d, l)| d.iter().map(|(c, _)| l.paths[*c].steps.len()));
        let steps = steps.max().unwrap_or(0).max(1);
        let (mut chosen, mut ends) = (Vec::new(), Vec::new());
        for (problem, (lesson, drawn)) in lessons.iter().zip(drawn).enumerate() {
            for (config, _) in drawn {
                let path = &lesson.paths[*config];
                let place = |(node, choice): &(u32, Choice)| {
                    (scores.begins[self.places[&(problem, *node as usize)]] + *choice as usize) as i64
                };
                chosen.extend(path.steps.iter().map(place));
                chosen.extend(std::iter::repeat_n(scores.count as i64, steps - path.steps.len()));
                ends.push((self.places[&(problem, path.finished as usize)] - scores.finished) as i64);
            }
        }
        (chosen, ends, steps)
    }
}

impl LessonBatch {
    /// `rows` configs of each of the lessons, drawn by `rng`.
    pub fn new(featurizer: &Featurizer, lessons: &[&Lesson], rows: usize, rng: &mut ChaCha8Rng) -> LessonBatch {
        let drawn: Vec<Drawn> = lessons.iter().map(|lesson| choose(lesson, rows, rng)).collect();
        let values: Vec<usize> = featurizer.kernel.parameters.iter().map(|p| p.values.len()).collect();
        let nodes = Nodes::new(lessons, &drawn);
        let (groups, scores) = nodes.groups(featurizer, &values);
        let (chosen, ends, steps) = nodes.paths(lessons, &drawn, &scores);
        let shares = nodes.shares(&scores);
        let (first, nodes) = (scores.finished, nodes.placed);
        let mut source = Vec::new();
        lessons.iter().for_each(|lesson| featurizer.vocab.encode(&lesson.quantities, &mut source));
        let (b, n) = (lessons.len(), lessons.len() * rows);
        let costs: Vec<[f32; 2]> =
            drawn.iter().zip(lessons).flat_map(|(d, l)| d.iter().map(|(c, _)| l.costs[*c])).collect();
        let filler: Vec<bool> =
            drawn.iter().zip(lessons).flat_map(|(_, l)| (0..rows).map(|at| at >= l.paths.len())).collect();
        let target: Vec<f32> = drawn.iter().flatten().map(|(_, share)| *share).collect();
        let encoded = Encoded::new(featurizer, &nodes, &values);
        LessonBatch {
            inputs: Inputs {
                source: shape_tensor(&source, &[b, source.len() / b]),
                problems: shape_tensor(&nodes.iter().map(|p| p.problem as i64).collect::<Vec<_>>(), &[nodes.len()]),
                tokens: shape_tensor(&encoded.tokens, &[nodes.len(), values.iter().sum()]),
                vocabulary: vocabulary(featurizer),
                features: shape_tensor(&encoded.features, &[nodes.len(), featurizer.choice_width()]),
                positions: shape_tensor(&encoded.positions, &[nodes.len()]),
            },
            groups,
            shares,
            finished: (nodes.len() - first) as i64,
            chosen: shape_tensor(&chosen, &[n, steps]),
            ends: shape_tensor(&ends, &[n]),
            target: shape_tensor(&target, &[b, rows]),
            filler: shape_tensor(&filler, &[b, rows]),
            listed: shape_tensor(&lessons.iter().map(|l| u8::from(!l.among_legal) as f32).collect::<Vec<_>>(), &[b, 1]),
            costs: [0, 1].map(|which| costs.iter().map(|costs| costs[which]).collect()),
            shape: [b as i64, rows as i64],
        }
    }

    /// What a network answers.
    pub fn forward(&self, net: &Student, kernel: usize) -> Answers {
        let states = net.states(&self.inputs, kernel); // (M, D)
        // by position, the finished ones last
        let counts: Vec<i64> = self.groups.iter().map(|group| group.count).chain([self.finished]).collect();
        let parts = states.split_with_sizes(&counts, 0);
        let mut scores: Vec<Tensor> = Vec::with_capacity(self.groups.len() + 1);
        for (group, hidden) in self.groups.iter().zip(&parts) {
            let mut of_group = net.logits(hidden, group.tokens);
            if let Some((columns, numbers)) = &group.decided {
                let weights = net.weigh(hidden, columns, kernel); // (nodes, columns)
                of_group += (numbers * weights.unsqueeze(1)).sum_dim_intlist(-1, false, Kind::Float);
            }
            scores.push(of_group.masked_fill(&group.illegal, -1e9).log_softmax(-1, Kind::Float).reshape([-1]));
        }
        scores.push(Tensor::zeros([1], (Kind::Float, tch::Device::Cpu)));
        let scores = Tensor::cat(&scores, 0);
        let log = scores.index_select(0, &self.chosen.reshape([-1])).view_as(&self.chosen);
        let costs = net.costs(&parts[self.groups.len()]).index_select(0, &self.ends);
        let nats = self.shares.as_ref().map(|shares| -(shares * scores.narrow(0, 0, shares.size()[0])).sum(None));
        Answers { log: log.sum_dim_intlist(1, false, Kind::Float), costs, nats }
    }
}

/// The nodes of one position.
fn group(featurizer: &Featurizer, nodes: &[Placed], position: usize) -> Group {
    let values = featurizer.kernel.parameters[position].values.len();
    let (columns, decides) = (featurizer.choice_columns(position), featurizer.decides(position));
    let mut illegal = vec![true; nodes.len() * values];
    let mut numbers = vec![0f32; nodes.len() * values * columns.len()];
    let mut encoded = Vec::new();
    for (at, placed) in nodes.iter().enumerate() {
        let mut raw = placed.lesson.weighed[placed.node].chunks(decides.max(1));
        for choice in placed.lesson.legal[placed.node].iter() {
            let here = at * values + choice as usize;
            illegal[here] = false;
            if let Some(raw) = raw.next() {
                encoded.clear();
                featurizer.encode_choice(position, raw, &mut encoded);
                numbers[here * columns.len()..][..columns.len()].copy_from_slice(&encoded);
            }
        }
    }
    let columns: Vec<i64> = columns.iter().map(|c| *c as i64).collect();
    Group {
        count: nodes.len() as i64,
        tokens: TokenRange { first: featurizer.token(position, 0) as i64, count: values as i64 },
        illegal: shape_tensor(&illegal, &[nodes.len(), values]),
        decided: (!columns.is_empty())
            .then(|| (Tensor::from_slice(&columns), shape_tensor(&numbers, &[nodes.len(), values, columns.len()]))),
    }
}

/// What nodes are encoded by.
struct Encoded {
    tokens: Vec<f32>,
    features: Vec<f32>,
    positions: Vec<i64>,
}

impl Encoded {
    fn new(featurizer: &Featurizer, nodes: &[Placed], values: &[usize]) -> Encoded {
        let all: usize = values.iter().sum();
        let late = featurizer.late_count();
        let mut encoded = Encoded { tokens: vec![0.0; nodes.len() * all], features: Vec::new(), positions: Vec::new() };
        for (at, Placed { lesson, node, .. }) in nodes.iter().enumerate() {
            let prefix = &lesson.prefixes[*node];
            let mut first = at * all;
            for (choice, values) in prefix.iter().zip(values) {
                encoded.tokens[first + *choice as usize] = 1.0;
                first += values;
            }
            featurizer.encode_known(&lesson.known[node * late..][..late], &mut encoded.features);
            encoded.positions.push(featurizer.parameter(prefix.len()) as i64);
        }
        encoded
    }
}

/// Tokens of a kernel's values within the vocabulary, parameter after parameter: (V).
fn vocabulary(featurizer: &Featurizer) -> Tensor {
    let parameters = featurizer.kernel.parameters.iter().enumerate();
    let tokens =
        parameters.flat_map(|(at, p)| (0..p.values.len()).map(move |c| featurizer.token(at, c as Choice) as i64));
    Tensor::from_slice(&tokens.collect::<Vec<i64>>())
}
