//! What is known of a problem's configs, for who wants to look.

use crate::course::Course;
use seqtune_predict::Config;

/// What is known of one config.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigStanding {
    /// The config.
    pub config: Config,
    /// Believed microseconds (median).
    pub time_us: f64,
    /// Standard deviation of that, as a share.
    pub spread: f64,
    /// Believed joules; without meaning where none were expected or reported.
    pub joules: f64,
    /// Observations of this process that count.
    pub observations: f64,
    /// Whether it was reported as failed.
    pub failed: bool,
}

/// What is known of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its configs, in the order of the predictions.
    pub configs: Vec<ConfigStanding>,
    /// The settled config, as a place in the list.
    pub settled: Option<usize>,
    /// Calls that count since times changed last.
    pub calls: u64,
    /// Bound of the expected regret of all calls in this process, in calls: the sum of logarithms of costs over that of the best config,
    /// on average over problems whose errors and noise are as assumed. See docs/integrations/chooser.md.
    pub regret_bound: f64,
}

impl Standing {
    pub(crate) fn from_beliefs(configs: &[Config], course: &Course, settled: Option<usize>) -> Standing {
        let (time, energy) = (course.time.now(), course.energy.now());
        let standing = |(at, config): (usize, &Config)| ConfigStanding {
            config: config.clone(),
            time_us: time[at].mean.exp(),
            spread: time[at].sd,
            joules: energy[at].mean.exp(),
            observations: course.time.arms[at].weight,
            failed: course.failed[at],
        };
        Standing {
            configs: configs.iter().enumerate().map(standing).collect(),
            settled,
            calls: course.calls,
            regret_bound: course.bound,
        }
    }
}
