//! The compressed form: problems and configs once each, records as indices into them. bincode stays behind this file.

use super::{Dataset, FORMAT, Header, Outcome, Record, damaged};
use crate::error::{Error, Result, input};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{Read, Write};

/// First bytes of a packed file.
pub const MAGIC: &[u8] = b"SEQTUNE1";

#[derive(Serialize, Deserialize)]
struct Packed {
    header: String,
    problems: Vec<String>,
    configs: Vec<String>,
    records: Vec<(u32, u32, Outcome)>,
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

pub fn encode(dataset: &Dataset) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| Error::Failed(format!("packing a dataset: {e}"));
    let mut problems = Interned { texts: Vec::new(), index: HashMap::new() };
    let mut configs = Interned { texts: Vec::new(), index: HashMap::new() };
    let records =
        dataset.records.iter().map(|r| (problems.add(&r.problem), configs.add(&r.config), r.outcome.clone())).collect();
    let header = serde_json::to_string(&dataset.header).map_err(|e| failed(&e))?;
    let packed = Packed { header, problems: problems.texts, configs: configs.texts, records };
    let plain = bincode::serde::encode_to_vec(&packed, bincode::config::standard()).map_err(|e| failed(&e))?;
    let mut encoder = ZlibEncoder::new(MAGIC.to_vec(), Compression::best());
    encoder.write_all(&plain).and_then(|()| encoder.finish()).map_err(|e| failed(&e))
}

pub fn decode(bytes: &[u8]) -> Result<Dataset> {
    let mut plain = Vec::new();
    ZlibDecoder::new(&bytes[MAGIC.len()..]).read_to_end(&mut plain).map_err(|_| damaged("packed dataset"))?;
    let (packed, _): (Packed, usize) = bincode::serde::decode_from_slice(&plain, bincode::config::standard())
        .map_err(|_| damaged("packed dataset"))?;
    let header: Header = serde_json::from_str(&packed.header).map_err(|_| damaged("header"))?;
    if header.format != FORMAT {
        return input(format!("format {} is not {FORMAT}", header.format));
    }
    let text = |texts: &[String], i: u32| texts.get(i as usize).cloned().ok_or_else(|| damaged("packed dataset"));
    let records = packed.records.into_iter().map(|(p, c, outcome)| {
        Ok(Record { problem: text(&packed.problems, p)?, config: text(&packed.configs, c)?, outcome })
    });
    Ok(Dataset { header, records: records.collect::<Result<_>>()? })
}
