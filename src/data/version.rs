//! Data of other versions of a kernel: what differs, and what can be carried over.

use crate::bad_rows::BadRows;
use crate::dataset::{Carried, Dataset, Header};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{ConfigSpace, Device, Difference, Kernel};
use std::collections::HashMap;

/// Refuses a dataset of another kernel than `kernel`, or of another version of it.
///
/// # Errors
/// [`Error::Input`](seqtune_kernel::error::Error::Input) that names it, and the way out.
pub fn check_kernel(kernel: &Kernel, place: &str, dataset: &Dataset) -> Result<()> {
    match dataset.header.kernel == kernel.name {
        true => check_version(kernel, place, dataset),
        false => input(format!("{place}: holds kernel {}, not {}", dataset.header.kernel, kernel.name)),
    }
}

/// Refuses a dataset of another version of `kernel`, and says what differs.
///
/// # Errors
/// [`Error::Input`](seqtune_kernel::error::Error::Input) that names it, and the way out.
pub fn check_version(kernel: &Kernel, place: &str, dataset: &Dataset) -> Result<()> {
    let Header { space, identity, device, .. } = &dataset.header;
    if kernel.identity_on(device).is_of(space, identity.as_ref()) {
        return Ok(());
    }
    let way = match missing(kernel, dataset) {
        Ok(set) if !set.is_empty() => {
            format!("carry it over with `seqtune export dataset {place} --kernel FOLDER -o NEW`, which sets {set}")
        }
        _ => "measure again".into(),
    };
    input(format!(
        "{place}: was measured with another version of kernel {} than that of {}: {}. Name the folder of the version that was measured \
         as the kernel, or {way}",
        kernel.name,
        kernel.shown_place(),
        Difference::list(&differences(kernel, dataset, device)),
    ))
}

/// In what the version of a dataset is not that of `kernel`.
fn differences(kernel: &Kernel, dataset: &Dataset, device: &Device) -> Vec<Difference> {
    let recorded = kernel.differences(dataset.header.identity.as_ref(), Some(device));
    recorded.unwrap_or_else(|| match dataset.records.first() {
        None => {
            let own: Vec<&str> = kernel.parameters.iter().map(|p| p.name.as_str()).collect();
            kernel.differences_of_names(&own, None)
        }
        Some(record) => kernel.differences_of_names(&names(&record.config), Some(&names(&record.problem))),
    })
}

/// Names of a text of `name=value` pairs.
fn names(pairs: &str) -> Vec<&str> {
    pairs.split(',').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.trim()).collect()
}

/// The parameters that a dataset lacks, as pairs with the values that stand for the program without them.
fn missing(kernel: &Kernel, dataset: &Dataset) -> Result<String> {
    let known: Vec<String> = match (&dataset.header.identity, dataset.records.first()) {
        (Some(identity), _) => identity.parameters.iter().map(|(name, _)| name.clone()).collect(),
        (None, Some(record)) => names(&record.config).into_iter().map(String::from).collect(),
        (None, None) => return Ok(String::new()),
    };
    let mut pairs = Vec::new();
    for p in kernel.parameters.iter().filter(|p| !known.contains(&p.name)) {
        match p.before {
            Some(at) => pairs.push(format!("{}={}", p.name, p.show(at))),
            None => {
                return input(format!(
                    "parameter {} is new, and kernel.toml does not state with which value the program is what it was: write `before = …` \
                     there",
                    p.name
                ));
            }
        }
    }
    Ok(pairs.join(","))
}

/// A dataset that was carried over to another version of its kernel.
pub struct CarriedOver {
    /// The data, as measured with the version they were carried to.
    pub dataset: Dataset,
    /// Values that were set in every config; empty where it is of the version itself.
    pub set: String,
    /// Records that the version refuses, by reason.
    pub left_out: BadRows,
}

/// Carries a dataset over to `kernel`: each parameter that is new has the value that its `before` states. Records that the new version
/// does not allow are left out and counted. Of a dataset of that very version it records what versions of seqtune of before did not.
///
/// # Errors
/// [`Error::Input`](seqtune_kernel::error::Error::Input) where it is of another kernel, where no parameter that is new stands for the other differences, or where fields,
/// clocks or what is measured differ.
pub fn carry_over(kernel: &Kernel, dataset: &Dataset) -> Result<CarriedOver> {
    let header = &dataset.header;
    if header.kernel != kernel.name {
        return input(format!("holds kernel {}, not {}", header.kernel, kernel.name));
    }
    let own = kernel.identity_on(&header.device);
    let mut carried = CarriedOver { dataset: dataset.clone(), set: String::new(), left_out: BadRows::default() };
    carried.dataset.header.identity = Some(own.of_data());
    if own.is_of(&header.space, header.identity.as_ref()) {
        return Ok(carried);
    }
    carried.set = missing(kernel, dataset)?;
    let differs = differences(kernel, dataset, &header.device);
    if carried.set.is_empty() {
        return input(format!(
            "is of another version of kernel {}: {}. Data are carried over where a parameter is new whose `before` states the value that stands \
             for the program without it; measure again",
            kernel.name,
            Difference::list(&differs)
        ));
    }
    if let Some(other) = differs.iter().find(|difference| !difference.carries) {
        return input(format!("cannot be carried over: {}; measure again", other.text));
    }
    let new = &mut carried.dataset;
    new.header.space = own.digest();
    new.header.carried.push(Carried { from: header.space.clone(), set: carried.set.clone() });
    // a plan is of the configs of its space
    new.header.shard = None;
    new.records.clear();
    let mut spaces: HashMap<&str, (String, ConfigSpace)> = HashMap::new();
    for (at, record) in dataset.records.iter().enumerate() {
        if !spaces.contains_key(&*record.problem) {
            let problem = kernel.problem(&record.problem).map_err(|e| e.at_place(format!("record {}", at + 1)))?;
            let space = ConfigSpace::new(kernel, &problem, &header.device);
            spaces.insert(&record.problem, (kernel.show_problem(&problem), space));
        }
        let Some((problem, space)) = spaces.get(&*record.problem) else { continue };
        let config = kernel.config(&format!("{},{}", record.config, carried.set));
        let refused = match &config {
            Err(e) => Some(e.to_string()),
            Ok(config) => space.violation(config),
        };
        match (config, refused) {
            (Ok(config), None) => {
                let mut record = record.clone();
                (record.problem, record.config) = (problem.as_str().into(), kernel.show_config(&config).into());
                new.records.push(record);
            }
            (_, reason) => {
                carried.left_out.add(&reason.unwrap_or_default(), &format!("record {}", at + 1));
            }
        }
    }
    Ok(carried)
}
