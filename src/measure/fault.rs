//! What a config did wrong: data, not an error of the run.

use seqtune_data::{Invalidity, InvalidityKind};

/// What one config did wrong; it ends the config, not the run.
pub type Fault = Invalidity;

/// A fault of `kind` with what was said about it.
pub fn fault(kind: InvalidityKind, detail: impl Into<String>) -> Fault {
    Fault { kind, detail: detail.into() }
}
