//! `seqtune init`

mod asked;
mod draft;
mod questions;
mod text;

pub use asked::Args;
use draft::{Draft, FILE, draft};
use questions::Dialogue;
use seqtune_console::answer::{answer, warn};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::kernel_toml::spec::ArgumentKind;
use seqtune_kernel::{Config, Count, Device, Kernel};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

pub fn run(mut args: Args) -> Result<()> {
    let file = args.folder.join(FILE);
    if file.exists() {
        return input(format!("{} is there; edit it, or name another folder", file.display()));
    }
    if args.command.is_none() && args.source.is_none() {
        match std::io::stdin().is_terminal() {
            true => Dialogue::new(std::io::stdin().lock(), std::io::stderr()).ask(&mut args)?,
            false => {
                return input(
                    "name --command of a program, or --source of an OpenCL C or CUDA C++ file; at a terminal I ask for the rest",
                );
            }
        }
    }
    if args.parameter.is_empty() || args.field.is_empty() {
        return input("name at least one --field of a problem and one --parameter with its values");
    }
    let Draft { kernel, texts } = draft(&args)?;
    let shares = kernel.source.as_ref().is_some_and(|of| text::works_together(&kernel.files[&of.program.file]));
    if shares && args.local.is_empty() {
        warn(
            "the source has work-items that work together in groups, and no --local says how large a group is: the driver chooses",
        );
    }
    if let Some(empty) = crate::cli::check::why_empty(&kernel)? {
        return input(format!("{empty}; nothing is written"));
    }
    write(&args.folder, &texts)?;
    crate::cli::check::warn_of_unnamed(&kernel);
    tell(&args, &kernel, Some(text::reference(&args)).filter(|file| texts.contains_key(*file)))
}

/// Writes the files of a kernel, `kernel.toml` last; where one cannot be written, none stays.
fn write(folder: &Path, texts: &BTreeMap<String, String>) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::File(format!("{}: {e}", folder.display())))?;
    let mut names: Vec<&String> = texts.keys().collect();
    names.sort_by_key(|name| *name == FILE);
    for (at, name) in names.iter().enumerate() {
        write_whole(&folder.join(name), texts[*name].as_bytes()).inspect_err(|_| {
            names[..at].iter().for_each(|written| _ = std::fs::remove_file(folder.join(written)));
        })?;
    }
    Ok(())
}

/// A sentence that names what no option stated and was guessed from the first size; empty for a program.
fn guesses(args: &Args, kernel: &Kernel) -> String {
    let Some(source) = &kernel.source else { return String::new() };
    let is_stated = |name: &str| args.argument.iter().any(|text| text.split('=').next().map(str::trim) == Some(name));
    let is_buffer = |kind: ArgumentKind| matches!(kind, ArgumentKind::In | ArgumentKind::Out);
    let buffers = source.arguments.iter().filter(|a| is_buffer(a.kind) && !is_stated(&a.name));
    let mut all: Vec<String> = buffers.map(|argument| format!("`length` of {}", argument.name)).collect();
    all.extend(args.global.is_empty().then(|| "`global` of the program".into()));
    all.extend(args.reference_global.is_empty().then(|| "`global` of [reference]".into()));
    all.push("`flops`, `bytes` and `tolerance` of work".into());
    format!(" Guessed, to be checked in the file: {}.", all.join(", "))
}

/// What was written, and what to do next.
fn tell(args: &Args, kernel: &Kernel, made: Option<&str>) -> Result<()> {
    let example = kernel.middle_problem();
    let device = Device { limits: Default::default(), ..Device::all_shipped()?.remove(0) };
    let legal = kernel.problem(&example).ok().map(|problem| {
        let space = seqtune_kernel::ConfigSpace::new(kernel, &problem, &device);
        space.counter().total()
    });
    let place = args.folder.display();
    let count = match legal {
        Some(Count::Exactly(n)) => count_noun(n as usize, "config"),
        _ => "its configs".into(),
    };
    let default: Config = kernel.default_config();
    let made = match made {
        Some(file) => {
            format!("\n{file} is the source with its default values: replace it by a plain one that you trust.")
        }
        None => String::new(),
    };
    let guessed = guesses(args, kernel);
    let compile = match &kernel.source {
        Some(source) if source.program.file.ends_with(".cu") => {
            format!("\n  seqtune space {place} {example} --device H200 --compile     # needs no GPU")
        }
        _ => String::new(),
    };
    answer(&format!(
        "{place}/{FILE}: {count} of {example}, the default is {}.{made}{guessed}\nNext:{compile}\n  seqtune sweep {place} --problems {example} --sample 20 -o {}.jsonl",
        kernel.show_config(&default),
        kernel.name,
    ));
    Ok(())
}
