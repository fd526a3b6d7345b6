//! What `seqtune.Predictor` asks: a model ready for one kernel on one device.

use crate::configs::{config_of, values_of};
use crate::device::Device;
use crate::errors::OrRaise;
use crate::kernel::Kernel;
use crate::model::Model;
use crate::numbers::{Real, Text, Whole};
use crate::prediction::{Names, On, Prediction};
use crate::problems::{problem_of, problems_of, problems_of_columns};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use seqtune_kernel::ConfigSpace;
use seqtune_kernel::error::input;
use seqtune_kernel::limits;
use seqtune_predict::model::Part;
use seqtune_predict::{Config, Objective, Predictor, Problem, Query, TimeBasis};
use std::sync::Arc;

/// Problems that are answered before signals are looked at.
const PORTION: usize = 1_920;

/// Top, width, objective, threads and, if that is asked for, by how much longer a config may take, of a question, of any numbers.
type Ask = (Whole, Whole, Text, Whole, Option<Real>);

/// A model ready for one kernel on one device.
#[pyclass(frozen, module = "seqtune._seqtune")]
pub struct Engine {
    predictor: Predictor,
    model: Arc<seqtune_predict::Model>,
    kernel: seqtune_predict::Kernel,
    device: seqtune_predict::Device,
    names: Arc<Names>,
    on: Arc<On>,
}

#[pymethods]
impl Engine {
    #[new]
    fn new(py: Python<'_>, model: &Bound<'_, Model>, kernel: &Kernel, device: &Device) -> PyResult<Engine> {
        let model = model.get().inner.clone();
        let (kernel, device) = (kernel.0.clone(), device.0.clone());
        let predictor = py.detach(|| Predictor::new(&kernel, &model)).or_raise(py)?;
        let names = Names::from_kernel(py, &kernel);
        let on = Arc::new(On { device: device.name.clone(), is_learned: predictor.trained_on(&device) });
        Ok(Engine { predictor, model, kernel, device, names, on })
    }

    /// Whether the model was trained on the device.
    #[getter]
    fn saw(&self) -> bool {
        self.predictor.trained_on(&self.device)
    }

    /// Of a device that the model never saw a sentence that says so, with what that costs; else `None`.
    #[getter]
    fn note(&self) -> Option<String> {
        self.predictor.grounds(&self.device).note()
    }

    /// What was shown of the model on the device for an objective, as JSON; `None` where that was not recorded.
    fn shown_json(&self, py: Python<'_>, objective: Text) -> PyResult<Option<String>> {
        let objective: Objective = objective.0.parse::<Objective>().or_raise(py)?;
        let shown = self.predictor.held_out_result(&self.device, objective);
        Ok(shown.and_then(|shown| serde_json::to_string(shown).ok()))
    }

    /// What the shape of a problem was to the training: `train`, `validation` or `test`.
    fn part(&self, problem: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let shape = self.kernel.shape(&problem_of(&self.kernel, problem)?);
        Ok(match self.model.meta.split.part(&shape) {
            Part::Train => "train",
            Part::Validation => "validation",
            Part::Test => "test",
        })
    }

    /// Predictions for each problem of a list.
    fn predict(&self, problems: &Bound<'_, PyList>, ask: Ask) -> PyResult<Vec<Vec<Prediction>>> {
        self.answer(problems.py(), &problems_of(&self.kernel, problems)?, &ask)
    }

    /// Predictions for each row of columns.
    fn predict_columns(&self, columns: &Bound<'_, PyDict>, ask: Ask) -> PyResult<Vec<Vec<Prediction>>> {
        self.answer(columns.py(), &problems_of_columns(&self.kernel, columns)?, &ask)
    }

    /// As few predictions for one problem as hold its best config with a probability.
    fn cover(&self, problem: &Bound<'_, PyAny>, share: Real, ask: Ask) -> PyResult<Vec<Prediction>> {
        let py = problem.py();
        let share = share.0;
        if !(share > 0.0 && share < 1.0) {
            return input(format!("share={share} is not between 0 and 1")).or_raise(py);
        }
        let problem = problem_of(&self.kernel, problem)?;
        let query = self.query(py, &ask)?;
        let found = py.detach(|| self.predictor.credible_set(&problem, &query, share)).or_raise(py)?;
        Ok(self.predictions(&problem, found))
    }

    /// Predictions for one problem, of given configs only; those that are illegal are left out.
    fn predict_among(
        &self,
        problem: &Bound<'_, PyAny>,
        configs: &Bound<'_, PyList>,
        ask: Ask,
    ) -> PyResult<Vec<Prediction>> {
        let py = configs.py();
        let problem = problem_of(&self.kernel, problem)?;
        let space = ConfigSpace::new(&self.kernel, &problem, &self.device);
        let configs = configs.iter().map(|c| config_of(&self.kernel, &c)).collect::<PyResult<Vec<_>>>()?;
        let legal: Vec<Config> = configs.into_iter().filter(|config| space.is_legal(config)).collect();
        if legal.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.query(py, &ask)?;
        let found = py.detach(|| self.predictor.predict_among(&problem, &query, &legal)).or_raise(py)?;
        Ok(self.predictions(&problem, found))
    }
}

impl Engine {
    /// What is asked, where it can be asked.
    fn query(&self, py: Python<'_>, ask: &Ask) -> PyResult<Query<'_>> {
        let (top, width, objective, threads, within_time) = ask;
        let objective: Objective = objective.0.parse::<Objective>().or_raise(py)?;
        self.model.check_objective(objective).or_raise(py)?;
        let within_time = within_time.as_ref().map(|share| share.0);
        if let Some(share) = within_time {
            self.model.check_objective(Objective::Energy).or_raise(py)?;
            let most = limits::MOST_LONGER;
            if !(0.0..=most).contains(&share) {
                let what = format!("within_time is a share of the time from 0 to {most}, such as 0.02, not {share}");
                return input(what).or_raise(py);
            }
        }
        let top = top.count("top", limits::WIDTH).or_raise(py)?;
        let width = width.count("width", limits::WIDTH).or_raise(py)?;
        let threads = threads.count("threads", limits::THREADS).or_raise(py)?;
        let width = self.predictor.stated_width(width);
        Ok(Query { objective, top, width, threads, within_time, ..Query::new(&self.device) })
    }

    fn answer(&self, py: Python<'_>, problems: &[Problem], ask: &Ask) -> PyResult<Vec<Vec<Prediction>>> {
        let query = self.query(py, ask)?;
        let mut all = Vec::with_capacity(problems.len());
        for portion in problems.chunks(PORTION) {
            let answers = py.detach(|| self.predictor.predict(portion, &query)).or_raise(py)?;
            let both = portion.iter().zip(answers);
            all.extend(both.map(|(problem, answer)| self.predictions(problem, answer)));
            py.check_signals()?;
        }
        Ok(all)
    }

    /// Candidates of one problem as Python has them.
    fn predictions(&self, problem: &Problem, answer: seqtune_predict::Prediction) -> Vec<Prediction> {
        let least = self.predictor.least_us(problem, &self.device);
        let shown = |c: seqtune_predict::Candidate| Prediction {
            names: self.names.clone(),
            values: values_of(&self.kernel, &c.config),
            probability: c.probability.unwrap_or(f64::NAN),
            unsure: answer.unsure,
            time_us: c.time_us,
            joules: c.joules,
            log_probability: c.log_probability,
            on: self.on.clone(),
            time_basis: TimeBasis::new(c.time_us, least).word(),
        };
        answer.candidates.into_iter().map(shown).collect()
    }
}
