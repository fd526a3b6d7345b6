//! Datasets in memory: results by problem and device, and their split by shape.

use crate::dataset::NamedDataset;
use crate::record::Outcome;
use crate::stats::quantile;
use crate::version::check_kernel;
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Device, Kernel, Problem};
use seqtune_predict::confidence::KnownCost;
use seqtune_predict::model::{Part, Split};
use std::collections::{BTreeSet, HashMap};

/// A config with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedConfig {
    /// The config.
    pub config: Config,
    /// What came of it.
    pub outcome: Outcome,
}

/// Results of one problem on one device.
#[derive(Clone, Debug)]
pub struct MeasuredProblem {
    /// Problem of the kernel.
    pub problem: Problem,
    /// Index into [`Table::devices`].
    pub device: usize,
    /// Index into [`Table::hashes`].
    pub dataset: usize,
    /// Configs with their outcomes.
    pub results: Vec<TriedConfig>,
    /// Time of the vendor's library in microseconds, where measured.
    pub library_us: Option<f64>,
}

impl MeasuredProblem {
    /// Valid configs with their cost under `objective`, the cheapest first.
    pub fn costs(&self, objective: Objective) -> Vec<KnownCost<'_>> {
        let mut costs = Vec::new();
        for TriedConfig { config, outcome } in &self.results {
            costs.extend(outcome.cost(objective).map(|cost| KnownCost { config, cost }));
        }
        costs.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        costs
    }

    /// Valid configs, those of the least cost under `objective` first.
    pub fn configs(&self, objective: Objective) -> Vec<Config> {
        self.costs(objective).into_iter().map(|known| known.config.clone()).collect()
    }

    /// What came of a config; `None` where it was not tried.
    pub fn outcome(&self, config: &Config) -> Option<&Outcome> {
        self.results.iter().find(|trial| trial.config == *config).map(|trial| &trial.outcome)
    }

    /// Config of an external tuner with its outcome; `None` where the problem was swept.
    pub fn tuned_config(&self) -> Option<&TriedConfig> {
        self.results.iter().find(|trial| matches!(trial.outcome, Outcome::Tuned(_)))
    }
}

/// A kernel with its data.
#[derive(Clone, Debug)]
pub struct KernelTable {
    /// The kernel.
    pub kernel: Kernel,
    /// Its data.
    pub table: Table,
}

impl KernelTable {
    /// Puts a kernel and its data together.
    pub fn new(kernel: Kernel, table: Table) -> KernelTable {
        KernelTable { kernel, table }
    }
}

/// Datasets of one kernel, by problem.
#[derive(Clone, Debug)]
pub struct Table {
    /// Distinct devices of the datasets.
    pub devices: Vec<Device>,
    /// Measured problems, in the order of the datasets.
    pub problems: Vec<MeasuredProblem>,
    /// Hashes of the datasets, in their order.
    pub hashes: Vec<String>,
}

impl Table {
    /// Builds a table from datasets of `kernel`.
    ///
    /// # Errors
    /// `Error::Input` for a dataset of another kernel or space, `Error::Problem` or `Error::Config` for a record that `kernel` rejects.
    pub fn new(kernel: &Kernel, datasets: &[NamedDataset]) -> Result<Table> {
        let mut table = Table { devices: Vec::new(), problems: Vec::new(), hashes: Vec::new() };
        for NamedDataset { place, dataset } in datasets {
            let header = &dataset.header;
            check_kernel(kernel, place, dataset)?;
            let space = kernel.space_hash_on(&header.device);
            let device = match table.devices.iter().position(|d| *d == header.device) {
                Some(i) => i,
                None => {
                    let other =
                        table.devices.iter().find(|d| d.name == header.device.name && kernel.space_hash_on(d) != space);
                    if let Some(other) = other {
                        return input(format!(
                            "{place}: was measured through {}, other data of the same device through {}, and these compile different programs of kernel {}: use data of one of them",
                            header.device.driver, other.driver, kernel.name
                        ));
                    }
                    table.devices.push(header.device.clone());
                    table.devices.len() - 1
                }
            };
            table.hashes.push(dataset.hash());
            let mut index: HashMap<&str, usize> = HashMap::new();
            for (i, record) in dataset.records.iter().enumerate() {
                let line = || format!("{place}, record {}", i + 1);
                let at = match index.get(&*record.problem) {
                    Some(at) => *at,
                    None => {
                        let problem = kernel.problem(&record.problem).map_err(|e| e.at_place(line()))?;
                        let dataset = table.hashes.len() - 1;
                        table.problems.push(MeasuredProblem {
                            problem,
                            device,
                            dataset,
                            results: Vec::new(),
                            library_us: None,
                        });
                        index.insert(&record.problem, table.problems.len() - 1);
                        table.problems.len() - 1
                    }
                };
                let config = kernel.config(&record.config).map_err(|e| e.at_place(line()))?;
                table.problems[at].results.push(TriedConfig { config, outcome: record.outcome.clone() });
                if let Some(us) = record.observed.library_us {
                    table.problems[at].library_us = Some(us as f64);
                }
            }
        }
        Ok(table)
    }

    /// Copies the table with only the given problems, their devices and their datasets.
    pub fn with_problems(&self, tried: Vec<&MeasuredProblem>) -> Table {
        let used = |of: fn(&MeasuredProblem) -> usize| -> Vec<usize> {
            let used: BTreeSet<usize> = tried.iter().map(|t| of(t)).collect();
            used.into_iter().collect()
        };
        let (devices, datasets) = (used(|t| t.device), used(|t| t.dataset));
        let place = |among: &[usize], old: usize| among.binary_search(&old).unwrap_or(0);
        let renumbered = |t: &MeasuredProblem| MeasuredProblem {
            device: place(&devices, t.device),
            dataset: place(&datasets, t.dataset),
            ..t.clone()
        };
        Table {
            problems: tried.iter().map(|t| renumbered(t)).collect(),
            devices: devices.iter().map(|d| self.devices[*d].clone()).collect(),
            hashes: datasets.iter().map(|d| self.hashes[*d].clone()).collect(),
        }
    }

    /// Number of records.
    pub fn records(&self) -> usize {
        self.problems.iter().map(|t| t.results.len()).sum()
    }

    /// Relative uncertainty of a typical config's time; `None` where no config has three samples.
    ///
    /// It is the median, over configs of three samples or more, of the interquartile range divided by the median time and the square root
    /// of the number of samples.
    pub fn spread(&self) -> Option<f64> {
        let mut spreads = Vec::new();
        for TriedConfig { outcome, .. } in self.problems.iter().flat_map(|t| &t.results) {
            if let Outcome::Measured(m) = outcome
                && m.samples_us.len() >= 3
            {
                let quartiles = m.quantile_us(0.75) - m.quantile_us(0.25);
                spreads.push(quartiles / m.median_us() / (m.samples_us.len() as f64).sqrt());
            }
        }
        spreads.sort_by(f64::total_cmp);
        (!spreads.is_empty()).then(|| quantile(&spreads, 0.5))
    }

    /// Checks whether every problem holds the choice of a tuner instead of a sweep.
    pub fn is_tuned(&self) -> bool {
        self.problems.iter().all(|t| t.tuned_config().is_some())
    }

    /// Names of the devices of which a tuner's choice has a time.
    pub fn timed_devices(&self) -> BTreeSet<String> {
        let has_time = |t: &&MeasuredProblem| t.tuned_config().is_some_and(|trial| trial.outcome.time_us().is_some());
        let devices: BTreeSet<usize> = self.problems.iter().filter(has_time).map(|t| t.device).collect();
        devices.into_iter().map(|at| self.devices[at].name.clone()).collect()
    }

    /// Whether it holds all datasets of these hashes, and no other.
    pub fn is_exactly(&self, hashes: &[String]) -> bool {
        self.hashes.iter().collect::<BTreeSet<_>>() == hashes.iter().collect()
    }

    /// Indices of the problems in `part` of the split that have a tuner's choice.
    pub fn tuned_part(&self, kernel: &Kernel, split: &Split, part: Part) -> Vec<usize> {
        let fits = |t: &MeasuredProblem| split.part(&kernel.shape(&t.problem)) == part && t.tuned_config().is_some();
        (0..self.problems.len()).filter(|i| fits(&self.problems[*i])).collect()
    }

    /// Indices of the problems in `part` of the split with two or more configs measured for `objective`.
    pub fn part(&self, kernel: &Kernel, split: &Split, part: Part, objective: Objective) -> Vec<usize> {
        let fits = |t: &MeasuredProblem| split.part(&kernel.shape(&t.problem)) == part && t.costs(objective).len() >= 2;
        (0..self.problems.len()).filter(|i| fits(&self.problems[*i])).collect()
    }
}
