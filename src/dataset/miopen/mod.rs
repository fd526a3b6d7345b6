//! MIOpen's databases: tuned configs by convolution and solver, read and written.
//!
//! A performance database is SQLite (`.db`) or text (`.db.txt`: `key=solver:params;solver:params`), a find database is text
//! (`.fdb.txt`: `key=algorithm:solver,ms,workspace,…;…`); each may be compressed (`.bz2`). The parameters of a solver stand in
//! the order of its kernel, unless the kernel's `[database] columns` say what stands where:
//!
//! | column | read | written |
//! |---|---|---|
//! | `name` | value of the parameter | the same |
//! | `'text'` | must be the text | the text |
//! | `dtype:a\|b\|c` | must be the text of the field's label | the same |
//! | `*` | ignored | 0 |
//! | `[name]` | a last column in brackets, 0 where it is missing | left out where 0 |

mod convolution;
mod driver;
mod export;
mod import;
mod params;
mod sqlite;
mod text;

pub use convolution::Convolution;
pub use driver::{convolutions_of_command, convolutions_of_lines};
pub use export::{Export, solver_name};
pub use import::{Counts, Import, Imported, import};

use crate::error::{Error, Result, input, io};
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// A row of a performance database.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub convolution: Convolution,
    /// With its argument, as in `ConvOclBwdWrW2<4>`.
    pub solver: String,
    pub params: String,
}

impl Row {
    /// Whether it is of `solver`, whatever the argument.
    pub fn is_of(&self, solver: &str) -> bool {
        import::plain(&self.solver).0 == solver
    }
}

/// Best milliseconds by convolution and solver, from one device's find databases.
pub type Times = HashMap<(Convolution, String), f64>;

/// Reads a performance database, whichever form it has. A file that is damaged is refused whole.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    let bytes = contents(path)?;
    let at = |e: Error| e.at(path.display());
    match bytes.starts_with(sqlite::MAGIC) {
        true => sqlite::read(&bytes).map_err(at),
        false => text::read(utf8(&bytes).map_err(at)?).map_err(at),
    }
}

/// Reads a find database into `times`.
pub fn read_times(path: &Path, times: &mut Times) -> Result<()> {
    let bytes = contents(path)?;
    let at = |e: Error| e.at(path.display());
    text::read_times(utf8(&bytes).map_err(at)?, times).map_err(at)
}

/// The bytes of a file, unpacked if it is bzip2.
fn contents(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(io(path))?;
    if !bytes.starts_with(b"BZh") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    match bzip2::read::MultiBzDecoder::new(&bytes[..]).read_to_end(&mut plain) {
        Ok(_) => Ok(plain),
        Err(e) => input(format!("{}: the bzip2 data is truncated or damaged ({e}); fetch it again", path.display())),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => input("is neither SQLite nor text: not a database of MIOpen"),
    }
}
