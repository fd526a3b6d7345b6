//! Programs that take the place of a config's own one.

use super::{OnDevice, Work, nothing_loaded};
use crate::batch::ProgramKey;
use crate::compile::Job;
use crate::executor::{ProgramId, Timing};
use crate::measuring::variant::{Loaded, VariantAsked, VariantFound};
use crate::verify::case::Case;
use crate::verify::input_kind::InputKind;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::{read, write_whole};
use seqtune_kernel::{Config, Problem, limits};
use std::path::Path;

impl OnDevice {
    /// Writes the compiled program of a config into a file.
    pub(super) fn write_binary(
        &mut self,
        problem: &Problem,
        config: &Config,
        file: &Path,
    ) -> Result<Option<Invalidity>> {
        let key = ProgramKey::new(&self.kernel, problem, config);
        let env = self.kernel.env_of(problem, Some(self.executor.device()), config);
        let job = Job::new(&self.kernel, &self.source.program, key.defines(), &env);
        match self.executor.binary(&job) {
            Ok(binary) => write_whole(file, &binary).map(|()| None),
            Err(fault) => Ok(Some(fault)),
        }
    }

    /// Tries a program on every case of every problem, and times it where it is right.
    pub(super) fn try_program(&mut self, asked: &VariantAsked) -> Result<VariantFound> {
        let config = self.kernel.config(&asked.config)?;
        let problem = self.kernel.problem(asked.problems.first().ok_or_else(nothing_loaded)?)?;
        let own = self.program(&problem, &config).map_err(|fault| Error::Failed(fault.detail))?;
        let binary = read(&asked.program, limits::MODEL)?;
        let program = match self.executor.load(&binary, &self.source.program.entry) {
            Ok(program) => program,
            Err(fault) => return Ok(VariantFound { fault: Some(fault), ..VariantFound::default() }),
        };
        let loaded = std::mem::take(&mut self.for_variants);
        let found = self.try_on(&loaded, [own, program], &config, asked);
        self.for_variants = loaded;
        self.executor.release(program);
        found
    }

    fn try_on(
        &mut self,
        loaded: &[Loaded],
        [own, program]: [ProgramId; 2],
        config: &Config,
        asked: &VariantAsked,
    ) -> Result<VariantFound> {
        let mut found = VariantFound::default();
        let wanted: Vec<&Loaded> = loaded
            .iter()
            .filter(|one| asked.cases.contains(&one.case))
            .filter(|one| asked.problems.contains(&self.kernel.show_problem(&one.problem)))
            .collect();
        for one in &wanted {
            let error = match self.error_of(program, one, config)? {
                Ok(error) => error,
                Err(fault) => return Ok(VariantFound { fault: Some(with_case(fault, one.case)), ..found }),
            };
            let most = asked.most_error.unwrap_or_else(|| one.data.tolerance());
            if error > most {
                let what = format!("its results are off by {error:.2e} of the largest, {most:.2e} is allowed");
                let fault = Invalidity::new(InvalidityKind::Correctness, what);
                return Ok(VariantFound { fault: Some(with_case(fault, one.case)), ..found });
            }
            found.error = found.error.max(error);
        }
        if asked.pairs > 0 {
            for one in wanted.iter().filter(|one| one.case == asked.cases[0]) {
                match self.pairs([own, program], one, config, asked.pairs) {
                    Ok(ratios) => found.ratios.push(ratios),
                    Err(fault) => return Ok(VariantFound { fault: Some(fault), ..found }),
                }
            }
        }
        Ok(found)
    }

    /// Error of a launch on some data.
    fn error_of(&mut self, program: ProgramId, one: &Loaded, config: &Config) -> Result<Attempt<f64>> {
        let work = Work::Config(program, self.geometry(&one.problem, config));
        match self.launch_anew(&work, &one.data)? {
            Ok(_) => one.data.error(self.executor.as_mut()),
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// Ratios of the times of two programs, the second to the first; which of them is launched first alternates.
    fn pairs(&mut self, programs: [ProgramId; 2], one: &Loaded, config: &Config, pairs: usize) -> Attempt<Vec<f32>> {
        let geometry = self.geometry(&one.problem, config);
        let mut ratios = Vec::with_capacity(pairs);
        for pair in 0..=pairs {
            let mut us = [0.0; 2];
            for turn in 0..2 {
                let at = (pair + turn) % 2;
                us[at] = self.executor.launch(programs[at], &one.data.values, &geometry, 1, Timing::Warm)?[0];
            }
            // the first pair warms up
            if pair > 0 {
                ratios.push(us[1] / us[0]);
            }
        }
        Ok(ratios)
    }

    /// Loads what is not there yet.
    pub(super) fn load_all(&mut self, asked: &VariantAsked) -> Result<()> {
        for text in &asked.problems {
            let problem = &self.kernel.problem(text)?;
            for case in &asked.cases {
                let mut known = self.for_variants.iter().filter(|one| one.problem == *problem);
                if known.clone().any(|one| one.case == *case) {
                    continue;
                }
                let uniform = known.find(|one| one.case.kind == InputKind::Uniform);
                let scales = uniform.map_or_else(Vec::new, |one| one.data.scales());
                let data = self.data(problem, *case, &scales, true)?;
                self.for_variants.push(Loaded { problem: problem.clone(), case: *case, data });
            }
        }
        Ok(())
    }
}

/// A failure with the case in which it came.
fn with_case(fault: Invalidity, case: Case) -> Invalidity {
    Invalidity { detail: format!("{}: {}", case.words(), fault.detail), ..fault }
}
