//! Reports as Markdown tables: those of users, with those of the laboratory.

use crate::tuned::ComparedReport;
use seqtune_eval::baselines::method::Method;
use seqtune_eval::pages::markdown;
use seqtune_eval::tuned::report::{percent, row, sort_by_problems, summary, tables};

/// The tables of every evaluation, those of the laboratory and the means, most problems first.
pub fn text(reports: &[ComparedReport]) -> String {
    let reports: Vec<&ComparedReport> = sort_by_problems(reports.iter().collect(), |report| &report.report);
    let plain: Vec<_> = reports.iter().map(|report| &report.report).collect();
    [tables(&plain), head_to_head(&reports), against_ktn(&reports), retuned_table(&reports), summary(&plain)].concat()
}

/// All methods side by side, where classifiers of whole configs were judged.
fn head_to_head(reports: &[&ComparedReport]) -> String {
    const METHODS: [Method; 6] = [
        Method::Majority,
        Method::NearestNeighbour,
        Method::ExtraTrees,
        Method::LightGbmChain,
        Method::LightGbmConfigs,
        Method::Predict,
    ];
    let mut head = vec!["solver", "test"];
    head.extend(METHODS.map(Method::name));
    let mut table = markdown::Table::new(&head);
    let judged = |r: &&&ComparedReport| row(&r.report, Method::ExtraTrees).is_some();
    let judged: Vec<&&ComparedReport> = reports.iter().filter(judged).collect();
    for r in &judged {
        let tops = |method: Method| row(&r.report, method).map_or("-".into(), |row| row.exact.map(percent).join(" / "));
        let mut cells = vec![r.report.kernel.clone(), r.report.test_problems.to_string()];
        cells.extend(METHODS.map(tops));
        table.row(&cells);
    }
    match judged.is_empty() {
        true => String::new(),
        false => format!(
            "Head to head, the first choice / among the first 5 / the first 10; classifiers of whole configs know those that occur in training:\n\n{table}\n"
        ),
    }
}

/// The model and KernelTuningNet, where it serves a solver.
fn against_ktn(reports: &[&ComparedReport]) -> String {
    let mut table =
        markdown::Table::new(&["solver", "test", "KernelTuningNet", "seqtune", "seqtune less it", "its illegal"]);
    let mut rows = 0;
    for (r, against) in reports.iter().filter_map(|r| Some((r, r.against_ktn.as_ref()?))) {
        let (mean, error) = against.margin;
        table.row(&[
            r.report.kernel.clone(),
            against.problems.to_string(),
            percent(against.exact),
            percent(against.exact_of_model),
            format!("{:+.1} ± {:.1}", 100.0 * mean, 100.0 * error),
            percent(against.illegal),
        ]);
        rows += 1;
    }
    match rows {
        0 => String::new(),
        _ => format!(
            "Beside MIOpen's KernelTuningNet, on the problems of the data types that it serves: share whose tuned config is the first choice. \
             It may have learned from these problems.\n\n{table}\n"
        ),
    }
}

/// The model beside other tunings of the same problems.
fn retuned_table(reports: &[&ComparedReport]) -> String {
    let mut table = markdown::Table::new(&[
        "tuned twice",
        "problems",
        "alike",
        "held out",
        "held out alike",
        "seqtune",
        "seqtune, either",
        "kept",
        "alike in kept",
        "seqtune in kept",
        "probability of kept",
    ]);
    let known: Vec<_> = reports.iter().filter_map(|r| Some((&r.report.kernel, r.retuned.as_ref()?))).collect();
    for (kernel, r) in &known {
        let of_kept = |share: f64| if r.kept.is_empty() { "-".into() } else { percent(share) };
        table.row(&[
            kernel.to_string(),
            r.problems.to_string(),
            percent(r.agree),
            r.judged.to_string(),
            percent(r.again),
            percent(r.exact),
            percent(r.either),
            if r.kept.is_empty() { "-".into() } else { r.kept.join(", ") },
            of_kept(r.agree_in_kept),
            of_kept(r.exact_in_kept),
            of_kept(r.probability_of_kept),
        ]);
    }
    match known.is_empty() {
        true => String::new(),
        false => format!(
            "Problems that were tuned twice, shares in percent: tuned alike; of the held-out ones tuned alike, the tuned config is seqtune's first choice, \
             or what either tuning chose is; parameters that tuning again keeps in nine of ten problems, tuned alike in all of these, \
             seqtune's first choice right in all of these, and the probability that it gives to such configs.\n\n{table}\n"
        ),
    }
}
