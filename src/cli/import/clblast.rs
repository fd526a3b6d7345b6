//! `seqtune import clblast`

use crate::cli::import::options::{Target, left_behind, texts};
use seqtune_console::answer::warn;
use seqtune_data::formats::opened::OpenedText;
use seqtune_data::formats::{clblast, origins};
use seqtune_kernel::Device;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Imports results of CLBlast's tuners (clblast_*.json), one size per file
///
/// All files are of one kernel and device. `clblast_tuner_xgemm_direct -m 512 -n 64 -k 128` writes such a file;
/// scripts/integrations/clblast_tune.sh does so for many sizes.
#[derive(clap::Args)]
pub struct ClblastImportArgs {
    /// Files of one kernel family and device
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder with its kernel.toml
    ///
    /// [default: the kernel that the first file names]
    #[arg(long)]
    kernel: Option<String>,
    /// Device of the measurements [default: the device that the first file names]
    ///
    /// The default is a described or live device of that name, else the device as the file describes it.
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: ClblastImportArgs) -> Result<()> {
    args.target.claim(&args.files)?;
    let files = texts(&args.files, args.target.strictness.strict)?;
    let told = clblast::origins(&files)?;
    let kernel = seqtune_console::inputs::kernel(args.kernel.as_deref().or(told.kernel()).unwrap_or_default())?;
    let device = device(&args, &files, told.device())?;
    let command = seqtune_console::outputs::command_line();
    let clblast::ImportedClblast { dataset, rows, twice, left_out, unsaid, bad } =
        clblast::import(&kernel, &device, &files, command)?;
    args.target.refuse(rows, &unsaid)?;
    let left = left_behind(&twice, &left_out, "config", &bad) + &unsaid.text();
    args.target.save(&dataset, (rows, &bad), ("config", &left))?;
    let mut text = format!(
        "{}: {} of {} on {} from {} of {}",
        args.target.output.display(),
        count_noun(dataset.records.len(), "record"),
        kernel.name,
        device.name,
        count_noun(rows, "config"),
        count_noun(files.len(), "file")
    );
    text += &left;
    seqtune_console::answer::answer(&text);
    Ok(())
}

/// The device that is named, which has to be the one that the files tell of; or that one: as OpenCL describes it where it is here.
fn device(args: &ClblastImportArgs, files: &[OpenedText], told: Option<&str>) -> Result<Device> {
    if let Some(name) = &args.device {
        let named = seqtune_console::inputs::device(name)?;
        if let Some(warning) = told.map(|told| origins::agree(&named, told)).transpose()?.flatten() {
            warn(&format!("what CLBlast tuned {warning}"));
        }
        return Ok(named);
    }
    let first =
        files.iter().find_map(|file| clblast::device(&file.text).ok().filter(|device| Some(&*device.name) == told));
    let Some(own) = first else { return input("the files tell no device; name it with --device") };
    let here = seqtune_measure::devices().found.into_iter().map(|found| found.device);
    let described = origins::described_device(&own.name).ok();
    Ok(described.or_else(|| here.into_iter().find(|d| d.name == own.name)).unwrap_or(own))
}
