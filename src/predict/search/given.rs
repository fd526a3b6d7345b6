//! Given configs, scored by the full model: the likelihood of each among all legal ones, with its costs; and greedy decoding.

use crate::features::featurizer::Instance;
use crate::features::sequence::Sequence;
use crate::network::ensemble::{EnsembleStep, HiddenRow};
use crate::network::transformer::DecodingRow;
use crate::search::candidate::Scored;
use crate::search::full_model::{EstimateMut, FullModel};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Config, Objective};

impl FullModel {
    /// Returns the most probable value at each step, see [`crate::engine::Engine::greedy`].
    pub(crate) fn most_probable(&self, instance: &Instance, unbroken: bool) -> Option<Config> {
        let featurizer = &*self.featurizer;
        let mut caches = self.encode(std::slice::from_ref(instance), Objective::Time, false);
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
            let row = DecodingRow { problem: 0, token, position, history: &history };
            let EnsembleStep { hidden, entries } =
                self.ensemble.step(&mut caches, &[row], &features, featurizer.kernel_index);
            let log = self.ensemble.choose(featurizer, instance, HiddenRow { hidden: &hidden, row: 0 }, &prefix, &open);
            let best = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b]))?;
            history.push(entries[0]);
            prefix.push(open[best]);
        }
        Some(Config(prefix))
    }

    /// Scores finished configs of one problem, all in step.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a config is illegal.
    pub(crate) fn score_given(
        &self,
        instance: &Instance,
        objective: Objective,
        configs: &[Config],
    ) -> Result<Vec<Scored>> {
        let featurizer = &*self.featurizer;
        let sequences =
            configs.iter().map(|c| Sequence::new(featurizer, instance, c, false)).collect::<Result<Vec<_>>>()?;
        let mut caches = self.encode(std::slice::from_ref(instance), objective, false);
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
            for (scored, scores) in scored.iter_mut().zip(scorer.take_averaged()) {
                [scored.time_us, scored.joules] = featurizer.decode_costs(instance, scores.costs);
                scored.rank = scores.rank as f64;
            }
            let estimates = configs.iter().zip(&mut scored).map(|(config, scored)| EstimateMut {
                config,
                time_us: &mut scored.time_us,
                joules: &mut scored.joules,
            });
            self.reshape(instance, estimates);
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
                DecodingRow { problem: 0, token, position, history: &histories[*i] }
            };
            let rows: Vec<DecodingRow> = live.iter().map(row).collect();
            let EnsembleStep { hidden, entries } =
                self.ensemble.step(&mut caches, &rows, &features, featurizer.kernel_index);
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
                let log =
                    self.ensemble.choose(featurizer, instance, HiddenRow { hidden: &hidden, row }, prefix, &choices);
                let best = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b])).unwrap_or(0);
                let of_wanted = choices.iter().zip(&log).find(|(c, _)| **c == wanted).map_or(f64::NAN, |(_, log)| *log);
                scored[*i].log_probability += of_wanted;
                scored[*i].steps.push((position, choices[best] == wanted));
            }
        }
        Ok(scored)
    }
}
