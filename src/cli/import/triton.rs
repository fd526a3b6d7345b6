//! `seqtune import triton`

use crate::cli::import::options::{Strictness, left_behind, pair};
use crate::cli::outputs::{Kind, Replace, claim};
use seqtune_data::formats::triton;
use seqtune_predict::error::{Result, input};
use seqtune_predict::files::read_text;
use seqtune_predict::kernel::Kernel;
use seqtune_predict::limits;
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
    /// The dataset
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    #[command(flatten)]
    strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
}

pub fn run(args: TritonArgs) -> Result<()> {
    claim(&args.output, Kind::Dataset, args.replace, &args.files)?;
    let kernel = Kernel::open(&args.kernel)?;
    let device = crate::cli::inputs::device(&args.device)?;
    let read = |path: &PathBuf| Ok((path.display().to_string(), read_text(path, limits::FOREIGN)?));
    let files = args.files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let ask = triton::Options { device, key: args.key, set: args.set, command: crate::cli::outputs::command_line() };
    let triton::Imported { dataset, rows, repeated, failed, left_out, bad } = triton::import(&kernel, &files, ask)?;
    bad.check(rows, args.strictness.strict)?;
    if dataset.records.is_empty() {
        return input("no config could be imported");
    }
    dataset.save_packed(&args.output)?;
    let mut text = format!(
        "{}: {} records of {} on {} from {rows} configs of {} files, {failed} of them of configs that failed",
        args.output.display(),
        dataset.records.len(),
        kernel.name,
        dataset.header.device.name,
        files.len()
    );
    text += &left_behind(repeated, &left_out, "configs", &bad);
    crate::cli::answer::answer(&text);
    Ok(())
}
