//! Programs tried by workers on PoCL: on every kind of data, in both orders of work-items, and timed in pairs with the unedited one.

use crate::search::{Candidate, Judge, Verdict};
use seqtune_data::stats::{geometric_mean, median};
use seqtune_kernel::error::{Error, Result, io};
use seqtune_kernel::files::{read, write_whole};
use seqtune_kernel::{Config, Kernel, Problem, limits};
use seqtune_measure::backends::opencl::poclbin::Container;
use seqtune_measure::measuring::variant::{VariantAsked, VariantFound};
use seqtune_measure::verify::case::Case;
use seqtune_measure::worker::client::Client;
use seqtune_measure::worker::setup::Setup;
use std::path::PathBuf;

/// Pairs by which programs are selected.
const PAIRS: usize = 9;

/// What every program is tried on.
#[derive(Clone)]
pub struct Trial {
    /// Config as text.
    pub config: String,
    /// Problems as text.
    pub problems: Vec<String>,
    /// Problems of odd sizes as text, whose results have to be right in the first case.
    pub odd: Vec<String>,
    /// Largest error; the kernel's tolerance where none is given.
    pub most_error: Option<f64>,
}

/// The cases of a search.
pub fn searched_cases() -> Vec<Case> {
    Case::of_all_kinds(1)
}

/// Cases that no search sees.
pub fn unseen_cases() -> Vec<Case> {
    Case::of_all_kinds(101)
}

/// Workers, and a folder for programs.
pub struct Bench {
    clients: Vec<Client>,
    folder: tempfile::TempDir,
    container: Vec<u8>,
    trial: Trial,
}

impl Bench {
    /// Starts workers, and has the unedited program written.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the device gives no program that can be edited, [`Error::Failed`] where it does not compile.
    pub fn new(
        setup: &Setup,
        workers: usize,
        kernel: &Kernel,
        problem: &Problem,
        config: &Config,
        trial: Trial,
    ) -> Result<Bench> {
        let folder = tempfile::tempdir().map_err(io(&std::env::temp_dir()))?;
        let mut clients: Vec<Client> = (0..workers).map(|_| Client::new(setup.clone())).collect();
        let file = folder.path().join("unedited");
        let first = clients.first_mut().ok_or_else(|| Error::Failed("no worker was asked for".into()))?;
        first.write_program(kernel, problem, config, &file)?.map_err(|fault| Error::Unavailable(fault.detail))?;
        let container = read(&file, limits::MODEL)?;
        Ok(Bench { clients, folder, container, trial })
    }

    /// The bitcode of the unedited program.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where PoCL wrote it in an unknown form.
    pub fn bitcode(&self) -> Result<Vec<u8>> {
        Ok(Container::read(&self.container)?.bitcode().to_vec())
    }

    fn program(&self, name: &str, bitcode: &[u8]) -> Result<PathBuf> {
        let file = self.folder.path().join(name);
        write_whole(&file, &Container::read(&self.container)?.with_bitcode(bitcode))?;
        Ok(file)
    }

    fn request(&self, program: PathBuf, cases: &[Case], pairs: usize) -> VariantAsked {
        let Trial { config, problems, most_error, .. } = self.trial.clone();
        VariantAsked { config, program, problems, cases: cases.to_vec(), most_error, pairs }
    }

    /// Tries a program on cases and times it, on the first worker.
    ///
    /// # Errors
    /// As [`Client::try_variant`].
    pub fn try_one(&mut self, bitcode: &[u8], cases: &[Case], pairs: usize) -> Result<VariantFound> {
        let asked = self.request(self.program("one", bitcode)?, cases, pairs);
        self.clients[0].try_variant(&asked)
    }

    /// Tries a program on other problems, with uniform data of a seed that no search saw.
    ///
    /// # Errors
    /// As [`Client::try_variant`].
    pub fn try_on(&mut self, bitcode: &[u8], problems: &[String]) -> Result<VariantFound> {
        let cases = unseen_cases();
        let asked =
            VariantAsked { problems: problems.to_vec(), ..self.request(self.program("one", bitcode)?, &cases[..1], 0) };
        self.clients[0].try_variant(&asked)
    }

    /// Whether a candidate is right on all cases, and in reversed order on the first.
    fn functions(&mut self, candidates: &[&Candidate]) -> Result<Vec<Verdict>> {
        let cases = searched_cases();
        let mut asked = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let usual = self.request(self.program(&format!("{at}"), &candidate.bitcode)?, &cases, 0);
            let reversed = self.request(self.program(&format!("{at}-reversed"), &candidate.reversed)?, &cases[..1], 0);
            let odd = VariantAsked { problems: self.trial.odd.clone(), cases: cases[..1].to_vec(), ..usual.clone() };
            asked.push([usual, odd, reversed]);
        }
        let share = asked.len().div_ceil(self.clients.len()).max(1);
        let tried: Vec<Result<Vec<Verdict>>> = std::thread::scope(|scope| {
            let parts = self.clients.iter_mut().zip(asked.chunks(share));
            let started: Vec<_> = parts
                .map(|(client, part)| scope.spawn(move || part.iter().map(|both| function(client, both)).collect()))
                .collect();
            let lost = || Err(Error::Failed("a thread of the search ended early".into()));
            started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        });
        let mut all = Vec::new();
        for part in tried {
            all.extend(part?);
        }
        Ok(all)
    }
}

fn function(client: &mut Client, [usual, odd, reversed]: &[VariantAsked; 3]) -> Result<Verdict> {
    let found = client.try_variant(usual)?;
    let verdict = |fault: Option<String>| Verdict { fault, error: found.error, ratio: f64::INFINITY };
    if let Some(fault) = &found.fault {
        return Ok(verdict(Some(fault.detail.clone())));
    }
    let at_odd_sizes = client.try_variant(odd)?;
    if let Some(fault) = &at_odd_sizes.fault {
        return Ok(verdict(Some(format!("at odd sizes: {}", fault.detail))));
    }
    let turned = client.try_variant(reversed)?;
    Ok(verdict(turned.fault.map(|fault| format!("with work-items in reversed order: {}", fault.detail))))
}

/// Geometric mean of the median ratio of each problem.
pub fn ratio(ratios: &[Vec<f32>]) -> f64 {
    geometric_mean(&ratios.iter().map(|one| median(one)).collect::<Vec<f64>>())
}

impl Judge for Bench {
    fn judge(&mut self, candidates: &[&Candidate]) -> Result<Vec<Verdict>> {
        let mut verdicts = self.functions(candidates)?;
        for (candidate, verdict) in candidates.iter().zip(&mut verdicts).filter(|(_, verdict)| verdict.fault.is_none())
        {
            // nothing else runs meanwhile
            match self.time_again(candidate, PAIRS)? {
                Some(ratio) => verdict.ratio = ratio,
                None => verdict.fault = Some("it failed when it was timed".into()),
            }
        }
        Ok(verdicts)
    }

    fn time_again(&mut self, candidate: &Candidate, pairs: usize) -> Result<Option<f64>> {
        let found = self.try_one(&candidate.bitcode, &searched_cases()[..1], pairs)?;
        Ok(found.fault.is_none().then(|| ratio(&found.ratios)))
    }
}
