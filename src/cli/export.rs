//! `seqtune export`

mod about;
mod aiter;
mod breakpoints;
mod candidates;
mod clblast;
mod dataset;
mod header;
mod megatron;
mod miopen;
mod table;

use crate::cli::goal::Goal;
use clap::Subcommand;
use seqtune_console::outputs::{Kind, Replace, claim, claim_all, distinct, file_name};
use seqtune_data::formats::{inductor, kernel_tuner, t4, tabular};
use seqtune_data::version::check_kernel;
use seqtune_data::{Dataset, Record};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::{read_stream, write_whole};
use seqtune_kernel::limits;
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Device, Kernel, Problem};
use seqtune_predict::{Model, Predictor, Quality, Query};
use std::collections::HashSet;
use std::path::PathBuf;

/// Exports predictions and datasets, also in the formats of other tools
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    to: To,
}

#[derive(Subcommand)]
enum To {
    Dataset(dataset::Args),
    Miopen(miopen::MiopenExportArgs),
    /// Exports a dataset as comma-separated values, one line per config
    Csv(DatasetArgs),
    /// Exports a dataset as an Apache Parquet file, one row per config
    Parquet(DatasetArgs),
    /// Exports a problem's records as results in the T4 format
    ///
    /// T4 is the format of the auto-tuning community. A file holds one problem: choose it with --problem.
    T4(DatasetArgs),
    /// Exports cache files of Kernel Tuner, one per problem
    ///
    /// Kernel Tuner's simulation mode replays them. Several files are written into the folder OUTPUT.
    KernelTuner(DatasetArgs),
    Clblast(clblast::ClblastExportArgs),
    Header(header::HeaderArgs),
    Inductor(InductorArgs),
    Table(table::TableArgs),
    Breakpoints(breakpoints::BreakpointArgs),
    Megatron(megatron::MegatronExportArgs),
    Aiter(aiter::AiterExportArgs),
}

/// Exports a lookup table of configs for PyTorch Inductor
///
/// For each matrix product, Inductor then chooses among the configs of the table instead of its own.
///
/// In Python: torch._inductor.config.lookup_table.table = json.load(open("table.json"))
#[derive(clap::Args)]
struct InductorArgs {
    /// Folder of a model of triton_mm or of a similar kernel
    ///
    /// A similar kernel has the same fields and parameters.
    model: PathBuf,
    /// Problems such as m=512,n=256,k=64, files of problems, or `-`
    ///
    /// Files have one problem per line. `-` stands for standard input.
    #[arg(required = true)]
    problems: Vec<String>,
    /// Table to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Kernel name or folder
    #[arg(long, default_value = "triton_mm")]
    kernel: String,
    /// Operation: mm, or addmm with a bias of n elements
    ///
    /// A linear layer is an addmm.
    #[arg(long, default_value = "mm", value_parser = seqtune_console::value_parsers::matrix_op())]
    op: inductor::Op,
    /// Data type of both matrices
    ///
    /// It applies where a problem does not name mat1_dtype and mat2_dtype.
    #[arg(long, default_value = "float16")]
    dtype: String,
    /// Layout of the two matrices: n for row-major, t for column-major
    ///
    /// It applies where a problem does not name their strides. A linear layer is nt.
    #[arg(long, default_value = "nn", value_parser = ["nn", "nt", "tn", "tt"])]
    layout: String,
    /// Assume that products of float32 are computed in TF32
    #[arg(long)]
    tf32: bool,
    /// Assume that sizes may differ at run time
    ///
    /// No config then assumes that its steps divide the sum evenly (EVEN_K is false). Without this option, results are wrong if the
    /// size of the sum changes.
    #[arg(long)]
    dynamic: bool,
    /// Device to predict for: a name, `live`, an id or a .toml file
    ///
    /// A name is that of a training device of the model or of a described device. An id is for instance `opencl:0`.
    ///
    /// [default: the model's training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Device that the entries are for, by its gcnArchName [default: any]
    ///
    /// torch.cuda.get_device_properties().gcnArchName prints the name.
    #[arg(long, value_name = "NAME")]
    device_key: Option<String>,
    /// Number of configs where the model is unsure of a problem, 1 to 10,000
    ///
    /// If the model is sure, the table has one config.
    #[arg(long, default_value_t = 3, value_name = "K", value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    top: usize,
    #[command(flatten)]
    goal: Goal,
    /// Leave out the vendor's library where the model is sure of its config
    ///
    /// Nothing is then measured there. The model knows which config is best, but not whether the library is faster.
    #[arg(long)]
    no_library_if_sure: bool,
    #[command(flatten)]
    replace: Replace,
}

#[derive(clap::Args)]
struct DatasetArgs {
    /// Dataset to export: journal or packed file
    dataset: PathBuf,
    /// Problem to export the records of [default: all problems]
    #[arg(long)]
    problem: Option<String>,
    /// Kernel name or folder [default: the kernel named in the dataset]
    #[arg(long)]
    kernel: Option<String>,
    /// File to write; for several Kernel Tuner caches a folder
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    replace: Replace,
}

pub fn run(args: Args) -> Result<()> {
    match args.to {
        To::Dataset(args) => dataset::run(args),
        To::Miopen(args) => miopen::run(args),
        To::Csv(args) => dataset(args, Kind::Csv, |k, _, records| {
            Ok((tabular::write_csv(&tabular::columns(k, records)?)?, records.len()))
        }),
        To::Parquet(args) => dataset(args, Kind::Parquet, |k, _, records| {
            Ok((tabular::write_parquet(&tabular::columns(k, records)?)?, records.len()))
        }),
        To::T4(args) => dataset(args, Kind::T4, results),
        To::KernelTuner(args) => caches(args),
        To::Inductor(args) => inductor_table(args),
        To::Table(args) => table::run(args),
        To::Breakpoints(args) => breakpoints::run(args),
        To::Megatron(args) => megatron::run(args),
        To::Aiter(args) => aiter::run(args),
        To::Header(args) => header::run(args),
        To::Clblast(args) => clblast::run(args),
    }
}

/// Problems given as words, as files of lines, or on standard input, each once.
fn products(args: &InductorArgs, kernel: &Kernel) -> Result<Vec<Problem>> {
    let transposed: Vec<bool> = args.layout.chars().map(|c| c == 't').collect();
    let usual = inductor::Usual {
        dtype: args.dtype.trim_start_matches("torch.").into(),
        transposed: [transposed[0], transposed[1]],
        tf32: args.tf32,
    };
    let mut problems: Vec<Problem> = Vec::new();
    for word in &args.problems {
        let is_problem = word.contains('=');
        let text = if is_problem { word.clone() } else { read_stream(word.as_ref(), limits::LIST)? };
        let place = |at: usize| if is_problem { String::new() } else { format!("{word}, line {}: ", at + 1) };
        for (at, line) in text.lines().map(str::trim).enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#'))
        {
            let at = |e: Error| Error::Problem(format!("{}{e}", place(at)));
            problems.push(inductor::problem(kernel, line, &usual).map_err(at)?);
        }
    }
    let mut seen = HashSet::new();
    problems.retain(|problem| seen.insert(kernel.show_problem(problem)));
    if problems.is_empty() {
        input("no problem is given; write one as m=512,n=256,k=64, or name a file of them")
    } else {
        Ok(problems)
    }
}

fn inductor_table(args: InductorArgs) -> Result<()> {
    let read: Vec<PathBuf> = args.problems.iter().map(PathBuf::from).collect();
    claim(&args.output, Kind::Inductor, args.replace, &read)?;
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    inductor::check(&kernel)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    let device = seqtune_console::inputs::device_for(&model.meta, args.device.as_deref())?;
    let problems = products(&args, &kernel)?;
    let style = inductor::Style { op: args.op, device_key: args.device_key.as_deref(), dynamic: args.dynamic };
    let predictor = Predictor::new(&kernel, &model)?;
    args.goal.check(&model)?;
    let query = args.goal.ask(Query { top: args.top, threads: cores(), ..Query::new(&device) });
    let grounds = predictor.grounds(&device);
    let mut table = serde_json::Map::new();
    // Inductor looks up the keys of its products, and no other
    let made = format!("seqtune {}, model {}: {}", env!("CARGO_PKG_VERSION"), model.digest(), grounds.words());
    table.insert(made, serde_json::json!([]));
    let mut sure = 0;
    for (problem, prediction) in problems.iter().zip(predictor.predict(&problems, &query)?) {
        // what Inductor times tells nothing of energy
        let is_sure = !args.goal.is_time() || predictor.settles(&query, &prediction);
        sure += is_sure as usize;
        let most = if is_sure { 1 } else { args.top };
        let configs: Vec<_> = prediction.candidates.iter().take(most).map(|c| &c.config).collect();
        let with_library = !is_sure || !args.no_library_if_sure;
        let entries = inductor::entries(&kernel, problem, &configs, with_library, &style)?;
        table.insert(inductor::key(&kernel, problem, &style)?, entries.into());
    }
    let text = serde_json::to_string_pretty(&table).map_err(|e| Error::Failed(format!("writing the table: {e}")))?;
    write_whole(&args.output, (text + "\n").as_bytes())?;
    seqtune_console::answer::answer(&format!(
        "{}: {} products; {}; of {sure} one config{}, of {} up to {} beside the library",
        args.output.display(),
        problems.len(),
        grounds.words(),
        if args.no_library_if_sure { " alone" } else { " beside the library" },
        problems.len() - sure,
        args.top
    ));
    Ok(())
}

/// A problem's records; a file of T4 holds no more.
fn results(kernel: &Kernel, device: &Device, records: &[&Record]) -> Result<(Vec<u8>, usize)> {
    if records.iter().any(|r| r.problem != records[0].problem) {
        return input("holds several problems, a file of T4 one; choose it with --problem");
    }
    let written = t4::write_t4(kernel, device, records)?;
    Ok((written.text.into_bytes(), written.entries))
}

/// A dataset with its kernel, which is the one that was measured.
fn load_measured(args: &DatasetArgs) -> Result<(Kernel, Dataset)> {
    let dataset = Dataset::load(&args.dataset)?;
    let kernel = seqtune_console::inputs::kernel(args.kernel.as_deref().unwrap_or(&dataset.header.kernel))?;
    check_kernel(&kernel, &args.dataset.display().to_string(), &dataset)?;
    Ok((kernel, dataset))
}

/// What was written, and what not.
fn report(place: &str, (kernel, written, all): (&Kernel, usize, usize), what: &str) {
    let mut text = format!("{place}: {} of {}{what}", count_noun(written, "record"), kernel.name);
    if written < all {
        let left_out = count_noun(all - written, "record");
        text += &format!("\nleft out, {left_out}: no time is known, or the config is there before");
    }
    seqtune_console::answer::answer(&text);
}

/// The records that are asked for.
fn wanted_records<'d>(args: &DatasetArgs, kernel: &Kernel, dataset: &'d Dataset) -> Result<Vec<&'d Record>> {
    let mut records: Vec<&Record> = dataset.records.iter().collect();
    if let Some(problem) = &args.problem {
        let wanted = kernel.show_problem(&kernel.problem(problem)?);
        records.retain(|r| *r.problem == *wanted);
    }
    if records.is_empty() {
        let what = args.problem.as_ref().map_or("no record".into(), |problem| format!("no record of {problem}"));
        return input(format!("{}: holds {what}", args.dataset.display()));
    }
    Ok(records)
}

/// A cache file for each problem: OUTPUT where there is one, in the folder OUTPUT where there are several.
fn caches(args: DatasetArgs) -> Result<()> {
    let (kernel, dataset) = load_measured(&args)?;
    let at = |e: Error| e.at_place(args.dataset.display());
    let mut problems: Vec<(&str, Vec<&Record>)> = Vec::new();
    for record in wanted_records(&args, &kernel, &dataset)? {
        match problems.iter_mut().find(|(problem, _)| *problem == &*record.problem) {
            Some((_, records)) => records.push(record),
            None => problems.push((&record.problem, vec![record])),
        }
    }
    if problems.len() > 1 && args.output.exists() && !args.output.is_dir() {
        return input(format!(
            "{}: is a file, and there are {} problems; name a folder, or --problem",
            args.output.display(),
            problems.len()
        ));
    }
    let mut outputs = vec![args.output.clone()];
    if problems.len() > 1 || args.output.is_dir() {
        let name = |(problem, _): &(&str, _)| {
            let brief = kernel.brief_problem(&kernel.problem(problem).map_err(at)?);
            file_name(&brief.replace('=', "").replace(',', "_"))
        };
        let names = distinct(problems.iter().map(name).collect::<Result<_>>()?);
        outputs = names.iter().map(|name| args.output.join(format!("{name}.json"))).collect();
        std::fs::create_dir_all(&args.output).map_err(io(&args.output))?;
    }
    claim_all(&outputs, Kind::Cache, args.replace, std::slice::from_ref(&args.dataset))?;
    let (mut written, mut all) = (0, 0);
    for (output, (_, records)) in outputs.iter().zip(&problems) {
        let cache = kernel_tuner::write_cache(&kernel, &dataset.header.device, records).map_err(at)?;
        (written, all) = (written + cache.entries, all + records.len());
        write_whole(output, cache.text.as_bytes())?;
    }
    let what = format!(" in {}", count_noun(outputs.len(), "cache file"));
    report(&args.output.display().to_string(), (&kernel, written, all), &what);
    Ok(())
}

/// Encodes a kernel's records that were measured on a device; with how many of them are in it.
type Write = fn(&Kernel, &Device, &[&Record]) -> Result<(Vec<u8>, usize)>;

fn dataset(args: DatasetArgs, kind: Kind, write: Write) -> Result<()> {
    claim(&args.output, kind, args.replace, std::slice::from_ref(&args.dataset))?;
    let (kernel, dataset) = load_measured(&args)?;
    let records = wanted_records(&args, &kernel, &dataset)?;
    let (bytes, written) =
        write(&kernel, &dataset.header.device, &records).map_err(|e| e.at_place(args.dataset.display()))?;
    write_whole(&args.output, &bytes)?;
    report(&args.output.display().to_string(), (&kernel, written, records.len()), "");
    let missing = tabular::read_as_missing(&kernel);
    if kind == Kind::Csv && !missing.is_empty() {
        eprintln!(
            "seqtune: pandas reads {} as missing: read the file by read_csv(..., keep_default_na=False, na_values=[\"\"]), or export parquet",
            missing.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}
