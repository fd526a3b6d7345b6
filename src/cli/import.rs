//! `seqtune import`

use super::progress::Bar;
use crate::dataset::miopen::{self, Import, Imported, Row, Times};
use crate::error::{Result, input};
use crate::kernel::Device;
use clap::Subcommand;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Makes datasets of what others have tuned or measured
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    Miopen(MiopenArgs),
}

/// Performance databases of MIOpen: one dataset per device and solver
#[derive(clap::Args)]
struct MiopenArgs {
    /// Databases: SQLite (.db) or text (.db.txt), each also .bz2
    #[arg(required = true)]
    databases: Vec<PathBuf>,
    /// Folder of the datasets
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Solvers to import, separated by commas [default: all that have a kernel]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    solver: Vec<String>,
    /// Find databases (.fdb.txt, also .bz2) with the measured times, for the databases of the same device
    #[arg(long, value_delimiter = ',', value_name = "FILES")]
    find_db: Vec<PathBuf>,
    /// Device that the databases were made on [default: each file's name says it, as in gfx906_60.db]
    #[arg(long)]
    device: Option<String>,
    /// Replaces datasets that are already in the folder
    #[arg(long)]
    overwrite: bool,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    match args.from {
        From::Miopen(args) => miopen(args),
    }
}

/// The device that a database is named after: what stands before the first dot of the file's name.
fn device_of(path: &Path) -> Result<Device> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    Device::described(stem).map_err(|_| {
        crate::Error::Input(format!(
            "{}: no described device is called `{stem}`; name the device that it was made on with --device",
            path.display()
        ))
    })
}

fn miopen(args: MiopenArgs) -> Result<()> {
    let device = |path: &Path| match &args.device {
        Some(name) => super::device(name),
        None => device_of(path),
    };
    let mut times: BTreeMap<String, Times> = BTreeMap::new();
    for path in &args.find_db {
        miopen::read_times(path, times.entry(device(path)?.name).or_default())?;
    }
    let mut databases: Vec<(String, Device, Vec<Row>)> = Vec::new();
    for path in &args.databases {
        let device = device(path)?;
        let place = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        databases.push((place, device, miopen::read(path)?));
    }
    let known = |solver: &String| databases.iter().flat_map(|(_, _, rows)| rows).any(|r| r.is_of(solver));
    if let Some(unknown) = args.solver.iter().find(|s| !known(s)) {
        return input(format!("--solver {unknown}: the databases hold no row of it"));
    }
    let rows: usize = databases.iter().map(|(_, _, rows)| rows.len()).sum();
    let mut bar = Bar::new("import", rows as u64);
    let ask = Import { solvers: &args.solver, times: &times, command: super::command_line() };
    let imported = miopen::import(&databases, &ask, &mut |done| bar.at(done, "rows"))?;
    bar.end();
    if imported.datasets.is_empty() {
        report(&args, &imported)?;
        return input("no row could be imported");
    }
    let file =
        |(device, solver): &(String, String)| args.output.join(format!("{}-{solver}.sqt", device.replace(' ', "_")));
    if let Some(there) = imported.datasets.keys().map(file).find(|f| f.exists() && !args.overwrite) {
        return input(format!("{} exists; name another folder, or pass --overwrite", there.display()));
    }
    for (key, dataset) in &imported.datasets {
        dataset.save_packed(&file(key))?;
    }
    report(&args, &imported)
}

fn report(args: &MiopenArgs, imported: &Imported) -> Result<()> {
    let records: usize = imported.datasets.values().map(|d| d.records.len()).sum();
    if args.json {
        let of = |((device, solver), d): (&(String, String), &crate::dataset::Dataset)| serde_json::json!({ "device": device, "solver": solver, "records": d.records.len() });
        let left_out = |((solver, reason), c): (&(String, String), &miopen::Counts)| serde_json::json!({ "solver": solver, "reason": reason, "rows": c.rows, "example": c.example });
        return super::answer_json(&serde_json::json!({
            "rows": imported.rows, "records": records, "timed": imported.timed, "replaced": imported.replaced,
            "datasets": imported.datasets.iter().map(of).collect::<Vec<_>>(),
            "left_out": imported.left_out.iter().map(left_out).collect::<Vec<_>>(),
        }));
    }
    let mut text = format!(
        "{}: {records} records of {} rows, {} with a time\n",
        args.output.display(),
        imported.rows,
        imported.timed
    );
    for ((device, solver), dataset) in &imported.datasets {
        text += &format!("  {:>8}  {device}  {solver}\n", dataset.records.len());
    }
    let left_out: usize = imported.left_out.values().map(|c| c.rows).sum();
    text += &format!("replaced by later rows of the same problem: {}\nleft out: {left_out} rows\n", imported.replaced);
    for ((solver, reason), counts) in &imported.left_out {
        text += &format!("  {:>8}  {solver}: {reason}\n            first: {}\n", counts.rows, counts.example);
    }
    super::answer(text.trim_end());
    Ok(())
}
