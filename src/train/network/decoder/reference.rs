//! The decoder in libtorch's own operations, differentiated by libtorch: what the loops are held against.

use super::choices::{ChoiceScores, Choices};
use super::*;
use crate::draws::test_generator;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind};

const D: i64 = 48;
const INNER: i64 = 40;
const PROBLEMS: i64 = 2;
const NODES: i64 = 7;
const SOURCES: i64 = 3;
const PARAMETERS: [(&str, i64, i64); 7] = [
    ("attention.qkv", 3 * D, D),
    ("attention.out", D, D),
    ("cross.q", D, D),
    ("cross.kv", 2 * D, D),
    ("cross.out", D, D),
    ("feed_forward.up", INNER, D),
    ("feed_forward.down", D, INNER),
];
/// By node, the one before it on its path.
const BEFORE: [Option<usize>; NODES as usize] = [None, Some(0), Some(1), Some(1), Some(0), Some(4), Some(5)];

fn random(rng: &mut ChaCha8Rng, shape: &[i64]) -> Tensor {
    let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random::<f32>() - 0.5).collect();
    Tensor::from_slice(&numbers).reshape(shape).set_requires_grad(true)
}

fn weights(rng: &mut ChaCha8Rng) -> Weights {
    let mut weights = Weights::new();
    let mut norms = vec!["decoder.norm".to_string()];
    for layer in 0..2 {
        norms.extend(["attention", "cross", "feed_forward"].map(|of| format!("decoder.{layer}.{of}.norm")));
        for (name, outputs, inputs) in PARAMETERS {
            weights.insert(format!("decoder.{layer}.{name}.weight"), random(rng, &[outputs, inputs]));
            weights.insert(format!("decoder.{layer}.{name}.bias"), random(rng, &[outputs]));
        }
    }
    for norm in norms {
        weights.insert(format!("{norm}.weight"), random(rng, &[D]));
        weights.insert(format!("{norm}.bias"), random(rng, &[D]));
    }
    weights
}

/// Softmax attention (B, T, D) with heads, to what is seen (T, S).
fn attention(q: &Tensor, k: &Tensor, v: &Tensor, heads: i64, seen: Option<&Tensor>) -> Tensor {
    let split = |x: &Tensor| x.view([PROBLEMS, -1, heads, D / heads]).transpose(1, 2);
    let mut scores = split(q).matmul(&split(k).transpose(-1, -2)) / ((D / heads) as f64).sqrt();
    if let Some(seen) = seen {
        scores = scores.masked_fill(&seen.logical_not(), f64::NEG_INFINITY);
    }
    scores.softmax(-1, Kind::Float).matmul(&split(v)).transpose(1, 2).reshape([PROBLEMS, -1, D])
}

fn reference(weights: &Weights, heads: i64, x: &Tensor, memory: &Tensor, masks: &[Tensor]) -> Tensor {
    let of = |name: &str, part: &str| &weights[&format!("{name}.{part}")];
    let linear = |name: String, x: &Tensor| x.linear(of(&name, "weight"), Some(of(&name, "bias")));
    let norm =
        |name: String, x: &Tensor| x.layer_norm([D], Some(of(&name, "weight")), Some(of(&name, "bias")), 1e-5, false);
    let ways = way_of_each();
    let seen: Vec<bool> = ways.iter().flat_map(|way| (0..NODES as usize).map(|node| way.contains(&node))).collect();
    let seen = Tensor::from_slice(&seen).view([NODES, NODES]);
    let mut x = x.view([PROBLEMS, NODES, D]);
    let memory = memory.view([PROBLEMS, SOURCES, D]);
    for layer in 0..2 {
        let name = |of: &str| format!("decoder.{layer}.{of}");
        let qkv = linear(name("attention.qkv"), &norm(name("attention.norm"), &x)).chunk(3, -1);
        let out = linear(name("attention.out"), &attention(&qkv[0], &qkv[1], &qkv[2], heads, Some(&seen)));
        x = &x + out * &masks[3 * layer];
        let q = linear(name("cross.q"), &norm(name("cross.norm"), &x));
        let kv = linear(name("cross.kv"), &memory).chunk(2, -1);
        x = &x + linear(name("cross.out"), &attention(&q, &kv[0], &kv[1], heads, None)) * &masks[3 * layer + 1];
        let up = linear(name("feed_forward.up"), &norm(name("feed_forward.norm"), &x));
        x = &x + linear(name("feed_forward.down"), &up.gelu("none")) * &masks[3 * layer + 2];
    }
    norm("decoder.norm".into(), &x).view([-1, D])
}

fn way_of_each() -> Vec<Vec<usize>> {
    let way = |node| std::iter::successors(Some(node), |node: &usize| BEFORE[*node]).collect();
    (0..NODES as usize).map(way).collect()
}

fn close(found: &Tensor, known: &Tensor, what: &str) {
    let error = (found - known).abs().max().double_value(&[]) / known.abs().max().double_value(&[]).max(1e-3);
    assert!(error < 2e-5, "{what}: off by {error:e} of the largest");
}

/// Both problems in one part, or each in its own.
fn parts(together: bool) -> Vec<DecoderPart> {
    let mut parts = vec![DecoderPart::default()];
    for problem in 0..PROBLEMS as usize {
        if problem > 0 && !together {
            parts.push(DecoderPart::default());
        }
        let part = parts.last_mut().unwrap();
        let before = part.nodes.len() as u32;
        for way in way_of_each() {
            part.path.push(way.into_iter().map(|node| before * NODES as u32 + node as u32));
            part.memory.push(before * SOURCES as u32..(before + 1) * SOURCES as u32);
        }
        part.nodes.push(NODES as usize);
    }
    parts
}

/// Heads of 16 and of 12 numbers, with dropout and without.
#[test]
fn hidden_states_and_all_gradients_are_those_of_libtorch() {
    for (heads, share, together) in [(3, 0.0, true), (3, 0.0, false), (4, 0.3, true)] {
        let mut rng = test_generator(heads as u64);
        let weights = weights(&mut rng);
        let x = random(&mut rng, &[PROBLEMS * NODES, D]);
        let memory = random(&mut rng, &[PROBLEMS * SOURCES, D]);
        let slope = random(&mut rng, &[PROBLEMS * NODES, D]).detach();
        let mut dropout = Dropout::new(share, 1);
        let masks: Vec<Tensor> = (0..6)
            .map(|_| match &mut dropout {
                Some(dropout) => Tensor::from_slice(&dropout.mask((PROBLEMS * D) as usize)).view([PROBLEMS, 1, D]),
                None => Tensor::ones([1], (Kind::Float, Device::Cpu)),
            })
            .collect();
        let known = reference(&weights, heads, &x, &memory, &masks);
        (&known * &slope).sum(Kind::Float).backward();

        let hparams = Hparams { width: D as usize, heads: heads as usize, decoder_layers: 2, ..Hparams::default() };
        let decoder = Decoder::new(&hparams, &weights).unwrap();
        let parts = parts(together);
        tch::no_grad(|| {
            let mut dropout = Dropout::new(share, 1);
            let HiddenStates { states, passes } = decoder.forward(x.copy(), &memory, SOURCES, &parts, dropout.as_mut());
            close(&states, &known, "hidden states");
            let before = decoder.back(&passes, &slope, SOURCES, &parts);
            close(&before.x, &x.grad(), "input");
            close(&before.memory, &memory.grad(), "memory");
            assert_eq!(before.weights.len(), weights.len());
            for (name, weight) in &weights {
                let found = before.weights.iter().find(|(known, _)| known.data_ptr() == weight.data_ptr()).unwrap();
                close(&found.1, &weight.grad(), name);
            }
        });
    }
}

/// Two parameters, of which the second decides nothing; the last node is asked nothing.
#[test]
fn log_probabilities_of_choices_and_their_gradients_are_those_of_libtorch() {
    let mut rng = test_generator(1);
    let columns = [vec![4u16, 1], vec![]];
    let nodes: [(usize, &[u32]); 3] = [(0, &[2, 0, 1]), (1, &[3, 4]), (0, &[1])];
    let mut choices = Choices::new(columns.to_vec());
    let mut encodings = Vec::new();
    for (parameter, tokens) in nodes {
        let numbers: Vec<f32> = (0..tokens.len() * columns[parameter].len()).map(|_| rng.random()).collect();
        choices.push(parameter, tokens.iter().copied(), &numbers);
        encodings.push(numbers);
    }
    choices.push_none();
    let mut of = |shape: &[i64]| random(&mut rng, shape);
    let (hidden, slope) = (of(&[4, D]), of(&[6]).detach());
    let (tokens, weigh) =
        (Linear { weight: of(&[5, D]), bias: of(&[5]) }, Linear { weight: of(&[6, D]), bias: of(&[6]) });

    let (scores, query) = (tokens.forward(&hidden), weigh.forward(&hidden));
    let known = nodes.iter().zip(&encodings).enumerate().map(|(node, ((parameter, tokens), numbers))| {
        let at = |columns: &[i64], x: &Tensor| x.get(node as i64).index_select(0, &Tensor::from_slice(columns));
        let tokens: Vec<i64> = tokens.iter().map(|token| *token as i64).collect();
        let own: Vec<i64> = columns[*parameter].iter().map(|column| *column as i64).collect();
        let numbers = Tensor::from_slice(numbers).view([tokens.len() as i64, own.len() as i64]);
        (at(&tokens, &scores) + numbers.mv(&at(&own, &query))).log_softmax(0, Kind::Float)
    });
    let known = Tensor::cat(&known.collect::<Vec<_>>(), 0);
    (&known * &slope).sum(Kind::Float).backward();

    tch::no_grad(|| {
        let judged = ChoiceScores::new(&hidden, &tokens, &weigh, &choices);
        close(&judged.log, &known, "log-probabilities");
        let (dhidden, weights) = judged.back(&slope, &tokens, &weigh, &choices);
        close(&dhidden, &hidden.grad(), "hidden states");
        assert_eq!(weights.len(), 4);
        weights.iter().for_each(|(weight, gradient)| close(gradient, &weight.grad(), "weights"));
    });
}
