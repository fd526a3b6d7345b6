//! How problems, devices and configs are spelled for the network. Nothing else knows.
//!
//! One vocabulary serves all kernels of a model. What has the same name in two kernels (a field, a feature, a parameter with the
//! same values) is the same to the network. Source: one token per group of quantities (a field or feature without a group is a
//! token of its own), one for device and objective, one for the kernel. Target: one token per parameter value. At each decoding
//! step the network also sees the features that the prefix decides, and for each value that may be chosen those that the value
//! decides: what an expert would weigh.

use super::spell::{CHOICE_INTERVALS, INTERVALS, Kind, Quantity, Scale};
use super::speller::{Spelled, set};
use crate::dataset::{Objective, Table};
use crate::error::{Error, Result};
use crate::kernel::spec::FieldKind;
use crate::kernel::{Feature, Kernel, LIMIT_NAMES};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The spelling of the kernels of one model, fixed when it is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vocab {
    pub kernels: Vec<Spelling>,
    /// Quantities of each source token.
    pub source: Vec<Vec<Quantity>>,
    /// Parameters of all kernels, with their values.
    pub parameters: Vec<(String, Vec<i64>)>,
    /// First token of each parameter; the last entry is the number of tokens.
    pub offsets: Vec<u16>,
    /// Natural logarithm of operations per microsecond, what the time head predicts; `None` where no time was known.
    pub rate: Option<Scale>,
    /// Natural logarithm of operations per joule, what the energy head predicts; `None` where no energy was known.
    #[serde(default)]
    pub efficiency: Option<Scale>,
}

/// What a vocabulary knows of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spelling {
    pub kernel: String,
    /// [`Kernel::space_hash`] at training; of the whole source where a device compiled that.
    pub space: String,
    /// Index of each of the kernel's parameters in [`Vocab::parameters`].
    pub parameters: Vec<u16>,
    /// The kernel's features that need a parameter, in its order.
    pub features: Vec<Quantity>,
}

impl Spelling {
    pub(super) fn step_width(&self) -> usize {
        self.features.len().max(1)
    }

    pub(super) fn choice_width(&self) -> usize {
        self.features.iter().map(Quantity::width).sum::<usize>().max(1)
    }
}

/// Name of the quantity that says what is minimised.
pub(super) const OBJECTIVE: &str = "objective";

pub(super) fn is_late(feature: &Feature) -> bool {
    feature.known_after > 0
}

/// The kernel's space as the devices of its data compile it: that of the whole source where one does.
fn space_of(kernel: &Kernel, table: &Table) -> String {
    let mut spaces = table.devices.iter().map(|device| kernel.space_hash_on(device));
    spaces.find(|s| *s != kernel.space_hash()).unwrap_or_else(|| kernel.space_hash())
}

impl Vocab {
    /// What a model that goes on with more data is spelled by: the same, of the spaces of these data.
    pub fn refined(&self, corpus: &[(&Kernel, &Table, &[usize])]) -> Vocab {
        let mut vocab = self.clone();
        for (kernel, table, _) in corpus {
            let space = space_of(kernel, table);
            if space != kernel.space_hash() {
                vocab.kernels.iter_mut().filter(|k| k.kernel == kernel.name).for_each(|k| k.space = space.clone());
            }
        }
        vocab
    }

    /// Learns the spelling of kernels from the problems `train` of their tables.
    pub fn learn(corpus: &[(&Kernel, &Table, &[usize])]) -> Vocab {
        let mut vocab = Vocab {
            kernels: Vec::new(),
            source: Vec::new(),
            parameters: Vec::new(),
            offsets: vec![0],
            rate: None,
            efficiency: None,
        };
        // names of the quantities of each token, in order, and all values seen of each
        let mut groups: Vec<(String, Vec<(String, Kind)>)> = Vec::new();
        let mut values: HashMap<String, Vec<f32>> = HashMap::new();
        let mut add = |group: &Option<String>, name: &str, kind: Kind| {
            let group = group.as_deref().unwrap_or(name);
            let at = groups.iter().position(|(g, _)| g == group).unwrap_or_else(|| {
                groups.push((group.into(), Vec::new()));
                groups.len() - 1
            });
            if !groups[at].1.iter().any(|(n, _)| n == name) {
                groups[at].1.push((name.into(), kind));
            }
        };
        let (mut rates, mut efficiencies) = (Vec::new(), Vec::new());
        for (kernel, table, train) in corpus {
            for field in &kernel.fields {
                let kind = match field.kind {
                    FieldKind::Size => Kind::Size,
                    FieldKind::Real => Kind::Real,
                    FieldKind::Choice => Kind::Choice(field.labels.len()),
                };
                add(&field.group, &field.name, kind);
            }
            let derived = Some("derived".to_string());
            for feature in kernel.features.iter().filter(|f| !is_late(f)) {
                add(&feature.group.clone().or(derived.clone()), &feature.name, Kind::Derived);
            }
            let mut late: Vec<Vec<f32>> = vec![Vec::new(); kernel.features.len()];
            for tried in train.iter().map(|i| &table.tried[*i]) {
                let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
                for (field, value) in kernel.fields.iter().zip(&tried.problem.values) {
                    values.entry(field.name.clone()).or_default().push(*value as f32);
                }
                for (name, limit) in LIMIT_NAMES.iter().zip(spelled.limits()) {
                    values.entry(name.to_string()).or_default().push(*limit as f32);
                }
                for (feature, code) in kernel.features.iter().zip(&spelled.codes).filter(|(f, _)| !is_late(f)) {
                    values.entry(feature.name.clone()).or_default().push(code.eval(&spelled.env) as f32);
                }
                for (config, outcome) in &tried.results {
                    let mut env = spelled.env.clone();
                    set(&mut env, kernel, &config.0);
                    for (i, code) in spelled.codes.iter().enumerate().filter(|(i, _)| is_late(&kernel.features[*i])) {
                        late[i].push(code.eval(&env) as f32);
                    }
                    rates.extend(outcome.time_us().map(|t| (spelled.flops / t).ln()));
                    efficiencies.extend(outcome.joules().map(|j| (spelled.flops / j).ln()));
                }
            }
            let named = |p: &crate::kernel::Parameter| {
                let same = vocab.parameters.iter().position(|(n, v)| *n == p.name && *v == p.values);
                same.unwrap_or_else(|| {
                    vocab.parameters.push((p.name.clone(), p.values.clone()));
                    vocab.offsets.push(vocab.offsets[vocab.offsets.len() - 1] + p.values.len() as u16);
                    vocab.parameters.len() - 1
                }) as u16
            };
            let parameters = kernel.parameters.iter().map(named).collect();
            let features = kernel.features.iter().zip(&late).filter(|(f, _)| is_late(f));
            vocab.kernels.push(Spelling {
                kernel: kernel.name.clone(),
                space: space_of(kernel, table),
                parameters,
                features: features
                    .map(|(f, values)| Quantity::learn(&f.name, Kind::Derived, values, CHOICE_INTERVALS))
                    .collect(),
            });
        }
        // a limit that came after the first models is spelled where a device states it, so that other models stay what they are
        let is_stated = |name: &&str| {
            *name != "local_memory_opt_in" || values.get(*name).is_some_and(|seen| seen.iter().any(|v| !v.is_nan()))
        };
        for name in LIMIT_NAMES.into_iter().filter(is_stated) {
            add(&Some("device".into()), name, Kind::Limit);
        }
        add(&Some("device".into()), OBJECTIVE, Kind::Choice(Objective::ALL.len()));
        let learn = |(name, kind): &(String, Kind)| {
            Quantity::learn(name, *kind, values.get(name).map_or(&[], Vec::as_slice), INTERVALS)
        };
        vocab.source = groups.iter().map(|(_, quantities)| quantities.iter().map(learn).collect()).collect();
        let scale = |values: &[f64]| (!values.is_empty()).then(|| Scale::of(values.iter().copied()));
        (vocab.rate, vocab.efficiency) = (scale(&rates), scale(&efficiencies));
        vocab
    }

    /// Number of target tokens; the same number stands for "begin".
    pub fn tokens(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize
    }

    /// Numbers of each source token.
    pub fn source_widths(&self) -> Vec<usize> {
        self.source.iter().map(|token| token.iter().map(Quantity::width).sum()).collect()
    }

    /// Numbers per decoding step of each kernel: its features that need a parameter; one that stays 0 where there are none.
    pub fn step_widths(&self) -> Vec<usize> {
        self.kernels.iter().map(Spelling::step_width).collect()
    }

    /// Numbers per value that may be chosen: the spelling of a kernel's features that need a parameter.
    pub fn choice_widths(&self) -> Vec<usize> {
        self.kernels.iter().map(Spelling::choice_width).collect()
    }

    /// Appends the spelling of raw quantities, see [`Speller::quantities`].
    pub fn spell(&self, quantities: &[f32], out: &mut Vec<f32>) {
        self.source.iter().flatten().zip(quantities).for_each(|(quantity, value)| quantity.spell(*value, out));
    }
}

impl Vocab {
    /// Refuses a vocabulary that contradicts itself: of a file that was changed by hand.
    pub fn check(&self) -> Result<()> {
        let tokens: usize = self.parameters.iter().map(|(_, values)| values.len()).sum();
        let known = |k: &Spelling| k.parameters.iter().all(|p| (*p as usize) < self.parameters.len());
        match self.offsets.len() == self.parameters.len() + 1
            && self.tokens() == tokens
            && self.kernels.iter().all(known)
        {
            true => Ok(()),
            false => Err(Error::Input("the model's vocabulary contradicts itself; fetch or train it again".into())),
        }
    }
}
