//! `seqtune import triton`

use crate::cli::import::options::{Target, left_behind, pair, texts};
use seqtune_data::formats::triton;
use seqtune_predict::counted;
use seqtune_predict::error::Result;
use std::path::PathBuf;

/// What Triton's autotuner measured: the *.autotune.json files of one kernel in its cache, a problem each
///
/// TRITON_CACHE_AUTOTUNING=1 or cache_results=True writes them, as ~/.triton/cache/*/<kernel>.autotune.json
#[derive(clap::Args)]
pub struct TritonArgs {
    /// Files of one kernel and device
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder with a kernel.toml of its space
    #[arg(long)]
    kernel: String,
    /// Device that it was measured on
    #[arg(long)]
    device: String,
    /// Fields of the kernel that the entries of the autotuner's key are, in their order, and `_` for one that is none: what `key=` names, then
    /// the data type of each tensor [default: the kernel's fields in their order]
    #[arg(long, value_delimiter = ',', value_name = "FIELDS")]
    key: Vec<String>,
    /// A field that the key lacks, with its value
    #[arg(long, value_name = "FIELD=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: TritonArgs) -> Result<()> {
    args.target.claim(&args.files)?;
    let kernel = crate::cli::inputs::kernel(&args.kernel)?;
    let device = crate::cli::inputs::device(&args.device)?;
    let files = texts(&args.files, args.target.strictness.strict)?;
    let ask = triton::Options { device, key: args.key, set: args.set, command: crate::cli::outputs::command_line() };
    let triton::Imported { dataset, rows, twice, failed, left_out, unsaid, bad } =
        triton::import(&kernel, &files, ask)?;
    args.target.refuse(rows, &unsaid)?;
    let left = left_behind(&twice, &left_out, "config", &bad) + &unsaid.text();
    args.target.save(&dataset, (rows, &bad), ("config", &left))?;
    let mut text = format!(
        "{}: {} of {} on {} from {} of {}, {failed} of them of configs that failed",
        args.target.output.display(),
        counted(dataset.records.len(), "record"),
        kernel.name,
        dataset.header.device.name,
        counted(rows, "config"),
        counted(files.len(), "file")
    );
    text += &left;
    crate::cli::answer::answer(&text);
    Ok(())
}
