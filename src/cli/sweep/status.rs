//! `seqtune sweep status`

use seqtune_console::answer::{answer, answer_json, warn};
use seqtune_console::inputs::dataset_files;
use seqtune_data::{Dataset, Outcome, Shard};
use seqtune_eval::pages::markdown::Table;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Shows the progress of the sweeps in folders
///
/// It prints the records, the failures, the missing shards, and when each journal was last written.
#[derive(clap::Args)]
pub struct Args {
    /// Folders of journals, or journals
    #[arg(default_value = ".", value_name = "FOLDER|DATASET")]
    places: Vec<PathBuf>,
    /// Print one JSON object per sweep
    #[arg(long)]
    json: bool,
}

/// A journal, as far as it is written.
struct Part {
    path: PathBuf,
    shard: Option<Shard>,
    device: String,
    records: usize,
    failed: usize,
    /// Seconds since it was written.
    age: Option<f64>,
}

/// Journals of one kernel and plan.
struct Sweep {
    kernel: String,
    plan: Option<(String, usize)>,
    parts: Vec<Part>,
}

/// Runs `seqtune sweep status`.
///
/// # Errors
/// `Error::File` where a folder cannot be read.
pub fn run(args: Args) -> Result<()> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for path in dataset_files(&args.places)? {
        let dataset = match Dataset::load(&path) {
            Ok(dataset) => dataset,
            // of a folder that is written to, one may be half begun
            Err(e) => {
                warn(&e.to_string());
                continue;
            }
        };
        let plan = dataset.header.shard.as_ref().map(|shard| (shard.plan.clone(), shard.of));
        let kernel = dataset.header.kernel.clone();
        let part = part(&path, dataset);
        match sweeps.iter_mut().find(|sweep| sweep.kernel == kernel && sweep.plan == plan && plan.is_some()) {
            Some(sweep) => sweep.parts.push(part),
            None => sweeps.push(Sweep { kernel, plan, parts: vec![part] }),
        }
    }
    sweeps.iter_mut().for_each(|sweep| sweep.parts.sort_by_key(|part| part.shard.as_ref().map(|s| s.index)));
    if args.json {
        return sweeps.iter().try_for_each(|sweep| answer_json(&sweep.json()));
    }
    let mut table = Table::new(&["sweep", "shard", "device", "records", "failed", "written"].map(String::from));
    for sweep in &sweeps {
        sweep.parts.iter().for_each(|part| table.row(&part.cells()));
    }
    answer(&table.to_string());
    sweeps.iter().for_each(|sweep| answer(&sweep.line()));
    Ok(())
}

fn part(path: &Path, dataset: Dataset) -> Part {
    let written = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let age = written.and_then(|at| SystemTime::now().duration_since(at).ok()).map(|age| age.as_secs_f64());
    Part {
        path: path.to_path_buf(),
        shard: dataset.header.shard,
        device: dataset.header.device.name,
        records: dataset.records.len(),
        failed: dataset.records.iter().filter(|r| matches!(r.outcome, Outcome::Invalid(_))).count(),
        age,
    }
}

/// Numbers of shards, the first of many.
fn list_shards(numbers: &[usize]) -> String {
    let first: Vec<String> = numbers.iter().take(10).map(usize::to_string).collect();
    first.join(", ") + if numbers.len() > 10 { ", …" } else { "" }
}

/// Seconds in the unit that people would say them in.
fn ago(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".into(),
        Some(s) if s < 90.0 => format!("{s:.0} s ago"),
        Some(s) if s < 5_400.0 => format!("{:.0} min ago", s / 60.0),
        Some(s) if s < 172_800.0 => format!("{:.0} h ago", s / 3_600.0),
        Some(s) => format!("{:.0} days ago", s / 86_400.0),
    }
}

impl Part {
    fn cells(&self) -> [String; 6] {
        let (shard, records) = match &self.shard {
            Some(shard) => (shard.to_string(), format!("{} of {}", self.records, shard.planned)),
            None => ("-".into(), self.records.to_string()),
        };
        let file = self.path.display().to_string();
        [file, shard, self.device.clone(), records, self.failed.to_string(), ago(self.age)]
    }

    fn is_complete(&self) -> bool {
        self.shard.as_ref().is_none_or(|shard| self.records >= shard.planned)
    }
}

impl Sweep {
    /// Shards that no journal is there of.
    fn absent(&self) -> Vec<usize> {
        let of = self.plan.as_ref().map_or(0, |(_, of)| *of);
        let there: HashSet<usize> = self.parts.iter().filter_map(|p| Some(p.shard.as_ref()?.index)).collect();
        (1..=of).filter(|index| !there.contains(index)).collect()
    }

    fn sums(&self) -> (usize, usize, usize) {
        let sum = |of: &dyn Fn(&Part) -> usize| self.parts.iter().map(of).sum();
        (
            sum(&|part| part.records),
            sum(&|part| part.shard.as_ref().map_or(part.records, |shard| shard.planned)),
            sum(&|part| part.failed),
        )
    }

    fn line(&self) -> String {
        let (records, planned, failed) = self.sums();
        let Some((_, of)) = &self.plan else {
            return format!("{}: {}, {failed} failed", self.kernel, count_noun(records, "record"));
        };
        let complete = self.parts.iter().filter(|part| part.is_complete()).count();
        let absent = self.absent();
        let begun = match absent.len() {
            0 => String::new(),
            n => format!("; {n} not begun: {}", list_shards(&absent)),
        };
        format!(
            "{}: {complete} of {} complete, {records} of {} of those that are begun, {failed} failed{begun}",
            self.kernel,
            count_noun(*of, "shard"),
            count_noun(planned, "record")
        )
    }

    fn json(&self) -> serde_json::Value {
        let part = |part: &Part| {
            serde_json::json!({
                "file": part.path.display().to_string(), "shard": part.shard, "device": part.device,
                "records": part.records, "failed": part.failed, "complete": part.is_complete(), "seconds_ago": part.age,
            })
        };
        let (records, planned, failed) = self.sums();
        serde_json::json!({
            "kernel": self.kernel, "shards": self.plan.as_ref().map(|(_, of)| of), "absent": self.absent(),
            "records": records, "planned": planned, "failed": failed,
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
        })
    }
}
