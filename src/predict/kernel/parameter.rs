//! A knob of a kernel.

/// One knob.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name, as in expressions and in the source.
    pub name: String,
    /// Values that it may take; a choice is an index of these.
    pub values: Vec<i64>,
    /// Index of the default value.
    pub default: usize,
    /// Meaning in words.
    pub meaning: String,
}
