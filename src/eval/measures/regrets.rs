//! What came of a cross-validation: mean regrets, 1 - best time / chosen time, of the best of the first few, and whose they are.

use crate::baselines::method::Method;
use crate::measures::paired::{Margin, Paired};
use crate::measures::reliability::{CalibrationError, Reliability, Sureness};
use crate::pages::markdown;
use seqtune_kernel::Objective;
use seqtune_kernel::count_noun;
use serde::Serialize;
use std::collections::BTreeMap;

/// Sizes of the short lists that are judged.
pub const TOPS: [usize; 4] = [1, 2, 3, 5];

/// Shapes that a report names.
const LOSING: usize = 20;

/// A method's mean regret over the problems of all folds.
#[derive(Clone, Debug, Serialize)]
pub struct RegretRow {
    /// Method that is measured.
    pub method: Method,
    /// Mean regret of the best of the first [`TOPS`], and the standard error of the first over shapes.
    pub regret: [f64; 4],
    /// Standard error of the first, over shapes.
    pub error: f64,
    /// How much less `predict` regrets, or, above 0, more, on the same problems.
    pub predict_less: Option<[Margin; TOPS.len()]>,
    /// The same of the small decoder, where it was distilled.
    pub distilled_less: Option<[Margin; TOPS.len()]>,
    /// Share of the problems that it has an answer for; the others are left out of its means.
    pub answered: f64,
}

/// What came of one device that was left out.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// Name of the device.
    pub device: String,
    /// Problems measured on it.
    pub problems: usize,
    /// A row for each method.
    pub rows: Vec<RegretRow>,
    /// How true the probabilities of first choices are there; `None` where the models state none.
    pub trueness: Option<CalibrationError>,
}

/// A shape, and its part of each method's mean regrets: what they would be less without it.
#[derive(Clone, Debug, Serialize)]
pub struct Losing {
    /// The shape.
    pub shape: String,
    /// Problems of that shape.
    pub problems: usize,
    /// Of the trees and of `predict`.
    pub parts: Vec<(Method, [f64; 4])>,
}

/// What came of a cross-validation.
#[derive(Clone, Debug, Serialize)]
pub struct FoldsReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Quantity that configs are compared by.
    pub objective: Objective,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Hashes of the datasets.
    pub data: Vec<String>,
    /// What was held out.
    pub folds: String,
    /// Problems judged, of all folds.
    pub problems: usize,
    /// Mean number of measured configs of a problem.
    pub configs_per_problem: f64,
    /// Of all problems.
    pub rows: Vec<RegretRow>,
    /// Of each device, where they were left out in turn.
    pub left_out: Vec<LeftOut>,
    /// Shapes that lose most in the best of the first 5 as `predict` finds them, that with the largest part of the mean first: where to look.
    pub shapes: Vec<Losing>,
    /// Calibration of the models; `None` where they have none.
    pub sureness: Option<Reliability>,
}

/// One problem, judged.
pub struct JudgedProblem {
    /// Shape of the problem.
    pub shape: String,
    /// By method the regret of the best of the first [`TOPS`], if there is an answer.
    pub regrets: Vec<(Method, Option<[f64; 4]>)>,
    /// What the model says of it.
    pub said: Option<Sureness>,
}

/// The `LOSING` shapes that make most of the mean regret of the best of the last of [`TOPS`].
pub fn losing(judged: &[&JudgedProblem]) -> Vec<Losing> {
    let mut shapes: BTreeMap<&str, Losing> = BTreeMap::new();
    for one in judged {
        let wanted = |(method, _): &&(Method, _)| method.is_light_gbm() || *method == Method::Predict;
        let zero = |(method, _): &(Method, _)| (*method, [0.0; 4]);
        let losing = shapes.entry(&one.shape).or_insert_with(|| Losing {
            shape: one.shape.clone(),
            problems: 0,
            parts: one.regrets.iter().filter(wanted).map(zero).collect(),
        });
        losing.problems += 1;
        for ((_, part), (_, regret)) in losing.parts.iter_mut().zip(one.regrets.iter().filter(wanted)) {
            for (part, regret) in part.iter_mut().zip(regret.unwrap_or_default()) {
                *part += regret / judged.len() as f64;
            }
        }
    }
    let mut shapes: Vec<Losing> = shapes.into_values().collect();
    let last = |l: &Losing| l.parts.last().map_or(0.0, |(_, part)| part[3]);
    shapes.sort_by(|a, b| last(b).total_cmp(&last(a)));
    shapes.truncate(LOSING);
    shapes
}

/// A row for each method that has an answer to any of the problems.
pub fn rows(judged: &[&JudgedProblem]) -> Vec<RegretRow> {
    // of some problems more is known than of others
    let methods = judged.iter().map(|one| &one.regrets[..]).max_by_key(|regrets| regrets.len()).unwrap_or(&[]);
    methods.iter().map(|(method, _)| row(*method, judged)).filter(|row| row.answered > 0.0).collect()
}

fn row(method: Method, judged: &[&JudgedProblem]) -> RegretRow {
    let of = |j: &JudgedProblem, wanted: Method| {
        j.regrets.iter().find(|(name, _)| *name == wanted).and_then(|(_, regret)| *regret)
    };
    let (mut own, mut less) = (Paired::default(), [Method::Predict, Method::Distilled].map(|_| Paired::default()));
    for one in judged {
        let Some(regret) = of(one, method) else { continue };
        own.add(one.shape.clone(), regret);
        for (ours, less) in [Method::Predict, Method::Distilled].into_iter().zip(&mut less) {
            if let (Some(ours), true) = (of(one, ours), method != ours) {
                less.add(one.shape.clone(), std::array::from_fn(|top| ours[top] - regret[top]));
            }
        }
    }
    let margins = own.margins();
    let [predict_less, distilled_less] = less.map(|less| (less.problems() > 0).then(|| less.margins()));
    RegretRow {
        method,
        regret: margins.map(|(mean, _)| mean),
        error: margins[0].1,
        predict_less,
        distilled_less,
        answered: own.problems() as f64 / judged.len() as f64,
    }
}

impl FoldsReport {
    /// What the `count` first of the losing shapes make of the means, in percent.
    pub fn losing(&self, count: usize) -> String {
        let mut text =
            String::from("\nShapes with the largest part of the mean regret of the best of the first 5, in percent:\n");
        for Losing { shape, problems, parts } in self.shapes.iter().take(count) {
            let parts = parts.iter().rev().map(|(method, part)| format!("{:.3} {method}", 100.0 * part[3]));
            let parts: Vec<String> = parts.collect();
            text += &format!("  {}  {shape}, {}\n", parts.join("; "), count_noun(*problems, "problem"));
        }
        if count.min(self.shapes.len()) == 0 { String::new() } else { text }
    }

    /// A Markdown table, regret in percent.
    pub fn table(&self) -> String {
        let text = format!(
            "{} on {}, objective {}: {} of {:.0} measured configs each, {}, the same for every row.\n\
             Mean regret of the best of the first 1, 2, 3 and 5, in percent.\n\n",
            self.kernel,
            self.devices.join(", "),
            self.objective,
            count_noun(self.problems, "problem"),
            self.configs_per_problem,
            self.folds
        );
        let mut table = markdown::Table::new(&["method", "best of 1", "±", "of 2", "of 3", "of 5"]);
        for RegretRow { method, regret, error, answered, .. } in &self.rows {
            let [one, two, three, five] = regret.map(|r| 100.0 * r);
            let name = match *answered < 1.0 {
                true => format!("{method} ({:.1} % answered)", 100.0 * answered),
                false => method.to_string(),
            };
            table.row(&[
                name,
                format!("{one:.2}"),
                format!("{:.2}", 100.0 * error),
                format!("{two:.2}"),
                format!("{three:.3}"),
                format!("{five:.3}"),
            ]);
        }
        let less = |row: &RegretRow, who: &str, margins: Option<[Margin; TOPS.len()]>| {
            let [one, two, three, five] = margins?.map(|(m, e)| format!("{:+.3} ± {:.3}", 100.0 * m, 100.0 * e));
            Some(format!("{who} less {}: {one}, {two}, {three}, {five}\n", row.method))
        };
        let rivals = self.rows.iter().filter(|row| row.method.is_light_gbm());
        let distilled = self.rows.iter().filter(|row| row.method.is_light_gbm() || row.method == Method::Predict);
        let less: String = rivals
            .filter_map(|row| less(row, "Predict", row.predict_less))
            .chain(distilled.filter_map(|row| less(row, "Distilled", row.distilled_less)))
            .collect();
        let less = if less.is_empty() { less } else { format!("\n{less}") };
        text + &table.to_string()
            + &less
            + &self.by_device()
            + &self.sureness.map_or(String::new(), |sureness| sureness.text())
    }

    /// A Markdown table with a column for each device that was left out.
    fn by_device(&self) -> String {
        if self.left_out.is_empty() {
            return String::new();
        }
        let columns =
            self.left_out.iter().map(|part| format!("{}, {}", part.device, count_noun(part.problems, "problem")));
        let headings: Vec<String> = std::iter::once("method".to_string()).chain(columns).collect();
        let mut table = markdown::Table::new(&headings);
        for RegretRow { method, .. } in &self.rows {
            let cell = |part: &LeftOut| match part.rows.iter().find(|row| row.method == *method) {
                Some(RegretRow { regret, error, .. }) => {
                    let [one, two, three, five] = regret.map(|r| 100.0 * r);
                    format!("{one:.2} ± {:.2} / {two:.2} / {three:.2} / {five:.2}", 100.0 * error)
                }
                None => "-".into(),
            };
            let cells = self.left_out.iter().map(cell);
            table.row(&std::iter::once(method.to_string()).chain(cells).collect::<Vec<_>>());
        }
        let true_to = |part: &LeftOut| match part.trueness {
            Some(t) => format!("{:.1} ({:.1})", 100.0 * t.calibration_error, 100.0 * t.error_by_chance),
            None => "-".into(),
        };
        let errors = std::iter::once("calibration error (by chance)".to_string());
        table.row(&errors.chain(self.left_out.iter().map(true_to)).collect::<Vec<_>>());
        format!("\nBy the device that was left out, best of 1 (± standard error) / 2 / 3 / 5:\n\n{table}")
    }
}
