//! `kernel.toml` as it is written: the serde side of [`crate::kernel::Kernel`].

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
    pub name: String,
    pub kind: FieldKind,
    pub meaning: String,
    #[serde(default)]
    pub min: u64,
    #[serde(default)]
    pub max: u64,
    #[serde(default)]
    pub labels: Vec<String>,
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
    pub name: String,
    pub values: Vec<i64>,
    pub default: i64,
    pub meaning: String,
}

/// An expression with the reason it is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    pub expr: String,
    pub reason: String,
}

/// A derived quantity for the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSpec {
    pub name: String,
    pub expr: String,
    #[serde(default)]
    pub group: Option<String>,
}

/// A program: file, entry and launch geometry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// Source: `.cl` is OpenCL C and runs everywhere, `.cu` is CUDA C++.
    pub file: String,
    pub entry: String,
    pub global: Vec<String>,
    pub local: Vec<String>,
    /// Bytes of local memory that the launch adds to what the source declares.
    #[serde(default)]
    pub dynamic_local: Option<String>,
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
    pub name: String,
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
    /// Value of a number.
    #[serde(default)]
    pub value: Option<String>,
}

/// What does the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Units {
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
    #[serde(default = "one")]
    pub factor: String,
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
    pub gemm: GemmSpec,
}

/// A product of row-major matrices, `C = alpha op(A) op(B) + beta C`: names of arguments, and expressions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmSpec {
    pub m: String,
    pub n: String,
    pub k: String,
    /// Where this is 1, A is stored as k x m; B as n x k.
    pub transposed_a: String,
    pub transposed_b: String,
    pub alpha: String,
    pub beta: String,
    pub a: String,
    pub b: String,
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
}

/// What kernels of a family share: a file that their `base` names. Everything in it is added to the kernel's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BaseSpec {
    pub shape: Vec<String>,
    pub field: Vec<Field>,
    pub define: BTreeMap<String, String>,
    pub rule: Vec<RuleSpec>,
    pub feature: Vec<FeatureSpec>,
    pub work: Option<WorkSpec>,
}

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSpec {
    pub name: String,
    pub meaning: String,
    /// Path of a [`BaseSpec`], from the kernel's folder.
    pub base: Option<String>,
    /// Expressions whose values make two problems the same shape, instead of the fields marked `shape`.
    #[serde(default)]
    pub shape: Vec<String>,
    #[serde(default)]
    pub field: Vec<Field>,
    #[serde(default)]
    pub define: BTreeMap<String, String>,
    /// What a problem must satisfy beyond the range of each field.
    #[serde(default)]
    pub rule: Vec<RuleSpec>,
    pub parameter: Vec<ParameterSpec>,
    #[serde(default)]
    pub constraint: Vec<RuleSpec>,
    #[serde(default)]
    pub feature: Vec<FeatureSpec>,
    /// What is compiled and run; a kernel of another library has none.
    pub program: Option<ProgramSpec>,
    pub reference: Option<ProgramSpec>,
    #[serde(default)]
    pub argument: Vec<ArgumentSpec>,
    pub work: Option<WorkSpec>,
    pub exact: Option<ExactSpec>,
    pub library: Option<LibrarySpec>,
    #[serde(default)]
    pub database: DatabaseSpec,
}
