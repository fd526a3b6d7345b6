//! `seqtune import kernel-tuner`, `import t4` and `import ktt`: sweeps of other tuners.

use crate::cli::import::options::{Target, left_behind, readable, texts};
use seqtune_console::answer::{answer, warn};
use seqtune_data::formats::origins::{Origins, agree, described_device};
use seqtune_data::formats::sweep::{ImportedSweep, Sweep, SweepImport};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input, quote};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Device, Kernel, Problem};
use std::path::PathBuf;

/// Options of imports of other tuners' sweeps
#[derive(clap::Args)]
pub struct SweepArgs {
    /// Files of one kernel and device, plain or packed by gzip, bzip2 or zip
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernel that was swept: a name, or the path of a folder with its kernel.toml
    #[arg(long)]
    kernel: String,
    /// Problem that was swept [default: the sizes that the file states]
    ///
    /// Allowed with one file only.
    #[arg(long)]
    problem: Option<String>,
    /// Device of the measurements [default: the described device that the file names]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// A file: its place, and what it holds.
type File = (String, Sweep);

pub fn run(args: SweepArgs, read: fn(&str) -> Result<Sweep>) -> Result<()> {
    args.target.claim(&args.files)?;
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    let strict = args.target.strictness.strict;
    let texts = texts(&args.files, strict)?;
    let files: Vec<File> = readable(&texts, strict, &|file| {
        Ok((file.place.clone(), read(&file.text).map_err(|e| e.at_place(&file.place))?))
    })?;
    if files.len() > 1 && args.problem.is_some() {
        return input(
            "--problem is of one file; import files of several problems one by one, where they do not tell their sizes",
        );
    }
    let device = device(&args, &files)?;
    let mut import = SweepImport::new(&kernel, &device, seqtune_console::outputs::command_line());
    let problem = |(place, sweep): &File| problem(&args, &kernel, (place, sweep)).map_err(|e| e.at_place(place));
    let called = files.iter().find_map(|(_, sweep)| sweep.kernel.clone()).filter(|name| *name != kernel.name);
    let files: Vec<(File, String)> = readable(&files, strict, &|file| Ok((file.clone(), problem(file)?)))?;
    for ((place, sweep), problem) in files {
        import.add(&place, sweep, &problem).map_err(|e| e.at_place(&place))?;
    }
    let imported = import.finish();
    let place = args.files[0].display();
    let ImportedSweep { dataset, entries, bad, twice, left_out, .. } = &imported;
    let left = left_behind(twice, left_out, "config", bad);
    args.target.save(dataset, (*entries, bad), ("config", &left)).map_err(|e| e.at_place(place))?;
    answer(&(report(&args, (&kernel, called.as_deref()), &imported) + &left));
    Ok(())
}

/// The device of all files: the one that is named, which is not another than they tell, or the described one that they tell.
fn device(args: &SweepArgs, files: &[File]) -> Result<Device> {
    let mut origins = Origins::default();
    for (place, sweep) in files {
        origins.add(place, sweep.kernel.as_deref(), sweep.device.as_deref())?;
    }
    let place = args.files[0].display();
    match (&args.device, origins.device()) {
        (Some(name), told) => {
            let device = seqtune_console::inputs::device(name)?;
            let warning = told.map(|told| agree(&device, told)).transpose().map_err(|e| e.at_place(place))?;
            warning.flatten().iter().for_each(|warning| warn(&format!("{} {warning}", args.files[0].display())));
            Ok(device)
        }
        (None, Some(told)) => described_device(told).map_err(|e| e.at_place(place)),
        (None, None) => input(format!("{place}: tells no device; name it with --device")),
    }
}

/// The problem of a file: the one that is named, or the one that it tells. Our own exports tell it in full.
fn problem(args: &SweepArgs, kernel: &Kernel, (place, sweep): (&str, &Sweep)) -> Result<String> {
    let shown = |text: &str| Ok(kernel.show_problem(&kernel.problem(text)?));
    let Some(named) = &args.problem else { return shown(&sweep.problem(kernel)?) };
    let problem = kernel.problem(named)?;
    let named = kernel.show_problem(&problem);
    match sweep.problem.as_deref().map(shown).transpose()? {
        Some(own) if own != named => input(format!("is of the problem {own}, and --problem names {named}")),
        Some(_) => Ok(named),
        None => {
            // what a tuner calls the problem's size need not be what the kernel does
            let own = sweep.problem(kernel).and_then(|own| kernel.problem(&own)).ok();
            let sizes = |of: &Problem| -> Vec<f64> {
                let all = kernel.fields.iter().zip(&of.values);
                all.filter(|(field, _)| field.kind == FieldKind::Size).map(|(_, value)| *value).collect()
            };
            if let Some(own) = own.filter(|own| sizes(own) != sizes(&problem)) {
                let own = kernel.brief_problem(&own);
                warn(&format!(
                    "{place} tells the problem {own}; its records are booked as those of {}",
                    kernel.brief_problem(&problem)
                ));
            }
            Ok(named)
        }
    }
}

fn report(args: &SweepArgs, (kernel, called): (&Kernel, Option<&str>), imported: &ImportedSweep) -> String {
    let called = called.map_or(String::new(), |name| format!(" (`{}` in the files)", quote(name)));
    let ImportedSweep { dataset, failed, metered, .. } = imported;
    let mut text = format!(
        "{}: {} of {}{called} on {}, {failed} of them of configs that failed",
        args.target.output.display(),
        count_noun(dataset.records.len(), "record"),
        kernel.name,
        dataset.header.device.name
    );
    if *metered > 0 {
        text += &format!(", {metered} with joules");
    }
    text
}
