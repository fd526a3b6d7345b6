//! `seqtune-lab breakpoints`

use crate::breakpoints::{LineOptions, RowComparison, RowMethod, compare};
use seqtune_console::answer::{answer, answer_json, wrote};
use seqtune_console::arguments::evaluate::ModelAndDatasets;
use seqtune_console::outputs::claim_drawings;
use seqtune_console::value_parsers::{count, share};
use seqtune_data::KernelTable;
use seqtune_eval::pages::plot::{self, PlotLine, lines_svg};
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Compares rows for a changing size: as few as predictions need, and powers of two
///
/// The held-out problems of a sweep are replayed, each on a line of its own.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    on: ModelAndDatasets,
    /// Field that changes
    #[arg(long, value_name = "FIELD")]
    over: String,
    /// Bounds of the loss, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PERCENT", value_parser = share(), default_value = "1%,2%,5%,10%,20%")]
    within: Vec<f64>,
    /// Number of sizes to ask the model at on each line, 2 to 10,000
    #[arg(long, default_value_t = 120, value_name = "N", value_parser = count(2..=10_000))]
    sizes: usize,
    /// Number of held-out problems to judge at most, 1 to 1,000,000
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = count(1..=1_000_000))]
    problems: usize,
    /// Evaluate all problems that the model was not trained on
    #[arg(long)]
    all_problems: bool,
    /// SVG file for a plot of the loss against the number of rows
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Replace a file of --plot that seqtune did not write
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune-lab breakpoints`.
///
/// # Errors
/// `Error::Input` where the datasets are no sweeps of one kernel, else the error of the model or the file.
pub fn run(args: &Args) -> Result<()> {
    let read = [std::slice::from_ref(&args.on.model), &args.on.datasets[..]].concat();
    claim_drawings(&[args.plot.as_ref()], args.force, &read)?;
    let corpus = args.on.tables()?;
    let [KernelTable { kernel, table }] = &corpus[..] else { return input("sweeps are judged one kernel at a time") };
    let model = args.on.load(kernel, table, args.all_problems)?;
    let options = LineOptions {
        field: &args.over,
        bounds: &args.within,
        sizes: args.sizes,
        problems: args.problems,
        whole: args.all_problems,
    };
    let found = compare(kernel, &model, table, &options)?;
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

/// Mean loss against the number of rows.
fn draw(found: &RowComparison) -> Result<String> {
    let line = |name: &str, is_own: &dyn Fn(RowMethod) -> bool| {
        let own = found.results.iter().filter(|result| is_own(result.method));
        PlotLine { name: name.into(), points: own.map(|result| [result.rows, 100.0 * result.mean]).collect() }
    };
    let lines = [
        line("intervals", &|method| matches!(method, RowMethod::Intervals(_))),
        line("rows, nearest one taken", &|method| matches!(method, RowMethod::Rows(_))),
        line("powers of two, predicted", &|method| method == RowMethod::PowersOfTwo),
        line("powers of two, measured", &|method| method == RowMethod::MeasuredPowersOfTwo),
    ];
    let title = format!("{} along {}: rows of a table", found.kernel, found.field);
    let lines: Vec<PlotLine> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    lines_svg(&title, "rows of a line", "speed lost on average, percent", &lines)
}
