//! `seqtune export megatron`

use crate::cli::choices::check_losses;
use crate::cli::export::candidates::JudgedConfigs;
use crate::cli::watched::Watched;
use seqtune_choose::Predicted;
use seqtune_choose::losses::LossOptions;
use seqtune_console::answer::{answer, warn};
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_console::value_parsers;
use seqtune_data::BadRows;
use seqtune_data::formats::megatron::{ANY, AskedKeys, TunedTable, TuningKey, is_same_function, listed_configs};
use seqtune_data::formats::opened::OpenedText;
use seqtune_data::formats::triton_config::{ConfigFault, config_of, json_of};
use seqtune_data::formats::values::FieldSource;
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::files::{read_stream, write_whole};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem, count_noun, limits, list_names};
use seqtune_predict::{Model, Predictor, Quality};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Problems of a row at most: values of --set, each with each.
const MOST_PROBLEMS: usize = 1_000;

/// Exports a table of Triton configs for Megatron-Core, which then times none
///
/// Megatron-Core reads it from a folder of --triton-autotune-table-path, in the mode `pinned`. A row is a tuning key with a config; the row `*`
/// is for all other keys. Nothing is measured.
#[derive(clap::Args)]
pub struct MegatronExportArgs {
    /// Folder of the model
    model: PathBuf,
    /// Recordings of ranks, tables, or texts with tuning keys, or `-` for standard input
    ///
    /// They say which keys are needed, such as emb_dim=64|head_num=16|torch.bfloat16. A log counts where it has architecture|function|key.
    #[arg(required = true)]
    sources: Vec<PathBuf>,
    /// Kernel: a name, or the path of a folder [default: that of the model]
    #[arg(long)]
    kernel: Option<String>,
    /// The kernel's function in Megatron-Core, with or without its module [default: the kernel's name]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Files that list the function's configs: *.autotune.json of Triton, recordings, tables or lists
    ///
    /// Megatron-Core ignores a row whose config the function does not list. Without this option any config of the kernel may be written.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    candidates: Vec<PathBuf>,
    /// Table whose rows are kept, since Megatron-Core reads the first table that it finds and no other
    #[arg(long, value_name = "FILE")]
    extend: Option<PathBuf>,
    /// Fields that the data types behind a key are, in order, such as mat1_dtype,mat2_dtype; `_` for none [default: dtype]
    #[arg(long, value_delimiter = ',', value_name = "FIELD,...")]
    types: Vec<String>,
    /// Values of a field that keys do not have, such as tokens=2048,8192
    ///
    /// Of several, a row has the config that loses least on average.
    #[arg(long = "set", value_name = "FIELD=VALUE,...", value_parser = value_parsers::field_source)]
    set: Vec<FieldSource>,
    /// Leave out rows where the config of `*` loses at most this share of the speed, 0 to 99 percent
    #[arg(long, value_name = "PERCENT", value_parser = value_parsers::share())]
    within: Option<f64>,
    /// Device to predict for: a name, `live`, an id or a .toml file
    ///
    /// [default: the model's training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Quantity to minimize
    #[arg(long, value_parser = value_parsers::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Version of Triton to name in the table
    #[arg(long, value_name = "VERSION", default_value = "")]
    triton: String,
    /// Folder for the table, which is called after the architecture, such as sm90.json
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Refuse the export if any key or config cannot be read
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    replace: Replace,
}

/// A row to fill.
struct AskedRow {
    key: String,
    problems: Vec<Problem>,
}

/// What becomes of the keys of the sources.
struct Plan {
    /// The function as the table calls it.
    function: String,
    rows: Vec<AskedRow>,
    /// Keys that a kept table has.
    kept: usize,
    /// Keys of other functions and of other architectures, each with the first of these.
    others: usize,
    first_other: Option<String>,
    elsewhere: usize,
    first_elsewhere: Option<String>,
    /// Keys with the problem of an earlier one, from which only their data types tell them.
    alike: usize,
    bad: BadRows,
}

pub fn run(args: MegatronExportArgs) -> Result<()> {
    let name = seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?;
    let kernel = seqtune_console::inputs::kernel(&name)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    model.check_objective(args.objective)?;
    if args.within.is_some() {
        check_losses(&model).map_err(|e| Error::Input(format!("--within: {e}")))?;
    }
    let device = seqtune_console::inputs::device_among(&model.meta.devices, args.device.as_deref())?;
    let architecture = architecture(&device)?;
    kernel.check_device(&device)?;
    seqtune_console::inputs::warn_of_unseen(&model.meta, &device);
    let output = args.output.join(format!("{architecture}.json"));
    let mut table = match &args.extend {
        Some(path) => TunedTable::read(&read_source(path)?, &architecture)?,
        None => TunedTable::new(&architecture, &args.triton),
    };
    let before = table.len();
    let plan = plan(&args, &kernel, &architecture, &table)?;
    let candidates = candidates(&args, &kernel, &plan.function)?;
    claim(&output, Kind::EngineTable, args.replace, &args.sources)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let points = Predicted::with_predictor(&kernel, &predictor, model.digest(), &device);
    let questions = LossOptions::questions(plan.rows.iter().map(|row| row.problems.len()).sum());
    let points = Watched::new(points, questions);
    let options = LossOptions { objective: args.objective, threads: cores(), ..LossOptions::default() };
    let problems: Vec<Vec<Problem>> = plan.rows.iter().map(|row| row.problems.clone()).collect();
    let judged = JudgedConfigs::judge(&kernel, &device, &points, &problems, candidates.as_deref(), &options)?;
    points.end();
    let filled = fill(&args, &kernel, &plan, &judged, &mut table);
    if table.len() == before {
        return input(format!("no row can be made{}", filled.replace('\n', "; ")));
    }
    let grounds = predictor.grounds(&device).words();
    table.add_source(&format!(
        "{}: predicted by seqtune {}, not measured, model {}; {grounds}",
        plan.function,
        env!("CARGO_PKG_VERSION"),
        model.digest()
    ));
    write_whole(&output, table.text()?.as_bytes())?;
    let kept = if before > 0 { format!("; {} kept", count_noun(before, "row")) } else { String::new() };
    answer(&format!(
        "{}: {} of {}{kept}; not measured; {grounds}{filled}{}\n--triton-autotune-mode pinned --triton-autotune-table-path {}",
        output.display(),
        count_noun(table.len() - before, "row"),
        plan.function,
        left_out(&plan),
        args.output.display()
    ));
    warn_of_rows(&plan, candidates.is_some() || kernel.instances.is_some());
    Ok(())
}

/// Warns of rows that may not serve: `are_listed` says whether the function's configs are known.
fn warn_of_rows(plan: &Plan, are_listed: bool) {
    if plan.alike > 0 {
        warn(&format!(
            "{} another one's config, since no field tells their data types apart; --types names fields for these",
            if plan.alike == 1 { "1 key has".into() } else { format!("{} keys have", plan.alike) }
        ));
    }
    if !are_listed {
        warn(
            "Megatron-Core ignores a row whose config is none of the function's own; --candidates names files that list them",
        );
    }
}

/// Adds the rows; says in words which of them are not there.
fn fill(
    args: &MegatronExportArgs,
    kernel: &Kernel,
    plan: &Plan,
    judged: &JudgedConfigs,
    table: &mut TunedTable,
) -> String {
    let json = |config: usize| json_of(kernel, &judged.configs[config]);
    // a row `*` that is kept has a config that was not judged
    let any = judged.best_for_all().filter(|_| !table.has(&plan.function, ANY));
    if let Some(config) = any {
        table.insert(&plan.function, ANY, json(config));
    }
    let (mut near, mut forbidden) = (0, Vec::new());
    for (at, row) in plan.rows.iter().enumerate() {
        let is_near = args.within.zip(any).is_some_and(|(within, any)| judged.lost(at, any) <= within);
        match judged.best(at) {
            Some(_) if is_near => near += 1,
            Some(best) => table.insert(&plan.function, &row.key, json(best)),
            None => forbidden.push(&row.key),
        }
    }
    let mut text = if near > 0 { format!("\nleft to `*`, {}", count_noun(near, "key")) } else { String::new() };
    if let [first, ..] = forbidden[..] {
        text +=
            &format!("\nleft out, {}: no config is legal, first {}", count_noun(forbidden.len(), "key"), quote(first));
    }
    text
}

/// What is said of keys that got no row.
fn left_out(plan: &Plan) -> String {
    let mut text = String::new();
    let elsewhere = plan.first_elsewhere.clone().unwrap_or_default();
    let first = quote(plan.first_other.as_deref().unwrap_or_default());
    for (count, why) in [
        (plan.kept, "the table that is extended has a row".to_string()),
        (plan.others, format!("of other functions, first {first}; --function names the one that is meant")),
        (plan.elsewhere, format!("of other architectures, first {}", quote(&elsewhere))),
    ] {
        if count > 0 {
            text += &format!("\nleft out, {}: {why}", count_noun(count, "key"));
        }
    }
    text + &plan.bad.text()
}

/// The architecture as tables are called after it.
fn architecture(device: &Device) -> Result<String> {
    match device.architecture.strip_prefix("sm_") {
        Some(number) => Ok(format!("sm{number}")),
        None => input(format!("{} is no device of CUDA, and Megatron-Core's tables are of these", device.name)),
    }
}

fn read_source(path: &Path) -> Result<OpenedText> {
    Ok(OpenedText { place: path.display().to_string(), text: read_stream(path, limits::LIST)? })
}

/// The rows that the sources ask for.
fn plan(args: &MegatronExportArgs, kernel: &Kernel, architecture: &str, table: &TunedTable) -> Result<Plan> {
    let mut asked = AskedKeys::default();
    for path in &args.sources {
        asked.add(&read_source(path)?);
    }
    if asked.met == 0 {
        return input("no source has a tuning key, such as emb_dim=64|head_num=16|torch.bfloat16");
    }
    let wanted = args.function.clone().unwrap_or_else(|| kernel.name.clone());
    let function = function(&wanted, &asked, table)?;
    let is_field = |name: &String| name == "_" || kernel.fields.iter().any(|field| field.name == *name);
    if let Some(other) = args.types.iter().find(|name| !is_field(name)) {
        return input(format!("--types {}: is no field of {}", quote(other), kernel.name));
    }
    let sets = sets(args, kernel)?;
    let mut plan = Plan {
        function,
        rows: Vec::new(),
        kept: 0,
        others: 0,
        first_other: None,
        elsewhere: 0,
        first_elsewhere: None,
        alike: 0,
        bad: asked.bad,
    };
    let (mut seen, mut distinct) = (BTreeSet::new(), BTreeSet::new());
    for own in asked.keys {
        if own.function.as_deref().is_some_and(|name| !is_same_function(name, &wanted)) {
            plan.others += 1;
            plan.first_other = plan.first_other.or(own.function);
        } else if own.architecture.as_deref().is_some_and(|name| name != architecture) {
            plan.elsewhere += 1;
            plan.first_elsewhere = plan.first_elsewhere.or(own.architecture);
        } else if table.has(&plan.function, &own.key.text) {
            plan.kept += 1;
        } else if seen.insert(own.key.text.clone()) {
            match problems(args, kernel, &own.key, &sets) {
                Ok(problems) => {
                    plan.alike += !distinct.insert(kernel.show_problem(&problems[0])) as usize;
                    plan.rows.push(AskedRow { key: own.key.text, problems });
                }
                Err(e) => plan.bad.add(&e.to_string(), &own.key.text),
            }
        }
    }
    plan.bad.check(asked.met, args.strict)?;
    match plan.rows.is_empty() {
        true => input(format!("no key of {wanted} needs a row{}", left_out(&plan).replace('\n', "; "))),
        false => Ok(plan),
    }
}

/// What the table calls the function: its name with the module where the sources or the kept table have that.
fn function(wanted: &str, asked: &AskedKeys, table: &TunedTable) -> Result<String> {
    let told = asked.keys.iter().filter_map(|own| own.function.as_deref());
    let same: BTreeSet<&str> = told.chain(table.functions()).filter(|name| is_same_function(name, wanted)).collect();
    let whole: Vec<&&str> = same.iter().filter(|name| name.contains('.')).collect();
    match (whole.as_slice(), same.first()) {
        ([one], _) => Ok(one.to_string()),
        ([], Some(bare)) => Ok(bare.to_string()),
        ([], None) => Ok(wanted.to_string()),
        (several, _) => input(format!(
            "{wanted} stands for {}; choose one with --function",
            list_names(several.iter().map(|name| **name), "and")
        )),
    }
}

/// Values of the fields that keys do not have, each with each.
fn sets(args: &MegatronExportArgs, kernel: &Kernel) -> Result<Vec<Map<String, Value>>> {
    let mut all = vec![Map::new()];
    for FieldSource { field, from } in &args.set {
        if !kernel.fields.iter().any(|own| own.name == *field) || all[0].contains_key(field) {
            return input(format!("--set {}: is no field of {}, or is set twice", quote(field), kernel.name));
        }
        let with = |before: &Map<String, Value>, value: &str| {
            let mut after = before.clone();
            after.insert(field.clone(), value.trim().into());
            after
        };
        all = all.iter().flat_map(|before| from.split(',').map(move |value| with(before, value))).collect();
        if all.len() > MOST_PROBLEMS {
            return input(format!("--set: a row would stand for more than {MOST_PROBLEMS} problems"));
        }
    }
    Ok(all)
}

fn problems(
    args: &MegatronExportArgs,
    kernel: &Kernel,
    key: &TuningKey,
    sets: &[Map<String, Value>],
) -> Result<Vec<Problem>> {
    sets.iter().map(|set| key.problem(kernel, set, &args.types)).collect()
}

/// The configs that the function lists, each once; `None` where no file is named.
fn candidates(args: &MegatronExportArgs, kernel: &Kernel, function: &str) -> Result<Option<Vec<Config>>> {
    if args.candidates.is_empty() {
        return Ok(None);
    }
    let (mut found, mut bad, mut listed) = (Vec::new(), BadRows::default(), 0);
    for path in &args.candidates {
        let file = read_source(path)?;
        for value in listed_configs(&file, function)? {
            listed += 1;
            match config_of(kernel, &value) {
                Ok(config) if !found.contains(&config) => found.push(config),
                Ok(_) => {}
                Err(ConfigFault::Unsaid(reason) | ConfigFault::Bad(reason)) => bad.add(&reason, &file.place),
            }
        }
    }
    if args.strict {
        bad.refuse(listed)?;
    }
    match found.is_empty() {
        true => {
            let reason = bad.commonest().unwrap_or_default();
            input(format!("--candidates: no config is one of {}; {reason}", kernel.name))
        }
        false => {
            if let Some(reason) = bad.commonest() {
                warn(&format!("--candidates: {} left out; {reason}", count_noun(bad.rows(), "config")));
            }
            Ok(Some(found))
        }
    }
}
