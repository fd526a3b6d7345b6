//! Datasets that machines have measured side by side, put together.

use crate::dataset::{Dataset, Header, NamedDataset};
use crate::shard::Shard;
use seqtune_kernel::error::{Result, input};
use std::collections::{BTreeMap, HashMap};

/// Shards that a sentence names.
const NAMED: usize = 8;

/// Datasets that were put together.
pub struct Merged {
    /// Their records, under the header of the first one, without its shard.
    pub dataset: Dataset,
    /// What is missing of the plan, in sentences.
    pub missing: Vec<String>,
    /// Datasets that held nothing new.
    pub repeated: Vec<String>,
}

/// Puts datasets of one kernel, device and recipe together.
///
/// # Errors
/// [`Error::Input`](seqtune_kernel::error::Error::Input) where datasets do not belong together, two different ones are of one shard, or hold the same config of a problem.
pub fn merge(datasets: &[NamedDataset]) -> Result<Merged> {
    let Some(NamedDataset { place: first_place, dataset: first }) = datasets.first() else {
        return input("there is nothing to merge");
    };
    for NamedDataset { place, dataset: other } in &datasets[1..] {
        let version = first.header.other_version(&other.header);
        if first.header.kernel == other.header.kernel && !version.is_empty() {
            return input(format!(
                "{place} does not belong to {first_place}: it is of another version of kernel {} ({version})",
                first.header.kernel
            ));
        }
        if let Some((what, one, two)) = first_difference(&first.header, &other.header) {
            return input(format!("{place} does not belong to {first_place}: its {what} is {two}, not {one}"));
        }
    }
    let (mut records, mut repeated) = (Vec::new(), Vec::new());
    let mut by_shard: BTreeMap<usize, FoundShard> = BTreeMap::new();
    let mut known: HashMap<(&str, &str), &str> = HashMap::new();
    for NamedDataset { place, dataset } in datasets {
        let hash = dataset.hash();
        if let Some(shard) = &dataset.header.shard {
            match by_shard.get(&shard.index) {
                Some(FoundShard { hash: same, .. }) if *same == hash => {
                    repeated.push(place.clone());
                    continue;
                }
                Some(FoundShard { place: other, .. }) => {
                    return input(format!(
                        "{place} and {other} are both shard {shard}, and differ; leave one of them out"
                    ));
                }
                None => drop(by_shard.insert(shard.index, FoundShard { place, hash })),
            }
        }
        for record in &dataset.records {
            if let Some(other) = known.insert((&record.problem, &record.config), place) {
                return input(format!("{place} and {other} both hold {} for {}", record.config, record.problem));
            }
            records.push(record.clone());
        }
    }
    let missing = missing(first.header.shard.as_ref(), &by_shard, datasets);
    let header = Header { shard: None, ..first.header.clone() };
    Ok(Merged { dataset: Dataset { header, records }, missing, repeated })
}

/// A dataset of a shard.
struct FoundShard<'d> {
    place: &'d str,
    hash: String,
}

/// What two headers do not share that belong together.
fn first_difference(one: &Header, two: &Header) -> Option<(&'static str, String, String)> {
    let plan = |header: &Header| match &header.shard {
        Some(shard) => format!("one of {} shards, {}", shard.of, shard.plan),
        None => "not of shards".into(),
    };
    let provenance = |header: &Header| serde_json::to_string(&header.provenance).unwrap_or_default();
    [
        ("kernel", one.kernel.clone(), two.kernel.clone()),
        ("device", one.device.name.clone(), two.device.name.clone()),
        ("driver", one.device.api(), two.device.api()),
        ("recipe", provenance(one), provenance(two)),
        ("plan", plan(one), plan(two)),
    ]
    .into_iter()
    .find(|(_, one, two)| one != two)
}

fn missing(first: Option<&Shard>, found: &BTreeMap<usize, FoundShard>, datasets: &[NamedDataset]) -> Vec<String> {
    let Some(Shard { of, .. }) = first else { return Vec::new() };
    let absent: Vec<String> = (1..=*of).filter(|index| !found.contains_key(index)).map(|i| i.to_string()).collect();
    let mut missing = Vec::new();
    if !absent.is_empty() {
        let named = absent.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if absent.len() > NAMED { format!(" and {} more", absent.len() - NAMED) } else { String::new() };
        missing.push(format!("shard {named}{more} of {of} is missing"));
    }
    for NamedDataset { place, dataset } in datasets {
        if let Some(shard) = &dataset.header.shard
            && dataset.records.len() < shard.planned
        {
            missing.push(format!("shard {shard} has {} of {} records ({place})", dataset.records.len(), shard.planned));
        }
    }
    missing
}
