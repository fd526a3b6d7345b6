//! What verbs are given: problems, datasets, devices, durations.

use crate::answer::warn;
use seqtune_data::{Dataset, KernelTable, NamedDataset, Table};
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::{STANDARD_INPUT, read_stream};
use seqtune_kernel::limits;
use seqtune_kernel::limits::SECONDS;
use seqtune_kernel::{Device, Kernel, Problem};
use seqtune_measure::programs;
use seqtune_measure::registry::{is_live, live_among, live_device};
use seqtune_predict::{Grounds, Meta, Model};
use std::path::{Path, PathBuf};

/// A kernel by its name or folder, as [`Kernel::open`] finds it, with all that its `[run]` says compiled.
///
/// # Errors
/// The errors of [`Kernel::open`] and [`programs::check`].
pub fn kernel(name_or_path: &str) -> Result<Kernel> {
    let kernel = Kernel::open(name_or_path)?;
    programs::check(&kernel).map_err(|e| e.at_place(&kernel.place))?;
    Ok(kernel)
}

/// A model and the kernel that it is asked about.
#[derive(clap::Args)]
pub struct ModelAndProblems {
    /// Folder of the model
    pub model: PathBuf,
    /// Problems such as M=64,N=32, files of problems, or `-` for standard input
    ///
    /// A file has one problem per line. Before the problems, name the kernel or the path of its folder if the model serves several kernels
    /// or one that is not shipped.
    #[arg(required = true, value_name = "PROBLEM")]
    words: Vec<String>,
}

impl ModelAndProblems {
    /// Name or folder of the kernel, and the problems.
    ///
    /// # Errors
    /// Those of [`kernel_of`], `Error::Input` where no problem is given.
    pub fn split(&self) -> Result<(String, &[String])> {
        let Some((first, rest)) = self.words.split_first() else { return input("no problem is given") };
        let is_problem = first == STANDARD_INPUT || first.contains(['=', '{']) || Path::new(first).is_file();
        match (is_problem, rest) {
            (true, _) => Ok((kernel_of(&self.model, None)?, &self.words)),
            (false, []) => input(match Kernel::open(first) {
                Ok(kernel) => format!(
                    "no problem of {} is given; write one as name=value pairs, or name a file of them",
                    kernel.name
                ),
                Err(_) => {
                    format!("{first} is no file, and a problem is written as name=value pairs, such as M=300,N=200")
                }
            }),
            (false, rest) => Ok((first.clone(), rest)),
        }
    }
}

/// The kernel's name or folder: as it is named, else the one that the model serves.
///
/// # Errors
/// `Error::Input` where none is named and the model serves several.
pub fn kernel_of(model: &Path, named: Option<&str>) -> Result<String> {
    if let Some(name) = named {
        return Ok(name.into());
    }
    match &Model::kernels_in(model)?[..] {
        [one] if Kernel::find(one)?.is_some() => Ok(one.clone()),
        [one] => input(format!(
            "{} was made for {one}, a kernel that is not shipped; name its folder, such as ./{one}",
            model.display()
        )),
        [] => input(format!("{} holds no model; name the folder of one", model.display())),
        several => {
            input(format!("{} serves several kernels; name one of them: {}", model.display(), several.join(", ")))
        }
    }
}

/// A described device by name or file, or a live one (`live`, `cuda:0`, `opencl:0`).
///
/// # Errors
/// The error of opening a live device, `Error::DeviceNotFound` where no description has the name.
pub fn device(name: &str) -> Result<Device> {
    if is_live(name) { live_device(name) } else { Device::find_described(name) }
}

/// What stands before the first dot of a file's name: MIOpen's databases are named after their device.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().into()
}

/// The described device that a file is named after, with or without what follows an underscore, such as a date.
pub fn named_after(path: &Path) -> Option<Device> {
    let stem = stem(path);
    let shorter = stem.rsplit_once('_').map_or(stem.as_str(), |(name, _)| name);
    Device::find_described(&stem).or_else(|_| Device::find_described(shorter)).ok()
}

/// Problems given as words, as files of lines, or on standard input (`-`).
///
/// # Errors
/// `Error::Problem` with the place of the one that is wrong, `Error::File` where a file cannot be read, `Error::Input` where there is none.
pub fn problems(kernel: &Kernel, words: &[String]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for word in words {
        if word != STANDARD_INPUT && (word.contains('=') || word.trim_start().starts_with('{')) {
            problems.push(kernel.problem(word).map_err(|e| cut_apart(e, words))?);
        } else if word.contains("MIOpenDriver") {
            return input(
                "a problem is written as name=value pairs; `seqtune export miopen` reads MIOpenDriver commands",
            );
        } else {
            let text = read_stream(Path::new(word), limits::LIST)?;
            let place = if word == STANDARD_INPUT { "standard input" } else { word };
            problems.extend(kernel.problems_from_lines(&text, place)?);
        }
    }
    match problems.is_empty() {
        true => input("no problem is given; write one as name=value pairs, or name a file of them"),
        false => Ok(problems),
    }
}

/// The error of a problem, with what to do where its fields may be words of their own.
fn cut_apart(e: Error, words: &[String]) -> Error {
    let has_one_field = |word: &String| word.contains('=') && !word.contains(',');
    match e {
        Error::Problem(what) if words.len() > 1 && words.iter().all(has_one_field) => Error::Problem(format!(
            "{what}; the fields of a problem are joined by commas, without blanks: {}",
            words.join(",")
        )),
        e => e,
    }
}

/// Files of datasets, those in named folders included.
///
/// # Errors
/// `Error::File` where a folder cannot be read, `Error::Input` where it holds no dataset.
pub fn dataset_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
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
            return input(format!("{}: the folder holds no dataset (.sqt or .jsonl)", path.display()));
        }
        files.extend(inside);
    }
    Ok(files)
}

/// Reads datasets, those in named folders included, with the kernels they are of, unless one is given for all.
///
/// # Errors
/// `Error::Input` where a dataset is damaged, is of no kernel, or none is left.
pub fn tables(paths: &[PathBuf], kernel: Option<&str>) -> Result<Vec<KernelTable>> {
    let files = dataset_files(paths)?;
    let mut by_kernel: Vec<(String, Vec<NamedDataset>)> = Vec::new();
    let mut seen: Vec<(String, PathBuf)> = Vec::new();
    for path in files {
        let dataset = Dataset::load(&path)?;
        let hash = dataset.hash();
        if let Some((_, first)) = seen.iter().find(|(h, _)| *h == hash) {
            warn(&format!("{} holds the same as {}; it counts once", path.display(), first.display()));
            continue;
        }
        seen.push((hash, path.clone()));
        let name = dataset.header.kernel.clone();
        let item = NamedDataset::new(path.display().to_string(), dataset);
        match by_kernel.iter_mut().find(|(k, _)| *k == name || kernel.is_some()) {
            Some((_, datasets)) => datasets.push(item),
            None => by_kernel.push((name, vec![item])),
        }
    }
    by_kernel
        .into_iter()
        .map(|(name, datasets)| {
            let kernel = self::kernel(kernel.unwrap_or(&name))?;
            let table = Table::new(&kernel, &datasets)?;
            Ok(KernelTable { kernel, table })
        })
        .collect()
}

/// The device that a model is asked about, by the rule of [`seqtune_predict::device_for`]. Warns of one it never saw.
///
/// # Errors
/// As [`device_among`].
pub fn device_for(meta: &Meta, named: Option<&str>) -> Result<Device> {
    let device = device_among(&meta.devices, named)?;
    warn_of_unseen(meta, &device);
    Ok(device)
}

/// The device that is asked about, of what learned from these: a live one by its id, else by the rule of [`seqtune_predict::device_for`].
///
/// # Errors
/// The error of [`device`]; `Error::DeviceNotFound` where several were learned, none is named and none of them is live.
pub fn device_among(learned: &[Device], named: Option<&str>) -> Result<Device> {
    match named {
        Some(id) if is_live(id) => live_device(id),
        name => seqtune_predict::device_for(learned, name, live_among).map_err(|e| e.at_place("--device")),
    }
}

/// Devices that any of several models learned, each once.
pub fn learned_by<'m>(models: impl IntoIterator<Item = &'m Meta>) -> Vec<Device> {
    let mut all: Vec<Device> = Vec::new();
    for device in models.into_iter().flat_map(|meta| &meta.devices) {
        if !device.is_among(&all) {
            all.push(device.clone());
        }
    }
    all
}

/// Whether a model was trained on a device, whichever of its names it was called by.
pub fn saw(meta: &Meta, device: &Device) -> bool {
    device.is_among(&meta.devices)
}

/// Warns of a device that the model was not trained on, with what that costs.
pub fn warn_of_unseen(meta: &Meta, device: &Device) {
    if let Some(note) = Grounds::from_meta(meta, device).note() {
        warn(&note);
    }
}

/// Reads `90s`, `10m`, `2h` or plain seconds.
///
/// # Errors
/// A sentence where the text is no number with a unit.
pub fn duration(text: &str) -> std::result::Result<std::time::Duration, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3_600.0),
        _ => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(x) if x > 0.0 && x * unit <= SECONDS => Ok(std::time::Duration::from_secs_f64(x * unit)),
        _ => Err("it is no time above 0 and of at most ten years: write 90s, 10m or 2h".into()),
    }
}
