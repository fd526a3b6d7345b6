//! Packed form of a dataset: compressed bincode, with records as indices into tables of distinct problems and configs.

use crate::dataset::{Dataset, Header, damaged};
use crate::observed::Observed;
use crate::record::{Outcome, Record};
use bincode::serde::Compat;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::files::{decode_whole, unpack};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// First bytes of a packed file, and of its older version without observations.
const MAGIC: &[u8] = b"SEQTUNE2";
const OLD_MAGIC: &[u8] = b"SEQTUNE1";

/// Record of a packed file: indices of problem and config, outcome and observations.
type Line = (u32, u32, Outcome, Observed);
type OldLine = (u32, u32, Outcome);

#[derive(Serialize, Deserialize)]
struct Packed<L> {
    header: String,
    problems: Vec<String>,
    configs: Vec<String>,
    records: Vec<L>,
}

/// Checks whether bytes start like a packed file.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(OLD_MAGIC)
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
        (problems.add(&r.problem), configs.add(&r.config), r.outcome.clone(), r.observed.clone())
    };
    let records = dataset.records.iter().map(line).collect();
    let header = serde_json::to_string(&dataset.header).map_err(|e| failed(&e))?;
    let packed = Packed { header, problems: problems.texts, configs: configs.texts, records };
    let plain = bincode::serde::encode_to_vec(&packed, bincode::config::standard()).map_err(|e| failed(&e))?;
    let mut encoder = ZlibEncoder::new(MAGIC.to_vec(), Compression::best());
    encoder.write_all(&plain).and_then(|()| encoder.finish()).map_err(|e| failed(&e))
}

/// Decodes bytes that [`is_packed`] recognises.
///
/// # Errors
/// [`Error::Input`] where the data is damaged or the header has another format.
pub fn decode(bytes: &[u8]) -> Result<Dataset> {
    let packed = bytes.get(MAGIC.len()..).unwrap_or_default();
    let mut decoder = ZlibDecoder::new(packed);
    let plain = unpack(&mut decoder, packed.len())?;
    if decoder.total_in() != packed.len() as u64 {
        return input("something stands behind the dataset; fetch or make it again");
    }
    let packed = match bytes.starts_with(MAGIC) {
        true => read::<Packed<Line>>(&plain)?,
        false => {
            let Packed { header, problems, configs, records } = read::<Packed<OldLine>>(&plain)?;
            let records = records.into_iter().map(|(p, c, outcome)| (p, c, outcome, Observed::default())).collect();
            Packed { header, problems, configs, records }
        }
    };
    let header = Header::parse(&packed.header)?;
    // a text that many records name is there once
    let shared = |texts: Vec<String>| -> Vec<Arc<str>> { texts.into_iter().map(Arc::from).collect() };
    let (problems, configs) = (shared(packed.problems), shared(packed.configs));
    let text = |texts: &[Arc<str>], i: u32| texts.get(i as usize).cloned().ok_or_else(|| damaged("packed dataset"));
    let records = packed.records.into_iter().map(|(p, c, outcome, observed)| {
        Ok(Record { problem: text(&problems, p)?, config: text(&configs, c)?, outcome, observed })
    });
    Ok(Dataset { header, records: records.collect::<Result<_>>()? })
}

fn read<P: DeserializeOwned>(plain: &[u8]) -> Result<P> {
    match decode_whole(plain) {
        Ok(Compat(packed)) => Ok(packed),
        Err(_) => Err(damaged("packed dataset")),
    }
}
