//! `seqtune export table`

use crate::cli::choices::check_losses;
use crate::cli::goal::Goal;
use crate::cli::validate::certified_rows::CertifiedRows;
use seqtune_choose::Predicted;
use seqtune_choose::breakpoints::{Breakpoints, DEFAULT_SIZES, Line, Nearness};
use seqtune_choose::losses::LossOptions;
use seqtune_choose::ranges::Range;
use seqtune_console::answer::{answer, warn};
use seqtune_console::outputs::{Kind, Replace, claim_all, command_line};
use seqtune_console::value_parsers;
use seqtune_data::BadRows;
use seqtune_data::formats::engine_tables::{Engine, ROW, TableName, is_device_name, name_in, write};
use seqtune_data::formats::shape_lists::{NamedField, ShapeList};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::files::{read_stream, write_whole};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem, count_noun, limits, list_names};
use seqtune_predict::{Grounds, Model, Predictor, Quality, Query};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Numbers of tokens that the engines' own tables have rows for.
const ROWS: &str = "1,2,4,8,16,24,32,48,64,96,128,256,512,1024,1536,2048,3072,4096";

/// The file beside the tables that says what they are: the tables themselves may hold nothing but rows.
const ABOUT: &str = "seqtune.json";

/// Exports tables of configs that an engine reads, for the shapes that its log misses
///
/// vLLM reads them from the folder that VLLM_TUNED_CONFIG_FOLDER names, SGLang from the one that SGLANG_MOE_CONFIG_DIR names. Nothing is
/// measured: the file seqtune.json beside them says what the model learned from.
#[derive(clap::Args)]
pub struct TableArgs {
    /// Folder of the model
    model: PathBuf,
    /// Engine: vllm, sglang or huggingface; also megatron, aiter, header, inductor, miopen, clblast and kernel-tuner
    ///
    /// The last seven are the subcommands of `export` of these names, with their options, such as `export megatron --help` tells them:
    /// `--for header --from sizes.txt` is `export header` of the sizes.
    ///
    /// Hugging Face's `kernels` documents vLLM's form for packages. Such a package takes the row that is nearest by ratio, the engines the one
    /// that is nearest by difference.
    #[arg(long = "for", value_name = "ENGINE", value_parser = ["vllm", "sglang", "huggingface"])]
    engine: String,
    /// Logs of the engine, lists of shapes, or `-` for standard input
    ///
    /// A line of a log counts where it names a table that was not found. A list has a shape per line, such as E=8,N=14336,dtype=fp8_w8a8. A
    /// file of comma-separated values names the fields in its first line.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder [default: that of the model]
    #[arg(long)]
    kernel: Option<String>,
    /// Device to predict for [default: the one that the tables are for]
    #[arg(long)]
    device: Option<String>,
    /// GPU as the engine calls it, such as NVIDIA_H100_80GB_HBM3 [default: that of the log]
    #[arg(long, value_name = "NAME")]
    device_name: Option<String>,
    /// Numbers of tokens, a row each
    #[arg(long, value_delimiter = ',', default_value = ROWS, value_name = "M,...", conflicts_with = "within")]
    rows: Vec<u64>,
    /// Choose the fewest rows that lose at most this share of the speed at any number of tokens, 0 to 99 percent
    ///
    /// The engines take the nearest row. A size loses against its own first choice, as the model predicts.
    #[arg(long, value_name = "PERCENT", value_parser = value_parsers::share())]
    within: Option<f64>,
    /// Rows that `validate --certify` wrote: their certified configs, and the kernel's default at all other numbers of tokens
    ///
    /// The evidence is kept in seqtune.json.
    #[arg(long, value_name = "FILE", conflicts_with = "within")]
    certified: Option<PathBuf>,
    /// Greatest number of tokens that --within keeps the share for
    #[arg(long, value_name = "M", default_value_t = 4096, requires = "within", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: u64,
    #[command(flatten)]
    goal: Goal,
    /// Version of Triton, for which SGLang has folders of their own, such as 3.5.1
    #[arg(long, value_name = "VERSION")]
    triton: Option<String>,
    /// Folder for the tables
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Refuse the export if any line cannot be read
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    replace: Replace,
}

/// Configs by number of tokens.
type Rows = BTreeMap<u64, Config>;

/// What the sources ask for.
#[derive(Default)]
struct AskedTables {
    /// Distinct tables, in order of appearance.
    tables: Vec<TableName>,
    /// Lines that named one.
    lines: usize,
    bad: BadRows,
}

pub fn run(args: TableArgs) -> Result<()> {
    let name = seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?;
    let kernel = seqtune_console::inputs::kernel(&name)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    check_goal(&args, &model)?;
    let mut asked = read(&args)?;
    let device_name = device_name(&args, &asked)?;
    let (own, others): (Vec<TableName>, Vec<TableName>) =
        asked.tables.into_iter().partition(|table| table.device == device_name || table.device.is_empty());
    let device = device(&args, &model, &device_name)?;
    let mut tables: BTreeMap<String, (TableName, Vec<Problem>)> = BTreeMap::new();
    for mut table in own {
        table.device = device_name.clone();
        match args.rows.iter().map(|row| table.problem(&kernel, *row)).collect::<Result<Vec<Problem>>>() {
            Ok(problems) => drop(tables.insert(table.write(engine(&args)), (table, problems))),
            Err(e) => asked.bad.add(&e.to_string(), &table.write(Engine::Vllm)),
        }
    }
    asked.bad.check(asked.lines, args.strict)?;
    if tables.is_empty() {
        return input(format!("no table can be made{}", asked.bad.text().replace('\n', "; ")));
    }
    let folder = folder(&args)?;
    let mut outputs: Vec<PathBuf> = tables.keys().map(|name| folder.join(name)).collect();
    outputs.push(args.output.join(ABOUT));
    claim_all(&outputs, Kind::EngineTable, args.replace, &args.from)?;
    let grounds = Grounds::from_meta(&model.meta, &device);
    let predictor = Predictor::new(&kernel, &model)?;
    let evidence = args.certified.as_deref().map(|path| CertifiedRows::read(path, &kernel)).transpose()?;
    let asked_rows: Vec<&[Problem]> = tables.values().map(|(_, problems)| &problems[..]).collect();
    let filled = match (args.within, &evidence) {
        (_, Some(evidence)) => certified_rows(&args, &kernel, &device, evidence, &asked_rows)?,
        (None, None) => at_rows(&args, &predictor, &device, &asked_rows)?,
        (Some(within), None) => at_breakpoints(&args, &predictor, model.digest(), &device, within, &asked_rows)?,
    };
    let texts: Vec<String> = filled.iter().map(|rows| write(&kernel, rows)).collect();
    let count: usize = filled.iter().map(Rows::len).sum();
    // all are made before the first is written
    for (output, text) in outputs.iter().zip(&texts) {
        write_whole(output, text.as_bytes())?;
    }
    let about = serde_json::json!({
        "seqtune": env!("CARGO_PKG_VERSION"), "model": model.digest(), "kernel": kernel.name, "device": device.name,
        "grounds": grounds.words(), "command": command_line(), "tables": tables.keys().collect::<Vec<_>>(), "within": args.within,
        "rows": filled.iter().map(|rows| rows.keys().copied().collect()).collect::<Vec<Vec<u64>>>(),
        "certified": evidence,
    });
    let text = serde_json::to_string_pretty(&about).map_err(|e| Error::Failed(format!("writing {ABOUT}: {e}")))?;
    write_whole(&args.output.join(ABOUT), (text + "\n").as_bytes())?;
    let what = format!("{} with {} for {device_name}", count_noun(tables.len(), "table"), count_noun(count, "row"));
    let left_out = words_of_others(&others);
    let measured = match &evidence {
        None => "not measured".to_string(),
        Some(evidence) => format!("{}, others the default", evidence.words_of(&kernel, &asked_rows)),
    };
    tell(&args, &kernel, &folder, &format!("{what}, {measured}; {}{left_out}{}", grounds.words(), asked.bad.text()));
    Ok(())
}

/// What is said of tables of other devices.
fn words_of_others(others: &[TableName]) -> String {
    match others {
        [] => String::new(),
        [first, ..] => {
            let others = count_noun(others.len(), "table");
            format!("\nleft out, {others}: of another device, first {}", first.write(Engine::Vllm))
        }
    }
}

/// Refuses what the model did not learn.
fn check_goal(args: &TableArgs, model: &Model) -> Result<()> {
    if args.within.is_some() {
        check_losses(model).map_err(|e| Error::Input(format!("--within: {e}; name the rows with --rows")))?;
    }
    args.goal.check(model)
}

/// Configs at the sizes that were asked for, by table.
fn at_rows(args: &TableArgs, predictor: &Predictor, device: &Device, tables: &[&[Problem]]) -> Result<Vec<Rows>> {
    let all: Vec<Problem> = tables.iter().copied().flatten().cloned().collect();
    let query = args.goal.ask(Query { top: 1, threads: cores(), ..Query::new(device) });
    let predicted = predictor.predict(&all, &query)?;
    let mut firsts = predicted.into_iter().map(|prediction| prediction.candidates.into_iter().next());
    let mut row = |(row, problem): (&u64, &Problem)| match firsts.next().flatten() {
        Some(first) => Ok((*row, first.config)),
        None => input(format!("no config is legal for {}", predictor.kernel().brief_problem(problem))),
    };
    tables.iter().map(|problems| args.rows.iter().zip(*problems).map(&mut row).collect()).collect()
}

/// Certified configs at the sizes that were asked for, by table; the kernel's default where there is none.
fn certified_rows(
    args: &TableArgs,
    kernel: &Kernel,
    device: &Device,
    evidence: &CertifiedRows,
    tables: &[&[Problem]],
) -> Result<Vec<Rows>> {
    let known = evidence.certified_configs(kernel)?;
    let row = |(row, problem): (&u64, &Problem)| {
        let config = known.get(&kernel.show_problem(problem)).cloned().unwrap_or_else(|| kernel.default_config());
        match ConfigSpace::new(kernel, problem, device).is_legal(&config) {
            true => Ok((*row, config)),
            false => input(format!(
                "neither a certified config nor the default is legal for {}",
                kernel.brief_problem(problem)
            )),
        }
    };
    tables.iter().map(|problems| args.rows.iter().zip(*problems).map(row).collect()).collect()
}

/// The fewest rows that keep a share of the speed, by table; each table's line goes through a problem.
fn at_breakpoints(
    args: &TableArgs,
    predictor: &Predictor,
    digest: String,
    device: &Device,
    within: f64,
    tables: &[&[Problem]],
) -> Result<Vec<Rows>> {
    let kernel = predictor.kernel();
    let points = Predicted::with_predictor(kernel, predictor, digest, device);
    if args.goal.within_time.is_some() {
        return input("--within and --within-time: name one, a share of the speed or one of the time for less energy");
    }
    let options = LossOptions { objective: args.goal.objective, threads: cores(), ..LossOptions::default() };
    let range = Range { field: ROW.into(), least: 1, greatest: args.tokens };
    let rows = |problem: &Problem| {
        let line = Line::new(kernel, device, problem, &range, DEFAULT_SIZES)?;
        let found = Breakpoints::find(kernel, &points, line, within, &options)?;
        let by = if args.engine == "huggingface" { Nearness::Ratio } else { Nearness::Difference };
        let rows = found.rows(by);
        Ok(rows.iter().map(|row| (row.size, found.config(row.config).clone())).collect())
    };
    tables.iter().map(|problems| rows(&problems[0])).collect()
}

/// The folder in which the engine looks.
fn folder(args: &TableArgs) -> Result<PathBuf> {
    let Some(version) = &args.triton else { return Ok(args.output.clone()) };
    if engine(args) != Engine::Sglang {
        return input("--triton is for SGLang, which has a folder for each version; vLLM has none");
    }
    match version.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit())) {
        true => Ok(args.output.join("configs").join(format!("triton_{}", version.replace('.', "_")))),
        false => input(format!("--triton {}: write a version such as 3.5.1", quote(version))),
    }
}

fn engine(args: &TableArgs) -> Engine {
    if args.engine == "sglang" { Engine::Sglang } else { Engine::Vllm }
}

/// Says what was written, and where the engine looks for it.
fn tell(args: &TableArgs, kernel: &Kernel, folder: &Path, what: &str) {
    let output = args.output.display();
    let place = match (args.engine.as_str(), kernel.name.as_str()) {
        ("huggingface", _) => "copy the tables into torch-ext/PACKAGE/configs".to_string(),
        ("sglang", "block_scaled_mm") => "copy the tables into sglang/srt/layers/quantization/configs".to_string(),
        ("sglang", _) => format!("SGLANG_MOE_CONFIG_DIR={output}"),
        (_, "block_scaled_mm") => {
            "copy the tables into vllm/model_executor/layers/quantization/utils/configs".to_string()
        }
        _ => format!("VLLM_TUNED_CONFIG_FOLDER={output}"),
    };
    if place.starts_with("SGLANG") && args.triton.is_none() {
        warn("SGLang looks in configs/triton_VERSION of a folder; --triton makes that one");
    }
    answer(&format!("{}: {what}\n{place}", folder.display()));
}

/// The tables that the sources name.
fn read(args: &TableArgs) -> Result<AskedTables> {
    let mut asked = AskedTables::default();
    for path in &args.from {
        let text = read_stream(path, limits::LIST)?;
        let place = path.display().to_string();
        let list = ShapeList::from_text(&text);
        for (at, line) in text.lines().enumerate().map(|(at, line)| (at, line.trim())) {
            let place = || format!("{place}, line {}", at + 1);
            let found = match (name_in(line), list.shape(at, line)) {
                (Some(name), _) => TableName::read(name),
                (None, Some(fields)) => Ok(shape(fields)),
                (None, None) => continue,
            };
            asked.lines += 1;
            match found {
                Ok(table) if !asked.tables.contains(&table) => asked.tables.push(table),
                Ok(_) => {}
                Err(reason) => asked.bad.add(&reason, &place()),
            }
        }
    }
    match asked.lines {
        0 => input(
            "no line names a table that is missing, as engines log it with device_name=….json, or a shape, such as E=8,N=14336",
        ),
        _ => Ok(asked),
    }
}

/// A table of a shape, of no device yet. Its rows are those of the options.
fn shape(mut fields: Vec<NamedField>) -> TableName {
    fields.retain(|field| field.name != ROW);
    TableName { fields, device: String::new() }
}

/// The device's name in the tables: the one that is asked for, or the only one that the sources name.
fn device_name(args: &TableArgs, asked: &AskedTables) -> Result<String> {
    if let Some(name) = &args.device_name {
        let name = name.replace(' ', "_");
        return match is_device_name(&name) {
            true => Ok(name),
            false => input(format!("--device-name {}: it is part of a file's name", quote(&name))),
        };
    }
    let named = asked.tables.iter().map(|table| table.device.as_str()).filter(|name| !name.is_empty());
    let named: BTreeSet<&str> = named.collect();
    match named.iter().collect::<Vec<_>>()[..] {
        [one] => Ok(one.to_string()),
        [] => {
            input("no source names the GPU as the engine calls it; give --device-name, such as NVIDIA_H100_80GB_HBM3")
        }
        _ => input(format!(
            "the sources name tables of {}; choose one with --device-name",
            list_names(named.iter().copied(), "and")
        )),
    }
}

/// The device to predict for.
fn device(args: &TableArgs, model: &Model, device_name: &str) -> Result<Device> {
    match &args.device {
        Some(name) => seqtune_console::inputs::device_for(&model.meta, Some(name)),
        None => seqtune_console::inputs::device_for(&model.meta, Some(&device_name.replace('_', " ")))
            .map_err(|e| Error::DeviceNotFound(format!("{e}; or name another device with --device"))),
    }
}
