//! Tuners that keep tables: the nearest size, a table by class of size as ATLAS keeps one, operating points as mARGOt keeps them.

use crate::tuners::lab::{ReplayEnv, Surveyed, TimedConfig, Tuner};
use rand::seq::SliceRandom;
use seqtune_data::MeasuredProblem;
use seqtune_eval::baselines::distance;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Define};
use std::collections::HashMap;

/// Every config of some sizes; of a new one, what was best for the nearest.
pub struct Nearest;

/// A search at install time (ATLAS: Whaley, Petitet, Dongarra 2001): one size stands for a class of sizes, and its best configs serve all.
pub struct SizeClasses;

/// Operating points (SOCRATES: Gadioli et al. 2018, with mARGOt): half of the configs of some sizes, as by a design of experiments; of a
/// new size those that are expected to be the fastest by the clusters of sizes nearest to it.
pub struct OperatingPoints;

/// Classes of size are so many octaves of work wide.
const OCTAVES: f64 = 4.0;

/// Clusters that an expectation is made of.
const CLUSTERS: usize = 3;

/// The surveyed problems, nearest first.
fn by_distance<'s, 't>(lab: &ReplayEnv, all: &'s [Surveyed<'t>], tried: &MeasuredProblem) -> Vec<&'s Surveyed<'t>> {
    let far = |s: &Surveyed| distance(lab.kernel, &s.of.problem, &tried.problem);
    let mut near: Vec<(&Surveyed, f64)> = all.iter().map(|s| (s, far(s))).collect();
    near.sort_by(|a, b| a.1.total_cmp(&b.1));
    near.into_iter().map(|(surveyed, _)| surveyed).collect()
}

/// The configs of rankings, one after the other, that can be measured for a problem; any other where there is none.
fn usable(lab: &mut ReplayEnv, tried: &MeasuredProblem, rankings: impl Iterator<Item = Vec<Config>>) -> Vec<Config> {
    let candidates = lab.candidates(tried);
    let mut answer: Vec<Config> = Vec::new();
    for config in rankings.flatten() {
        if candidates.contains(&config) && !answer.contains(&config) {
            answer.push(config);
        }
    }
    if answer.is_empty() {
        let at = lab.draw(candidates.len());
        answer.push(candidates[at].clone());
    }
    answer
}

impl Tuner for Nearest {
    fn name(&self) -> &str {
        "nearest neighbour"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let all = lab.survey(usize::MAX, 0.0);
        let unseen = lab.unseen.clone();
        let answer = |tried: &&MeasuredProblem| {
            let near: Vec<Vec<Config>> =
                by_distance(lab, &all, tried).into_iter().take(5).map(|s| s.ranking()).collect();
            usable(lab, tried, near.into_iter())
        };
        Ok(unseen.iter().map(answer).collect())
    }
}

/// The class of a problem: its compiled choices, and its work in steps of [`OCTAVES`].
fn class(lab: &ReplayEnv, tried: &MeasuredProblem) -> (Vec<Define>, i64) {
    let work = lab.kernel.flops(&tried.problem).max(1.0).log2();
    (lab.kernel.field_defines(&tried.problem), (work / OCTAVES).floor() as i64)
}

impl Tuner for SizeClasses {
    fn name(&self) -> &str {
        "a table by class of size (ATLAS's manner)"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let mut classes: HashMap<_, Vec<&MeasuredProblem>> = HashMap::new();
        for tried in lab.learned.clone() {
            classes.entry(class(lab, tried)).or_default().push(tried);
        }
        let mut order: Vec<_> = classes.into_iter().collect();
        order.sort_by(|a, b| a.0.cmp(&b.0));
        order.shuffle(&mut lab.rng);
        let mut table: Vec<(_, Surveyed)> = Vec::new();
        let count = order.len();
        for (at, (class, mut members)) in order.into_iter().enumerate() {
            members.sort_by(|a, b| lab.kernel.flops(&a.problem).total_cmp(&lab.kernel.flops(&b.problem)));
            let of = members[members.len() / 2];
            let spare = lab.left * (1.0 - 1.0 / (count - at) as f64);
            let mut configs = lab.candidates(of);
            configs.shuffle(&mut lab.rng);
            let times = lab.measure_all(of, configs, spare);
            table.push((class, Surveyed { of, times }));
        }
        let unseen = lab.unseen.clone();
        let answer = |tried: &&MeasuredProblem| {
            let own = class(lab, tried);
            // of a class without a size: the next one of the same choices
            let mut near: Vec<&(_, Surveyed)> = table.iter().collect();
            near.sort_by_key(|(class, _)| (class.0 != own.0, (class.1 - own.1).abs()));
            let rankings: Vec<Vec<Config>> = near.into_iter().map(|(_, surveyed)| surveyed.ranking()).collect();
            usable(lab, tried, rankings.into_iter())
        };
        Ok(unseen.iter().map(answer).collect())
    }
}

impl Tuner for OperatingPoints {
    fn name(&self) -> &str {
        "operating points (SOCRATES's and mARGOt's manner)"
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        let most = lab.learned.iter().map(|tried| tried.results.len()).max().unwrap_or(0);
        let all = lab.survey(most.div_ceil(2), 0.0);
        let unseen = lab.unseen.clone();
        let answer = |tried: &&MeasuredProblem| {
            // a time relative to its cluster's fastest is what clusters of other sizes can tell
            let mut points: HashMap<Config, (f64, f64)> = HashMap::new();
            for surveyed in by_distance(lab, &all, tried).into_iter().take(CLUSTERS) {
                let fastest = surveyed.times.iter().map(|timed| timed.us).fold(f64::INFINITY, f64::min);
                for TimedConfig { config, us } in &surveyed.times {
                    let (sum, count) = points.entry(config.clone()).or_default();
                    *sum += (us / fastest).ln();
                    *count += 1.0;
                }
            }
            let mut expected: Vec<(Config, f64)> = points.into_iter().map(|(c, (sum, n))| (c, sum / n)).collect();
            expected.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            usable(lab, tried, std::iter::once(expected.into_iter().map(|(config, _)| config).collect()))
        };
        Ok(unseen.iter().map(answer).collect())
    }
}
