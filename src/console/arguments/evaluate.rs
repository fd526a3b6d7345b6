//! The arguments that evaluations share, and those that `seqtune` documents and `seqtune-train` carries out.

use crate::answer::warn;
use crate::inputs;
use crate::value_parsers::{count, objective, on_off, part, quality};
use clap::ArgAction;
use seqtune_data::{KernelTable, Table};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Device, Kernel, Objective, limits};
use seqtune_predict::model::Part;
use seqtune_predict::{Model, Quality};
use std::path::PathBuf;

/// A model, and the datasets that it is evaluated on.
#[derive(clap::Args)]
pub struct ModelAndDatasets {
    /// Folder of a model, or of models of one kernel each
    pub model: PathBuf,
    /// Datasets: journals, packed files or folders
    #[arg(required = true)]
    pub datasets: Vec<PathBuf>,
    /// Kernel name or folder [default: the kernel named in the datasets]
    #[arg(long)]
    pub kernel: Option<String>,
    /// Form of the model to evaluate
    #[arg(long, value_parser = quality(), default_value_t = Quality::Auto)]
    pub quality: Quality,
}

impl ModelAndDatasets {
    /// Reads the datasets, by kernel.
    ///
    /// # Errors
    /// Those of [`inputs::tables`].
    pub fn tables(&self) -> Result<Vec<KernelTable>> {
        inputs::tables(&self.datasets, self.kernel.as_deref())
    }

    /// Reads the model to evaluate on a kernel; warns if it was trained on other data. With `all_problems`, it may have learned from none
    /// of these.
    ///
    /// # Errors
    /// The error of loading the model; `Error::Input` where it learned from what is to be new to it.
    pub fn load(&self, kernel: &Kernel, table: &Table, all_problems: bool) -> Result<Model> {
        let model = Model::load_as(&self.model, &kernel.name, self.quality)?;
        let unknown: Vec<&String> = table.hashes.iter().filter(|h| !model.meta.data.contains(h)).collect();
        if all_problems {
            if unknown.len() < table.hashes.len() {
                return input(
                    "the model learned from some of these data; leave out --all-problems to judge by what was held out of them",
                );
            }
            let learned = |d: &&Device| model.meta.devices.iter().any(|known| known.name == d.name);
            if let Some(device) = table.devices.iter().find(learned) {
                warn(&format!(
                    "the model learned from other data of {}; sizes that are in both are not new to it",
                    device.name
                ));
            }
            return Ok(model);
        }
        if !unknown.is_empty() {
            let way_out = if table.is_tuned() { "" } else { "; --all-problems judges by all that it never saw" };
            warn(&format!(
                "the model of {} learned from other data than {} of these {}: what it held out is judged, and baselines learn from the rest{way_out}",
                kernel.name,
                unknown.len(),
                table.hashes.len()
            ));
        }
        Ok(model)
    }
}

/// What only datasets of tuned configs have.
#[derive(clap::Args)]
#[command(next_help_heading = "Options for tuned datasets")]
pub struct TunedOptions {
    /// Evaluate only the problems of this device
    #[arg(long)]
    pub device: Option<String>,
    /// Part of the split to evaluate on [default: test]
    ///
    /// Use `validation` to choose settings without looking at the test part.
    #[arg(long, value_parser = part(), value_name = "PART")]
    pub part: Option<Part>,
    /// Second model, to evaluate and compare with the first
    ///
    /// The folder may also hold models of one kernel each.
    #[arg(long, value_name = "MODEL")]
    pub baseline_model: Option<PathBuf>,
    /// Evaluate raw probabilities, not those calibrated for a device
    ///
    /// By default probabilities are evaluated as `predict` prints them, lowered or calibrated for the device.
    #[arg(long)]
    pub raw_probabilities: bool,
}

impl TunedOptions {
    /// The first of these options that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--device", self.device.is_some()),
            ("--part", self.part.is_some()),
            ("--baseline-model", self.baseline_model.is_some()),
            ("--raw-probabilities", self.raw_probabilities),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// Finds the device whose problems are evaluated; `None` for all.
    ///
    /// # Errors
    /// `Error::Input` where the datasets hold none of its problems, else those of [`inputs::device`].
    pub fn device_in(&self, corpus: &[KernelTable]) -> Result<Option<Device>> {
        let device = self.device.as_deref().map(inputs::device).transpose()?;
        let holds = |device: &Device| corpus.iter().flat_map(|data| &data.table.devices).any(|d| d.name == device.name);
        match device {
            Some(device) if !holds(&device) => input(format!("the datasets hold no problem of {}", device.name)),
            device => Ok(device),
        }
    }

    /// Reads the second model, where one is named.
    ///
    /// # Errors
    /// The error of loading it.
    pub fn load_baseline(&self, kernel: &Kernel) -> Result<Option<Model>> {
        self.baseline_model.as_ref().map(|path| Model::load_as(path, &kernel.name, Quality::Auto)).transpose()
    }
}

/// Cross-validates sweeps with N folds
///
/// Each fold's model is trained without one part of the problem shapes and evaluated on that part.
#[derive(clap::Args)]
pub struct FoldsArgs {
    /// What is asked for.
    #[command(flatten)]
    pub cross: CrossValidation,
    /// Number of folds, 2 to 100
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = count(2..=limits::MEMBERS))]
    pub folds: usize,
}

/// Cross-validates sweeps by device
///
/// For each device, a model trained on the other devices is evaluated on it.
#[derive(clap::Args)]
pub struct DevicesArgs {
    /// What is asked for.
    #[command(flatten)]
    pub cross: CrossValidation,
}

/// What every cross-validation is asked for.
#[derive(clap::Args)]
pub struct CrossValidation {
    /// Sweeps of one kernel: journals, packed files or folders
    #[arg(required = true)]
    pub datasets: Vec<PathBuf>,
    /// Folder to keep and reuse the models in [default: not kept]
    ///
    /// The same command then resumes from the models of finished folds.
    #[arg(long, value_name = "FOLDER")]
    pub models: Option<PathBuf>,
    /// Kernel name or folder [default: the kernel named in the datasets]
    #[arg(long)]
    pub kernel: Option<String>,
    /// Quantity by which configs are compared
    #[arg(long, value_parser = objective(), default_value_t = Objective::Time)]
    pub objective: Objective,
    /// Also evaluate LightGBM rankers, fitted to the same problems
    #[arg(long, value_name = "on|off", action = ArgAction::Set, value_parser = on_off(), default_value = "on", hide_possible_values = true)]
    pub lightgbm: bool,
    /// Also distil each fold's model and evaluate the small decoder
    #[arg(long)]
    pub distil: bool,
    /// Number of shapes to list that lose most, 0 to 1,000,000
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = count(0..=limits::SAMPLE))]
    pub worst: usize,
    /// Seed of the models and of all fitted trees
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Opens what fits the trees, where they are wanted.
///
/// # Errors
/// `Error::Unavailable` where LightGBM is wanted and not installed.
pub fn trees(lightgbm: bool) -> Result<Option<LightGbm>> {
    if lightgbm { LightGbm::open().map(Some) } else { Ok(None) }
}
