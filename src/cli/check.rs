//! `seqtune check`

use crate::cli::signature::Signature;
use launched::Launch;
use seqtune_console::answer::{answer, answer_json, warn};
use seqtune_data::failures::failures;
use seqtune_data::{Dataset, NamedDataset, Outcome, Table, journal, packed};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input, quote};
use seqtune_kernel::files::open_regular;
use seqtune_kernel::limits;
use seqtune_kernel::spelling::line;
use seqtune_kernel::{Device, Kernel, ruled_out};
use seqtune_measure::programs;
use seqtune_measure::verify::amounts::stated_formats;
use seqtune_predict::{Model, Predictor};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

mod launched;

/// Verifies models, datasets, kernels and device lists, and summarizes each
///
/// Every file is read in full. Models and datasets are also checked against their kernel, if it is found.
#[derive(clap::Args)]
pub struct Args {
    /// Models, datasets, kernels or device lists, as folders or files
    ///
    /// A model is a folder, a folder of models or a .safetensors file. A kernel is its folder or its kernel.toml. Any other .toml file is a
    /// device list.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Kernel to check the datasets and models of that name against
    ///
    /// [default: the kernel found under that name]
    #[arg(long, value_name = "NAME OR FOLDER")]
    kernel: Option<String>,
    #[command(flatten)]
    launch: Launch,
    /// Print one JSON object per path
    #[arg(long)]
    json: bool,
}

/// The kernel that data of this name are held against: the one that was given, or what is here.
fn find(name: &str, given: Option<&Kernel>) -> Result<Option<Kernel>> {
    match given.filter(|kernel| kernel.name == name) {
        Some(kernel) => Ok(Some(kernel.clone())),
        None => Kernel::find(name),
    }
}

/// Warns that `what` in `place` was not held against its kernel.
fn warn_of_unheld(place: &str, what: &str, name: &str, given: Option<&Kernel>) {
    let named = given.map_or(String::new(), |kernel| format!(", and --kernel names {}", quote(&kernel.name)));
    let name = quote(name);
    warn(&format!(
        "{place}: kernel {name} is not here{named}, so {what} not held against it; name the folder of {name} with --kernel"
    ));
}

/// Whole numbers below are exact in a double.
const MOST_WHOLE: f64 = (1u64 << 53) as f64;

/// Characters of a value in the text form; JSON has all of them.
const MOST_SHOWN: usize = 400;

/// What a path leads to.
enum What {
    Models,
    Dataset,
    Kernel,
    Devices,
}

pub fn run(args: Args) -> Result<()> {
    let given = args.kernel.as_deref().map(seqtune_console::inputs::kernel).transpose()?;
    for path in &args.paths {
        let found = match what(path)? {
            What::Kernel => vec![kernel(path, &args.launch)?],
            _ if args.launch.is_wanted() => {
                return input(format!("{}: is no kernel, and --device launches kernels alone", path.display()));
            }
            What::Models => models(path, given.as_ref())?,
            What::Dataset => vec![dataset(path, given.as_ref())?],
            What::Devices => devices(path)?,
        };
        for facts in found {
            match args.json {
                true => answer_json(&facts)?,
                false => answer(&text(path, &facts)),
            }
        }
    }
    Ok(())
}

fn what(path: &Path) -> Result<What> {
    if path.is_dir() {
        let has_kernel = path.join("kernel.toml").is_file();
        return match (has_kernel, Model::folders(path)?.is_empty()) {
            (true, _) => Ok(What::Kernel),
            (false, false) => Ok(What::Models),
            (false, true) => {
                input(format!("{}: holds no kernel.toml and no model; name a file or another folder", path.display()))
            }
        };
    }
    let file = open_regular(path, limits::DATASET)?.file;
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head).map_err(seqtune_kernel::error::io(path))?;
    if packed::is_packed(&head) || journal::is_journal(&head) {
        return Ok(What::Dataset);
    }
    match (path.extension().and_then(|e| e.to_str()), path.file_name().and_then(|n| n.to_str())) {
        (_, Some("kernel.toml")) => Ok(What::Kernel),
        (Some("toml"), _) => Ok(What::Devices),
        (Some("safetensors"), _) => Ok(What::Models),
        _ => input(format!("{}: is no model, dataset, kernel or list of devices", path.display())),
    }
}

/// Names and values, a line each behind the path.
fn text(path: &Path, facts: &Value) -> String {
    let mut text = format!("{}: sound", line(&path.display().to_string()));
    for (name, value) in facts.as_object().into_iter().flatten() {
        let shown = match value {
            Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
            value => plain(value),
        };
        text += &format!("\n  {name:<12} {shown}");
    }
    text
}

/// A value in one line: what a file names makes none of its own.
fn plain(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), line);
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn models(path: &Path, given: Option<&Kernel>) -> Result<Vec<Value>> {
    let folders = if path.is_dir() { Model::folders(path)? } else { vec![path.to_path_buf()] };
    folders.iter().map(|folder| model(folder, given)).collect()
}

/// A model, which was read whole: checksum, shapes, numbers.
fn model(path: &Path, given: Option<&Kernel>) -> Result<Value> {
    let model = Model::load(path)?;
    let meta = &model.meta;
    for name in meta.kernels() {
        match find(name, given)? {
            Some(kernel) => drop(Predictor::new(&kernel, &model).map_err(|e| e.at_place(path.display()))?),
            None => warn_of_unheld(&path.display().to_string(), "the model was", name, given),
        }
    }
    let threads = meta.threads.map_or(String::new(), |threads| format!(", on {}", count_noun(threads, "thread")));
    Ok(json!({
        "kind": "model", "file": path.display().to_string(), "format": meta.format, "kernels": meta.kernels(),
        "devices": meta.devices.iter().map(|d| &d.name).collect::<Vec<_>>(),
        "objectives": meta.objectives.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "networks": meta.members, "weights": model.size(), "forests": model.trees.len(), "data": meta.data,
        "trained": format!("{}, seqtune {}{}", meta.date, meta.tool, threads), "digest": model.digest(),
    }))
}

/// A dataset, of which every record was read and, where the kernel is here, held against it.
fn dataset(path: &Path, given: Option<&Kernel>) -> Result<Value> {
    let dataset = Dataset::load(path)?;
    let header = &dataset.header;
    let place = path.display().to_string();
    match find(&header.kernel, given)? {
        Some(kernel) => {
            drop(Table::new(&kernel, &[NamedDataset::new(place.clone(), dataset.clone())])?);
            if let Some(other) = given.filter(|given| given.name != kernel.name) {
                let (name, other) = (quote(&kernel.name), quote(&other.name));
                warn(&format!(
                    "{place}: is of kernel {name}, and was held against that of {}, not against {other}, which --kernel names",
                    kernel.shown_place()
                ));
            }
        }
        None => warn_of_unheld(&place, "the records were", &header.kernel, given),
    }
    let problems: BTreeSet<&str> = dataset.records.iter().map(|r| &*r.problem).collect();
    let failed = dataset.records.iter().filter(|r| matches!(r.outcome, Outcome::Invalid(_))).count();
    let reasons = failures(&dataset.records).into_iter().map(|group| format!("{} x {}", group.count, group.reason));
    Ok(json!({
        "kind": "dataset", "file": place, "format": header.format, "kernel": header.kernel, "space": header.space,
        "device": header.device.name, "driver": header.device.driver, "problems": problems.len(),
        "records": dataset.records.len(), "failed": failed, "failures": reasons.collect::<Vec<_>>(),
        "made": format!("{}, seqtune {}", header.date, header.tool), "command": header.command, "hash": dataset.hash(),
    }))
}

/// Warns of parameters that nothing in the program, or in the source, depends on.
pub fn warn_of_unnamed(kernel: &Kernel) {
    for name in kernel.unread_parameters() {
        let place = &kernel.place;
        warn(&format!(
            "{place}: no source and no launch names parameter `{name}`, so that all of its values do the same"
        ));
    }
    for at in kernel.run.iter().flat_map(|run| run.unnamed_parameters(kernel.parameters.len())) {
        let (place, name) = (&kernel.place, &kernel.parameters[at].name);
        warn(&format!("{place}: nothing in [run] names parameter `{name}`, so that all of its values do the same"));
    }
}

/// Why no described device has a config of a kernel, for a problem of middle sizes; `None` where one has.
pub fn why_empty(kernel: &Kernel) -> Result<Option<String>> {
    let Ok(problem) = kernel.problem(&kernel.middle_problem()) else { return Ok(None) };
    let mut reason = None;
    for device in Device::all_shipped()? {
        match ruled_out(kernel, &problem, &device) {
            Some(why) => reason = reason.or(Some(why)),
            None => return Ok(None),
        }
    }
    let (place, problem) = (&kernel.place, kernel.brief_problem(&problem));
    Ok(reason.map(|why| format!("{place}: no described device has a config for {problem}: {why}")))
}

/// What a kernel has to be beyond what its file says, so that it can be measured.
///
/// # Errors
/// The error of [`programs::check`] or [`Kernel::check_source`], or of data that it cannot be given.
pub fn check_kernel(kernel: &Kernel) -> Result<()> {
    kernel.check_source()?;
    check_arguments(kernel)?;
    programs::check(kernel).map_err(|e| e.at_place(&kernel.place))?;
    match kernel.problem(&kernel.middle_problem()) {
        Ok(problem) if kernel.source.is_some() => stated_formats(kernel, &problem)
            .map(drop)
            .map_err(|e| e.at_place(format!("problem {}", kernel.brief_problem(&problem)))),
        _ => Ok(()),
    }
}

/// Refuses a list of arguments that is longer or shorter than that of the source, where that can be read without a compiler.
fn check_arguments(kernel: &Kernel) -> Result<()> {
    let Some(source) = &kernel.source else { return Ok(()) };
    let (file, entry) = (&source.program.file, &source.program.entry);
    let code = kernel.files.get(file).map_or("", String::as_str);
    match Signature::find(code, Some(entry)) {
        Ok(read) if !read.is_conditional && read.arguments.len() != source.arguments.len() => input(format!(
            "{}: {entry} in {file} takes {}, and kernel.toml lists {}",
            kernel.place,
            count_noun(read.arguments.len(), "argument"),
            source.arguments.len()
        )),
        _ => Ok(()),
    }
}

/// A kernel, whose names, numbers, expressions and patterns were all resolved.
fn kernel(path: &Path, launch: &Launch) -> Result<Value> {
    let folder = if path.is_dir() { path } else { seqtune_kernel::files::folder_of(path) };
    let kernel = Kernel::open(&folder.display().to_string())?;
    check_kernel(&kernel)?;
    let source = match (&kernel.source, &kernel.run) {
        (Some(source), _) => source.program.file.clone(),
        (None, Some(run)) => format!("a program: {}", run.spec.command.join(" ")),
        (None, None) => "none: a Python function measures it (seqtune.sweep), or its data are imported".into(),
    };
    warn_of_unnamed(&kernel);
    why_empty(&kernel)?.iter().for_each(|why| warn(why));
    let sizes: f64 = kernel.parameters.iter().map(|p| p.values.len() as f64).product();
    let launched = launch.run(&kernel, &folder.display().to_string())?;
    let mut facts = json!({
        "kind": "kernel", "file": kernel.place, "name": kernel.name, "meaning": kernel.meaning,
        "fields": kernel.fields.iter().map(|f| &f.name).collect::<Vec<_>>(),
        "parameters": kernel.parameters.iter().map(|p| &p.name).collect::<Vec<_>>(),
        "combinations": if sizes < MOST_WHOLE { json!(sizes as u64) } else { json!(sizes) }, "constraints": kernel.constraints.len(), "features": kernel.features.len(),
        "source": source,
        "exact": kernel.source.as_ref().is_some_and(|s| s.exact.is_some()), "space": kernel.space_hash(),
    });
    if !launched.is_empty() {
        facts["right"] = json!(launched);
    }
    Ok(facts)
}

fn devices(path: &Path) -> Result<Vec<Value>> {
    let text = seqtune_kernel::files::read_text(path, limits::TEXT)?;
    let devices = Device::parse_file(&text, &path.display().to_string())?;
    Ok(devices
        .iter()
        .map(|d| {
            let known = d.limits.values().iter().flatten().count();
            json!({ "kind": "device", "name": d.name, "architecture": d.architecture, "limits": known, "source": d.source })
        })
        .collect())
}
