//! `seqtune convert`

use crate::cli::outputs::{Kind, Replace, claim};
use seqtune_data::Dataset;
use seqtune_predict::error::Result;
use std::path::PathBuf;

/// Converts a dataset without loss: to packed where OUTPUT ends in .sqt, else to a journal
#[derive(clap::Args)]
pub struct Args {
    /// Journal or packed file
    dataset: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    replace: Replace,
}

pub fn run(args: Args) -> Result<()> {
    // a dataset may be converted in place: it is whole in memory before a file takes its place
    claim(&args.output, Kind::Dataset, args.replace, &[])?;
    let dataset = Dataset::load(&args.dataset)?;
    if args.output.extension().is_some_and(|e| e == "sqt") {
        dataset.save_packed(&args.output)?;
    } else {
        dataset.save_journal(&args.output)?;
    }
    crate::cli::answer::answer(&format!(
        "{}: {} records, hash {}",
        args.output.display(),
        dataset.records.len(),
        dataset.hash()
    ));
    if let Some(beside) = dataset.beside_library() {
        crate::cli::answer::answer(&beside);
    }
    Ok(())
}
