//! What is to be computed: the values of a kernel's fields.

/// The values of a kernel's fields, in the kernel's order. A choice is held as the index of its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// One value per field.
    pub values: Vec<f64>,
}
