//! Boosted trees chained per parameter, decoded by the same constrained beam: what published predictors do, with the model's means.
//!
//! Each parameter has a classifier of its own, which sees the model's quantities of problem and device (unscaled), the values of
//! the parameters before and the features that these decide, and which is fitted where there is a choice. What each value would
//! decide, which the model weighs, a classifier over values has no place for.

use crate::baselines::lightgbm::{LightGbm, Samples, Task, Trees};
use crate::tuned::answers::{Answer, TOPS, TestSet, tuned_config};
use seqtune_data::MeasuredProblem;
use seqtune_kernel::Objective;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Choice, Config};
use seqtune_predict::features::{Featurizer, Instance};
use seqtune_predict::search::Hypothesis;
use seqtune_predict::search::beam::beam_search;
use seqtune_predict::search::decoder::advance;

/// Trees of one kernel.
pub struct ClassifierChain<'a> {
    asked: &'a TestSet<'a>,
    featurizer: &'a Featurizer,
    /// By position: the choices that occur, and the trees where there are several.
    links: Vec<(Vec<Choice>, Option<Trees>)>,
    /// Probability of a choice that never occurred: half a record's worth.
    floor: f64,
    threads: usize,
}

/// Problems that are decoded together.
const TOGETHER: usize = 400;

impl<'a> ClassifierChain<'a> {
    /// Fits on the training problems of `asked`; its validation problems stop each fit.
    ///
    /// # Errors
    /// `Error::Failed` where LightGBM refuses the samples.
    pub fn fit(
        library: &LightGbm,
        asked: &'a TestSet,
        featurizer: &'a Featurizer,
        threads: usize,
        seed: u64,
    ) -> Result<ClassifierChain<'a>> {
        let valid = &asked.validation;
        let see = |t: &&MeasuredProblem| Seen::new(featurizer, &spell(asked, t), tuned_config(t));
        let see_all = |tried: &[&MeasuredProblem]| on_threads(tried, threads, see);
        let (train_seen, valid_seen) = (see_all(&asked.train)?, see_all(valid)?);
        let mut links = Vec::new();
        for at in 0..asked.kernel.parameters.len() {
            let open = asked.train.iter().zip(&train_seen).filter(|(_, seen)| seen.steps[at].is_some());
            let mut occurring: Vec<Choice> = open.map(|(t, _)| tuned_config(t).0[at]).collect();
            occurring.sort_unstable();
            occurring.dedup();
            if occurring.len() < 2 {
                links.push((occurring, None));
                continue;
            }
            let samples = |tried: &[&MeasuredProblem], seen: &[Seen]| {
                let mut samples = Samples::default();
                for (t, seen) in tried.iter().zip(seen) {
                    // a value that training never saw cannot judge the fit
                    let class = occurring.binary_search(&tuned_config(t).0[at]);
                    if let (Ok(class), Some(step)) = (class, &seen.steps[at]) {
                        let first = samples.rows.len();
                        samples.rows.extend(&seen.problem);
                        samples.rows.extend(step);
                        samples.columns = samples.rows.len() - first;
                        samples.labels.push(class as f32);
                    }
                }
                samples
            };
            let train = samples(&asked.train, &train_seen);
            let mut valid = samples(valid, &valid_seen);
            if valid.labels.is_empty() {
                valid = samples(&asked.train, &train_seen);
            }
            let trees = library.fit(&train, &valid, Task::Classes(occurring.len()), threads, seed)?;
            links.push((occurring, Some(trees)));
        }
        Ok(ClassifierChain { asked, featurizer, links, floor: 0.5 / asked.train.len() as f64, threads })
    }

    /// Answers to the test problems.
    ///
    /// # Errors
    /// `Error::Failed` where LightGBM refuses the rows.
    pub fn answers(&self) -> Result<Vec<Answer>> {
        let most = TOPS[TOPS.len() - 1];
        let mut answers = Vec::new();
        for part in self.asked.judged.chunks(TOGETHER) {
            let see = |t: &&MeasuredProblem| {
                let instance = spell(self.asked, t);
                Ok((Seen::new(self.featurizer, &instance, tuned_config(t))?, instance))
            };
            let (seen, instance): (Vec<Seen>, Vec<Instance>) = on_threads(part, self.threads, see)?.into_iter().unzip();
            let mut forced = self.forced_likelihoods(part, &seen, &instance)?.into_iter();
            for beam in self.search(&seen, &instance, most)? {
                let ranking = beam.iter().map(|h| Config(self.featurizer.choices(&h.tokens))).collect();
                let (log_probability, steps) = forced.next().unwrap_or_default();
                answers.push(Answer {
                    ranking,
                    log_probability: Some(log_probability),
                    steps: Some(steps),
                    first: None,
                    time_us: None,
                });
            }
        }
        Ok(answers)
    }

    /// Natural logarithms of the probabilities of all choices at `at`, row after row; `rows` are problems' with their prefixes.
    fn log_probabilities(&self, at: usize, rows: &[f64], count: usize) -> Result<Vec<f64>> {
        let values = self.asked.kernel.parameters[at].values.len();
        let (occurring, trees) = &self.links[at];
        let mut log = vec![self.floor.ln(); count * values];
        let found = match trees {
            Some(trees) => trees.predict(rows, self.threads)?,
            None => vec![1.0; count * occurring.len()],
        };
        for (row, probabilities) in found.chunks(occurring.len().max(1)).enumerate() {
            for (choice, p) in occurring.iter().zip(probabilities) {
                log[row * values + *choice as usize] = p.max(self.floor).ln();
            }
        }
        Ok(log)
    }

    fn search(&self, seen: &[Seen], instance: &[Instance], width: usize) -> Result<Vec<Vec<Hypothesis>>> {
        let count = self.asked.kernel.parameters.len();
        let vocabulary = self.featurizer.vocab.tokens();
        let mut advance =
            |problem: usize, tokens: &mut Vec<u16>| advance(self.featurizer, &instance[problem], None, tokens);
        let mut score = |beams: &[Vec<Hypothesis>]| -> Result<Vec<f32>> {
            let mut scores = vec![0.0; beams.iter().map(Vec::len).sum::<usize>() * vocabulary];
            // rows that ask for the same parameter go together
            let mut by_position: Vec<Vec<(usize, usize, &Hypothesis)>> = vec![Vec::new(); count];
            let mut at_row = 0;
            for (problem, beam) in beams.iter().enumerate() {
                for hypothesis in beam {
                    if !hypothesis.next.open.is_empty() {
                        by_position[hypothesis.tokens.len()].push((at_row, problem, hypothesis));
                    }
                    at_row += 1;
                }
            }
            for (at, asked) in by_position.iter().enumerate().filter(|(_, asked)| !asked.is_empty()) {
                let mut matrix = Vec::new();
                for (_, problem, hypothesis) in asked {
                    matrix.extend(&seen[*problem].problem);
                    let prefix = self.featurizer.choices(&hypothesis.tokens);
                    matrix.extend(step_row(self.featurizer, &instance[*problem], &prefix));
                }
                let log = self.log_probabilities(at, &matrix, asked.len())?;
                let (values, first) =
                    (self.asked.kernel.parameters[at].values.len(), self.featurizer.token(at, 0) as usize);
                for ((row, _, _), log) in asked.iter().zip(log.chunks(values)) {
                    log.iter().enumerate().for_each(|(c, l)| scores[row * vocabulary + first + c] = *l as f32);
                }
            }
            Ok(scores)
        };
        beam_search(seen.len(), width, vocabulary, &mut advance, &mut score)
    }

    /// Log-probability of the tuned config of each problem among legal ones, and its steps.
    #[allow(clippy::type_complexity)] // read once, by `answers`
    fn forced_likelihoods(
        &self,
        tests: &[&MeasuredProblem],
        seen: &[Seen],
        instance: &[Instance],
    ) -> Result<Vec<(f64, Vec<(usize, bool)>)>> {
        let mut found = vec![(0.0, Vec::new()); tests.len()];
        for at in 0..self.asked.kernel.parameters.len() {
            let (mut open, mut matrix) = (Vec::new(), Vec::new());
            for (i, seen) in seen.iter().enumerate() {
                if let Some(step) = &seen.steps[at] {
                    open.push(i);
                    matrix.extend(&seen.problem);
                    matrix.extend(step);
                }
            }
            if open.is_empty() {
                continue;
            }
            let log = self.log_probabilities(at, &matrix, open.len())?;
            let values = self.asked.kernel.parameters[at].values.len();
            for (i, log) in open.into_iter().zip(log.chunks(values)) {
                let (config, (sum, steps)) = (tuned_config(tests[i]), &mut found[i]);
                let legal = instance[i].space.completions(&config.0[..at])?;
                let total: f64 = legal.iter().map(|c| log[c as usize].exp()).sum();
                let wanted = config.0[at];
                let best = legal.iter().max_by(|a, b| log[*a as usize].total_cmp(&log[*b as usize]));
                *sum += log[wanted as usize] - total.ln();
                steps.push((at, best == Some(wanted)));
            }
        }
        Ok(found)
    }
}

fn spell<'a>(asked: &TestSet<'a>, tried: &MeasuredProblem) -> Instance {
    Instance::new(asked.kernel, &tried.problem, asked.device(tried))
}

/// The values of the parameters set so far and the features that they decide.
fn step_row(featurizer: &Featurizer, instance: &Instance, prefix: &[Choice]) -> Vec<f64> {
    let values = featurizer.kernel.parameters.iter().zip(prefix).map(|(p, c)| p.values[*c as usize] as f64);
    let mut features = Vec::new();
    featurizer.step(instance, prefix, &mut features);
    values.chain(features.into_iter().map(f64::from)).collect()
}

/// What trees see of a problem that a tuner chose a config for.
struct Seen {
    /// Quantities of the problem and its device.
    problem: Vec<f64>,
    /// By position: [`step_row`] before it, `None` where one value alone is legal.
    steps: Vec<Option<Vec<f64>>>,
}

impl Seen {
    fn new(featurizer: &Featurizer, instance: &Instance, config: &Config) -> Result<Seen> {
        let step = |at: usize| {
            let prefix = &config.0[..at];
            let open = instance.space.completions(prefix)?.only().is_none();
            Ok(open.then(|| step_row(featurizer, instance, prefix)))
        };
        let steps = (0..config.0.len()).map(step).collect::<Result<_>>()?;
        let problem = featurizer.quantities(instance, Objective::Time).into_iter().map(f64::from).collect();
        Ok(Seen { problem, steps })
    }
}
