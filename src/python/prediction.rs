//! `seqtune.Prediction`: a predicted config with what the model says of it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::Arc;

/// Names of parameters, as Python and as Rust read them: shared by all predictions of an engine.
pub struct Names {
    objects: Vec<Py<PyString>>,
    texts: Vec<String>,
    /// Labels of the values of each parameter, where they have some.
    labels: Vec<Vec<String>>,
}

impl Names {
    /// Interns the names of parameters once, each with the labels of its values.
    pub fn new(py: Python<'_>, parameters: impl Iterator<Item = (String, Vec<String>)>) -> Arc<Names> {
        let (texts, labels): (Vec<String>, Vec<Vec<String>>) = parameters.unzip();
        let objects = texts.iter().map(|text| PyString::intern(py, text).unbind()).collect();
        Arc::new(Names { objects, texts, labels })
    }

    /// The names of a kernel's parameters.
    pub fn of(py: Python<'_>, kernel: &seqtune_predict::Kernel) -> Arc<Names> {
        Names::new(py, kernel.parameters.iter().map(|p| (p.name.clone(), p.labels.clone())))
    }

    /// Label of a value, where it has one.
    fn label(&self, at: usize, value: i64) -> Option<&String> {
        self.labels[at].get(usize::try_from(value).ok()?)
    }

    /// Names with values, as a config is written.
    fn text(&self, values: &[i64]) -> String {
        let shown = |(at, value): (usize, &i64)| match self.label(at, *value) {
            Some(label) => format!("{}={label}", self.texts[at]),
            None => format!("{}={value}", self.texts[at]),
        };
        values.iter().enumerate().map(shown).collect::<Vec<_>>().join(",")
    }

    /// Values by name, a new dict.
    ///
    /// # Errors
    /// Where memory ends.
    pub fn dict<'py>(&self, py: Python<'py>, values: &[i64]) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (at, (name, value)) in self.objects.iter().zip(values).enumerate() {
            match self.label(at, *value) {
                Some(label) => dict.set_item(name, label)?,
                None => dict.set_item(name, value)?,
            }
        }
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
        // a label is the only one that is known of its parameter
        let value = |value: Bound<'_, PyAny>| match value.extract::<i64>() {
            Ok(value) => Ok((value, Vec::new())),
            Err(_) => Ok((0, vec![value.extract::<String>()?])),
        };
        let values = config.values().iter().map(value).collect::<PyResult<Vec<(i64, Vec<String>)>>>()?;
        let (values, labels): (Vec<i64>, Vec<Vec<String>>) = values.into_iter().unzip();
        let (probability, unsure, time_us, joules, log_probability) = numbers;
        let names = Names::new(config.py(), texts.into_iter().zip(labels));
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
        self.names.text(&self.values)
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
        self.text() == other.text() && self.numbers() == other.numbers()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (self.text(), self.log_probability.to_bits()).hash(&mut hasher);
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
