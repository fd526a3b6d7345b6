//! `seqtune init`

mod asked;
mod questions;
mod signature;
mod text;

use crate::cli::answer::answer;
pub use asked::Args;
use seqtune_predict::counted;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::files::{read_text, write_whole};
use seqtune_predict::kernel::{Config, Count, Device, Kernel};
use seqtune_predict::limits;
use std::io::IsTerminal;
use std::path::Path;

/// File that is written.
const FILE: &str = "kernel.toml";

pub fn run(mut args: Args) -> Result<()> {
    let file = args.folder.join(FILE);
    if file.exists() {
        return input(format!("{} is there; edit it, or name another folder", file.display()));
    }
    if args.command.is_none() && args.source.is_none() {
        match std::io::stdin().is_terminal() {
            true => questions::ask(&mut args)?,
            false => {
                return input(
                    "name --command of a program, or --source of an OpenCL C file; at a terminal I ask for the rest",
                );
            }
        }
    }
    if args.parameter.is_empty() || args.field.is_empty() {
        return input("name at least one --field of a problem and one --parameter with its values");
    }
    let is_new = !args.folder.exists();
    std::fs::create_dir_all(&args.folder).map_err(|e| Error::File(format!("{}: {e}", args.folder.display())))?;
    let (text, reference) = match &args.source {
        Some(source) => {
            let path = args.folder.join(source);
            let code = read_text(&path, limits::TEXT).inspect_err(|_| {
                if is_new {
                    let _ = std::fs::remove_dir(&args.folder);
                }
            })?;
            text::of_source(&args, &code).map_err(|e| e.at(path.display()))?
        }
        None => (text::of_program(&args)?, None),
    };
    write_whole(&file, text.as_bytes())?;
    if let Some(code) = &reference {
        write_whole(&args.folder.join(text::REFERENCE), code.as_bytes())?;
    }
    // what is not a kernel is no use
    match Kernel::open(&args.folder.display().to_string()) {
        Ok(kernel) => {
            crate::cli::check::warn_of_unnamed(&kernel);
            tell(&args.folder, &kernel, reference.is_some())
        }
        Err(e) => {
            let _ = std::fs::remove_file(&file);
            Err(e)
        }
    }
}

/// What was written, and what to do next.
fn tell(folder: &Path, kernel: &Kernel, is_made: bool) -> Result<()> {
    let example = kernel.middle_problem();
    let device = Device { limits: Default::default(), ..Device::shipped()?.remove(0) };
    let legal = kernel.problem(&example).ok().map(|problem| {
        let space = seqtune_predict::kernel::ConfigSpace::new(kernel, &problem, &device);
        space.counter().total()
    });
    let place = folder.display();
    let count = match legal {
        Some(Count::Exactly(n)) => counted(n as usize, "config"),
        _ => "its configs".into(),
    };
    let default: Config = kernel.default_config();
    let made = match is_made {
        true => "\nreference.cl is the source with its default values: replace it by a plain one that you trust.",
        false => "",
    };
    let guessed = match kernel.source {
        Some(_) => {
            " What no option named is guessed from the first size: look at `length` of the arguments, [work], and `global` of [reference]."
        }
        None => "",
    };
    answer(&format!(
        "{place}/{FILE}: {count} of {example}, the default is {}.{made}{guessed}\nNext:\n  seqtune sweep {place} --problems {example} --sample 20 -o {}.jsonl",
        kernel.show_config(&default),
        kernel.name,
    ));
    Ok(())
}
