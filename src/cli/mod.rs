//! The program's verbs. Answers go to standard output, progress and warnings to standard error.

mod bench;
mod convert;
mod devices;
mod evaluate;
mod export;
mod import;
mod predict;
mod progress;
mod space;
mod sweep;
mod train;
mod validate;

use crate::dataset::{Dataset, Table};
use crate::error::{Result, input, io};
use crate::kernel::{Device, Kernel, Problem};
use crate::model::Model;
use clap::{Parser, Subcommand};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Predicts the tuning parameters of GPU kernels, and validates them on the device.
///
/// Exit codes: 0 done, 1 the run failed, 2 wrong input, 3 a device or library is missing.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Devices(devices::Args),
    Space(space::Args),
    Sweep(sweep::Args),
    Train(train::Args),
    Predict(predict::Args),
    Validate(validate::Args),
    Evaluate(evaluate::Args),
    Convert(convert::Args),
    Import(import::Args),
    Export(export::Args),
    Bench(bench::Args),
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// Serves measurements to a parent process
#[derive(clap::Args)]
struct WorkerArgs {
    kernel: String,
    #[arg(long)]
    device: String,
}

/// Runs the program; errors are printed as one sentence.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.verb {
        Verb::Devices(args) => devices::run(args),
        Verb::Space(args) => space::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Train(args) => train::run(args),
        Verb::Predict(args) => predict::run(args),
        Verb::Validate(args) => validate::run(args),
        Verb::Evaluate(args) => evaluate::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Import(args) => import::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Worker(args) => crate::executor::worker::serve(&args.kernel, &args.device),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("seqtune: {e}");
            ExitCode::from(e.exit_code() as u8)
        }
    }
}

/// Writes an answer to standard output; a reader that has gone (`| head`) ends the program quietly, a full disk does not.
fn answer(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(e) => {
            eprintln!("seqtune: standard output: {e}; the answer is not whole");
            std::process::exit(1);
        }
    }
}

/// Refuses to replace a file unless asked to, and to replace what is read in any case.
fn refuse_existing(output: &Path, overwrite: bool, read: &[PathBuf]) -> Result<()> {
    if output.exists() && !overwrite {
        return input(format!("{} exists; name another file, or pass --overwrite", output.display()));
    }
    match read.iter().any(|path| is_same(path, output)) {
        true => input(format!("{} is what is read; name another file to write", output.display())),
        false => Ok(()),
    }
}

/// Whether two paths name one file that is there.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Finds out before the work whether a file can be written at its end; leaves what is there as it is.
fn check_writable(path: &Path) -> Result<()> {
    let existed = path.exists();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io(folder))?;
    }
    std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(io(path))?;
    match existed {
        true => Ok(()),
        false => std::fs::remove_file(path).map_err(io(path)),
    }
}

/// An answer as one JSON line.
fn answer_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|e| crate::Error::Failed(format!("writing JSON: {e}")))?;
    answer(&text);
    Ok(())
}

/// A described device by name or file, or a live one (`live`, `cuda:0`, `opencl:0`).
fn device(name: &str) -> Result<Device> {
    if crate::executor::is_live(name) { crate::executor::live_device(name) } else { Device::described(name) }
}

/// Problems given as words, as files of lines, or on standard input (`-`).
fn problems(kernel: &Kernel, words: &[String]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for word in words {
        if word == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(io(Path::new("standard input")))?;
            problems.extend(kernel.problems_from_lines(&text, "standard input")?);
        } else if word.contains('=') || word.trim_start().starts_with('{') {
            problems.push(kernel.problem(word)?);
        } else {
            let text = std::fs::read_to_string(word).map_err(io(Path::new(word)))?;
            problems.extend(kernel.problems_from_lines(&text, word)?);
        }
    }
    match problems.is_empty() {
        true => crate::error::input("no problem is given; write one as name=value pairs, or name a file of them"),
        false => Ok(problems),
    }
}

/// Reads datasets, those in named folders included, with the kernels they are of, unless one is given for all.
fn tables(paths: &[PathBuf], kernel: Option<&str>) -> Result<Vec<(Kernel, Table)>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(io(path))?.flatten().map(|e| e.path());
        let mut inside: Vec<PathBuf> =
            entries.filter(|p| p.extension().is_some_and(|e| e == "sqt" || e == "jsonl")).collect();
        inside.sort();
        if inside.is_empty() {
            return crate::error::input(format!("{}: the folder holds no dataset (.sqt or .jsonl)", path.display()));
        }
        files.extend(inside);
    }
    let mut by_kernel: Vec<(String, Vec<(String, Dataset)>)> = Vec::new();
    let mut seen: Vec<(String, PathBuf)> = Vec::new();
    for path in files {
        let dataset = Dataset::load(&path)?;
        let hash = dataset.hash();
        if let Some((_, first)) = seen.iter().find(|(h, _)| *h == hash) {
            eprintln!("seqtune: warning: {} holds the same as {}; it counts once", path.display(), first.display());
            continue;
        }
        seen.push((hash, path.clone()));
        let name = dataset.header.kernel.clone();
        let item = (path.display().to_string(), dataset);
        match by_kernel.iter_mut().find(|(k, _)| *k == name || kernel.is_some()) {
            Some((_, datasets)) => datasets.push(item),
            None => by_kernel.push((name, vec![item])),
        }
    }
    by_kernel
        .into_iter()
        .map(|(name, datasets)| {
            let kernel = Kernel::open(kernel.unwrap_or(&name))?;
            let table = Table::new(&kernel, &datasets)?;
            Ok((kernel, table))
        })
        .collect()
}

/// The device to predict for: the one named, or the first that the model was trained on. Warns of one it never saw.
fn device_for(model: &Model, named: Option<&str>) -> Result<Device> {
    let device = match (named, model.meta.devices.first()) {
        (Some(name), _) => device(name)?,
        (None, Some(trained)) => trained.clone(),
        (None, None) => device("live")?,
    };
    warn_of_unseen(model, &device);
    Ok(device)
}

/// Warns of a device that the model was not trained on.
fn warn_of_unseen(model: &Model, device: &Device) {
    if !model.meta.devices.iter().any(|d| d.is_called(&device.name) || device.is_called(&d.name)) {
        eprintln!(
            "seqtune: warning: the model never saw {}; its configs are legal there, its ranking is a guess",
            device.name
        );
    }
}

/// Reads `90s`, `10m`, `2h` or plain seconds.
fn duration(text: &str) -> std::result::Result<std::time::Duration, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3_600.0),
        _ => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(std::time::Duration::from_secs_f64(x * unit)),
        _ => Err(format!("`{text}` is not a time: write 90s, 10m or 2h")),
    }
}

/// The command line, for provenance.
fn command_line() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(first) = words.first_mut() {
        *first = "seqtune".into();
    }
    words.join(" ")
}
