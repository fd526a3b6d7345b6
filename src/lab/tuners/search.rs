//! Tuners that measure the very problems: random search, and a local search in the manner of Kernel Tuner's greedy iterated local search.

use crate::tuners::lab::{ReplayEnv, TimedConfig, Tuner};
use rand::seq::SliceRandom;
use seqtune_data::MeasuredProblem;
use seqtune_kernel::Config;
use seqtune_kernel::error::Result;

/// Random search of each problem, with an equal share of the seconds.
pub struct RandomSearch;

/// Greedy local search of each problem (Schoonhoven, van Werkhoven, Batenburg 2022): the first better neighbour is taken, and where there is
/// none, the search goes on elsewhere. Neighbours are the configs that differ in the fewest parameters, because a replayed sweep is a sample.
pub struct LocalSearch;

/// Neighbours that are looked at before the search goes on elsewhere.
const NEIGHBOURS: usize = 8;

/// Searches each problem with an equal share of the seconds; of what was not measured nothing is said.
pub fn each(
    lab: &mut ReplayEnv,
    search: impl Fn(&mut ReplayEnv, &MeasuredProblem, Vec<Config>, f64) -> Vec<TimedConfig>,
) -> Vec<Vec<Config>> {
    let unseen = lab.unseen.clone();
    let mut answers = Vec::new();
    for (at, tried) in unseen.iter().enumerate() {
        let spare = lab.left * (1.0 - 1.0 / (unseen.len() - at) as f64);
        let mut configs = lab.candidates(tried);
        configs.shuffle(&mut lab.rng);
        let blind = configs[0].clone();
        let ranking = TimedConfig::ranking(search(lab, tried, configs, spare));
        // who measured nothing has to take some config
        answers.push(if ranking.is_empty() { vec![blind] } else { ranking });
    }
    answers
}

impl Tuner for RandomSearch {
    fn name(&self) -> &str {
        "random search of each size"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        Ok(each(lab, |lab, tried, configs, spare| lab.measure_all(tried, configs, spare)))
    }
}

impl Tuner for LocalSearch {
    fn name(&self) -> &str {
        "local search of each size (Kernel Tuner's manner)"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        Ok(each(lab, |lab, tried, mut left, spare| {
            let (mut found, mut here, mut tries) = (Vec::new(), None::<TimedConfig>, 0);
            while !left.is_empty() && lab.left > spare {
                if let Some(TimedConfig { config, .. }) = &here {
                    left.sort_by_key(|other: &Config| differing(config, other));
                }
                let next = left.remove(0);
                let Some(us) = lab.measure(tried, &next) else { break };
                let next = TimedConfig { config: next, us };
                found.push(next.clone());
                tries += 1;
                if here.as_ref().is_none_or(|best| us < best.us) {
                    (here, tries) = (Some(next), 0);
                } else if tries == NEIGHBOURS {
                    left.shuffle(&mut lab.rng);
                    (here, tries) = (None, 0);
                }
            }
            found
        }))
    }
}

/// Parameters in which two configs differ.
pub fn differing(a: &Config, b: &Config) -> usize {
    a.0.iter().zip(&b.0).filter(|(a, b)| a != b).count()
}
