//! `seqtune export header`

use crate::cli::watched::Watched;
use seqtune_choose::Predicted;
use seqtune_choose::dispatch::{Dispatch, DispatchOptions, Sizes};
use seqtune_choose::ranges::{Range, Ranges};
use seqtune_console::answer::{answer, warn};
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_kernel::Objective;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use seqtune_kernel::files::write_whole;
use seqtune_kernel::limits;
use seqtune_kernel::spelling::c_name;
use seqtune_kernel::threads::cores;
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Grounds, Model, Quality};
use std::path::PathBuf;

/// Exports a C++17 header that chooses configs without the model
///
/// It has a table for the given problems and a decision tree for all others. The tree is fitted to the model's answers for random
/// problems within the ranges of the given ones.
///
/// The header returns only legal configs: it checks the kernel's constraints, and returns nothing if none of its configs satisfies
/// them.
#[derive(clap::Args)]
pub struct HeaderArgs {
    /// Folder of the model
    model: PathBuf,
    /// Problems, files of problems (one per line), or `-` for standard input
    #[arg(required = true)]
    problems: Vec<String>,
    /// Kernel name or folder [default: the model's only kernel]
    #[arg(long)]
    kernel: Option<String>,
    /// Device to predict for: a name, `live`, an id or a .toml file
    ///
    /// A name is that of a training device of the model or of a described device. An id is for instance `opencl:0`.
    ///
    /// [default: the model's training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Range of a size for the tree, such as M=16..4096; may be repeated
    ///
    /// [default: the range of the given problems]
    #[arg(long, value_name = "FIELD=LEAST..MOST", value_parser = seqtune_console::value_parsers::range)]
    range: Vec<Range>,
    /// Number of random problems to fit the tree to, 30 to 100,000
    ///
    /// Further problems, a third as many each, select the size of the tree and evaluate it. The run time grows with this number.
    #[arg(long, default_value_t = 1_500, value_parser = seqtune_console::value_parsers::count(30..=100_000))]
    samples: usize,
    /// Maximum number of leaves of the tree, 1 to 10,000
    #[arg(long, default_value_t = 64, value_parser = seqtune_console::value_parsers::count(1..=10_000))]
    leaves: usize,
    /// Beam width, 1 to 10,000
    #[arg(long, default_value_t = WIDTH, value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    width: usize,
    /// Quantity to minimize
    #[arg(long, value_parser = seqtune_console::value_parsers::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Seed of the random problems
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// C++ namespace of the header [default: seqtune_KERNEL]
    ///
    /// A program with headers of one kernel for several devices needs a namespace for each.
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<String>,
    /// Header to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    replace: Replace,
}

/// A name that means nothing else in C++.
fn namespace(text: &str) -> std::result::Result<String, String> {
    match c_name(text) == text && text.len() <= limits::NAME {
        true => Ok(text.into()),
        false => {
            Err(format!("a namespace is a name in C++ of at most {} characters, such as choices_h200", limits::NAME))
        }
    }
}

pub fn run(args: HeaderArgs) -> Result<()> {
    let read: Vec<PathBuf> = args.problems.iter().map(PathBuf::from).collect();
    claim(&args.output, Kind::Header, args.replace, &read)?;
    let kernel =
        seqtune_console::inputs::kernel(&seqtune_console::inputs::kernel_of(&args.model, args.kernel.as_deref())?)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    model.check_objective(args.objective)?;
    let device = seqtune_console::inputs::device_for(&model.meta, args.device.as_deref())?;
    let fixed = seqtune_console::inputs::problems(&kernel, &args.problems)?;
    let ranges = Ranges::new(&kernel, &fixed, &args.range)?;
    let points = Predicted::new(&kernel, &model, &device)?.with_width(args.width);
    let HeaderArgs { samples, leaves, objective, seed, .. } = args;
    let options = DispatchOptions { samples, leaves, objective, seed, threads: cores(), ..DispatchOptions::default() };
    let watched = Watched::new(points, options.questions(fixed.len()));
    let header = Dispatch::new(&kernel, &device, &watched, &fixed, &ranges, &options);
    watched.end();
    let header = header?;
    let text = args.namespace.map_or_else(|| header.text(), |name| header.text_in(&name));
    write_whole(&args.output, text.as_bytes())?;
    let Sizes { configs, fixed } = header.sizes();
    let loss = &header.loss;
    answer(&format!(
        "{}: {}; {} in a table, all others by a tree of {}; {}",
        args.output.display(),
        Grounds::from_meta(&model.meta, &device).words(),
        count_noun(fixed, "fixed problem"),
        count_noun(header.leaves(), "leaf"),
        count_noun(configs, "config")
    ));
    answer(&format!(
        "the tree against the model, on {} other problems ({}): the model's first choice in {:.1} %; {:.2} % of the predicted speed lost (ninth decile {:.2} %), {:.2} % by the best single config",
        loss.problems,
        ranges.words(&kernel),
        100.0 * loss.agreement,
        100.0 * loss.mean,
        100.0 * loss.p90,
        100.0 * loss.one_config
    ));
    if loss.last_resort > 0.0 {
        warn(&format!(
            "on {:.1} % of them no config of the tree is legal, and the default or another of last resort is taken",
            100.0 * loss.last_resort
        ));
    }
    Ok(())
}
