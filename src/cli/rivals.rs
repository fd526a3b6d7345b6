//! `seqtune rivals`

use crate::cli::answer::{answer, answer_json, tell, wrote};
use crate::cli::trainer;
use seqtune_data::{Dataset, Table};
use seqtune_eval::lightgbm::LightGbm;
use seqtune_eval::rivals::lab::{Prices, Surveyed};
use seqtune_eval::rivals::{Match, compare, orders};
use seqtune_predict::Model;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::Kernel;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compares ways to tune at an equal budget of seconds, by replay of a sweep: the field's, and this program's
#[derive(clap::Args)]
pub struct Args {
    /// Sweep of one kernel on one device: journal or packed file
    dataset: PathBuf,
    /// Kernel name or folder [default: the one that the dataset names]
    #[arg(long)]
    kernel: Option<String>,
    /// Budgets of measuring and compiling, in seconds, 1 to 1e9
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = [100.0, 300.0, 1_000.0], value_name = "SECONDS", value_parser = crate::cli::words::real(1.0..=1e9))]
    seconds: Vec<f64>,
    /// Different draws and splits by shape, 1 to 100
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = crate::cli::words::count(1..=100))]
    seeds: usize,
    /// Replays the first N configs of each problem only, 2 to 1,000,000: of a sweep that a model guided later, those that were drawn at random, or else a
    /// random search would draw from what the model found
    #[arg(long, value_name = "N", value_parser = crate::cli::words::count(2..=1_000_000))]
    first: Option<usize>,
    /// Share of the shapes that answers are wanted for, 0.01 to 0.9
    #[arg(long, default_value_t = 0.2, value_name = "SHARE", value_parser = crate::cli::words::real(0.01..=0.9))]
    held_out: f64,
    /// Seconds that compiling a program takes, 0 to 1e6
    #[arg(long, default_value_t = 0.6, value_name = "SECONDS", value_parser = crate::cli::words::real(0.0..=1e6))]
    compile: f64,
    /// Seconds that a measurement takes beside its launches (check, warm-up), 0 to 1e6
    #[arg(long, default_value_t = 0.005, value_name = "SECONDS", value_parser = crate::cli::words::real(0.0..=1e6))]
    each: f64,
    /// Trains this program's models there, and finds them again; without it only the others are compared
    #[arg(long, value_name = "FOLDER")]
    models: Option<PathBuf>,
    /// Passes over the training problems of each model, 1 to 1,000,000 [default: as `train`]
    #[arg(long, requires = "models", value_name = "N", value_parser = crate::cli::words::count(1..=1_000_000))]
    epochs: Option<usize>,
    /// Lets other tuners play too: JSON lines of the configs that each measures of a problem, in its order (docs/results/tuners.md)
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,
    /// Also draws first choices against seconds as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Replaces a file of this name that seqtune did not make
    #[arg(long)]
    force: bool,
    /// Every game as JSON
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
                surveyed.times.iter().map(move |(config, _)| (problem.clone(), self.kernel.show_config(config)))
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

pub fn run(args: Args) -> Result<()> {
    crate::cli::outputs::claim_drawings(&[args.plot.as_ref()], args.force, std::slice::from_ref(&args.dataset))?;
    let mut dataset = Dataset::load(&args.dataset)?;
    if let Some(most) = args.first {
        keep_first(&mut dataset, most);
    }
    let kernel = &crate::cli::inputs::kernel(args.kernel.as_deref().unwrap_or(&dataset.header.kernel))?;
    let sweep = [(args.dataset.display().to_string(), dataset)];
    let table = Table::new(kernel, &sweep)?;
    if table.is_tuned() {
        return input("rivals replay sweeps; this dataset holds what tuners chose");
    }
    let trees = LightGbm::open().inspect_err(|e| tell(&format!("seqtune: MLKAPS's manner is left out: {e}"))).ok();
    let trainers = match &args.models {
        Some(folder) => Some(Trainers {
            dataset: &sweep[0].1,
            kernel,
            named: args.kernel.as_ref(),
            epochs: args.epochs,
            program: trainer::find()?,
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
    let game = Match {
        seconds: &args.seconds,
        seeds: &seeds,
        prices: Prices { compile: args.compile, each: args.each },
        held_out: args.held_out,
        train: args.models.is_some().then_some(&train),
        trees,
        others: &others,
    };
    let report = compare(kernel, &table, &game, &mut |what| tell(&format!("rivals: {what}")))?;
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
