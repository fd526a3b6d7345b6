//! What methods are asked of tuned problems, and what they answer.

use seqtune_data::{MeasuredProblem, Table};
use seqtune_kernel::{Checker, Config, Device, Kernel};
use seqtune_predict::Model;
use seqtune_predict::model::Part;
use std::collections::HashSet;

/// Sizes of the short lists that are judged, the longest last.
pub const TOPS: [usize; 3] = [1, 5, 10];

/// A method's answer to one problem.
pub struct Answer {
    /// Best first.
    pub ranking: Vec<Config>,
    /// Natural logarithm of the probability of the tuned config, among legal ones.
    pub log_probability: Option<f64>,
    /// Positions where there was a choice, and whether the method's most probable value after the tuned prefix was the tuned one.
    pub steps: Option<Vec<(usize, bool)>>,
    /// Predicted probability of the first choice.
    pub first: Option<f64>,
    /// Predicted microseconds of the first choice.
    pub time_us: Option<f64>,
}

/// What a method is asked: problems held out, and those that it may learn from.
pub struct TestSet<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// All its problems.
    pub table: &'a Table,
    /// Problems to learn from.
    pub train: Vec<&'a MeasuredProblem>,
    /// Problems that stop a fit.
    pub validation: Vec<&'a MeasuredProblem>,
    /// Problems to judge by.
    pub judged: Vec<&'a MeasuredProblem>,
    checker: Checker,
}

impl<'a> TestSet<'a> {
    /// By the split of a model; `device` restricts the problems to judge by to one device.
    pub fn new(
        kernel: &'a Kernel,
        table: &'a Table,
        model: &Model,
        which: Part,
        device: Option<&Device>,
    ) -> TestSet<'a> {
        let part = |part| -> Vec<&MeasuredProblem> {
            let indices = table.tuned_part(kernel, &model.meta.split, part);
            indices.into_iter().map(|i| &table.problems[i]).collect()
        };
        let mut held_out = part(which);
        held_out.retain(|t| device.is_none_or(|d| table.devices[t.device].name == d.name));
        let (train, validation) = (part(Part::Train), part(Part::Validation));
        TestSet { kernel, table, train, validation, judged: held_out, checker: Checker::new(kernel) }
    }

    /// Number of shapes that the judged problems are of.
    pub fn shapes(&self) -> usize {
        self.judged.iter().map(|t| self.kernel.shape(&t.problem)).collect::<HashSet<_>>().len()
    }

    /// Whether a config is legal for a problem.
    pub fn is_legal(&self, config: &Config, tried: &MeasuredProblem) -> bool {
        let env = self.kernel.env_of(&tried.problem, Some(self.device(tried)), config);
        self.checker.broken_constraint(&env).is_none()
    }

    /// Device that a problem was tuned on.
    pub fn device(&self, tried: &MeasuredProblem) -> &'a Device {
        &self.table.devices[tried.device]
    }
}

/// The tuned config of a problem; the caller has asked for tuned problems only.
pub fn tuned_config(tried: &MeasuredProblem) -> &Config {
    &tried.tuned_config().unwrap_or(&tried.results[0]).config
}
