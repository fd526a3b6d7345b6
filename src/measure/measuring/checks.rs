//! Checks of results against the reference: before a config is timed, after it, and with other data.

use super::{Bench, Pass};
use crate::batch::{Contender, Measured};
use crate::executor::Timing;
use crate::measuring::trial::{Trial, Work};
use crate::verify::workload::Workload;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::Config;

/// Launches of a config that is confirmed, each of which has to be right.
const LAUNCHES: usize = 5;

impl Bench {
    /// Compiles a contender, compares the result of its first launch with the expected one, and times a second launch.
    pub(super) fn check(
        &mut self,
        workload: &Workload,
        contender: Contender,
        configs: &[Config],
    ) -> Result<Attempt<Trial>> {
        let config = match contender {
            Contender::Config(at) => Some(&configs[at]),
            Contender::Library => None,
        };
        let work = match config.map(|config| Ok((self.program(&workload.problem, config)?, config))) {
            Some(Ok((program, config))) => Work::Config(program, self.geometry(&workload.problem, config)),
            Some(Err(fault)) => return Ok(Err(fault)),
            None => match self.source.gemm.as_ref().map(|gemm| workload.product(&self.kernel, gemm)) {
                Some(product) => Work::Library(product),
                None => {
                    return Ok(Err(Invalidity::new(
                        InvalidityKind::Runtime,
                        "kernel.toml names no routine of a library",
                    )));
                }
            },
        };
        if let Some(fault) = self.fault(workload, &work)? {
            return Ok(Err(fault));
        }
        let estimate = match work.launch(self.executor.as_mut(), &workload.values, 1, Timing::Warm) {
            Ok(times) => times[0].max(0.1) as f64,
            Err(fault) => return Ok(Err(fault)),
        };
        Ok(Ok(Trial { contender, work, estimate_us: estimate, samples: Vec::new(), conditions: None, done: false }))
    }

    /// Launches a work once and compares its result with the expected one.
    fn fault(&mut self, workload: &Workload, work: &Work) -> Result<Option<Invalidity>> {
        workload.reset(self.executor.as_mut())?;
        match work.launch(self.executor.as_mut(), &workload.values, 1, Timing::Warm) {
            Err(fault) => Ok(Some(fault)),
            Ok(_) => workload.wrong(self.executor.as_mut()),
        }
    }

    /// Checks a timed trial again, and finishes it where it is right at its first launch only; returns whether it is right.
    pub(super) fn is_still_right(&mut self, workload: &Workload, trial: &mut Trial, pass: &mut Pass) -> Result<bool> {
        pass.begin(trial.contender);
        let Some(fault) = self.fault(workload, &trial.work)? else { return Ok(true) };
        let detail = match fault.kind {
            InvalidityKind::Correctness => format!("right at its first launch, wrong later: {}", fault.detail),
            _ => fault.detail,
        };
        trial.samples.clear();
        pass.finish(Measured::invalid(trial.contender, Invalidity { detail, ..fault }));
        Ok(false)
    }

    /// Launches a config on the loaded data, several times; returns how it failed.
    ///
    /// # Errors
    /// `Error::Failed` where no problem is loaded, or copies to or from the device fail.
    pub fn confirm(&mut self, config: &Config) -> Result<Option<Invalidity>> {
        let Some(workload) = self.workload.take() else { return Err(Error::Failed("no problem is loaded".into())) };
        self.make_room();
        let found = match self.program(&workload.problem, config) {
            Ok(program) => {
                let work = Work::Config(program, self.geometry(&workload.problem, config));
                let mut launches = (0..LAUNCHES).map(|_| self.fault(&workload, &work));
                launches.find_map(|found| found.transpose()).transpose()
            }
            Err(fault) => Ok(Some(fault)),
        };
        self.workload = Some(workload);
        found
    }
}
