//! The beam of the full model: the networks' scores, within the legal space.

use crate::engine::PrefixScores;
use crate::features::featurizer::{Featurizer, Instance};
use crate::network::ensemble::{EnsembleStep, HiddenRow, KvCaches};
use crate::network::transformer::DecodingRow;
use crate::search::beam::{Hypothesis, Next, beam_search};
use crate::search::full_model::FullModel;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Config, Objective};

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

/// How a batch of problems is searched.
pub(crate) struct BeamOptions<'q> {
    pub(crate) objective: Objective,
    pub(crate) width: usize,
    /// The configs that are followed; all legal ones where `None`.
    pub(crate) among: Option<&'q [Config]>,
    /// Whether the members of the ensemble compute side by side.
    pub(crate) parallel: bool,
}

/// What a search leaves, by problem.
pub(crate) struct Searched {
    /// Finished hypotheses, the most probable first.
    pub(crate) beams: Vec<Vec<Hypothesis>>,
    pub(crate) caches: KvCaches,
    /// History of each row of the last step that was scored.
    pub(crate) histories: Vec<Vec<Vec<u32>>>,
}

/// A search on its way.
struct Steps<'a> {
    model: &'a FullModel,
    instances: &'a [Instance],
    caches: KvCaches,
    /// By problem, the history of each row of the step before.
    histories: Vec<Vec<Vec<u32>>>,
    /// Receives every prefix that is asked about, with the problem's number.
    seen: &'a mut dyn FnMut(usize, PrefixScores),
}

impl FullModel {
    /// Searches a batch of problems. `seen` receives every prefix that is asked about, with the problem's number.
    ///
    /// # Errors
    /// As [`advance`].
    pub(crate) fn beam(
        &self,
        instances: &[Instance],
        options: &BeamOptions,
        seen: &mut dyn FnMut(usize, PrefixScores),
    ) -> Result<Searched> {
        let featurizer = &*self.featurizer;
        let caches = self.encode(instances, options.objective, options.parallel);
        let histories = vec![vec![Vec::new()]; instances.len()];
        let mut steps = Steps { model: self, instances, caches, histories, seen };
        let beams = beam_search(
            instances.len(),
            options.width,
            featurizer.vocab.tokens(),
            &mut |problem, tokens| advance(featurizer, &instances[problem], options.among, tokens),
            &mut |beams| Ok(steps.score(beams)),
        )?;
        Ok(Searched { beams, caches: steps.caches, histories: steps.histories })
    }

    /// Encodes problems for an objective.
    pub(crate) fn encode(&self, instances: &[Instance], objective: Objective, parallel: bool) -> KvCaches {
        let mut source = Vec::new();
        for instance in instances {
            self.featurizer.vocab.encode(&self.featurizer.quantities(instance, objective), &mut source);
        }
        self.ensemble.encode(&source, instances.len(), self.featurizer.kernel_index, parallel)
    }
}

impl Steps<'_> {
    /// Scores all tokens behind each row of the beams (rows, V); finished hypotheses and fillers keep their place, with scores that nobody reads.
    fn score(&mut self, beams: &[Vec<Hypothesis>]) -> Vec<f32> {
        let (model, featurizer) = (self.model, &*self.model.featurizer);
        let (mut rows, mut features, mut prefixes) = (Vec::new(), Vec::new(), Vec::new());
        for (problem, beam) in beams.iter().enumerate() {
            for hypothesis in beam.iter().filter(|h| !h.next.open.is_empty()) {
                let prefix = featurizer.choices(&hypothesis.tokens);
                featurizer.step(&self.instances[problem], &prefix, &mut features);
                rows.push(DecodingRow {
                    problem,
                    token: featurizer.last_token(&prefix),
                    position: featurizer.parameter(prefix.len()),
                    history: &self.histories[problem][hypothesis.parent],
                });
                prefixes.push(prefix);
            }
        }
        let EnsembleStep { hidden, entries } =
            model.ensemble.step(&mut self.caches, &rows, &features, featurizer.kernel_index);
        let vocabulary = featurizer.vocab.tokens();
        let mut scores = vec![0.0; beams.iter().map(Vec::len).sum::<usize>() * vocabulary];
        let mut places = scores.chunks_exact_mut(vocabulary);
        let mut asked = prefixes.into_iter().enumerate();
        let mut longer = Vec::with_capacity(beams.len());
        for (problem, beam) in beams.iter().enumerate() {
            let mut own = Vec::with_capacity(beam.len());
            for (hypothesis, place) in beam.iter().zip(places.by_ref()) {
                let mut history = self.histories[problem].get(hypothesis.parent).cloned().unwrap_or_default();
                let next = if hypothesis.next.open.is_empty() { None } else { asked.next() };
                if let Some((row, prefix)) = next {
                    let first = featurizer.token(prefix.len(), 0);
                    let Next { open, closed } = &hypothesis.next;
                    let choices: Vec<Choice> = open.iter().chain(closed).map(|token| token - first).collect();
                    let instance = &self.instances[problem];
                    let log = model.ensemble.choose(
                        featurizer,
                        instance,
                        HiddenRow { hidden: &hidden, row },
                        &prefix,
                        &choices,
                    );
                    choices.iter().zip(&log).for_each(|(c, log)| place[(first + c) as usize] = *log as f32);
                    let log_probability = hypothesis.log_probability;
                    (self.seen)(problem, PrefixScores { prefix, log_probability, choices, log });
                    history.push(entries[row]);
                }
                own.push(history);
            }
            longer.push(own);
        }
        self.histories = longer;
        scores
    }
}
