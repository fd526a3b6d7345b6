//! Which of a model's two forms answers: the whole, or the small decoder that it was distilled into.

use std::fmt;

/// What is asked of a folder that may hold both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// The small decoder where it was found level with the whole, else the whole.
    #[default]
    Auto,
    /// The whole: networks, re-rankers and boosted trees.
    Best,
    /// The small decoder.
    Fast,
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Quality::Auto => "auto",
            Quality::Best => "best",
            Quality::Fast => "fast",
        })
    }
}
