//! MIOpen's databases: tuned configs by convolution and solver, read and written.
//!
//! A performance database is SQLite (`.db`) or text (`.db.txt`: `key=solver:params;solver:params`), a find database is text
//! (`.fdb.txt`: `key=algorithm:solver,ms,workspace,…;…`). Each may be compressed (`.bz2`). The parameters of a solver are in
//! the order of its kernel, unless the kernel's `[database] columns` define another layout:
//!
//! | column | read | written |
//! |---|---|---|
//! | `name` | value of the parameter | the same |
//! | `'text'` | must be the text | the text |
//! | `dtype:a\|b\|c` | must be the text of the field's label | the same |
//! | `*` | ignored | 0 |
//! | `*[name]` | ignored | 0, and the parameter in brackets behind it where it is not 0 |

mod convolution;
mod driver;
mod export;
mod files;
mod import;
mod keys;
mod layer;
mod names;
mod params;
mod ranges;
mod rows;
mod sqlite;
mod table;
mod text;

pub use convolution::{BATCH, Convolution, DIRECTIONS, DTYPES, LAYOUTS, is_of_convolution};
pub use driver::{Lines, convolutions_of_command, convolutions_of_lines, readable_lines};
pub use export::{Export, device_name, solver_name};
pub use files::{parse, read, read_times};
pub use import::{ImportedMiopen, Kept, MiopenOptions, NamedRows, import};
pub use names::{Named, read_name};
pub use ranges::{SizeRange, Stretched, stretch};
pub use rows::{ReadTimes, Row, Rows, Times};
pub use table::Unsaid;
