//! `seqtune export aiter`

use crate::cli::export::about::about_file;
use crate::cli::export::candidates::JudgedConfigs;
use crate::cli::watched::Watched;
use seqtune_choose::Predicted;
use seqtune_choose::losses::LossOptions;
use seqtune_console::answer::answer;
use seqtune_console::outputs::{Kind, Replace, claim, command_line};
use seqtune_console::value_parsers;
use seqtune_data::BadRows;
use seqtune_data::formats::aiter::{self, GemmTable, NewRow, missing_in};
use seqtune_data::formats::opened::OpenedText;
use seqtune_data::formats::shape_lists::{NamedField, ShapeList};
use seqtune_kernel::error::{Result, input, quote};
use seqtune_kernel::files::{read_stream, write_whole};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem, count_noun, limits};
use seqtune_predict::{Model, Predictor, Quality};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Exports a tuned table for AMD's AITER, for the shapes that its log misses
///
/// The rows of an existing table are kept, and it tells the numbers of this release's kernels: a predicted row has one of those that it names.
/// Nothing is measured. FILE.seqtune.json says what the rows rest on.
#[derive(clap::Args)]
pub struct AiterExportArgs {
    /// Folder of the model
    model: PathBuf,
    /// Logs, untuned tables, lists of shapes, or `-` for standard input
    ///
    /// A line of a log counts where AITER says that a shape was not found. A list has a shape per line, such as M=16,N=2112,K=7168. A file of
    /// comma-separated values, such as a8w8_blockscale_untuned_gemm.csv, names the fields in its first line.
    #[arg(required = true)]
    sources: Vec<PathBuf>,
    /// Tuned tables of the release, such as a8w8_blockscale_tuned_gemm.csv and those of its folder model_configs
    ///
    /// All their rows are kept. Of two rows for a shape on one GPU the first counts.
    #[arg(long, required = true, num_args = 1.., value_name = "TABLE")]
    extend: Vec<PathBuf>,
    /// Name of the table's file in logs [default: that of the first table to extend]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Kernel: a name, or the path of a folder [default: that of the model]
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
    /// Table to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Refuse the export if any line cannot be read
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    replace: Replace,
}

/// Shapes that the sources ask for.
#[derive(Default)]
struct AskedShapes {
    /// Distinct problems without a row, in order of appearance.
    problems: Vec<Problem>,
    /// Lines that named a shape.
    lines: usize,
    /// Shapes that the table has.
    kept: usize,
    /// Shapes that were missed in other tables, by their names.
    others: BTreeMap<String, usize>,
    bad: BadRows,
}

pub fn run(args: AiterExportArgs) -> Result<()> {
    let name = seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?;
    let kernel = seqtune_console::inputs::kernel(&name)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    model.check_objective(args.objective)?;
    let device = seqtune_console::inputs::device_among(&model.meta.devices, args.device.as_deref())?;
    kernel.check_device(&device)?;
    seqtune_console::inputs::warn_of_unseen(&model.meta, &device);
    let table = table_to_extend(&args)?;
    let candidates = candidates(&kernel, &device, &table)?;
    let asked = asked_shapes(&args, &kernel, &device, &table)?;
    let about = about_file(&args.output);
    let read: Vec<PathBuf> = args.sources.iter().chain(&args.extend).cloned().collect();
    claim(&args.output, Kind::AiterTable, args.replace, &read)?;
    claim(&about, Kind::EngineTable, args.replace, &read)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let points = Predicted::with_predictor(&kernel, &predictor, model.digest(), &device);
    let points = Watched::new(points, LossOptions::questions(asked.problems.len()));
    let options = LossOptions { objective: args.objective, threads: cores(), ..LossOptions::default() };
    let problems: Vec<Vec<Problem>> = asked.problems.iter().map(|problem| vec![problem.clone()]).collect();
    let judged = JudgedConfigs::judge(&kernel, &device, &points, &problems, Some(&candidates), &options)?;
    points.end();
    let saw = seqtune_console::inputs::saw(&model.meta, &device);
    let mut rows = Vec::new();
    for (at, problem) in asked.problems.iter().enumerate() {
        let Some(best) = judged.best(at) else {
            return input(format!("no kernel of {} is legal for {}", table.place, kernel.brief_problem(problem)));
        };
        let config = &judged.configs[best];
        // of a device that it never saw the model tells no time
        let us = if saw { predicted_us(&predictor, &device, problem, config)? } else { 0.0 };
        rows.push(NewRow { problem, config, us });
    }
    let text = table.with_rows(&kernel, &device, &rows)?;
    let grounds = predictor.grounds(&device).words();
    let shapes: Vec<String> = asked.problems.iter().map(|problem| kernel.show_problem(problem)).collect();
    let told = serde_json::json!({
        "seqtune": env!("CARGO_PKG_VERSION"), "model": model.digest(), "kernel": kernel.name, "device": device.name, "grounds": grounds,
        "command": command_line(), "predicted": shapes,
    });
    write_whole(&args.output, text.as_bytes())?;
    write_whole(&about, format!("{told:#}\n").as_bytes())?;
    answer(&format!(
        "{}: {} added for {}, not measured; {grounds}{}\n{}={}",
        args.output.display(),
        count_noun(rows.len(), "row"),
        device.name,
        left_out(&asked),
        variable(table.file_name()),
        std::path::absolute(&args.output).unwrap_or(args.output.clone()).display()
    ));
    Ok(())
}

/// The tables to extend, as one.
fn table_to_extend(args: &AiterExportArgs) -> Result<GemmTable> {
    let mut tables = args.extend.iter().map(|path| {
        let table = GemmTable::read(&read_source(path)?)?;
        table.check_rows()?;
        Ok(table)
    });
    let Some(first) = tables.next() else { return input("--extend names no table") };
    let mut whole = first?;
    for table in tables {
        whole.add_table(&table?)?;
    }
    Ok(whole)
}

/// The time that the model predicts for a config; 0 where it knows none.
fn predicted_us(predictor: &Predictor, device: &Device, problem: &Problem, config: &Config) -> Result<f64> {
    let scored = predictor.score(problem, device, Objective::Time, std::slice::from_ref(config))?;
    Ok(scored.first().and_then(|own| own.time_us).unwrap_or(0.0))
}

/// The variable of the environment in which AITER looks for a table's path, by the table's usual name.
fn variable(file: &str) -> String {
    let stem = file.split('.').next().unwrap_or(file);
    match stem.split_once("_tuned_gemm").filter(|(_, rest)| rest.is_empty()) {
        Some((family, _)) => format!("AITER_CONFIG_GEMM_{}", family.to_uppercase()),
        None => "AITER_CONFIG_…".into(),
    }
}

fn read_source(path: &Path) -> Result<OpenedText> {
    Ok(OpenedText { place: path.display().to_string(), text: read_stream(path, limits::LIST)? })
}

/// The configs of the compiled kernels that the table names.
fn candidates(kernel: &Kernel, device: &Device, table: &GemmTable) -> Result<Vec<Config>> {
    let mut found = Vec::new();
    for named in table.kernels(device) {
        found.extend(aiter::configs_of(kernel, &named.name)?);
    }
    match found.is_empty() {
        true => input(format!("{}: names no kernel that {} describes", table.place, kernel.name)),
        false => Ok(found),
    }
}

/// The shapes of the sources that the table has no row for.
fn asked_shapes(args: &AiterExportArgs, kernel: &Kernel, device: &Device, table: &GemmTable) -> Result<AskedShapes> {
    let mut asked = AskedShapes::default();
    let name = args.table.as_deref().unwrap_or(table.file_name());
    let problems = table.problems(kernel, device);
    let known: HashSet<String> = problems.iter().map(|problem| kernel.show_problem(problem)).collect();
    let mut seen = HashSet::new();
    for path in &args.sources {
        let file = read_source(path)?;
        let list = ShapeList::from_text(&file.text);
        for (at, line) in file.text.lines().enumerate() {
            let Some(fields) = shape_of(at, line, &list, name, &mut asked) else { continue };
            asked.lines += 1;
            match aiter::problem(kernel, &fields) {
                Ok(problem) if !seen.insert(kernel.show_problem(&problem)) => {}
                Ok(problem) if known.contains(&kernel.show_problem(&problem)) => asked.kept += 1,
                Ok(problem) => asked.problems.push(problem),
                Err(e) => asked.bad.add(&e.to_string(), &format!("{}, line {}", file.place, at + 1)),
            }
        }
    }
    asked.bad.check(asked.lines, args.strict)?;
    match (asked.lines, asked.problems.is_empty()) {
        (0, _) => input(format!(
            "no line names a shape that {} lacks, as AITER logs it, or a shape such as M=16,N=2112,K=7168{}",
            quote(name),
            left_out(&asked).replace('\n', "; ")
        )),
        (_, true) => input(format!("no shape needs a row{}", left_out(&asked).replace('\n', "; "))),
        _ => Ok(asked),
    }
}

/// The shape of a line; one that a log misses in another table than `name` is counted.
fn shape_of(at: usize, line: &str, list: &ShapeList, name: &str, asked: &mut AskedShapes) -> Option<Vec<NamedField>> {
    let Some(missing) = missing_in(line) else { return list.shape(at, line) };
    if missing.table == name {
        return Some(missing.fields);
    }
    *asked.others.entry(missing.table).or_insert(0) += 1;
    None
}

/// What is said of shapes that got no row.
fn left_out(asked: &AskedShapes) -> String {
    let mut text = String::new();
    if asked.kept > 0 {
        text += &format!("\nleft out, {}: the table has a row", count_noun(asked.kept, "shape"));
    }
    for (table, count) in &asked.others {
        text += &format!(
            "\nleft out, {}: missed in {}; --table names the one that is meant",
            count_noun(*count, "line"),
            quote(table)
        );
    }
    text + &asked.bad.text()
}
