//! What a model's first choices were worth on problems that it did not learn from, and which sizes it learned from.
//!
//! Both are kept in its file, by device and objective. An answer says once what was shown for its kind of question, and is marked unsure only
//! where it is less sure than nine tenths of those answers were, or asks for sizes beyond the learned ones.

use seqtune_kernel::error::{Result, input};
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::{Device, Kernel, Objective, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Problems below which nothing is said to be shown.
pub const MIN_PROBLEMS: usize = 5;

/// Share of the answers on problems held out that are less sure than an unmarked one.
pub const UNSURE_SHARE: f64 = 0.1;

/// What problems were to the training that nothing was learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldOut {
    /// Shapes of none of its data.
    Apart,
    /// Shapes of the test part of its split.
    Test,
    /// Shapes that chose its weights and calibrated it, which flatters it a little.
    Validation,
    /// Shapes left out in turn: each was asked of a model of one network that learned from the others as this one did.
    #[serde(rename = "in turn")]
    InTurn,
}

/// What first choices were chosen among.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CandidatePool {
    /// All legal configs: the first choice was measured, live.
    Legal,
    /// The measured ones, by replay.
    Measured,
}

/// What first choices were worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "lowercase")]
pub enum HeldOutScore {
    /// Beside the best measured config of a sweep, as shares of its speed (or of what else is compared).
    Best {
        /// Mean share.
        mean: f64,
        /// Its tenth percentile.
        p10: f64,
        /// What they were chosen among.
        among: CandidatePool,
    },
    /// Beside what a tuner chose, as shares of the problems.
    Tuned {
        /// The first choice is the tuned config.
        first: f64,
        /// One of the first five is.
        five: f64,
    },
}

/// What was shown on one device for one objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutResult {
    /// Kernel; of a model of several, those of which too little was held out of each.
    pub kernels: Vec<String>,
    /// Name of the device.
    pub device: String,
    /// What configs were compared by.
    pub objective: Objective,
    /// What the problems were to the training.
    pub held_out: HeldOut,
    /// Problems.
    pub problems: usize,
    /// Different shapes among these.
    pub shapes: usize,
    /// What first choices were worth.
    #[serde(flatten)]
    pub worth: HeldOutScore,
    /// Tenth percentile of the probabilities that first choices were stated with, before what they are worth on a device: below it an answer is
    /// less sure than nine tenths of these were.
    pub least: f64,
    /// Ninth decile of [`Candidate::risk`](crate::Candidate::risk), where the model tells that, in the place of `least`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub riskiest: Option<f64>,
    /// Hashes of the datasets of these problems.
    pub data: Vec<String>,
}

impl HeldOutResult {
    /// One clause, as `on 40 problems of H200 that no data of it had, first choices have 96.0 % of the best measured speed, 88.7 % at the 10th
    /// percentile`.
    pub fn text(&self) -> String {
        let HeldOutResult { device, objective, problems, shapes, .. } = self;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let held_out = match self.held_out {
            HeldOut::Apart => "that none of its data had",
            HeldOut::Test => "held out for testing",
            HeldOut::Validation => "that chose its weights",
            HeldOut::InTurn => "left out in turn, each asked of a model that learned from the others",
        };
        let worth = match self.worth {
            HeldOutScore::Best { mean, p10, among } => {
                let of = match objective {
                    Objective::Time => "of the best measured speed".to_string(),
                    other => format!("of the best measured, by {other}"),
                };
                let among = match among {
                    CandidatePool::Legal => "measured live",
                    CandidatePool::Measured => "by replay among the measured configs",
                };
                let (mean, p10) = (percent(mean), percent(p10));
                format!("its first choices had {mean} {of} on average, {p10} at the 10th percentile ({among})")
            }
            HeldOutScore::Tuned { first, five } => {
                let (first, five) = (percent(first), percent(five));
                format!("its first choice was the tuned config in {first}, one of its first five in {five}")
            }
        };
        let shapes = if shapes == problems { String::new() } else { format!(" of {shapes} shapes") };
        let kernels = match &self.kernels[..] {
            [_] => String::new(),
            several => format!(" of {} kernels", several.len()),
        };
        format!("on {problems} problems{shapes}{kernels} {held_out}, on {device}, {worth}")
    }

    /// Refuses numbers that no evaluation finds.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input), always the same sentence.
    pub fn check(&self) -> Result<()> {
        let [a, b] = match self.worth {
            HeldOutScore::Best { mean, p10, .. } => [mean, p10],
            HeldOutScore::Tuned { first, five } => [first, five],
        };
        let shares = [a, b, self.least, self.riskiest.unwrap_or(0.0)];
        match shares.iter().all(|share| (0.0..=1.0).contains(share)) && self.problems >= self.shapes.max(1) {
            true => Ok(()),
            false => input("what was shown of it holds numbers that no evaluation finds"),
        }
    }
}

/// What the problems of a kernel that a model learned from span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingRange {
    /// Kernel.
    pub kernel: String,
    /// By the order of the kernel's fields: least and greatest of a number, or all labels of a choice that were there.
    pub fields: Vec<Vec<f64>>,
    /// The least time of any config of any of these problems, in microseconds, by the device's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quickest_us: BTreeMap<String, f64>,
}

/// A problem that a model learned from.
#[derive(Clone, Copy, Debug)]
pub struct LearnedProblem<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// Name of its device.
    pub device: &'p str,
    /// Its least time in microseconds, where it has one.
    pub least_us: Option<f64>,
}

impl TrainingRange {
    /// Of learned problems; `None` of none.
    pub fn from_problems<'p>(
        kernel: &Kernel,
        learned: impl Iterator<Item = LearnedProblem<'p>>,
    ) -> Option<TrainingRange> {
        let mut quickest_us: BTreeMap<String, f64> = BTreeMap::new();
        let mut problems: Vec<&Problem> = Vec::new();
        for LearnedProblem { problem, device, least_us } in learned {
            problems.push(problem);
            if let Some(us) = least_us.filter(|us| us.is_finite() && *us > 0.0) {
                quickest_us.entry(device.into()).and_modify(|least| *least = least.min(us)).or_insert(us);
            }
        }
        let field = |(at, field): (usize, &Field)| {
            let mut values: Vec<f64> = problems.iter().map(|problem| problem.values[at]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            match (field.kind, &values[..]) {
                (FieldKind::Choice, _) => values,
                (_, values) => [values.first(), values.last()].into_iter().flatten().copied().collect(),
            }
        };
        let fields = kernel.fields.iter().enumerate().map(field).collect();
        (!problems.is_empty()).then(|| TrainingRange { kernel: kernel.name.clone(), fields, quickest_us })
    }

    /// The fields of a problem whose values are beyond what was learned from.
    pub fn beyond<'k>(&self, kernel: &'k Kernel, problem: &Problem) -> Vec<&'k str> {
        let within = |(field, (learned, value)): (&Field, (&Vec<f64>, &f64))| match field.kind {
            FieldKind::Choice => learned.contains(value),
            _ => learned.first() <= Some(value) && Some(value) <= learned.last(),
        };
        let all = kernel.fields.iter().zip(self.fields.iter().zip(&problem.values));
        all.filter(|field| !within(*field)).map(|(field, _)| field.name.as_str()).collect()
    }

    /// The least time that was measured on the device of any learned problem, in microseconds; `None` where that was not recorded.
    pub fn quickest_us(&self, device: &Device) -> Option<f64> {
        let own = self.quickest_us.iter().filter(|(name, _)| device.is_called(name));
        own.map(|(_, us)| *us).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn sizes_beyond_the_learned_ones_are_named_and_those_between_are_not() {
        let toy = Path::new(env!("CARGO_MANIFEST_DIR")).join("toy");
        let kernel = Kernel::open(&toy.display().to_string()).unwrap();
        let problem = |text: &str| kernel.problem(text).unwrap();
        let learned = ["M=64", "M=900", "M=128"].map(problem);
        let times = [Some(7.5), None, Some(f64::NAN)];
        let learned = learned.iter().zip(times);
        let learned = learned.map(|(problem, least_us)| LearnedProblem { problem, device: "H200", least_us });
        let reach = TrainingRange::from_problems(&kernel, learned).unwrap();
        assert!(reach.beyond(&kernel, &problem("M=500")).is_empty());
        assert!(reach.beyond(&kernel, &problem("M=64")).is_empty());
        assert_eq!(reach.beyond(&kernel, &problem("M=901")), ["M"]);
        assert_eq!(reach.beyond(&kernel, &problem("M=63")), ["M"]);
        assert_eq!(TrainingRange::from_problems(&kernel, std::iter::empty()), None);
        let [h200, t4] = ["H200", "T4"].map(|name| Device::find_described(name).unwrap());
        assert_eq!((reach.quickest_us(&h200), reach.quickest_us(&t4)), (Some(7.5), None));
    }

    #[test]
    fn what_was_shown_is_one_clause_and_impossible_shares_are_refused() {
        let shown = HeldOutResult {
            kernels: vec!["gemm".into()],
            device: "H200".into(),
            objective: Objective::Time,
            held_out: HeldOut::Apart,
            problems: 40,
            shapes: 40,
            worth: HeldOutScore::Best { mean: 0.96, p10: 0.887, among: CandidatePool::Legal },
            least: 0.03,
            riskiest: None,
            data: vec!["0".into()],
        };
        assert_eq!(
            shown.text(),
            "on 40 problems that none of its data had, on H200, its first choices had 96.0 % of the best measured speed on average, 88.7 % at \
             the 10th percentile (measured live)"
        );
        shown.check().unwrap();
        assert!(HeldOutResult { least: 1.5, ..shown.clone() }.check().is_err());
        assert!(HeldOutResult { worth: HeldOutScore::Tuned { first: f64::NAN, five: 1.0 }, ..shown }.check().is_err());
    }
}
