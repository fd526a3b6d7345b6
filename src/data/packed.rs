//! Packed form of a dataset: compressed bincode, with records as indices into tables of distinct problems and configs.

use crate::dataset::{Dataset, Header, damaged_file};
use crate::observed::{Conditions, Observed, Resources};
use crate::record::{Outcome, Record};
use bincode::serde::Compat;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::files::decode_whole;
use seqtune_kernel::limits;
use seqtune_kernel::unpacking::{Taken, unpack};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::Arc;

/// First bytes of a packed file with counters of programs, of one without, and of the oldest, without observations.
const COUNTERS: &[u8] = b"SEQTUNE3";
const MAGIC: &[u8] = b"SEQTUNE2";
const OLD_MAGIC: &[u8] = b"SEQTUNE1";

/// Record of a packed file: indices of problem and config, outcome, observations, and counters.
type CountersLine = (u32, u32, Outcome, Seen, BTreeMap<String, f64>);
type Line = (u32, u32, Outcome, Seen);
type OldLine = (u32, u32, Outcome);

/// Observations without counters.
#[derive(Serialize, Deserialize)]
struct Seen {
    resources: Option<Resources>,
    conditions: Option<Conditions>,
    unmetered: Option<String>,
    library_us: Option<f32>,
}

impl From<&Observed> for Seen {
    fn from(all: &Observed) -> Seen {
        let Observed { resources, conditions, unmetered, library_us, .. } = all.clone();
        Seen { resources, conditions, unmetered, library_us }
    }
}

impl Seen {
    fn with_counters(self, counters: BTreeMap<String, f64>) -> Observed {
        let Seen { resources, conditions, unmetered, library_us } = self;
        Observed { resources, conditions, unmetered, library_us, counters }
    }
}

#[derive(Serialize, Deserialize)]
struct Packed<L> {
    header: String,
    problems: Vec<String>,
    configs: Vec<String>,
    records: Vec<L>,
}

impl<L> Packed<L> {
    fn map<M>(self, each: impl FnMut(L) -> M) -> Packed<M> {
        let Packed { header, problems, configs, records } = self;
        Packed { header, problems, configs, records: records.into_iter().map(each).collect() }
    }
}

/// Checks whether bytes start like a packed file.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(COUNTERS) || bytes.starts_with(MAGIC) || bytes.starts_with(OLD_MAGIC)
}

struct Interned {
    texts: Vec<String>,
    index: HashMap<String, u32>,
}

impl Interned {
    fn add(&mut self, text: &str) -> u32 {
        if let Some(i) = self.index.get(text) {
            return *i;
        }
        let i = self.texts.len() as u32;
        self.texts.push(text.into());
        self.index.insert(text.into(), i);
        i
    }
}

/// Encodes a dataset in the packed form.
///
/// # Errors
/// [`Error::Failed`] where serialisation or compression fails.
pub fn encode(dataset: &Dataset) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| Error::Failed(format!("packing a dataset: {e}"));
    let mut problems = Interned { texts: Vec::new(), index: HashMap::new() };
    let mut configs = Interned { texts: Vec::new(), index: HashMap::new() };
    let line = |r: &Record| -> Line {
        (problems.add(&r.problem), configs.add(&r.config), r.outcome.clone(), Seen::from(&r.observed))
    };
    let records: Vec<Line> = dataset.records.iter().map(line).collect();
    let header = serde_json::to_string(&dataset.header).map_err(|e| failed(&e))?;
    let (problems, configs) = (problems.texts, configs.texts);
    let standard = bincode::config::standard();
    let counted = dataset.records.iter().any(|record| !record.observed.counters.is_empty());
    let (magic, plain) = match counted {
        false => (MAGIC, bincode::serde::encode_to_vec(&Packed { header, problems, configs, records }, standard)),
        true => {
            let counters = dataset.records.iter().map(|record| record.observed.counters.clone());
            let with = |((p, c, outcome, seen), counters)| -> CountersLine { (p, c, outcome, seen, counters) };
            let records: Vec<CountersLine> = records.into_iter().zip(counters).map(with).collect();
            (COUNTERS, bincode::serde::encode_to_vec(&Packed { header, problems, configs, records }, standard))
        }
    };
    let plain = plain.map_err(|e| failed(&e))?;
    let mut encoder = ZlibEncoder::new(magic.to_vec(), Compression::best());
    encoder.write_all(&plain).and_then(|()| encoder.finish()).map_err(|e| failed(&e))
}

/// Decodes bytes that [`is_packed`] recognises.
///
/// # Errors
/// [`Error::Input`] where the data is damaged or the header has another format.
pub fn decode(bytes: &[u8]) -> Result<Dataset> {
    let packed = bytes.get(MAGIC.len()..).unwrap_or_default();
    let taken = Taken::default();
    let mut decoder = ZlibDecoder::new(taken.count(packed));
    let plain = unpack(&mut decoder, &taken, limits::DATASET)?;
    if decoder.total_in() != packed.len() as u64 {
        return input("something stands behind the dataset; fetch or make it again");
    }
    let packed = if bytes.starts_with(COUNTERS) {
        read::<Packed<CountersLine>>(&plain)?
            .map(|(p, c, outcome, seen, counters)| (p, c, outcome, seen.with_counters(counters)))
    } else if bytes.starts_with(MAGIC) {
        read::<Packed<Line>>(&plain)?.map(|(p, c, outcome, seen)| (p, c, outcome, seen.with_counters(BTreeMap::new())))
    } else {
        read::<Packed<OldLine>>(&plain)?.map(|(p, c, outcome)| (p, c, outcome, Observed::default()))
    };
    let header = Header::parse(&packed.header)?;
    // a text that many records name is there once
    let shared = |texts: Vec<String>| -> Vec<Arc<str>> { texts.into_iter().map(Arc::from).collect() };
    let (problems, configs) = (shared(packed.problems), shared(packed.configs));
    let text =
        |texts: &[Arc<str>], i: u32| texts.get(i as usize).cloned().ok_or_else(|| damaged_file("packed dataset"));
    let records = packed.records.into_iter().map(|(p, c, outcome, observed)| {
        Ok(Record { problem: text(&problems, p)?, config: text(&configs, c)?, outcome, observed })
    });
    Ok(Dataset { header, records: records.collect::<Result<_>>()? })
}

fn read<P: DeserializeOwned>(plain: &[u8]) -> Result<P> {
    match decode_whole(plain) {
        Ok(Compat(packed)) => Ok(packed),
        Err(_) => Err(damaged_file("packed dataset")),
    }
}
