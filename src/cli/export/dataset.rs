//! `seqtune export dataset`

use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_data::Dataset;
use seqtune_data::version::carry_over;
use seqtune_kernel::Kernel;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use std::path::PathBuf;

/// Exports a dataset as a journal or as a packed file, without loss
///
/// The output is packed if its name ends in .sqt, else a journal.
#[derive(clap::Args)]
pub struct Args {
    /// Journal or packed file
    dataset: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Folder of the kernel version to migrate the data to
    ///
    /// A new parameter gets the value of its `before` key.
    #[arg(long, value_name = "FOLDER")]
    kernel: Option<String>,
    #[command(flatten)]
    replace: Replace,
}

/// Runs `seqtune export dataset`.
///
/// # Errors
/// `Error::Input` where the output is something else, or the data do not fit the kernel.
pub fn run(args: Args) -> Result<()> {
    // a dataset may be converted in place: it is whole in memory before a file takes its place
    claim(&args.output, Kind::Dataset, args.replace, &[])?;
    let dataset = Dataset::load(&args.dataset)?;
    let dataset = match &args.kernel {
        Some(kernel) => with_kernel(&args, &seqtune_console::inputs::kernel(kernel)?, &dataset)?,
        None => dataset,
    };
    dataset.save(&args.output)?;
    seqtune_console::answer::answer(&format!(
        "{}: {}, hash {}",
        args.output.display(),
        count_noun(dataset.records.len(), "record"),
        dataset.hash()
    ));
    if let Some(beside) = dataset.beside_library() {
        seqtune_console::answer::answer(&beside);
    }
    Ok(())
}

/// The dataset as one of that version of its kernel.
fn with_kernel(args: &Args, kernel: &Kernel, dataset: &Dataset) -> Result<Dataset> {
    let carried = carry_over(kernel, dataset).map_err(|e| e.at_place(args.dataset.display()))?;
    if !carried.set.is_empty() {
        seqtune_console::answer::tell(&format!(
            "carried over to the kernel of {}: {} in every config{}",
            kernel.place,
            carried.set,
            carried.left_out.text()
        ));
    }
    Ok(carried.dataset)
}
