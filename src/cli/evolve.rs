//! `seqtune evolve`

use seqtune_console::answer::{answer, tell, warn, wrote};
use seqtune_console::progress::Bar;
use seqtune_console::signals::stop_at_signal;
use seqtune_console::value_parsers::{count, real};
use seqtune_evolve::edit::Edit;
use seqtune_evolve::journal::Journal;
use seqtune_evolve::search::{Counts, Settings, Variant};
use seqtune_evolve::session::{Edits, Found, Session, Subject, mean, read_edits};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::{Config, Device, Kernel, Problem};
use seqtune_measure::registry::device_for;
use seqtune_measure::worker::setup::Setup;
use seqtune_predict::{Model, Predictor, Quality, Query};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Seconds after which a variant counts as hung.
const HANG: Duration = Duration::from_secs(4);

/// The fastest variants that are judged, until one is right.
const JUDGED: usize = 5;

/// Files of the folder.
const JOURNAL: &str = "variants.jsonl";
const EDITS: &str = "edits.json";

/// Edits the compiled code of a config by evolutionary search, on PoCL
///
/// Each variant must be right on every kind of input, with work-items in reversed order and with protected pages around its buffers. The edits that
/// matter are judged on data and sizes that the search never saw. The same command goes on where it was stopped.
#[derive(clap::Args)]
pub struct Args {
    /// Kernel name or folder
    kernel: String,
    /// Problems to be fast for, as name=value pairs or files of lines; their geometric mean counts
    #[arg(value_name = "PROBLEM")]
    problems: Vec<String>,
    /// Model that predicts the config to edit
    ///
    /// [default: the kernel's default config is edited]
    #[arg(long, value_name = "MODEL", conflicts_with = "config")]
    model: Option<PathBuf>,
    /// Config to edit
    #[arg(long, value_name = "CONFIG")]
    config: Option<String>,
    /// Device to run variants on: `live` or an id such as `opencl:0`
    #[arg(long, default_value = "live")]
    device: String,
    /// Time for the search (90s, 10m, 2h, or seconds)
    #[arg(long = "for", default_value = "5m", value_name = "TIME", value_parser = seqtune_console::inputs::duration)]
    time: Duration,
    /// Variants that survive a generation, 4 to 1,000
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count(4..=1_000))]
    population: usize,
    /// Share of edits at barriers, stores and conditions, 0 to 1
    #[arg(long, default_value_t = 0.75, value_name = "SHARE", value_parser = real(0.0..=1.0))]
    promising: f64,
    /// Largest error, relative to the largest magnitude of an output, 0 to 1
    ///
    /// [default: the kernel's tolerance]
    #[arg(long, value_name = "ERROR", value_parser = real(0.0..=1.0))]
    error: Option<f64>,
    /// Seed of the search
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for the variants and edits
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "replay")]
    output: Option<PathBuf>,
    /// Apply the edits of a file again, and judge them, instead of a search
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "model", "config"])]
    replay: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<()> {
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    kernel.source()?;
    let device = device_for(&kernel, &args.device)?;
    if let Some(file) = &args.replay {
        return replay(&args, &kernel, &device, file);
    }
    let problems = seqtune_console::inputs::problems(&kernel, &args.problems)?;
    let config = config(&args, &kernel, &device, &problems)?;
    let folder = args.output.clone().unwrap_or_default();
    if folder.join(EDITS).exists() && !folder.join(JOURNAL).exists() {
        return input(format!(
            "{}: has an {EDITS} and no {JOURNAL} of a search; name another folder",
            folder.display()
        ));
    }
    let setup = Setup { limit: HANG, ..Setup::new(&kernel, &args.kernel, &args.device, None)? };
    let subject =
        Subject { kernel: &kernel, device: &device, config: &config, problems: &problems, most_error: args.error };
    let mut session = Session::new(subject, &setup)?;
    let mut journal = Journal::open(&folder.join(JOURNAL), &session.origin(), args.error)?;
    tell(&format!("evolving {} of {} on {}", kernel.show_config(&config), kernel.name, device.name));
    let found = search(&args, &mut session, &mut journal)?;
    finish(&mut session, &found, &folder)
}

/// The config that is edited.
fn config(args: &Args, kernel: &Kernel, device: &Device, problems: &[Problem]) -> Result<Config> {
    if let Some(text) = &args.config {
        return kernel.config(text).map_err(|e| e.at_place("--config"));
    }
    let Some(path) = &args.model else { return Ok(kernel.default_config()) };
    let model = Model::load_as(path, &kernel.name, Quality::Auto)?;
    let predictions = Predictor::new(kernel, &model)?.predict(problems, &Query { top: 1, ..Query::new(device) })?;
    let mut first: Vec<Config> = predictions
        .into_iter()
        .filter_map(|p| p.candidates.into_iter().next().map(|candidate| candidate.config))
        .collect();
    first.dedup();
    match &first[..] {
        [config] => Ok(config.clone()),
        _ => input("the model predicts different configs for these problems: give those that share one, or --config"),
    }
}

fn search(args: &Args, session: &mut Session, journal: &mut Journal) -> Result<Found> {
    let (stop, began) = (stop_at_signal()?, Instant::now());
    let earlier = std::mem::take(&mut journal.earlier);
    let settings =
        Settings { population: args.population, promising: args.promising, seed: args.seed, until: began + args.time };
    let mut bar = Bar::new("seconds of the search", args.time.as_secs());
    let mut report = |variant: &Variant, counts: &Counts, best: &Variant| {
        let (tried, right, ratio) = (counts.tried, counts.right, best.verdict.ratio);
        let message = format!("{tried} variants tried, {right} right, best {ratio:.3} of the time");
        bar.move_to(began.elapsed().min(args.time).as_secs() as usize, &message);
        journal.append(variant)
    };
    let found = session.search(settings, &earlier, &|| !stop.load(Ordering::Relaxed), &mut report)?;
    bar.end();
    let (Counts { proposed, refused, twins, tried, right }, seconds) = (found.counts, began.elapsed().as_secs_f64());
    answer(&format!(
        "{proposed} edits proposed, {refused} refused by LLVM, {twins} twins; {tried} variants tried in {seconds:.0} s ({:.1} a second), {right} right",
        tried as f64 / seconds
    ));
    Ok(found)
}

fn finish(session: &mut Session, found: &Found, folder: &Path) -> Result<()> {
    let others =
        found.fastest.iter().filter(|variant| variant.edits != found.best.edits && variant.verdict.ratio < 1.0);
    for variant in std::iter::once(&found.best).chain(others).filter(|variant| !variant.edits.is_empty()).take(JUDGED) {
        tell(&format!("minimising {} edits", variant.edits.len()));
        let edits = session.minimise(&variant.edits)?;
        if edits.is_empty() {
            continue;
        }
        match session.judge(&edits) {
            Ok(judged) => return keep(session, &judged, folder),
            Err(e) => warn(&format!("a fast variant is wrong, and is left out: {e}")),
        }
    }
    answer("no faster variant was found that is right");
    Ok(())
}

fn keep(session: &mut Session, judged: &Edits, folder: &Path) -> Result<()> {
    show(session, judged)?;
    let file = folder.join(EDITS);
    let text = serde_json::to_string_pretty(judged).map_err(|e| Error::Failed(e.to_string()))?;
    write_whole(&file, (text + "\n").as_bytes())?;
    wrote(&file);
    Ok(())
}

fn show(session: &mut Session, judged: &Edits) -> Result<()> {
    for gain in &judged.gains {
        answer(&format!("{}: {:.3} of the time ({:.3} to {:.3})", gain.problem, gain.ratio, gain.low, gain.high));
    }
    answer(&format!(
        "{:.2} times as fast, error {:.1e}; right with data that the search never saw and on {} problems of other sizes",
        1.0 / mean(&judged.gains),
        judged.error,
        judged.right_on.len()
    ));
    answer("this device only: PoCL runs work-items one by one, so a race between them is not excluded");
    for one in session.explain(&judged.edits)? {
        let without =
            one.without.map_or("wrong without it".into(), |ratio| format!("{ratio:.3} times the time without it"));
        answer(&format!("  {} {} ({without}): {}", operator(&one.edit), one.class, one.instruction));
    }
    Ok(())
}

fn operator(edit: &Edit) -> String {
    match edit {
        Edit::Operand { at, index, to } => format!("operand {index} of {at} becomes {to},"),
        edit => format!("{} {},", edit.operator(), edit.place()),
    }
}

fn replay(args: &Args, kernel: &Kernel, device: &Device, file: &Path) -> Result<()> {
    let edits = read_edits(file)?;
    if edits.origin.kernel != kernel.name || edits.origin.space != kernel.space_hash() {
        return input(format!(
            "{}: is of kernel {} as it was, not of this {}",
            file.display(),
            edits.origin.kernel,
            kernel.name
        ));
    }
    let config = kernel.config(&edits.origin.config)?;
    let problems = edits.origin.problems.iter().map(|text| kernel.problem(text)).collect::<Result<Vec<_>>>()?;
    let setup = Setup { limit: HANG, ..Setup::new(kernel, &args.kernel, &args.device, None)? };
    let subject = Subject { kernel, device, config: &config, problems: &problems, most_error: args.error };
    let mut session = Session::new(subject, &setup)?;
    session.check(&edits)?;
    answer("the same code, byte for byte");
    let judged = session.judge(&edits.edits)?;
    show(&mut session, &judged)
}
