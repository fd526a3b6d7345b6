//! Reports on tuned datasets as Markdown tables.

use crate::baselines::method::Method;
use crate::measures::paired::{Margin, Paired};
use crate::measures::reliability::CalibrationError;
use crate::measures::sets::{CredibleSet, Sets};
use crate::pages::markdown;
use crate::tuned::solvers::{SolverChoice, Timed, choice};
use crate::tuned::{MEASURES, TunedReport, TunedRow};
use seqtune_predict::confidence::TopPrediction;

/// A share in percent; a hyphen where it is not known.
pub fn percent(x: f64) -> String {
    if x.is_finite() { format!("{:.1}", 100.0 * x) } else { "-".into() }
}

/// The row of a method.
pub fn row(report: &TunedReport, method: Method) -> Option<&TunedRow> {
    report.rows.iter().find(|r| r.method == method)
}

/// Top-1 and top-5 in percent, nats.
fn signed_margins([first, five, _, nats]: &[Margin; MEASURES]) -> [String; 3] {
    let signed =
        |(d, e): &Margin, factor: f64, digits: usize| format!("{:+.digits$} ± {:.digits$}", factor * d, factor * e);
    [signed(first, 100.0, 1), signed(five, 100.0, 1), signed(nats, 1.0, 3)]
}

/// The comparison, what masking does and how far the labels reproduce, most problems first.
pub fn text(reports: &[TunedReport]) -> String {
    let reports = sort_by_problems(reports.iter().collect(), |report| report);
    tables(&reports) + &summary(&reports)
}

/// Sorts what holds a report: most problems first.
pub fn sort_by_problems<T>(mut all: Vec<T>, report: impl Fn(&T) -> &TunedReport) -> Vec<T> {
    all.sort_by(|a, b| {
        let (a, b) = (report(a), report(b));
        b.test_problems.cmp(&a.test_problems).then(a.kernel.cmp(&b.kernel))
    });
    all
}

/// Tables with a line for each report.
pub fn tables(reports: &[&TunedReport]) -> String {
    format!(
        "Share of problems in percent whose tuned config is the first choice / among the first 5 / the first 10; nats per config. Margins are seqtune less trees, with the standard error over shapes.\n\n{}\n\
         Parameters right in percent, free-running (by the first choice) and teacher-forced (after the tuned prefix); illegal configs \
         in percent; dead ends of a search that masks broken prefixes only; share of twins tuned alike (near ties are decided by chance); \
         expected calibration error in percent of how probable first choices were said to be, and what chance alone would make it.\n\n{}\n\
         Parameters right by seqtune in percent, free-running / teacher-forced.\n\n{}\n{}",
        comparison(reports),
        details(reports),
        by_parameter(reports),
        beside_others(reports)
    )
}

/// The methods' shares of tuned configs by solver, and seqtune's margins over the trees.
fn comparison(reports: &[&TunedReport]) -> markdown::Table {
    let mut table = markdown::Table::new(&[
        "solver",
        "test",
        "shapes",
        "majority",
        "neighbour",
        "trees",
        "trees nats",
        "seqtune",
        "seqtune nats",
        "margin top-1",
        "margin top-5",
        "margin nats",
    ]);
    let tops = |r: Option<&TunedRow>| r.map_or("-".into(), |r| r.exact.map(percent).join(" / "));
    let nats = |r: Option<&TunedRow>| r.and_then(|r| r.nats).map_or("-".into(), |x| format!("{x:.3}"));
    for r in reports {
        let (trees, model) = (row(r, Method::LightGbmChain), row(r, Method::Predict));
        let margins = r.margins.as_ref().map_or(["-".into(), "-".into(), "-".into()], signed_margins);
        let mut cells = vec![
            r.kernel.clone(),
            r.test_problems.to_string(),
            r.test_shapes.to_string(),
            tops(row(r, Method::Majority)),
            tops(row(r, Method::NearestNeighbour)),
            tops(trees),
            nats(trees),
            tops(model),
            nats(model),
        ];
        cells.extend(margins);
        table.row(&cells);
    }
    table
}

/// Parameters by solver, illegal configs, how far labels reproduce, calibration.
fn details(reports: &[&TunedReport]) -> markdown::Table {
    let mut table = markdown::Table::new(&[
        "solver",
        "free trees",
        "free seqtune",
        "forced trees",
        "forced seqtune",
        "illegal",
        "illegal unmasked",
        "dead ends",
        "twins by batch",
        "by device",
        "calibration error",
        "by chance",
    ]);
    let free = |r: Option<&TunedRow>| r.map_or("-".into(), |r| percent(r.free));
    let forced = |r: Option<&TunedRow>| r.and_then(|r| r.forced).map_or("-".into(), percent);
    let twins = |(share, n): (f64, usize)| if n == 0 { "-".into() } else { format!("{} of {n}", percent(share)) };
    for r in reports {
        let (trees, model) = (row(r, Method::LightGbmChain), row(r, Method::Predict));
        table.row(&[
            r.kernel.clone(),
            free(trees),
            free(model),
            forced(trees),
            forced(model),
            model.map_or("-".into(), |m| percent(m.illegal)),
            percent(r.unmasked.illegal),
            percent(r.unmasked.dead_ends),
            twins(r.labels.batch),
            twins(r.labels.device),
            percent(r.trueness.calibration_error),
            percent(r.trueness.error_by_chance),
        ]);
    }
    table
}

fn by_parameter(reports: &[&TunedReport]) -> markdown::Table {
    let mut table = markdown::Table::new(&["solver", "parameters"]);
    for r in reports {
        let Some(model) = row(r, Method::Predict) else { continue };
        let shares = model.free_by_parameter.iter().zip(&model.forced_by_parameter);
        let each = r.parameters.iter().zip(shares);
        let each: Vec<String> = each.map(|(p, (a, b))| format!("{p} {} / {}", percent(*a), percent(*b))).collect();
        table.row(&[r.kernel.clone(), each.join(", ")]);
    }
    table
}

/// The model and another one beside it, where there is one.
fn beside_others(reports: &[&TunedReport]) -> String {
    let mut table = markdown::Table::new(&[
        "solver",
        "test",
        "seqtune",
        "nats",
        "beside",
        "nats",
        "less top-1",
        "less top-5",
        "less nats",
    ]);
    let mut all = Paired::default();
    for r in reports {
        let (Some(model), Some(other)) = (row(r, Method::Predict), row(r, Method::Beside)) else { continue };
        let (Some(margins), Some(paired)) = (&r.margins_beside, &r.paired_beside) else { continue };
        all.extend(paired);
        let mut cells = vec![r.kernel.clone(), r.test_problems.to_string()];
        for row in [model, other] {
            cells.push(row.exact.map(percent).join(" / "));
            cells.push(row.nats.map_or("-".into(), |nats| format!("{nats:.3}")));
        }
        cells.extend(signed_margins(margins));
        table.row(&cells);
    }
    if all.problems() == 0 {
        return String::new();
    }
    let [first, five, nats] = signed_margins(&all.margins());
    format!(
        "Beside another model:\n\n{table}\nAll {} problems alike, seqtune less the model beside: top-1 {first}, top-5 {five}, nats {nats}.\n\n",
        all.problems()
    )
}

/// Averages over all solvers, the margins over all problems, and who is above 90 % per parameter.
pub fn summary(reports: &[&TunedReport]) -> String {
    let mean = |of: &dyn Fn(&TunedReport) -> Option<f64>| {
        let values: Vec<f64> = reports.iter().filter_map(|r| of(r)).collect();
        percent(values.iter().sum::<f64>() / values.len() as f64)
    };
    let above: Vec<&str> = reports
        .iter()
        .filter(|r| row(r, Method::Predict).and_then(|m| m.forced).is_some_and(|f| f > 0.9))
        .map(|r| r.kernel.as_str())
        .collect();
    let mut all = Paired::default();
    reports.iter().filter_map(|r| r.paired.as_ref()).for_each(|p| all.extend(p));
    let pooled = match all.problems() {
        0 => String::new(),
        n => {
            let [first, five, nats] = signed_margins(&all.margins());
            format!("All {n} problems alike, seqtune less trees: top-1 {first}, top-5 {five}, nats {nats}.\n")
        }
    };
    let firsts: Vec<TopPrediction> = reports.iter().flat_map(|r| r.firsts.iter().copied()).collect();
    let mean_of = |of: &dyn Fn(&TopPrediction) -> f64| firsts.iter().map(of).sum::<f64>() / firsts.len() as f64;
    let trueness = CalibrationError::from_predictions(&firsts);
    let timed: Vec<&Timed> = reports.iter().flat_map(|r| &r.timed).collect();
    let sets: Vec<CredibleSet> = reports.iter().flat_map(|r| r.each_set.iter().copied()).collect();
    format!(
        "Mean over {} solvers: top-1 seqtune {}, trees {}; top-5 {}, {}; teacher-forced {}, {}.\n{pooled}\
         First choices are as probable as they are said to be within {} % (expected calibration error over all {} problems; by chance alone {} %): right in {} %, said to be in {} %.\n{}\
         {}Teacher-forced above 90 %: {}.\n",
        reports.len(),
        mean(&|r| row(r, Method::Predict).map(|m| m.exact[0])),
        mean(&|r| row(r, Method::LightGbmChain).map(|m| m.exact[0])),
        mean(&|r| row(r, Method::Predict).map(|m| m.exact[1])),
        mean(&|r| row(r, Method::LightGbmChain).map(|m| m.exact[1])),
        mean(&|r| row(r, Method::Predict).and_then(|m| m.forced)),
        mean(&|r| row(r, Method::LightGbmChain).and_then(|m| m.forced)),
        percent(trueness.calibration_error),
        firsts.len(),
        percent(trueness.error_by_chance),
        percent(mean_of(&|first| first.best as u8 as f64)),
        percent(mean_of(&|first| first.probability)),
        Sets::summarize(&sets).map_or(String::new(), |sets| sets.text("the tuned config")),
        choice(&timed).filter(|_| reports.len() > 1).map_or(String::new(), choice_of_solvers),
        if above.is_empty() { "none".into() } else { above.join(", ") }
    )
}

/// What choosing among solvers is worth.
fn choice_of_solvers(SolverChoice { convolutions, solvers, predicted, on_average, random }: SolverChoice) -> String {
    let of = |[fastest, loss]: [f64; 2]| format!("{} %, losing {} %", percent(fastest), percent(loss));
    format!(
        "Of {convolutions} convolutions with measured times of {solvers:.1} solvers on average, the one with the lowest predicted time is the fastest in {}; \
         the one that was best on average in {}; one at random in {}.\n",
        of(predicted),
        of(on_average),
        of(random)
    )
}
