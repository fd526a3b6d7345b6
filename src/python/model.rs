//! `seqtune.Model`: the weights and all that is known of them.

use crate::device::{Device, refuse_live};
use crate::errors::OrRaise;
use crate::numbers::{Place, Text};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seqtune_kernel::error::quote;
use seqtune_kernel::files::read;
use seqtune_kernel::limits;
use seqtune_predict::{Error, Quality, Result, device_for};
use std::borrow::Cow;
use std::sync::Arc;

/// The model of a matrix product on CPUs that ships with the package, whole and distilled.
static GEMM_CPU: [&[u8]; 2] = [
    include_bytes!("../../models/gemm-cpu/model.safetensors"),
    include_bytes!("../../models/gemm-cpu/distilled.safetensors"),
];

/// A trained model: `Model("folder")`, or the file in it.
///
/// A folder with models of several kernels, such as MIOpen's, holds one folder for each: `Model("models/miopen", kernel="ConvAsm1x1U")`.
/// Where a folder holds a whole model and the small one that was distilled from it, `quality` chooses: `auto` the small one where it was found
/// level with the whole, `best` the whole, `fast` the small one.
#[pyclass(frozen, module = "seqtune")]
pub struct Model {
    pub(crate) inner: Arc<seqtune_predict::Model>,
    /// The file it came from, for pickling.
    bytes: Arc<Cow<'static, [u8]>>,
}

impl Model {
    fn from_owned_bytes(bytes: Cow<'static, [u8]>) -> Result<Model> {
        let inner = Arc::new(seqtune_predict::Model::from_bytes(&bytes)?);
        Ok(Model { inner, bytes: Arc::new(bytes) })
    }
}

/// Which form of a model is asked for.
fn quality_of(name: &str) -> Result<Quality> {
    let named = [Quality::Auto, Quality::Best, Quality::Fast].into_iter().find(|quality| quality.to_string() == name);
    named.ok_or_else(|| Error::Input(format!("quality `{}` is none of auto, best, fast", quote(name))))
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (path, kernel = None, quality = Text("auto".into())), text_signature = "(path, kernel=None, quality='auto')")]
    fn new(py: Python<'_>, path: Place, kernel: Option<Text>, quality: Text) -> PyResult<Model> {
        let load = || {
            let file = seqtune_predict::Model::file_for(
                &path.0,
                kernel.as_ref().map(|kernel| kernel.0.as_str()),
                quality_of(&quality.0)?,
            )?;
            let bytes = read(&file, limits::MODEL)?;
            Model::from_owned_bytes(Cow::Owned(bytes)).map_err(|e| e.at_place(file.display()))
        };
        py.detach(load).or_raise(py)
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Model> {
        py.detach(|| Model::from_owned_bytes(Cow::Owned(bytes))).or_raise(py)
    }

    /// The model that ships with the package under this name.
    #[staticmethod]
    #[pyo3(signature = (name, quality = Text("auto".into())), text_signature = "(name, quality='auto')")]
    fn load_shipped(py: Python<'_>, name: Text, quality: Text) -> PyResult<Model> {
        let form = match quality_of(&quality.0).or_raise(py)? {
            Quality::Best => GEMM_CPU[0],
            // found level with the whole: tests hold it
            Quality::Auto | Quality::Fast => GEMM_CPU[1],
        };
        let name = quote(&name.0);
        match name.as_str() {
            "gemm-cpu" => py.detach(|| Model::from_owned_bytes(Cow::Borrowed(form))).or_raise(py),
            _ => Err(Error::File(format!("no model `{name}` ships with the package: name gemm-cpu, or open a folder")))
                .or_raise(py),
        }
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// Names of the kernels that it was made for.
    #[getter]
    fn kernels(&self) -> Vec<&str> {
        self.inner.meta.kernels()
    }

    /// Devices that it was trained on.
    #[getter]
    fn devices(&self) -> Vec<Device> {
        self.inner.meta.devices.iter().cloned().map(Device).collect()
    }

    /// The device that it is asked about: the one of this name that it was trained on or that is described, or the one that it was trained on;
    /// of several the one that is live on this machine.
    #[pyo3(signature = (name = None))]
    fn device(&self, py: Python<'_>, name: Option<Text>) -> PyResult<Device> {
        let name = name.map(|name| name.0);
        let find = || {
            if name.as_deref() == Some(seqtune_devices::host::ID) {
                return seqtune_devices::host::describe().map(Device);
            }
            refuse_live(name.as_deref().unwrap_or_default())?;
            device_for(&self.inner.meta.devices, name.as_deref(), seqtune_devices::live::live_device).map(Device)
        };
        py.detach(find).or_raise(py)
    }

    /// What it was trained for: `time`, `energy`, `edp`.
    #[getter]
    fn objectives(&self) -> Vec<String> {
        self.inner.meta.objectives.iter().map(|o| o.to_string()).collect()
    }

    /// Its description: how, when and of what data it was trained, and its scores.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.inner.meta).unwrap_or_default();
        py.import("json")?.call_method1("loads", (text,))
    }

    /// Whether it is the small one that a whole model was distilled into.
    #[getter]
    fn is_distilled(&self) -> bool {
        self.inner.meta.distilled.is_some()
    }

    /// Number of weights.
    #[getter]
    fn size(&self) -> usize {
        self.inner.size()
    }

    /// What tells it from others, in 16 hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        self.inner.digest()
    }

    fn __repr__(&self) -> String {
        let devices: Vec<&str> = self.inner.meta.devices.iter().map(|d| d.name.as_str()).collect();
        format!("<Model of {} on {}>", self.kernels().join(", "), devices.join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Model>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }
}
