//! `seqtune.Space`: the legal configs of a problem on a device.

use crate::configs::{config_of, dict_of, prefix_of, value_of};
use crate::device::Device;
use crate::errors::OrRaise;
use crate::kernel::Kernel;
use crate::numbers::{Seed, Whole};
use crate::problems::{self, problem_of};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand::SeedableRng;
use seqtune_kernel::limits;
use seqtune_kernel::{Choice, ConfigSpace, Count};
use seqtune_predict::Config;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The legal configs of a problem on a device.
///
/// >>> import seqtune
/// >>> space = seqtune.Space("gemm", "M=300,N=200,K=100", "H200")
/// >>> space.count()
/// 4652796
#[pyclass(frozen, module = "seqtune")]
pub struct Space {
    kernel: Kernel,
    problem: seqtune_predict::Problem,
    device: Device,
    space: Mutex<ConfigSpace>,
}

impl Space {
    fn space(&self) -> MutexGuard<'_, ConfigSpace> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_space(kernel: Kernel, problem: seqtune_predict::Problem, device: Device) -> Space {
        let space = Mutex::new(ConfigSpace::new(&kernel.0, &problem, &device.0));
        Space { kernel, problem, device, space }
    }
}

/// A kernel, or the name or folder of one.
fn kernel_of(given: &Bound<'_, PyAny>) -> PyResult<Kernel> {
    match given.cast::<Kernel>() {
        Ok(kernel) => Ok(kernel.get().clone()),
        Err(_) => given.py().get_type::<Kernel>().call1((given,))?.extract().map_err(PyErr::from),
    }
}

/// A device, or the name of one.
fn device_of(given: &Bound<'_, PyAny>) -> PyResult<Device> {
    match given.cast::<Device>() {
        Ok(device) => Ok(device.get().clone()),
        Err(_) => given.py().get_type::<Device>().call1((given,))?.extract().map_err(PyErr::from),
    }
}

#[pymethods]
impl Space {
    #[new]
    fn new(kernel: &Bound<'_, PyAny>, problem: &Bound<'_, PyAny>, device: &Bound<'_, PyAny>) -> PyResult<Space> {
        let kernel = kernel_of(kernel)?;
        let problem = problem_of(&kernel.0, problem)?;
        Ok(Space::make_space(kernel, problem, device_of(device)?))
    }

    /// The kernel.
    #[getter]
    fn kernel(&self) -> Kernel {
        self.kernel.clone()
    }

    /// The problem, with every field named.
    #[getter]
    fn problem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        problems::dict_of(py, &self.kernel.0, &self.problem)
    }

    /// The device.
    #[getter]
    fn device(&self) -> Device {
        self.device.clone()
    }

    /// Number of legal configs: a whole number, a float where it is beyond 2**53, `None` where the constraints are too entangled to count.
    fn count<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match py.detach(|| self.space().counter().total()) {
            Count::Exactly(n) => Some(n.into_pyobject(py)?.into_any()),
            Count::About(n) => Some(n.into_pyobject(py)?.into_any()),
            Count::AtMost(_) => None,
        })
    }

    /// Whether every constraint holds of a config, which names each parameter with one of its values.
    fn is_legal(&self, config: &Bound<'_, PyAny>) -> PyResult<bool> {
        let config = config_of(&self.kernel.0, config)?;
        Ok(self.space().is_legal(&config))
    }

    /// The first constraint that a config breaks, with its reason; `None` of a legal one.
    fn violation(&self, config: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let config = config_of(&self.kernel.0, config)?;
        Ok(self.space().violation(&config))
    }

    /// Up to `n` different legal configs, drawn uniformly; the same for the same seed, also on the command line.
    #[pyo3(signature = (n, seed = Seed(1)), text_signature = "($self, n, seed=1)")]
    fn sample<'py>(&self, py: Python<'py>, n: Whole, seed: Seed) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let n = n.count("n", limits::SAMPLE).or_raise(py)?;
        let draw = || self.space().counter().sample_distinct(n, &mut rand_chacha::ChaCha8Rng::seed_from_u64(seed.0));
        let drawn = py.detach(draw).or_raise(py)?;
        drawn.iter().map(|config| dict_of(py, &self.kernel.0, config)).collect()
    }

    /// Values of the next parameter that some legal config has behind `prefix`: values of the first parameters, in their order or as a
    /// dict.
    fn completions<'py>(&self, prefix: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = prefix.py();
        let prefix = prefix_of(&self.kernel.0, prefix)?;
        let open = py.detach(|| self.space().completions(&prefix)).or_raise(py)?;
        let parameter = &self.kernel.0.parameters[prefix.len()];
        open.iter().map(|choice| value_of(py, parameter, choice as usize)).collect()
    }

    fn __contains__(&self, config: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.is_legal(config)
    }

    fn __iter__(slf: Bound<'_, Space>) -> Configs {
        Configs { space: slf.unbind(), prefix: Vec::new(), open: Vec::new(), begun: false }
    }

    fn __repr__(&self) -> String {
        let (kernel, device) = (&self.kernel.0, &self.device.0);
        format!("Space({:?}, {:?}, {:?})", kernel.name, kernel.brief_problem(&self.problem), device.name)
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(slf: &Bound<'py, Space>) -> PyResult<(Bound<'py, PyAny>, (Kernel, Bound<'py, PyDict>, Device))> {
        let space = slf.get();
        let arguments = (space.kernel(), space.problem(slf.py())?, space.device());
        Ok((slf.get_type().into_any(), arguments))
    }
}

/// A walk through the legal configs of a space, in the order of their values.
#[pyclass(module = "seqtune._seqtune")]
pub struct Configs {
    space: Py<Space>,
    prefix: Vec<Choice>,
    /// By position: what is left to be chosen there, the next one last.
    open: Vec<Vec<Choice>>,
    begun: bool,
}

#[pymethods]
impl Configs {
    fn __iter__(slf: PyRef<'_, Configs>) -> PyRef<'_, Configs> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let space = self.space.clone_ref(py);
        let space = space.get();
        let found = py.detach(|| self.advance(&space.space())).or_raise(py)?;
        found.map(|config| dict_of(py, &space.kernel.0, &config)).transpose()
    }
}

impl Configs {
    /// The next config: look-ahead leads to one along every value that is open.
    fn advance(&mut self, space: &ConfigSpace) -> seqtune_predict::Result<Option<Config>> {
        let parameters = space.kernel.parameters.len();
        if !std::mem::replace(&mut self.begun, true) {
            self.open.push(space.completions(&[])?.iter().collect::<Vec<_>>().into_iter().rev().collect());
        }
        while let Some(at) = self.open.len().checked_sub(1) {
            self.prefix.truncate(at);
            let Some(choice) = self.open[at].pop() else {
                self.open.pop();
                continue;
            };
            self.prefix.push(choice);
            if self.prefix.len() == parameters {
                return Ok(Some(Config(self.prefix.clone())));
            }
            let next: Vec<Choice> = space.completions(&self.prefix)?.iter().collect();
            self.open.push(next.into_iter().rev().collect());
        }
        Ok(None)
    }
}
