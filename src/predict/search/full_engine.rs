//! The full model as an engine: what the beam found, ranked by likelihood, re-ranker and trees together.

use crate::confidence::opinion_pool::pooled_score;
use crate::engine::{BeamFinds, Engine, EngineKind, Judged, PROBLEMS_PER_BATCH, PrefixScores};
use crate::features::featurizer::Instance;
use crate::network::reranker::{BatchScorer, Scores};
use crate::network::transformer::DecodingRow;
use crate::posterior::cost_neighbours::{TreeOpinion, small_space_size};
use crate::search::beam::Hypothesis;
use crate::search::candidate::{Candidate, Scored};
use crate::search::decoder::{BeamOptions, Searched};
use crate::search::full_model::{EstimateMut, FullModel};
use crate::search::query::Query;
use seqtune_kernel::elementary::exp;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::{on_threads, run_in_pool};
use seqtune_kernel::{Config, Objective, Problem};

impl FullModel {
    /// Answers a batch of problems; with `among`, only those of its configs are followed.
    fn batch(
        &self,
        problems: &[Problem],
        query: &Query,
        among: Option<&[Config]>,
        parallel: bool,
    ) -> Result<Vec<BeamFinds>> {
        let instance = |problem: &Problem| Instance::new(&self.featurizer.kernel, problem, query.device);
        let instances: Vec<Instance> = problems.iter().map(instance).collect();
        for (instance, problem) in instances.iter().zip(problems) {
            instance.check(problem, query.device)?;
        }
        let options = BeamOptions { objective: query.objective, width: self.width(query), among, parallel };
        let searched = self.beam(&instances, &options, &mut |_, _| {})?;
        if !self.ensemble.reranks() {
            return Ok(self.time_finds(&instances, searched, query.top));
        }
        let Searched { beams, caches, .. } = searched;
        let rerank = |(problem, beam): (usize, &Vec<Hypothesis>)| {
            let scorer = self.ensemble.scorer(&self.featurizer, &instances[problem], &caches, problem);
            self.rerank(&instances[problem], scorer, beam, query)
        };
        Ok(beams.iter().enumerate().map(rerank).collect())
    }

    /// Ranks what a beam found by likelihood, re-ranker and trees together.
    fn rerank(&self, instance: &Instance, mut scorer: BatchScorer, beam: &[Hypothesis], query: &Query) -> BeamFinds {
        let configs: Vec<Config> = beam.iter().map(|h| Config(self.featurizer.choices(&h.tokens))).collect();
        configs.iter().for_each(|c| scorer.add(&c.0));
        let opinions = self.tree_opinions(instance, query.objective, &configs);
        let mut ranked: Vec<(f64, Candidate)> = std::iter::zip(configs, beam)
            .zip(scorer.take_averaged().into_iter().zip(opinions))
            .map(|((config, h), (scores, TreeOpinion { logs: [values, lists], risk }))| {
                let opinions = [h.log_probability, scores.rank as f64, values, lists];
                let candidate = self.candidate(instance, config, h.log_probability, scores);
                (pooled_score(&self.weights, &opinions), Candidate { risk, ..candidate })
            })
            .collect();
        let estimates = ranked.iter_mut().map(|(_, c)| EstimateMut {
            config: &c.config,
            time_us: &mut c.time_us,
            joules: &mut c.joules,
        });
        self.reshape(instance, estimates);
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        BeamFinds {
            likelihood: beam.iter().map(|h| exp(h.log_probability)).sum(),
            scores: ranked.iter().map(|(score, _)| *score).collect(),
            candidates: ranked.into_iter().take(query.top).map(|(_, candidate)| candidate).collect(),
        }
    }

    /// The `top` of each beam with their times from the step at "finished": of networks without a re-ranker.
    fn time_finds(&self, instances: &[Instance], searched: Searched, top: usize) -> Vec<BeamFinds> {
        let Searched { beams, mut caches, histories } = searched;
        let (mut rows, mut features, mut finished) = (Vec::new(), Vec::new(), Vec::new());
        for (problem, beam) in beams.iter().enumerate() {
            for hypothesis in beam.iter().take(top) {
                let choices = self.featurizer.choices(&hypothesis.tokens);
                self.featurizer.step(&instances[problem], &choices, &mut features);
                rows.push(DecodingRow {
                    problem,
                    token: self.featurizer.last_token(&choices),
                    position: self.featurizer.parameter(choices.len()),
                    history: histories.get(problem).and_then(|h| h.get(hypothesis.parent)).map_or(&[], Vec::as_slice),
                });
                finished.push((problem, Config(choices), hypothesis.log_probability));
            }
        }
        let step = self.ensemble.step(&mut caches, &rows, &features, self.featurizer.kernel_index);
        let mut answers: Vec<Vec<Candidate>> = vec![Vec::new(); beams.len()];
        for ((problem, config, log_probability), time) in finished.into_iter().zip(self.ensemble.times(&step.hidden)) {
            let scores = Scores { costs: [time, f32::NAN], rank: 0.0 };
            answers[problem].push(self.candidate(&instances[problem], config, log_probability, scores));
        }
        let found = |candidates| BeamFinds { candidates, scores: Vec::new(), likelihood: 0.0 };
        answers.into_iter().map(found).collect()
    }
}

impl Engine for FullModel {
    fn kind(&self) -> EngineKind {
        EngineKind::Full
    }

    /// All configs where cost neighbours rank them, which know better than the likelihood.
    fn width(&self, query: &Query) -> usize {
        let all = small_space_size(&self.featurizer.kernel).filter(|_| self.finds_all(query.objective));
        query.width.max(query.top).max(all.unwrap_or(0))
    }

    fn finds_all(&self, objective: Objective) -> bool {
        self.neighbours(objective).is_some()
    }

    fn ranks_all(&self) -> bool {
        self.ensemble.reranks()
    }

    fn has_trees(&self, objective: Objective) -> bool {
        self.trees.iter().any(|trees| trees.objective == objective)
    }

    fn search(&self, problems: &[Problem], query: &Query) -> Result<Vec<BeamFinds>> {
        let batches: Vec<&[Problem]> = problems.chunks(PROBLEMS_PER_BATCH).collect();
        let found = match &batches[..] {
            // the members compute side by side where a batch has all threads to itself
            [only] if query.threads > 1 => vec![run_in_pool(query.threads, || self.batch(only, query, None, true))??],
            _ => on_threads(&batches, query.threads, |batch| self.batch(batch, query, None, false))?,
        };
        Ok(found.into_iter().flatten().collect())
    }

    fn rank(&self, problem: &Problem, query: &Query, configs: &[Config]) -> Result<Vec<Candidate>> {
        let found = self.batch(std::slice::from_ref(problem), query, Some(configs), false)?;
        Ok(found.into_iter().flat_map(|found| found.candidates).collect())
    }

    fn score(&self, instance: &Instance, objective: Objective, configs: &[Config]) -> Result<Vec<Scored>> {
        self.score_given(instance, objective, configs)
    }

    fn greedy(&self, instance: &Instance, unbroken: bool) -> Option<Config> {
        self.most_probable(instance, unbroken)
    }

    fn judge_all(&self, problem: &Problem, query: &Query) -> Result<Judged> {
        match self.ranks_all() {
            true => self.rerank_all(problem, query),
            false => input("the model learned from tuned configs, so it has nothing that ranks every legal config"),
        }
    }

    fn prefix_scores(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<PrefixScores>>> {
        let batches: Vec<&[Problem]> = problems.chunks(PROBLEMS_PER_BATCH).collect();
        let scores = on_threads(&batches, query.threads, |batch| {
            let instance = |problem: &Problem| Instance::new(&self.featurizer.kernel, problem, query.device);
            let instances: Vec<Instance> = batch.iter().map(instance).collect();
            let options = BeamOptions { objective: query.objective, width: query.width, among: None, parallel: false };
            let mut asked = vec![Vec::new(); instances.len()];
            self.beam(&instances, &options, &mut |problem, prefix| asked[problem].push(prefix))?;
            Ok(asked)
        })?;
        Ok(scores.into_iter().flatten().collect())
    }
}
