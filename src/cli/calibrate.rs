//! `seqtune calibrate`

use seqtune_console::answer::{answer, answer_json, warn};
use seqtune_data::{KernelTable, MeasuredProblem, Table};
use seqtune_eval::measures::shown;
use seqtune_eval::measures::stated::{StatedAnswers, answers_of, trust_in_seen};
use seqtune_fit::error_model;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Device, Kernel, Objective};
use seqtune_predict::confidence::{BestRank, MIN_PROBLEMS, PlattScaling};
use seqtune_predict::model::{Part, Split};
use seqtune_predict::{Meta, Model, Predictor, Quality};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Calibrates a model's probabilities for a new device from a few problems
///
/// Pass measured or tuned problems of a device that the model was not trained on. Twenty problems are enough. The calibration is stored in
/// the model's file or files. The ranking of configs does not change. A later run with problems of the same device replaces its
/// calibration. Training on the device teaches the model more: see `train --fine-tune`.
///
/// With --held-out-results, the command records how good first choices are on held-out problems, and which sizes the model was trained on.
/// `predict` then prints this. It marks an answer unsure only if it is less certain than nine tenths of the held-out answers, or if a size
/// is outside the training range. Training records the same for the problems that it holds out.
///
/// With the model's own datasets, the command adds what models of older versions lack. From sweeps it learns how prediction errors are
/// correlated, which `predict --measured` needs. From tuned configs it calibrates the probabilities on the model's own devices. New models
/// already contain both.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model, or of models of one kernel each
    model: PathBuf,
    /// Datasets of devices that the model was not trained on, or its own datasets
    ///
    /// The command uses the validation problems of the model's own datasets, which selected its weights. For sweeps of a small space it
    /// uses the training problems too.
    #[arg(required = true)]
    datasets: Vec<PathBuf>,
    /// Kernel name or folder [default: the kernel named in the datasets]
    #[arg(long)]
    kernel: Option<String>,
    /// Quantity by which configs are compared
    ///
    /// --held-out-results ignores it and records each objective of the model.
    #[arg(long, value_parser = seqtune_console::value_parsers::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Record how good first choices are on held-out problems; calibrate nothing
    ///
    /// The datasets must include the model's own. The command prefers problems whose shapes occur in none of the model's own data. Without
    /// enough of those, it uses the held-out problems of the model's own data. It needs at least 5 problems of a device.
    #[arg(long)]
    held_out_results: bool,
    /// Print the results as JSON, one line per device and file
    #[arg(long)]
    json: bool,
}

/// Learns, and writes the models anew.
pub fn run(args: Args) -> Result<()> {
    let corpus = seqtune_console::inputs::tables(&args.datasets, args.kernel.as_deref())?;
    if args.held_out_results {
        return record(&args, &corpus);
    }
    for KernelTable { kernel, table } in &corpus {
        for file in files_of(&args, kernel)? {
            calibrate(&args, kernel, table, &file)?;
        }
    }
    Ok(())
}

/// The files of the model of a kernel: the whole, the small decoder, or both.
fn files_of(args: &Args, kernel: &Kernel) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for quality in [Quality::Fast, Quality::Best] {
        let file = Model::file_for(&args.model, Some(&kernel.name), quality);
        files.extend(file.ok().filter(|file| file.is_file() && !files.contains(file)));
    }
    if files.is_empty() {
        // says what is missing
        Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    }
    Ok(files)
}

fn calibrate(args: &Args, kernel: &Kernel, table: &Table, file: &Path) -> Result<()> {
    let mut model = Model::load(file)?;
    model.check_objective(args.objective)?;
    let seen = |device: &Device| device.is_among(&model.meta.devices);
    let new: Vec<usize> = (0..table.devices.len()).filter(|d| !seen(&table.devices[*d])).collect();
    if new.is_empty() {
        let knows_likeness = model.meta.error_models.iter().any(|l| l.kernel == kernel.name);
        return match table.is_tuned() {
            true => learn_trust(args, kernel, table, file, model),
            false if !knows_likeness => learn_likeness(args, kernel, table, file, model),
            false => input(format!(
                "{}: the model was trained on {}; give problems of a device that it never saw",
                file.display(),
                names(table)
            )),
        };
    }
    let predictor = Predictor::new(kernel, &model)?.without_correction();
    let mut learned = Vec::new();
    for device in new {
        let indices: Vec<usize> = (0..table.problems.len()).filter(|i| table.problems[*i].device == device).collect();
        let said = answers_of(&predictor, table, &indices, args.objective, cores())?;
        let device = &table.devices[device];
        if said.is_empty() {
            return input(format!("no problem of {} has a best or a tuned config to learn from", device.name));
        }
        let places: Vec<BestRank> = said.iter().map(|StatedAnswers { place, .. }| *place).collect();
        let Meta { device_calibration, devices, .. } = &mut model.meta;
        let before = device_calibration.scaling(device, devices);
        let after = device_calibration.measure(device, devices, &places).scaling;
        learned.push(facts(file, &device.name, &said, [before, after]));
    }
    model.rewrite(file)?;
    learned.iter().try_for_each(|facts| show(args, facts))
}

/// Records what first choices are worth on problems held out.
fn record(args: &Args, corpus: &[KernelTable]) -> Result<()> {
    let mut files: Vec<(PathBuf, Vec<KernelTable>)> = Vec::new();
    for KernelTable { kernel, table } in corpus {
        for file in files_of(args, kernel)? {
            let own = KernelTable::new(kernel.clone(), table.clone());
            match files.iter_mut().find(|(other, _)| *other == file) {
                Some((_, corpus)) => corpus.push(own),
                None => files.push((file, vec![own])),
            }
        }
    }
    for (file, corpus) in files {
        let mut model = Model::load(&file)?;
        let shown = shown::record(&mut model, &corpus, cores())?;
        if shown.is_empty() {
            return input(format!(
                "{}: fewer than {MIN_PROBLEMS} problems of its devices are held out of its own data, which are to be among these, so that nothing is shown",
                file.display()
            ));
        }
        model.rewrite(&file)?;
        for shown in &shown {
            let kernels = shown.kernels.join(", ");
            match args.json {
                true => answer_json(&serde_json::json!({ "file": file.display().to_string(), "shown": shown }))?,
                false => answer(&format!("{}: {kernels} by {}: {}", file.display(), shown.objective, shown.text())),
            }
        }
    }
    Ok(())
}

/// What was learned of the probabilities on a device, or on several.
fn facts(file: &Path, device: &str, said: &[StatedAnswers], lines: [PlattScaling; 2]) -> serde_json::Value {
    let mean = |line: PlattScaling| {
        said.iter().map(|s| line.corrected_probability(s.first.probability)).sum::<f64>() / said.len() as f64
    };
    let [before, now] = lines.map(mean);
    serde_json::json!({
        "file": file.display().to_string(), "device": device, "problems": said.len(),
        "right": said.iter().filter(|s| s.first.best).count(), "said_before": before, "says_now": now,
    })
}

fn show(args: &Args, facts: &serde_json::Value) -> Result<()> {
    match args.json {
        true => answer_json(facts),
        false => {
            answer(&text(facts));
            Ok(())
        }
    }
}

/// Learns what the probabilities of a model of tuned configs are worth on its own devices, as training does.
fn learn_trust(args: &Args, kernel: &Kernel, table: &Table, file: &Path, mut model: Model) -> Result<()> {
    if !is_own(table, &model) {
        warn(&format!(
            "{}: learned from other data of {}; shapes that it knows may be among these",
            file.display(),
            names(table)
        ));
    }
    let validation = table.tuned_part(kernel, &held_out(table, &model), Part::Validation);
    let predictor = Predictor::new(kernel, &model)?.without_correction();
    let said = answers_of(&predictor, table, &validation, args.objective, cores())?;
    let Some(line) = trust_in_seen(&said) else {
        return input(format!("{}: no tuned config of what chose the model's weights to learn from", file.display()));
    };
    let before = model.meta.device_calibration.seen.replace(line).unwrap_or(PlattScaling::IDENTITY);
    if table.is_exactly(&model.meta.data) {
        // all that it learned from: no other device had times
        model.meta.device_calibration.timed = Some(table.timed_devices());
    }
    model.rewrite(file)?;
    show(args, &facts(file, &names(table), &said, [before, line]))
}

fn names(table: &Table) -> String {
    table.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether a model learned from all of these data.
fn is_own(table: &Table, model: &Model) -> bool {
    table.hashes.iter().all(|hash| model.meta.data.contains(hash))
}

/// The split by which a model's own data were divided; data that it did not learn from are new to it as a whole.
fn held_out(table: &Table, model: &Model) -> Split {
    match is_own(table, model) {
        true => model.meta.split,
        false => Split { test: 0.0, validation: 1.0, ..model.meta.split },
    }
}

/// Learns how the errors of a model of sweeps go together.
fn learn_likeness(args: &Args, kernel: &Kernel, table: &Table, file: &Path, mut model: Model) -> Result<()> {
    let split = held_out(table, &model);
    let part = |part: Part| -> Vec<&MeasuredProblem> {
        table.part(kernel, &split, part, args.objective).into_iter().map(|i| &table.problems[i]).collect()
    };
    let problems = [&part(Part::Train)[..], &part(Part::Validation)];
    let predictor = Predictor::new(kernel, &model)?;
    let Some(likeness) = error_model::learn(&predictor, table, problems, cores())? else {
        return input("two problems of several configs are needed at least, to learn how errors go together");
    };
    let facts = serde_json::json!({
        "file": file.display().to_string(), "problems": likeness.problems,
        "left": likeness.quantities.iter().map(|q| (q.objective.to_string(), q.rest.sqrt())).collect::<BTreeMap<_, _>>(),
    });
    model.meta.error_models.push(likeness);
    model.rewrite(file)?;
    match args.json {
        true => answer_json(&facts)?,
        false => answer(&format!(
            "{}: learned from {} problems how errors go together; what is left to each config alone, as a share of its cost: {}",
            file.display(),
            facts["problems"],
            facts["left"]
        )),
    }
    Ok(())
}

fn text(facts: &serde_json::Value) -> String {
    let percent = |name: &str| format!("{:.0} %", 100.0 * facts[name].as_f64().unwrap_or(f64::NAN));
    let word = |name: &str| facts[name].as_str().unwrap_or_default();
    format!(
        "{}: {}: the first choice is right in {} of {} problems; the model said {} of them, and says {} now",
        word("file"),
        word("device"),
        facts["right"],
        facts["problems"],
        percent("said_before"),
        percent("says_now")
    )
}
