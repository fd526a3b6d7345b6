//! Prediction: the network's scores in the beam, within the legal space.

use super::beam::{Hypothesis, Next, beam_search};
use super::examples::{Batch, Sequence, last_token};
use super::net::{Net, Weights};
use super::runtime::{Row, Runtime, Session};
use super::store::{Meta, Model};
use super::vocab::{Spelled, Vocab};
use crate::dataset::Objective;
use crate::error::{Error, Result, input};
use crate::kernel::{Config, Device, Kernel, Problem};
use tch::no_grad;

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
    runtime: Runtime,
    weights: Weights,
}

/// Problems per batch: so few that the buffers of a step stay in the cache and below the size that malloc maps anew.
const BATCH: usize = 12;

impl<'k> Predictor<'k> {
    /// Refuses a model that was made for another kernel or space.
    pub fn new(kernel: &'k Kernel, model: &Model) -> Result<Predictor<'k>> {
        model.check(kernel)?;
        let weights = model.weights.iter().map(|(n, t)| (n.clone(), t.shallow_clone())).collect();
        let runtime = Runtime::new(&model.meta.hparams, &model.weights)?;
        Ok(Predictor { kernel, meta: model.meta.clone(), runtime, weights })
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
        let with = self.with();
        let run = |problems: &[Problem]| -> Result<Vec<Vec<Candidate>>> {
            let mut answers = Vec::new();
            for batch in problems.chunks(BATCH) {
                answers.extend(with.batch(batch, device, objective, (top, width.max(top)), None)?);
            }
            Ok(answers)
        };
        let threads = threads.min(problems.len().div_ceil(BATCH)).max(1);
        if threads == 1 {
            return run(problems);
        }
        let share = problems.len().div_ceil(threads).next_multiple_of(BATCH);
        std::thread::scope(|scope| {
            let running: Vec<_> = problems.chunks(share).map(|part| scope.spawn(move || run(part))).collect();
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
        let mut found = self.with().batch(problems, device, objective, (top, width.max(top)), Some(configs))?;
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
        self.with().score(&spelled, objective, configs)
    }

    /// As [`Predictor::score`], by the network that is trained, in libtorch: what the runtime is tested against.
    pub fn score_by_libtorch(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        configs: &[Config],
    ) -> Result<Vec<Scored>> {
        let vocab = &self.meta.vocab;
        let spelled = Spelled::new(self.kernel, problem, device);
        let sequences =
            configs.iter().map(|c| Sequence::new(vocab, self.kernel, &spelled, c)).collect::<Result<Vec<_>>>()?;
        let source = vocab.source(self.kernel, &spelled, objective);
        let rows: Vec<&Sequence> = sequences.iter().collect();
        let batch = Batch::new(vocab, Vocab::step_width(self.kernel), &[&source], rows.len(), &rows);
        let net = Net::new(&self.meta.hparams, &self.weights)?;
        let (log, head) = no_grad(|| batch.forward(&net));
        let (log, head) = (Vec::<f32>::try_from(log)?, Vec::<f32>::try_from(head)?);
        let scored = log
            .iter()
            .zip(&head)
            .map(|(log, head)| Scored { log_probability: *log as f64, time_us: vocab.read_time(&spelled, *head) });
        Ok(scored.collect())
    }

    fn with(&self) -> With<'_, 'k> {
        With { kernel: self.kernel, vocab: &self.meta.vocab, runtime: &self.runtime }
    }
}

/// What a thread needs of a predictor.
#[derive(Clone, Copy)]
struct With<'a, 'k> {
    kernel: &'k Kernel,
    vocab: &'a Vocab,
    runtime: &'a Runtime,
}

impl With<'_, '_> {
    fn batch(
        self,
        problems: &[Problem],
        device: &Device,
        objective: Objective,
        (top, width): (usize, usize),
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
        let (found, mut session, histories) = self.search(&spelled, objective, width, among)?;
        // the step at "finished" of every answer, for its time
        let (mut rows, mut features, mut configs) = (Vec::new(), Vec::new(), Vec::new());
        for (problem, beam) in found.iter().enumerate() {
            for hypothesis in beam.iter().take(top) {
                let choices = self.choices(&hypothesis.tokens);
                self.vocab.step(self.kernel, &spelled[problem], &choices, &mut features);
                rows.push(Row {
                    problem,
                    token: last_token(self.vocab, &choices) as usize,
                    position: choices.len(),
                    history: histories.get(problem).and_then(|h| h.get(hypothesis.parent)).map_or(&[], Vec::as_slice),
                });
                configs.push((choices, hypothesis.log_probability));
            }
        }
        let (hidden, _) = self.runtime.step(&mut session, &rows, &features);
        let mut answers = vec![Vec::new(); problems.len()];
        for ((row, head), (choices, log_probability)) in rows.iter().zip(self.runtime.head(&hidden)).zip(configs) {
            let time_us = self.vocab.read_time(&spelled[row.problem], head);
            let (config, probability) = (Config(choices), log_probability.exp());
            answers[row.problem].push(Candidate { config, probability, time_us });
        }
        Ok(answers)
    }

    /// The choices that tokens stand for.
    fn choices(self, tokens: &[u16]) -> Vec<u8> {
        tokens.iter().enumerate().map(|(at, t)| (t - self.vocab.offsets[at]) as u8).collect()
    }

    /// The beam of each problem, with the session, and the history of each row of the last step that was scored.
    #[allow(clippy::type_complexity)] // named once, read once
    fn search(
        self,
        spelled: &[Spelled],
        objective: Objective,
        width: usize,
        among: Option<&[Config]>,
    ) -> Result<(Vec<Vec<Hypothesis>>, Session, Vec<Vec<Vec<u32>>>)> {
        let vocab = self.vocab;
        let source: Vec<f32> = spelled.iter().flat_map(|s| vocab.source(self.kernel, s, objective)).collect();
        let mut session = self.runtime.encode(&source, spelled.len());
        let mut histories: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new()]; spelled.len()];
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
            let (mut rows, mut features) = (Vec::new(), Vec::new());
            for (problem, beam) in beams.iter().enumerate() {
                for hypothesis in beam.iter().filter(|h| !h.next.open.is_empty()) {
                    let prefix = self.choices(&hypothesis.tokens);
                    vocab.step(self.kernel, &spelled[problem], &prefix, &mut features);
                    let token = last_token(vocab, &prefix) as usize;
                    let history = &histories[problem][hypothesis.parent];
                    rows.push(Row { problem, token, position: prefix.len(), history });
                }
            }
            let (hidden, entries) = self.runtime.step(&mut session, &rows, &features);
            let live = self.runtime.logits(&hidden);
            // finished hypotheses and fillers keep their place, with scores that nobody reads
            let v = vocab.tokens();
            let mut scores = vec![0.0; beams.iter().map(Vec::len).sum::<usize>() * v];
            let mut next = 0;
            let mut at = 0;
            let mut longer = Vec::with_capacity(beams.len());
            for (problem, beam) in beams.iter().enumerate() {
                let mut of_problem = Vec::with_capacity(beam.len());
                for hypothesis in beam {
                    let mut history = histories[problem].get(hypothesis.parent).cloned().unwrap_or_default();
                    if !hypothesis.next.open.is_empty() {
                        scores[at * v..][..v].copy_from_slice(&live[next * v..][..v]);
                        history.push(entries[next]);
                        next += 1;
                    }
                    of_problem.push(history);
                    at += 1;
                }
                longer.push(of_problem);
            }
            histories = longer;
            Ok(scores)
        };
        let found = beam_search(spelled.len(), width, vocab.tokens(), &mut advance, &mut score)?;
        Ok((found, session, histories))
    }

    /// Finished configs of one problem, all in step.
    fn score(self, spelled: &Spelled, objective: Objective, configs: &[Config]) -> Result<Vec<Scored>> {
        let vocab = self.vocab;
        let sequences =
            configs.iter().map(|c| Sequence::new(vocab, self.kernel, spelled, c)).collect::<Result<Vec<_>>>()?;
        let mut session = self.runtime.encode(&vocab.source(self.kernel, spelled, objective), 1);
        let width = Vocab::step_width(self.kernel);
        let mut histories: Vec<Vec<u32>> = vec![Vec::new(); configs.len()];
        let mut scored = vec![Scored { log_probability: 0.0, time_us: f64::NAN }; configs.len()];
        for at in 0..sequences.iter().map(|s| s.tokens.len()).max().unwrap_or(0) {
            let live: Vec<usize> = (0..configs.len()).filter(|i| at < sequences[*i].tokens.len()).collect();
            let features: Vec<f32> =
                live.iter().flat_map(|i| &sequences[*i].features[at * width..][..width]).copied().collect();
            let row = |i: &usize| Row {
                problem: 0,
                token: sequences[*i].tokens[at] as usize,
                position: sequences[*i].positions[at] as usize,
                history: &histories[*i],
            };
            let rows: Vec<Row> = live.iter().map(row).collect();
            let (hidden, entries) = self.runtime.step(&mut session, &rows, &features);
            let (scores, times) = (self.runtime.logits(&hidden), self.runtime.head(&hidden));
            for (row, (i, entry)) in live.iter().zip(entries).enumerate() {
                histories[*i].push(entry);
                let sequence = &sequences[*i];
                let Some(legal) = sequence.legal.get(at) else {
                    scored[*i].time_us = vocab.read_time(spelled, times[row]);
                    continue;
                };
                let scores = &scores[row * vocab.tokens()..][..vocab.tokens()];
                let first = vocab.offsets[sequence.positions[at] as usize] as usize;
                let legal = (0..64).filter(|b| legal >> b & 1 == 1).map(|b| scores[first + b] as f64);
                let sum: f64 = legal.map(f64::exp).sum();
                scored[*i].log_probability += scores[sequence.targets[at] as usize] as f64 - sum.ln();
            }
        }
        Ok(scored)
    }
}
