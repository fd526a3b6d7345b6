//! The model beside MIOpen's own predictor, on the problems that this serves.

use crate::ktn::Ktn;
use seqtune_data::MeasuredProblem;
use seqtune_eval::measures::paired::{Margin, Paired};
use seqtune_eval::tuned::answers::{Answer, TestSet, tuned_config};
use seqtune_kernel::Config;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// First choices of both.
#[derive(Clone, Debug, Serialize)]
pub struct AgainstKtn {
    /// Problems that it serves: those of its data types.
    pub problems: usize,
    /// Share of them whose tuned config is its choice.
    pub exact: f64,
    /// Share of them whose tuned config is the model's first choice.
    pub exact_of_model: f64,
    /// Share of them for which it chooses nothing, or what is illegal.
    pub illegal: f64,
    /// The model less it.
    pub margin: Margin,
}

/// Judges the networks in a folder; `None` where there are none for the kernel and the devices.
///
/// # Errors
/// `Error::Input` where a network is damaged.
pub fn against_ktn(asked: &TestSet, folder: &Path, by_model: &[Answer], threads: usize) -> Result<Option<AgainstKtn>> {
    let mut networks: BTreeMap<&str, Option<Ktn>> = BTreeMap::new();
    for tried in &asked.judged {
        let architecture = asked.device(tried).architecture.as_str();
        if !networks.contains_key(architecture) {
            networks.insert(architecture, Ktn::open(folder, asked.kernel, architecture)?);
        }
    }
    let network = |tried: &MeasuredProblem| networks.get(asked.device(tried).architecture.as_str())?.as_ref();
    let served: Vec<(&MeasuredProblem, &Answer)> = asked.judged.iter().copied().zip(by_model).collect();
    let serves = |tried: &MeasuredProblem| network(tried).is_some_and(|ktn| ktn.serves(asked.kernel, &tried.problem));
    let served: Vec<_> = served.into_iter().filter(|(tried, _)| serves(tried)).collect();
    if served.is_empty() {
        return Ok(None);
    }
    let choose = |(tried, _): &(&MeasuredProblem, &Answer)| -> Result<Option<Config>> {
        network(tried).map_or(Ok(None), |ktn| ktn.choose(asked.kernel, &tried.problem, asked.device(tried)))
    };
    let chosen = on_threads(&served, threads, choose)?;
    let (mut paired, mut sums) = (Paired::<1>::default(), [0.0; 3]);
    for ((tried, answer), chosen) in served.iter().zip(&chosen) {
        let wanted = tuned_config(tried);
        let right = |choice: Option<&Config>| f64::from(u8::from(choice == Some(wanted)));
        let (theirs, ours) = (right(chosen.as_ref()), right(answer.ranking.first()));
        let illegal = chosen.as_ref().is_none_or(|config| !asked.is_legal(config, tried));
        sums.iter_mut().zip([theirs, ours, f64::from(u8::from(illegal))]).for_each(|(sum, x)| *sum += x);
        paired.add(asked.kernel.shape(&tried.problem), [ours - theirs]);
    }
    let [exact, exact_of_model, illegal] = sums.map(|sum| sum / served.len() as f64);
    let [margin] = paired.margins();
    Ok(Some(AgainstKtn { problems: served.len(), exact, exact_of_model, illegal, margin }))
}
