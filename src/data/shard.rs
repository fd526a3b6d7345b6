//! Shards: parts of a sweep, by problem, that machines measure side by side, each into a journal of its own.

use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::hex;
use seqtune_kernel::limits::{PLAN, SHARDS};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Digits of a plan's hash at most.
const HASH: usize = 64;

/// Which part of a plan a journal holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Number of the shard, from 1.
    pub index: usize,
    /// Number of shards.
    pub of: usize,
    /// Hash of the whole plan: its problems, and how configs are chosen.
    pub plan: String,
    /// Configs of this shard.
    pub planned: usize,
}

impl Shard {
    /// Shard that a problem belongs to, from 1: a hash of its text, so that it does not depend on the other problems or on the machine.
    pub fn of_problem(problem: &str, of: usize) -> usize {
        let digest = Sha256::digest(format!("shard {problem}"));
        let number = digest.iter().take(8).fold(0u64, |sum, byte| sum << 8 | *byte as u64);
        1 + (number % of.max(1) as u64) as usize
    }

    /// Refuses a shard that no sweep has: its number is not one of them, or there are more of them or of its configs than a plan holds.
    ///
    /// # Errors
    /// [`Error::Input`] that says what is wrong.
    pub fn check(&self) -> Result<()> {
        let Shard { index, of, plan, planned } = self;
        match () {
            () if !(1..=SHARDS).contains(of) => {
                input(format!("shard {self}: a sweep has 1 to {SHARDS} shards, not {of}"))
            }
            () if !(1..=*of).contains(index) => input(format!(
                "shard {self}: shards are numbered from 1 to {of}; the file was changed, or is another's"
            )),
            () if *planned > PLAN => input(format!("shard {self}: a plan has at most {PLAN} configs, not {planned}")),
            () if plan.len() > HASH || !plan.bytes().all(|b| b.is_ascii_hexdigit()) => {
                input(format!("shard {self}: its plan `{}` is no hash", quote(plan)))
            }
            () => Ok(()),
        }
    }

    /// Hash of a plan.
    pub fn plan(problems: impl Iterator<Item = String>, choice: &str) -> String {
        let mut sha = Sha256::new();
        problems.for_each(|problem| sha.update(problem + "\n"));
        sha.update(choice);
        hex(&sha.finalize()[..8])
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} of {}", self.index, self.of)
    }
}

/// What a batch system tells by its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Number of the shard.
    pub index: usize,
    /// How many there are, where that is told.
    pub of: Option<usize>,
}

/// A shard of the environment of a batch system.
///
/// # Errors
/// [`Error::Input`] where no batch system is found, or its variables make no sense.
pub fn of_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Told> {
    let number = |name: &str| -> Result<Option<usize>> {
        let Some(text) = variable(name).filter(|text| !text.is_empty() && text != "undefined") else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| Error::Input(format!("{name} is `{text}`, which is no number")))
    };
    for System { index, first, last, count, step } in SYSTEMS {
        let Some(at) = number(index)? else { continue };
        // LSF numbers a job that is in no array 0
        if at == 0 && index == "LSB_JOBINDEX" {
            continue;
        }
        let read = |name: Option<&str>| name.map_or(Ok(None), number);
        let step = read(step)?.unwrap_or(1).max(1);
        let first = read(first)?.unwrap_or(1);
        if first > 1 {
            return input(format!("the array begins at {first}, so that it may be a part of one; write --shard I/N"));
        }
        let of = match (read(count)?, read(last)?) {
            (Some(count), Some(last)) if (last.saturating_sub(first) / step).saturating_add(1) != count => {
                return input(format!("the array leaves out some of {first} to {last}; write --shard I/N"));
            }
            (Some(count), _) => Some(count),
            (None, Some(last)) => Some((last.saturating_sub(first) / step).saturating_add(1)),
            (None, None) => None,
        };
        if at < first {
            return input(format!("{index} is {at}, below the first, {first}"));
        }
        return Ok(Told { index: ((at - first) / step).saturating_add(1), of });
    }
    input(
        "no array of Slurm, PBS, LSF or Grid Engine and no GNU parallel is found in the environment; write --shard I/N",
    )
}

/// Variables of a batch system.
struct System {
    index: &'static str,
    first: Option<&'static str>,
    last: Option<&'static str>,
    count: Option<&'static str>,
    step: Option<&'static str>,
}

/// Slurm, Grid Engine, LSF, PBS Professional, Torque, GNU parallel.
const SYSTEMS: [System; 6] = [
    System {
        index: "SLURM_ARRAY_TASK_ID",
        first: Some("SLURM_ARRAY_TASK_MIN"),
        last: Some("SLURM_ARRAY_TASK_MAX"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
        step: Some("SLURM_ARRAY_TASK_STEP"),
    },
    System {
        index: "SGE_TASK_ID",
        first: Some("SGE_TASK_FIRST"),
        last: Some("SGE_TASK_LAST"),
        count: None,
        step: Some("SGE_TASK_STEPSIZE"),
    },
    System {
        index: "LSB_JOBINDEX",
        first: None,
        last: Some("LSB_JOBINDEX_END"),
        count: None,
        step: Some("LSB_JOBINDEX_STEP"),
    },
    System { index: "PBS_ARRAY_INDEX", first: None, last: None, count: None, step: None },
    System { index: "PBS_ARRAYID", first: None, last: None, count: None, step: None },
    System { index: "PARALLEL_SEQ", first: None, last: None, count: None, step: None },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn from_variables(pairs: &[(&str, &str)]) -> Result<(usize, Option<usize>)> {
        let value = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        of_environment(&value).map(|told| (told.index, told.of))
    }

    #[test]
    fn arrays_of_batch_systems_are_shards() {
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_MAX", "7"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
        ];
        assert_eq!(from_variables(&slurm).unwrap(), (3, Some(4)));
        // of an array some tasks of which were given up again
        let again = |min: &str, max: &str, count: &str| {
            let pairs = [
                ("SLURM_ARRAY_TASK_ID", max),
                ("SLURM_ARRAY_TASK_MIN", min),
                ("SLURM_ARRAY_TASK_MAX", max),
                ("SLURM_ARRAY_TASK_COUNT", count),
            ];
            from_variables(&pairs).unwrap_err().to_string()
        };
        assert!(again("3", "3", "1").contains("the array begins at 3"), "{}", again("3", "3", "1"));
        assert!(again("1", "8", "2").contains("leaves out some of 1 to 8"), "{}", again("1", "8", "2"));
        let grid = [("SGE_TASK_ID", "5"), ("SGE_TASK_FIRST", "1"), ("SGE_TASK_LAST", "9"), ("SGE_TASK_STEPSIZE", "2")];
        assert_eq!(from_variables(&grid).unwrap(), (3, Some(5)));
        assert_eq!(from_variables(&[("LSB_JOBINDEX", "2"), ("LSB_JOBINDEX_END", "6")]).unwrap(), (2, Some(6)));
        assert_eq!(from_variables(&[("PBS_ARRAY_INDEX", "4")]).unwrap(), (4, None));
        assert_eq!(from_variables(&[("PARALLEL_SEQ", "1")]).unwrap(), (1, None));
        assert!(from_variables(&[("SGE_TASK_ID", "undefined"), ("LSB_JOBINDEX", "0")]).is_err());
        assert!(from_variables(&[("SLURM_ARRAY_TASK_ID", "x")]).unwrap_err().to_string().contains("is no number"));
    }

    #[test]
    fn a_shard_is_one_of_those_that_a_sweep_may_have() {
        let shard = |index, of| Shard { index, of, plan: "0123456789abcdef".into(), planned: 7 };
        for (index, of) in [(1, 1), (2, 2), (1, SHARDS), (SHARDS, SHARDS)] {
            shard(index, of).check().unwrap();
        }
        for (index, of) in [(0, 2), (3, 2), (1, 0), (0, 0), (1, SHARDS + 1), (1, 1 << 40), (1, usize::MAX)] {
            let said = shard(index, of).check().unwrap_err().to_string();
            assert!(said.starts_with(&format!("shard {index} of {of}: ")), "{said}");
        }
        assert!(Shard { planned: PLAN + 1, ..shard(1, 2) }.check().is_err());
        assert!(Shard { plan: "\u{1b}[2J".into(), ..shard(1, 2) }.check().is_err());
        let endless = [
            ("SLURM_ARRAY_TASK_ID", "0"),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", "18446744073709551615"),
        ];
        assert_eq!(from_variables(&endless).unwrap(), (1, Some(usize::MAX)));
    }

    #[test]
    fn every_problem_has_one_shard_and_the_same_everywhere() {
        let counts = (0..1_000).fold([0; 5], |mut counts, n| {
            counts[Shard::of_problem(&format!("n={n}"), 5) - 1] += 1;
            counts
        });
        assert!(counts.iter().all(|count| (140..260).contains(count)), "{counts:?}");
        // a number that changed would let machines of two versions measure some problems twice and others never
        assert_eq!([1, 2, 3, 4, 5].map(|n| Shard::of_problem(&format!("n={n}"), 1_000)), PINNED);
    }

    const PINNED: [usize; 5] = [28, 700, 185, 355, 341];
}
