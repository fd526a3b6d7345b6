//! What a sweep says at its end.

use seqtune_console::answer::{answer, tell, warn};
use seqtune_data::failures::{Failures, failures};
use seqtune_data::{Journal, Outcome};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result};
use seqtune_measure::sweep::Report;
use std::path::Path;

/// Shows what the sweep brought; the journal held the first `before` records already.
pub fn show(report: &Report, journal: &Journal, output: &Path, before: usize) {
    let records = &journal.dataset.records;
    let rate = report.measured as f64 / report.seconds.max(1e-9);
    let others = match records.len().saturating_sub(report.measured + report.invalid + report.found) {
        0 => String::new(),
        count => format!(", {count} of other configs"),
    };
    answer(&format!(
        "{}: {} measured now ({rate:.1} a second), {} failed, {} found in {}{others}\n\
         {:.1} s: {:.1} s compiling, {:.1} s measuring, {:.1} % overhead",
        count_noun(records.len(), "record"),
        report.measured,
        report.invalid,
        report.found,
        output.display(),
        report.seconds,
        report.compile_seconds,
        report.measure_seconds,
        report.overhead * 100.0,
    ));
    for Failures { kind, reason, count, example: (problem, config) } in failures(&records[before..]) {
        let kind = format!("{kind:?}").to_lowercase();
        answer(&format!("{count} failed ({kind}): {reason}\n  such as {config} for {problem}"));
    }
    if let Some(beside) = journal.dataset.beside_library() {
        answer(&beside);
    }
    if let Some(reason) = records.iter().rev().find_map(|r| r.observed.unmetered.as_ref()) {
        warn(&format!("no energy was metered: {reason}"));
    }
    if report.stopped && !report.signalled {
        let done = report.found + report.measured + report.invalid;
        tell(&format!("seqtune: the budget is spent at {done} of {}; the same command goes on", report.planned));
    }
}

/// Warns of what was found failed before; an error where the sweep was stopped, or no config works.
pub fn finish(report: &Report, journal: &Journal, output: &Path, before: usize) -> Result<()> {
    journal.sync()?;
    let records = &journal.dataset.records;
    let old = failures(&records[..before]).iter().map(|group| group.count).sum::<usize>();
    if old > 0 {
        warn(&format!(
            "{old} of the records found in {} are failures, which are not tried again; if the kernel was mended since, \
             name another journal",
            output.display()
        ));
    }
    match records.iter().all(|record| matches!(record.outcome, Outcome::Invalid(_))) && !records.is_empty() {
        _ if report.signalled => {
            let done = report.found + report.measured + report.invalid;
            let (planned, path) = (report.planned, output.display());
            Err(Error::Failed(format!(
                "stopped by a signal at {done} of {planned}; {path} keeps what was measured, and the same command goes on"
            )))
        }
        true => Err(Error::Failed(format!(
            "none of {} works; nothing can be learned from them",
            count_noun(records.len(), "config")
        ))),
        false => Ok(()),
    }
}
