//! `--shard`: the part of a plan that one machine of many measures.

use seqtune_data::Shard;
use seqtune_data::shard::{MOST_SHARDS, of_environment};
use seqtune_predict::error::{Result, input, quoted};
use seqtune_predict::kernel::{Config, Kernel, Problem};
use std::path::{Path, PathBuf};

/// A shard as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Number of the shard, from 1.
    pub index: usize,
    /// Number of shards.
    pub of: usize,
}

/// Reads `I/N`, `auto` or `auto/N`.
///
/// # Errors
/// `Error::Input` where the text is none of these, or the environment tells no shard.
pub fn asked(text: &str) -> Result<Asked> {
    let wrong = || input(format!("--shard {}: write I/N, such as 3/8, or auto or auto/N", quoted(text)));
    let (index, of) = text.split_once('/').map_or((text, None), |(index, of)| (index, Some(of)));
    let of = match of.map(str::parse::<usize>) {
        Some(Ok(of)) if (1..=MOST_SHARDS).contains(&of) => Some(of),
        None => None,
        Some(_) => return wrong(),
    };
    let (index, of) = match (index, of) {
        ("auto", given) => {
            let (index, told) = of_environment(&|name| std::env::var(name).ok())?;
            (index, given.or(told))
        }
        (index, of) => match index.parse::<usize>() {
            Ok(index) => (index, of),
            Err(_) => return wrong(),
        },
    };
    match of {
        Some(of) if (1..=of).contains(&index) && of <= MOST_SHARDS => Ok(Asked { index, of }),
        Some(of) => input(format!("--shard {}: {index} is not from 1 to {of}", quoted(text))),
        None if index == 0 => wrong(),
        None => {
            input(format!("--shard {}: the batch system does not tell how many there are; write auto/N", quoted(text)))
        }
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
pub fn part(
    kernel: &Kernel,
    plan: Vec<(Problem, Vec<Config>)>,
    asked: Asked,
    choice: &str,
) -> (Vec<(Problem, Vec<Config>)>, Shard) {
    let hash = Shard::plan(plan.iter().map(|(problem, _)| kernel.show_problem(problem)), choice);
    let mine = |(problem, _): &(Problem, Vec<Config>)| {
        Shard::of_problem(&kernel.show_problem(problem), asked.of) == asked.index
    };
    let plan: Vec<(Problem, Vec<Config>)> = plan.into_iter().filter(mine).collect();
    let planned = plan.iter().map(|(_, configs)| configs.len()).sum();
    (plan, Shard { index: asked.index, of: asked.of, plan: hash, planned })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_1_and_name_their_journals() {
        assert_eq!(asked("3/12").unwrap(), Asked { index: 3, of: 12 });
        for wrong in ["0/4", "5/4", "x/4", "1/0", "1/x", "3", "", "1/1000000"] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
        let name = journal(Path::new("runs/gemm.jsonl"), Asked { index: 3, of: 12 });
        assert_eq!(name, Path::new("runs/gemm.03-of-12.jsonl"));
    }
}
