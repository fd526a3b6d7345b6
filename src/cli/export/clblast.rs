//! `seqtune export clblast`

use crate::cli::answer::answer;
use crate::cli::outputs::{Kind, Replace, claim};
use seqtune_data::formats::clblast::{Choice, write_database, write_header};
use seqtune_predict::error::{Result, input};
use seqtune_predict::files::write_whole;
use seqtune_predict::kernel::Kernel;
use seqtune_predict::model::Model;
use seqtune_predict::predictor::Predictor;
use seqtune_predict::threads::cores;
use seqtune_predict::{Quality, Query};
use std::path::PathBuf;

/// Predicted parameters for CLBlast: a C header that overrides them before a call (.h), or sections for its database (.json)
#[derive(clap::Args)]
pub struct ClblastArgs {
    /// Folder of a model of a kernel of CLBlast
    model: PathBuf,
    /// Problems such as M=512,N=256,K=64, files of them (one a line), or `-` for standard input
    #[arg(required = true)]
    problems: Vec<String>,
    /// Kernel name or folder
    #[arg(long, default_value = "xgemm_direct")]
    kernel: String,
    /// Device: `live`, `opencl:0`, a described device's name, or a .toml file [default: the first that the model was trained on]
    #[arg(long)]
    device: Option<String>,
    /// The header or the JSON file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    replace: Replace,
}

pub fn run(args: ClblastArgs) -> Result<()> {
    let kind = match args.output.extension().and_then(|e| e.to_str()) {
        Some("h") => Kind::ClblastHeader,
        Some("json") => Kind::ClblastJson,
        _ => return input(format!("{}: name a header, .h, or a file of sections, .json", args.output.display())),
    };
    claim(&args.output, kind, args.replace, &[])?;
    let kernel = Kernel::open(&args.kernel)?;
    let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
    let problems = crate::cli::inputs::problems(&kernel, &args.problems)?;
    let device = crate::cli::inputs::device_for(&model, args.device.as_deref())?;
    let query = Query { top: 1, threads: cores(), ..Query::new(&device) };
    let predicted = Predictor::new(&kernel, &model)?.predict(&problems, &query)?;
    let choices: Vec<Choice> = std::iter::zip(&problems, predicted)
        .filter_map(|(problem, candidates)| {
            let first = candidates.into_iter().next()?;
            Some(Choice {
                problem: problem.clone(),
                config: first.config,
                time_us: Some(first.time_us).filter(|us| us.is_finite()),
            })
        })
        .collect();
    let about = format!("{} products of {} on {}, model {}", choices.len(), kernel.name, device.name, model.digest());
    let text = match kind {
        Kind::ClblastHeader => write_header(&kernel, &choices, &about)?,
        _ => write_database(&kernel, &device, &choices)?,
    };
    write_whole(&args.output, text.as_bytes())?;
    answer(&format!("{}: {about}", args.output.display()));
    Ok(())
}
