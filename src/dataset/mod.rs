//! What has happened before? Records of sweeps, on disk and in memory.
//!
//! On disk a dataset is either a journal (JSON lines, appended while a sweep runs) or packed (for training
//! and shipping); each converts into the other without loss. In memory it becomes a [`Table`].

pub mod autoheuristic;
pub mod columns;
pub mod community;
mod journal;
pub mod miopen;
mod observed;
mod packed;
mod record;
mod table;

pub use journal::Journal;
pub use observed::{Conditions, Observed, Resources};
pub use record::{
    Energy, Invalidity, InvalidityKind, Measurement, Objective, Outcome, Record, Tuned, median, quantile,
};
pub use table::{Part, Split, Table, Tried};

use crate::error::{Error, Result, input, io};
use crate::kernel::{Device, Kernel};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Name and version of the format, the first field of every header.
pub const FORMAT: &str = "seqtune-dataset-1";

/// What is known about all records of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: String,
    /// Kernel name.
    pub kernel: String,
    /// [`crate::kernel::Kernel::space_hash_on`] the device, of the kernel when it was measured.
    pub space: String,
    /// The device with its driver.
    pub device: Device,
    /// Version of seqtune that measured.
    pub tool: String,
    /// Seed of the sampling.
    pub seed: u64,
    /// How it was measured, in words and numbers.
    pub policy: String,
    /// Command line.
    pub command: String,
    /// Day it was begun, UTC, `YYYY-MM-DD`.
    pub date: String,
}

impl Header {
    /// The header of what this version begins to record today of `kernel` on `device`.
    pub fn new(kernel: &Kernel, device: &Device, seed: u64, policy: String, command: String) -> Header {
        Header {
            format: FORMAT.into(),
            kernel: kernel.name.clone(),
            space: kernel.space_hash_on(device),
            device: device.clone(),
            tool: env!("CARGO_PKG_VERSION").into(),
            seed,
            policy,
            command,
            date: today(),
        }
    }
}

/// A header with its records, in the order they were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    pub header: Header,
    pub records: Vec<Record>,
}

impl Dataset {
    /// Reads a journal or a packed file, whichever it is.
    pub fn load(path: &Path) -> Result<Dataset> {
        let bytes = std::fs::read(path).map_err(io(path))?;
        let place = path.display();
        let decode = if packed::is_packed(&bytes) { packed::decode } else { journal::decode };
        let dataset: Dataset = decode(&bytes).map_err(|e| e.at(&place))?;
        let faults = dataset.records.iter().map(|record| record.outcome.fault());
        match faults.enumerate().find_map(|(i, fault)| Some((i, fault?))) {
            Some((i, fault)) => input(format!("{place}: record {}: {fault}; delete it", i + 1)),
            None => Ok(dataset),
        }
    }

    /// Writes the packed form, whole or not at all.
    pub fn save_packed(&self, path: &Path) -> Result<()> {
        write_whole(path, &packed::encode(self)?)
    }

    /// Writes the journal form, whole or not at all.
    pub fn save_journal(&self, path: &Path) -> Result<()> {
        write_whole(path, &journal::encode(self))
    }

    /// Hash of what was measured where: of the kernel's name and space, the device's name and the records; the same for both forms, and for the same
    /// data imported again on another day or by another version.
    pub fn hash(&self) -> String {
        let Header { kernel, space, device, .. } = &self.header;
        let mut sha = Sha256::new();
        sha.update(format!("{kernel}\n{space}\n{}\n", device.name));
        self.records.iter().for_each(|record| sha.update(journal::line(record)));
        crate::kernel::hex(&sha.finalize()[..8])
    }

    /// Speed of the best found beside the vendor's library, in a sentence; `None` where that was not measured.
    pub fn beside_library(&self) -> Option<String> {
        let mut problems: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
        for record in &self.records {
            let (best, library) = problems.entry(&record.problem).or_insert((f64::INFINITY, None));
            *best = best.min(record.outcome.time_us().unwrap_or(f64::INFINITY));
            *library = record.observed.library_us.map(f64::from).or(*library);
        }
        let shares = problems.values().filter(|(best, _)| best.is_finite()).filter_map(|(best, l)| Some((*l)? / best));
        let mut shares: Vec<f64> = shares.collect();
        shares.sort_by(f64::total_cmp);
        let geometric = (shares.iter().map(|s| s.ln()).sum::<f64>() / shares.len().max(1) as f64).exp();
        Some(format!(
            "{} problems beside the vendor's library: the best found is {geometric:.2} times as fast (geometric mean), {:.2} to {:.2}",
            shares.len(),
            shares.first()?,
            shares.last()?
        ))
    }
}

/// Whether a file holds the packed form, by how it begins.
pub fn is_packed_file(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)).map_err(io(path))?;
    Ok(packed::is_packed(&start))
}

/// Writes a file so that a reader sees the old content or the new, never a part.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io(folder))?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    std::fs::write(part, bytes).map_err(io(part))?;
    std::fs::rename(part, path).map_err(io(path))
}

/// Day of now in UTC, `YYYY-MM-DD` (civil-from-days of the proleptic Gregorian calendar).
pub fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let days = (seconds / 86_400) as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year_of_era + era * 400 + carry)
}

fn damaged(what: &str) -> Error {
    Error::Input(format!("{what}: the file is truncated or damaged; fetch or make it again"))
}
