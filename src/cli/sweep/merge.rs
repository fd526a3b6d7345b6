//! `seqtune sweep merge`

use seqtune_console::answer::{answer, answer_json, warn};
use seqtune_console::inputs::dataset_files;
use seqtune_console::outputs::{Kind, Replace, claim_all};
use seqtune_data::merge::{Merged, merge};
use seqtune_data::{Dataset, NamedDataset, Outcome};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::files::target;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Merges the journals of a sweep's shards into one dataset
///
/// Datasets of different kernels, drivers, recipes or plans are refused, and of different devices without --by-device. Missing, unfinished
/// and repeated shards are named. A repeated shard counts once.
#[derive(clap::Args)]
pub struct Args {
    /// Journals, packed datasets, or folders of them
    #[arg(required = true, value_name = "DATASET")]
    datasets: Vec<PathBuf>,
    /// File to write: packed if it ends in .sqt, else a journal
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write the output even if shards are missing or unfinished
    #[arg(long)]
    partial: bool,
    /// Write one file per device, such as all.DEVICE.sqt for `-o all.sqt`
    #[arg(long)]
    by_device: bool,
    #[command(flatten)]
    replace: Replace,
    /// Print the counts as one JSON object per file
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune sweep merge`.
///
/// # Errors
/// `Error::Input` where datasets do not belong together.
pub fn run(args: Args) -> Result<()> {
    let files = dataset_files(&args.datasets)?;
    let mut by_device: BTreeMap<String, Vec<NamedDataset>> = BTreeMap::new();
    for path in &files {
        let dataset = Dataset::load(path)?;
        let device = dataset.header.device.name.clone();
        by_device.entry(device).or_default().push(NamedDataset::new(path.display().to_string(), dataset));
    }
    let devices = by_device.len();
    if let (false, [one, two, ..]) = (args.by_device, &by_device.iter().collect::<Vec<_>>()[..]) {
        return input(format!(
            "{} is of {}, {} of {}; --by-device writes a file for each",
            one.1[0].place, one.0, two.1[0].place, two.0
        ));
    }
    let name = |device: &String| if args.by_device { of_device(&args.output, device) } else { Ok(args.output.clone()) };
    let outputs = by_device.keys().map(name).collect::<Result<Vec<_>>>()?;
    // before the first is written
    claim_all(&outputs, Kind::Dataset, args.replace, &files)?;
    for (output, datasets) in outputs.iter().zip(by_device.values()) {
        one(&args, output, datasets, devices > 1)?;
    }
    Ok(())
}

/// `all.sqt` of a device: `all.NAME.sqt`.
fn of_device(output: &Path, device: &str) -> Result<PathBuf> {
    // `..` has no name: its files would be named into the folder above
    target(output)?;
    let plain: String = device.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let stem = output.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let extension = output.extension().map_or("sqt".into(), |e| e.to_string_lossy());
    Ok(output.with_file_name(format!("{stem}.{plain}.{extension}")))
}

/// Merges the datasets of one device; `others` says whether shards of a plan may be another device's.
fn one(args: &Args, output: &Path, datasets: &[NamedDataset], others: bool) -> Result<()> {
    let Merged { dataset, missing, repeated } = merge(datasets)?;
    repeated.iter().for_each(|place| warn(&format!("{place} holds what another one holds; it counts once")));
    if !(missing.is_empty() || args.partial || others) {
        return input(format!("{}; go on with those, or pass --partial", missing.join("; ")));
    }
    missing.iter().for_each(|sentence| warn(sentence));
    dataset.save(output)?;
    let failed = dataset.records.iter().filter(|r| matches!(r.outcome, Outcome::Invalid(_))).count();
    let problems = dataset.records.iter().map(|r| &r.problem).collect::<std::collections::BTreeSet<_>>().len();
    if args.json {
        return answer_json(&serde_json::json!({
            "file": output.display().to_string(), "device": dataset.header.device.name, "datasets": datasets.len(),
            "records": dataset.records.len(), "problems": problems, "failed": failed, "missing": missing,
            "hash": dataset.hash(),
        }));
    }
    answer(&format!(
        "{}: {} of {} from {}, {failed} failed, hash {}",
        output.display(),
        count_noun(dataset.records.len(), "record"),
        count_noun(problems, "problem"),
        count_noun(datasets.len(), "dataset"),
        dataset.hash()
    ));
    Ok(())
}
