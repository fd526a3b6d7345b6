//! `seqtune import clblast`

use crate::cli::import::options::{Target, left_behind, texts};
use seqtune_data::formats::clblast;
use seqtune_predict::error::Result;
use seqtune_predict::kernel::{Device, Kernel};
use std::path::PathBuf;

/// Results of CLBlast's tuners: the clblast_*.json files of one kernel and device, a size each
///
/// `clblast_tuner_xgemm_direct -m 512 -n 64 -k 128` writes them; scripts/clblast_tune.sh runs it over many sizes
#[derive(clap::Args)]
pub struct ClblastArgs {
    /// Files of one kernel family and device
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder with a kernel.toml of its space [default: the one that the first file names]
    #[arg(long)]
    kernel: Option<String>,
    /// Device that it was measured on [default: the one that the first file names, as it describes it]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: ClblastArgs) -> Result<()> {
    args.target.claim(&args.files)?;
    let files = texts(&args.files, args.target.strictness.strict)?;
    let (place, first) = &files[0];
    let family = clblast::family(first).map_err(|e| e.at(place))?;
    let kernel = Kernel::open(args.kernel.as_deref().unwrap_or(&family))?;
    let device = device(&args, first)?;
    let command = crate::cli::outputs::command_line();
    let clblast::Imported { dataset, rows, repeated, left_out, bad } =
        clblast::import(&kernel, &device, &files, command)?;
    args.target.save(&dataset, (rows, &bad), "config")?;
    let mut text = format!(
        "{}: {} records of {} on {} from {rows} configs of {} files",
        args.target.output.display(),
        dataset.records.len(),
        kernel.name,
        device.name,
        files.len()
    );
    text += &left_behind(repeated, &left_out, "configs", &bad);
    crate::cli::answer::answer(&text);
    Ok(())
}

/// The device that is named, or the one that a file tells of: as OpenCL describes it where it is here.
fn device(args: &ClblastArgs, first: &str) -> Result<Device> {
    match &args.device {
        Some(name) => crate::cli::inputs::device(name),
        None => {
            let told = clblast::device(first)?;
            let described = Device::described(&told.name);
            let here = seqtune_measure::devices().0.into_iter().map(|found| found.device);
            Ok(described.ok().or_else(|| here.into_iter().find(|d| d.name == told.name)).unwrap_or(told))
        }
    }
}
