//! Problems as a whole model answers them: what one small decoder learns, so that its likelihood alone ranks as networks, re-ranker and trees
//! do together (distillation, Hinton et al. 2015).

use crate::distil::chain::Chain;
use crate::distil::lesson::{ConfigShare, Lesson, Wanted};
use crate::distil::whole::Whole;
use crate::training_data::{UnmeasuredProblem, contenders, draw_between};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_data::{MeasuredProblem, Outcome, Table};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, Device, Objective, Problem};
use seqtune_predict::confidence::KnownCost;
use seqtune_predict::features::{Featurizer, Instance};
use seqtune_predict::numeric::softmax::{distribution, softmax};
use seqtune_predict::search::PrefixScores;
use seqtune_predict::{Candidate, Query};
use std::collections::BTreeSet;

/// Configs of each measured problem that a model of sweeps finds most probable.
const BEAM: usize = 48;

/// The same of an invented problem: half, in half the time.
const NARROW: usize = 24;

/// How much sharper the target of a model of sweeps is than what the model was trained towards: the same error of the small decoder exchanges
/// fewer configs then (docs/log/2026-11.md).
const SHARPER: f64 = 3.0;

/// Hypotheses of each problem whose prefixes are learned of a model of tuned configs.
const PREFIXES: usize = 6;

/// Prefixes that are less probable are not learned.
const LEAST: f64 = 0.03;

/// Problems that the model is asked about at once.
const TOGETHER: usize = 12;

/// Batches of them between two words of progress.
const PORTION: usize = 16;

/// Configs of each problem that were good for others, drawn at random.
const OTHERS: usize = 16;

/// What examples are made from.
pub struct Teacher<'a> {
    /// The whole model.
    pub whole: &'a Whole,
    /// Encoder of the kernel.
    pub featurizer: &'a Featurizer,
    /// Measured problems.
    pub table: &'a Table,
    /// Those to learn from.
    pub indices: &'a [usize],
    /// Quantity that is learned.
    pub objective: Objective,
    /// Temperature of the soft target.
    pub tau: f64,
    /// Share of what was measured or tuned in the target of such a problem; the rest is what the model says.
    pub measured: f64,
    /// Measured problems that are asked about at most.
    pub most: usize,
    /// Trees that are asked beside networks of tuned configs.
    pub chain: Option<&'a Chain>,
}

/// A problem that the model is asked about, with its measurements if there are any.
struct Asked<'a> {
    problem: Problem,
    device: &'a Device,
    measured: Option<&'a MeasuredProblem>,
    seed: u64,
}

impl Teacher<'_> {
    /// A lesson of each measured problem and of `invented` ones between them, on all cores; `told` counts them.
    ///
    /// # Errors
    /// The error of a prediction.
    pub fn lessons(&self, invented: usize, seed: u64, told: &mut dyn FnMut(usize, usize)) -> Result<Vec<Lesson>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tried: Vec<&MeasuredProblem> = self.indices.iter().map(|i| &self.table.problems[*i]).collect();
        let mut asked: Vec<Asked> = Vec::new();
        for measured in tried.choose_multiple(&mut rng.clone(), self.most) {
            let (problem, device) = (measured.problem.clone(), &self.table.devices[measured.device]);
            asked.push(Asked { problem, device, measured: Some(measured), seed: rng.random() });
        }
        let of_devices = self.whole.together(&tried);
        for i in 0..invented {
            let UnmeasuredProblem { problem, device } =
                draw_between(&self.featurizer.kernel, &of_devices[i % of_devices.len()], &mut rng);
            let device = &self.table.devices[device];
            asked.push(Asked { problem, device, measured: None, seed: rng.random() });
        }
        let others = match self.table.is_tuned() {
            true => Vec::new(),
            false => contenders(self.table, self.indices, self.objective),
        };
        // together those of a device, which is asked about many problems at once
        asked.sort_by(|a, b| a.device.name.cmp(&b.device.name));
        let groups: Vec<&[Asked]> = asked
            .chunk_by(|a, b| a.device.name == b.device.name)
            .flat_map(|of_device| of_device.chunks(TOGETHER))
            .collect();
        let (mut lessons, mut done) = (Vec::new(), 0);
        // in portions, so that progress shows
        for portion in groups.chunks(PORTION) {
            let made = on_threads(portion, cores(), |asked| match self.table.is_tuned() {
                true => self.prefixes(asked),
                false => {
                    let each = asked.iter().map(|asked| Ok([self.lesson(asked, &others)?, self.list(asked)?]));
                    Ok(each.collect::<Result<Vec<_>>>()?.into_iter().flatten().flatten().collect())
                }
            })?;
            lessons.extend(made.into_iter().flatten());
            done += portion.iter().map(|asked| asked.len()).sum::<usize>();
            told(done, asked.len());
        }
        Ok(lessons)
    }

    /// What the model finds for a problem, among all legal configs; nothing where no config is legal, or only one.
    fn lesson(&self, asked: &Asked, others: &[&Config]) -> Result<Option<Lesson>> {
        let Asked { problem, device, measured, .. } = asked;
        let beam = if measured.is_some() { BEAM } else { NARROW };
        let query = Query { objective: self.objective, top: beam, width: beam, ..Query::new(device) };
        let found = match self.whole.predictor_on(device).predict_one(problem, &query) {
            Ok(found) => found.candidates,
            Err(Error::NoLegalConfig(_)) => return Ok(None),
            Err(e) => return Err(e),
        };
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        let configs = self.configs(asked, &instance, &found, others);
        self.judge(asked, &instance, configs, Vec::new())
    }

    /// Configs as were measured, many of them far from the best: their order among themselves, which what the model finds tells little of.
    /// Those of the problem itself where it was measured, else those of one that was.
    fn list(&self, asked: &Asked) -> Result<Option<Lesson>> {
        let mut rng = ChaCha8Rng::seed_from_u64(!asked.seed);
        let Some(of) = asked.measured.or_else(|| Some(&self.table.problems[*self.indices.choose(&mut rng)?])) else {
            return Ok(None);
        };
        let instance = Instance::new(&self.featurizer.kernel, &asked.problem, asked.device);
        let costs = of.costs(self.objective);
        let configs = costs.iter().map(|known| known.config).filter(|c| instance.space.is_legal(c)).cloned().collect();
        let known = asked.measured.map_or(Vec::new(), |_| soft_target(&costs, self.tau));
        let lesson = self.judge(asked, &instance, configs, known)?;
        Ok(lesson.map(|lesson| Lesson { among_legal: false, ..lesson }))
    }

    /// What the model says of configs, and, in part, the share of the target that those have which are `known`; nothing of fewer than two.
    fn judge(
        &self,
        asked: &Asked,
        instance: &Instance,
        configs: Vec<Config>,
        known: Vec<ConfigShare>,
    ) -> Result<Option<Lesson>> {
        let Asked { problem, device, measured, .. } = asked;
        if configs.len() < 2 {
            return Ok(None);
        }
        let predictor = self.whole.predictor_on(device);
        let scored = predictor.score(problem, device, self.objective, &configs)?;
        let scores: Vec<f64> = scored.iter().map(|s| predictor.pooled_score(s)).collect();
        // not calibrated: their scale is that of the measured target, towards which networks and trees were fitted
        let mut target = softmax(&scores, 1.0 / SHARPER);
        if !known.is_empty() {
            target.iter_mut().for_each(|p| *p *= 1.0 - self.measured);
            for ConfigShare { config, share } in known {
                let at = configs.iter().position(|c| c == config);
                at.into_iter().for_each(|at| target[at] += self.measured * share);
            }
        }
        let heads = |i: usize| {
            let outcome = measured.and_then(|measured| measured.outcome(&configs[i]));
            let time = outcome.and_then(Outcome::time_us).or(scored[i].time_us);
            self.featurizer.encode_costs(instance, time, outcome.and_then(Outcome::joules).or(scored[i].joules))
        };
        let wanted =
            (0..configs.len()).map(|i| Wanted { config: configs[i].clone(), target: target[i], costs: heads(i) });
        Lesson::new(self.featurizer, instance, self.objective, wanted.collect()).map(Some)
    }

    /// What the networks of tuned configs, and trees beside them, say behind the prefixes of the networks' beam: their likelihood alone ranks,
    /// and it is a product of such steps. The problems are of one device.
    fn prefixes(&self, asked: &[Asked]) -> Result<Vec<Lesson>> {
        let problems: Vec<Problem> = asked.iter().map(|asked| asked.problem.clone()).collect();
        let Some(Asked { device, .. }) = asked.first() else { return Ok(Vec::new()) };
        let query = Query { objective: self.objective, width: PREFIXES, ..Query::new(device) };
        let said = self.whole.predictor_on(device).prefix_scores(&problems, &query)?;
        let lessons = asked.iter().zip(said).map(|(asked, said)| self.lesson_of_prefixes(asked, said));
        Ok(lessons.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Nothing where no config is legal, or only one.
    fn lesson_of_prefixes(&self, asked: &Asked, mut said: Vec<PrefixScores>) -> Result<Option<Lesson>> {
        let Asked { problem, device, measured, .. } = asked;
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        said.retain(|asked| asked.log_probability >= LEAST.ln());
        // trees of all devices know no more of one with few records than networks of all
        if let Some(chain) = self.chain.filter(|_| !self.whole.is_refined_on(device)) {
            let quantities = self.featurizer.quantities(&instance, self.objective);
            said.iter_mut().for_each(|asked| self.with_trees(chain, &instance, &quantities, asked));
        }
        let Some(last) = said.iter().max_by_key(|asked| asked.prefix.len()) else { return Ok(None) };
        let tuned = measured.and_then(MeasuredProblem::tuned_config);
        let Some(config) = tuned.map(|tuned| tuned.config.clone()).or_else(|| complete_config(&instance, last)) else {
            return Ok(None);
        };
        let time = tuned.and_then(|tuned| tuned.outcome.time_us());
        let costs = self.featurizer.encode_costs(&instance, time, None);
        let tuned = tuned.map(|tuned| ConfigShare { config: &tuned.config, share: self.measured });
        let finished = Wanted { config, target: 1.0, costs };
        Lesson::of_prefixes(self.featurizer, &instance, &said, finished, tuned).map(Some)
    }

    /// Takes the geometric mean of what networks and trees say behind a prefix.
    fn with_trees(&self, chain: &Chain, instance: &Instance, quantities: &[f32], asked: &mut PrefixScores) {
        let PrefixScores { prefix, choices, log, .. } = &*asked;
        let Some(trees) = chain.log(self.featurizer, instance, quantities, prefix, choices) else { return };
        let both: Vec<f64> = log.iter().zip(trees).map(|(network, trees)| 0.5 * (network + trees)).collect();
        asked.log = softmax(&both, 1.0).into_iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
    }

    /// What the model found, and what was good for other problems; each once.
    fn configs(&self, asked: &Asked, instance: &Instance, found: &[Candidate], others: &[&Config]) -> Vec<Config> {
        let mut configs: Vec<Config> = found.iter().map(|c| c.config.clone()).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(asked.seed);
        let drawn = others.choose_multiple(&mut rng, OTHERS).copied();
        configs.extend(drawn.filter(|c| instance.space.is_legal(c)).cloned());
        let mut seen = BTreeSet::new();
        configs.retain(|c| seen.insert(c.clone()));
        configs
    }
}

/// What a small decoder learns of costs, which come best first: the shares of their configs by the soft target of temperature `tau`, sharpened.
pub fn soft_target<'c>(costs: &[KnownCost<'c>], tau: f64) -> Vec<ConfigShare<'c>> {
    let Some(best) = costs.first().map(|known| known.cost) else { return Vec::new() };
    let relative: Vec<f64> = costs.iter().map(|known| known.cost / best).collect();
    let shares = distribution(&relative, Some(tau / SHARPER));
    let share = |(known, share): (&KnownCost<'c>, f32)| ConfigShare { config: known.config, share: share as f64 };
    costs.iter().zip(shares).map(share).collect()
}

/// A config that begins with a prefix and its most probable choice, and goes on with the first legal ones.
fn complete_config(instance: &Instance, asked: &PrefixScores) -> Option<Config> {
    let best = (0..asked.log.len()).max_by(|a, b| asked.log[*a].total_cmp(&asked.log[*b]))?;
    let mut config = asked.prefix.clone();
    config.push(asked.choices[best]);
    while config.len() < instance.space.kernel.parameters.len() {
        config.push(instance.space.completions(&config).ok()?.iter().next()?);
    }
    Some(Config(config))
}
