//! The journal that `seqtune.sweep` writes: the same file as the command line's.

use crate::configs::config_of;
use crate::device::Device;
use crate::errors::OrRaise;
use crate::kernel::Kernel;
use crate::numbers::{Place, Real, Seed, Text};
use crate::problems::problem_of;
use pyo3::prelude::*;
use seqtune_data::recipe::Provenance;
use seqtune_data::{Header, InvalidityKind, Measurement, Outcome, Record};
use seqtune_kernel::error::input;
use seqtune_predict::Error;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A journal open for appending.
#[pyclass(frozen, module = "seqtune._seqtune")]
pub struct Journal {
    kernel: Kernel,
    /// `None` once it is closed.
    open: Mutex<Option<Open>>,
}

struct Open {
    journal: seqtune_data::Journal,
    /// Problems and configs that have a record.
    tried: HashSet<(String, String)>,
}

/// Characters of a failure's message that are kept.
const DETAIL: usize = 2_000;

/// Samples as a sentence names them, the first of many.
fn list_samples(seconds: &[Real]) -> String {
    let first: Vec<String> = seconds.iter().take(5).map(|s| s.0.to_string()).collect();
    format!("[{}{}]", first.join(", "), if seconds.len() > 5 { ", …" } else { "" })
}

/// What is written into the header.
type Origin = (Seed, Text, Text);

impl Journal {
    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A problem and a config as records write them.
    fn write_names(&self, problem: &Bound<'_, PyAny>, config: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
        let kernel = &self.kernel.0;
        let problem = problem_of(kernel, problem)?;
        Ok((kernel.show_problem(&problem), kernel.show_config(&config_of(kernel, config)?)))
    }

    fn append(&self, named: (String, String), outcome: Outcome) -> seqtune_predict::Result<()> {
        let mut open = self.open();
        let Some(open) = open.as_mut() else { return input("the journal is closed") };
        let (problem, config) = (named.0.as_str().into(), named.1.as_str().into());
        let observed = Default::default();
        open.journal.append(Record { problem, config, outcome, observed })?;
        open.tried.insert(named);
        Ok(())
    }
}

#[pymethods]
impl Journal {
    /// Opens or begins the journal at `path`; `origin` is its seed, the tool that measures and the command.
    #[new]
    fn new(py: Python<'_>, path: Place, kernel: &Kernel, device: &Device, origin: Origin) -> PyResult<Journal> {
        let (seed, tool, command) = origin;
        let provenance = Provenance::Imported { tool: tool.0, files: Vec::new() };
        let header = Header::new(&kernel.0, &device.0, seed.0, provenance, command.0);
        let journal = py.detach(|| seqtune_data::Journal::open(&path.0, header)).or_raise(py)?;
        let record = |r: &Record| (r.problem.to_string(), r.config.to_string());
        let tried = journal.dataset.records.iter().map(record).collect();
        Ok(Journal { kernel: kernel.clone(), open: Mutex::new(Some(Open { journal, tried })) })
    }

    /// Whether a problem has a record of a config.
    fn has(&self, problem: &Bound<'_, PyAny>, config: &Bound<'_, PyAny>) -> PyResult<bool> {
        let named = self.write_names(problem, config)?;
        Ok(self.open().as_ref().is_some_and(|open| open.tried.contains(&named)))
    }

    /// Appends the times of a valid config, in seconds.
    fn append_times(&self, problem: &Bound<'_, PyAny>, config: &Bound<'_, PyAny>, seconds: Vec<Real>) -> PyResult<()> {
        let py = problem.py();
        let named = self.write_names(problem, config)?;
        let samples_us: Vec<f32> = seconds.iter().map(|s| (1e6 * s.0) as f32).collect();
        // what is beyond a number of 32 bits is none
        let fits = samples_us.iter().all(|us| us.is_finite());
        let outcome = Outcome::Measured(Measurement { samples_us, energy: None });
        match outcome.fault() {
            None if fits && !seconds.is_empty() => self.append(named, outcome).or_raise(py),
            _ => Err(Error::Input(format!(
                "measure returned {} for {}: seconds are above 0 and at most 2592000, thirty days",
                list_samples(&seconds),
                named.1
            )))
            .or_raise(py),
        }
    }

    /// Appends a failure: `compile`, `runtime`, `timeout` or `correctness`, with a message.
    fn invalid(&self, problem: &Bound<'_, PyAny>, config: &Bound<'_, PyAny>, why: (Text, Text)) -> PyResult<()> {
        let named = self.write_names(problem, config)?;
        let kind = match why.0.0.as_str() {
            "compile" => InvalidityKind::Compile,
            "timeout" => InvalidityKind::Timeout,
            "correctness" => InvalidityKind::Correctness,
            _ => InvalidityKind::Runtime,
        };
        self.append(named, Outcome::invalid(kind, why.1.0.chars().take(DETAIL).collect::<String>()))
            .or_raise(problem.py())
    }

    /// The records so far: problem, config, median microseconds or `None`.
    fn records(&self) -> Vec<(String, String, Option<f64>)> {
        let open = self.open();
        let records = open.iter().flat_map(|open| &open.journal.dataset.records);
        records.map(|r| (r.problem.to_string(), r.config.to_string(), r.outcome.time_us())).collect()
    }

    /// Closes the file; another writer may open it then.
    fn close(&self) {
        *self.open() = None;
    }
}
