//! The vocabulary of a model, learned from the problems that it is trained on.

use seqtune_data::{Table, TriedConfig};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Device, Identity, Kernel, LATER_LIMIT, LIMIT_NAMES, Objective, Parameter};
use seqtune_predict::features::featurizer::set;
use seqtune_predict::features::vocabulary::is_late;
use seqtune_predict::features::{
    CHOICE_INTERVALS, INTERVALS, InputFeature, Instance, KernelVocab, Kind, OBJECTIVE, Scale, Vocab,
};
use std::collections::HashMap;

/// A kernel with the problems that are learned from.
#[derive(Clone, Copy)]
pub struct LearnedKernel<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its data.
    pub table: &'a Table,
    /// Indices of the problems.
    pub problems: &'a [usize],
}

/// The kernel as the devices of its data compile it: with the whole source where one does.
fn identity_of<'a>(kernel: &'a Kernel, table: &Table) -> &'a Identity {
    kernel.identity(table.devices.iter().any(Device::compiles_cpp))
}

/// The vocabulary of a model that goes on with more data: the same, of the spaces of these data.
pub fn refine(vocab: &Vocab, corpus: &[LearnedKernel]) -> Vocab {
    let mut vocab = vocab.clone();
    for LearnedKernel { kernel, table, .. } in corpus {
        let identity = identity_of(kernel, table);
        if identity.digest() != kernel.space_hash() {
            for of in vocab.kernels.iter_mut().filter(|k| k.kernel == kernel.name) {
                (of.space, of.identity) = (identity.digest(), Some(identity.clone()));
            }
        }
    }
    vocab
}

/// Learns the vocabulary of kernels from problems of their tables.
pub fn learn(corpus: &[LearnedKernel]) -> Vocab {
    let mut vocab = Vocab {
        kernels: Vec::new(),
        source: Vec::new(),
        parameters: Vec::new(),
        offsets: vec![0],
        rate: None,
        efficiency: None,
    };
    let (mut groups, mut seen) = (Groups::default(), Seen::default());
    for LearnedKernel { kernel, table, problems: train } in corpus {
        groups.add_kernel(kernel);
        let late = seen.add_problems(kernel, table, train);
        let parameters = kernel.parameters.iter().map(|p| parameter(&mut vocab, p)).collect();
        let features = kernel.features.iter().zip(&late).filter(|(f, _)| is_late(f));
        vocab.kernels.push(KernelVocab {
            kernel: kernel.name.clone(),
            space: identity_of(kernel, table).digest(),
            identity: Some(identity_of(kernel, table).clone()),
            parameters,
            features: features
                .map(|(f, values)| InputFeature::learn(&f.name, Kind::Derived, values, CHOICE_INTERVALS))
                .collect(),
        });
    }
    let is_stated = |name: &&str| *name != LATER_LIMIT || seen.values(name).iter().any(|v| !v.is_nan());
    for name in LIMIT_NAMES.into_iter().filter(is_stated) {
        groups.add(&Some("device".into()), name, Kind::Limit);
    }
    groups.add(&Some("device".into()), OBJECTIVE, Kind::Choice(Objective::ALL.len()));
    let learn = |(name, kind): &(String, Kind)| InputFeature::learn(name, *kind, seen.values(name), INTERVALS);
    vocab.source = groups.0.iter().map(|(_, quantities)| quantities.iter().map(learn).collect()).collect();
    let scale = |values: &[f64]| (!values.is_empty()).then(|| Scale::fit(values.iter().copied()));
    (vocab.rate, vocab.efficiency) = (scale(&seen.rates), scale(&seen.efficiencies));
    vocab
}

/// Index of a parameter, which is added where none of the same name and values is there.
fn parameter(vocab: &mut Vocab, parameter: &Parameter) -> u16 {
    let same = vocab.parameters.iter().position(|(n, v)| *n == parameter.name && *v == parameter.values);
    same.unwrap_or_else(|| {
        vocab.parameters.push((parameter.name.clone(), parameter.values.clone()));
        vocab.offsets.push(vocab.offsets[vocab.offsets.len() - 1] + parameter.values.len() as u16);
        vocab.parameters.len() - 1
    }) as u16
}

/// Names and kinds of the quantities of each source token, in order.
#[derive(Default)]
struct Groups(Vec<(String, Vec<(String, Kind)>)>);

impl Groups {
    fn add(&mut self, group: &Option<String>, name: &str, kind: Kind) {
        let group = group.as_deref().unwrap_or(name);
        let at = self.0.iter().position(|(g, _)| g == group).unwrap_or_else(|| {
            self.0.push((group.into(), Vec::new()));
            self.0.len() - 1
        });
        if !self.0[at].1.iter().any(|(n, _)| n == name) {
            self.0[at].1.push((name.into(), kind));
        }
    }

    /// Adds a kernel's fields, and its features that no parameter decides.
    fn add_kernel(&mut self, kernel: &Kernel) {
        for field in &kernel.fields {
            let kind = match field.kind {
                FieldKind::Size => Kind::Size,
                FieldKind::Real => Kind::Real,
                FieldKind::Choice => Kind::Choice(field.labels.len()),
            };
            self.add(&field.group, &field.name, kind);
        }
        let derived = Some("derived".to_string());
        for feature in kernel.features.iter().filter(|f| !is_late(f)) {
            self.add(&feature.group.clone().or(derived.clone()), &feature.name, Kind::Derived);
        }
    }
}

/// All values seen of each quantity, and what configs reached.
#[derive(Default)]
struct Seen {
    values: HashMap<String, Vec<f32>>,
    /// Natural logarithms of operations per microsecond, and per joule.
    rates: Vec<f64>,
    efficiencies: Vec<f64>,
}

impl Seen {
    fn values(&self, name: &str) -> &[f32] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, name: &str, value: f64) {
        self.values.entry(name.to_string()).or_default().push(value as f32);
    }

    /// Adds problems, and gives the values of each feature of the kernel that a parameter decides.
    fn add_problems(&mut self, kernel: &Kernel, table: &Table, train: &[usize]) -> Vec<Vec<f32>> {
        let mut late: Vec<Vec<f32>> = vec![Vec::new(); kernel.features.len()];
        for tried in train.iter().map(|i| &table.problems[*i]) {
            let instance = Instance::new(kernel, &tried.problem, &table.devices[tried.device]);
            for (field, value) in kernel.fields.iter().zip(&tried.problem.values) {
                self.add(&field.name, *value);
            }
            for (name, limit) in LIMIT_NAMES.iter().zip(instance.limits()) {
                self.add(name, *limit);
            }
            for (feature, code) in kernel.features.iter().zip(&instance.codes).filter(|(f, _)| !is_late(f)) {
                self.add(&feature.name, code.eval(&instance.env));
            }
            for TriedConfig { config, outcome } in &tried.results {
                let mut env = instance.env.clone();
                set(&mut env, kernel, &config.0);
                for (i, code) in instance.codes.iter().enumerate().filter(|(i, _)| is_late(&kernel.features[*i])) {
                    late[i].push(code.eval(&env) as f32);
                }
                self.rates.extend(outcome.time_us().map(|t| (instance.flops / t).ln()));
                self.efficiencies.extend(outcome.joules().map(|j| (instance.flops / j).ln()));
            }
        }
        late
    }
}
