//! A kernel with its tuning space, resolved: what [`Kernel::from_files`] makes of a folder.

use crate::clocks::{ClockExprs, Clocks};
use crate::config::Config;
use crate::define::Define;
use crate::devices::{Device, LIMIT_NAMES};
use crate::error::{Result, input};
use crate::exact::Exact;
use crate::expressions::Expr;
use crate::expressions::compiled::Compiled;
use crate::identity::Identity;
use crate::kernel_toml::spec::{ArgumentKind, DatabaseSpec, Field, Units};
use crate::parameter::Parameter;
use crate::problem::Problem;
use crate::run::Run;
use crate::space::instances::Instances;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An expression with its text and the reason for it: a constraint of the space or a rule of the problem.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Expression as written.
    pub text: String,
    /// Reason in words, shown where it is broken.
    pub reason: String,
    /// Parsed expression; it holds where its value is 1.
    pub expr: Expr,
}

impl Constraint {
    /// Whether it does not hold in an environment of slots; one that reads a limit which the device does not state is not broken.
    pub fn is_broken(&self, env: &[f64]) -> bool {
        let mut known = true;
        self.expr.slots(&mut |slot| known &= !env[slot].is_nan());
        known && self.expr.eval(env) != 1.0
    }
}

impl std::fmt::Display for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} ({})", self.reason, self.text)
    }
}

/// A derived quantity that the model sees once the prefix decides it.
#[derive(Clone, Debug)]
pub struct Feature {
    /// Name of the feature.
    pub name: String,
    /// Parsed expression of its value.
    pub expr: Expr,
    /// Shares a token of the model's source with fields and features of the same group.
    pub group: Option<String>,
    /// Number of leading parameters that must be set before it can be evaluated; 0 for problem and device alone.
    pub known_after: usize,
}

/// A source to compile, and how to launch it.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name of the source file in the kernel's folder.
    pub file: String,
    /// Name of the entry point.
    pub entry: String,
    /// Work-items in all, per dimension.
    pub global: Vec<Expr>,
    /// Work-items of one work-group, per dimension.
    pub local: Vec<Expr>,
    /// Bytes of local memory that the launch adds to what the source declares.
    pub dynamic_local: Option<Expr>,
}

/// An argument of the kernel, in the order of its signature.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Name of the argument.
    pub name: String,
    /// Buffer or number, and whether it is written.
    pub kind: ArgumentKind,
    /// Elements of a buffer, or the value of a number.
    pub amount: Expr,
    /// Bytes per element of a buffer; 0 for a number.
    pub element: Expr,
    /// Where this is 1, two bytes are bf16.
    pub bf16: Option<Expr>,
    /// Whole numbers that an input holds instead of random ones.
    pub integers: Option<Integers>,
}

/// Whole numbers of 32 bits that fill an input.
#[derive(Clone, Debug)]
pub struct Integers {
    /// Value of an element; the first free slot is its place.
    pub value: Expr,
    /// An element holds the sum of the values before its place.
    pub is_running: bool,
}

impl Argument {
    /// Which of `arguments` has that name and kind.
    pub(crate) fn find(arguments: &[Argument], name: &str, kind: ArgumentKind) -> Result<usize> {
        match arguments.iter().position(|a| a.name == name && a.kind == kind) {
            Some(at) => Ok(at),
            None => input(format!("there is no argument `{name}` of the kind that is needed")),
        }
    }
}

/// What it takes to run a kernel.
#[derive(Clone, Debug)]
pub struct Source {
    /// Program that is tuned.
    pub program: Launch,
    /// Program whose result is taken as correct.
    pub reference: Launch,
    /// Arguments in the order of the signature.
    pub arguments: Vec<Argument>,
    /// Largest error allowed, relative to the largest magnitude of the reference.
    pub tolerance: Expr,
    /// Units that do the arithmetic.
    pub units: Units,
    /// What the host checks a part of the result against.
    pub exact: Option<Exact>,
    /// What a vendor's library does the same with.
    pub gemm: Option<Gemm>,
}

/// A product of row-major matrices, `C = alpha op(A) op(B) + beta C`.
#[derive(Clone, Debug)]
pub struct Gemm {
    /// Rows of C, columns of C, and the length of the sums.
    pub sizes: [Expr; 3],
    /// Where these are 1, A is stored as k x m, and B as n x k.
    pub transposed: [Expr; 2],
    /// alpha and beta.
    pub factors: [Expr; 2],
    /// Which arguments A, B and C are.
    pub matrices: [usize; 3],
}

/// A kernel with its tuning space: a shared handle, so that what is made of a kernel (spaces, predictors) holds it and a copy costs
/// nothing. Its parts are those of [`Definition`].
#[derive(Clone, Debug)]
pub struct Kernel {
    definition: Arc<Definition>,
    pub(crate) compiled: Arc<Compiled>,
}

impl std::ops::Deref for Kernel {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        &self.definition
    }
}

impl From<Definition> for Kernel {
    fn from(definition: Definition) -> Kernel {
        Kernel { definition: Arc::new(definition), compiled: Arc::default() }
    }
}

/// The parts of a kernel. Slots of its expressions: parameters, then fields, then device limits.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of the kernel.
    pub name: String,
    /// Meaning in words.
    pub meaning: String,
    /// Architectures of the devices that it exists for; all where it names none.
    pub architectures: Vec<String>,
    /// Fields of a problem, in their order.
    pub fields: Vec<Field>,
    /// Tuning parameters, in the order of decoding.
    pub parameters: Vec<Parameter>,
    /// Rules that a problem must satisfy.
    pub rules: Vec<Constraint>,
    /// Constraints that a legal config satisfies.
    pub constraints: Vec<Constraint>,
    /// Configs that there are, where a table states them; the last of the constraints is that a config is among them.
    pub instances: Option<Instances>,
    /// Derived features for the model.
    pub features: Vec<Feature>,
    /// Whether problems that are alike tell which config is the best: `posterior::cost_neighbours` of seqtune-predict.
    pub profiles: bool,
    /// What makes two problems the same shape, where the fields marked so do not say it.
    pub shape: Vec<Expr>,
    /// Floating-point operations of a problem.
    pub flops: Expr,
    /// Bytes that a problem must move at least.
    pub bytes: Expr,
    /// `None` for a kernel of another library, of which only the space is described.
    pub source: Option<Source>,
    /// Clocks of the device at which configs are measured.
    pub clocks: Option<ClockExprs>,
    /// Program of the user's own that measures configs.
    pub run: Option<Run>,
    /// How another library's database writes its configs.
    pub database: DatabaseSpec,
    /// What gives meaning to a config: with the source as OpenCL compilers read it, and whole.
    pub(crate) identities: [Identity; 2],
    /// Where its `kernel.toml` was found.
    pub place: String,
    /// The files of the folder, by name.
    pub files: BTreeMap<String, String>,
}

impl Kernel {
    /// Values of every slot: parameters 0 (to be set), the problem's fields, the device's limits (NaN where unknown).
    pub fn env(&self, problem: &Problem, device: Option<&Device>) -> Vec<f64> {
        let mut env = vec![0.0; self.parameters.len()];
        env.extend_from_slice(&problem.values);
        match device {
            Some(d) => env.extend(d.limits.values().map(|v| v.unwrap_or(f64::NAN))),
            None => env.extend([f64::NAN; LIMIT_NAMES.len()]),
        }
        env
    }

    /// [`Kernel::env`] with a config's values set.
    pub fn env_of(&self, problem: &Problem, device: Option<&Device>, config: &Config) -> Vec<f64> {
        let mut env = self.env(problem, device);
        for (slot, choice) in
            env.iter_mut().zip(&config.0).zip(&self.parameters).map(|((s, c), p)| (s, p.values[*c as usize]))
        {
            *slot = choice as f64;
        }
        env
    }

    /// Refuses a device of another architecture than the kernel exists for; one that states none is taken.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) that names both.
    pub fn check_device(&self, device: &Device) -> Result<()> {
        // a live device tells features behind a colon
        let own = device.architecture.split(':').next().unwrap_or_default();
        match self.architectures.is_empty() || own.is_empty() || self.architectures.iter().any(|known| known == own) {
            true => Ok(()),
            false => input(format!(
                "kernel {} exists for {}, not for {} ({own})",
                self.name,
                self.architectures.join(", "),
                device.name
            )),
        }
    }

    /// Floating-point operations of a problem.
    pub fn flops(&self, problem: &Problem) -> f64 {
        self.flops.eval(&self.env(problem, None))
    }

    /// Bytes that a problem must move at least.
    pub fn bytes(&self, problem: &Problem) -> f64 {
        self.bytes.eval(&self.env(problem, None))
    }

    /// The value that a config has for the parameter of that name; `None` where there is none. A config holds indices of values.
    pub fn value(&self, config: &Config, parameter: &str) -> Option<i64> {
        let at = self.parameters.iter().position(|p| p.name == parameter)?;
        self.parameters[at].values.get(*config.0.get(at)? as usize).copied()
    }

    /// Global and local sizes of a launch in work-items, of the program (with a config) or of the reference. Without local sizes the API
    /// chooses them.
    pub fn launch_sizes(
        &self,
        launch: &Launch,
        problem: &Problem,
        config: Option<&Config>,
        device: &Device,
    ) -> [Vec<usize>; 2] {
        let env = match config {
            Some(config) => self.env_of(problem, Some(device), config),
            None => self.env(problem, Some(device)),
        };
        [&launch.global, &launch.local].map(|sizes| sizes.iter().map(|e| e.eval(&env) as usize).collect())
    }

    /// `-D` options that a program of this problem and config is compiled with: without the parameters that only clocks are made of, so
    /// that a program serves all clocks.
    pub fn defines(&self, problem: &Problem, config: &Config) -> Vec<Define> {
        let mut defines = self.field_defines(problem);
        for (at, (p, c)) in self.parameters.iter().zip(&config.0).enumerate() {
            if self.clocks.as_ref().is_none_or(|clocks| !clocks.reads(at)) {
                defines.push(Define::new(&p.name, p.values[*c as usize].to_string()));
            }
        }
        defines
    }

    /// Clocks at which a config is measured.
    pub fn clocks_of(&self, problem: &Problem, device: Option<&Device>, config: &Config) -> Clocks {
        self.clocks.as_ref().map_or(Clocks::default(), |clocks| clocks.eval(&self.env_of(problem, device, config)))
    }

    /// The part of [`Kernel::defines`] that comes from the problem: one per compiled choice.
    pub fn field_defines(&self, problem: &Problem) -> Vec<Define> {
        let chosen = self.fields.iter().zip(&problem.values).filter(|(f, _)| f.compiled);
        chosen.map(|(f, v)| Define::new(format!("{}_{}", f.name, f.labels[*v as usize]), "1")).collect()
    }

    /// What it takes to launch the kernel on a device.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) of a kernel that has no source.
    pub fn source(&self) -> Result<&Source> {
        match (&self.source, &self.run) {
            (Some(source), _) => Ok(source),
            (None, Some(_)) => input(format!("kernel {} is a program ([run]) and has no source to compile", self.name)),
            (None, None) => input(format!(
                "kernel {} describes a space and has no source here: its configs can be predicted and exported, not run",
                self.name
            )),
        }
    }

    /// Where the kernel stands, for sentences: its file, or that it is inside the program.
    pub fn shown_place(&self) -> String {
        self.folder().map_or_else(|| format!("the shipped kernel {}", self.name), |_| self.place.clone())
    }

    /// Folder of the kernel; `None` of one that is inside the program.
    pub fn folder(&self) -> Option<PathBuf> {
        let file = Path::new(&self.place);
        file.is_file().then(|| std::path::absolute(file.parent().unwrap_or(Path::new("."))).ok()).flatten()
    }
}
