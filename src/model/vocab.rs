//! How problems, devices and configs are spelled for the network. Nothing else knows.
//!
//! One vocabulary serves all kernels of a model. What has the same name in two kernels (a field, a feature, a parameter with the
//! same values) is the same to the network. Source: one token per group of quantities (a field or feature without a group is a
//! token of its own), one for device and objective, one for the kernel. Target: one token per parameter value. At each decoding
//! step the network also sees the features that the prefix decides, and for each value that may be chosen those that the value
//! decides: what an expert would weigh.

use super::spell::{CHOICE_INTERVALS, INTERVALS, Kind, Quantity, Scale};
use crate::dataset::{Objective, Table};
use crate::error::{Error, Result, input};
use crate::kernel::expr::Code;
use crate::kernel::spec::FieldKind;
use crate::kernel::{Choice, Config, ConfigSpace, Device, Feature, Kernel, LIMIT_NAMES, Problem};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

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
    /// [`Kernel::space_hash`] at training.
    pub space: String,
    /// Index of each of the kernel's parameters in [`Vocab::parameters`].
    pub parameters: Vec<u16>,
    /// The kernel's features that need a parameter, in its order.
    pub features: Vec<Quantity>,
}

impl Spelling {
    fn step_width(&self) -> usize {
        self.features.len().max(1)
    }

    fn choice_width(&self) -> usize {
        self.features.iter().map(Quantity::width).sum::<usize>().max(1)
    }
}

/// Where a quantity comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Slot(usize),
    Feature(usize),
    Objective,
    /// The kernel does not have it.
    Nowhere,
}

/// Spells one kernel's problems and configs.
#[derive(Clone)]
pub struct Speller<'k> {
    pub vocab: Arc<Vocab>,
    pub kernel: &'k Kernel,
    /// Index of the kernel in the vocabulary.
    pub of: usize,
    origins: Vec<Origin>,
    /// Features that need a parameter: their indices in the kernel.
    late: Vec<usize>,
    /// By position: those of `late` that setting it decides, and the columns of their spelling in one of all of `late`.
    decided: Vec<Vec<usize>>,
    columns: Vec<Vec<u16>>,
}

/// One problem on one device, ready to be spelled: its space and compiled features.
pub struct Spelled<'k> {
    pub space: ConfigSpace<'k>,
    /// Features in the kernel's order.
    codes: Vec<Code>,
    env: Vec<f64>,
    flops: f64,
}

/// Name of the quantity that says what is minimised.
const OBJECTIVE: &str = "objective";

fn is_late(feature: &Feature) -> bool {
    feature.known_after > 0
}

impl Vocab {
    /// Learns the spelling of kernels from the problems `train` of their tables.
    pub fn learn(corpus: &[(&Kernel, &Table, &[usize])]) -> Vocab {
        let mut vocab =
            Vocab { kernels: Vec::new(), source: Vec::new(), parameters: Vec::new(), offsets: vec![0], rate: None, efficiency: None };
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
                space: kernel.space_hash(),
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

impl<'k> Speller<'k> {
    /// Refuses a kernel that the vocabulary was not made for.
    pub fn new(vocab: &Arc<Vocab>, kernel: &'k Kernel) -> Result<Speller<'k>> {
        let Some(of) = vocab.kernels.iter().position(|k| k.kernel == kernel.name) else {
            let known: Vec<&str> = vocab.kernels.iter().map(|k| k.kernel.as_str()).collect();
            return input(format!("the model was made for {}, not kernel {}", known.join(", "), kernel.name));
        };
        let spelling = &vocab.kernels[of];
        if spelling.space != kernel.space_hash() {
            return input(format!(
                "the model was made for another version of kernel {} (space {}, now {}); sweep and train again",
                kernel.name,
                spelling.space,
                kernel.space_hash()
            ));
        }
        let late: Vec<usize> = (0..kernel.features.len()).filter(|i| is_late(&kernel.features[*i])).collect();
        if late.len() != spelling.features.len() {
            return input(format!("the features of kernel {} are not those of the model; train it again", kernel.name));
        }
        let count = kernel.parameters.len();
        let origin = |quantity: &Quantity| {
            let name = &quantity.name;
            let field = kernel.fields.iter().position(|f| f.name == *name).map(|i| Origin::Slot(count + i));
            let feature = || kernel.features.iter().position(|f| f.name == *name).map(Origin::Feature);
            let limit = || {
                let at = LIMIT_NAMES.iter().position(|l| l == name)?;
                Some(Origin::Slot(count + kernel.fields.len() + at))
            };
            match quantity.kind {
                Kind::Derived => feature(),
                Kind::Limit => limit(),
                Kind::Choice(_) if name == OBJECTIVE => Some(Origin::Objective),
                _ => field,
            }
            .unwrap_or(Origin::Nowhere)
        };
        let (mut decided, mut columns) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut column = 0;
        for (i, quantity) in spelling.features.iter().enumerate() {
            let position = kernel.features[late[i]].known_after - 1;
            decided[position].push(i);
            columns[position].extend(column..column + quantity.width() as u16);
            column += quantity.width() as u16;
        }
        let origins = vocab.source.iter().flatten().map(origin).collect();
        Ok(Speller { vocab: vocab.clone(), kernel, of, origins, late, decided, columns })
    }

    fn spelling(&self) -> &Spelling {
        &self.vocab.kernels[self.of]
    }

    /// Vocabulary index of the parameter at `position`; that after the last is "finished".
    pub fn parameter(&self, position: usize) -> usize {
        self.spelling().parameters.get(position).map_or(self.vocab.parameters.len(), |p| *p as usize)
    }

    /// Token of value `choice` of the parameter at `position`.
    pub fn token(&self, position: usize, choice: Choice) -> u16 {
        self.vocab.offsets[self.parameter(position)] + choice
    }

    /// The token before the next step: that of the last parameter set, or "begin".
    pub fn last_token(&self, prefix: &[Choice]) -> usize {
        match prefix {
            [] => self.vocab.tokens(),
            [.., choice] => self.token(prefix.len() - 1, *choice) as usize,
        }
    }

    /// The choices that tokens stand for.
    pub fn choices(&self, tokens: &[u16]) -> Vec<Choice> {
        tokens.iter().enumerate().map(|(at, t)| t - self.token(at, 0)).collect()
    }

    /// The raw quantities of a problem: what [`Vocab::spell`] makes a source of. NaN for what is unknown.
    pub fn quantities(&self, spelled: &Spelled, objective: Objective) -> Vec<f32> {
        let value = |origin: &Origin| match *origin {
            Origin::Slot(slot) => spelled.env[slot],
            Origin::Feature(i) => spelled.codes[i].eval(&spelled.env),
            Origin::Objective => objective as usize as f64,
            Origin::Nowhere => f64::NAN,
        };
        self.origins.iter().map(|origin| value(origin) as f32).collect()
    }

    /// Numbers per decoding step.
    pub fn step_width(&self) -> usize {
        self.spelling().step_width()
    }

    /// Numbers per value that may be chosen.
    pub fn choice_width(&self) -> usize {
        self.spelling().choice_width()
    }

    /// The features that a prefix decides, scaled, 0 for those it does not: `step_width` numbers appended to `out`.
    pub fn step(&self, spelled: &Spelled, prefix: &[Choice], out: &mut Vec<f32>) {
        let mut env = spelled.env.clone();
        set(&mut env, self.kernel, prefix);
        if self.late.is_empty() {
            out.push(0.0);
        }
        for (feature, quantity) in self.late.iter().zip(&self.spelling().features) {
            let decided = self.kernel.features[*feature].known_after <= prefix.len();
            out.push(if decided { quantity.scale.apply(spelled.codes[*feature].eval(&env)) } else { 0.0 });
        }
    }

    /// Number of features that the parameter at `position` decides.
    pub fn decides(&self, position: usize) -> usize {
        self.decided[position].len()
    }

    /// Raw values of the features that each of `choices` decides after `prefix`: [`Speller::decides`] numbers per choice.
    pub fn weigh(
        &self,
        spelled: &Spelled,
        prefix: &[Choice],
        choices: impl Iterator<Item = Choice>,
        out: &mut Vec<f32>,
    ) {
        let decided = &self.decided[prefix.len()];
        if decided.is_empty() {
            return;
        }
        let mut env = spelled.env.clone();
        set(&mut env, self.kernel, prefix);
        let values = &self.kernel.parameters[prefix.len()].values;
        for choice in choices {
            env[prefix.len()] = values[choice as usize] as f64;
            out.extend(decided.iter().map(|i| spelled.codes[self.late[*i]].eval(&env) as f32));
        }
    }

    /// Sets a choice in the slots `env`, whose parameters before it are set, and appends the spelling of what it decides: a number for each
    /// of its [`Speller::choice_columns`].
    pub fn decide(&self, spelled: &Spelled, env: &mut [f64], (at, choice): (usize, Choice), out: &mut Vec<f32>) {
        env[at] = self.kernel.parameters[at].values[choice as usize] as f64;
        for i in &self.decided[at] {
            self.spelling().features[*i].spell(spelled.codes[self.late[*i]].eval(env) as f32, out);
        }
    }

    /// Columns, in a spelling of all late features, of those that the parameter at `position` decides.
    pub fn choice_columns(&self, position: usize) -> &[u16] {
        &self.columns[position]
    }

    /// Spells raw values from [`Speller::weigh`] for one choice of the parameter at `position`: a number for each of its
    /// [`Speller::choice_columns`].
    pub fn spell_choice(&self, position: usize, raw: &[f32], out: &mut Vec<f32>) {
        for (i, value) in self.decided[position].iter().zip(raw) {
            self.spelling().features[*i].spell(*value, out);
        }
    }

    /// Appends the spelling of all that a finished config decides, see [`Speller::choice_width`].
    pub fn spell_finished(&self, spelled: &Spelled, config: &Config, out: &mut Vec<f32>) {
        let mut env = spelled.env.clone();
        set(&mut env, self.kernel, &config.0);
        for (feature, quantity) in self.late.iter().zip(&self.spelling().features) {
            quantity.spell(spelled.codes[*feature].eval(&env) as f32, out);
        }
        if self.late.is_empty() {
            out.push(0.0);
        }
    }

    /// What the heads are to say of microseconds and joules; NaN for what is not known.
    pub fn spell_costs(&self, spelled: &Spelled, (time_us, joules): (Option<f64>, Option<f64>)) -> [f32; 2] {
        let spell = |scale: &Option<Scale>, cost: Option<f64>| {
            let per = cost.map_or(f64::NAN, |cost| (spelled.flops / cost).ln());
            scale.as_ref().filter(|_| per.is_finite()).map_or(f32::NAN, |scale| scale.apply(per))
        };
        [spell(&self.vocab.rate, time_us), spell(&self.vocab.efficiency, joules)]
    }

    /// Microseconds and joules from what the heads say; NaN for what they never learned.
    pub fn read_costs(&self, spelled: &Spelled, said: [f32; 2]) -> [f64; 2] {
        let read = |scale: &Option<Scale>, said: f32| match scale {
            Some(scale) => spelled.flops / (said as f64 * scale.deviation + scale.mean).exp(),
            None => f64::NAN,
        };
        [read(&self.vocab.rate, said[0]), read(&self.vocab.efficiency, said[1])]
    }
}

impl<'k> Spelled<'k> {
    pub fn new(kernel: &'k Kernel, problem: &Problem, device: &Device) -> Spelled<'k> {
        let env = kernel.env(problem, Some(device));
        let count = kernel.parameters.len();
        Spelled {
            space: ConfigSpace::new(kernel, problem, device),
            codes: kernel.features.iter().map(|f| f.expr.specialise(&env, count).compile()).collect(),
            flops: kernel.flops.eval(&env),
            env,
        }
    }

    /// Slots for parameters, fields and limits, the parameters unset.
    pub fn slots(&self) -> Vec<f64> {
        self.env.clone()
    }

    /// The device's limits, NaN where unknown.
    pub fn limits(&self) -> &[f64] {
        let kernel = self.space.kernel;
        &self.env[kernel.parameters.len() + kernel.fields.len()..]
    }

    /// All features of a finished config, unscaled, for other learners.
    pub fn features_of(&self, config: &Config) -> Vec<f64> {
        let mut env = self.env.clone();
        set(&mut env, self.space.kernel, &config.0);
        self.codes.iter().map(|c| c.eval(&env)).collect()
    }
}

fn set(env: &mut [f64], kernel: &Kernel, prefix: &[Choice]) {
    for ((slot, p), choice) in env.iter_mut().zip(&kernel.parameters).zip(prefix) {
        *slot = p.values[*choice as usize] as f64;
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
