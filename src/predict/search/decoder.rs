//! The search for one batch of problems: the network's scores in the beam, within the legal space, and the re-ranking behind it.

use crate::confidence::calibration::Calibration;
use crate::confidence::opinion_pool::{EQUAL, PoolWeights, pooled_score};
use crate::features::featurizer::{Featurizer, Instance};
use crate::features::sequence::Sequence;
use crate::network::ensemble::{Ensemble, KvCaches};
use crate::network::reranker::Scores;
use crate::network::transformer::Row;
use crate::posterior::cost_neighbours::{TreeOpinion, small_space_size};
use crate::search::beam::{Hypothesis, Next, beam_search};
use crate::search::candidate::{Candidate, Scored};
use crate::search::query::Query;
use crate::trees::gbdt::TreesInStep;
use seqtune_kernel::Objective;
use seqtune_kernel::elementary::exp;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Config, Problem};

/// Extends tokens by all that are forced, and gives what may follow: nothing when they are finished. With `among`, only those of
/// its configs are followed.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
pub fn advance(
    featurizer: &Featurizer,
    instance: &Instance,
    among: Option<&[Config]>,
    tokens: &mut Vec<u16>,
) -> Result<Next> {
    let mut prefix = featurizer.choices(tokens);
    while prefix.len() < featurizer.kernel.parameters.len() {
        let at = prefix.len();
        let legal = instance.space.completions(&prefix)?;
        if let Some(forced) = legal.only() {
            prefix.push(forced);
            tokens.push(featurizer.token(at, forced));
            continue;
        }
        let wanted = among
            .map_or(legal, |configs| configs.iter().filter(|c| c.0.starts_with(&prefix)).map(|c| c.0[at]).collect());
        let (open, closed): (Vec<Choice>, Vec<Choice>) = legal.iter().partition(|c| wanted.contains(*c));
        let tokens = |choices: Vec<Choice>| choices.into_iter().map(|c| featurizer.token(at, c)).collect();
        return Ok(Next { open: tokens(open), closed: tokens(closed) });
    }
    Ok(Next::default())
}

/// What a network says behind a prefix.
#[derive(Clone, Debug)]
pub struct PrefixScores {
    /// The choices before.
    pub prefix: Vec<Choice>,
    /// Natural logarithm of the prefix's probability among all of its length that may be completed.
    pub log_probability: f64,
    /// What may follow.
    pub choices: Vec<Choice>,
    /// Natural logarithm of the probability of each of them.
    pub log: Vec<f64>,
}

/// What a thread needs of a predictor.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    pub(crate) featurizer: &'a Featurizer,
    pub(crate) ensemble: &'a Ensemble,
    /// Of the kernel, for one objective each.
    pub(crate) trees: &'a [TreesInStep],
    pub(crate) calibration: Option<Calibration>,
    /// Whether the members of the ensemble compute side by side.
    pub(crate) parallel: bool,
}

impl Decoder<'_> {
    pub(crate) fn batch(
        self,
        problems: &[Problem],
        query: &Query,
        among: Option<&[Config]>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let Query { device, objective, top, .. } = *query;
        let kernel = &self.featurizer.kernel;
        let instances: Vec<Instance> = problems.iter().map(|p| Instance::new(kernel, p, device)).collect();
        for (instance, problem) in instances.iter().zip(problems) {
            instance.check(problem, device)?;
        }
        let (found, mut caches, histories) =
            self.search(&instances, objective, self.width(query), among, &mut |_, _| {})?;
        if !self.ensemble.reranks() {
            return Ok(self.timed(&instances, found, (&mut caches, &histories), top));
        }
        let answer = |(problem, beam): (usize, Vec<Hypothesis>)| {
            let instance = &instances[problem];
            let mut scorer = self.ensemble.scorer(self.featurizer, instance, &caches, problem);
            let configs: Vec<Config> = beam.iter().map(|h| Config(self.featurizer.choices(&h.tokens))).collect();
            configs.iter().for_each(|c| scorer.add(&c.0));
            let weighed = self.tree_opinions(instance, objective, &configs);
            let weights = self.weights();
            let mut ranked: Vec<(f64, Candidate)> = std::iter::zip(configs, &beam)
                .zip(scorer.averaged().into_iter().zip(weighed))
                .map(|((config, h), (scores, TreeOpinion { logs: [values, lists], risk }))| {
                    let opinions = [h.log_probability, scores.rank as f64, values, lists];
                    let candidate = self.candidate(instance, config, h.log_probability, scores);
                    (pooled_score(&weights, &opinions), Candidate { risk, ..candidate })
                })
                .collect();
            self.reshape(instance, ranked.iter_mut().map(|(_, c)| (&c.config, [&mut c.time_us, &mut c.joules])));
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
            if let Some(calibration) = self.calibration {
                let likelihood: f64 = beam.iter().map(|h| exp(h.log_probability)).sum();
                let scores: Vec<f64> = ranked.iter().map(|(score, _)| *score).collect();
                for ((_, candidate), share) in ranked.iter_mut().zip(calibration.probabilities(&scores)) {
                    candidate.probability = likelihood * share;
                }
            }
            ranked.into_iter().take(top).map(|(_, candidate)| candidate).collect()
        };
        Ok(found.into_iter().enumerate().map(answer).collect())
    }

    /// Whether cost neighbours rank configs by an objective.
    pub(crate) fn by_neighbours(self, objective: Objective) -> bool {
        self.trees.iter().any(|trees| trees.objective == objective && trees.neighbours().is_some())
    }

    /// How many configs the beam finds: all where cost neighbours rank them, which know better than the likelihood.
    pub(crate) fn width(self, query: &Query) -> usize {
        let all = small_space_size(&self.featurizer.kernel).filter(|_| self.by_neighbours(query.objective));
        query.width.max(query.top).max(all.unwrap_or(0))
    }

    /// Gives times and energies of configs the shape that cost neighbours know; what they come to on average stays what the networks say.
    fn reshape<'c>(self, instance: &Instance, configs: impl Iterator<Item = (&'c Config, [&'c mut f64; 2])>) {
        let neighbours =
            |of: Objective| self.trees.iter().find(|t| t.objective == of).and_then(TreesInStep::neighbours);
        let known = [neighbours(Objective::Time), neighbours(Objective::Energy)];
        if known.iter().all(Option::is_none) {
            return;
        }
        let (configs, costs): (Vec<Config>, Vec<[&mut f64; 2]>) =
            configs.map(|(config, c)| (config.clone(), c)).unzip();
        let (mut times, mut joules): (Vec<&mut f64>, Vec<&mut f64>) = costs.into_iter().map(|[t, j]| (t, j)).unzip();
        for (neighbours, costs) in known.iter().zip([&mut times, &mut joules]) {
            if let Some(neighbours) = neighbours {
                neighbours.reshape(instance, &configs, costs);
            }
        }
    }

    pub(crate) fn candidate(
        self,
        instance: &Instance,
        config: Config,
        log_probability: f64,
        scores: Scores,
    ) -> Candidate {
        let [time_us, joules] = self.featurizer.decode_costs(instance, scores.costs);
        let probability = exp(log_probability);
        Candidate { config, log_probability, probability, time_us, joules, risk: f64::NAN, measured: false }
    }

    /// How much likelihood, re-ranker and trees count.
    pub(crate) fn weights(self) -> PoolWeights {
        self.calibration.map_or(EQUAL, |calibration| calibration.weights)
    }

    /// What the trees for the objective say of configs that are compared, see [`TreesInStep::weigh`].
    pub(crate) fn tree_opinions(
        self,
        instance: &Instance,
        objective: Objective,
        configs: &[Config],
    ) -> Vec<TreeOpinion> {
        let trees = self.trees.iter().find(|trees| trees.objective == objective);
        trees.map_or_else(|| vec![TreeOpinion::NEUTRAL; configs.len()], |trees| trees.weigh(instance, configs))
    }

    /// The `top` of each beam with their times from the step at "finished": of networks without a re-ranker.
    fn timed(
        self,
        instance: &[Instance],
        found: Vec<Vec<Hypothesis>>,
        (caches, histories): (&mut KvCaches, &[Vec<Vec<u32>>]),
        top: usize,
    ) -> Vec<Vec<Candidate>> {
        let (mut rows, mut features, mut finished) = (Vec::new(), Vec::new(), Vec::new());
        for (problem, beam) in found.iter().enumerate() {
            for hypothesis in beam.iter().take(top) {
                let choices = self.featurizer.choices(&hypothesis.tokens);
                self.featurizer.step(&instance[problem], &choices, &mut features);
                rows.push(Row {
                    problem,
                    token: self.featurizer.last_token(&choices),
                    position: self.featurizer.parameter(choices.len()),
                    history: histories.get(problem).and_then(|h| h.get(hypothesis.parent)).map_or(&[], Vec::as_slice),
                });
                finished.push((problem, Config(choices), hypothesis.log_probability));
            }
        }
        let (hidden, _) = self.ensemble.step(caches, &rows, &features, self.featurizer.kernel_index);
        let mut answers = vec![Vec::new(); found.len()];
        for ((problem, config, log_probability), time) in finished.into_iter().zip(self.ensemble.times(&hidden)) {
            let scores = Scores { costs: [time, f32::NAN], rank: 0.0 };
            answers[problem].push(self.candidate(&instance[problem], config, log_probability, scores));
        }
        answers
    }

    /// The prefixes that a beam of this width asks about, of each problem.
    pub(crate) fn prefix_scores(
        self,
        instances: &[Instance],
        objective: Objective,
        width: usize,
    ) -> Result<Vec<Vec<PrefixScores>>> {
        let mut asked = vec![Vec::new(); instances.len()];
        self.search(instances, objective, width, None, &mut |problem, prefix| asked[problem].push(prefix))?;
        Ok(asked)
    }

    /// `seen` hears of every prefix that is asked about, with the problem's number. The beam of each problem, with the caches, and the history of each row of the last step that was scored.
    #[allow(clippy::type_complexity)] // named once, read once
    fn search(
        self,
        instance: &[Instance],
        objective: Objective,
        width: usize,
        among: Option<&[Config]>,
        seen: &mut dyn FnMut(usize, PrefixScores),
    ) -> Result<(Vec<Vec<Hypothesis>>, KvCaches, Vec<Vec<Vec<u32>>>)> {
        let featurizer = self.featurizer;
        let mut caches = self.encode(instance, objective);
        let mut histories: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new()]; instance.len()];
        let mut advance =
            |problem: usize, tokens: &mut Vec<u16>| advance(featurizer, &instance[problem], among, tokens);
        let mut score = |beams: &[Vec<Hypothesis>]| -> Result<Vec<f32>> {
            let (mut rows, mut features, mut asked) = (Vec::new(), Vec::new(), Vec::new());
            for (problem, beam) in beams.iter().enumerate() {
                for hypothesis in beam.iter().filter(|h| !h.next.open.is_empty()) {
                    let prefix = featurizer.choices(&hypothesis.tokens);
                    featurizer.step(&instance[problem], &prefix, &mut features);
                    let token = featurizer.last_token(&prefix);
                    let history = &histories[problem][hypothesis.parent];
                    rows.push(Row { problem, token, position: featurizer.parameter(prefix.len()), history });
                    asked.push((prefix, &hypothesis.next));
                }
            }
            let (hidden, entries) = self.ensemble.step(&mut caches, &rows, &features, featurizer.kernel_index);
            // finished hypotheses and fillers keep their place, with scores that nobody reads
            let v = featurizer.vocab.tokens();
            let mut scores = vec![0.0; beams.iter().map(Vec::len).sum::<usize>() * v];
            let (mut next, mut at) = (0, 0);
            let mut longer = Vec::with_capacity(beams.len());
            for (problem, beam) in beams.iter().enumerate() {
                let mut of_problem = Vec::with_capacity(beam.len());
                for hypothesis in beam {
                    let mut history = histories[problem].get(hypothesis.parent).cloned().unwrap_or_default();
                    if !hypothesis.next.open.is_empty() {
                        let (prefix, legal) = (std::mem::take(&mut asked[next].0), asked[next].1);
                        let first = featurizer.token(prefix.len(), 0);
                        let choices: Vec<Choice> = legal.open.iter().chain(&legal.closed).map(|t| t - first).collect();
                        let log =
                            self.ensemble.choose(featurizer, &instance[problem], (&hidden, next), &prefix, &choices);
                        let place = |c: &Choice| at * v + (first + c) as usize;
                        choices.iter().zip(&log).for_each(|(c, log)| scores[place(c)] = *log as f32);
                        seen(
                            problem,
                            PrefixScores { prefix, log_probability: hypothesis.log_probability, choices, log },
                        );
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
        let found = beam_search(instance.len(), width, featurizer.vocab.tokens(), &mut advance, &mut score)?;
        Ok((found, caches, histories))
    }

    pub(crate) fn encode(self, instance: &[Instance], objective: Objective) -> KvCaches {
        let mut source = Vec::new();
        for instance in instance {
            self.featurizer.vocab.encode(&self.featurizer.quantities(instance, objective), &mut source);
        }
        self.ensemble.encode(&source, instance.len(), self.featurizer.kernel_index, self.parallel)
    }

    pub(crate) fn greedy(self, instance: &Instance, unbroken: bool) -> Option<Config> {
        let featurizer = self.featurizer;
        let mut caches = self.encode(std::slice::from_ref(instance), Objective::Time);
        let (mut prefix, mut history) = (Vec::new(), Vec::new());
        for (at, parameter) in featurizer.kernel.parameters.iter().enumerate() {
            let open: Vec<Choice> = match unbroken {
                true => instance.space.unbroken(&prefix).iter().collect(),
                false => (0..parameter.values.len() as Choice).collect(),
            };
            if open.len() < 2 {
                prefix.push(*open.first()?);
                continue;
            }
            let mut features = Vec::new();
            featurizer.step(instance, &prefix, &mut features);
            let (token, position) = (featurizer.last_token(&prefix), featurizer.parameter(at));
            let row = Row { problem: 0, token, position, history: &history };
            let (hidden, entries) = self.ensemble.step(&mut caches, &[row], &features, featurizer.kernel_index);
            let log = self.ensemble.choose(featurizer, instance, (&hidden, 0), &prefix, &open);
            let best = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b]))?;
            history.push(entries[0]);
            prefix.push(open[best]);
        }
        Some(Config(prefix))
    }

    /// Finished configs of one problem, all in step.
    pub(crate) fn score(self, instance: &Instance, objective: Objective, configs: &[Config]) -> Result<Vec<Scored>> {
        let featurizer = self.featurizer;
        let sequences =
            configs.iter().map(|c| Sequence::new(featurizer, instance, c, false)).collect::<Result<Vec<_>>>()?;
        let mut caches = self.encode(std::slice::from_ref(instance), objective);
        let width = featurizer.step_width();
        let mut histories: Vec<Vec<u32>> = vec![Vec::new(); configs.len()];
        let mut scored = vec![Scored::unknown(); configs.len()];
        let weighed = self.tree_opinions(instance, objective, configs);
        for (scored, weighed) in scored.iter_mut().zip(weighed) {
            (scored.trees, scored.risk) = (weighed.logs, weighed.risk);
        }
        let reranks = self.ensemble.reranks();
        if reranks {
            let mut scorer = self.ensemble.scorer(featurizer, instance, &caches, 0);
            configs.iter().for_each(|c| scorer.add(&c.0));
            for (scored, scores) in scored.iter_mut().zip(scorer.averaged()) {
                [scored.time_us, scored.joules] = featurizer.decode_costs(instance, scores.costs);
                scored.rank = scores.rank as f64;
            }
            let costs = scored.iter_mut().map(|s| [&mut s.time_us, &mut s.joules]);
            self.reshape(instance, configs.iter().zip(costs));
        }
        // the re-ranker has no use for the step at "finished"
        let steps = |s: &Sequence| s.asked.len() - reranks as usize;
        for at in 0..sequences.iter().map(steps).max().unwrap_or(0) {
            let live: Vec<usize> = (0..configs.len()).filter(|i| at < steps(&sequences[*i])).collect();
            let features: Vec<f32> =
                live.iter().flat_map(|i| &sequences[*i].features[at * width..][..width]).copied().collect();
            let row = |i: &usize| {
                let position = sequences[*i].asked[at] as usize;
                let prefix = &configs[*i].0[..position];
                let (token, position) = (featurizer.last_token(prefix), featurizer.parameter(position));
                Row { problem: 0, token, position, history: &histories[*i] }
            };
            let rows: Vec<Row> = live.iter().map(row).collect();
            let (hidden, entries) = self.ensemble.step(&mut caches, &rows, &features, featurizer.kernel_index);
            let times = self.ensemble.times(&hidden);
            for (row, (i, entry)) in live.iter().zip(entries).enumerate() {
                histories[*i].push(entry);
                let sequence = &sequences[*i];
                let Some(legal) = sequence.legal.get(at) else {
                    [scored[*i].time_us, _] = featurizer.decode_costs(instance, [times[row], f32::NAN]);
                    continue;
                };
                let position = sequence.asked[at] as usize;
                let (prefix, wanted) = (&configs[*i].0[..position], configs[*i].0[position]);
                let choices: Vec<Choice> = legal.iter().collect();
                let log = self.ensemble.choose(featurizer, instance, (&hidden, row), prefix, &choices);
                let best = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b])).unwrap_or(0);
                let of_wanted = choices.iter().zip(&log).find(|(c, _)| **c == wanted).map_or(f64::NAN, |(_, log)| *log);
                scored[*i].log_probability += of_wanted;
                scored[*i].steps.push((position, choices[best] == wanted));
            }
        }
        Ok(scored)
    }
}
