//! `seqtune init`

mod questions;
mod signature;
mod text;

use crate::cli::answer::answer;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::files::{read_text, write_whole};
use seqtune_predict::kernel::{Config, Count, Device, Kernel};
use seqtune_predict::limits;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Writes a kernel.toml for a program of your own, or for an OpenCL C source; asks for what is not given, where it stands at a terminal
#[derive(clap::Args, Clone, Default)]
pub struct Args {
    /// Folder of the kernel; it is made where it is not there
    folder: PathBuf,
    /// Program with its words, as in a shell; `{n}` stands for a field or a parameter, `{kernel}` for the folder
    #[arg(long, value_name = "WORDS")]
    command: Option<String>,
    /// OpenCL C source in the folder, instead of a program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "build", "time", "right", "wrong", "unit"])]
    source: Option<String>,
    /// Kernel function of the source [default: the only one]
    #[arg(long, value_name = "NAME", requires = "source")]
    entry: Option<String>,
    /// Work-items in all, an expression per dimension [default: the first size]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    global: Vec<String>,
    /// Work-items of a work-group, an expression per dimension [default: chosen by the driver]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    local: Vec<String>,
    /// Elements of a buffer, or value of a number, by the argument's name [default: the first size, or the field of that name]
    #[arg(long, value_name = "NAME=EXPRESSION", requires = "source")]
    argument: Vec<String>,
    /// Field of a problem: `n=1..1000` for a size, `kind=a,b` for a choice
    #[arg(long, value_name = "NAME=RANGE")]
    field: Vec<String>,
    /// Parameter with its values or labels: `tile=8,[16],32`; brackets mark the default, the first unless stated
    #[arg(long, value_name = "NAME=VALUES")]
    parameter: Vec<String>,
    /// Constraint on configs, as `tile <= n`
    #[arg(long, value_name = "EXPRESSION")]
    constraint: Vec<String>,
    /// Command that builds what a config needs, in the folder `{build}`
    #[arg(long, value_name = "WORDS")]
    build: Option<String>,
    /// Where the time is: `json` for a last line of JSON, `wall`, or a regular expression whose group is the number [default: json]
    #[arg(long, value_name = "PATTERN")]
    time: Option<String>,
    /// Unit of the time that the pattern finds: s, ms, us or ns [default: s]
    #[arg(long, value_name = "UNIT", value_parser = ["s", "ms", "us", "ns"])]
    unit: Option<String>,
    /// Regular expression that the output of a right result matches
    #[arg(long, value_name = "PATTERN")]
    right: Option<String>,
    /// Regular expression that the output of a wrong result matches
    #[arg(long, value_name = "PATTERN")]
    wrong: Option<String>,
    /// One line that says what is computed
    #[arg(long, value_name = "WORDS")]
    meaning: Option<String>,
}

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
    std::fs::create_dir_all(&args.folder).map_err(|e| Error::File(format!("{}: {e}", args.folder.display())))?;
    let (text, reference) = match &args.source {
        Some(source) => {
            let path = args.folder.join(source);
            let code = read_text(&path, limits::TEXT)?;
            text::of_source(&args, &code).map_err(|e| e.at(path.display()))?
        }
        None => (text::of_program(&args)?, None),
    };
    write_whole(&file, text.as_bytes())?;
    if let Some((name, code)) = &reference {
        let path = args.folder.join(name);
        if !path.exists() {
            write_whole(&path, code.as_bytes())?;
        }
    }
    // what is not a kernel is no use
    match Kernel::open(&args.folder.display().to_string()) {
        Ok(kernel) => tell(&args.folder, &kernel, reference.is_some()),
        Err(e) => {
            let _ = std::fs::remove_file(&file);
            Err(e)
        }
    }
}

/// What was written, and what to do next.
fn tell(folder: &Path, kernel: &Kernel, has_reference: bool) -> Result<()> {
    let example = text::example(kernel);
    let device = Device { limits: Default::default(), ..Device::shipped()?.remove(0) };
    let legal = kernel.problem(&example).ok().map(|problem| {
        let space = seqtune_predict::kernel::ConfigSpace::new(kernel, &problem, &device);
        space.counter().total()
    });
    let place = folder.display();
    let count = match legal {
        Some(Count::Exactly(n)) => format!("{n} configs"),
        _ => "its configs".into(),
    };
    let default: Config = kernel.default_config();
    let reference = match has_reference {
        true => "\nreference.cl is the source with its default values: replace it by a plain one that you trust.",
        false => "",
    };
    answer(&format!(
        "{place}/{FILE}: {count} of {example}, the default is {}.{reference}\nNext:\n  seqtune sweep {place} --problems {example} --sample 20 -o {}.jsonl",
        kernel.show_config(&default),
        kernel.name,
    ));
    Ok(())
}
