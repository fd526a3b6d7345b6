//! `kernel.toml` as it is written: the serde side of [`crate::Kernel`].

use crate::kernel_toml::run_spec::RunSpec;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What kind of value a problem field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A whole number of at least `min` and at most `max`.
    Size,
    /// A finite number, passed through to the kernel.
    Real,
    /// One of `labels`; expressions ask for it as `field.label` (1 or 0).
    Choice,
}

/// One field of a problem.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Name of the field.
    pub name: String,
    /// Kind of its values.
    pub kind: FieldKind,
    /// Meaning in words.
    pub meaning: String,
    /// Least value of a size.
    #[serde(default)]
    pub min: u64,
    /// Greatest value of a size.
    #[serde(default)]
    pub max: u64,
    /// Labels of a choice.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Value where a problem does not name the field.
    #[serde(default)]
    pub default: Option<String>,
    /// Fields and features of one group share a token of the model's source.
    #[serde(default)]
    pub group: Option<String>,
    /// Whether the field belongs to the shape that datasets are split by.
    #[serde(default)]
    pub shape: bool,
    /// Whether programs are compiled for it (as `-D<field>_<label>`): choices only.
    #[serde(default)]
    pub compiled: bool,
}

/// A parameter as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// Name of the parameter.
    pub name: String,
    /// Values that it may take.
    #[serde(default)]
    pub values: Vec<i64>,
    /// Names of values, instead of numbers.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What templates of `[run]` write for each label.
    #[serde(default)]
    pub texts: Vec<String>,
    /// Default, one of the values or labels.
    pub default: DefaultSpec,
    /// Value with which the program is what it was before there was the parameter.
    #[serde(default)]
    pub before: Option<DefaultSpec>,
    /// Meaning in words.
    pub meaning: String,
}

/// A default as written: a number, or a label.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "`default` and `before` are a whole number or a label")]
pub enum DefaultSpec {
    /// One of the values.
    Number(i64),
    /// One of the labels.
    Label(String),
}

impl std::fmt::Display for DefaultSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            DefaultSpec::Number(value) => value.fmt(f),
            DefaultSpec::Label(label) => label.fmt(f),
        }
    }
}

impl ParameterSpec {
    /// Index of the default; `None` where it is none of the values.
    pub fn default_at(&self) -> Option<usize> {
        self.index_of(&self.default)
    }

    /// Index of a value as written; `None` where it is none of the values.
    pub fn index_of(&self, value: &DefaultSpec) -> Option<usize> {
        match value {
            DefaultSpec::Number(value) => self.values.iter().position(|v| v == value),
            DefaultSpec::Label(label) => self.labels.iter().position(|l| l == label),
        }
    }
}

/// An expression with the reason it is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Expression that must hold.
    pub expr: String,
    /// Reason in words.
    pub reason: String,
}

/// A derived quantity for the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSpec {
    /// Name of the feature.
    pub name: String,
    /// Expression of its value.
    pub expr: String,
    /// Group whose token of the model's source it shares.
    #[serde(default)]
    pub group: Option<String>,
}

/// A program: file, entry and launch geometry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// Source: `.cl` is OpenCL C and runs everywhere, `.cu` is CUDA C++.
    pub file: String,
    /// Name of the entry point.
    pub entry: String,
    /// Expressions of the work-items in all, per dimension.
    pub global: Vec<String>,
    /// Expressions of the work-items of a work-group, per dimension.
    pub local: Vec<String>,
    /// Bytes of local memory that the launch adds to what the source declares.
    #[serde(default)]
    pub dynamic_local: Option<String>,
}

/// Clocks of the device: expressions in MHz, of which 0 leaves a clock to the driver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClocksSpec {
    /// Clock of the cores.
    pub core: Option<String>,
    /// Clock of the memory.
    pub memory: Option<String>,
}

/// What the kernel does with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentKind {
    /// A buffer that is only read.
    In,
    /// A buffer that is written, and compared with the reference. Its old content is random data.
    Out,
    /// A 32-bit signed whole number.
    Int,
    /// A 32-bit float.
    Float,
}

/// An argument as written, in the order of the kernel's signature.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentSpec {
    /// Name of the argument.
    pub name: String,
    /// Buffer or number, and whether it is written.
    pub kind: ArgumentKind,
    /// Elements of a buffer.
    #[serde(default)]
    pub length: Option<String>,
    /// Bytes of a buffer's element: 4 is f32, 2 is f16.
    #[serde(default)]
    pub element: Option<String>,
    /// Where this is 1, two bytes are bf16.
    #[serde(default)]
    pub bf16: Option<String>,
    /// Whole number of 32 bits that each element of an input holds, by its place `i`.
    #[serde(default)]
    pub integer: Option<String>,
    /// The same as a running sum: an element holds the sum over the places before its own.
    #[serde(default)]
    pub running: Option<String>,
    /// Value of a number.
    #[serde(default)]
    pub value: Option<String>,
}

/// What does the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Units {
    /// Vector units.
    #[default]
    Vector,
    /// Tensor cores, matrix cores.
    Matrix,
}

/// Amount of work of a problem, and how exact a result must be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkSpec {
    /// Floating-point operations.
    pub flops: String,
    /// Bytes that must move at least.
    pub bytes: String,
    /// Largest error allowed, relative to the largest magnitude of the reference; 0 unless stated.
    pub tolerance: Option<String>,
    /// Units that compute: the vector units unless stated.
    #[serde(default)]
    pub units: Units,
}

impl Default for WorkSpec {
    /// Nothing is known of it.
    fn default() -> WorkSpec {
        WorkSpec { flops: zero(), bytes: zero(), tolerance: None, units: Units::Vector }
    }
}

/// What an element of an output is, for the check on the host: `factor * sum(product) + old * what was there`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactSpec {
    /// Argument whose elements these are.
    pub output: String,
    /// Indices of an element, each with how many values it has.
    pub over: Vec<(String, String)>,
    /// Place of the element in the output.
    pub at: String,
    /// Indices that are summed over, each with how many values it has.
    pub sum: Vec<(String, String)>,
    /// Short names for what the following say with these indices, each made of those before it.
    #[serde(default)]
    pub define: Vec<(String, String)>,
    /// Arguments that are multiplied, each with the place of its element.
    pub product: Vec<(String, String)>,
    /// Where this is 0, a product does not count.
    #[serde(default = "one")]
    pub within: String,
    /// Factor of the sum; 1 unless stated.
    #[serde(default = "one")]
    pub factor: String,
    /// Factor of the output's old content; 0 unless stated.
    #[serde(default = "zero")]
    pub old: String,
}

fn one() -> String {
    "1".into()
}

fn zero() -> String {
    "0".into()
}

/// Routines of vendors' libraries that compute the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibrarySpec {
    /// Matrix product.
    pub gemm: GemmSpec,
}

/// A product of row-major matrices, `C = alpha op(A) op(B) + beta C`: names of arguments, and expressions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmSpec {
    /// Rows of C.
    pub m: String,
    /// Columns of C.
    pub n: String,
    /// Length of the sums.
    pub k: String,
    /// Where this is 1, A is stored as k x m.
    pub transposed_a: String,
    /// Where this is 1, B is stored as n x k.
    pub transposed_b: String,
    /// Factor of the product.
    pub alpha: String,
    /// Factor of the old content of C.
    pub beta: String,
    /// Argument that is A.
    pub a: String,
    /// Argument that is B.
    pub b: String,
    /// Argument that is C.
    pub c: String,
}

/// How another library's database writes a kernel's configs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseSpec {
    /// Field that takes the `x` of a solver written `Name<x>`.
    pub argument: Option<String>,
    /// What stands between the commas, in order; the parameters in theirs where nothing is said. The
    /// notation is explained where databases are read, in `dataset::miopen`.
    pub columns: Vec<String>,
    /// Parameter whose value stands behind the instance's name and a `+`, where configs are written as names of instances.
    pub suffix: Option<String>,
}

/// What kernels of a family share: a file that their `base` names. Everything in it is added to the kernel's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BaseSpec {
    /// Expressions of the shape, see [`KernelSpec::shape`].
    pub shape: Vec<String>,
    /// Fields of a problem.
    pub field: Vec<Field>,
    /// Named expressions that others may use.
    pub define: BTreeMap<String, String>,
    /// Rules that a problem must satisfy.
    pub rule: Vec<RuleSpec>,
    /// Features for the model.
    pub feature: Vec<FeatureSpec>,
    /// Work of a problem.
    pub work: Option<WorkSpec>,
}

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSpec {
    /// Name of the kernel.
    pub name: String,
    /// Meaning in words.
    pub meaning: String,
    /// Path of a [`BaseSpec`], from the kernel's folder.
    pub base: Option<String>,
    /// Whether problems that are alike tell by their whole profiles which config is the best.
    #[serde(default)]
    pub profiles: bool,
    /// Expressions whose values make two problems the same shape, instead of the fields marked `shape`.
    #[serde(default)]
    pub shape: Vec<String>,
    /// Table of the configs that there are, in a file of the kernel's folder.
    pub instances: Option<String>,
    /// Architectures of the devices that the kernel exists for; all where it names none.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// Fields of a problem.
    #[serde(default)]
    pub field: Vec<Field>,
    /// Named expressions that others may use.
    #[serde(default)]
    pub define: BTreeMap<String, String>,
    /// What a problem must satisfy beyond the range of each field.
    #[serde(default)]
    pub rule: Vec<RuleSpec>,
    /// Tuning parameters, in the order of decoding.
    pub parameter: Vec<ParameterSpec>,
    /// Constraints that a legal config satisfies.
    #[serde(default)]
    pub constraint: Vec<RuleSpec>,
    /// Features for the model.
    #[serde(default)]
    pub feature: Vec<FeatureSpec>,
    /// What is compiled and run; a kernel of another library has none.
    pub program: Option<ProgramSpec>,
    /// Program whose result is taken as correct.
    pub reference: Option<ProgramSpec>,
    /// Clocks of the device at which configs are measured.
    pub clocks: Option<ClocksSpec>,
    /// Program of the user's own that measures configs, instead of a source.
    pub run: Option<RunSpec>,
    /// Arguments in the order of the signature.
    #[serde(default)]
    pub argument: Vec<ArgumentSpec>,
    /// Work of a problem.
    pub work: Option<WorkSpec>,
    /// Check of single elements on the host.
    pub exact: Option<ExactSpec>,
    /// Library routine that computes the same.
    pub library: Option<LibrarySpec>,
    /// Notation of another library's database.
    #[serde(default)]
    pub database: DatabaseSpec,
}
