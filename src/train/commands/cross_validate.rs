//! `seqtune evaluate folds` and `evaluate devices`, as the program that trains does them.

use crate::cross_validation::{CrossValidationOptions, HeldOut, cross_validate};
use crate::distil;
use seqtune_console::answer::{answer, answer_json, tell};
use seqtune_console::arguments::evaluate::{CrossValidation, trees};
use seqtune_console::inputs::tables;
use seqtune_console::outputs::command_line;
use seqtune_console::signals::end_with;
use seqtune_data::KernelTable;
use seqtune_kernel::error::{Result, input};
use seqtune_predict::Settings;

/// Judges what training makes of sweeps.
///
/// # Errors
/// `Error::Input` where the datasets allow no such folds, else the error of training.
pub fn run(args: &CrossValidation, held_out: HeldOut) -> Result<()> {
    let corpus = tables(&args.datasets, args.kernel.as_deref())?;
    let [KernelTable { kernel, table }] = &corpus[..] else { return input("sweeps are judged one kernel at a time") };
    if table.problems.is_empty() {
        return input("the datasets hold no record");
    }
    if table.is_tuned() {
        return input("a cross-validation is made of sweeps; these datasets hold what tuners chose");
    }
    let library = trees(args.lightgbm)?;
    let temporary = std::env::temp_dir().join(format!("seqtune-folds-{}", std::process::id()));
    let models = args.models.as_ref().unwrap_or(&temporary);
    let kept = match &args.models {
        Some(folder) => {
            format!("{} keeps the models of finished folds, and the same command goes on", folder.display())
        }
        None => "nothing is kept; with --models FOLDER the models of finished folds are".into(),
    };
    end_with(move || kept.clone())?;
    let settings = Settings { seed: args.seed, command: command_line(), ..Settings::default() };
    let small = distil::DistilOptions { seed: args.seed, command: command_line(), ..distil::DistilOptions::default() };
    let ask = CrossValidationOptions {
        held_out,
        objective: args.objective,
        library: library.as_ref(),
        settings: &settings,
        distil: args.distil.then_some(&small),
        models,
    };
    let report = cross_validate(kernel, table, &ask, &|what| tell(&format!("evaluate: {what}")));
    if args.models.is_none() {
        let _ = std::fs::remove_dir_all(&temporary);
    }
    let report = report?;
    match args.json {
        true => answer_json(&report),
        false => {
            answer((report.table() + &report.losing(args.worst)).trim_end());
            Ok(())
        }
    }
}
