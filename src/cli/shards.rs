//! `--shard`: the part of a plan that one machine of many measures.

use seqtune_data::Shard;
use seqtune_data::shard::of_environment;
use seqtune_kernel::Kernel;
use seqtune_kernel::error::{Result, input, quote};
use seqtune_kernel::files::target;
use seqtune_kernel::limits::SHARDS;
use seqtune_measure::sweep::plan::Planned;
use std::path::{Path, PathBuf};

/// A shard as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Number of the shard, from 1.
    pub index: usize,
    /// Number of shards.
    pub of: usize,
}

/// Reads `I/N`, `auto` or `auto/N`, for a sweep into `output`.
///
/// # Errors
/// `Error::Input` where the text is none of these, the environment tells no shard, or journals of another number of shards are there;
/// `Error::File` where `output` names no file that journals could be named after.
pub fn read_shards(text: &str, output: &Path) -> Result<Asked> {
    let asked = read(text)?;
    // `..` has no name: its shards would be named into the folder above
    target(output)?;
    check_beside(output, text, asked).map(|()| asked)
}

fn read(text: &str) -> Result<Asked> {
    let wrong = || input(format!("--shard {}: write I/N, such as 3/8, or auto or auto/N", quote(text)));
    let (index, of) = text.split_once('/').map_or((text, None), |(index, of)| (index, Some(of)));
    let of = match of.map(str::parse::<usize>) {
        Some(Ok(of)) if (1..=SHARDS).contains(&of) => Some(of),
        None => None,
        Some(_) => return wrong(),
    };
    let (index, of) = match (index, of) {
        ("auto", given) => {
            let told = of_environment(&|name| std::env::var(name).ok())?;
            (told.index, given.or(told.of))
        }
        (index, of) => match index.parse::<usize>() {
            Ok(index) => (index, of),
            Err(_) => return wrong(),
        },
    };
    match of {
        Some(of) if (1..=of).contains(&index) && of <= SHARDS => Ok(Asked { index, of }),
        Some(of) => input(format!("--shard {}: {index} is not from 1 to {of}", quote(text))),
        None if index == 0 => wrong(),
        None => {
            input(format!("--shard {}: the batch system does not tell how many there are; write auto/N", quote(text)))
        }
    }
}

/// Refuses a number of shards that the environment tells where journals of another number are there: a part of an array was given up again.
fn check_beside(output: &Path, text: &str, asked: Asked) -> Result<()> {
    let own = journal(output, asked);
    let folder = own.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let stem = format!("{}.", output.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()));
    let other = |name: &str| {
        let (index, of) = name.strip_prefix(&stem)?.split_once("-of-")?;
        let of: usize = of.split('.').next()?.parse().ok()?;
        (index.parse::<usize>().is_ok() && of != asked.of).then_some(of)
    };
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let found = names.filter_map(|entry| other(entry.file_name().to_str()?)).next();
    match found.filter(|_| text == "auto") {
        Some(of) => input(format!(
            "--shard auto tells {asked_index} of {asked_of}, and {} holds journals of {of} shards; write --shard I/{of}, or to another file",
            folder.display(),
            asked_index = asked.index,
            asked_of = asked.of
        )),
        None => Ok(()),
    }
}

/// Journal of a shard: `sweep.jsonl` becomes `sweep.3-of-8.jsonl`.
pub fn journal(output: &Path, asked: Asked) -> PathBuf {
    let stem = output.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let extension = output.extension().map_or("jsonl".into(), |e| e.to_string_lossy());
    // the width of the number of shards: names in the order of numbers
    let width = asked.of.to_string().len();
    output.with_file_name(format!("{stem}.{:0width$}-of-{}.{extension}", asked.index, asked.of))
}

/// The part of a plan that a shard measures, and what its journal says of it.
pub fn part(kernel: &Kernel, plan: Vec<Planned>, asked: Asked, choice: &str) -> (Vec<Planned>, Shard) {
    let hash = Shard::plan(plan.iter().map(|planned| kernel.show_problem(&planned.problem)), choice);
    let mine = |planned: &Planned| Shard::of_problem(&kernel.show_problem(&planned.problem), asked.of) == asked.index;
    let plan: Vec<Planned> = plan.into_iter().filter(mine).collect();
    let planned = plan.iter().map(|planned| planned.configs.len()).sum();
    (plan, Shard { index: asked.index, of: asked.of, plan: hash, planned })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_1_and_name_their_journals() {
        assert_eq!(read("3/12").unwrap(), Asked { index: 3, of: 12 });
        for wrong in ["0/4", "5/4", "x/4", "1/0", "1/x", "3", "", "1/1000000"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let name = journal(Path::new("runs/gemm.jsonl"), Asked { index: 3, of: 12 });
        assert_eq!(name, Path::new("runs/gemm.03-of-12.jsonl"));
    }

    #[test]
    fn a_task_of_an_array_that_was_given_up_again_alone_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("gemm.jsonl");
        for name in ["gemm.3-of-8.jsonl", "other.1-of-2.jsonl", "gemm.part.1-of-2.jsonl", "gemm.x-of-y"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let alone = Asked { index: 1, of: 1 };
        let said = check_beside(&output, "auto", alone).unwrap_err().to_string();
        assert!(said.contains("auto tells 1 of 1") && said.contains("write --shard I/8"), "{said}");
        assert!(check_beside(&output, "1/1", alone).is_ok(), "who names a shard means it");
        assert!(check_beside(&output, "auto", Asked { index: 3, of: 8 }).is_ok());
    }
}
