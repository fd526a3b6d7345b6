//! What `seqtune init` is asked for.

use std::path::PathBuf;

/// Writes a kernel.toml for an OpenCL C or CUDA C++ source, or for a program
///
/// Without --source and --command, it asks questions at a terminal.
#[derive(clap::Args, Clone, Default)]
pub struct Args {
    /// Folder of the kernel; created if it does not exist
    pub folder: PathBuf,
    /// Command line of the program, split into words as in a shell
    ///
    /// A name in braces stands for the value of a field or parameter, `{kernel}` for the kernel's folder.
    #[arg(long, value_name = "WORDS")]
    pub command: Option<String>,
    /// OpenCL C (.cl) or CUDA C++ (.cu) source in the folder, instead of a program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "build", "time", "right", "wrong", "unit"])]
    pub source: Option<String>,
    /// Kernel function in the source [default: the only one]
    #[arg(long, value_name = "NAME", requires = "source")]
    pub entry: Option<String>,
    /// Total work-items: an expression per dimension [default: the first size]
    ///
    /// Repeat the option for each dimension (`--global X --global Y`), or separate the expressions by semicolons.
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    pub global: Vec<String>,
    /// Work-group size: an expression per dimension [default: the driver's choice]
    ///
    /// Repeat the option for each dimension, as for --global.
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    pub local: Vec<String>,
    /// Total work-items of the reference: an expression per dimension
    ///
    /// [default: one work-item per output element, if a reference is there whose work-items do not cooperate; else as for the source, with
    /// the parameters' defaults]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    pub reference_global: Vec<String>,
    /// Work-group size of the reference [default: the driver's choice]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "reference_global")]
    pub reference_local: Vec<String>,
    /// Number of elements of a buffer, or value of a number, by argument name
    ///
    /// [default: the first size for a buffer, the field of the same name for a number]
    #[arg(long, value_name = "NAME=EXPRESSION", requires = "source")]
    pub argument: Vec<String>,
    /// Field of a problem: `n=1..1000` for a size, `kind=a,b` for a choice
    #[arg(long, value_name = "NAME=RANGE")]
    pub field: Vec<String>,
    /// Parameter with its values or labels, such as `tile=8,[16],32`
    ///
    /// Brackets mark the default; without them it is the first value. In `flags=plain:-O1,[o3:-O3]`, the program gets the text after the
    /// colon, such as -O3 for the label o3.
    #[arg(long, value_name = "NAME=VALUES")]
    pub parameter: Vec<String>,
    /// Constraint on configs, such as `tile <= n`
    #[arg(long, value_name = "EXPRESSION")]
    pub constraint: Vec<String>,
    /// Command that builds what a config needs, in the folder `{build}`
    #[arg(long, value_name = "WORDS")]
    pub build: Option<String>,
    /// Environment variable of the program, such as `OMP_NUM_THREADS={threads}`
    #[arg(long, value_name = "NAME=TEXT", requires = "command")]
    pub environment: Vec<String>,
    /// Source of the time: `json`, `wall` or a regular expression [default: json]
    ///
    /// `json` reads the last line of the output as JSON. `wall` is the time from start to end. A regular expression finds the number as its
    /// group.
    #[arg(long, value_name = "PATTERN")]
    pub time: Option<String>,
    /// Unit of the time that the regular expression finds: s, ms, us, ns [default: s]
    #[arg(long, value_name = "UNIT", value_parser = ["s", "ms", "us", "ns"])]
    pub unit: Option<String>,
    /// Regular expression that the output of a correct result matches
    #[arg(long, value_name = "PATTERN")]
    pub right: Option<String>,
    /// Regular expression that the output of a wrong result matches
    #[arg(long, value_name = "PATTERN")]
    pub wrong: Option<String>,
    /// One-line description of what is computed
    #[arg(long, value_name = "WORDS")]
    pub meaning: Option<String>,
}
