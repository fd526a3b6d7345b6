//! What a bench measures: kernels on a device, or programs of the user's own.

use crate::executor::Timing;
use crate::measuring::energy::EnergyMeter;
use crate::measuring::roofline::Peaks;
use crate::measuring::variant::{VariantAsked, VariantFound};
use crate::verify::case::Case;
use seqtune_data::{Attempt, Conditions, Energy, Invalidity, Observed};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Clocks, Config, Problem};
use std::path::Path;

/// The error of what edits code, of which a program has none.
fn no_code() -> Error {
    Error::Input("a program ([run]) has no code that can be edited".into())
}

/// Configs of one kernel that can be run and checked, problem after problem.
pub trait Subject {
    /// What is launched of a config.
    type Work;

    /// Prepares what configs that are compiled next have in common, where that saves time.
    fn announce(&mut self, _problem: &Problem, _configs: &[Config]) {}

    /// Makes what a config needs before it runs, on disk, for later processes too; returns a failure to make it.
    ///
    /// # Errors
    /// `Error::Failed` where the attempt itself cannot be made.
    fn compile(&mut self, problem: &Problem, config: &Config) -> Result<Option<Invalidity>>;

    /// Prepares a problem, with the data of a case and what is expected of them; configs that are prepared next run in the order of that case.
    ///
    /// # Errors
    /// `Error::Failed` where the problem cannot be prepared.
    fn load(&mut self, problem: &Problem, case: Case) -> Result<()>;

    /// Prepares other data of the loaded problem beside its own, where that takes little of the time in which so many configs are measured.
    fn load_beside(&mut self, _configs: usize) {}

    /// Writes the compiled program of a config into a file, in a form whose code can be edited; returns how it failed.
    ///
    /// # Errors
    /// `Error::File` where the file cannot be written.
    fn write_program(&mut self, _problem: &Problem, _config: &Config, _file: &Path) -> Result<Option<Invalidity>> {
        Err(no_code())
    }

    /// Prepares the data that a program is tried on.
    ///
    /// # Errors
    /// `Error::Failed` where data or reference fail.
    fn load_variants(&mut self, _asked: &VariantAsked) -> Result<()> {
        Err(no_code())
    }

    /// Tries a program in the place of that of a config.
    ///
    /// # Errors
    /// `Error::Failed` where data or reference fail.
    fn try_variant(&mut self, _asked: &VariantAsked) -> Result<VariantFound> {
        Err(no_code())
    }

    /// Releases what earlier configs hold where they are many; no work may be in use.
    fn make_room(&mut self) {}

    /// What a config of the loaded problem launches, or the vendor's library for `None`.
    ///
    /// # Errors
    /// [`Invalidity`] where a config does not compile, or there is no library.
    fn prepare(&mut self, config: Option<&Config>) -> Attempt<Self::Work>;

    /// Launches once on fresh data and compares the result with the expected one; returns the time in microseconds, or how it failed.
    ///
    /// # Errors
    /// `Error::Failed` where copies to or from the device fail.
    fn verify(&mut self, work: &Self::Work) -> Result<Attempt<f64>>;

    /// Launches once on the data beside, where there are some; returns how the result failed.
    ///
    /// # Errors
    /// `Error::Failed` where copies to or from the device fail.
    fn verify_beside(&mut self, _work: &Self::Work) -> Result<Attempt<()>> {
        Ok(Ok(()))
    }

    /// Launches `repeat` times in sequence and returns the time of each timed launch in microseconds.
    ///
    /// # Errors
    /// [`Invalidity`] where a launch fails.
    fn launch(&mut self, work: &Self::Work, repeat: usize, timing: Timing) -> Attempt<Vec<f32>>;

    /// Whether the result of each launch is checked, so that no further check is needed.
    fn checks_each_launch(&self) -> bool {
        false
    }

    /// Joules per launch that the launches themselves reported.
    fn reported_energy(&self, _work: &Self::Work) -> Option<Energy> {
        None
    }

    /// What is known of a work beside its times.
    fn observe(&self, _work: &Self::Work) -> Observed {
        Observed::default()
    }

    /// Current state of the device, where it is reported.
    fn conditions(&mut self) -> Option<Conditions> {
        None
    }

    /// Clocks at which a config of the loaded problem, or the vendor's library for `None`, is measured.
    fn clocks_of(&self, _config: Option<&Config>) -> Clocks {
        Clocks::default()
    }

    /// Holds the device at clocks until others are set; an inner failure is that of configs whose clocks it does not have.
    ///
    /// # Errors
    /// `Error::Unavailable` where no clocks can be set, `Error::Failed` where they cannot be given back.
    fn set_clocks(&mut self, _clocks: Clocks) -> Result<Attempt<()>> {
        Ok(Ok(()))
    }

    /// Opens the energy counter of the device.
    ///
    /// # Errors
    /// A message where the device has no working counter.
    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String>;

    /// Measures the peaks of the device, after which a problem has to be loaded again.
    ///
    /// # Errors
    /// `Error::Failed` where they cannot be measured.
    fn peaks(&mut self) -> Result<Peaks>;

    /// Name and version of the vendor's library for the kernel's routine.
    ///
    /// # Errors
    /// A message where there is no such library or routine.
    fn library(&mut self) -> std::result::Result<String, String>;

    /// What the machine lacked when the last failure was told, which is none of a config's: it is told once.
    fn trouble(&mut self) -> Option<Error> {
        None
    }

    /// Whether this process has lost the device, so that another has to go on.
    fn is_poisoned(&self) -> bool {
        false
    }
}
