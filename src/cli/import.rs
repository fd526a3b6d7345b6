//! `seqtune import`

mod aiter;
mod clblast;
mod clocks;
mod miopen;
mod options;
mod sweeps;
mod tables;
mod triton;

use clap::Subcommand;
use options::{Strictness, left_behind, readable, texts};
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_data::Twice;
use seqtune_data::formats::autoheuristic;
use seqtune_data::formats::kernel_tuner::read_cache;
use seqtune_data::formats::ktt::read_ktt;
use seqtune_data::formats::opened::OpenedText;
use seqtune_data::formats::t4::read_t4;
use seqtune_data::formats::values::FieldSource;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;
use sweeps::SweepArgs;

/// Imports tuned configs and measurements of other tools as datasets
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    Miopen(miopen::MiopenImportArgs),
    #[command(name = "autoheuristic")]
    AutoHeuristic(AutoHeuristicArgs),
    /// Imports cache files of Kernel Tuner, each a sweep of one problem
    KernelTuner(SweepArgs),
    /// Imports KTT's JSON output (TuningOutput.json), each a sweep of one problem
    Ktt(SweepArgs),
    /// Imports results in the T4 format, each a sweep of one problem
    ///
    /// T4 is the format of the auto-tuning community.
    T4(SweepArgs),
    Clblast(clblast::ClblastImportArgs),
    Clocks(clocks::ClocksArgs),
    Triton(triton::TritonArgs),
    Tables(tables::TablesArgs),
    Aiter(aiter::AiterArgs),
}

/// Imports measurements of PyTorch's AutoHeuristic (mm, mixed_mm, flex_attention)
///
/// The kernels are Triton's.
#[derive(clap::Args)]
struct AutoHeuristicArgs {
    /// Files of one kernel and device (.txt), plain or packed by gzip, bzip2 or zip
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Dataset to write: packed if it ends in .sqt, else a journal
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Device of the measurements
    ///
    /// [default: the described device with the architecture and shared memory that the files state]
    #[arg(long)]
    device: Option<String>,
    /// Column of another name, or a value, for a field without a column
    #[arg(long, value_name = "FIELD=COLUMN", value_parser = seqtune_console::value_parsers::field_source)]
    set: Vec<FieldSource>,
    #[command(flatten)]
    strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
    /// Print the counts as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    match args.from {
        From::Miopen(args) => miopen::run(args),
        From::AutoHeuristic(args) => autoheuristic(args),
        From::KernelTuner(args) => sweeps::run(args, read_cache),
        From::Ktt(args) => sweeps::run(args, read_ktt),
        From::T4(args) => sweeps::run(args, read_t4),
        From::Triton(args) => triton::run(args),
        From::Tables(args) => tables::run(args),
        From::Aiter(args) => aiter::run(args),
        From::Clblast(args) => clblast::run(args),
        From::Clocks(args) => clocks::run(args),
    }
}

fn autoheuristic(args: AutoHeuristicArgs) -> Result<()> {
    claim(&args.output, Kind::Dataset, args.replace, &args.files)?;
    let device = args.device.as_deref().map(seqtune_console::inputs::device).transpose()?;
    let mut files = texts(&args.files, args.strictness.strict)?;
    // an archive has other files beside them
    if files.iter().any(|file| file.place.ends_with(".txt")) {
        files.retain(|file| {
            file.place.ends_with(".txt") || args.files.iter().any(|path| path.as_os_str() == file.place.as_str())
        });
    }
    let sound = |file: &OpenedText| {
        autoheuristic::check(&file.text).map(|()| file.clone()).map_err(|e| e.at_place(&file.place))
    };
    let files = readable(&files, args.strictness.strict, &sound)?;
    let ask = autoheuristic::AutoHeuristicOptions {
        device,
        set: args.set,
        command: seqtune_console::outputs::command_line(),
    };
    let imported = autoheuristic::import(&files, ask)?;
    let autoheuristic::ImportedAutoHeuristic { kernel, dataset, rows, repeated, failed, references, left_out, bad } =
        &imported;
    let records = dataset.records.len();
    bad.check(*rows, args.strictness.strict)?;
    if records == 0 {
        return input("no row could be imported");
    }
    dataset.save(&args.output)?;
    if args.json {
        return seqtune_console::answer::answer_json(&serde_json::json!({
            "kernel": kernel.name, "device": dataset.header.device.name, "rows": rows, "repeated": repeated, "records": records,
            "failed": failed, "references": references, "left_out": left_out, "bad": bad,
        }));
    }
    let mut text = format!(
        "{}: {} of {} on {} from {}, {failed} of them of configs that failed\n\
         problems with a time of the vendor's library: {references}",
        args.output.display(),
        count_noun(records, "record"),
        kernel.name,
        dataset.header.device.name,
        count_noun(*rows, "row")
    );
    text += &left_behind(&Twice { same: *repeated, again: 0 }, left_out, "row", bad);
    seqtune_console::answer::answer(&text);
    Ok(())
}
