//! `seqtune import clocks`

use crate::cli::import::options::{Target, left_behind, texts};
use seqtune_console::answer::answer;
use seqtune_data::Twice;
use seqtune_data::formats::clocks;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use std::path::PathBuf;

/// Imports time and energy of programs at pairs of GPU clocks, from CSV files
///
/// A file has a row for each program and pair of clocks, with instruction counts of the program. Columns: program, memory_mhz, core_mhz,
/// ms, watts, millijoules, then counts such as ld_global_f32.
#[derive(clap::Args)]
pub struct ClocksArgs {
    /// Files of one device
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder with its kernel.toml
    #[arg(long, default_value = "clocks")]
    kernel: String,
    /// Device of the measurements
    #[arg(long, default_value = "GTX Titan X")]
    device: String,
    /// Clock pairs whose time and power become part of the problem, 0 to 2
    ///
    /// The first pair is the highest clocks. The second is the lowest memory clock with the highest core clock. With several numbers,
    /// separated by commas, each program becomes one problem per number. A model then learns to predict with and without such measurements.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0", value_parser = seqtune_console::value_parsers::count(0..=2))]
    measured: Vec<usize>,
    /// Programs to leave out, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "only")]
    without: Vec<String>,
    /// Programs to import, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: ClocksArgs) -> Result<()> {
    args.target.claim(&args.files)?;
    let files = texts(&args.files, args.target.strictness.strict)?;
    let (kernel, device) =
        (seqtune_console::inputs::kernel(&args.kernel)?, seqtune_console::inputs::device(&args.device)?);
    let command = seqtune_console::outputs::command_line();
    let choice = clocks::ClocksOptions { measured: &args.measured, without: &args.without, only: &args.only };
    let clocks::ImportedClocks { dataset, rows, programs, left_out, bad } =
        clocks::import(&kernel, &device, &files, &choice, command)?;
    let left = left_behind(&Twice::default(), &left_out, "row", &bad);
    args.target.save(&dataset, (rows, &bad), ("row", &left))?;
    let mut text = format!(
        "{}: {} of {} on {} from {} of {}",
        args.target.output.display(),
        count_noun(dataset.records.len(), "record"),
        kernel.name,
        device.name,
        count_noun(rows, "row"),
        count_noun(programs, "program"),
    );
    text += &left;
    answer(&text);
    Ok(())
}
