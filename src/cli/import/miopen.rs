//! `seqtune import miopen`

use crate::cli::import::options::Strictness;
use seqtune_console::inputs::{named_after, stem};
use seqtune_console::outputs::{Kind, Replace, claim_all, file_name};
use seqtune_console::progress::Bar;
use seqtune_data::formats::miopen::{self, ImportedMiopen, Kept, MiopenOptions, Times};
use seqtune_data::{BadRows, Counts};
use seqtune_kernel::Device;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::files::open_regular;
use seqtune_kernel::limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Imports MIOpen's performance databases, one dataset per device and solver
#[derive(clap::Args)]
pub struct MiopenImportArgs {
    /// Databases: SQLite (.db) or text (.db.txt), each also as .bz2
    #[arg(required = true)]
    databases: Vec<PathBuf>,
    /// Folder for the datasets
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Folder for second tunings of problems that have several results
    ///
    /// `seqtune-lab tuned --second-tuning` reads these datasets.
    #[arg(long, value_name = "FOLDER")]
    second_tuning: Option<PathBuf>,
    /// Print how many records of each device satisfy each rule of its solvers
    ///
    /// Rules include the constraints of the solvers.
    #[arg(long)]
    rules: bool,
    /// Solvers to import, separated by commas [default: all that have a kernel]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    solver: Vec<String>,
    /// Find databases with measured times (.fdb.txt, also .bz2), separated by commas
    ///
    /// Their times are used for the databases of the same device.
    #[arg(long, value_delimiter = ',', value_name = "FILES")]
    find_db: Vec<PathBuf>,
    /// Device of the databases [default: from each file name, as in gfx906_60.db]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
    /// Print the counts as one JSON object
    #[arg(long)]
    json: bool,
}

/// The device of a database: the one named for all of them, else the one that its file is named after.
fn named_device(path: &Path, named: Option<&str>) -> Result<Device> {
    // a file that is not there has no device either
    open_regular(path, limits::FOREIGN)?;
    let (place, stem) = (path.display(), stem(path));
    let told = miopen::read_name(&stem);
    let own = named_after(path);
    let Some(named) = named else {
        return match (own, told) {
            (Some(own), _) => Ok(own),
            (None, Some(told)) => told.described_device(&stem).map_err(|e| e.at_place(place)),
            (None, None) => input(format!(
                "{place}: no described device is called `{stem}`; name the device that it was made on with --device"
            )),
        };
    };
    let device = seqtune_console::inputs::device(named)?;
    let is_another = match (own, told) {
        (_, Some(told)) => !told.is(&device),
        (Some(own), None) => own.name != device.name,
        (None, None) => false,
    };
    match is_another {
        true => input(format!(
            "{place}: is named after another device than {}, which --device names; leave --device out, or rename a file that is named wrongly",
            device.name
        )),
        false => Ok(device),
    }
}

pub fn run(args: MiopenImportArgs) -> Result<()> {
    let device = |path: &Path| named_device(path, args.device.as_deref());
    let mut times: BTreeMap<String, Times> = BTreeMap::new();
    let mut bad = BadRows::default();
    let mut check = |path: &Path, found: BadRows, rows: usize| {
        let checked = found.check(rows, args.strictness.strict).map_err(|e| e.at_place(path.display()));
        bad.extend(found);
        checked
    };
    for path in &args.find_db {
        let miopen::ReadTimes { entries, bad: found } =
            miopen::read_times(path, times.entry(device(path)?.name).or_default())?;
        check(path, found, entries)?;
    }
    let mut databases: Vec<miopen::NamedRows> = Vec::new();
    for path in &args.databases {
        let device = device(path)?;
        let place = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let miopen::Rows { rows, bad: found } = miopen::read(path)?;
        let all = rows.len() + found.rows();
        check(path, found, all)?;
        databases.push(miopen::NamedRows { place, device, rows });
    }
    let known = |solver: &String| databases.iter().flat_map(|database| &database.rows).any(|r| r.is_of(solver));
    if let Some(unknown) = args.solver.iter().find(|s| !known(s)) {
        return input(format!("--solver {unknown}: the databases hold no row of it"));
    }
    let rows: usize = databases.iter().map(|database| database.rows.len()).sum();
    let mut bar = Bar::new("import", rows as u64);
    let (command, rules) = (seqtune_console::outputs::command_line(), args.rules);
    let ask = MiopenOptions { solvers: &args.solver, times: &times, rules, command };
    let mut imported = miopen::import(&databases, &ask, &mut |done| bar.move_to(done, "rows"))?;
    bar.end();
    imported.bad.extend(bad);
    if imported.datasets.is_empty() {
        report(&args, &imported)?;
        return input("no row could be imported");
    }
    let mut files = Vec::new();
    let folders = [(Some(&args.output), &imported.datasets), (args.second_tuning.as_ref(), &imported.again)];
    for (folder, datasets) in folders {
        let Some(folder) = folder else { continue };
        for ((device, solver), dataset) in datasets {
            files.push((folder.join(format!("{}-{}.sqt", file_name(device)?, file_name(solver)?)), dataset));
        }
    }
    let outputs: Vec<PathBuf> = files.iter().map(|(file, _)| file.clone()).collect();
    claim_all(&outputs, Kind::Dataset, args.replace, &args.databases)?;
    files.iter().try_for_each(|(file, dataset)| dataset.save_packed(file))?;
    report(&args, &imported)
}

fn report(args: &MiopenImportArgs, imported: &ImportedMiopen) -> Result<()> {
    let records: usize = imported.datasets.values().map(|d| d.records.len()).sum();
    if args.json {
        let of = |((device, solver), d): (&(String, String), &seqtune_data::Dataset)| serde_json::json!({ "device": device, "solver": solver, "records": d.records.len() });
        let left_out = |((solver, reason), c): (&(String, String), &Counts)| serde_json::json!({ "solver": solver, "reason": reason, "rows": c.rows, "example": c.example });
        let rules = |((device, solver), rules): (&(String, String), &Vec<Kept>)| serde_json::json!({ "device": device, "solver": solver, "rules": rules });
        return seqtune_console::answer::answer_json(&serde_json::json!({
            "rows": imported.rows, "records": records, "timed": imported.timed, "replaced": imported.replaced, "hidden": imported.hidden, "repeated": imported.repeated,
            "datasets": imported.datasets.iter().map(of).collect::<Vec<_>>(),
            "left_out": imported.left_out.iter().map(left_out).collect::<Vec<_>>(), "bad": imported.bad,
            "rules": imported.rules.iter().map(rules).collect::<Vec<_>>(),
        }));
    }
    let mut text = format!(
        "{}: {} of {}, {} with a time\n",
        args.output.display(),
        count_noun(records, "record"),
        count_noun(imported.rows, "row"),
        imported.timed
    );
    for ((device, solver), dataset) in &imported.datasets {
        text += &format!("  {:>8}  {device}  {solver}\n", dataset.records.len());
    }
    let left_out: usize = imported.left_out.values().map(|c| c.rows).sum();
    if imported.repeated > 0 {
        text += &format!("left out, {}: the same as an earlier one\n", count_noun(imported.repeated, "row"));
    }
    if imported.hidden > 0 {
        text += &format!(
            "left out, {}: behind an earlier entry of the same key and solver, which is the one that MIOpen reads\n",
            count_noun(imported.hidden, "row")
        );
    }
    if imported.replaced > 0 {
        text += &format!("replaced, {}: a later file has the same problem\n", count_noun(imported.replaced, "row"));
    }
    text += &format!("left out: {}\n", count_noun(left_out, "row"));
    for ((solver, reason), counts) in &imported.left_out {
        text += &format!("  {:>8}  {solver}: {reason}\n            first: {}\n", counts.rows, counts.example);
    }
    text = text.trim_end().to_string() + &imported.bad.text();
    text = text.trim_end().to_string() + &rules_text(&imported.rules);
    seqtune_console::answer::answer(text.trim_end());
    Ok(())
}

/// A line for each rule and constraint of a device's solvers, behind the line that sums them up; nothing where they were not counted.
fn rules_text(counted: &BTreeMap<(String, String), Vec<Kept>>) -> String {
    if counted.is_empty() {
        return String::new();
    }
    let all = counted.values().flatten().count();
    let broken = counted.values().flatten().filter(|rule| rule.kept < rule.records).count();
    let mut text = format!(
        "\nrules and constraints of each device's solvers: {all}, of which {broken} are not kept by all records\n"
    );
    for ((device, solver), rules) in counted {
        text += &format!("{device}  {solver}\n");
        for Kept { rule, kept, records } in rules {
            text += &format!("  {kept:>8} of {records:>8}  {rule}\n");
        }
    }
    text
}
