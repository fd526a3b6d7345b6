//! What datasets hold of the very problems that are asked about.

use seqtune_data::{KernelTable, MeasuredProblem, TriedConfig};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Device, Problem};
use seqtune_predict::MeasuredConfig;
use std::collections::BTreeSet;

/// What was measured on a device: what another one did says nothing of its times.
///
/// # Errors
/// `Error::Input` where that is nothing.
pub fn tried_on<'t>(device: &Device, tables: &'t [KernelTable]) -> Result<Vec<&'t MeasuredProblem>> {
    let own = |KernelTable { table, .. }: &'t KernelTable| {
        table.problems.iter().filter(|tried| device.is_among(std::slice::from_ref(&table.devices[tried.device])))
    };
    let own: Vec<&MeasuredProblem> = tables.iter().flat_map(own).collect();
    let devices: BTreeSet<&str> = tables.iter().flat_map(|data| &data.table.devices).map(|d| d.name.as_str()).collect();
    match own.is_empty() {
        true => input(format!(
            "the datasets were measured on {}, and {} is asked about; name data of that device, or leave the option out",
            devices.into_iter().collect::<Vec<_>>().join(" and "),
            device.name
        )),
        false => Ok(own),
    }
}

/// The working configs of a problem, each once.
pub fn measured_configs(all: &[&MeasuredProblem], problem: &Problem) -> Vec<MeasuredConfig> {
    let mut known: Vec<MeasuredConfig> = Vec::new();
    for TriedConfig { config, outcome } in all.iter().filter(|tried| tried.problem == *problem).flat_map(|t| &t.results)
    {
        if known.iter().all(|other| other.config != *config) && outcome.time_us().is_some() {
            known.push(MeasuredConfig { config: config.clone(), time_us: outcome.time_us(), joules: outcome.joules() });
        }
    }
    known
}
