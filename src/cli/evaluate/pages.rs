//! The plots and pages of evaluations.

use seqtune_console::arguments::evaluate::ModelAndDatasets;
use seqtune_console::outputs::command_line;
use seqtune_eval::baselines::method::Method;
use seqtune_eval::measures::curve::Curve;
use seqtune_eval::pages::html::{Page, reliability_diagram};
use seqtune_eval::pages::plot;
use seqtune_eval::{ReplayReport, tuned};
use seqtune_kernel::error::Result;
use seqtune_predict::Model;
use seqtune_predict::confidence::TopPrediction;

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The program, with its version and the day.
fn version() -> (String, String) {
    ("seqtune".into(), format!("{}, {}", env!("CARGO_PKG_VERSION"), seqtune_data::today()))
}

/// Bars of every method, as SVG.
pub fn bars(report: &ReplayReport) -> Result<String> {
    let group = |row: &seqtune_eval::ReplayRow| plot::Group {
        label: row.method.name().replace(' ', ","),
        values: vec![100.0 * row.mean, 100.0 * row.best_of_5],
    };
    let groups: Vec<plot::Group> = report.rows.iter().map(group).collect();
    let title =
        format!("{}: share of the best measured speed, {} held-out problems", report.kernel, report.test_problems);
    plot::bars_svg(&title, "percent", &["first choice", "best of the first 5"], &groups)
}

/// An evaluation on sweeps as a page.
pub fn of_swept(on: &ModelAndDatasets, model: &Model, report: &ReplayReport, curve: &Curve) -> Result<Page> {
    let first = report.rows.first();
    let mut facts = vec![
        ("command".to_string(), command_line()),
        ("model".into(), format!("{}, {}", on.model.display(), model.digest())),
        ("trained".into(), format!("{}: {}", model.meta.date, model.meta.command)),
        ("data".into(), report.data.join(", ")),
        ("devices".into(), report.devices.join(", ")),
        ("objective".into(), report.objective.to_string()),
        version(),
    ];
    if let Some(reliability) = &report.sureness {
        facts.push(("calibration".into(), reliability.text().trim().replace('\n', " ")));
    }
    let mut plots = vec![curve.svg(), bars(report)?];
    if !report.firsts.is_empty() {
        plots.push(reliability_diagram(&report.firsts));
    }
    Ok(Page {
        title: format!("{} on {}", report.kernel, report.devices.join(", ")),
        headline: first.map_or(String::new(), |row| {
            format!(
                "The first choice reaches {} of the best measured speed on {} problems that the model never saw, the best of the first five {}.",
                percent(row.mean),
                report.test_problems,
                percent(row.best_of_5)
            )
        }),
        facts,
        plots,
        caption: "What the first choice reaches, the largest loss first".into(),
        columns: vec!["problem".into(), "share of the best measured speed".into()],
        rows: report.problems.iter().map(|(problem, share)| vec![problem.clone(), percent(*share)]).collect(),
    })
}

/// An evaluation on tuned configs as a page, the solver with the fewest right first choices first.
pub fn of_tuned(on: &ModelAndDatasets, reports: &[tuned::TunedReport]) -> Result<Page> {
    let row = |report: &tuned::TunedReport, method| report.rows.iter().find(|r| r.method == method).map(|r| r.exact);
    let mean = |method| mean(reports.iter().filter_map(|report| row(report, method)));
    let methods = [
        (Method::Majority, "majority"),
        (Method::NearestNeighbour, "nearest neighbour"),
        (Method::LightGbmChain, "LightGBM chain"),
        (Method::Predict, "seqtune"),
    ];
    let means: Vec<(&str, Vec<f64>)> =
        methods.into_iter().filter_map(|(method, name)| Some((name, mean(method)?))).collect();
    let series: Vec<&str> = means.iter().map(|(name, _)| *name).collect();
    let group = |(at, label): (usize, &str)| plot::Group {
        label: label.into(),
        values: means.iter().map(|(_, shares)| 100.0 * shares[at]).collect(),
    };
    let groups: Vec<plot::Group> =
        ["first choice", "among first 5", "among first 10"].into_iter().enumerate().map(group).collect();
    let title = format!("problems whose tuned config is named, mean of {} kernels", reports.len());
    let firsts: Vec<TopPrediction> = reports.iter().flat_map(|report| report.firsts.iter().copied()).collect();
    let mut sorted: Vec<&tuned::TunedReport> = reports.iter().collect();
    let first = |report: &tuned::TunedReport| row(report, Method::Predict).map_or(0.0, |exact| exact[0]);
    sorted.sort_by(|a, b| first(a).total_cmp(&first(b)));
    let exact = |report: &tuned::TunedReport, (method, _): (Method, &str)| {
        row(report, method).map_or("-".into(), |exact| exact.map(percent).join(" / "))
    };
    let cells = |report: &&tuned::TunedReport| {
        let mut cells = vec![report.kernel.clone(), report.test_problems.to_string()];
        cells.extend(methods.into_iter().rev().map(|method| exact(report, method)));
        cells
    };
    let mut columns: Vec<String> = ["kernel", "test problems"].map(String::from).into();
    columns.extend(methods.into_iter().rev().map(|(_, name)| format!("{name}: first / of 5 / of 10")));
    let problems: usize = reports.iter().map(|report| report.test_problems).sum();
    let ours = mean(Method::Predict).unwrap_or_default();
    Ok(Page {
        title: "Tuned configs that the model names".into(),
        headline: format!(
            "The first choice is the tuned config for {} of the problems, one of the first ten for {} (means over {} kernels, {problems} problems that the model never saw).",
            percent(ours.first().copied().unwrap_or_default()),
            percent(ours.last().copied().unwrap_or_default()),
            reports.len()
        ),
        facts: vec![
            ("command".into(), command_line()),
            ("model".into(), on.model.display().to_string()),
            ("data".into(), on.datasets.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")),
            version(),
        ],
        plots: vec![plot::bars_svg(&title, "percent", &series, &groups)?, reliability_diagram(&firsts)],
        caption: "Share of problems whose tuned config is named, the lowest first".into(),
        columns,
        rows: sorted.iter().map(cells).collect(),
    })
}

/// Means over reports, position by position; `None` of none.
fn mean<const N: usize>(shares: impl Iterator<Item = [f64; N]>) -> Option<Vec<f64>> {
    let all: Vec<[f64; N]> = shares.collect();
    let mean = |at: usize| all.iter().map(|shares| shares[at]).sum::<f64>() / all.len() as f64;
    (!all.is_empty()).then(|| (0..N).map(mean).collect())
}
