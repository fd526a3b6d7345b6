//! `seqtune export breakpoints`

use crate::cli::choices::{Form, Origin, ServedSizes, VariedField, check_losses};
use crate::cli::watched::Watched;
use seqtune_choose::breakpoints::{Breakpoints, DEFAULT_SIZES, Line, LossPair, loss_pairs, margin};
use seqtune_choose::dispatch::Dispatch;
use seqtune_choose::losses::{LossOptions, log_of_loss, speed_lost};
use seqtune_choose::ranges::Range;
use seqtune_choose::{Points, Predicted};
use seqtune_console::answer::{answer, tell};
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_console::value_parsers;
use seqtune_data::KernelTable;
use seqtune_eval::measures::replay::{ReplayOptions, held_out};
use seqtune_eval::pages::markdown;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Objective, Problem, count_noun, limits};
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Model, Predictor, Quality};
use std::path::PathBuf;

/// Exports where the best config of a changing size changes
///
/// The fewest intervals of a field are found in which one config loses at most a share of the predicted speed. Other fields stay; each
/// given problem is a line of its own.
#[derive(clap::Args)]
pub struct BreakpointArgs {
    /// Folder of the model
    model: PathBuf,
    /// Problems, files of problems (one per line), or `-` for standard input
    ///
    /// The value of the field that changes does not matter in them.
    #[arg(required = true)]
    problems: Vec<String>,
    /// Field that changes, with its range, such as M=1..65536
    #[arg(long, value_name = "FIELD=LEAST..MOST", value_parser = value_parsers::range)]
    over: Range,
    /// Share of the speed that a size may lose against its own first choice, 0 to 99 percent
    #[arg(long, value_name = "PERCENT", value_parser = value_parsers::share(), default_value = "2%")]
    within: f64,
    /// Number of sizes to ask the model at, 2 to 10,000
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SIZES, value_parser = value_parsers::count(2..=10_000))]
    sizes: usize,
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
    /// Datasets of the device that the model did not learn from, or held a part out of
    ///
    /// They show how far predicted losses are off. A loss is then stated that is exceeded in 5 % of the problems.
    #[arg(long, num_args = 1.., value_name = "DATASET")]
    measured: Vec<PathBuf>,
    /// File to write: .hpp, .rs or .py (source code), .csv or .json (a table) [default: a table in the terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replace: Replace,
}

pub fn run(args: BreakpointArgs) -> Result<()> {
    let read: Vec<PathBuf> = args.problems.iter().map(PathBuf::from).collect();
    let form = args.output.as_deref().map(Form::from_name).transpose()?;
    if let Some(output) = &args.output {
        claim(output, Kind::Choices, args.replace, &read)?;
    }
    let name = seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?;
    let kernel = seqtune_console::inputs::kernel(&name)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    model.check_objective(args.objective)?;
    let device = seqtune_console::inputs::device_for(&model.meta, args.device.as_deref())?;
    let predictor = Predictor::new(&kernel, &model)?;
    check_losses(&model)?;
    let asked = lines(&args, &kernel, &device)?;
    let points = Predicted::with_predictor(&kernel, &predictor, model.digest(), &device).with_width(args.width);
    let sizes: usize = asked.iter().map(|line| line.sizes.len()).sum();
    let points = Watched::new(points, LossOptions::questions(sizes));
    let options = LossOptions { objective: args.objective, threads: cores(), ..LossOptions::default() };
    let find = |line| Breakpoints::find(&kernel, &points, line, args.within, &options);
    let lines = asked.into_iter().map(find).collect::<Result<Vec<Breakpoints>>>()?;
    let grounds = predictor.grounds(&device).words();
    let origin = Origin { kernel: &kernel, device: &device.name, digest: model.digest(), grounds };
    let margin = measured_margin(&args, &model, &device, &points)?;
    let rows = rows(&args, &lines, margin);
    let code = form.filter(|form| !matches!(form, Form::Csv | Form::Json));
    let dispatch = code.map(|_| Dispatch::from_lines(&kernel, &device, &points, &lines)).transpose()?;
    points.end();
    summarise(&args, &origin, &lines);
    let (Some(output), Some(form)) = (&args.output, form) else {
        answer(text_table(&kernel, &rows).trim_end());
        return Ok(());
    };
    let text = match form {
        Form::Csv => origin.csv(&rows)?,
        Form::Json => origin.json(&rows)?,
        code => dispatch.and_then(|dispatch| code.code(&dispatch)).unwrap_or_default(),
    };
    write_whole(output, text.as_bytes())?;
    tell(&format!("wrote {}", output.display()));
    Ok(())
}

/// The lines of the given problems, each once.
fn lines(args: &BreakpointArgs, kernel: &Kernel, device: &Device) -> Result<Vec<Line>> {
    let field = args.over.check(kernel)?;
    let mut fixed: Vec<Problem> = Vec::new();
    for mut problem in seqtune_console::inputs::problems(kernel, &args.problems)? {
        problem.values[field] = args.over.least as f64;
        if !fixed.contains(&problem) {
            fixed.push(problem);
        }
    }
    fixed.iter().map(|problem| Line::new(kernel, device, problem, &args.over, args.sizes)).collect()
}

/// What the measured problems add to a predicted loss; `None` where none are named.
fn measured_margin(args: &BreakpointArgs, model: &Model, device: &Device, points: &dyn Points) -> Result<Option<f64>> {
    if args.measured.is_empty() {
        return Ok(None);
    }
    let tables = seqtune_console::inputs::tables(&args.measured, args.kernel.as_deref())?;
    let mut problems: Vec<Vec<LossPair>> = Vec::new();
    for KernelTable { kernel, table } in &tables {
        let learned = table.hashes.iter().any(|hash| model.meta.data.contains(hash));
        let options = ReplayOptions { objective: args.objective, whole: !learned, trees: None };
        for tried in held_out(kernel, model, table, options)?.tests {
            if !table.devices[tried.device].is_called(&device.name) {
                continue;
            }
            let space = ConfigSpace::new(kernel, &tried.problem, device);
            let mut costs = tried.costs(args.objective);
            costs.retain(|known| space.is_legal(known.config));
            let Some(least) = costs.first().map(|known| known.cost) else { continue };
            let configs: Vec<Config> = costs.iter().map(|known| known.config.clone()).collect();
            let losses: Vec<f64> = costs.iter().map(|known| (known.cost / least).ln()).collect();
            problems.push(loss_pairs(kernel, device, points, &tried.problem, &configs, &losses)?);
        }
    }
    match margin(&problems, log_of_loss(args.within)) {
        Some(margin) => Ok(Some(margin)),
        None => input(format!(
            "--measured: the datasets hold {} of {} that the model did not learn from; at least five are needed",
            count_noun(problems.len(), "problem"),
            device.name
        )),
    }
}

fn rows<'l>(args: &'l BreakpointArgs, lines: &'l [Breakpoints], margin: Option<f64>) -> Vec<ServedSizes<'l>> {
    let of_line = |own: &'l Breakpoints| {
        own.intervals.iter().map(move |one| ServedSizes {
            problem: &own.line.problems[0],
            varied: Some(VariedField { name: &args.over.field, least: one.least, greatest: one.greatest }),
            config: own.config(one.config),
            loss: one.worst,
            stated: margin.map(|margin| one.worst + margin),
        })
    };
    lines.iter().flat_map(of_line).collect()
}

/// Says what was found.
fn summarise(args: &BreakpointArgs, origin: &Origin, lines: &[Breakpoints]) {
    let intervals: usize = lines.iter().map(|line| line.intervals.len()).sum();
    let sizes: usize = lines.iter().map(|line| line.line.sizes.len()).sum();
    let changes: usize = lines.iter().map(Breakpoints::changes).sum();
    let worst = lines.iter().flat_map(|line| &line.intervals).map(|one| one.worst).fold(0.0, f64::max);
    tell(&format!(
        "{} on {}: {} of {} from {} to {} in {}; the first choice changes {changes} times between {sizes} sizes that were asked; at most {:.2} % of the predicted speed lost",
        origin.kernel.name,
        origin.device,
        count_noun(intervals, "interval"),
        args.over.field,
        args.over.least,
        args.over.greatest,
        count_noun(lines.len(), "line"),
        100.0 * speed_lost(worst)
    ));
}

/// A table for a terminal.
fn text_table(kernel: &Kernel, rows: &[ServedSizes]) -> String {
    let several = rows.iter().any(|row| row.problem != rows[0].problem);
    let name = rows.first().and_then(|row| row.varied).map_or("", |varied| varied.name);
    let is_stated = rows.iter().any(|row| row.stated.is_some());
    let mut head = vec![name.to_string(), "predicted loss at most, %".into()];
    if is_stated {
        head.push("loss at most in 95 % of the problems, %".into());
    }
    head.push("config".into());
    if several {
        head.insert(0, "problem".into());
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = markdown::Table::new(&head);
    for row in rows {
        let range = row.varied.map_or(String::new(), |varied| match varied.least == varied.greatest {
            true => varied.least.to_string(),
            false => format!("{} to {}", varied.least, varied.greatest),
        });
        let mut cells = vec![range, format!("{:.2}", 100.0 * speed_lost(row.loss))];
        cells.extend(row.stated.map(|stated| format!("{:.2}", 100.0 * speed_lost(stated))));
        cells.push(kernel.show_config(row.config));
        if several {
            // the field that varies has a column of its own
            let brief = kernel.brief_problem(row.problem);
            let others = brief.split(',').filter(|pair| pair.split('=').next() != Some(name));
            cells.insert(0, others.collect::<Vec<_>>().join(","));
        }
        table.row(&cells);
    }
    table.to_string()
}
