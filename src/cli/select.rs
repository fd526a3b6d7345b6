//! `seqtune select`

use crate::cli::choices::{Form, Origin, ServedSizes, check_losses};
use crate::cli::measured::{measured_configs, tried_on};
use crate::cli::watched::Watched;
use seqtune_choose::Predicted;
use seqtune_choose::dispatch::{Dispatch, DispatchOptions, FixedChoice};
use seqtune_choose::losses::{LossOptions, LossTable, speed_lost};
use seqtune_choose::ranges::Ranges;
use seqtune_choose::selection::{Selection, select, select_within};
use seqtune_console::answer::{answer, answer_json, tell, warn};
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_console::value_parsers;
use seqtune_data::stats::quantile;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::files::{read_stream, write_whole};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem, count_noun, limits};
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Model, Predictor, Quality, Query};
use std::path::{Path, PathBuf};

/// Chooses the few configs to build that lose least over many problems
///
/// A library ships a dozen compiled kernels, not a thousand. Each problem takes the best of the chosen configs. Losses are those that the
/// model predicts, or measured ones where --measured has them.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model
    model: PathBuf,
    /// Problems, files of problems (one per line), or `-` for standard input
    ///
    /// A number behind a problem is its weight, such as `M=64,N=64,K=64 12`. The usual weight is 1.
    #[arg(long, required = true, num_args = 1.., value_name = "PROBLEM")]
    problems: Vec<String>,
    /// Number of configs to choose, 1 to 256
    #[arg(long, value_name = "K", value_parser = value_parsers::count(1..=256), required_unless_present = "within")]
    configs: Option<usize>,
    /// Choose the fewest configs that lose at most this share of the speed on average, 0 to 99 percent
    #[arg(long, value_name = "PERCENT", value_parser = value_parsers::share(), conflicts_with = "configs")]
    within: Option<f64>,
    /// Datasets of the device with measured times of these problems
    #[arg(long, num_args = 1.., value_name = "DATASET")]
    measured: Vec<PathBuf>,
    /// Kernel name or folder [default: the model's only kernel]
    #[arg(long)]
    kernel: Option<String>,
    /// Device to predict for: a name, `live`, an id or a .toml file
    ///
    /// [default: the model's training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Quantity to minimize
    #[arg(long, value_parser = value_parsers::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Beam width, 1 to 10,000
    #[arg(long, default_value_t = WIDTH, value_parser = value_parsers::count(1..=limits::WIDTH))]
    width: usize,
    /// File for the choice of each problem: .hpp, .rs or .py (source code), .csv or .json (a table)
    ///
    /// Source code has a table of the problems, and a decision tree for all others.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of random problems to fit the tree to, 30 to 100,000
    #[arg(long, default_value_t = 600, value_parser = value_parsers::count(30..=100_000))]
    samples: usize,
    /// Maximum number of leaves of the tree, 1 to 10,000
    #[arg(long, default_value_t = 64, value_parser = value_parsers::count(1..=10_000))]
    leaves: usize,
    /// Seed of the random problems
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    replace: Replace,
}

/// Configs that are chosen among at most.
const COLUMNS: usize = 256;

/// A problem, and how much it counts.
struct WeightedProblem {
    problem: Problem,
    weight: f64,
}

/// What a set of configs loses over the problems, as shares of the speed.
struct SetLoss {
    /// By problem: the place of its config in the set.
    choices: Vec<usize>,
    /// By problem: a logarithm.
    losses: Vec<f64>,
}

pub fn run(args: Args) -> Result<()> {
    let read: Vec<PathBuf> = args.problems.iter().map(PathBuf::from).chain(args.measured.iter().cloned()).collect();
    let form = args.output.as_deref().map(|output| form(output, &args, &read)).transpose()?;
    let name = seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?;
    let kernel = seqtune_console::inputs::kernel(&name)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    model.check_objective(args.objective)?;
    let device = seqtune_console::inputs::device_for(&model.meta, args.device.as_deref())?;
    let asked = weighted_problems(&kernel, &args.problems)?;
    let predictor = Predictor::new(&kernel, &model)?;
    check_losses(&model)?;
    let points = || Predicted::with_predictor(&kernel, &predictor, model.digest(), &device).with_width(args.width);
    let problems: Vec<Problem> = asked.iter().map(|asked| asked.problem.clone()).collect();
    // few problems have room for more configs each, among which some may serve several
    let candidates = (COLUMNS / problems.len()).clamp(8, 64);
    let options = LossOptions { objective: args.objective, candidates, configs: COLUMNS, threads: cores() };
    let watched = Watched::new(points(), LossOptions::questions(problems.len()));
    let table = LossTable::predict(&kernel, &watched, &problems, &options);
    watched.end();
    let mut table = table?;
    let measured = add_measured(&args, &predictor, &device, &problems, &mut table)?;
    let weights: Vec<f64> = asked.iter().map(|asked| asked.weight).collect();
    let found = match args.within {
        Some(most) => select_within(&table, &weights, most, table.configs.len())?,
        None => select(&table, &weights, args.configs.unwrap_or(1))?,
    };
    let grounds = predictor.grounds(&device).words();
    let origin = Origin { kernel: &kernel, device: &device.name, digest: model.digest(), grounds };
    let set = loss_of_set(&table, &found);
    warn_of_bound(&args, &found);
    print(&args, &origin, (&asked, measured), (&table, &found, &set))?;
    let (Some(output), Some(form)) = (&args.output, form) else { return Ok(()) };
    let chosen: Vec<&Config> = set.choices.iter().map(|choice| &table.configs[found.columns[*choice]]).collect();
    let served =
        |(at, problem)| ServedSizes { problem, varied: None, config: chosen[at], loss: set.losses[at], stated: None };
    let rows: Vec<ServedSizes> = problems.iter().enumerate().map(served).collect();
    let text = match form {
        Form::Csv => origin.csv(&rows)?,
        Form::Json => origin.json(&rows)?,
        code => {
            let dispatch = dispatch(&args, &origin, &device, points(), &rows)?;
            code.code(&dispatch).unwrap_or_default()
        }
    };
    write_whole(output, text.as_bytes())?;
    tell(&format!("wrote {}", output.display()));
    Ok(())
}

/// The form of the output, which is claimed before anything is predicted.
fn form(output: &Path, args: &Args, read: &[PathBuf]) -> Result<Form> {
    let form = Form::from_name(output)?;
    claim(output, Kind::Choices, args.replace, read)?;
    Ok(form)
}

/// Problems with a weight behind each: words, files of lines, or standard input.
fn weighted_problems(kernel: &Kernel, words: &[String]) -> Result<Vec<WeightedProblem>> {
    let mut all: Vec<WeightedProblem> = Vec::new();
    for word in words {
        let is_problem = word != "-" && (word.contains('=') || word.trim_start().starts_with('{'));
        let text = if is_problem { word.clone() } else { read_stream(Path::new(word), limits::LIST)? };
        for (at, line) in text.lines().enumerate() {
            let line = line.split_once(" #").map_or(line, |(problem, _comment)| problem).trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = if is_problem { String::new() } else { format!("{word}, line {}: ", at + 1) };
            let asked = weighted_problem(kernel, line).map_err(|e| Error::Problem(format!("{place}{e}")))?;
            match all.iter_mut().find(|known| known.problem == asked.problem) {
                // a mix of sizes names a size as often as it occurs
                Some(known) => known.weight += asked.weight,
                None => all.push(asked),
            }
        }
    }
    match all.is_empty() {
        true => input("no problem is given; write one as name=value pairs, or name a file of them"),
        false => Ok(all),
    }
}

fn weighted_problem(kernel: &Kernel, line: &str) -> Result<WeightedProblem> {
    let end = |c: char| c.is_ascii_whitespace();
    let parts = line.rsplit_once(end).filter(|(_, last)| !last.contains(['=', '}', '"', ':']));
    let Some((problem, weight)) = parts else {
        return Ok(WeightedProblem { problem: kernel.problem(line)?, weight: 1.0 });
    };
    match weight.parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => {
            Ok(WeightedProblem { problem: kernel.problem(problem.trim())?, weight })
        }
        _ => input(format!(
            "the weight behind a problem is a positive number, not {}",
            seqtune_kernel::error::quote(weight)
        )),
    }
}

/// Puts measured costs into the table, with what they tell of the other configs. Returns how many problems have any.
fn add_measured(
    args: &Args,
    predictor: &Predictor,
    device: &Device,
    problems: &[Problem],
    table: &mut LossTable,
) -> Result<usize> {
    if args.measured.is_empty() {
        return Ok(0);
    }
    let tables = seqtune_console::inputs::tables(&args.measured, Some(&predictor.kernel().name))?;
    let all = tried_on(device, &tables).map_err(|e| e.at_place("--measured"))?;
    let mut count = 0;
    for (row, problem) in problems.iter().enumerate() {
        let known = measured_configs(&all, problem);
        if known.is_empty() {
            continue;
        }
        count += 1;
        let columns: Vec<Config> = legal(&table.configs, &table.losses[row]);
        let query = Query { objective: args.objective, top: columns.len() + known.len(), ..Query::new(device) };
        let prediction = predictor.predict_measured_among(problem, &query, &known, columns)?;
        let cost = |config: &Config| {
            let found = prediction.candidates.iter().find(|candidate| candidate.config == *config)?;
            args.objective.cost_of(found.time_us, found.joules)
        };
        let costs: Vec<Option<f64>> = table.configs.iter().map(cost).collect();
        let all_costs = prediction.candidates.iter().filter_map(|c| args.objective.cost_of(c.time_us, c.joules));
        let least = all_costs.fold(f64::INFINITY, f64::min);
        for (loss, cost) in table.losses[row].iter_mut().zip(costs) {
            *loss = cost.map_or(f64::INFINITY, |cost| (cost / least).ln().max(0.0));
        }
    }
    match count {
        0 => input("--measured: the datasets hold no working config of these problems on this device"),
        count => Ok(count),
    }
}

/// The configs of a row that are legal.
fn legal(configs: &[Config], losses: &[f64]) -> Vec<Config> {
    configs.iter().zip(losses).filter(|(_, loss)| loss.is_finite()).map(|(config, _)| config.clone()).collect()
}

/// What each problem takes of a set, and what it loses.
fn loss_of_set(table: &LossTable, found: &Selection) -> SetLoss {
    let best = |row: &Vec<f64>| {
        let all = found.columns.iter().enumerate().map(|(at, column)| (at, row[*column]));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY))
    };
    let (choices, losses) = table.losses.iter().map(best).unzip();
    SetLoss { choices, losses }
}

/// A table of the problems, and a tree of the configs that they take.
fn dispatch(
    args: &Args,
    origin: &Origin,
    device: &Device,
    points: Predicted<&Predictor>,
    rows: &[ServedSizes],
) -> Result<Dispatch> {
    let fixed = |row: &ServedSizes| FixedChoice { problem: row.problem.clone(), config: row.config.clone() };
    let problems: Vec<Problem> = rows.iter().map(|row| row.problem.clone()).collect();
    let ranges = Ranges::new(origin.kernel, &problems, &[])?;
    let mut only: Vec<Config> = rows.iter().map(|row| row.config.clone()).collect();
    only.sort();
    only.dedup();
    let options = DispatchOptions {
        samples: args.samples,
        leaves: args.leaves,
        only: Some(only),
        objective: args.objective,
        seed: args.seed,
        threads: cores(),
        ..DispatchOptions::default()
    };
    let watched = Watched::new(points, options.questions(0));
    let dispatch = Dispatch::new(origin.kernel, device, &watched, &[], &ranges, &options);
    watched.end();
    Ok(dispatch?.with_table(rows.iter().map(fixed)))
}

/// Warns where no set keeps the share that was asked for.
fn warn_of_bound(args: &Args, found: &Selection) {
    if let Some(most) = args.within.filter(|most| found.mean > *most) {
        let count = count_noun(found.columns.len(), "config");
        warn(&format!("no set of these configs loses at most {:.2} %; this is the best of {count}", 100.0 * most));
    }
}

/// Prints the set, and what it loses.
fn print(
    args: &Args,
    origin: &Origin,
    (asked, measured): (&[WeightedProblem], usize),
    (table, found, set): (&LossTable, &Selection, &SetLoss),
) -> Result<()> {
    let lost: Vec<f64> = set.losses.iter().map(|loss| if loss.is_finite() { speed_lost(*loss) } else { 1.0 }).collect();
    let mut sorted = lost.clone();
    sorted.sort_by(f64::total_cmp);
    let (p90, worst) = (quantile(&sorted, 0.9), quantile(&sorted, 1.0));
    let total: f64 = asked.iter().map(|asked| asked.weight).sum();
    let share = |at: usize| {
        let own = asked.iter().zip(&set.choices).filter(|(_, choice)| **choice == at);
        own.map(|(asked, _)| asked.weight).sum::<f64>() / total
    };
    let configs: Vec<&Config> = found.columns.iter().map(|column| &table.configs[*column]).collect();
    if args.json {
        let configs = configs
            .iter()
            .enumerate()
            .map(|(at, config)| serde_json::json!({ "config": origin.kernel.show_config(config), "share": share(at) }));
        return answer_json(&serde_json::json!({
            "kernel": origin.kernel.name, "device": origin.device, "model": origin.digest, "version": env!("CARGO_PKG_VERSION"),
            "problems": asked.len(), "measured": measured, "objective": args.objective.to_string(),
            "configs": configs.collect::<Vec<_>>(),
            "loss": { "mean": found.mean, "p90": p90, "worst": worst, "least_possible_mean": found.bound },
        }));
    }
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let basis = match measured {
        0 => "as the model predicts".to_string(),
        all if all == asked.len() => "by measured times".to_string(),
        some => format!("{some} by measured times, the others as the model predicts"),
    };
    let least = match found.bound >= found.mean - 1e-12 {
        true => format!("no other {} lose less", count_noun(configs.len(), "config")),
        false => format!("no {} lose less than {}", count_noun(configs.len(), "config"), percent(found.bound)),
    };
    let quantity = match args.objective {
        Objective::Time => "of the speed".to_string(),
        other => format!("by {other}"),
    };
    let mut text = format!(
        "{} on {}, {}, {basis}\n{} of {}: {} {quantity} lost on average, more than {} on a tenth of the problems, {} at worst; {least}\n",
        origin.kernel.name,
        origin.device,
        count_noun(asked.len(), "problem"),
        count_noun(configs.len(), "config"),
        table.configs.len(),
        percent(found.mean),
        percent(p90),
        percent(worst),
    );
    let unserved = set.losses.iter().filter(|loss| !loss.is_finite()).count();
    if unserved > 0 {
        text += &format!(
            "no config of these is legal for {}, which counts as all speed lost\n",
            count_noun(unserved, "problem")
        );
    }
    for (at, config) in configs.iter().enumerate() {
        text += &format!("{:7.1} %  {}\n", 100.0 * share(at), origin.kernel.show_config(config));
    }
    answer(text.trim_end());
    Ok(())
}
