//! Datasets: records of one kernel on one device, with their provenance.

use crate::recipe::Provenance;
use crate::record::Record;
use crate::shard::Shard;
use crate::stats::geometric_mean;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Device, Difference, Identity, Kernel, hex, is_kernel_name};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Name and version of the format, the first field of every header.
pub const FORMAT: &str = "seqtune-dataset-2";

/// A version of a kernel that data were carried over from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// Digest of its space.
    pub from: String,
    /// Values of the parameters that it lacked, as `name=value` pairs.
    pub set: String,
}

/// Header of a dataset, common to all its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name and version of the format, which is [`FORMAT`].
    pub format: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Hash of the config space at the time of measurement, by [`Kernel::space_hash_on`].
    pub space: String,
    /// What the digest is of; `None` of data of before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Versions of the kernel that the data were carried over from, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// Device with its driver.
    pub device: Device,
    /// Version of seqtune that created the dataset.
    pub tool: String,
    /// Seed of the sampling.
    pub seed: u64,
    /// Measurement policy, or external tool.
    pub provenance: Provenance,
    /// Command line that created the dataset.
    pub command: String,
    /// Start date in UTC, `YYYY-MM-DD`.
    pub date: String,
    /// Part of a plan that this is, where machines share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl Header {
    /// Creates the header of a dataset that this version begins today.
    pub fn new(kernel: &Kernel, device: &Device, seed: u64, provenance: Provenance, command: String) -> Header {
        Header {
            format: FORMAT.into(),
            kernel: kernel.name.clone(),
            space: kernel.space_hash_on(device),
            identity: Some(kernel.identity_on(device).of_data()),
            carried: Vec::new(),
            device: device.clone(),
            tool: env!("CARGO_PKG_VERSION").into(),
            seed,
            provenance,
            command,
            date: today(),
            shard: None,
        }
    }
}

impl Header {
    /// In what another header is of another version of the kernel, in clauses; empty where it is of the same.
    pub fn other_version(&self, other: &Header) -> String {
        match (&self.identity, &other.identity) {
            (Some(old), Some(new)) => Difference::list(&old.differences(new)),
            (Some(identity), None) if identity.is_of(&other.space, None) => String::new(),
            (None, Some(identity)) if identity.is_of(&self.space, None) => String::new(),
            _ if self.space == other.space => String::new(),
            _ => "parameters, fields, constraints or source of the kernel; which of them was not recorded".into(),
        }
    }

    /// Parses the header of a dataset.
    ///
    /// # Errors
    /// [`Error::Input`] where the text is not a header or has another format.
    pub(crate) fn parse(text: &str) -> Result<Header> {
        #[derive(Deserialize)]
        struct Versioned {
            format: String,
        }
        match serde_json::from_str(text) {
            Ok(Versioned { format }) if format != FORMAT => input(format!(
                "format {format} is not {FORMAT}; scripts/data/convert_files.py FILE converts datasets of before"
            )),
            _ => {
                let header: Header = serde_json::from_str(text)
                    .map_err(|e| Error::Input(format!("is not the header of a dataset: {e}")))?;
                header.check().map(|()| header)
            }
        }
    }

    /// Refuses a kernel's name, a device or a shard that cannot be.
    ///
    /// # Errors
    /// [`Error::Input`] that names it.
    pub fn check(&self) -> Result<()> {
        if !is_kernel_name(&self.kernel) {
            return input(format!("`{}` is no kernel's name", quote(&self.kernel)));
        }
        self.device.check()?;
        self.shard.as_ref().map_or(Ok(()), Shard::check)
    }
}

/// Records of one kernel on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Header common to all records.
    pub header: Header,
    /// Records in the order of measurement.
    pub records: Vec<Record>,
}

/// A dataset with its place, for messages.
#[derive(Clone, Debug)]
pub struct NamedDataset {
    /// Its path, or what it is called.
    pub place: String,
    /// The dataset.
    pub dataset: Dataset,
}

impl NamedDataset {
    /// Names a dataset.
    pub fn new(place: impl Into<String>, dataset: Dataset) -> NamedDataset {
        NamedDataset { place: place.into(), dataset }
    }
}

impl Dataset {
    /// Hash of kernel name, space, device name and records, in hexadecimal.
    ///
    /// It does not depend on the form of the file, the date or the version of seqtune.
    pub fn hash(&self) -> String {
        let Header { kernel, space, identity, device, .. } = &self.header;
        // the digest of files that record no identity: data that are imported again are what they were
        let space = identity.as_ref().map_or(space, |identity| &identity.older);
        let mut sha = Sha256::new();
        sha.update(format!("{kernel}\n{space}\n{}\n", device.name));
        self.records.iter().for_each(|record| sha.update(line(record)));
        hex(&sha.finalize()[..8])
    }

    /// Summary of the best configs' speed relative to the vendor's library; `None` where the library was not measured.
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
        let geometric = geometric_mean(&shares);
        Some(format!(
            "{} beside the vendor's library: the best found is {geometric:.2} times as fast (geometric mean), {:.2} to {:.2}",
            count_noun(shares.len(), "problem"),
            shares.first()?,
            shares.last()?
        ))
    }
}

/// Serialises a value as a line of a journal, with its newline.
pub fn line(value: &impl Serialize) -> String {
    // strings, numbers and lists: nothing in them can fail to serialise
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// Current date in UTC, `YYYY-MM-DD`.
pub fn today() -> String {
    chrono::Utc::now().date_naive().to_string()
}

/// Error of a truncated or damaged file.
pub(crate) fn damaged_file(what: &str) -> Error {
    Error::Input(format!("{what}: the file is truncated or damaged; fetch or make it again"))
}
