//! Prediction: the network's scores in the beam, within the legal space.

use super::beam::{Hypothesis, Next, beam_search};
use super::examples::{Batch, Sequence, last_token};
use super::net::{Cache, Net, Steps, Weights};
use super::store::{Meta, Model};
use super::vocab::{Spelled, Vocab, WIDTH};
use crate::dataset::Objective;
use crate::error::{Error, Result, input};
use crate::kernel::{Config, Device, Kernel, Problem};
use tch::{Tensor, no_grad};

/// A predicted config.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub config: Config,
    /// Probability among all legal configs.
    pub probability: f64,
    /// Predicted device time in microseconds.
    pub time_us: f64,
}

/// A config with what the model makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Natural logarithm of its probability among legal configs.
    pub log_probability: f64,
    pub time_us: f64,
}

/// A model ready to predict for one kernel.
pub struct Predictor<'k> {
    kernel: &'k Kernel,
    meta: Meta,
    weights: Weights,
    net: Net,
}

/// Problems per batch: more gain nothing on a CPU.
const BATCH: usize = 48;

impl<'k> Predictor<'k> {
    /// Refuses a model that was made for another kernel or space.
    pub fn new(kernel: &'k Kernel, model: &Model) -> Result<Predictor<'k>> {
        model.check(kernel)?;
        let weights = model.weights.iter().map(|(n, t)| (n.clone(), t.shallow_clone())).collect();
        Ok(Predictor { kernel, meta: model.meta.clone(), weights, net: model.net()? })
    }

    /// Whether the model was trained on `device` (by name).
    pub fn knows(&self, device: &Device) -> bool {
        self.meta.devices.iter().any(|d| d.name == device.name)
    }

    /// The `top` most probable legal configs of each problem, best first, by a beam of `width` (at least `top`). Problems are
    /// spread over `threads` threads.
    pub fn predict(
        &self,
        problems: &[Problem],
        device: &Device,
        objective: Objective,
        (top, width): (usize, usize),
        threads: usize,
    ) -> Result<Vec<Vec<Candidate>>> {
        let width = width.max(top);
        let run = |with: With, problems: &[Problem]| -> Result<Vec<Vec<Candidate>>> {
            let mut answers = Vec::new();
            for batch in problems.chunks(BATCH) {
                answers.extend(with.batch(batch, device, objective, top, width, None)?);
            }
            Ok(answers)
        };
        let threads = threads.min(problems.len().div_ceil(BATCH)).max(1);
        if threads == 1 {
            return run(self.with(&self.net), problems);
        }
        let share = problems.len().div_ceil(threads).next_multiple_of(BATCH);
        // a tensor may be sent to another thread but not shared with it: each gets handles of its own
        let parts: Vec<(&[Problem], Weights)> = problems
            .chunks(share)
            .map(|part| (part, self.weights.iter().map(|(n, t)| (n.clone(), t.shallow_clone())).collect()))
            .collect();
        let (kernel, meta) = (self.kernel, &self.meta);
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            for (part, weights) in parts {
                running.push(scope.spawn(move || {
                    // libtorch's own threads would fight with these
                    tch::set_num_threads(1);
                    let net = Net::new(&meta.hparams, &weights)?;
                    run(With { kernel, vocab: &meta.vocab, net: &net }, part)
                }));
            }
            let mut answers = Vec::new();
            for thread in running {
                answers.extend(thread.join().map_err(|_| Error::Failed("a prediction thread panicked".into()))??);
            }
            Ok(answers)
        })
    }

    /// As [`Predictor::predict`] for one problem, but the search follows `configs` only: what replay asks. Probabilities are
    /// still those among all legal configs.
    pub fn predict_among(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        (top, width): (usize, usize),
        configs: &[Config],
    ) -> Result<Vec<Candidate>> {
        let problems = std::slice::from_ref(problem);
        let mut found = self.with(&self.net).batch(problems, device, objective, top, width.max(top), Some(configs))?;
        Ok(found.remove(0))
    }

    /// Scores given configs of one problem; each must be legal.
    pub fn score(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        configs: &[Config],
    ) -> Result<Vec<Scored>> {
        let spelled = Spelled::new(self.kernel, problem, device);
        let lists = [configs.iter().collect::<Vec<_>>()];
        Ok(self.with(&self.net).score(&[spelled], objective, &lists)?.remove(0))
    }

    fn with<'a>(&'a self, net: &'a Net) -> With<'a, 'k> {
        With { kernel: self.kernel, vocab: &self.meta.vocab, net }
    }
}

/// A network with what it is asked about: one thread's view of a predictor.
struct With<'a, 'k> {
    kernel: &'k Kernel,
    vocab: &'a Vocab,
    net: &'a Net,
}

impl With<'_, '_> {
    fn batch(
        &self,
        problems: &[Problem],
        device: &Device,
        objective: Objective,
        top: usize,
        width: usize,
        among: Option<&[Config]>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let spelled: Vec<Spelled> = problems.iter().map(|p| Spelled::new(self.kernel, p, device)).collect();
        for (spelled, problem) in spelled.iter().zip(problems) {
            if spelled.space.completions(&[])? == 0 {
                let problem = self.kernel.show_problem(problem);
                return input(format!(
                    "kernel {} has no legal config for {problem} on {}",
                    self.kernel.name, device.name
                ));
            }
        }
        let found = no_grad(|| self.search(&spelled, objective, width, among))?;
        let configs: Vec<Vec<Config>> =
            found.iter().map(|list| list.iter().take(top).map(|h| Config(self.choices(&h.tokens))).collect()).collect();
        let lists: Vec<Vec<&Config>> = configs.iter().map(|list| list.iter().collect()).collect();
        let scored = self.score(&spelled, objective, &lists)?;
        let answers = found.iter().zip(&configs).zip(scored).map(|((found, configs), scored)| {
            found
                .iter()
                .zip(configs)
                .zip(scored)
                .map(|((h, config), scored)| Candidate {
                    config: config.clone(),
                    probability: h.log_probability.exp(),
                    time_us: scored.time_us,
                })
                .collect()
        });
        Ok(answers.collect())
    }

    /// The choices that tokens stand for.
    fn choices(&self, tokens: &[u16]) -> Vec<u8> {
        tokens.iter().enumerate().map(|(at, t)| (t - self.vocab.offsets[at]) as u8).collect()
    }

    fn search(
        &self,
        spelled: &[Spelled],
        objective: Objective,
        width: usize,
        among: Option<&[Config]>,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        let vocab = self.vocab;
        let source: Vec<f32> = spelled.iter().flat_map(|s| vocab.source(self.kernel, s, objective)).collect();
        let source = Tensor::from_slice(&source).reshape([spelled.len() as i64, -1, WIDTH as i64]);
        let memory = self.net.encode(&source);
        let mut cache = Cache::default();
        let mut rows_before = 0;
        let mut advance = |problem: usize, tokens: &mut Vec<u16>| -> Result<Next> {
            let mut prefix = self.choices(tokens);
            while prefix.len() < vocab.positions() {
                let at = prefix.len();
                let legal = spelled[problem].space.completions(&prefix)?;
                if legal.count_ones() == 1 {
                    prefix.push(legal.trailing_zeros() as u8);
                    tokens.push(vocab.token(at, legal.trailing_zeros() as u8));
                    continue;
                }
                let open = among.map_or(legal, |configs| {
                    let here = configs.iter().filter(|c| c.0.starts_with(&prefix));
                    here.fold(0, |mask, c| mask | 1u64 << c.0[at]) & legal
                });
                let tokens = |mask: u64| {
                    (0..64u8).filter(|i| mask >> i & 1 == 1).map(|i| vocab.token(at, i)).collect::<Vec<u16>>()
                };
                return Ok(Next { open: tokens(open), closed: tokens(legal & !open) });
            }
            Ok(Next::default())
        };
        let mut score = |beams: &[Vec<Hypothesis>]| -> Result<Vec<f32>> {
            let rows = beams[0].len();
            let n = beams.len() * rows;
            let (mut tokens, mut positions, mut parents) = (Vec::new(), Vec::new(), Vec::new());
            let mut features = Vec::with_capacity(n * Vocab::step_width(self.kernel));
            for (problem, beam) in beams.iter().enumerate() {
                for h in beam {
                    parents.push((problem * rows_before + h.parent) as i64);
                    if h.next.open.is_empty() {
                        tokens.push(vocab.tokens() as i64);
                        positions.push(vocab.positions() as i64);
                        features.resize(features.len() + Vocab::step_width(self.kernel), 0.0);
                    } else {
                        let prefix = self.choices(&h.tokens);
                        tokens.push(last_token(vocab, &prefix));
                        positions.push(prefix.len() as i64);
                        vocab.step(self.kernel, &spelled[problem], &prefix, &mut features);
                    }
                }
            }
            if rows_before > 0 {
                cache.reorder(&Tensor::from_slice(&parents));
            }
            rows_before = rows;
            let n = n as i64;
            let steps = Steps {
                tokens: Tensor::from_slice(&tokens).reshape([n, 1]),
                positions: Tensor::from_slice(&positions).reshape([n, 1]),
                features: Tensor::from_slice(&features).reshape([n, 1, -1]),
            };
            let hidden = self.net.decode_step(&memory, &steps, &mut cache);
            Ok(Vec::<f32>::try_from(self.net.logits(&hidden).reshape([-1]))?)
        };
        beam_search(spelled.len(), width, vocab.tokens(), &mut advance, &mut score)
    }

    /// One pass over finished configs, lists of any lengths.
    fn score(&self, spelled: &[Spelled], objective: Objective, lists: &[Vec<&Config>]) -> Result<Vec<Vec<Scored>>> {
        let vocab = self.vocab;
        let rows = lists.iter().map(Vec::len).max().unwrap_or(0);
        let mut sources = Vec::new();
        let mut sequences = Vec::new();
        for (spelled, list) in spelled.iter().zip(lists) {
            sources.push(vocab.source(self.kernel, spelled, objective));
            for config in list {
                sequences.push(Sequence::new(vocab, self.kernel, spelled, config)?);
            }
            // every problem gets the same number of rows: the box is filled with what is not read
            let filler = sequences[sequences.len() - list.len().max(1)].clone();
            sequences.resize(sources.len() * rows, filler);
        }
        let sources: Vec<&[f32]> = sources.iter().map(Vec::as_slice).collect();
        let rows_of: Vec<&Sequence> = sequences.iter().collect();
        let batch = Batch::new(vocab, Vocab::step_width(self.kernel), &sources, rows, &rows_of);
        let (log, head) = no_grad(|| batch.forward(self.net));
        let (log, head) = (Vec::<f32>::try_from(log)?, Vec::<f32>::try_from(head)?);
        let scored = |(p, list): (usize, &Vec<&Config>)| {
            (0..list.len())
                .map(|i| Scored {
                    log_probability: log[p * rows + i] as f64,
                    time_us: vocab.read_time(&spelled[p], head[p * rows + i]),
                })
                .collect()
        };
        Ok(lists.iter().enumerate().map(scored).collect())
    }
}
