//! `seqtune predict`

use crate::dataset::Objective;
use crate::error::{Result, input};
use crate::kernel::Kernel;
use crate::model::{Model, Predictor};
use std::path::PathBuf;

/// Predicts the most probable legal configs of problems
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model
    model: PathBuf,
    /// Kernel name, or the path of its folder
    kernel: String,
    /// Problems, files of problems (one a line), or `-` for standard input
    #[arg(required = true)]
    problems: Vec<String>,
    /// Configs per problem
    #[arg(long, default_value_t = 1, value_name = "K")]
    top: usize,
    /// Width of the beam, at least --top
    #[arg(long, default_value_t = 5)]
    width: usize,
    /// Device: `live`, `opencl:0`, a described device's name, or a .toml file [default: the one the model was trained on]
    #[arg(long)]
    device: Option<String>,
    #[arg(long, value_enum, default_value_t = Objective::Time)]
    objective: Objective,
    /// Threads for many problems [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// One JSON object per problem
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    if args.top == 0 || args.width == 0 || args.threads == Some(0) {
        return input("--top, --width and --threads must be at least 1");
    }
    let kernel = Kernel::open(&args.kernel)?;
    let problems = super::problems(&kernel, &args.problems)?;
    let model = Model::load_for(&args.model, &kernel.name)?;
    let predictor = Predictor::new(&kernel, &model)?;
    model.check_objective(args.objective)?;
    let device = super::device_for(&model, args.device.as_deref())?;
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    // in portions, so that answers flow while thousands are asked
    for portion in problems.chunks(1_920) {
        let answers = predictor.predict(portion, &device, args.objective, (args.top, args.width), threads)?;
        for (problem, candidates) in portion.iter().zip(answers) {
            if args.json {
                let list: Vec<_> = candidates
                    .iter()
                    .map(|c| {
                        serde_json::json!({
                            "config": kernel.show_config(&c.config), "probability": c.probability, "predicted_us": c.time_us,
                        })
                    })
                    .collect();
                super::answer_json(&serde_json::json!({
                    "problem": kernel.show_problem(problem), "device": device.name, "predictions": list,
                }))?;
                continue;
            }
            super::answer(&kernel.show_problem(problem));
            for c in &candidates {
                // a model of tuned configs without times has none to tell
                let time = if c.time_us.is_finite() { format!("{:>10.1} us  ", c.time_us) } else { String::new() };
                let (percent, config) = (100.0 * c.probability, kernel.show_config(&c.config));
                super::answer(&format!("  {percent:5.1} %  {time}{config}"));
            }
        }
    }
    Ok(())
}
