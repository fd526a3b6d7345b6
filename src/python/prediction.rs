//! `seqtune.Prediction`: a predicted config with what the model says of it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::Arc;

/// Names of parameters, as Python and as Rust read them: shared by all predictions of an engine.
pub struct Names {
    objects: Vec<Py<PyString>>,
    texts: Vec<String>,
}

impl Names {
    /// Interns the names once.
    pub fn new(py: Python<'_>, texts: Vec<String>) -> Arc<Names> {
        let objects = texts.iter().map(|text| PyString::intern(py, text).unbind()).collect();
        Arc::new(Names { objects, texts })
    }

    /// Values by name, a new dict.
    ///
    /// # Errors
    /// Where memory ends.
    pub fn dict<'py>(&self, py: Python<'py>, values: &[i64]) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.objects.iter().zip(values).try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }
}

/// A predicted config: legal, with its probability of being the best and its predicted time and energy.
#[pyclass(frozen, module = "seqtune")]
pub struct Prediction {
    pub(crate) names: Arc<Names>,
    pub(crate) values: Box<[i64]>,
    /// Probability that it is the best.
    #[pyo3(get)]
    pub(crate) probability: f64,
    /// Whether the answer that it belongs to should be measured before it is believed.
    #[pyo3(get)]
    pub(crate) unsure: bool,
    /// Predicted microseconds per launch; `None` where the model never saw a time.
    #[pyo3(get)]
    pub(crate) time_us: Option<f64>,
    /// Predicted joules per launch; `None` where the model never saw energy.
    #[pyo3(get)]
    pub(crate) joules: Option<f64>,
    /// Natural logarithm of the likelihood among all legal configs.
    #[pyo3(get)]
    pub(crate) log_probability: f64,
}

impl Prediction {
    fn numbers(&self) -> (f64, bool, Option<f64>, Option<f64>, f64) {
        (self.probability, self.unsure, self.time_us, self.joules, self.log_probability)
    }
}

#[pymethods]
impl Prediction {
    #[new]
    fn new(config: &Bound<'_, PyDict>, numbers: (f64, bool, Option<f64>, Option<f64>, f64)) -> PyResult<Prediction> {
        let texts = config.keys().iter().map(|name| name.extract()).collect::<PyResult<Vec<String>>>()?;
        let values = config.values().iter().map(|value| value.extract()).collect::<PyResult<Vec<i64>>>()?;
        let (probability, unsure, time_us, joules, log_probability) = numbers;
        let names = Names::new(config.py(), texts);
        Ok(Prediction { names, values: values.into(), probability, unsure, time_us, joules, log_probability })
    }

    /// The config: values by parameter, a new dict each time.
    #[getter]
    pub(crate) fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.names.dict(py, &self.values)
    }

    /// The config as a text, `A=1,B=2`.
    #[getter]
    fn text(&self) -> String {
        let pairs = self.names.texts.iter().zip(&self.values);
        pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }

    fn __repr__(&self) -> String {
        let time = self.time_us.map_or(String::new(), |us| format!(" {us:.1} us"));
        let energy = self.joules.map_or(String::new(), |joules| format!(" {:.3} mJ", 1e3 * joules));
        let unsure = if self.unsure { " unsure" } else { "" };
        format!("<Prediction {:.1} %{time}{energy}{unsure}: {}>", 100.0 * self.probability, self.text())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Prediction>() else { return false };
        let other = other.get();
        self.names.texts == other.names.texts && self.values == other.values && self.numbers() == other.numbers()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.names.texts, &self.values, self.log_probability.to_bits()).hash(&mut hasher);
        hasher.finish()
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Prediction>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>, (f64, bool, Option<f64>, Option<f64>, f64)))> {
        let prediction = slf.get();
        Ok((slf.get_type().into_any(), (prediction.config(slf.py())?, prediction.numbers())))
    }
}
