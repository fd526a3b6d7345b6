//! `seqtune.Prediction`: a predicted config with what the model says of it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use seqtune_predict::TimeBasis;
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
    pub fn from_kernel(py: Python<'_>, kernel: &seqtune_predict::Kernel) -> Arc<Names> {
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
    /// Predicted microseconds per launch; `None` where the model learned no times of the device.
    #[pyo3(get)]
    pub(crate) time_us: Option<f64>,
    /// Predicted joules per launch; `None` where the model learned no energy of the device.
    #[pyo3(get)]
    pub(crate) joules: Option<f64>,
    /// Natural logarithm of the likelihood among all legal configs.
    #[pyo3(get)]
    pub(crate) log_probability: f64,
    pub(crate) on: Arc<On>,
    /// What `time_us` is: `learned`, `bounded` where what was learned was below what the device can do, or `absent`.
    #[pyo3(get)]
    pub(crate) time_basis: &'static str,
}

/// The device that predictions are for.
#[derive(PartialEq)]
pub struct On {
    /// Its name.
    pub device: String,
    /// Whether the model learned from data of it.
    pub is_learned: bool,
}

/// Probability, unsure, microseconds, joules and log-probability.
type Numbers = (f64, bool, Option<f64>, Option<f64>, f64);
/// Device, whether it was learned, and what the time is.
type Told = (String, bool, String);

impl Prediction {
    fn tell(&self) -> Told {
        (self.on.device.clone(), self.on.is_learned, self.time_basis.into())
    }

    fn numbers(&self) -> Numbers {
        (self.probability, self.unsure, self.time_us, self.joules, self.log_probability)
    }
}

#[pymethods]
impl Prediction {
    #[new]
    #[pyo3(signature = (config, numbers, told = None))]
    fn new(config: &Bound<'_, PyDict>, numbers: Numbers, told: Option<Told>) -> PyResult<Prediction> {
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
        let (device, is_learned, basis) = told.unwrap_or_default();
        let bases = [TimeBasis::Learned, TimeBasis::Bounded].map(TimeBasis::word);
        let time_basis = bases.into_iter().find(|word| *word == basis).unwrap_or(TimeBasis::Absent.word());
        let (values, on) = (values.into(), Arc::new(On { device, is_learned }));
        Ok(Prediction { names, values, probability, unsure, time_us, joules, log_probability, on, time_basis })
    }

    /// Name of the device that it is for.
    #[getter]
    fn device(&self) -> &str {
        &self.on.device
    }

    /// Whether the model learned from data of the device.
    #[getter]
    fn device_learned(&self) -> bool {
        self.on.is_learned
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
        self.text() == other.text() && self.numbers() == other.numbers() && self.tell() == other.tell()
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
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>, Numbers, Told))> {
        let prediction = slf.get();
        Ok((slf.get_type().into_any(), (prediction.config(slf.py())?, prediction.numbers(), prediction.tell())))
    }
}
