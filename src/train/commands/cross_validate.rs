//! `seqtune evaluate --folds` and `--leave-device-out`, as the program that trains does it.

use crate::cross_validation::{HeldOut, Options, cross_validate};
use crate::distil;
use crate::other_kernels::leave_kernel_out;
use seqtune_console::answer::{answer, answer_json, tell, warn};
use seqtune_console::arguments::evaluate::{Args, refuse_tuned_only, trees};
use seqtune_console::inputs::tables;
use seqtune_console::outputs::command_line;
use seqtune_console::signals::end_with;
use seqtune_kernel::error::{Result, input};
use seqtune_predict::Settings;
use std::collections::BTreeSet;

/// Runs `seqtune evaluate` where it trains models.
///
/// # Errors
/// `Error::Input` where the datasets allow no such folds, else the error of training.
pub fn run(args: &Args) -> Result<()> {
    if args.leave_kernel_out {
        return kernels_left_out(args);
    }
    match (args.folds, args.leave_device_out) {
        (Some(folds), _) => cross_validated(args, HeldOut::Shapes(folds)),
        (None, true) => cross_validated(args, HeldOut::Devices),
        (None, false) => input(
            "seqtune-train evaluates with --folds, --leave-device-out or --leave-kernel-out only; call `seqtune evaluate`",
        ),
    }
}

/// Judges kernels by what is learned of others.
fn kernels_left_out(args: &Args) -> Result<()> {
    refuse_tuned_only(args)?;
    let mut corpus = tables(&args.paths, None)?;
    // trees draw their rows in the order of the kernels: the order of the files is to change nothing
    corpus.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let devices: BTreeSet<&str> = corpus.iter().flat_map(|(_, t)| t.devices.iter().map(|d| d.name.as_str())).collect();
    if devices.len() > 1 {
        let named = devices.into_iter().collect::<Vec<_>>().join(", ");
        warn(&format!("the figures are of several devices together ({named}); name the datasets of one for its own"));
    }
    let report = leave_kernel_out(&corpus, args.objective, args.seed)?;
    match args.json {
        true => answer_json(&report),
        false => {
            answer(report.table().trim_end());
            Ok(())
        }
    }
}

/// Judges what training makes of sweeps.
fn cross_validated(args: &Args, held_out: HeldOut) -> Result<()> {
    let corpus = tables(&args.paths, args.kernel.as_deref())?;
    let [(kernel, table)] = &corpus[..] else { return input("sweeps are judged one kernel at a time") };
    if table.tried.is_empty() {
        return input("the datasets hold no record");
    }
    if table.is_tuned() {
        return input("a cross-validation is made of sweeps; these datasets hold what tuners chose");
    }
    refuse_tuned_only(args)?;
    if args.plot.is_some() {
        return input("--plot draws what one model is worth; a cross-validation has a table only");
    }
    let library = trees(args)?;
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
    let small = distil::Options { seed: args.seed, command: command_line(), ..distil::Options::default() };
    let ask = Options {
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
