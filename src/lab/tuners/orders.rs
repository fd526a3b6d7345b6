//! Tuners of other packages in a match: what each measures of a problem, in its order, is read from a file.
//!
//! A search that sees nothing but what it has measured can be played like that: where the seconds are spent, its order ends.

use crate::tuners::lab::{ReplayEnv, Tuner};
use crate::tuners::search::each;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::read_stream;
use seqtune_kernel::limits::ORDERS;
use seqtune_kernel::{Config, Kernel};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

/// A tuner by its orders.
pub struct Other {
    name: String,
    /// Configs in the order of measuring, by seed and problem.
    orders: HashMap<(u64, String), Vec<Config>>,
}

/// A line of a file.
#[derive(Deserialize)]
struct Line {
    name: String,
    seed: u64,
    problem: String,
    configs: Vec<String>,
}

/// Reads tuners from JSON lines: `{"name": TEXT, "seed": NUMBER, "problem": TEXT, "configs": [TEXT, …]}`, in the order of their first lines.
///
/// # Errors
/// `Error::File` where the file is none, or larger than [`ORDERS`]; `Error::Input` with the line that cannot be read, or names a problem or config that the kernel does not have.
pub fn read(path: &Path, kernel: &Kernel) -> Result<Vec<Other>> {
    let text = read_stream(path, ORDERS)?;
    let mut others: Vec<Other> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at_line = |e: Error| e.at_place(format!("{}, line {}", path.display(), at + 1));
        let line: Line = serde_json::from_str(line)
            .map_err(|e| at_line(Error::Input(format!("is no order (name, seed, problem, configs): {e}"))))?;
        let problem = kernel.show_problem(&kernel.problem(&line.problem).map_err(at_line)?);
        let configs = line.configs.iter().map(|text| kernel.config(text)).collect::<Result<_>>().map_err(at_line)?;
        let place = others.iter().position(|other| other.name == line.name).unwrap_or_else(|| {
            others.push(Other { name: line.name, orders: HashMap::new() });
            others.len() - 1
        });
        others[place].orders.insert((line.seed, problem), configs);
    }
    Ok(others)
}

/// A tuner with the seed of a match. A problem of which it has no order is left to chance.
pub(super) struct Ordered<'a> {
    pub other: &'a Other,
    pub seed: u64,
}

impl Tuner for Ordered<'_> {
    fn name(&self) -> &str {
        &self.other.name
    }

    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>> {
        Ok(each(lab, |lab, tried, candidates, spare| {
            let key = (self.seed, lab.kernel.show_problem(&tried.problem));
            let order = self.other.orders.get(&key).cloned().unwrap_or_default();
            // what the sweep does not know, or failed in it, is not measured
            let known = order.into_iter().filter(|config| candidates.contains(config)).collect();
            lab.measure_all(tried, known, spare)
        }))
    }
}
