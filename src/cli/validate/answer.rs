//! What validation says of a problem, and how it is shown.

use crate::cli::validate::certified_rows::CertifiedRow;
use seqtune_data::Invalidity;
use seqtune_data::recipe::Cache;
use seqtune_data::stats::quantile;
use seqtune_eval::pages::html::Page;
use seqtune_eval::pages::markdown;
use seqtune_eval::pages::plot;
use seqtune_kernel::Objective;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Device, Kernel, Problem};
use seqtune_measure::measuring::roofline::{Bound, Peaks, Placement, TimedWork};
use serde::Serialize;

/// What was measured for one problem. Times in microseconds.
#[derive(Serialize)]
pub struct MeasuredAnswer {
    pub problem: String,
    pub device: String,
    pub objective: Objective,
    pub predictions: Vec<Predicted>,
    /// The kernel's default; null where it is illegal or fails.
    pub default_us: Option<f64>,
    pub default_joules: Option<f64>,
    /// The best by the objective of the random search; null without one.
    pub search_us: Option<f64>,
    pub search_joules: Option<f64>,
    pub search_config: Option<String>,
    /// Configs that the user named; left out without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The best by the objective of all.
    pub best_us: Option<f64>,
    pub best_joules: Option<f64>,
    /// The vendor's library; null where there is none.
    pub library: Option<String>,
    pub library_us: Option<f64>,
    pub library_joules: Option<f64>,
    pub flops: f64,
    /// Least bytes that are moved.
    pub bytes: f64,
    /// Shares of the device's measured peaks that the first choice reaches, and what bounds it. Null where it failed, or the peak of the
    /// units that it computes on is not known.
    pub compute_share: Option<f64>,
    pub memory_share: Option<f64>,
    pub bound: Option<Bound>,
    /// Share of the device's places for work-items that the first choice fills. Null where the compiler does not tell.
    pub filled: Option<f64>,
    /// Whether the best predicted config is certified to be faster than the default; left out where that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<CertifiedRow>,
}

/// A config that the user named, and its time where it is legal and works.
#[derive(Serialize)]
pub struct Beside {
    pub config: String,
    pub measured_us: Option<f64>,
}

#[derive(Serialize)]
pub struct Predicted {
    pub config: String,
    pub probability: Option<f64>,
    pub predicted_us: Option<f64>,
    pub measured_us: Option<f64>,
    /// Joules per launch, where the model tells them.
    pub predicted_joules: Option<f64>,
    /// The same, where metered.
    pub measured_joules: Option<f64>,
    pub failure: Option<Invalidity>,
}

impl MeasuredAnswer {
    /// Compares the first choice with what the device reaches.
    pub fn place(&mut self, kernel: &Kernel, peaks: &Peaks, cache: Cache) {
        let Some(time) = self.first_us() else { return };
        let Ok(source) = kernel.source() else { return };
        let work = TimedWork { flops: self.flops, bytes: self.bytes, time_us: time };
        if let Some(Placement { compute, memory, bound }) = peaks.place(source.units, work, self.filled, cache) {
            (self.compute_share, self.memory_share, self.bound) = (Some(compute), Some(memory), Some(bound));
        }
    }

    fn first_us(&self) -> Option<f64> {
        self.predictions.first().and_then(|p| p.measured_us)
    }

    fn first_joules(&self) -> Option<f64> {
        self.predictions.first().and_then(|p| p.measured_joules)
    }

    fn default_cost(&self) -> Option<f64> {
        self.objective.cost_of(self.default_us, self.default_joules)
    }

    fn best_cost(&self) -> Option<f64> {
        self.objective.cost_of(self.best_us, self.best_joules)
    }

    fn library_cost(&self) -> Option<f64> {
        self.objective.cost_of(self.library_us, self.library_joules)
    }

    /// Costs of the predictions, the first choice first.
    fn costs(&self) -> impl Iterator<Item = Option<f64>> {
        self.predictions.iter().map(|p| self.objective.cost_of(p.measured_us, p.measured_joules))
    }

    fn first_cost(&self) -> Option<f64> {
        self.costs().next().flatten()
    }

    fn best_predicted_cost(&self) -> Option<f64> {
        self.costs().flatten().min_by(f64::total_cmp)
    }

    fn best_predicted_us(&self) -> Option<f64> {
        self.predictions.iter().filter_map(|p| p.measured_us).min_by(f64::total_cmp)
    }
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> String {
    let known: Vec<f64> = values.flatten().collect();
    if known.is_empty() { "-".into() } else { format!("{:.1}", known.iter().sum::<f64>() / known.len() as f64) }
}

fn show(x: Option<f64>, digits: usize) -> String {
    x.map_or("-".to_string(), |x| format!("{x:.digits$}"))
}

/// Percent of the speed of the best config found that a cost is.
fn share(a: &MeasuredAnswer, cost: Option<f64>) -> Option<f64> {
    Some(100.0 * a.best_cost()? / cost?)
}

/// Percent of the library's speed that the first choice reaches.
fn of_library(a: &MeasuredAnswer) -> Option<f64> {
    Some(100.0 * a.library_cost()? / a.first_cost()?)
}

/// A line per problem, and the means.
pub fn table(kernel: &Kernel, problems: &[Problem], answers: &[MeasuredAnswer]) -> String {
    let columns = Columns {
        library: answers.iter().find_map(|a| a.library.clone()),
        filled: answers.iter().any(|a| a.filled.is_some()),
        beside: answers.iter().map(|a| a.beside.len()).max().unwrap_or(0),
        metered: answers.iter().any(|a| a.default_joules.is_some() || a.first_joules().is_some()),
        told: answers.iter().flat_map(|a| &a.predictions).any(|p| p.predicted_joules.is_some()),
    };
    let mut table = markdown::Table::new(&columns.headings());
    for (problem, answer) in problems.iter().zip(answers) {
        if let Some(first) = answer.predictions.first() {
            table.row(&columns.cells(kernel.brief_problem(problem), answer, first));
        }
    }
    format!("{table}\n{}", means(answers, columns.library.as_deref()))
}

/// The columns of the table that not every validation has.
struct Columns {
    library: Option<String>,
    filled: bool,
    /// Configs that the user named.
    beside: usize,
    metered: bool,
    /// Whether the model tells joules.
    told: bool,
}

impl Columns {
    fn headings(&self) -> Vec<String> {
        let mut headings: Vec<String> = [
            "problem",
            "first choice",
            "predicted us",
            "measured us",
            "GFLOP/s",
            "GB/s",
            "of peak, %",
            "bound by",
            "x default",
            "% of best found",
            "best of top, %",
        ]
        .map(String::from)
        .into();
        headings.extend(self.library.iter().map(|name| format!("% of {name}")));
        headings.extend((1..=self.beside).map(|i| format!("beside {i}, % of best found")));
        headings.extend(self.filled.then(|| "device filled, %".into()));
        if self.metered {
            headings.extend(self.told.then(|| "predicted mJ".into()));
            headings.extend(["mJ", "of the default's, %"].map(String::from));
        }
        headings
    }

    fn cells(&self, problem: String, answer: &MeasuredAnswer, first: &Predicted) -> Vec<String> {
        let time = answer.first_us();
        let mut cells = vec![
            problem,
            first.config.clone(),
            show(first.predicted_us, 1),
            match &first.failure {
                Some(failure) => format!("failed ({:?})", failure.kind),
                None => show(time, 1),
            },
            show(time.filter(|_| answer.flops > 0.0).map(|t| answer.flops / t / 1e3), 2),
            show(time.filter(|_| answer.bytes > 0.0).map(|t| answer.bytes / t / 1e3), 2),
            show(answer.compute_share.zip(answer.memory_share).map(|(c, m)| 100.0 * c.max(m)), 1),
            answer.bound.map_or("-".to_string(), |bound| format!("{bound:?}").to_lowercase()),
            show(answer.default_cost().zip(answer.first_cost()).map(|(d, t)| d / t), 2),
            show(share(answer, answer.first_cost()), 1),
            show(share(answer, answer.best_predicted_cost()), 1),
        ];
        cells.extend(self.library.iter().map(|_| show(of_library(answer), 1)));
        let beside = |b: &Beside| Some(100.0 * answer.best_us? / b.measured_us?);
        cells.extend(answer.beside.iter().map(|b| show(beside(b), 1)));
        cells.extend(self.filled.then(|| show(answer.filled.map(|f| 100.0 * f), 0)));
        if self.metered {
            let joules = answer.first_joules();
            cells.extend(self.told.then(|| show(first.predicted_joules.map(|j| 1e3 * j), 3)));
            cells.push(show(joules.map(|j| 1e3 * j), 3));
            cells.push(show(joules.zip(answer.default_joules).map(|(j, d)| 100.0 * j / d), 1));
        }
        cells
    }
}

/// The means over all problems, in a sentence.
fn means(answers: &[MeasuredAnswer], library: Option<&str>) -> String {
    let speed_up = |a: &MeasuredAnswer| Some((a.default_cost()? / a.first_cost()?).ln());
    let logs: Vec<f64> = answers.iter().filter_map(speed_up).collect();
    let speed_up = match logs.is_empty() {
        true => "-".to_string(),
        false => format!("{:.2}", (logs.iter().sum::<f64>() / logs.len() as f64).exp()),
    };
    let beside =
        library.map_or(String::new(), |name| format!(", {} % of {name}", mean(answers.iter().map(of_library))));
    let by = match answers.first().map(|a| a.objective) {
        None | Some(Objective::Time) => "",
        Some(Objective::Energy) => ", by energy",
        Some(Objective::Edp) => ", by energy times time",
    };
    let named = answers.first().map_or(0, |a| a.beside.len());
    let named = (0..named).map(|at| {
        let share = |a: &MeasuredAnswer| Some(100.0 * a.best_us? / a.beside.get(at)?.measured_us?);
        format!(", beside {} {} %", at + 1, mean(answers.iter().map(share)))
    });
    let beside = beside + &named.collect::<String>();
    format!(
        "{}{by}: first choice {speed_up} x the default (geometric mean), {} % of the best found{}, best of the top {} %{beside}.",
        count_noun(answers.len(), "problem"),
        mean(answers.iter().map(|a| share(a, a.first_cost()))),
        tenth(answers.iter().filter_map(|a| share(a, a.first_cost())).collect()),
        mean(answers.iter().map(|a| share(a, a.best_predicted_cost()))),
    )
}

/// The 10th percentile of shares in percent, where there are enough.
fn tenth(mut shares: Vec<f64>) -> String {
    if shares.len() < 10 {
        return String::new();
    }
    shares.sort_by(f64::total_cmp);
    format!(" ({:.1} % at the 10th percentile)", quantile(&shares, 0.1))
}

/// Bars of every problem, as SVG.
pub fn draw(kernel: &Kernel, problems: &[Problem], answers: &[MeasuredAnswer], device: &Device) -> Result<String> {
    let rate = |a: &MeasuredAnswer, t: Option<f64>| t.map_or(0.0, |t| a.flops / t / 1e3);
    let searched = answers.iter().any(|a| a.search_us.is_some());
    let groups: Vec<plot::Group> = problems
        .iter()
        .zip(answers)
        .map(|(problem, a)| {
            let mut values = vec![rate(a, a.default_us), rate(a, a.first_us()), rate(a, a.best_predicted_us())];
            if searched {
                values.push(rate(a, a.search_us));
            }
            plot::Group { label: kernel.brief_problem(problem), values }
        })
        .collect();
    let series = ["kernel default", "first choice", "best of the top", "best of random search"];
    let title = format!("{} on {}", kernel.name, device.name);
    plot::bars_svg(&title, "GFLOP/s", &series[..3 + searched as usize], &groups)
}

/// The validation as a page, the largest loss first.
pub fn page(
    kernel: &Kernel,
    problems: &[Problem],
    answers: &[MeasuredAnswer],
    device: &Device,
    model: String,
) -> Result<Page> {
    let show = |x: Option<f64>| show(x, 1);
    let share = |a: &MeasuredAnswer| share(a, a.first_cost());
    let mut order: Vec<usize> = (0..answers.len()).collect();
    order.sort_by(|a, b| share(&answers[*a]).unwrap_or(0.0).total_cmp(&share(&answers[*b]).unwrap_or(0.0)));
    let row = |at: usize| {
        let (problem, answer) = (&problems[at], &answers[at]);
        vec![
            kernel.brief_problem(problem),
            show(share(answer)),
            show(answer.first_us()),
            show(answer.default_us),
            show(answer.best_us),
            answer.predictions.first().map_or(String::new(), |first| first.config.clone()),
        ]
    };
    let columns = ["problem", "% of best found", "first choice, us", "default, us", "best found, us", "first choice"];
    Ok(Page {
        title: format!("{} on {}", kernel.name, device.name),
        headline: means(answers, answers.iter().find_map(|a| a.library.as_deref())),
        facts: vec![
            ("command".into(), seqtune_console::outputs::command_line()),
            ("model".into(), model),
            ("device".into(), format!("{}, {}", device.name, device.driver)),
            ("seqtune".into(), format!("{}, {}", env!("CARGO_PKG_VERSION"), seqtune_data::today())),
        ],
        plots: vec![draw(kernel, problems, answers, device)?],
        caption: "Measured side by side; the largest loss first".into(),
        columns: columns.map(String::from).into(),
        rows: order.into_iter().map(row).collect(),
    })
}
