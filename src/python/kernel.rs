//! `seqtune.Kernel`: parameters, fields and constraints.

use crate::configs;
use crate::errors::OrRaise;
use crate::numbers::{Place, Text, Texts};
use crate::problems::{dict_of, problem_of};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seqtune_kernel::Constraint;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use std::collections::BTreeMap;

/// A kernel with its tuning space: `Kernel("gemm")` by name, `Kernel("./mykernel")` by its folder.
///
/// >>> import seqtune
/// >>> seqtune.Kernel("gemm").parameters["VWN"]
/// [1, 2, 4, 8, 16]
#[pyclass(frozen, module = "seqtune", from_py_object)]
#[derive(Clone)]
pub struct Kernel(pub seqtune_predict::Kernel);

fn reasons(constraints: &[Constraint]) -> Vec<(&str, &str)> {
    constraints.iter().map(|c| (c.text.as_str(), c.reason.as_str())).collect()
}

#[pymethods]
impl Kernel {
    #[new]
    fn new(py: Python<'_>, name_or_folder: Place) -> PyResult<Kernel> {
        let name = name_or_folder.0.display().to_string();
        py.detach(|| seqtune_predict::Kernel::open(&name)).map(Kernel).or_raise(py)
    }

    /// A kernel from the text of its `kernel.toml`; sources that it names are given by their file names.
    #[staticmethod]
    #[pyo3(signature = (text, sources = Texts(BTreeMap::new())))]
    fn from_toml(py: Python<'_>, text: Text, sources: Texts) -> PyResult<Kernel> {
        if !text.0.contains('\n') && text.0.ends_with(".toml") {
            let what = format!(
                "`{}` is a path: from_toml takes the text of a kernel.toml, and Kernel(FOLDER) opens a folder",
                text.0
            );
            return Err(seqtune_predict::Error::Input(what)).or_raise(py);
        }
        let files = sources.0.into_iter().chain([("kernel.toml".into(), text.0)]).collect();
        seqtune_predict::Kernel::from_files(files, "kernel.toml").map(Kernel).or_raise(py)
    }

    /// A kernel from the texts of all files of its folder; `place` stands before sentences about them.
    #[staticmethod]
    fn from_files(py: Python<'_>, files: Texts, place: Text) -> PyResult<Kernel> {
        seqtune_predict::Kernel::from_files(files.0, &place.0).map(Kernel).or_raise(py)
    }

    /// Names of the kernels that ship with the package.
    #[staticmethod]
    fn list() -> Vec<String> {
        seqtune_predict::Kernel::all_shipped()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its meaning in words.
    #[getter]
    fn meaning(&self) -> &str {
        &self.0.meaning
    }

    /// Values by parameter, in the order in which they are chosen.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for p in &self.0.parameters {
            match p.labels.is_empty() {
                true => dict.set_item(&p.name, &p.values)?,
                false => dict.set_item(&p.name, &p.labels)?,
            }
        }
        Ok(dict)
    }

    /// What a problem consists of: by field its kind (`size`, `real`, `choice`), its meaning, and its limits, labels and default.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        for field in &self.0.fields {
            let dict = PyDict::new(py);
            match field.kind {
                FieldKind::Size => {
                    dict.set_item("kind", "size")?;
                    dict.set_item("min", field.min)?;
                    dict.set_item("max", field.max)?;
                }
                FieldKind::Real => dict.set_item("kind", "real")?,
                FieldKind::Choice => {
                    dict.set_item("kind", "choice")?;
                    dict.set_item("labels", &field.labels)?;
                }
            }
            dict.set_item("meaning", &field.meaning)?;
            dict.set_item("default", &field.default)?;
            fields.set_item(&field.name, dict)?;
        }
        Ok(fields)
    }

    /// The config that the kernel's author wrote down as safe.
    #[getter]
    fn default<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        configs::dict_of(py, &self.0, &self.0.default_config())
    }

    /// Expressions that a legal config satisfies, each with its reason.
    #[getter]
    fn constraints(&self) -> Vec<(&str, &str)> {
        reasons(&self.0.constraints)
    }

    /// Expressions that a problem satisfies, each with its reason.
    #[getter]
    fn rules(&self) -> Vec<(&str, &str)> {
        reasons(&self.0.rules)
    }

    /// Hash of what gives meaning to a config: data and models of another one are refused.
    #[getter]
    fn space_hash(&self) -> String {
        self.0.space_hash()
    }

    /// The texts of its folder's files, by name.
    #[getter]
    fn files(&self) -> BTreeMap<String, String> {
        self.0.files.clone()
    }

    /// A problem with every field named, as a dict; an error where it is none of this kernel's.
    fn problem<'py>(&self, problem: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        dict_of(problem.py(), &self.0, &problem_of(&self.0, problem)?)
    }

    /// A config as a dict, from a text or a dict; an error where it is none of this kernel's.
    fn config<'py>(&self, config: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        configs::dict_of(config.py(), &self.0, &configs::config_of(&self.0, config)?)
    }

    fn __repr__(&self) -> String {
        format!("Kernel({:?})", self.0.name)
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(slf: &Bound<'py, Kernel>) -> PyResult<(Bound<'py, PyAny>, (BTreeMap<String, String>, String))> {
        let kernel = slf.get();
        Ok((slf.get_type().getattr("from_files")?, (kernel.files(), kernel.0.place.clone())))
    }
}
