//! `kernel.toml` as it is written: the serde side of [`super::Kernel`].

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
    #[serde(default)]
    pub database: DatabaseSpec,
}
