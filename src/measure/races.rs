//! A config on a simulated device that tells races of work-items.

use crate::verify::case::Case;
use crate::verify::oclgrind::Oclgrind;
use crate::verify::other_problems::other_problems;
use crate::worker::client::Client;
use crate::worker::setup::Setup;
use seqtune_data::{Invalidity, InvalidityKind};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use std::time::Duration;

/// Largest size of a problem that is simulated, drawn problems of which the smallest is, and the longest silence: a simulator takes a microsecond for
/// an instruction.
const LARGEST: f64 = 40.0;
const DRAWN: usize = 12;
const SILENCE: Duration = Duration::from_secs(180);

/// What a simulator found.
#[derive(Clone, Debug, PartialEq)]
pub enum Races {
    /// A race, an access beyond any memory, or a wrong result, in words with the lines of source.
    Found(String),
    /// Nothing, for this problem.
    Absent(Problem),
    /// Nothing can be said, and why.
    Unknown(String),
}

/// Runs a config that is legal on `device` on Oclgrind, for a small problem like `problem`.
///
/// # Errors
/// `Error::Unavailable` or `Error::Failed` where no worker can be started.
pub fn find_races(
    setup: &Setup,
    kernel: &Kernel,
    device: &Device,
    problem: &Problem,
    config: &Config,
) -> Result<Races> {
    if kernel.source.as_ref().is_none_or(|source| !source.program.file.ends_with(".cl")) {
        return Ok(Races::Unknown("Oclgrind runs OpenCL C alone".into()));
    }
    let Some(simulator) = Oclgrind::find()? else {
        return Ok(Races::Unknown("Oclgrind is not installed, which looks for them".into()));
    };
    let others = other_problems(kernel, problem, DRAWN, LARGEST).into_iter();
    let legal = others.filter(|other| ConfigSpace::new(kernel, other, device).is_legal(config));
    let Some(small) = legal.min_by(|a, b| kernel.flops(a).total_cmp(&kernel.flops(b))) else {
        return Ok(Races::Unknown("no small problem was found for which the config is legal".into()));
    };
    let setup = Setup {
        device: "opencl:0".into(),
        limit: setup.limit.max(SILENCE),
        environment: simulator.environment(),
        ..setup.clone()
    };
    let checked = Client::new(setup).check(kernel, &small, std::slice::from_ref(config), Case::of_seed(1))?;
    if let Some(told) = simulator.first_message() {
        return Ok(Races::Found(told));
    }
    let fault: Option<Invalidity> = match checked {
        Ok(faults) => faults.into_iter().flatten().next(),
        Err(reason) => return Ok(Races::Unknown(format!("Oclgrind does not run it: {reason}"))),
    };
    Ok(match fault {
        None => Races::Absent(small),
        Some(fault) if fault.kind == InvalidityKind::Correctness => Races::Found(fault.detail),
        Some(fault) => Races::Unknown(format!("Oclgrind does not run it: {}", fault.detail)),
    })
}
