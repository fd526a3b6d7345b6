//! Given configs, scored by the small decoder: the likelihood of each among all legal ones.

use crate::distilled::network::Decided;
use crate::distilled::scratch::Work;
use crate::distilled::search::Search;
use crate::search::candidate::Scored;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Choices, Config, Objective};

impl Search<'_> {
    /// Finished configs of one problem; each must be legal.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a config is illegal.
    pub(crate) fn score(&self, objective: Objective, configs: &[Config], work: &mut Work) -> Result<Vec<Scored>> {
        self.begin(objective, work);
        configs.iter().map(|config| self.score_one(config, work)).collect()
    }

    fn score_one(&self, config: &Config, work: &mut Work) -> Result<Scored> {
        let mut sum = work.sum.clone();
        let mut scored = Scored::unknown();
        work.states.clear();
        let mut asked: Vec<(usize, Choices)> = Vec::new();
        for (at, choice) in config.0.iter().enumerate() {
            let open = self.instance.space.completions(&config.0[..at])?;
            self.instance.allow(config, at, &open)?;
            if open.only().is_none() {
                asked.push((at, open));
                self.place(&sum, at, work);
            }
            self.grow(&mut sum, &config.0[..at], *choice, work);
        }
        self.place(&sum, config.0.len(), work);
        self.network.states(&mut work.states, &mut work.buffers);
        for (state, (at, open)) in asked.iter().enumerate() {
            self.choose(state, &config.0[..*at], *open, work);
            let best = (0..work.log.len()).max_by(|a, b| work.log[*a].total_cmp(&work.log[*b])).unwrap_or(0);
            let chosen = open.iter().position(|c| c == config.0[*at]).unwrap_or(0);
            scored.log_probability += work.log[chosen];
            scored.steps.push((*at, best == chosen));
        }
        [scored.time_us, scored.joules] = self.costs(asked.len(), work);
        Ok(scored)
    }

    /// Adds a choice behind a prefix to its sum.
    pub(crate) fn grow(&self, sum: &mut [f32], prefix: &[Choice], choice: Choice, work: &mut Work) {
        work.numbers.clear();
        self.spell(prefix, choice, work);
        let decided = Decided { columns: self.featurizer.choice_columns(prefix.len()), numbers: &work.numbers };
        self.network.grow(sum, prefix.len(), choice, decided);
    }

    /// Adds a sum with its position to the states.
    pub(crate) fn place(&self, sum: &[f32], at: usize, work: &mut Work) {
        let position = self.network.position(at);
        work.states.extend(sum.iter().zip(position).map(|(sum, position)| sum + position));
    }

    /// Microseconds and joules by hidden state number `state` of `work.states`, at "finished".
    pub(crate) fn costs(&self, state: usize, work: &mut Work) -> [Option<f64>; 2] {
        let d = self.network.d;
        self.network.costs(&work.states[state * d..][..d], &mut work.scores);
        self.featurizer.decode_costs(self.instance, [work.scores[0], work.scores[1]])
    }
}
