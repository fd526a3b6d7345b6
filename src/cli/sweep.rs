//! `seqtune sweep`

mod measure;
mod merge;
mod status;
mod summary;

use seqtune_kernel::error::{Result, input};

/// Measures sampled or all legal configs of many problems; resumes if interrupted
///
/// To resume, run the same command again. A kernel that is called `merge` or `status` is named by its folder, such as ./merge.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(
    override_usage = "seqtune sweep [OPTIONS] <KERNEL> --problems <PROBLEM|FILE>... --output <FILE>\n       seqtune sweep <COMMAND>"
)]
pub struct Args {
    #[command(subcommand)]
    journals: Option<Journals>,
    #[command(flatten)]
    measure: Option<measure::Args>,
}

/// What is done with the journals of sweeps.
#[derive(clap::Subcommand)]
enum Journals {
    Merge(merge::Args),
    Status(status::Args),
}

/// Runs `seqtune sweep`.
///
/// # Errors
/// The error of the kernel, the device or a journal.
pub fn run(args: Args) -> Result<()> {
    match (args.journals, args.measure) {
        (Some(Journals::Merge(args)), _) => merge::run(args),
        (Some(Journals::Status(args)), _) => status::run(args),
        (None, Some(args)) => measure::run(args),
        (None, None) => input("name a kernel, its --problems and a journal, -o"),
    }
}
