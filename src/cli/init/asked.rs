//! What `seqtune init` is asked for.

use std::path::PathBuf;

/// Writes a kernel.toml for an OpenCL C or CUDA C++ source, or for a program; asks questions at a terminal if neither is named
#[derive(clap::Args, Clone, Default)]
pub struct Args {
    /// Folder of the kernel; it is made where it is not there
    pub folder: PathBuf,
    /// Program with its words, as in a shell; a name in braces stands for a field or a parameter, `{kernel}` for the folder
    #[arg(long, value_name = "WORDS")]
    pub command: Option<String>,
    /// OpenCL C (.cl) or CUDA C++ (.cu) source in the folder, instead of a program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "build", "time", "right", "wrong", "unit"])]
    pub source: Option<String>,
    /// Kernel function of the source [default: the only one]
    #[arg(long, value_name = "NAME", requires = "source")]
    pub entry: Option<String>,
    /// Work-items in all: an expression, once for each dimension (`--global X --global Y`) [default: the first size]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    pub global: Vec<String>,
    /// Work-items of a work-group: an expression, once for each dimension [default: chosen by the driver]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    pub local: Vec<String>,
    /// Work-items in all of the reference [default: an element of the output each where there is a reference, else as the source's, with the
    /// parameters' defaults]
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "source")]
    pub reference_global: Vec<String>,
    /// Work-items of a work-group of the reference
    #[arg(long, value_delimiter = ';', value_name = "EXPRESSIONS", requires = "reference_global")]
    pub reference_local: Vec<String>,
    /// Elements of a buffer, or value of a number, by the argument's name [default: the first size, or the field of that name]
    #[arg(long, value_name = "NAME=EXPRESSION", requires = "source")]
    pub argument: Vec<String>,
    /// Field of a problem: `n=1..1000` for a size, `kind=a,b` for a choice
    #[arg(long, value_name = "NAME=RANGE")]
    pub field: Vec<String>,
    /// Parameter with its values or labels: `tile=8,[16],32`; brackets mark the default, the first unless stated. `flags=plain:-O1,[o3:-O3]` writes
    /// the text behind the colon for a label
    #[arg(long, value_name = "NAME=VALUES")]
    pub parameter: Vec<String>,
    /// Constraint on configs, as `tile <= n`
    #[arg(long, value_name = "EXPRESSION")]
    pub constraint: Vec<String>,
    /// Command that builds what a config needs, in the folder `{build}`
    #[arg(long, value_name = "WORDS")]
    pub build: Option<String>,
    /// Variable of the program's environment, as `OMP_NUM_THREADS={threads}`
    #[arg(long, value_name = "NAME=TEXT", requires = "command")]
    pub environment: Vec<String>,
    /// Where the time is: `json` for a last line of JSON, `wall`, or a regular expression whose group is the number [default: json]
    #[arg(long, value_name = "PATTERN")]
    pub time: Option<String>,
    /// Unit of the time that the pattern finds: s, ms, us or ns [default: s]
    #[arg(long, value_name = "UNIT", value_parser = ["s", "ms", "us", "ns"])]
    pub unit: Option<String>,
    /// Regular expression that the output of a right result matches
    #[arg(long, value_name = "PATTERN")]
    pub right: Option<String>,
    /// Regular expression that the output of a wrong result matches
    #[arg(long, value_name = "PATTERN")]
    pub wrong: Option<String>,
    /// One line that says what is computed
    #[arg(long, value_name = "WORDS")]
    pub meaning: Option<String>,
}
