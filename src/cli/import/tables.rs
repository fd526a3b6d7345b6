//! `seqtune import tables`

use crate::cli::import::options::{Strictness, left_behind, texts};
use seqtune_console::outputs::{Kind, Replace, claim_all, file_name};
use seqtune_data::formats::engine_tables::{self, ImportedTables};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Imports tables of tuned Triton configs that vLLM or SGLang ship, one dataset per device
///
/// A table is a file such as E=8,N=14336,device_name=NVIDIA_H200,dtype=fp8_w8a8.json. Its name tells the shape and the GPU. Of tables for
/// several versions of Triton, name the newest first: the first row of a problem counts.
#[derive(clap::Args)]
pub struct TablesArgs {
    /// Tables
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder for the datasets
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Kernel: a name, or the path of a folder with its kernel.toml
    #[arg(long, default_value = "fused_moe")]
    kernel: String,
    /// Device of all tables [default: the described device that each name tells]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
}

pub fn run(args: TablesArgs) -> Result<()> {
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    let device = args.device.as_deref().map(seqtune_console::inputs::device).transpose()?;
    let files = texts(&args.files, args.strictness.strict)?;
    let command = seqtune_console::outputs::command_line();
    let ImportedTables { datasets, rows, twice, left_out, bad } =
        engine_tables::import(&kernel, &files, device.as_ref(), &command)?;
    bad.check(rows, args.strictness.strict)?;
    if datasets.is_empty() {
        return input(format!(
            "no row could be imported{}",
            left_behind(&twice, &left_out, "row", &bad).replace('\n', "; ")
        ));
    }
    let output = |name: &String| Ok(args.output.join(format!("{}.sqt", file_name(name)?)));
    let outputs: Vec<PathBuf> = datasets.keys().map(output).collect::<Result<_>>()?;
    claim_all(&outputs, Kind::Dataset, args.replace, &args.files)?;
    let mut text = String::new();
    for (path, dataset) in outputs.iter().zip(datasets.values()) {
        dataset.save_packed(path)?;
        let (records, device) = (count_noun(dataset.records.len(), "record"), &dataset.header.device.name);
        text += &format!("{}: {records} of {} on {device}\n", path.display(), kernel.name);
    }
    text += &format!("from {} of {}", count_noun(rows, "row"), count_noun(files.len(), "table"));
    let again = twice.again;
    let same = seqtune_data::Twice { again: 0, ..twice };
    text += &left_behind(&same, &left_out, "row", &bad);
    if again > 0 {
        text +=
            &format!("\nleft out, {}: an earlier table has another config for the problem", count_noun(again, "row"));
    }
    seqtune_console::answer::answer(&text);
    Ok(())
}
