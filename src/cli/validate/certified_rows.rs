//! A file of rows that are certified to be never slower than the default.

use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::files::read_stream;
use seqtune_kernel::{Config, Device, Kernel, Problem, count_noun, limits};
use seqtune_predict::Model;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A problem's row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CertifiedRow {
    pub problem: String,
    /// The config to use: the predicted one where it is certified, else the default.
    pub config: String,
    pub certified: bool,
    /// The predicted config that was measured, and the default.
    pub predicted: String,
    pub default: String,
    /// Repetitions that were measured.
    pub n: usize,
    /// How much more time the predicted config takes, as a share of the default's: below 0 it is faster.
    pub difference: Option<f64>,
    /// The interval of 95 % around it.
    pub interval: Option<[f64; 2]>,
}

/// A file of certified rows.
#[derive(Serialize, Deserialize)]
pub struct CertifiedRows {
    pub certified_by: String,
    pub kernel: String,
    pub device: String,
    pub model: String,
    pub date: String,
    pub rows: Vec<CertifiedRow>,
}

impl CertifiedRows {
    /// Reads a file.
    ///
    /// # Errors
    /// `Error::File` or `Error::Input` where it is none, or of another kernel.
    pub fn read(path: &Path, kernel: &Kernel) -> Result<CertifiedRows> {
        let text = read_stream(path, limits::LIST)?;
        let mut rows: CertifiedRows = serde_json::from_str(&text)
            .map_err(|e| Error::Input(format!("{}: is no file of certified rows: {e}", path.display())))?;
        if rows.kernel != kernel.name {
            return input(format!("{}: has rows of kernel {}, not of {}", path.display(), rows.kernel, kernel.name));
        }
        // a file that Python wrote has numbers in Python's form
        for row in &mut rows.rows {
            let problem = kernel.problem(&row.problem).map_err(|e| e.at_place(path.display()))?;
            row.problem = kernel.show_problem(&problem);
        }
        Ok(rows)
    }

    /// The predicted configs of its certified rows, by problem.
    ///
    /// # Errors
    /// `Error::Config` where one is none of the kernel's.
    pub fn certified_configs(&self, kernel: &Kernel) -> Result<HashMap<String, Config>> {
        let own = self.rows.iter().filter(|row| row.certified);
        own.map(|row| Ok((row.problem.clone(), kernel.config(&row.predicted)?))).collect()
    }

    /// How many problems of tables have a certified config, in words.
    pub fn words_of(&self, kernel: &Kernel, tables: &[&[Problem]]) -> String {
        let certified: HashSet<&str> =
            self.rows.iter().filter(|row| row.certified).map(|row| row.problem.as_str()).collect();
        let all = tables.iter().copied().flatten();
        let found = all.filter(|problem| certified.contains(kernel.show_problem(problem).as_str())).count();
        format!("{} certified on {} on {}", count_noun(found, "row"), self.device, self.date)
    }

    /// Rows of this run as a file's text.
    ///
    /// # Errors
    /// `Error::Failed` where they cannot be written as JSON.
    pub fn text(rows: Vec<CertifiedRow>, kernel: &Kernel, device: &Device, model: &Model) -> Result<String> {
        let whole = CertifiedRows {
            certified_by: format!("seqtune {}", env!("CARGO_PKG_VERSION")),
            kernel: kernel.name.clone(),
            device: device.name.clone(),
            model: model.digest(),
            date: seqtune_data::today(),
            rows,
        };
        serde_json::to_string_pretty(&whole)
            .map(|text| text + "\n")
            .map_err(|e| Error::Failed(format!("writing certified rows: {e}")))
    }
}

/// What is said of all rows, in a line.
pub fn words(rows: &[CertifiedRow]) -> String {
    let certified = rows.iter().filter(|row| row.certified).count();
    let slower = rows.iter().filter(|row| row.interval.is_some_and(|[low, _]| low > 0.0)).count();
    format!(
        "{certified} of {} rows are certified: the predicted config is faster than the default with 95 % confidence. It is slower with that \
         confidence in {slower}. All rows that are not certified have the default.",
        rows.len()
    )
}
