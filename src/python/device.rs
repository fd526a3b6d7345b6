//! `seqtune.Device`: hardware as plain data.

use crate::errors::OrRaise;
use crate::numbers::{Real, Text, show};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seqtune_kernel::LIMIT_NAMES;
use seqtune_kernel::Limits;
use seqtune_kernel::error::quote;
use seqtune_predict::Error;

/// A device: a name and its limits, as constraints and models see them.
///
/// `Device("H100")` looks a shipped description up by its name, with or without spaces and the maker's words, in any case
/// (`Device("nvidia rtx4090")`); `Device("host")` are the processors of this machine; `Device("mine.toml")` reads a file of `[[device]]` tables.
///
/// >>> import seqtune
/// >>> seqtune.Device("H200").limits["local_memory"]
/// 49152.0
#[pyclass(frozen, module = "seqtune", eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub struct Device(pub seqtune_predict::Device);

/// Refuses the id of a device of this machine.
pub(crate) fn refuse_live(name: &str) -> seqtune_predict::Result<()> {
    match name == "live" || name.starts_with("opencl:") || name.starts_with("cuda:") || name.starts_with("hip:") {
        true => Err(Error::Unavailable("a device of this machine is opened by the command line only: `seqtune devices --json` tells its limits, for Device.from_limits; `host` are its processors".into())),
        false => Ok(()),
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new(py: Python<'_>, name: Text) -> PyResult<Device> {
        let name = name.0.as_str();
        let found = match name {
            seqtune_devices::host::ID => seqtune_devices::host::describe(),
            _ => refuse_live(name).and_then(|()| seqtune_predict::Device::find_described(name)),
        };
        found.map(Device).or_raise(py)
    }

    /// A device by its limits: `Device.from_limits("mine", max_group_items=1024, local_memory=49152)`.
    ///
    /// Constraints that need a limit that is not given do not hold anything back.
    #[staticmethod]
    #[pyo3(signature = (name, **limits))]
    fn from_limits(py: Python<'_>, name: Text, limits: Option<&Bound<'_, PyDict>>) -> PyResult<Device> {
        let shown_name = quote(&name.0);
        let mut given = serde_json::Map::new();
        for (limit, value) in limits.into_iter().flatten() {
            // JSON has no infinity: it would be read as a limit that is not known
            let number = value.extract::<Real>()?.0;
            if !number.is_finite() {
                let sentence = format!(
                    "device `{shown_name}`: {} is {number}, which is no limit; leave out what is not known",
                    show(&limit)
                );
                return Err(Error::Input(sentence)).or_raise(py);
            }
            given.insert(show(&limit), number.into());
        }
        let known = LIMIT_NAMES.join(", ");
        if let Some(unknown) = given.keys().find(|limit| !LIMIT_NAMES.contains(&limit.as_str())) {
            return Err(Error::Input(format!(
                "device `{shown_name}`: there is no limit `{unknown}` (there are {known})"
            )))
            .or_raise(py);
        }
        let limits: Limits = serde_json::from_value(given.into())
            .map_err(|e| Error::Input(format!("device `{shown_name}`: {e}")))
            .or_raise(py)?;
        let text = serde_json::json!({"name": name.0, "limits": limits});
        Device::from_json(py, Text(text.to_string()))
    }

    /// Names of the described devices.
    #[staticmethod]
    fn list(py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(seqtune_predict::Device::all_shipped().or_raise(py)?.into_iter().map(|d| d.name).collect())
    }

    /// A device as `to_json` writes it.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: Text) -> PyResult<Device> {
        let device = || {
            let device: seqtune_predict::Device =
                serde_json::from_str(&text.0).map_err(|e| Error::Input(format!("is not a device: {e}")))?;
            device.check()?;
            Ok(Device(device))
        };
        device().or_raise(py)
    }

    /// All that is known of the device, as a JSON object.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// Short unique name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Manufacturer; empty where unknown.
    #[getter]
    fn vendor(&self) -> &str {
        &self.0.vendor
    }

    /// Architecture as the compiler names it, such as `sm_90`.
    #[getter]
    fn architecture(&self) -> &str {
        &self.0.architecture
    }

    /// API and driver that opened it; empty for a description.
    #[getter]
    fn driver(&self) -> &str {
        &self.0.driver
    }

    /// The limits that are known, by name.
    #[getter]
    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in LIMIT_NAMES.iter().zip(self.0.limits.values()) {
            if let Some(value) = value {
                dict.set_item(name, value)?;
            }
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("Device({:?})", self.0.name)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Device>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json(),)))
    }
}
