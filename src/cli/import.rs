//! `seqtune import`

mod clblast;
mod clocks;
mod miopen;
mod options;
mod triton;

use crate::cli::outputs::{Kind, Replace, claim};
use clap::Subcommand;
use options::{Strictness, Target, left_behind, pair, texts};
use seqtune_data::formats::autoheuristic;
use seqtune_data::formats::kernel_tuner;
use seqtune_data::formats::kernel_tuner::Sweep;
use seqtune_data::formats::opened::contents;
use seqtune_predict::counted;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::files::text;
use seqtune_predict::kernel::{Device, Kernel};
use std::path::{Path, PathBuf};

/// Makes datasets of what others have tuned or measured
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    Miopen(miopen::MiopenArgs),
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

pub fn run(args: Args) -> Result<()> {
    match args.from {
        From::Miopen(args) => miopen::run(args),
        From::AutoHeuristic(args) => autoheuristic(args),
        From::KernelTuner(args) => sweep(args, kernel_tuner::read_cache),
        From::T4(args) => sweep(args, kernel_tuner::read_t4),
        From::Triton(args) => triton::run(args),
        From::Clblast(args) => clblast::run(args),
        From::Clocks(args) => clocks::run(args),
    }
}

fn autoheuristic(args: AutoHeuristicArgs) -> Result<()> {
    claim(&args.output, Kind::Dataset, args.replace, &args.files)?;
    let device = args.device.as_deref().map(crate::cli::inputs::device).transpose()?;
    let mut files = texts(&args.files, args.strictness.strict)?;
    // an archive has other files beside them
    if files.iter().any(|(place, _)| place.ends_with(".txt")) {
        files.retain(|(place, _)| {
            place.ends_with(".txt") || args.files.iter().any(|path| path.as_os_str() == place.as_str())
        });
    }
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
        "{}: {} of {} on {} from {}, {failed} of them of configs that failed\n\
         rows that repeat an earlier one to the letter: {repeated}\nproblems with a time of the vendor's library: {references}",
        args.output.display(),
        counted(records, "record"),
        kernel.name,
        dataset.header.device.name,
        counted(*rows, "row")
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
        "{}: {} of {} on {}, {failed} of them of configs that failed",
        args.target.output.display(),
        counted(dataset.records.len(), "record"),
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
    let text = text(contents(file)?).map_err(at)?;
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
