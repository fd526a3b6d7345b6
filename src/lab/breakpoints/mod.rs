//! Rows for a changing size, by replay: as few as predictions need, beside powers of two as engines have them.
//!
//! Each held-out problem stands on a line of its own along one field. Rows for that line are made without its measured times; the config that
//! its size is served with is then looked up among these. Candidates are the configs that the problem was measured with.

use seqtune_choose::Predicted;
use seqtune_choose::breakpoints::{Breakpoints, Line, LossPair, Nearness, loss_pairs, margin, nearest};
use seqtune_choose::losses::{LossOptions, LossTable, log_of_loss, speed_lost};
use seqtune_choose::ranges::Range;
use seqtune_data::stats::quantile;
use seqtune_data::{MeasuredProblem, Table};
use seqtune_eval::measures::replay::{ReplayOptions, held_out};
use seqtune_eval::pages::markdown;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, ConfigSpace, Kernel, Objective};
use seqtune_predict::model::Part;
use seqtune_predict::{Model, Predictor};
use serde::Serialize;

/// Candidates that a problem has at least.
const LEAST_CANDIDATES: usize = 5;
/// Powers of two that a line was measured at, for rows that are made of these.
const LEAST_MEASURED_ROWS: usize = 4;

/// What is asked for.
pub struct LineOptions<'a> {
    /// Field that changes.
    pub field: &'a str,
    /// Bounds of the loss, as shares of the speed.
    pub bounds: &'a [f64],
    /// Sizes that a line is asked at.
    pub sizes: usize,
    /// Held-out problems that are judged at most, evenly drawn.
    pub problems: usize,
    /// All problems are judged, of data that the model did not learn from.
    pub whole: bool,
}

/// A way to make rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum RowMethod {
    /// The fewest intervals within a bound.
    Intervals(f64),
    /// The fewest rows within a bound, of which a reader takes the nearest.
    Rows(f64),
    /// A row at each power of two with its predicted best config.
    PowersOfTwo,
    /// A row at each power of two with its measured best config, where the line was measured there.
    MeasuredPowersOfTwo,
    /// The first choice for the size itself.
    FirstChoice,
}

impl RowMethod {
    fn name(self) -> String {
        match self {
            RowMethod::Intervals(bound) => format!("intervals within {:.1} %", 100.0 * bound),
            RowMethod::Rows(bound) => format!("rows within {:.1} %", 100.0 * bound),
            RowMethod::PowersOfTwo => "powers of two, predicted".into(),
            RowMethod::MeasuredPowersOfTwo => "powers of two, measured".into(),
            RowMethod::FirstChoice => "first choice for each size".into(),
        }
    }
}

/// How a method did on one problem.
#[derive(Clone, Copy, Debug)]
struct Served {
    method: RowMethod,
    rows: usize,
    /// Logarithm of the measured time in units of the least.
    loss: f64,
    /// The predicted part of the loss that is stated for the size, as a logarithm.
    stated: f64,
}

/// Means over the problems.
#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    /// The way.
    pub method: RowMethod,
    /// Problems.
    pub problems: usize,
    /// Mean number of rows of a line.
    pub rows: f64,
    /// Mean share of the best measured speed that is lost.
    pub mean: f64,
    /// Ninth decile of it.
    pub p90: f64,
    /// The largest.
    pub worst: f64,
    /// Largest loss that is stated with the margin, on average over the problems; `None` of methods that state none.
    pub stated: Option<f64>,
    /// Share of the problems in which that is exceeded.
    pub exceeded: Option<f64>,
}

/// A comparison on one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct RowComparison {
    /// The kernel's name.
    pub kernel: String,
    /// Field that changes.
    pub field: String,
    /// Problems that the margins of stated losses were learned from.
    pub margin_problems: usize,
    /// Results by method.
    pub results: Vec<RowResult>,
}

/// What problems are replayed with.
struct RowReplay<'r> {
    kernel: &'r Kernel,
    table: &'r Table,
    predictor: Predictor,
    digest: String,
    range: Range,
    options: &'r LineOptions<'r>,
}

/// Compares rows on the problems that a model did not learn from.
///
/// # Errors
/// `Error::Input` where nothing is held out or the field is no size of the kernel; else the error of the model.
pub fn compare(kernel: &Kernel, model: &Model, table: &Table, options: &LineOptions) -> Result<RowComparison> {
    let objective = Objective::Time;
    let ask = ReplayOptions { objective, whole: options.whole, trees: None };
    let all = held_out(kernel, model, table, ask)?.tests;
    let count = options.problems.min(all.len());
    let tests: Vec<&MeasuredProblem> = (0..count).map(|at| all[at * all.len() / count]).collect();
    let Some(at) = kernel.fields.iter().position(|field| field.name == options.field) else {
        return input(format!("kernel {} has no field {}", kernel.name, options.field));
    };
    let sizes = || table.problems.iter().map(|tried| tried.problem.values[at] as u64);
    let range =
        Range { field: options.field.into(), least: sizes().min().unwrap_or(1), greatest: sizes().max().unwrap_or(1) };
    range.check(kernel)?;
    let predictor = Predictor::new(kernel, model)?;
    let replay = RowReplay { kernel, table, predictor, digest: model.digest(), range, options };
    // what chose the weights tells how far predicted losses are off, and is not judged
    let calibrating = match options.whole {
        true => Vec::new(),
        false => table.part(kernel, &model.meta.split, Part::Validation, objective),
    };
    let calibrating: Vec<&MeasuredProblem> = calibrating.into_iter().map(|at| &table.problems[at]).collect();
    let pairs = on_threads(&calibrating, cores(), |tried| replay.pairs(tried))?;
    let pairs: Vec<Vec<LossPair>> = pairs.into_iter().filter(|pairs| !pairs.is_empty()).collect();
    let served: Vec<Vec<Served>> = on_threads(&tests, cores(), |tried| replay.serve(tried))?;
    let served: Vec<Vec<Served>> = served.into_iter().filter(|served| !served.is_empty()).collect();
    if served.is_empty() {
        return input("no held-out problem has candidates enough to replay");
    }
    let mut methods: Vec<RowMethod> = Vec::new();
    for one in served.iter().flatten() {
        if !methods.contains(&one.method) {
            methods.push(one.method);
        }
    }
    // a line that is measured at many powers of two is rare in sweeps of random sizes: a method of few problems is none
    methods.retain(|method| 2 * served.iter().flatten().filter(|one| one.method == *method).count() >= served.len());
    let result = |method: &RowMethod| {
        let own: Vec<Served> = served.iter().flatten().filter(|one| one.method == *method).copied().collect();
        summarise(*method, &own, &pairs)
    };
    Ok(RowComparison {
        kernel: kernel.name.clone(),
        field: options.field.into(),
        margin_problems: pairs.len(),
        results: methods.iter().map(result).collect(),
    })
}

fn summarise(method: RowMethod, own: &[Served], pairs: &[Vec<LossPair>]) -> RowResult {
    let mut losses: Vec<f64> = own.iter().map(|one| speed_lost(one.loss)).collect();
    losses.sort_by(f64::total_cmp);
    let mean = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>() / own.len() as f64;
    let margin = match method {
        RowMethod::Intervals(bound) | RowMethod::Rows(bound) => margin(pairs, log_of_loss(bound)),
        _ => None,
    };
    RowResult {
        method,
        problems: own.len(),
        rows: mean(&mut own.iter().map(|one| one.rows as f64)),
        mean: mean(&mut losses.iter().copied()),
        p90: quantile(&losses, 0.9),
        worst: quantile(&losses, 1.0),
        stated: margin.map(|margin| mean(&mut own.iter().map(|one| speed_lost(one.stated + margin)))),
        exceeded: margin
            .map(|margin| mean(&mut own.iter().map(|one| f64::from(u8::from(one.loss > one.stated + margin))))),
    }
}

impl RowReplay<'_> {
    /// The configs that a problem was measured with, and what each lost.
    fn candidates(&self, tried: &MeasuredProblem) -> (Vec<Config>, Vec<f64>) {
        let device = &self.table.devices[tried.device];
        let space = ConfigSpace::new(self.kernel, &tried.problem, device);
        let mut costs = tried.costs(Objective::Time);
        costs.retain(|known| space.is_legal(known.config));
        let least = costs.first().map_or(1.0, |known| known.cost);
        let configs = costs.iter().map(|known| known.config.clone()).collect();
        (configs, costs.iter().map(|known| (known.cost / least).ln()).collect())
    }

    fn points(&self, tried: &MeasuredProblem) -> Predicted<&Predictor> {
        Predicted::with_predictor(self.kernel, &self.predictor, self.digest.clone(), &self.table.devices[tried.device])
    }

    fn losses(&self, tried: &MeasuredProblem, line: &Line, candidates: &[Config]) -> Result<LossTable> {
        let options = LossOptions::default();
        let device = &self.table.devices[tried.device];
        LossTable::for_candidates(self.kernel, device, &self.points(tried), &line.problems, candidates, &options)
    }

    /// Predicted beside measured losses of one problem.
    fn pairs(&self, tried: &MeasuredProblem) -> Result<Vec<LossPair>> {
        let (candidates, measured) = self.candidates(tried);
        if candidates.len() < LEAST_CANDIDATES {
            return Ok(Vec::new());
        }
        let device = &self.table.devices[tried.device];
        loss_pairs(self.kernel, device, &self.points(tried), &tried.problem, &candidates, &measured)
    }

    /// How each method serves one problem.
    fn serve(&self, tried: &MeasuredProblem) -> Result<Vec<Served>> {
        let (candidates, measured) = self.candidates(tried);
        if candidates.len() < LEAST_CANDIDATES {
            return Ok(Vec::new());
        }
        let device = &self.table.devices[tried.device];
        let mut line = Line::new(self.kernel, device, &tried.problem, &self.range, self.options.sizes)?;
        let own = tried.problem.values[line.field] as u64;
        let at = line.sizes.binary_search(&own).unwrap_or_else(|at| {
            line.sizes.insert(at, own);
            line.problems.insert(at, tried.problem.clone());
            at
        });
        let table = self.losses(tried, &line, &candidates)?;
        let best = |at: usize| {
            let row = &table.losses[at];
            (0..row.len()).min_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0)
        };
        let mut all = Vec::new();
        let mut add = |method, rows, column: usize, stated| {
            all.push(Served { method, rows, loss: measured[column], stated });
        };
        for bound in self.options.bounds {
            let found = Breakpoints::from_table(line.clone(), table.clone(), *bound);
            if let Some(one) = found.intervals.iter().find(|one| one.greatest >= own) {
                add(RowMethod::Intervals(*bound), found.intervals.len(), one.config, one.worst);
            }
            let rows = found.rows(Nearness::Difference);
            let places: Vec<u64> = rows.iter().map(|row| row.size).collect();
            if let Some(row) = nearest(&places, own, Nearness::Difference).map(|at| &rows[at]) {
                add(RowMethod::Rows(*bound), rows.len(), row.config, row.worst);
            }
        }
        let powers: Vec<u64> = line.sizes.iter().copied().filter(|size| size.is_power_of_two()).collect();
        if let Some(row) = nearest(&powers, own, Nearness::Difference) {
            let place = line.sizes.binary_search(&powers[row]).unwrap_or(at);
            add(RowMethod::PowersOfTwo, powers.len(), best(place), 0.0);
        }
        if let Some((rows, column)) = self.measured_row(tried, line.field, &candidates) {
            add(RowMethod::MeasuredPowersOfTwo, rows, column, 0.0);
        }
        add(RowMethod::FirstChoice, line.sizes.len(), best(at), 0.0);
        Ok(all)
    }

    /// How many powers of two the problem's own line was measured at, if some, and the best candidate at the nearest one.
    fn measured_row(&self, tried: &MeasuredProblem, field: usize, candidates: &[Config]) -> Option<(usize, usize)> {
        let is_on_line = |other: &&MeasuredProblem| {
            let values = other.problem.values.iter().zip(&tried.problem.values).enumerate();
            let size = other.problem.values[field];
            (size as u64).is_power_of_two()
                && other.device == tried.device
                && values.into_iter().all(|(at, (a, b))| at == field || a == b)
        };
        let mut rows: Vec<&MeasuredProblem> = self.table.problems.iter().filter(is_on_line).collect();
        rows.sort_by(|a, b| a.problem.values[field].total_cmp(&b.problem.values[field]));
        let sizes: Vec<u64> = rows.iter().map(|row| row.problem.values[field] as u64).collect();
        if rows.len() < LEAST_MEASURED_ROWS {
            return None;
        }
        let row = rows[nearest(&sizes, tried.problem.values[field] as u64, Nearness::Difference)?];
        let costs = row.costs(Objective::Time);
        let column = costs.iter().find_map(|known| candidates.iter().position(|config| config == known.config))?;
        Some((rows.len(), column))
    }
}

impl RowComparison {
    /// A Markdown table.
    pub fn table(&self) -> String {
        let mut table = markdown::Table::new(&[
            "rows",
            "rows of a line (fewer is better)",
            "speed lost on average, %",
            "90th percentile, %",
            "worst, %",
            "stated, %",
            "stated is exceeded in % of the problems",
        ]);
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        for own in &self.results {
            let optional = |share: Option<f64>| share.map_or("-".into(), percent);
            table.row(&[
                own.method.name(),
                format!("{:.1}", own.rows),
                percent(own.mean),
                percent(own.p90),
                percent(own.worst),
                optional(own.stated),
                optional(own.exceeded),
            ]);
        }
        let problems = self.results.first().map_or(0, |own| own.problems);
        format!(
            "{} along {}: {problems} held-out problems, margins from {} others\n\n{table}",
            self.kernel, self.field, self.margin_problems
        )
    }
}
