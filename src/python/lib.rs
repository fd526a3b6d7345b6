//! The native half of the Python package: kernels, devices, models, spaces and predictions as Python objects.
//!
//! What users call is in the folder `seqtune` beside it; this module is `seqtune._seqtune` there.

mod chooser;
mod configs;
mod device;
mod engine;
mod errors;
mod journal;
mod kernel;
mod model;
mod numbers;
mod prediction;
mod problems;
mod space;

use pyo3::prelude::*;

/// The module `seqtune._seqtune`.
#[pymodule]
mod _seqtune {
    #[pymodule_export]
    use super::chooser::{Choices, Pick};
    #[pymodule_export]
    use super::device::Device;
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::journal::Journal;
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::prediction::Prediction;
    #[pymodule_export]
    use super::space::{Configs, Space};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
