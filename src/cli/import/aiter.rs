//! `seqtune import aiter`

use crate::cli::import::options::{Target, left_behind, texts};
use seqtune_data::Twice;
use seqtune_data::formats::aiter::{self, ImportedGemms};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use std::path::PathBuf;

/// Imports tuned tables of AMD's AITER, such as a8w8_blockscale_tuned_gemm.csv
///
/// A row names the compiled kernel that serves a shape. Rows of GPUs with another number of compute units are left out and counted. Of several
/// tables the first row of a problem counts.
#[derive(clap::Args)]
pub struct AiterArgs {
    /// Tables
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder with its kernel.toml
    #[arg(long, default_value = "gemm_a8w8_blockscale")]
    kernel: String,
    /// Device whose rows to import, such as MI300X
    #[arg(long)]
    device: String,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: AiterArgs) -> Result<()> {
    args.target.claim(&args.files)?;
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    let device = seqtune_console::inputs::device(&args.device)?;
    let files = texts(&args.files, args.target.strictness.strict)?;
    let command = seqtune_console::outputs::command_line();
    let ImportedGemms { dataset, rows, twice, left_out, bad } = aiter::import(&kernel, &files, &device, &command)?;
    let same = left_behind(&Twice { again: 0, ..twice }, &left_out, "row", &bad);
    let again = match twice.again {
        0 => String::new(),
        count => format!("\nleft out, {}: an earlier row has another kernel for the problem", count_noun(count, "row")),
    };
    args.target.save(&dataset, (rows, &bad), ("row", &same))?;
    seqtune_console::answer::answer(&format!(
        "{}: {} of {} on {}\nfrom {} of {}{same}{again}",
        args.target.output.display(),
        count_noun(dataset.records.len(), "record"),
        kernel.name,
        device.name,
        count_noun(rows, "row"),
        count_noun(files.len(), "table")
    ));
    Ok(())
}
