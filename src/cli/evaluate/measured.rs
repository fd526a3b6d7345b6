//! `seqtune evaluate measured`

use seqtune_console::answer::{answer, answer_json};
use seqtune_console::arguments::evaluate::ModelAndDatasets;
use seqtune_console::value_parsers::objective;
use seqtune_data::KernelTable;
use seqtune_eval::measures::measured::{self, Given};
use seqtune_eval::measures::replay;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Kernel, Objective, limits};
use seqtune_predict::Predictor;

/// Evaluates a model with part of each problem already measured (sweeps)
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    on: ModelAndDatasets,
    /// What counts as measured: numbers of configs, or configs
    ///
    /// For a number N, 0 to 10,000, the N most promising configs count as measured, one after the other. Each number is one row of the
    /// report. Configs that are written out count as measured together.
    #[arg(long, required = true, value_name = "NUMBERS or CONFIGS", num_args = 1..)]
    measured: Vec<String>,
    /// Quantity by which configs are compared
    #[arg(long, value_parser = objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Evaluate all problems that the model was not trained on
    #[arg(long)]
    all_problems: bool,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune evaluate measured`.
///
/// # Errors
/// `Error::Input` where a dataset is no sweep or a config is none of the kernel's, else the error of the model.
pub fn run(args: &Args) -> Result<()> {
    let corpus = args.on.tables()?;
    let [KernelTable { kernel, table }] = &corpus[..] else { return input("sweeps are judged one kernel at a time") };
    if table.is_tuned() {
        return input("--measured is for sweeps; these datasets hold what tuners chose");
    }
    let model = args.on.load(kernel, table, args.all_problems)?;
    let given = read_given(args, kernel)?;
    let ask = replay::ReplayOptions { objective: args.objective, whole: args.all_problems, trees: None };
    let tests = replay::held_out(kernel, &model, table, ask)?;
    let rows = measured::replay(&Predictor::new(kernel, &model)?, table, &tests, args.objective, &given)?;
    if args.json {
        return answer_json(&rows);
    }
    answer(measured::markdown(kernel, args.objective, &rows).trim_end());
    Ok(())
}

/// Reads numbers of first choices, or configs, before which nothing is measured.
fn read_given(args: &Args, kernel: &Kernel) -> Result<Vec<Given>> {
    let numbers: Vec<Option<usize>> = args.measured.iter().map(|given| given.parse().ok()).collect();
    let given = match numbers.iter().all(Option::is_some) {
        true => numbers.into_iter().flatten().map(Given::First).collect(),
        false => {
            let configs = args.measured.iter().map(|text| kernel.config(text));
            let configs = configs.collect::<Result<Vec<_>>>().map_err(|e| e.at_place("--measured"))?;
            vec![Given::These(Vec::new()), Given::These(configs)]
        }
    };
    match given.iter().any(|given| matches!(given, Given::First(count) if *count > limits::WIDTH)) {
        true => input(format!("--measured: at most {} first choices", limits::WIDTH)),
        false => Ok(given),
    }
}
