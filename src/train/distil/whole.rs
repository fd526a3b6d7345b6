//! What a small decoder learns from: a whole model, and beside it one that went on from it for some of its devices.

use seqtune_data::{MeasuredProblem, Table};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Device, Kernel};
use seqtune_predict::{Model, Predictor};
use std::collections::BTreeMap;

/// A whole model, ready to predict. On devices of which its data had few records a model that went on from it with theirs alone answers.
pub struct Whole {
    of_all: Predictor,
    refined: Option<(Predictor, Vec<Device>)>,
}

/// Problems that one model answers.
pub struct Division<'w> {
    /// The model.
    pub predictor: &'w Predictor,
    /// Indices of the problems.
    pub indices: Vec<usize>,
}

impl Whole {
    /// Refuses a refined model that went on from another one.
    ///
    /// # Errors
    /// `Error::Mismatch` where it did, or where a model does not know the kernel.
    pub fn new(kernel: &Kernel, model: &Model, refined: Option<&Model>) -> Result<Whole> {
        if refined.is_some_and(|refined| refined.meta.parent != Some(model.training_digest())) {
            let how = "train it with --fine-tune and that model, on the data of some of its devices";
            return Err(Error::Mismatch(format!(
                "the refined model did not go on from the model that is distilled; {how}"
            )));
        }
        let refined = refined.map(|refined| Ok((Predictor::new(kernel, refined)?, refined.meta.devices.clone())));
        Ok(Whole { of_all: Predictor::new(kernel, model)?, refined: refined.transpose()? })
    }

    /// What answers on a device.
    pub fn predictor_on(&self, device: &Device) -> &Predictor {
        self.refined_on(device).unwrap_or(&self.of_all)
    }

    /// Whether a model that went on with this device's few records answers on it.
    pub fn is_refined_on(&self, device: &Device) -> bool {
        self.refined_on(device).is_some()
    }

    fn refined_on(&self, device: &Device) -> Option<&Predictor> {
        self.refined.as_ref().filter(|(_, devices)| devices.contains(device)).map(|(refined, _)| refined)
    }

    /// Measured problems between which others are invented, as many in each group: all together, or those of each device where one has a model
    /// to itself, for it has too few to be learned by its share.
    pub fn together<'t>(&self, tried: &[&'t MeasuredProblem]) -> Vec<Vec<&'t MeasuredProblem>> {
        let mut groups: BTreeMap<usize, Vec<&MeasuredProblem>> = BTreeMap::new();
        for measured in tried {
            let group = if self.refined.is_some() { measured.device } else { 0 };
            groups.entry(group).or_default().push(measured);
        }
        groups.into_values().collect()
    }

    /// Problems, divided by what answers them.
    pub fn divide<'w>(&'w self, table: &Table, indices: &[usize]) -> Vec<Division<'w>> {
        let is_refined = |i: &usize| self.is_refined_on(&table.devices[table.problems[*i].device]);
        let (refined, rest): (Vec<usize>, Vec<usize>) = indices.iter().partition(|i| is_refined(i));
        let refined = self.refined.as_ref().map(|(predictor, _)| Division { predictor, indices: refined });
        [Some(Division { predictor: &self.of_all, indices: rest }), refined].into_iter().flatten().collect()
    }
}
