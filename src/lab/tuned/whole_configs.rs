//! Classifiers whose classes are the whole configs that occur in training: what is done where configs are names of instances.

use seqtune_data::MeasuredProblem;
use seqtune_eval::baselines::lightgbm::{LightGbm, Samples, Task};
use seqtune_eval::tuned::answers::{Answer, TOPS, TestSet, tuned_config};
use seqtune_fit::extra_trees::{self, Targets};
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, Objective};
use seqtune_predict::features::{Featurizer, Instance};

/// Extremely randomised trees that are fitted.
const TREES: usize = 60;

/// Problems of one kernel as rows of the model's quantities of problem and device, with the classes of their configs.
pub struct WholeConfigs<'a> {
    asked: &'a TestSet<'a>,
    featurizer: &'a Featurizer,
    /// Those that occur in training, in order.
    classes: Vec<&'a Config>,
    /// Of the problems to learn from.
    train: Vec<Vec<f32>>,
    /// Of the judged problems.
    judged: Vec<Vec<f32>>,
    threads: usize,
}

impl<'a> WholeConfigs<'a> {
    /// Of the problems of `asked`.
    ///
    /// # Errors
    /// `Error::Failed` where a thread panics.
    pub fn new(asked: &'a TestSet, featurizer: &'a Featurizer, threads: usize) -> Result<WholeConfigs<'a>> {
        let mut classes: Vec<&Config> = asked.train.iter().map(|t| tuned_config(t)).collect();
        classes.sort_unstable();
        classes.dedup();
        let rows = |tried: &[&MeasuredProblem]| rows(asked, featurizer, tried, threads);
        let (train, judged) = (rows(&asked.train)?, rows(&asked.judged)?);
        Ok(WholeConfigs { asked, featurizer, classes, train, judged, threads })
    }

    fn class(&self, tried: &MeasuredProblem) -> Option<usize> {
        self.classes.binary_search(&tuned_config(tried)).ok()
    }

    /// The legal classes of each judged problem, the most probable first.
    fn answers(&self, probabilities: &[Vec<f32>]) -> Result<Vec<Answer>> {
        let asked: Vec<(&MeasuredProblem, &Vec<f32>)> = self.asked.judged.iter().copied().zip(probabilities).collect();
        let answer = |(tried, said): &(&MeasuredProblem, &Vec<f32>)| {
            let mut order: Vec<usize> = (0..self.classes.len()).collect();
            order.sort_by(|a, b| said[*b].total_cmp(&said[*a]));
            let legal = order.into_iter().map(|class| self.classes[class]).filter(|c| self.asked.is_legal(c, tried));
            let ranking = legal.take(TOPS[TOPS.len() - 1]).cloned().collect();
            Ok(Answer { ranking, log_probability: None, steps: None, first: None, time_us: None })
        };
        on_threads(&asked, self.threads, answer)
    }

    /// Answers of extremely randomised trees.
    ///
    /// # Errors
    /// `Error::Failed` where a thread panics.
    pub fn by_extra_trees(&self, seed: u64) -> Result<Vec<Answer>> {
        let labels: Vec<u32> =
            self.asked.train.iter().filter_map(|t| self.class(t)).map(|class| class as u32).collect();
        let samples = extra_trees::TreeSamples {
            columns: self.train.first().map_or(0, Vec::len),
            rows: &self.train.concat(),
            targets: Targets::Classes(&labels, self.classes.len()),
        };
        let trees = extra_trees::fit(&samples, TREES, self.threads, seed)?;
        let said: Vec<Vec<f32>> = self.judged.iter().map(|row| trees.predict(row)).collect();
        self.answers(&said)
    }

    /// Answers of LightGBM; the validation problems stop its fit.
    ///
    /// # Errors
    /// `Error::Failed` where LightGBM refuses the samples.
    pub fn by_lightgbm(&self, library: &LightGbm, seed: u64) -> Result<Vec<Answer>> {
        if self.classes.len() < 2 {
            return self.answers(&vec![vec![1.0; self.classes.len()]; self.asked.judged.len()]);
        }
        let samples = |tried: &[&MeasuredProblem], rows: &[Vec<f32>]| {
            let mut samples = Samples::default();
            for (t, row) in tried.iter().zip(rows) {
                // a config that training never saw cannot judge the fit
                let Some(class) = self.class(t) else { continue };
                samples.columns = row.len();
                samples.rows.extend(row.iter().copied().map(f64::from));
                samples.labels.push(class as f32);
            }
            samples
        };
        let train = samples(&self.asked.train, &self.train);
        let valid = &self.asked.validation;
        let valid = samples(valid, &rows(self.asked, self.featurizer, valid, self.threads)?);
        let valid = if valid.labels.is_empty() { &train } else { &valid };
        let trees = library.fit(&train, valid, Task::Classes(self.classes.len()), self.threads, seed)?;
        let rows: Vec<f64> = self.judged.concat().into_iter().map(f64::from).collect();
        let said = trees.predict(&rows, self.threads)?;
        let said: Vec<Vec<f32>> =
            said.chunks(self.classes.len()).map(|row| row.iter().map(|p| *p as f32).collect()).collect();
        self.answers(&said)
    }
}

/// The model's quantities of problems and their devices, unscaled.
fn rows(asked: &TestSet, featurizer: &Featurizer, tried: &[&MeasuredProblem], threads: usize) -> Result<Vec<Vec<f32>>> {
    let row = |t: &&MeasuredProblem| {
        let instance = Instance::new(asked.kernel, &t.problem, asked.device(t));
        Ok(featurizer.quantities(&instance, Objective::Time))
    };
    on_threads(tried, threads, row)
}
