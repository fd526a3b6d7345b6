//! Records of kernel measurements, on disk and in memory.
//!
//! On disk a dataset is either a journal (JSON lines, appended during a sweep) or packed (for training and shipping).
//! Each form converts into the other without loss. In memory datasets become a [`Table`].

pub mod bad_rows;
pub mod dataset;
pub mod failures;
#[cfg(feature = "formats")]
pub mod formats;
pub mod journal;
pub mod learnable;
pub mod merge;
pub mod observed;
pub mod packed;
pub mod recipe;
pub mod record;
pub mod shard;
pub mod stats;
pub mod storage;
pub mod table;
pub mod version;

pub use bad_rows::{BadRows, Counts, Twice};
pub use dataset::{Carried, Dataset, FORMAT, Header, NamedDataset, today};
pub use journal::Journal;
pub use observed::{Conditions, Observed, Resources};
pub use record::{Attempt, Energy, Invalidity, InvalidityKind, Measurement, Outcome, Record, Tuned};
pub use shard::Shard;
pub use table::{KernelTable, MeasuredProblem, Table, TriedConfig};
