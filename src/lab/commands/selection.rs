//! `seqtune-lab selection`

use crate::selection::{SetComparison, SetMethod, compare};
use seqtune_console::answer::{answer, answer_json, wrote};
use seqtune_console::arguments::evaluate::ModelAndDatasets;
use seqtune_console::outputs::claim_drawings;
use seqtune_console::value_parsers::count;
use seqtune_data::KernelTable;
use seqtune_eval::pages::plot::{self, PlotLine, lines_svg};
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Compares ways to choose few configs for many problems
///
/// The held-out problems of a sweep are replayed.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    on: ModelAndDatasets,
    /// Numbers of configs, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "K", default_value = "1,2,4,8,16", value_parser = count(1..=256))]
    configs: Vec<usize>,
    /// Number of random problems to fit the tree to, 30 to 100,000
    #[arg(long, default_value_t = 300, value_parser = count(30..=100_000))]
    samples: usize,
    /// SVG file for a plot of the loss against the number of configs
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Replace a file of --plot that seqtune did not write
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune-lab selection`.
///
/// # Errors
/// `Error::Input` where the datasets are no sweeps of one kernel on one device, else the error of the model or the file.
pub fn run(args: &Args) -> Result<()> {
    let read = [std::slice::from_ref(&args.on.model), &args.on.datasets[..]].concat();
    claim_drawings(&[args.plot.as_ref()], args.force, &read)?;
    let corpus = args.on.tables()?;
    let [KernelTable { kernel, table }] = &corpus[..] else { return input("sweeps are judged one kernel at a time") };
    let model = args.on.load(kernel, table, false)?;
    let found = compare(kernel, &model, table, &args.configs, args.samples)?;
    if let Some(path) = &args.plot {
        plot::write(path, &draw(&found)?)?;
        wrote(path);
    }
    match args.json {
        true => answer_json(&found),
        false => {
            answer(found.table().trim_end());
            Ok(())
        }
    }
}

/// Mean loss against the number of configs.
fn draw(found: &SetComparison) -> Result<String> {
    let line = |method: &SetMethod| {
        let own = found.results.iter().filter(|result| result.method == *method);
        PlotLine {
            name: method.name().into(),
            points: own.map(|result| [result.configs as f64, 100.0 * result.mean]).collect(),
        }
    };
    let lines: Vec<PlotLine> = SetMethod::ALL.iter().map(line).collect();
    let title = format!("{}: few configs for {} problems", found.kernel, found.problems);
    lines_svg(&title, "configs", "speed lost on average, percent", &lines)
}
