//! `seqtune-lab tuners`

use crate::tuners::lab::{CostModel, Surveyed};
use crate::tuners::{Comparison, compare, orders};
use seqtune_console::answer::{answer, answer_json, tell, wrote};
use seqtune_console::inputs;
use seqtune_console::outputs::claim_drawings;
use seqtune_console::siblings::TRAINER;
use seqtune_console::value_parsers::{count, real};
use seqtune_data::{Dataset, NamedDataset, Table};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_kernel::Kernel;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_predict::Model;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compares tuning methods at equal budgets of time, by replay of a sweep
///
/// The methods are those of the literature and seqtune's own.
#[derive(clap::Args)]
pub struct Args {
    /// Sweep of one kernel on one device: journal or packed file
    dataset: PathBuf,
    /// Kernel name or folder [default: the kernel named in the dataset]
    #[arg(long)]
    kernel: Option<String>,
    /// Budgets for measuring and compiling, 1 to 1e9 seconds, separated by commas
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = [100.0, 300.0, 1_000.0], value_name = "SECONDS", value_parser = real(1.0..=1e9))]
    seconds: Vec<f64>,
    /// Number of different random draws and splits by shape, 1 to 100
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = count(1..=100))]
    seeds: usize,
    /// Replay only the first N configs of each problem, 2 to 1,000,000
    ///
    /// Use it for a sweep that a model guided later: its first configs were drawn at random. Otherwise random search would draw from
    /// what the model found.
    #[arg(long, value_name = "N", value_parser = count(2..=1_000_000))]
    first: Option<usize>,
    /// Share of the problem shapes to hold out, 0.01 to 0.9
    ///
    /// The methods are compared by the configs that they choose for these shapes.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE", value_parser = real(0.01..=0.9))]
    held_out: f64,
    /// Time to compile a program, 0 to 1e6 seconds
    #[arg(long, default_value_t = 0.6, value_name = "SECONDS", value_parser = real(0.0..=1e6))]
    compile_time: f64,
    /// Time of a measurement besides its launches, 0 to 1e6 seconds
    ///
    /// It stands for the check and the warm-up.
    #[arg(long, default_value_t = 0.005, value_name = "SECONDS", value_parser = real(0.0..=1e6))]
    overhead: f64,
    /// Folder to train and reuse seqtune's own models in
    ///
    /// Without it, only the other methods are compared.
    #[arg(long, value_name = "FOLDER")]
    models: Option<PathBuf>,
    /// Passes over the training problems of each model, 1 to 1,000,000
    ///
    /// [default: as in `train`]
    #[arg(long, requires = "models", value_name = "N", value_parser = count(1..=1_000_000))]
    epochs: Option<usize>,
    /// File of further tuners to compare, as JSON lines
    ///
    /// Each line lists the configs that a tuner measures of a problem, in its order. docs/results/tuners.md describes the format.
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,
    /// SVG file for a plot of first choices against seconds
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Replace a file of --plot that seqtune did not write
    #[arg(long)]
    force: bool,
    /// Print the results of every run as JSON
    #[arg(long)]
    json: bool,
}

/// What trains this program's models.
struct Trainers<'a> {
    dataset: &'a Dataset,
    kernel: &'a Kernel,
    /// The kernel's folder, where the user names one.
    named: Option<&'a String>,
    epochs: Option<usize>,
    program: PathBuf,
    folder: &'a Path,
}

impl Trainers<'_> {
    /// Trains one network on what was measured, or finds the model of these seconds and this seed.
    fn train(&self, surveyed: &[Surveyed], seconds: f64, seed: u64) -> Result<Model> {
        let folder = self.folder.join(format!("{}-{seconds:.0}s-{seed}", self.kernel.name));
        if !folder.join("model.safetensors").exists() {
            let paid = surveyed.iter().flat_map(|surveyed| {
                let problem = self.kernel.show_problem(&surveyed.of.problem);
                surveyed.times.iter().map(move |timed| (problem.clone(), self.kernel.show_config(&timed.config)))
            });
            let paid: HashSet<(String, String)> = paid.collect();
            let is_paid = |record: &&seqtune_data::Record| {
                paid.contains(&(record.problem.to_string(), record.config.to_string()))
            };
            let records = self.dataset.records.iter().filter(is_paid).cloned().collect();
            let part = Dataset { header: self.dataset.header.clone(), records };
            let failed = |e: std::io::Error| Error::Failed(format!("{}: {e}", folder.display()));
            std::fs::create_dir_all(&folder).map_err(failed)?;
            let data = folder.join("measured.sqt");
            part.save_packed(&data)?;
            let mut command = Command::new(&self.program);
            command.arg("train").arg(&data).arg("-o").arg(&folder).args(["--members", "1", "--test", "0", "--seed"]);
            command.arg(seed.to_string());
            self.epochs.iter().for_each(|epochs| _ = command.arg("--epochs").arg(epochs.to_string()));
            self.named.iter().for_each(|kernel| _ = command.arg("--kernel").arg(kernel));
            // minutes of training for nobody
            seqtune_measure::end_with_parent(&mut command);
            let done = command.output().map_err(failed)?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr);
                let last = said.lines().last().unwrap_or_default().trim_start_matches("seqtune: ").to_string();
                return Err(Error::Failed(format!("training in {}: {last}", folder.display())));
            }
        }
        Model::load(&folder.join("model.safetensors"))
    }
}

/// Keeps the first `most` records of each problem.
fn keep_first(dataset: &mut Dataset, most: usize) {
    let mut met: HashMap<String, usize> = HashMap::new();
    dataset.records.retain(|record| {
        let count = met.entry(record.problem.to_string()).or_default();
        *count += 1;
        *count <= most
    });
}

/// Runs `seqtune-lab tuners`.
///
/// # Errors
/// `Error::Input` where the dataset allows no comparison, else the error of a method.
pub fn run(args: Args) -> Result<()> {
    claim_drawings(&[args.plot.as_ref()], args.force, std::slice::from_ref(&args.dataset))?;
    let mut dataset = Dataset::load(&args.dataset)?;
    if let Some(most) = args.first {
        keep_first(&mut dataset, most);
    }
    let kernel = &inputs::kernel(args.kernel.as_deref().unwrap_or(&dataset.header.kernel))?;
    let sweep = [NamedDataset::new(args.dataset.display().to_string(), dataset)];
    let table = Table::new(kernel, &sweep)?;
    if table.is_tuned() {
        return input("tuners are compared by replay of sweeps; this dataset holds what tuners chose");
    }
    let trees = LightGbm::open().inspect_err(|e| tell(&format!("seqtune: MLKAPS's manner is left out: {e}"))).ok();
    let trainers = match &args.models {
        Some(folder) => Some(Trainers {
            dataset: &sweep[0].dataset,
            kernel,
            named: args.kernel.as_ref(),
            epochs: args.epochs,
            program: TRAINER.find()?,
            folder,
        }),
        None => None,
    };
    let train = |surveyed: &[Surveyed], seconds: f64, seed: u64| match &trainers {
        Some(trainers) => trainers.train(surveyed, seconds, seed),
        None => input("no folder of models is named"),
    };
    let others = args.orders.as_ref().map_or(Ok(Vec::new()), |path| orders::read(path, kernel))?;
    let seeds: Vec<u64> = (1..=args.seeds as u64).collect();
    let game = Comparison {
        seconds: &args.seconds,
        seeds: &seeds,
        prices: CostModel { compile: args.compile_time, each: args.overhead },
        held_out: args.held_out,
        train: args.models.is_some().then_some(&train),
        trees,
        others: &others,
    };
    let report = compare(kernel, &table, &game, &mut |what| tell(&format!("tuners: {what}")))?;
    if let Some(plot) = &args.plot {
        report.draw(plot)?;
        wrote(plot);
    }
    match args.json {
        true => answer_json(&report),
        false => {
            answer(&report.table());
            Ok(())
        }
    }
}
