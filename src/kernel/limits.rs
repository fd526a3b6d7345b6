//! The most that is taken from outside. Each limit is named in the sentence that refuses what is beyond it; docs/internals/reliability.md lists them.

/// Depth of an expression, and of nested TOML and JSON.
pub const DEPTH: usize = 64;

/// Operations, names and numbers of one expression, with its definitions written out.
pub const EXPRESSION_NODES: usize = 10_000;

/// The same, of all expressions of a kernel together.
pub const KERNEL_NODES: usize = 200_000;

/// Combinations of a kernel's values of which each can stand for itself: profiles, coefficients.
pub const COMBINATIONS: usize = 64;

/// Parameters of a kernel.
pub const PARAMETERS: usize = 128;

/// Fields of a kernel; its features as well.
pub const FIELDS: usize = 200;

/// Most instances of a kernel's table.
pub const INSTANCES: usize = 4_096;

/// Magnitude of a parameter's value: up to here every whole number is an f64.
pub const VALUE: i64 = 1 << 53;

/// Share by which a config may be asked to be slower than the fastest at most.
pub const MOST_LONGER: f64 = 100.0;

/// Characters of the name of a kernel, a parameter, a field, a label, a feature or a definition.
pub const NAME: usize = 64;

/// Characters of a device's name.
pub const DEVICE_NAME: usize = 100;

/// Characters of quoted input in a sentence.
pub const QUOTE: usize = 100;

/// Characters of a sentence that is printed.
pub const SENTENCE: usize = 800;

/// Bytes of a line, of any text.
pub const LINE: usize = 16 << 20;

/// Candidates: `--width` and `--top`.
pub const WIDTH: usize = 10_000;

/// Networks of a model, and folds of a cross-validation.
pub const MEMBERS: usize = 100;

/// Threads of a prediction.
pub const THREADS: usize = 1_024;

/// Seconds of a time on the command line: ten years.
pub const SECONDS: f64 = 3.2e8;

/// Convolutions that ranges of sizes make of a list.
pub const CONVOLUTIONS: usize = 1_000_000;

/// Configs of a problem: `--sample`, `--pool`.
pub const SAMPLE: usize = 1_000_000;

/// Configs of a plan, and records of a journal's plan: years of measuring, and as many as memory holds.
pub const PLAN: usize = 20_000_000;

/// Shards of a sweep.
pub const SHARDS: usize = 100_000;

/// What unpacked data may have at most while they are unpacked: so many times the packed bytes that were read, or [`UNPACKED_BYTES`] where that
/// is more; in all what the kind of file may have.
pub const UNPACKED_TIMES: u64 = 100;

/// See [`UNPACKED_TIMES`].
pub const UNPACKED_BYTES: u64 = 64 << 20;

/// What unpacked data may have in any case.
pub const UNPACKED_MOST: u64 = 1 << 30;

/// Microseconds of one launch or run: thirty days. A time beyond is a unit misread, or stands for a failure.
pub const SAMPLE_US: f64 = 2.592e12;

/// Microseconds of a config beside which a sample of 0 is no time: clocks are finer.
pub const ZERO_BESIDE_US: f64 = 10.0;

/// The size of a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    /// What such a file is, with its article.
    pub what: &'static str,
    /// Bytes at most.
    pub bytes: u64,
}

/// A kernel.toml, a base, a source of a kernel, a list of devices.
pub const TEXT: FileLimit = FileLimit { what: "a kernel's or a device's text", bytes: 4 << 20 };

/// A model, and a checkpoint of its training.
pub const MODEL: FileLimit = FileLimit { what: "a model", bytes: 1 << 30 };

/// A dataset of ours.
pub const DATASET: FileLimit = FileLimit { what: "a dataset", bytes: 2 << 30 };

/// A database or a table of others.
pub const FOREIGN: FileLimit = FileLimit { what: "a database", bytes: 2 << 30 };

/// Orders of other tuners, also from a pipe.
pub const ORDERS: FileLimit = FileLimit { what: "a file of orders", bytes: 256 << 20 };

/// A list of problems or convolutions, also from a pipe.
pub const LIST: FileLimit = FileLimit { what: "a list of problems", bytes: 256 << 20 };
