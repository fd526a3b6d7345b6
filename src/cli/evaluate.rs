//! `seqtune evaluate`

use seqtune_console::answer::{tell, warn, wrote};
use seqtune_console::arguments::evaluate::{Args, refuse_tuned_only, trees};
use seqtune_console::siblings::TRAINER;
use seqtune_data::Table;
use seqtune_eval::curve::curve;
use seqtune_eval::ktn;
use seqtune_eval::lightgbm::LightGbm;
use seqtune_eval::measured::{self, Given};
use seqtune_eval::plot;
use seqtune_eval::replay;
use seqtune_eval::replay::evaluate;
use seqtune_eval::tuned;
use seqtune_eval::tuned::evaluate as evaluate_tuned;
use seqtune_eval::tuned::report;
use seqtune_kernel::Kernel;
use seqtune_kernel::counted;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits;
use seqtune_kernel::threads::cores;
use seqtune_predict::confidence::MIN_PROBLEMS;
use seqtune_predict::model::Part;
use seqtune_predict::{Model, Predictor, Quality};

mod pages;

/// Runs `seqtune evaluate`.
///
/// # Errors
/// The error of the model, the datasets or the evaluation.
pub fn run(args: Args) -> Result<()> {
    let drawings = [args.plot.as_ref(), args.curve.as_ref(), args.html.as_ref()];
    seqtune_console::outputs::claim_drawings(&drawings, args.force, &args.paths)?;
    if args.folds.is_some() || args.leave_device_out || args.leave_kernel_out {
        return TRAINER.hand_over(&std::env::args_os().skip(1).collect::<Vec<_>>());
    }
    if args.models.is_some() {
        return input("--models keeps those of --folds or --leave-device-out; pass one of them");
    }
    if args.distil {
        return input(
            "--distil is for --folds or --leave-device-out; `seqtune distil` makes the small decoder of one model",
        );
    }
    let [_, datasets @ ..] = &args.paths[..] else { return input("name a model and datasets") };
    if datasets.is_empty() {
        return input("name datasets behind the model, or pass --folds to judge without one");
    }
    let corpus = seqtune_console::inputs::tables(datasets, args.kernel.as_deref())?;
    if corpus.iter().all(|(_, table)| table.is_tuned()) {
        if args.whole {
            return input("--whole judges sweeps; these datasets hold what tuners chose");
        }
        if args.light_gbm {
            return input(
                "--light-gbm ranks what was measured; these datasets hold what tuners chose, and trees are judged unless --no-trees",
            );
        }
        return tuned(&args, &corpus);
    }
    refuse_tuned_only(&args)?;
    if args.beside.is_some() {
        return input("--beside compares models on what tuners chose; these datasets are sweeps");
    }
    match &corpus[..] {
        [(kernel, table)] => swept(&args, &model(&args, kernel, table)?, kernel, table),
        _ => input("sweeps are judged one kernel at a time"),
    }
}

/// The model to judge on a kernel; warns if it was trained on other data.
fn model(args: &Args, kernel: &Kernel, table: &Table) -> Result<Model> {
    let model = Model::load_as(&args.paths[0], &kernel.name, args.quality)?;
    let unknown: Vec<&String> = table.hashes.iter().filter(|h| !model.meta.data.contains(h)).collect();
    if args.whole {
        if unknown.len() < table.hashes.len() {
            return input(
                "the model learned from some of these data; leave out --whole to judge by what was held out of them",
            );
        }
        if let Some(device) = table.devices.iter().find(|d| model.meta.devices.iter().any(|known| known.name == d.name))
        {
            warn(&format!(
                "the model learned from other data of {}; sizes that are in both are not new to it",
                device.name
            ));
        }
        return Ok(model);
    }
    if !unknown.is_empty() {
        let way_out = if table.is_tuned() { "" } else { "; --whole judges by all that it never saw" };
        warn(&format!(
            "the model of {} learned from other data than {} of these {}: what it held out is judged, and baselines learn from the rest{way_out}",
            kernel.name,
            unknown.len(),
            table.hashes.len()
        ));
    }
    Ok(model)
}

/// Judges by what tuners chose.
fn tuned(args: &Args, corpus: &[(Kernel, Table)]) -> Result<()> {
    if args.plot.is_some() || args.curve.is_some() {
        return input(
            "--plot and --curve show replays of sweeps; these datasets hold what tuners chose (--html shows those)",
        );
    }
    let device = args.device.as_deref().map(seqtune_console::inputs::device).transpose()?;
    if let Some(device) = &device
        && !corpus.iter().flat_map(|(_, table)| &table.devices).any(|d| d.name == device.name)
    {
        return input(format!("the datasets hold no problem of {}", device.name));
    }
    args.ktn.as_deref().map_or(Ok(()), ktn::check_folder)?;
    let threads = cores();
    let library = trees(args)?;
    let retuned = match &args.retuned[..] {
        [] => Vec::new(),
        paths => seqtune_console::inputs::tables(paths, args.kernel.as_deref())?,
    };
    let is_judged = |of: &Kernel| corpus.iter().any(|(kernel, _)| kernel.name == of.name);
    if let Some((other, _)) = retuned.iter().find(|(kernel, _)| !is_judged(kernel)) {
        return input(format!("--retuned: holds problems of {}, which no other dataset here is of", other.name));
    }
    let ask = tuned::Options {
        device: device.as_ref(),
        part: args.part.unwrap_or(Part::Test),
        library: library.as_ref(),
        whole_configs: args.whole_configs,
        ktn: args.ktn.as_deref(),
        retuned: &retuned,
        as_stated: args.as_stated,
        threads,
        seed: args.seed,
    };
    let mut reports = Vec::new();
    for (i, (kernel, table)) in corpus.iter().enumerate() {
        let mut tell = |what: &str| tell(&format!("evaluate: {} ({} of {}): {what}", kernel.name, i + 1, corpus.len()));
        let beside = args.beside.as_ref().map(|path| Model::load_as(path, &kernel.name, Quality::Auto)).transpose()?;
        let models = (&model(args, kernel, table)?, beside.as_ref());
        reports.extend(evaluate_tuned(kernel, table, models, &ask, &mut tell)?);
    }
    if reports.is_empty() {
        return input("none of the problem shapes falls into that part of the model's split");
    }
    if let Some(path) = &args.html {
        pages::of_tuned(&args.paths, &reports)?.write(path)?;
        wrote(path);
    }
    if args.json {
        return seqtune_console::answer::answer_json(&reports);
    }
    seqtune_console::answer::answer(report::text(&reports).trim_end());
    Ok(())
}

/// Judges with some configs of each problem measured.
fn with_measured(args: &Args, model: &Model, kernel: &Kernel, table: &Table, ask: replay::Options) -> Result<()> {
    let numbers: Vec<Option<usize>> = args.measured.iter().map(|given| given.parse().ok()).collect();
    let given = match numbers.iter().all(Option::is_some) {
        true => numbers.into_iter().flatten().map(Given::First).collect(),
        false => {
            let configs = args.measured.iter().map(|text| kernel.config(text));
            let configs = configs.collect::<Result<Vec<_>>>().map_err(|e| e.at("--measured"))?;
            vec![Given::These(Vec::new()), Given::These(configs)]
        }
    };
    if given.iter().any(|given| matches!(given, Given::First(count) if *count > limits::WIDTH)) {
        return input(format!("--measured: at most {} first choices", limits::WIDTH));
    }
    let tests = replay::held_out(kernel, model, table, ask)?;
    let rows = measured::replay(&Predictor::new(kernel, model)?, table, &tests, args.objective, &given)?;
    if args.json {
        return seqtune_console::answer::answer_json(&rows);
    }
    seqtune_console::answer::answer(measured::markdown(kernel, args.objective, &rows).trim_end());
    Ok(())
}

/// Judges by replay of sweeps.
fn swept(args: &Args, model: &Model, kernel: &Kernel, table: &Table) -> Result<()> {
    let library = if args.light_gbm { Some(LightGbm::open()?) } else { None };
    let trees = library.as_ref().map(|library| (library, args.seed));
    let ask = replay::Options { objective: args.objective, whole: args.whole, trees };
    if !args.measured.is_empty() {
        return with_measured(args, model, kernel, table, ask);
    }
    let report = evaluate(kernel, model, table, ask, &mut |what| tell(&format!("evaluate: {what}")))?;
    if let Some(path) = &args.plot {
        plot::write(path, &pages::bars(&report)?)?;
        wrote(path);
    }
    let curve = (args.curve.is_some() || args.html.is_some()).then(|| {
        tell("evaluate: curve");
        curve(kernel, model, table, ask)
    });
    let curve = curve.transpose()?;
    if let (Some(path), Some(curve)) = (&args.curve, &curve) {
        curve.draw(path)?;
    }
    if let (Some(path), Some(curve)) = (&args.html, &curve) {
        pages::of_swept(&args.paths, model, &report, curve)?.write(path)?;
        wrote(path);
    }
    if args.json {
        return seqtune_console::answer::answer_json(&report);
    }
    if report.test_problems < MIN_PROBLEMS {
        warn(&format!(
            "{} held out: so few say little of other sizes; `evaluate --folds 5 DATASETS` judges all in turn",
            counted(report.test_problems, "problem")
        ));
    }
    let mut text = report.table();
    if let (Some(curve), true) = (&curve, args.curve.is_some()) {
        text += &format!("\n{}", curve.table());
    }
    if args.worst > 0 {
        text += "\nLowest shares of the model's first choice:\n";
        for (problem, share) in report.problems.iter().take(args.worst) {
            text += &format!("  {:5.1} %  {problem}\n", 100.0 * share);
        }
    }
    seqtune_console::answer::answer(text.trim_end());
    Ok(())
}
