//! `seqtune import`

mod clblast;
mod clocks;
mod options;
mod triton;

use crate::cli::outputs::{Kind, Replace, claim, file_name};
use crate::cli::progress::Bar;
use clap::Subcommand;
use options::{Strictness, Target, left_behind, pair};
use seqtune_data::formats::autoheuristic;
use seqtune_data::formats::kernel_tuner;
use seqtune_data::formats::kernel_tuner::Sweep;
use seqtune_data::formats::miopen;
use seqtune_data::formats::miopen::{Import, Imported, Row, Times};
use seqtune_data::{BadRows, Counts};
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::files::{open_regular, read, read_text, text, unpack};
use seqtune_predict::kernel::{Device, Kernel};
use seqtune_predict::limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Makes datasets of what others have tuned or measured
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    Miopen(MiopenArgs),
    #[command(name = "autoheuristic")]
    AutoHeuristic(AutoHeuristicArgs),
    /// Cache files of Kernel Tuner's, each the sweep of one problem
    KernelTuner(SweepArgs),
    /// Results in the auto-tuning community's T4 format: the sweep of one problem
    T4(SweepArgs),
    Clblast(clblast::ClblastArgs),
    Clocks(clocks::ClocksArgs),
    Triton(triton::TritonArgs),
}

#[derive(clap::Args)]
struct SweepArgs {
    /// JSON, or .gz of it; of one kernel and device
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel that was swept: a name, or the path of a folder with a kernel.toml of its space
    #[arg(long)]
    kernel: String,
    /// Problem that was swept [default: the sizes that the file tells]
    #[arg(long)]
    problem: Option<String>,
    /// Device that it was measured on [default: the described one that the file names]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// Measurements of PyTorch's AutoHeuristic: Triton's mm, mixed_mm and flex_attention
#[derive(clap::Args)]
struct AutoHeuristicArgs {
    /// Files of one kernel and device: .txt, or .zip of such
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The dataset
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Device that it was measured on [default: the described one whose limits the files tell]
    #[arg(long)]
    device: Option<String>,
    /// A field that the files have no column for: the column that holds it under another name, or its value
    #[arg(long, value_name = "FIELD=COLUMN", value_parser = pair)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

/// Performance databases of MIOpen: one dataset per device and solver
#[derive(clap::Args)]
struct MiopenArgs {
    /// Databases: SQLite (.db) or text (.db.txt), each also .bz2
    #[arg(required = true)]
    databases: Vec<PathBuf>,
    /// Folder of the datasets
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Folder of what problems were tuned to before, where a later row took its place: for `evaluate --retuned`
    #[arg(long, value_name = "FOLDER")]
    earlier: Option<PathBuf>,
    /// Solvers to import, separated by commas [default: all that have a kernel]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    solver: Vec<String>,
    /// Find databases (.fdb.txt, also .bz2) with the measured times, for the databases of the same device
    #[arg(long, value_delimiter = ',', value_name = "FILES")]
    find_db: Vec<PathBuf>,
    /// Device that the databases were made on [default: each file's name says it, as in gfx906_60.db]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    match args.from {
        From::Miopen(args) => miopen(args),
        From::AutoHeuristic(args) => autoheuristic(args),
        From::KernelTuner(args) => sweep(args, kernel_tuner::read_cache),
        From::T4(args) => sweep(args, kernel_tuner::read_t4),
        From::Triton(args) => triton::run(args),
        From::Clblast(args) => clblast::run(args),
        From::Clocks(args) => clocks::run(args),
    }
}

/// The device that a database is named after: what stands before the first dot of the file's name, with or without what follows an
/// underscore, such as a date.
fn device_of(path: &Path) -> Result<Device> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let shorter = stem.rsplit_once('_').map_or(stem, |(name, _)| name);
    Device::described(stem).or_else(|_| Device::described(shorter)).map_err(|_| {
        seqtune_predict::error::Error::Input(format!(
            "{}: no described device is called `{stem}`; name the device that it was made on with --device",
            path.display()
        ))
    })
}

fn miopen(args: MiopenArgs) -> Result<()> {
    let device = |path: &Path| match &args.device {
        Some(name) => crate::cli::inputs::device(name),
        None => device_of(path),
    };
    let mut times: BTreeMap<String, Times> = BTreeMap::new();
    let mut bad = BadRows::default();
    let mut check = |path: &Path, found: BadRows, rows: usize| {
        let checked = found.check(rows, args.strictness.strict).map_err(|e| e.at(path.display()));
        bad.extend(found);
        checked
    };
    for path in &args.find_db {
        let (entries, found) = miopen::read_times(path, times.entry(device(path)?.name).or_default())?;
        check(path, found, entries)?;
    }
    let mut databases: Vec<(String, Device, Vec<Row>)> = Vec::new();
    for path in &args.databases {
        let device = device(path)?;
        let place = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let miopen::Rows { rows, bad: found } = miopen::read(path)?;
        let all = rows.len() + found.rows();
        check(path, found, all)?;
        databases.push((place, device, rows));
    }
    let known = |solver: &String| databases.iter().flat_map(|(_, _, rows)| rows).any(|r| r.is_of(solver));
    if let Some(unknown) = args.solver.iter().find(|s| !known(s)) {
        return input(format!("--solver {unknown}: the databases hold no row of it"));
    }
    let rows: usize = databases.iter().map(|(_, _, rows)| rows.len()).sum();
    let mut bar = Bar::new("import", rows as u64);
    let ask = Import { solvers: &args.solver, times: &times, command: crate::cli::outputs::command_line() };
    let mut imported = miopen::import(&databases, &ask, &mut |done| bar.at(done, "rows"))?;
    bar.end();
    imported.bad.extend(bad);
    if imported.datasets.is_empty() {
        report(&args, &imported)?;
        return input("no row could be imported");
    }
    let mut files = Vec::new();
    let folders = [(Some(&args.output), &imported.datasets), (args.earlier.as_ref(), &imported.earlier)];
    for (folder, datasets) in folders {
        let Some(folder) = folder else { continue };
        for ((device, solver), dataset) in datasets {
            files.push((folder.join(format!("{}-{}.sqt", file_name(device)?, file_name(solver)?)), dataset));
        }
    }
    files.iter().try_for_each(|(file, _)| claim(file, Kind::Dataset, args.replace, &args.databases))?;
    files.iter().try_for_each(|(file, dataset)| dataset.save_packed(file))?;
    report(&args, &imported)
}

fn report(args: &MiopenArgs, imported: &Imported) -> Result<()> {
    let records: usize = imported.datasets.values().map(|d| d.records.len()).sum();
    if args.json {
        let of = |((device, solver), d): (&(String, String), &seqtune_data::Dataset)| serde_json::json!({ "device": device, "solver": solver, "records": d.records.len() });
        let left_out = |((solver, reason), c): (&(String, String), &Counts)| serde_json::json!({ "solver": solver, "reason": reason, "rows": c.rows, "example": c.example });
        return crate::cli::answer::answer_json(&serde_json::json!({
            "rows": imported.rows, "records": records, "timed": imported.timed, "replaced": imported.replaced,
            "datasets": imported.datasets.iter().map(of).collect::<Vec<_>>(),
            "left_out": imported.left_out.iter().map(left_out).collect::<Vec<_>>(), "bad": imported.bad,
        }));
    }
    let mut text = format!(
        "{}: {records} records of {} rows, {} with a time\n",
        args.output.display(),
        imported.rows,
        imported.timed
    );
    for ((device, solver), dataset) in &imported.datasets {
        text += &format!("  {:>8}  {device}  {solver}\n", dataset.records.len());
    }
    let left_out: usize = imported.left_out.values().map(|c| c.rows).sum();
    text += &format!("replaced by later rows of the same problem: {}\nleft out: {left_out} rows\n", imported.replaced);
    for ((solver, reason), counts) in &imported.left_out {
        text += &format!("  {:>8}  {solver}: {reason}\n            first: {}\n", counts.rows, counts.example);
    }
    text = text.trim_end().to_string() + &imported.bad.text();
    crate::cli::answer::answer(text.trim_end());
    Ok(())
}

/// The texts of a file, or of everything that a .zip holds.
fn texts(path: &Path) -> Result<Vec<(String, String)>> {
    let place = path.display().to_string();
    if path.extension().is_none_or(|e| e != "zip") {
        return Ok(vec![(place, read_text(path, limits::FOREIGN)?)]);
    }
    let damaged = |e: &dyn std::fmt::Display| Error::Input(format!("{place}: is no .zip, or a damaged one ({e})"));
    let (file, length) = open_regular(path, limits::FOREIGN)?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| damaged(&e))?;
    let mut texts = Vec::new();
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(|e| damaged(&e))?;
        let name = entry.name().map_err(|e| damaged(&e))?.into_owned();
        if name.ends_with(".txt") {
            let packed = entry.compressed_size().min(length) as usize;
            let text = unpack(entry, packed).and_then(text).map_err(|e| e.at(format!("{place}, {name}")))?;
            texts.push((format!("{place}, {name}"), text));
        }
    }
    match texts.is_empty() {
        true => input(format!("{place}: holds no .txt")),
        false => Ok(texts),
    }
}

fn autoheuristic(args: AutoHeuristicArgs) -> Result<()> {
    claim(&args.output, Kind::Dataset, args.replace, &args.files)?;
    let device = args.device.as_deref().map(crate::cli::inputs::device).transpose()?;
    let files = args.files.iter().map(|path| texts(path)).collect::<Result<Vec<_>>>()?.concat();
    let ask = autoheuristic::Options { device, set: args.set, command: crate::cli::outputs::command_line() };
    let imported = autoheuristic::import(&files, ask)?;
    let autoheuristic::Imported { kernel, dataset, rows, repeated, failed, references, left_out, bad } = &imported;
    let records = dataset.records.len();
    bad.check(*rows, args.strictness.strict)?;
    if records == 0 {
        return input("no row could be imported");
    }
    dataset.save_packed(&args.output)?;
    if args.json {
        return crate::cli::answer::answer_json(&serde_json::json!({
            "kernel": kernel.name, "device": dataset.header.device.name, "rows": rows, "repeated": repeated, "records": records,
            "failed": failed, "references": references, "left_out": left_out, "bad": bad,
        }));
    }
    let mut text = format!(
        "{}: {records} records of {} on {} from {rows} rows, {failed} of them of configs that failed\n\
         rows that repeat an earlier one to the letter: {repeated}\nproblems with a time of the vendor's library: {references}",
        args.output.display(),
        kernel.name,
        dataset.header.device.name
    );
    text += &left_behind(0, left_out, "rows", bad);
    crate::cli::answer::answer(&text);
    Ok(())
}

fn sweep(args: SweepArgs, parse: fn(&str) -> Result<Sweep>) -> Result<()> {
    args.target.claim(&args.files)?;
    let kernel = Kernel::open(&args.kernel)?;
    if args.files.len() > 1 && args.problem.is_some() {
        return input(
            "--problem is of one file; import files of several problems one by one, where they do not tell their sizes",
        );
    }
    let mut imported = sweep_of(&args.files[0], &args, &kernel, parse)?;
    for file in &args.files[1..] {
        let more = sweep_of(file, &args, &kernel, parse)?;
        imported.join(more).map_err(|e| e.at(file.display()))?;
    }
    let kernel_tuner::Imported { dataset, failed, left_out, bad, entries } = &imported;
    let place = args.files[0].display();
    bad.check(*entries, args.target.strictness.strict).map_err(|e| e.at(&place))?;
    if dataset.records.is_empty() {
        return input(format!("{place}: no config could be imported"));
    }
    dataset.save_packed(&args.target.output)?;
    let mut text = format!(
        "{}: {} records of {} on {}, {failed} of them of configs that failed",
        args.target.output.display(),
        dataset.records.len(),
        kernel.name,
        dataset.header.device.name
    );
    text += &left_behind(0, left_out, "configs", bad);
    crate::cli::answer::answer(&text);
    Ok(())
}

/// What one file holds.
fn sweep_of(
    file: &Path,
    args: &SweepArgs,
    kernel: &Kernel,
    parse: fn(&str) -> Result<Sweep>,
) -> Result<kernel_tuner::Imported> {
    let place = file.display().to_string();
    let at = |e: Error| e.at(&place);
    let bytes = read(file, limits::FOREIGN)?;
    let plain = match bytes.starts_with(&[0x1f, 0x8b]) {
        true => unpack(flate2::read::GzDecoder::new(&bytes[..]), bytes.len()).map_err(at)?,
        false => bytes,
    };
    let text = text(plain).map_err(at)?;
    let sweep = parse(&text).map_err(at)?;
    let device = match (&args.device, &sweep.device) {
        (Some(name), _) => crate::cli::inputs::device(name)?,
        (None, Some(name)) => Device::described(name.trim_start_matches("NVIDIA ")).map_err(|_| {
            Error::Input(format!(
                "{place}: was measured on {name}, which is not described; name a device or a .toml file with --device"
            ))
        })?,
        (None, None) => return input(format!("{place}: tells no device; name it with --device")),
    };
    let problem = match &args.problem {
        Some(problem) => problem.clone(),
        None => sweep.problem(kernel).map_err(at)?,
    };
    sweep.dataset(kernel, &problem, device, (&place, crate::cli::outputs::command_line())).map_err(at)
}
