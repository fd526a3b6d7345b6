//! Time, power and energy of programs at pairs of clocks, beside the instructions of their PTX: a CSV with a row for each pair.
//!
//! The form is that of the GTX Titan X data of Guerreiro et al. (GPU static modeling using PTX, 2019) as one table: `program`, `memory_mhz`,
//! `core_mhz`, `ms`, `watts`, `millijoules`, then a column for each opcode, state space and type with its static count, as `ld_global_f32`.

use crate::bad_rows::BadRows;
use crate::dataset::{Dataset, Header};
use crate::formats::opened::OpenedText;
use crate::recipe::Provenance;
use crate::record::{Energy, Measurement, Outcome, Record};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{ConfigSpace, Device, Kernel};
use std::collections::{BTreeMap, HashMap};

/// Result of an import.
pub struct ImportedClocks {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of rows in the files.
    pub rows: usize,
    /// Number of imported programs.
    pub programs: usize,
    /// Rows whose clocks are none of the kernel's, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Rows that cannot be read.
    pub bad: BadRows,
}

/// What is asked of an import.
pub struct ClocksOptions<'a> {
    /// What a problem tells as measured: nothing (0), time and power at the highest clocks (1), at the lowest memory clock with the highest
    /// core clock too (2). Each program is a problem for each number.
    pub measured: &'a [usize],
    /// Names of programs to leave out.
    pub without: &'a [String],
    /// Names of the programs to import alone, where there are any.
    pub only: &'a [String],
}

/// Columns that are no counts.
const NAMED: [&str; 7] = ["set", "program", "memory_mhz", "core_mhz", "ms", "watts", "millijoules"];

/// Instructions of a kind that are counted, at most: numbers up to it are exact in double precision.
const MOST: u64 = 1 << 53;

/// What a program needed at a pair of clocks.
#[derive(Clone, Copy)]
struct At {
    memory: f64,
    core: f64,
    us: f64,
    watts: f64,
    joules: f64,
}

/// A program with its counts by field of the kernel.
struct Program {
    name: String,
    counts: BTreeMap<&'static str, u64>,
    at: Vec<At>,
}

/// Whether a column is called like an instruction: by a type at its end, or one of those that have none.
fn is_instruction(column: &str) -> bool {
    let last = column.rsplit('_').next().unwrap_or_default();
    let (kind, bits) = last.split_at(last.find(|c: char| c.is_ascii_digit()).unwrap_or(last.len()));
    let typed = ["s", "u", "f", "b", "bf"].contains(&kind) && ["8", "16", "32", "64", "128"].contains(&bits);
    (typed && column != last) || last == "pred" || ["bar", "bra", "call", "ret", "exit", "membar"].contains(&column)
}

/// Field that counts instructions of a column, as `ld_global_f32`: opcode, state space, type.
fn field(column: &str) -> &'static str {
    let mut words = column.split('_');
    let (opcode, space) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (opcode, space) {
        ("ld", "global") => "load_global",
        ("ld", "shared") => "load_shared",
        ("ld", _) => "load_other",
        ("st", "shared") => "store_shared",
        ("st", _) => "store_global",
        ("atom" | "red", _) => "atomic",
        ("bar", _) => "barrier",
        ("bra" | "call" | "ret", _) => "branch",
        ("cvt" | "cvta", _) => "convert",
        ("mov", _) => "move",
        ("div" | "rem", _) => "division",
        ("sin" | "cos" | "ex2" | "lg2" | "rcp" | "sqrt" | "rsqrt" | "tanh", _) => "special",
        (
            "and" | "or" | "xor" | "not" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev" | "prmt" | "setp" | "selp"
            | "set" | "slct" | "popc" | "clz",
            _,
        ) => "logic",
        _ => match column.rsplit('_').next() {
            Some("f64") => "f64",
            Some("f32" | "f16" | "bf16") => "f32",
            _ => "integer",
        },
    }
}

/// Imports files of one device.
///
/// # Errors
/// [`Error::Input`] where a file has not the columns, or no program of a name that is asked for.
pub fn import(
    kernel: &Kernel,
    device: &Device,
    files: &[OpenedText],
    choice: &ClocksOptions,
    command: String,
) -> Result<ImportedClocks> {
    let places = files.iter().map(|file| file.place.clone()).collect();
    let tool = "time, power and energy at pairs of clocks, with instruction counts of PTX".into();
    let header = Header::new(kernel, device, 0, Provenance::Imported { tool, files: places }, command);
    let mut imported = ImportedClocks {
        dataset: Dataset { header, records: Vec::new() },
        rows: 0,
        programs: 0,
        left_out: BTreeMap::new(),
        bad: BadRows::default(),
    };
    let mut programs: Vec<Program> = Vec::new();
    for OpenedText { place, text } in files {
        read(text, place, &mut programs, &mut imported).map_err(|e| e.at_place(place))?;
    }
    if let Some(name) = choice.without.iter().chain(choice.only).find(|name| programs.iter().all(|p| p.name != **name))
    {
        return input(format!("no program is called {}", quote(name)));
    }
    // programs with the same counts are told apart by a number
    let mut copies: HashMap<String, usize> = HashMap::new();
    for program in &programs {
        let counts = program.counts.iter().map(|(field, count)| format!("{field}={count}")).collect::<Vec<_>>();
        let copy = copies.entry(counts.join(",")).or_default();
        let plain = format!("{},copy={copy}", counts.join(","));
        *copy += 1;
        let is_asked = choice.only.is_empty() || choice.only.contains(&program.name);
        if !is_asked || choice.without.contains(&program.name) {
            continue;
        }
        imported.programs += 1;
        for told in choice.measured {
            match told_of(kernel, program, *told) {
                Some(known) => records(kernel, device, program, &format!("{plain}{known}"), &mut imported)?,
                None => {
                    let why = "its program was not measured at the pairs of clocks that --measured tells".to_string();
                    *imported.left_out.entry(why).or_default() += program.at.len();
                }
            }
        }
    }
    Ok(imported)
}

/// The fields that tell what was measured, of the first `told` pairs: the kernel's highest clocks, then its lowest memory clock with the highest
/// core clock. `None` where the program was not measured at one of them.
fn told_of(kernel: &Kernel, program: &Program, told: usize) -> Option<String> {
    let clocks = |name: &str| {
        let values = kernel.parameters.iter().find(|p| p.name == name).map_or(&[][..], |p| &p.values);
        values.iter().map(|mhz| *mhz as f64).collect::<Vec<f64>>()
    };
    let [memory, core] = ["MEMORY", "CORE"].map(clocks);
    let highest = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let lowest = memory.iter().copied().fold(f64::INFINITY, f64::min);
    let pairs = [("top", highest(&memory)), ("low", lowest)];
    let tell = |(name, memory): (&str, f64)| {
        let At { us, watts, .. } = program.at.iter().find(|at| at.memory == memory && at.core == highest(&core))?;
        Some(format!(",us_{name}={us:.3},watts_{name}={watts:.3}"))
    };
    pairs.into_iter().take(told).map(tell).collect()
}

/// Where a table has its program, clocks, time, power and energy, and which columns are counts.
fn places(columns: &[String]) -> Result<([usize; 6], Vec<usize>)> {
    let at = |name: &str| match columns.iter().position(|column| column == name) {
        Some(at) => Ok(at),
        None => input(format!("has no column {name}: a table of clocks has {}", NAMED[1..].join(", "))),
    };
    let places = [at("program")?, at("memory_mhz")?, at("core_mhz")?, at("ms")?, at("watts")?, at("millijoules")?];
    let counted: Vec<usize> = (0..columns.len()).filter(|at| !NAMED.contains(&columns[*at].as_str())).collect();
    if let Some(twice) = (1..columns.len()).find(|at| columns[..*at].contains(&columns[*at])) {
        return input(format!("has two columns {}", quote(&columns[twice])));
    }
    if let Some(other) = counted.iter().find(|at| !is_instruction(&columns[**at])) {
        return input(format!(
            "the column {} is no count of an instruction, which is called by opcode, state space and type of PTX: ld_global_f32",
            quote(&columns[*other])
        ));
    }
    match counted.is_empty() {
        true => input("has no column that counts an instruction, such as ld_global_f32"),
        false => Ok((places, counted)),
    }
}

/// Reads the programs of a file.
fn read(text: &str, place: &str, programs: &mut Vec<Program>, imported: &mut ImportedClocks) -> Result<()> {
    let failed = |e: csv::Error| Error::Input(format!("is no CSV: {e}"));
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let columns: Vec<String> = reader.headers().map_err(failed)?.iter().map(str::to_string).collect();
    let (places, counted) = places(&columns)?;
    let first = programs.len();
    for (line, row) in reader.records().enumerate() {
        imported.rows += 1;
        let place = format!("{place}, line {}", line + 2);
        let Ok(row) = row else {
            imported.bad.add("is no row of CSV", &place);
            continue;
        };
        if row.len() != columns.len() {
            imported.bad.add("has another number of columns than the first line", &place);
            continue;
        }
        let number = |at: usize| row[at].trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
        let numbers: Vec<f64> = places[1..].iter().filter_map(|at| number(*at)).collect();
        let [memory, core, ms, watts, millijoules] = numbers[..] else {
            imported.bad.add("a clock, time, power or energy is no number above 0", &place);
            continue;
        };
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let unsound = counted.iter().find(|at| {
            let sum = counts.entry(field(&columns[**at])).or_default();
            let count = row[**at].trim().parse::<u64>().ok();
            let added = count.and_then(|count| sum.checked_add(count)).filter(|sum| *sum <= MOST);
            added.map(|all| *sum = all).is_none()
        });
        if let Some(at) = unsound {
            imported
                .bad
                .add(&format!("{} is no whole number, or counts add up to more than {MOST}", columns[*at]), &place);
            continue;
        }
        let name = row[places[0]].trim();
        if name.is_empty() {
            imported.bad.add("the program has no name", &place);
            continue;
        }
        let at = At { memory, core, us: 1e3 * ms, watts, joules: 1e-3 * millijoules };
        match programs[first..].iter_mut().find(|program| program.name == name) {
            Some(program) if program.at.iter().any(|a| (a.memory, a.core) == (memory, core)) => {
                imported.bad.add("its pair of clocks was there before", &place);
            }
            Some(program) if program.counts == counts => program.at.push(at),
            Some(_) => imported.bad.add("has other counts than the program's first row", &place),
            None => programs.push(Program { name: name.to_string(), counts, at: vec![at] }),
        }
    }
    Ok(())
}

/// Adds what a program needed as records of one problem.
fn records(
    kernel: &Kernel,
    device: &Device,
    program: &Program,
    text: &str,
    imported: &mut ImportedClocks,
) -> Result<()> {
    let problem = kernel.problem(text).map_err(|e| e.at_place(format!("program {}", quote(&program.name))))?;
    let (space, shown) = (ConfigSpace::new(kernel, &problem, device), kernel.show_problem(&problem));
    for at in &program.at {
        let config = match kernel.config(&format!("MEMORY={},CORE={}", at.memory, at.core)) {
            Ok(config) if space.violation(&config).is_none() => config,
            _ => {
                let why = format!("kernel {} has no such pair of clocks", kernel.name);
                *imported.left_out.entry(why).or_default() += 1;
                continue;
            }
        };
        let energy = Energy { joules: at.joules, half_width: 0.0, idle_watts: 0.0 };
        let outcome = Outcome::Measured(Measurement { samples_us: vec![at.us as f32], energy: Some(energy) });
        let (problem, text) = (shown.as_str().into(), kernel.show_config(&config).into());
        imported.dataset.records.push(Record { problem, config: text, outcome, observed: Default::default() });
    }
    Ok(())
}
