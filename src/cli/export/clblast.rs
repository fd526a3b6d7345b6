//! `seqtune export clblast`

use seqtune_console::answer::answer;
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_data::formats::clblast::{ClblastTable, PredictedConfig, whole_tiles, write_database, write_header};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Device, Kernel, Problem};
use seqtune_predict::{Grounds, Model, Predictor, Quality, Query};
use std::path::PathBuf;

/// Exports predicted parameters for CLBlast: a C header or database sections
///
/// A header (.h) overrides the parameters before a call. Sections (.json) are for CLBlast's database.
///
/// A folder of several models gives a table for each of CLBlast's kernels: `xgemm_direct`, `xgemm`, and `gemm_routine`, which chooses
/// between the two.
#[derive(clap::Args)]
pub struct ClblastExportArgs {
    /// Folder of a model of a CLBlast kernel, or of several such folders
    model: PathBuf,
    /// Problems such as M=512,N=256,K=64, files of problems, or `-`
    ///
    /// Files have one problem per line. `-` stands for standard input.
    #[arg(required = true)]
    problems: Vec<String>,
    /// Kernel name or folder; may be repeated
    ///
    /// [default: CLBlast's kernels among those of the models]
    #[arg(long)]
    kernel: Vec<String>,
    /// Device to predict for: a name, `live`, an id or a .toml file
    ///
    /// A name is that of a training device of the model or of a described device. An id is for instance `opencl:0`.
    ///
    /// [default: the models' training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Header (.h) or JSON file (.json) to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    replace: Replace,
}

/// What CLBlast has parameters of.
const OF_CLBLAST: [&str; 3] = ["xgemm_direct", "xgemm", "gemm_routine"];

pub fn run(args: ClblastExportArgs) -> Result<()> {
    let kind = match args.output.extension().and_then(|e| e.to_str()) {
        Some("h") => Kind::ClblastHeader,
        Some("json") => Kind::ClblastJson,
        _ => return input(format!("{}: name a header, .h, or a file of sections, .json", args.output.display())),
    };
    claim(&args.output, kind, args.replace, &[])?;
    let names = match args.kernel.is_empty() {
        false => args.kernel.clone(),
        true => {
            Model::kernels_in(&args.model)?.into_iter().filter(|name| OF_CLBLAST.contains(&name.as_str())).collect()
        }
    };
    let load = |name: &String| {
        let kernel = seqtune_console::inputs::kernel(name)?;
        let model = Model::load_as(&args.model, &kernel.name, Quality::Auto)?;
        Ok((kernel, model))
    };
    let known: Vec<(Kernel, Model)> = names.iter().map(load).collect::<Result<_>>()?;
    let [(first, _), ..] = &known[..] else {
        return input(format!(
            "{}: has no model of a kernel of CLBlast ({}); train one as docs/integrations/clblast.md says, or name a kernel of your own with --kernel",
            args.model.display(),
            OF_CLBLAST.join(", ")
        ));
    };
    let learned = seqtune_console::inputs::learned_by(known.iter().map(|(_, model)| &model.meta));
    let device = seqtune_console::inputs::device_among(&learned, args.device.as_deref())?;
    known.iter().for_each(|(_, model)| seqtune_console::inputs::warn_of_unseen(&model.meta, &device));
    let problems: Vec<String> =
        seqtune_console::inputs::problems(first, &args.problems)?.iter().map(|p| first.show_problem(p)).collect();
    let tables = known.iter().map(|(kernel, model)| table(kernel, model, &device, &problems));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = known.iter().map(|(kernel, _)| kernel.name.as_str()).collect();
    let digests: Vec<String> = known.iter().map(|(_, model)| model.digest()).collect();
    let mut grounds: Vec<String> =
        known.iter().map(|(_, model)| Grounds::from_meta(&model.meta, &device).words()).collect();
    grounds.dedup();
    let about = format!(
        "{} of {}, model{} {}; {}",
        count_noun(problems.len(), "product"),
        names.join(", "),
        if digests.len() > 1 { "s" } else { "" },
        digests.join(", "),
        grounds.join("; ")
    );
    let text = match kind {
        Kind::ClblastHeader => write_header(&tables, &about)?,
        _ => write_database(&tables, &device, &about)?,
    };
    write_whole(&args.output, text.as_bytes())?;
    answer(&format!("{}: {about}", args.output.display()));
    Ok(())
}

/// First choices of a kernel for products. The indirect kernel is asked for the product of whole tiles that it computes.
fn table<'a>(kernel: &'a Kernel, model: &Model, device: &Device, products: &[String]) -> Result<ClblastTable<'a>> {
    let asked = products.iter().map(|text| kernel.problem(text)).collect::<Result<Vec<_>>>()?;
    let padded: Vec<Problem> = asked.iter().map(|problem| whole_tiles(kernel, problem)).collect();
    let query = Query { top: 1, threads: cores(), ..Query::new(device) };
    let predicted = Predictor::new(kernel, model)?.predict(&padded, &query)?;
    let choices = std::iter::zip(asked, predicted).filter_map(|(problem, prediction)| {
        let first = prediction.candidates.into_iter().next()?;
        Some(PredictedConfig { problem, config: first.config, time_us: first.time_us })
    });
    Ok(ClblastTable { kernel, choices: choices.collect() })
}
