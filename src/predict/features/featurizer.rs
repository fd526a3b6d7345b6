//! How the problems and configs of one kernel are encoded by a [`Vocab`].

use crate::features::input_feature::{InputFeature, Kind, Scale};
use crate::features::vocabulary::{KernelVocab, OBJECTIVE, Vocab, is_late};
use seqtune_kernel::Objective;
use seqtune_kernel::elementary;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::expressions::Expr;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{
    Choice, Choices, Config, ConfigSpace, Device, Difference, Kernel, LIMIT_NAMES, Problem, ruled_out,
};
use std::sync::Arc;

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
pub struct Featurizer {
    /// Vocabulary of the model.
    pub vocab: Arc<Vocab>,
    /// Kernel whose problems and configs are encoded.
    pub kernel: Kernel,
    /// Index of the kernel in the vocabulary.
    pub kernel_index: usize,
    origins: Vec<Origin>,
    /// Features that need a parameter: their indices in the kernel.
    late: Vec<usize>,
    /// By position: those of `late` that setting it decides, and the columns of their encoding in one of all of `late`.
    decided: Vec<Vec<usize>>,
    columns: Vec<Vec<u16>>,
}

/// One problem on one device, ready to be encoded: its space and compiled features.
pub struct Instance {
    /// Legal configs.
    pub space: ConfigSpace,
    /// Features in the kernel's order.
    pub codes: Vec<Expr>,
    /// [`Kernel::env`], the parameters unset.
    pub env: Vec<f64>,
    /// Floating-point operations.
    pub flops: f64,
}

impl Featurizer {
    /// Refuses a kernel that the vocabulary was not made for.
    ///
    /// # Errors
    /// [`Error::Mismatch`] that says what differs.
    pub fn new(vocab: &Arc<Vocab>, kernel: &Kernel) -> Result<Featurizer> {
        Featurizer::made_for(vocab, kernel).map_err(|e| e.or_kind(Error::Mismatch))
    }

    fn made_for(vocab: &Arc<Vocab>, kernel: &Kernel) -> Result<Featurizer> {
        let Some(kernel_index) = vocab.kernels.iter().position(|k| k.kernel == kernel.name) else {
            let known: Vec<&str> = vocab.kernels.iter().map(|k| k.kernel.as_str()).collect();
            return input(format!("the model was made for {}, not kernel {}", known.join(", "), kernel.name));
        };
        let kernel_vocab = &vocab.kernels[kernel_index];
        if !kernel.has_space(&kernel_vocab.space, kernel_vocab.identity.as_ref()) {
            return Err(another_version(vocab, kernel_vocab, kernel));
        }
        let known: Vec<_> = kernel_vocab.parameters.iter().map(|p| &vocab.parameters[*p as usize]).collect();
        if !kernel.parameters.iter().map(|p| (&p.name, &p.values)).eq(known.iter().map(|(n, v)| (n, v))) {
            return input(format!(
                "the parameters of kernel {} are not those of the model; train it again",
                kernel.name
            ));
        }
        let late: Vec<usize> = (0..kernel.features.len()).filter(|i| is_late(&kernel.features[*i])).collect();
        if late.len() != kernel_vocab.features.len() {
            return input(format!("the features of kernel {} are not those of the model; train it again", kernel.name));
        }
        let count = kernel.parameters.len();
        let origin = |quantity: &InputFeature| {
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
        for (i, quantity) in kernel_vocab.features.iter().enumerate() {
            let position = kernel.features[late[i]].known_after - 1;
            decided[position].push(i);
            columns[position].extend(column..column + quantity.width() as u16);
            column += quantity.width() as u16;
        }
        let origins = vocab.source.iter().flatten().map(origin).collect();
        Ok(Featurizer { vocab: vocab.clone(), kernel: kernel.clone(), kernel_index, origins, late, decided, columns })
    }

    fn kernel_vocab(&self) -> &KernelVocab {
        &self.vocab.kernels[self.kernel_index]
    }

    /// Vocabulary index of the parameter at `position`; that after the last is "finished".
    pub fn parameter(&self, position: usize) -> usize {
        self.kernel_vocab().parameters.get(position).map_or(self.vocab.parameters.len(), |p| *p as usize)
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

    /// The raw quantities of a problem: what [`Vocab::encode`] makes a source of. NaN for what is unknown.
    pub fn quantities(&self, instance: &Instance, objective: Objective) -> Vec<f32> {
        let value = |origin: &Origin| match *origin {
            Origin::Slot(slot) => instance.env[slot],
            Origin::Feature(i) => instance.codes[i].eval(&instance.env),
            Origin::Objective => objective as usize as f64,
            Origin::Nowhere => f64::NAN,
        };
        self.origins.iter().map(|origin| value(origin) as f32).collect()
    }

    /// Numbers per decoding step.
    pub fn step_width(&self) -> usize {
        self.kernel_vocab().step_width()
    }

    /// Numbers per value that may be chosen.
    pub fn choice_width(&self) -> usize {
        self.kernel_vocab().choice_width()
    }

    /// The features that a prefix decides, scaled, 0 for those it does not: `step_width` numbers appended to `out`.
    pub fn step(&self, instance: &Instance, prefix: &[Choice], out: &mut Vec<f32>) {
        let mut env = instance.env.clone();
        set(&mut env, &self.kernel, prefix);
        if self.late.is_empty() {
            out.push(0.0);
        }
        for (feature, quantity) in self.late.iter().zip(&self.kernel_vocab().features) {
            let decided = self.kernel.features[*feature].known_after <= prefix.len();
            out.push(if decided { quantity.scale.apply(instance.codes[*feature].eval(&env)) } else { 0.0 });
        }
    }

    /// Number of features that need a parameter.
    pub fn late_count(&self) -> usize {
        self.late.len()
    }

    /// Appends the raw values of all features that need a parameter: NaN for those that the prefix does not decide.
    pub fn push_known(&self, instance: &Instance, prefix: &[Choice], out: &mut Vec<f32>) {
        let mut env = instance.env.clone();
        set(&mut env, &self.kernel, prefix);
        out.extend(self.late.iter().map(|feature| {
            let decided = self.kernel.features[*feature].known_after <= prefix.len();
            if decided { instance.codes[*feature].eval(&env) as f32 } else { f32::NAN }
        }));
    }

    /// Appends the encoding of raw values from [`Featurizer::push_known`]: [`Featurizer::choice_width`] numbers, 0 for what is not decided.
    pub fn encode_known(&self, raw: &[f32], out: &mut Vec<f32>) {
        self.kernel_vocab().features.iter().zip(raw).for_each(|(quantity, value)| quantity.encode(*value, out));
        if self.late.is_empty() {
            out.push(0.0);
        }
    }

    /// Number of features that the parameter at `position` decides.
    pub fn decides(&self, position: usize) -> usize {
        self.decided[position].len()
    }

    /// Raw values of the features that each of `choices` decides after `prefix`: [`Featurizer::decides`] numbers per choice.
    pub fn weigh(
        &self,
        instance: &Instance,
        prefix: &[Choice],
        choices: impl Iterator<Item = Choice>,
        out: &mut Vec<f32>,
    ) {
        let decided = &self.decided[prefix.len()];
        if decided.is_empty() {
            return;
        }
        let mut env = instance.env.clone();
        set(&mut env, &self.kernel, prefix);
        let values = &self.kernel.parameters[prefix.len()].values;
        for choice in choices {
            env[prefix.len()] = values[choice as usize] as f64;
            out.extend(decided.iter().map(|i| instance.codes[self.late[*i]].eval(&env) as f32));
        }
    }

    /// Sets a choice in the slots `env`, whose parameters before it are set, and appends the encoding of what it decides: a number for each
    /// of its [`Featurizer::choice_columns`].
    pub fn decide(&self, instance: &Instance, env: &mut [f64], at: usize, choice: Choice, out: &mut Vec<f32>) {
        env[at] = self.kernel.parameters[at].values[choice as usize] as f64;
        for i in &self.decided[at] {
            self.kernel_vocab().features[*i].encode(instance.codes[self.late[*i]].eval(env) as f32, out);
        }
    }

    /// Columns, in a encoding of all late features, of those that the parameter at `position` decides.
    pub fn choice_columns(&self, position: usize) -> &[u16] {
        &self.columns[position]
    }

    /// Spells raw values from [`Featurizer::weigh`] for one choice of the parameter at `position`: a number for each of its
    /// [`Featurizer::choice_columns`].
    pub fn encode_choice(&self, position: usize, raw: &[f32], out: &mut Vec<f32>) {
        for (i, value) in self.decided[position].iter().zip(raw) {
            self.kernel_vocab().features[*i].encode(*value, out);
        }
    }

    /// Appends the encoding of all that a finished config decides, see [`Featurizer::choice_width`].
    pub fn encode_config(&self, instance: &Instance, config: &Config, out: &mut Vec<f32>) {
        let mut env = instance.env.clone();
        set(&mut env, &self.kernel, &config.0);
        for (feature, quantity) in self.late.iter().zip(&self.kernel_vocab().features) {
            quantity.encode(instance.codes[*feature].eval(&env) as f32, out);
        }
        if self.late.is_empty() {
            out.push(0.0);
        }
    }

    /// What the heads are to say of microseconds and joules; NaN for what is not known.
    pub fn encode_costs(&self, instance: &Instance, time_us: Option<f64>, joules: Option<f64>) -> [f32; 2] {
        let spell = |scale: &Option<Scale>, cost: Option<f64>| {
            let per = cost.map_or(f64::NAN, |cost| elementary::ln(instance.flops / cost));
            scale.as_ref().filter(|_| per.is_finite()).map_or(f32::NAN, |scale| scale.apply(per))
        };
        [spell(&self.vocab.rate, time_us), spell(&self.vocab.efficiency, joules)]
    }

    /// Microseconds and joules from what the heads say; `None` for what they never learned.
    pub fn decode_costs(&self, instance: &Instance, encoded: [f32; 2]) -> [Option<f64>; 2] {
        let read = |scale: &Option<Scale>, encoded: f32| {
            let scale = scale.as_ref()?;
            let cost = instance.flops / elementary::exp(encoded as f64 * scale.deviation + scale.mean);
            cost.is_finite().then_some(cost)
        };
        [read(&self.vocab.rate, encoded[0]), read(&self.vocab.efficiency, encoded[1])]
    }
}

/// Why a model of another version of a kernel is refused.
fn another_version(vocab: &Vocab, learned: &KernelVocab, kernel: &Kernel) -> Error {
    let known: Vec<&str> = learned.parameters.iter().map(|p| vocab.parameters[*p as usize].0.as_str()).collect();
    let differs = kernel.differences(learned.identity.as_ref(), None);
    let differs = Difference::list(&differs.unwrap_or_else(|| kernel.differences_of_names(&known, None)));
    // data do not rest on features and work
    let data_stay = learned
        .identity
        .as_ref()
        .is_some_and(|of| kernel.differences(Some(&of.of_data()), None).is_some_and(|differs| differs.is_empty()));
    if data_stay {
        return Error::Input(format!(
            "the model was made for another version of kernel {} ({differs}), which its data do not rest on: train it again on the same data",
            kernel.name
        ));
    }
    Error::Input(format!(
        "the model was made for another version of kernel {0} than that of {1} ({differs}). Name the folder of its own version as the \
         kernel, if that is still there; else sweep and train again. Where a new parameter states `before`, `seqtune export dataset DATASET \
         --kernel {0}` carries the data over to train on",
        kernel.name, kernel.place,
    ))
}

impl Instance {
    /// Compiles the space and the features of `problem` on `device`.
    pub fn new(kernel: &Kernel, problem: &Problem, device: &Device) -> Instance {
        let env = kernel.env(problem, Some(device));
        let count = kernel.parameters.len();
        let flops = kernel.flops.eval(&env);
        Instance {
            space: ConfigSpace::new(kernel, problem, device),
            codes: kernel.features.iter().map(|f| f.expr.specialise(&env, count)).collect(),
            // without [work] a problem is one operation, and its time is learned as it is
            flops: if flops == 0.0 { 1.0 } else { flops },
            env,
        }
    }

    /// Refuses a problem of which no config is legal.
    ///
    /// # Errors
    /// [`Error::NoLegalConfig`] that names problem and device; [`Error::Input`] where the constraints are too entangled to look ahead.
    pub(crate) fn check(&self, problem: &Problem, device: &Device) -> Result<()> {
        let kernel = &self.space.kernel;
        match self.space.completions(&[])?.is_empty() {
            false => Ok(()),
            true => Err(Error::NoLegalConfig(format!(
                "kernel {} has no legal config for {} on {}{}",
                kernel.name,
                kernel.show_problem(problem),
                device.name,
                ruled_out(kernel, problem, device).map_or_else(String::new, |why| format!(": {why}"))
            ))),
        }
    }

    /// Refuses a config whose choice at a position is not among what may follow the ones before.
    ///
    /// # Errors
    /// [`Error::Input`] that names the constraint.
    pub fn allow(&self, config: &Config, at: usize, open: &Choices) -> Result<()> {
        match open.contains(config.0[at]) {
            true => Ok(()),
            false => {
                let reason = self.space.violation(config).unwrap_or_default();
                input(format!("config {} is not legal: {reason}", self.space.kernel.show_config(config)))
            }
        }
    }

    /// Slots for parameters, fields and limits, the parameters unset.
    pub fn slots(&self) -> Vec<f64> {
        self.env.clone()
    }

    /// The device's limits, NaN where unknown.
    pub fn limits(&self) -> &[f64] {
        let kernel = &self.space.kernel;
        &self.env[kernel.parameters.len() + kernel.fields.len()..]
    }

    /// The problem's fields as numbers for other learners: sizes as logarithms.
    pub fn fields(&self) -> Vec<f64> {
        let kernel = &self.space.kernel;
        numbers(kernel, &self.env[kernel.parameters.len()..][..kernel.fields.len()])
    }

    /// A problem and a config as numbers for other learners: sizes as logarithms, the config's values, the device's limits, all features. What is
    /// not known is lower than any number.
    pub fn row(&self, config: &Config) -> Vec<f32> {
        let kernel = &self.space.kernel;
        let mut env = self.env.clone();
        set(&mut env, kernel, &config.0);
        let (values, rest) = env.split_at(kernel.parameters.len());
        let (fields, limits) = rest.split_at(kernel.fields.len());
        let fields = numbers(kernel, fields);
        let features = self.codes.iter().map(|c| c.eval(&env));
        fields
            .into_iter()
            .chain(values.iter().copied())
            .chain(limits.iter().copied())
            .chain(features)
            .map(number)
            .collect()
    }
}

/// A number for other learners: what is not known is lower than any.
pub(crate) fn number(x: f64) -> f32 {
    if x.is_nan() { f32::MIN } else { x.clamp(f32::MIN as f64, f32::MAX as f64) as f32 }
}

fn numbers(kernel: &Kernel, fields: &[f64]) -> Vec<f64> {
    let fields = kernel.fields.iter().zip(fields);
    fields.map(|(f, v)| if f.kind == FieldKind::Size { elementary::log2(v + 1.0) } else { *v }).collect()
}

/// Sets the parameters of a prefix in slots.
pub fn set(env: &mut [f64], kernel: &Kernel, prefix: &[Choice]) {
    for ((slot, p), choice) in env.iter_mut().zip(&kernel.parameters).zip(prefix) {
        *slot = p.values[*choice as usize] as f64;
    }
}
