//! `seqtune export miopen`

use crate::cli::export::about::about_file;
use clap::builder::PossibleValuesParser;
use seqtune_console::answer::{answer, warn};
use seqtune_console::inputs::{named_after, stem};
use seqtune_console::outputs::{Kind, Replace, claim, command_line};
use seqtune_console::progress::Bar;
use seqtune_data::formats::miopen::{
    Convolution, DIRECTIONS, DTYPES, Export, LAYOUTS, SizeRange, Stretched, Unsaid, convolutions_of_lines, device_name,
    readable_lines, stretch,
};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::files::{read_stream, write_whole};
use seqtune_kernel::kernel_toml::spec::Field;
use seqtune_kernel::limits;
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Checker, Config, ConfigSpace, Device, Kernel, Problem, list_names};
use seqtune_predict::{Grounds, Meta, Model, Predictor, Quality, Query};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Exports a user database for MIOpen 3.2 or newer
///
/// Each convolution becomes a line with the predicted config of every solver that serves it.
///
/// Put the file where MIOpen looks for it, under the name that MIOpen uses: ~/.config/miopen/<device>.HIP.<version>.udb.txt
/// (docs/integrations/miopen.md)
#[derive(clap::Args)]
pub struct MiopenExportArgs {
    /// Folder of the model or models
    model: PathBuf,
    /// Files of convolutions, or `-` for standard input
    ///
    /// Each line is a MIOpenDriver command, a database key, or name=value pairs. A file may also be a comma-separated table of layers.
    /// Its first line then names the columns, such as n,c,h,w,k,fh,fw,ph,pw,sh,sw.
    #[arg(required = true)]
    problems: Vec<PathBuf>,
    /// User database to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Device to predict for: a name, MIOpen's name of it, or a .toml file
    ///
    /// A name is that of a training device of the models or of a described device. MIOpen's names are for instance gfx942130.
    ///
    /// [default: the device that OUTPUT is named after, else the models' training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Solvers to export, separated by commas
    ///
    /// [default: all that were trained on the device]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    solver: Vec<String>,
    /// Sizes to use instead of each convolution's own, such as N=1,2,5; may be repeated
    ///
    /// N=1..64 is every size, N=1..64*2 doubles, and H,W=8..64+8 is every eighth, both alike. Several ranges multiply. They are the
    /// sizes of the layer, whatever the direction.
    #[arg(long, value_name = "SIZES=VALUES")]
    range: Vec<SizeRange>,
    /// Data types for table rows without one, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "FP32", value_parser = PossibleValuesParser::new(DTYPES))]
    dtype: Vec<String>,
    /// Directions for table rows without one, separated by commas
    ///
    /// F is forward, B is backward data, W is backward weights.
    #[arg(long, value_delimiter = ',', default_value = "F,B,W", value_parser = PossibleValuesParser::new(DIRECTIONS))]
    direction: Vec<String>,
    /// Layout for table rows without one
    #[arg(long, default_value = "NCHW", value_parser = PossibleValuesParser::new(LAYOUTS[0]))]
    layout: String,
    /// Refuse the whole list if any line is not a supported convolution
    ///
    /// By default such lines are left out and counted.
    #[arg(long)]
    strict: bool,
    /// Beam width, 1 to 10,000
    #[arg(long, default_value_t = 10, value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    width: usize,
    #[command(flatten)]
    replace: Replace,
}

/// Convolutions of all files, each once.
fn convolutions(args: &MiopenExportArgs) -> Result<Vec<Convolution>> {
    let MiopenExportArgs { direction: directions, dtype: dtypes, layout, .. } = args;
    let unsaid = Unsaid { directions: directions.clone(), dtypes: dtypes.clone(), layout: layout.clone() };
    let mut all = Vec::new();
    for path in &args.problems {
        let text = read_stream(path, limits::LIST)?;
        let place = path.display();
        if args.strict {
            all.extend(convolutions_of_lines(&text, &unsaid).map_err(|e| e.at_place(place))?);
            continue;
        }
        let found = readable_lines(&text, &unsaid).map_err(|e| e.at_place(&place))?;
        for (reason, counts) in &found.left_out.0 {
            let (rows, lines, example) = (counts.rows, found.lines, &counts.example);
            warn(&format!("{place}: {rows} of {lines} lines are left out: {reason}, such as {example}"));
        }
        all.extend(found.convolutions);
    }
    if !args.range.is_empty() {
        let Stretched { convolutions: made, impossible } =
            stretch(&all, &args.range).map_err(|e| e.at_place("--range"))?;
        if impossible > 0 {
            warn(&format!(
                "{impossible} combinations of sizes leave no room for the filter, or their groups do not divide the channels; they are left out"
            ));
        }
        all = made;
    }
    // a network names the same layer many times
    let mut seen = HashSet::new();
    all.retain(|c: &Convolution| seen.insert(c.key()));
    match all.is_empty() {
        true => {
            input("no convolution is given: write one a line, as a MIOpenDriver command, a key or name=value pairs")
        }
        false => Ok(all),
    }
}

/// A kernel's problems that stand for a convolution: one per label of the field that takes a solver's argument.
fn problems_of(kernel: &Kernel, convolution: &Convolution) -> Vec<Problem> {
    let argument = kernel.database.argument.as_ref().and_then(|name| kernel.fields.iter().find(|f| f.name == *name));
    let labels: Vec<Option<&str>> = match argument {
        Some(Field { labels, .. }) => labels.iter().map(|l| Some(l.as_str())).collect(),
        None => vec![None],
    };
    // a convolution beyond the kernel's fields has no problem
    labels.into_iter().filter_map(|label| convolution.problem(kernel, label).ok()).collect()
}

pub fn run(args: MiopenExportArgs) -> Result<()> {
    claim(&args.output, Kind::MiopenText, args.replace, &args.problems)?;
    let about = about_file(&args.output);
    claim(&about, Kind::EngineTable, args.replace, &args.problems)?;
    let known = Model::kernels_in(&args.model)?;
    if let Some(unknown) = args.solver.iter().find(|s| !known.contains(s)) {
        return input(format!("--solver `{unknown}`: the model knows {}", known.join(", ")));
    }
    let (wanted, device) = wanted_solvers(&args, known)?;
    let convolutions = convolutions(&args)?;
    let mut found: Vec<Vec<(Kernel, Problem, Config)>> = convolutions.iter().map(|_| Vec::new()).collect();
    let mut digests = serde_json::Map::new();
    let mut bar = Bar::new("export", wanted.len() as u64);
    for (i, name) in wanted.iter().enumerate() {
        let kernel = seqtune_console::inputs::kernel(name)?;
        if !kernel.fields.iter().any(|f| f.name == "direction") {
            return input(format!("kernel {name} is no solver of MIOpen"));
        }
        let (places, problems) = served_convolutions(&kernel, &device, &convolutions)?;
        let threads = cores();
        let model = Model::load_as(&args.model, name, Quality::Auto)?;
        digests.insert(name.clone(), model.digest().into());
        let predictor = Predictor::new(&kernel, &model)?;
        let predicted = predictor.predict(&problems, &Query { width: args.width, threads, ..Query::new(&device) })?;
        for ((at, problem), prediction) in places.into_iter().zip(problems).zip(predicted) {
            found[at].extend(prediction.candidates.into_iter().map(|c| (kernel.clone(), problem.clone(), c.config)));
        }
        bar.move_to(i + 1, name);
    }
    bar.end();
    let mut export = Export::default();
    let mut entries = 0;
    for (convolution, configs) in convolutions.iter().zip(&found) {
        for (kernel, problem, config) in configs {
            export.add(convolution, kernel, problem, config)?;
            entries += 1;
        }
    }
    if entries == 0 {
        return input("none of the convolutions is served by a solver of the model; nothing is written");
    }
    let unserved = warn_of_unserved(
        convolutions.iter().zip(&found).filter(|(_, configs)| configs.is_empty()).map(|(c, _)| c),
        found.len(),
        &device,
    );
    let grounds = learned_on(&args, &wanted)?;
    // a line that is no record is an error to MIOpen: what the rows rest on stands in a file of its own
    write_whole(&args.output, export.text().as_bytes())?;
    write_whole(&about, about_text(digests, &device, &grounds).as_bytes())?;
    let name = device_name(&device).unwrap_or_else(|| device.name.clone());
    warn_of_name(&args.output, &device, &name);
    answer(&format!(
        "{}: {} for {} on {}, which MIOpen reads as ~/.config/miopen/{name}.HIP.VERSION.udb.txt; {}",
        args.output.display(),
        count_noun(entries, "config"),
        count_noun(found.len() - unserved, "convolution"),
        device.name,
        grounds
    ));
    Ok(())
}

/// Warns of convolutions that no solver serves, and returns how many there are of all.
fn warn_of_unserved<'c>(mut unserved: impl Iterator<Item = &'c Convolution>, all: usize, device: &Device) -> usize {
    let Some(first) = unserved.next() else { return 0 };
    let count = 1 + unserved.count();
    let key = first.key();
    warn(&format!(
        "{count} of {all} convolutions are served by no solver of the model on {}, first {key}",
        device.name
    ));
    count
}

/// What a database's rows rest on: the digest of each solver's model, and the devices that these learned from.
fn about_text(digests: serde_json::Map<String, serde_json::Value>, device: &Device, grounds: &str) -> String {
    let about = serde_json::json!({
        "seqtune": env!("CARGO_PKG_VERSION"), "models": digests, "device": device.name, "grounds": grounds, "command": command_line(),
    });
    format!("{about:#}\n")
}

/// `learned on MI50 only`: the devices of any of these solvers' models.
fn learned_on(args: &MiopenExportArgs, solvers: &[String]) -> Result<String> {
    let metas = solvers.iter().map(|solver| meta(args, solver)).collect::<Result<Vec<_>>>()?;
    let learned = seqtune_console::inputs::learned_by(&metas);
    Ok(format!("learned on {} only", list_names(learned.iter().map(|device| device.name.as_str()), "and")))
}

/// The description of a solver's model.
fn meta(args: &MiopenExportArgs, solver: &str) -> Result<Meta> {
    Meta::load(&Model::file_for(&args.model, Some(solver), Quality::Auto)?)
}

/// Warns where the file's name says another device than its rows are for.
fn warn_of_name(output: &Path, device: &Device, name: &str) {
    if let Some(other) = named_after(output).filter(|other| other.name != device.name) {
        warn(&format!(
            "{}: is named after {}, but its rows are for {} ({name}); --device \"{}\" makes those of {}",
            output.display(),
            other.name,
            device.name,
            other.name,
            stem(output)
        ));
    }
}

/// The solvers that are asked, of those that the model knows, and the device.
fn wanted_solvers(args: &MiopenExportArgs, known: Vec<String>) -> Result<(Vec<String>, Device)> {
    let mut wanted = known;
    wanted.retain(|k| args.solver.is_empty() || args.solver.contains(k));
    if wanted.is_empty() {
        return input(format!("{} holds no model; fetch or train one", args.model.display()));
    }
    let metas: Vec<Meta> = wanted.iter().map(|solver| meta(args, solver)).collect::<Result<_>>()?;
    let by_file = named_after(&args.output).map(|device| device.name);
    let name = args.device.as_deref().or(by_file.as_deref());
    let device = seqtune_console::inputs::device_among(&seqtune_console::inputs::learned_by(&metas), name)?;
    let trained: Vec<bool> = metas.iter().map(|meta| seqtune_console::inputs::saw(meta, &device)).collect();
    if !args.solver.is_empty() {
        if let Some(at) = trained.iter().position(|trained| !trained) {
            wanted.iter().try_for_each(|solver| seqtune_console::inputs::kernel(solver)?.check_device(&device))?;
            let note = Grounds::from_meta(&metas[at], &device).note().unwrap_or_default();
            warn(&format!("{}: {note}", wanted[at]));
        }
        return Ok((wanted, device));
    }
    // a solver may need what the device lacks: matrix cores, a compiler
    let mut trained = trained.into_iter();
    wanted.retain(|_| trained.next().unwrap_or(false));
    if wanted.is_empty() {
        return input(format!(
            "{}: no solver was trained on {}; name those that it has with --solver, to be guessed for it",
            args.model.display(),
            device.name
        ));
    }
    Ok((wanted, device))
}

/// The convolutions that a kernel serves on a device, by index, and their problems.
fn served_convolutions(
    kernel: &Kernel,
    device: &Device,
    convolutions: &[Convolution],
) -> Result<(Vec<usize>, Vec<Problem>)> {
    let checker = Checker::new(kernel);
    let (mut places, mut problems) = (Vec::new(), Vec::new());
    for (at, convolution) in convolutions.iter().enumerate() {
        for problem in problems_of(kernel, convolution) {
            let serves = checker.broken_rule(&kernel.env(&problem, None)).is_none();
            if serves && !ConfigSpace::new(kernel, &problem, device).completions(&[])?.is_empty() {
                places.push(at);
                problems.push(problem);
            }
        }
    }
    Ok((places, problems))
}
