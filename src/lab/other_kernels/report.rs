//! What came of kernels that were left out.

use seqtune_eval::baselines::expected_of_random;
use seqtune_eval::pages::markdown;
use seqtune_kernel::Objective;
use serde::Serialize;

/// Lowest scores first, in natural logarithms of the cost.
pub struct Ranked<'a> {
    /// What other kernels' trees say.
    pub others: &'a [f64],
    /// What 20 measurements of other problems of the kernel say alone.
    pub alone: &'a [f64],
    /// Both.
    pub both: &'a [f64],
}

/// Mean shares of the best speed that was measured, of a kernel that was left out.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The kernel.
    pub kernel: String,
    /// Its problems.
    pub problems: usize,
    /// The kernel's default, where it was measured.
    pub default: f64,
    /// A random config, expected; and the best of 5 and of 20.
    pub random: [f64; 3],
    /// The first choice by other kernels, and the best of the first 5 and 20.
    pub others: [f64; 3],
    /// The same by 20 measurements of the kernel alone.
    pub alone: [f64; 3],
    /// The same by both.
    pub both: [f64; 3],
    #[serde(skip)]
    defaults: usize,
    #[serde(skip)]
    judged: usize,
}

/// Sizes of the short lists that are judged.
const TOPS: [usize; 3] = [1, 5, 20];

impl Row {
    pub(super) fn new(kernel: &str) -> Row {
        let none = [0.0; 3];
        Row {
            kernel: kernel.into(),
            problems: 0,
            default: 0.0,
            random: none,
            others: none,
            alone: none,
            both: none,
            defaults: 0,
            judged: 0,
        }
    }

    /// Adds a problem by its costs, the cheapest first, the place of the default, and the scores.
    pub(super) fn add(&mut self, costs: &[f64], default: Option<usize>, ranked: Ranked) {
        self.judged += 1;
        let shares: Vec<f64> = costs.iter().map(|cost| costs[0] / cost).collect();
        if let Some(at) = default {
            self.default += shares[at];
            self.defaults += 1;
        }
        let best = |scores: &[f64], top: usize| {
            let mut order: Vec<usize> = (0..scores.len()).collect();
            // of equal scores the slower first: the order of the costs does not help
            order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)));
            order.iter().take(top).map(|i| shares[*i]).fold(0.0, f64::max)
        };
        for (at, top) in TOPS.into_iter().enumerate() {
            self.random[at] += expected_of_random(&shares, top);
            self.others[at] += best(ranked.others, top);
            self.alone[at] += best(ranked.alone, top);
            self.both[at] += best(ranked.both, top);
        }
    }

    pub(super) fn finish(mut self, problems: usize) -> Row {
        self.problems = problems;
        let count = self.judged.max(1) as f64;
        self.default /= self.defaults.max(1) as f64;
        [&mut self.random, &mut self.others, &mut self.alone, &mut self.both]
            .into_iter()
            .flatten()
            .for_each(|x| *x /= count);
        self
    }
}

/// What came of leaving out each kernel in turn.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOutReport {
    /// What configs are compared by.
    pub objective: Objective,
    /// A row for each kernel.
    pub rows: Vec<Row>,
}

impl LeftOutReport {
    /// The report in Markdown: percent of the best.
    pub fn table(&self) -> String {
        let headings = [
            "kernel left out",
            "problems",
            "default",
            "random, of 5, of 20",
            "by other kernels",
            "by 20 measurements alone",
            "by both",
        ];
        let mut table = markdown::Table::new(&headings);
        let three = |x: &[f64; 3]| x.map(|x| format!("{:.1}", 100.0 * x)).join(" / ");
        for row in &self.rows {
            table.row(&[
                row.kernel.clone(),
                row.problems.to_string(),
                format!("{:.1}", 100.0 * row.default),
                three(&row.random),
                three(&row.others),
                three(&row.alone),
                three(&row.both),
            ]);
        }
        let mean = |of: &dyn Fn(&Row) -> [f64; 3]| {
            let mut sum = [0.0; 3];
            self.rows
                .iter()
                .for_each(|row| sum.iter_mut().zip(of(row)).for_each(|(s, x)| *s += x / self.rows.len() as f64));
            three(&sum)
        };
        let default = self.rows.iter().map(|row| row.default).sum::<f64>() / self.rows.len() as f64;
        table.row(&[
            "mean".into(),
            String::new(),
            format!("{:.1}", 100.0 * default),
            mean(&|row| row.random),
            mean(&|row| row.others),
            mean(&|row| row.alone),
            mean(&|row| row.both),
        ]);
        table.to_string()
    }
}
