//! Export of configs as a user database, with one line per convolution.

use crate::formats::miopen::convolution::Convolution;
use crate::formats::miopen::params::Columns;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Device, Kernel, Problem};
use std::collections::HashMap;

/// User database, with convolutions in the order of insertion.
#[derive(Default)]
pub struct Export {
    lines: Vec<(String, Vec<String>)>,
    /// By key, the index of its line.
    places: HashMap<String, usize>,
}

impl Export {
    /// Adds a config of a solver; solvers of one convolution share a line.
    ///
    /// # Errors
    /// `Error::Input` where the kernel's `[database] columns` name an unknown parameter or field.
    pub fn add(
        &mut self,
        convolution: &Convolution,
        kernel: &Kernel,
        problem: &Problem,
        config: &Config,
    ) -> Result<()> {
        let key = convolution.key();
        let entry = format!("{}:{}", solver_name(kernel, problem), Columns::new(kernel)?.write(problem, config));
        match self.places.get(&key) {
            Some(at) => self.lines[*at].1.push(entry),
            None => {
                self.places.insert(key.clone(), self.lines.len());
                self.lines.push((key, vec![entry]));
            }
        }
        Ok(())
    }

    /// Formats the database as text.
    pub fn text(&self) -> String {
        self.lines.iter().map(|(key, entries)| format!("{key}={}\n", entries.join(";"))).collect()
    }
}

/// Name of the solver in MIOpen, with its argument where it has one.
pub fn solver_name(kernel: &Kernel, problem: &Problem) -> String {
    let argument =
        kernel.database.argument.as_ref().and_then(|name| kernel.fields.iter().position(|f| f.name == *name));
    match argument {
        Some(i) => format!("{}<{}>", kernel.name, kernel.fields[i].show(problem.values[i])),
        None => kernel.name.clone(),
    }
}

/// What MIOpen's files of a device begin with: its architecture, and its units in decimal behind `_` up to 64 or else in hexadecimal.
/// `None` for devices that are not AMD's.
pub fn device_name(device: &Device) -> Option<String> {
    let units = device.limits.compute_units? as u64;
    let name = match units <= 64 {
        true => format!("{}_{units}", device.architecture),
        false => format!("{}{units:x}", device.architecture),
    };
    device.architecture.starts_with("gfx").then_some(name)
}
