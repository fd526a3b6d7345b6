//! `seqtune import triton`

use crate::cli::import::options::{Target, left_behind, texts};
use seqtune_data::formats::triton;
use seqtune_data::formats::values::FieldSource;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Imports results of Triton's autotuner (*.autotune.json), one problem per file
///
/// All files are of one kernel. Triton writes them as `~/.triton/cache/*/<kernel>.autotune.json` with TRITON_CACHE_AUTOTUNING=1 or
/// cache_results=True.
#[derive(clap::Args)]
pub struct TritonArgs {
    /// Files of one kernel and device
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder with its kernel.toml
    #[arg(long)]
    kernel: String,
    /// Device of the measurements
    #[arg(long)]
    device: String,
    /// Field of each entry of the autotuner's key, in order, separated by commas
    ///
    /// The entries are the values that `key=` names, then the data type of each tensor. Write `_` for an entry that is no field.
    ///
    /// [default: the kernel's fields in their order]
    #[arg(long, value_delimiter = ',', value_name = "FIELDS")]
    key: Vec<String>,
    /// Value of a field that is not in the key
    #[arg(long, value_name = "FIELD=VALUE", value_parser = seqtune_console::value_parsers::field_source)]
    set: Vec<FieldSource>,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: TritonArgs) -> Result<()> {
    args.target.claim(&args.files)?;
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    let device = seqtune_console::inputs::device(&args.device)?;
    if device.limits.is_cpu == Some(1.0) {
        return input(format!(
            "--device {}: Triton's autotuner measures GPUs, and {} is a processor",
            args.device, device.name
        ));
    }
    let files = texts(&args.files, args.target.strictness.strict)?;
    let ask = triton::TritonOptions {
        device,
        key: args.key.iter().map(|name| name.trim().to_string()).collect(),
        set: args.set,
        command: seqtune_console::outputs::command_line(),
    };
    let triton::ImportedTriton { dataset, rows, first_key, twice, apart, failed, left_out, unsaid, bad } =
        triton::import(&kernel, &files, ask)?;
    args.target.refuse(rows, &unsaid)?;
    let left = left_behind(&twice, &left_out, "config", &bad) + &unsaid.text();
    args.target.save(&dataset, (rows, &bad), ("config", &left))?;
    let mut text = format!(
        "{}: {} of {} on {} from {} of {}, {failed} of them of configs that failed",
        args.target.output.display(),
        count_noun(dataset.records.len(), "record"),
        kernel.name,
        dataset.header.device.name,
        count_noun(rows, "config"),
        count_noun(files.len(), "file")
    );
    text += &first_key.map_or(String::new(), |key| format!("\n{key}"));
    text += &left;
    if !left_out.is_empty() {
        text += "\nWhat a rule left out has times all the same: check --device, and the kernel's constraints.";
    }
    if apart > 0 {
        text += &format!(
            "\n{} took more than twice as long in one file as in another: are all files of one device?",
            count_noun(apart, "config")
        );
    }
    seqtune_console::answer::answer(&text);
    Ok(())
}
