//! `seqtune evaluate speed`

use seqtune_console::progress::Bar;
use seqtune_eval::measures::speed::{SpeedRun, judging, latency, legality, throughput};
use seqtune_kernel::Device;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use seqtune_kernel::limits;
use seqtune_kernel::threads::cores;
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Model, Predictor, Quality};
use std::path::PathBuf;

/// Measures legality, latency and throughput of a model's predictions
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model
    model: PathBuf,
    /// Kernel name, or the path of its folder [default: the model's only kernel]
    kernel: Option<String>,
    /// Device to time predictions for: a name, `live`, an id or a .toml file
    ///
    /// A name is that of a training device of the model or of a described device. An id is for instance `opencl:0`.
    ///
    /// [default: the model's training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Random problems to check for legal predictions, 1 to 1,000,000,000
    ///
    /// The problems are spread over all described devices and the model's training devices.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = seqtune_console::value_parsers::count(1..=1_000_000_000))]
    legality: usize,
    /// Single predictions to time, 1 to 1,000,000
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = seqtune_console::value_parsers::count(1..=limits::SAMPLE))]
    latency: usize,
    /// Problems in the timed batch, 1 to 1,000,000
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = seqtune_console::value_parsers::count(1..=limits::SAMPLE))]
    batch: usize,
    /// Problems whose legal configs are all scored, 0 to 10,000
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = seqtune_console::value_parsers::count(0..=limits::WIDTH))]
    scored: usize,
    /// Beam widths to time, 1 to 10,000, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [5, WIDTH], value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    width: Vec<usize>,
    /// Threads of --legality, --batch and --scored, 1 to 1,024 [default: all cores]
    #[arg(long, value_parser = seqtune_console::value_parsers::count(1..=limits::THREADS))]
    threads: Option<usize>,
    /// Seed of the random problems
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Form of the model to time
    #[arg(long, value_parser = seqtune_console::value_parsers::quality(), default_value_t = Quality::Auto)]
    quality: Quality,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune evaluate speed`.
///
/// # Errors
/// The error of the model, the kernel or a prediction.
pub fn run(args: Args) -> Result<()> {
    let kernel =
        seqtune_console::inputs::kernel(&seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?)?;
    let model = Model::load_as(&args.model, &kernel.name, args.quality)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let device = seqtune_console::inputs::device_for(&model.meta, args.device.as_deref())?;
    let threads = args.threads.unwrap_or_else(cores);
    let sized = |problems: usize| SpeedRun { problems, threads, seed: args.seed };
    let (mut latencies, mut throughputs) = (Vec::new(), Vec::new());
    for width in &args.width {
        latencies.push(latency(&kernel, &predictor, &device, args.latency, *width, args.seed)?);
        throughputs.push(throughput(&kernel, &predictor, &device, *width, sized(args.batch))?);
    }
    let judging = match predictor.ranks_all() {
        true => Some(judging(&kernel, &predictor, &device, sized(args.scored))?),
        false => None,
    };
    let mut devices = Device::all_shipped()?;
    devices.extend(model.meta.devices.clone());
    let mut bar = Bar::new("legality", args.legality as u64);
    let legality = legality(&kernel, &predictor, &devices, sized(args.legality), &mut |at| bar.move_to(at, ""))?;
    bar.end();
    if args.json {
        return seqtune_console::answer::answer_json(
            &serde_json::json!({ "device": device.name, "latency": latencies, "throughput": throughputs, "judging": judging, "legality": legality }),
        );
    }
    for latency in &latencies {
        seqtune_console::answer::answer(&format!(
            "one prediction for {}, width {}, one thread: {:.2} ms median, {:.2} ms 90th percentile of {}",
            device.name, latency.width, latency.median_ms, latency.p90_ms, latency.count
        ));
    }
    for throughput in &throughputs {
        seqtune_console::answer::answer(&format!(
            "{} in a batch, width {}, {}: {:.0} a second",
            count_noun(throughput.problems, "problem"),
            throughput.width,
            count_noun(throughput.threads, "thread"),
            throughput.per_second
        ));
    }
    if let Some(judging) = &judging {
        seqtune_console::answer::answer(&format!(
            "{} of {} judged, {} of them by their own score, {}: {:.0} a second",
            count_noun(judging.configs as usize, "legal config"),
            count_noun(judging.problems, "problem"),
            judging.scored,
            count_noun(judging.threads, "thread"),
            judging.per_second
        ));
    }
    seqtune_console::answer::answer(&format!(
        "{} illegal of {} configs predicted for {} random problems on {} devices ({:.0} s)",
        legality.illegal, legality.configs, legality.predictions, legality.devices, legality.seconds,
    ));
    Ok(())
}
