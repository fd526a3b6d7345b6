//! `seqtune.Chooser`: a config for each call, by predictions and reported times.

use crate::configs::values_of;
use crate::device::Device;
use crate::errors::OrRaise;
use crate::kernel::Kernel;
use crate::model::Model;
use crate::numbers::{Place, Real, Text, Whole};
use crate::prediction::Names;
use crate::problems::problem_of;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seqtune_choose::{Goal, MOST_CONFIGS as MOST, Measured, Options};
use seqtune_predict::Objective;
use std::sync::Arc;

/// A config that was chosen for a call.
#[pyclass(frozen, module = "seqtune._seqtune")]
pub struct Pick {
    inner: seqtune_choose::Pick,
    names: Arc<Names>,
    values: Box<[i64]>,
}

#[pymethods]
impl Pick {
    /// Values by parameter.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.names.dict(py, &self.values)
    }

    /// Whether it is the settled choice; otherwise its time is awaited.
    #[getter(settled)]
    fn is_settled(&self) -> bool {
        self.inner.is_settled()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let settled = if self.inner.is_settled() { "True" } else { "False" };
        Ok(format!("Pick({}, settled={settled})", self.config(py)?.repr()?))
    }
}

/// What is known of a config: config, microseconds, spread, joules, observations, failed.
type Known<'py> = (Bound<'py, PyDict>, f64, f64, f64, f64, bool);

/// The native half of `seqtune.Chooser`.
#[pyclass(frozen, module = "seqtune._seqtune")]
pub struct Choices {
    chooser: seqtune_choose::Chooser,
    kernel: seqtune_predict::Kernel,
    names: Arc<Names>,
}

#[pymethods]
impl Choices {
    #[new]
    #[allow(clippy::too_many_arguments)] // named in Python
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        kernel: &Kernel,
        device: &Device,
        top: Whole,
        memory: Option<Place>,
        driver: Text,
        setup_us: Real,
        tolerance: Real,
    ) -> PyResult<Choices> {
        let model = model.get().inner.clone();
        let (kernel, device) = (kernel.0.clone(), device.0.clone());
        let top = top.count("top", MOST).or_raise(py)?;
        let (driver, setup_us, tolerance) = (driver.0, setup_us.0, tolerance.0);
        let memory = memory.map(|memory| memory.0);
        let options = Options { top, memory, driver, setup_us, tolerance, ..Options::default() };
        let open = || seqtune_choose::Chooser::of_model(&kernel, &model, &device, options);
        let chooser = py.detach(open).or_raise(py)?;
        let names = Names::from_kernel(py, &kernel);
        Ok(Choices { chooser, kernel, names })
    }

    fn pick(&self, problem: &Bound<'_, PyAny>) -> PyResult<Pick> {
        let py = problem.py();
        let problem = problem_of(&self.kernel, problem)?;
        let inner = py.detach(|| self.chooser.pick(&problem)).or_raise(py)?;
        let values = values_of(&self.kernel, inner.config());
        Ok(Pick { inner, names: self.names.clone(), values })
    }

    fn report(&self, py: Python<'_>, pick: &Pick, time_us: Real, joules: Option<Real>) -> PyResult<()> {
        let (time_us, joules) = (time_us.0, joules.map(|joules| joules.0));
        self.chooser.report(&pick.inner, Measured { time_us, joules }).or_raise(py)
    }

    fn report_failure(&self, pick: &Pick) {
        self.chooser.book_failure(&pick.inner);
    }

    fn set_goal(&self, py: Python<'_>, objective: Text, limits: [Option<Real>; 4]) -> PyResult<()> {
        let [time_us, power_w, joules, within_time] = limits.map(|limit| limit.map(|limit| limit.0));
        let objective: Objective = objective.0.parse::<Objective>().or_raise(py)?;
        self.chooser.set_goal(Goal { objective, time_us, power_w, joules, within_time }).or_raise(py)
    }

    fn settled_config<'py>(&self, problem: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let config = self.chooser.settled_config(&problem_of(&self.kernel, problem)?);
        config.map(|config| self.names.dict(problem.py(), &values_of(&self.kernel, &config))).transpose()
    }

    /// The settled place, calls, the regret bound, and what is known of each config.
    #[allow(clippy::type_complexity)]
    fn standing<'py>(
        &self,
        problem: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Option<usize>, u64, f64, Vec<Known<'py>>)>> {
        let py = problem.py();
        let Some(standing) = self.chooser.standing(&problem_of(&self.kernel, problem)?) else { return Ok(None) };
        let known = |c: &seqtune_choose::ConfigStanding| {
            let config = self.names.dict(py, &values_of(&self.kernel, &c.config))?;
            Ok((config, c.time_us, c.spread, c.joules, c.observations, c.failed))
        };
        let configs = standing.configs.iter().map(known).collect::<PyResult<_>>()?;
        Ok(Some((standing.settled, standing.calls, standing.regret_bound, configs)))
    }

    fn save(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.chooser.save()).or_raise(py)
    }

    fn warnings(&self) -> Vec<String> {
        self.chooser.warnings()
    }
}
