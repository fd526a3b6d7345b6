//! Time and energy of programs at pairs of clocks.

use crate::common::{public, run, write};
use seqtune_data::Dataset;
use seqtune_kernel::Kernel;

const HEAD: &str =
    "set,program,memory_mhz,core_mhz,ms,watts,millijoules,add_f32,fma_f64,ld_global_f32,st_shared_u32,bar,mov_u32";

/// Rows of a program at four pairs of clocks.
fn program(name: &str, counts: &str, ms: f64) -> String {
    let pairs = [(3505, 1164, 1.0), (3505, 595, 1.5), (810, 1164, 2.0), (810, 595, 2.5)];
    let row = |(memory, core, factor): (u32, u32, f64)| {
        let (ms, watts) = (ms * factor, 200.0 / factor);
        format!("real,{name},{memory},{core},{ms},{watts},{},{counts}", ms * watts)
    };
    pairs.map(row).join("\n")
}

fn table(rows: &[String]) -> String {
    format!("{HEAD}\n{}\n", rows.join("\n"))
}

#[test]
fn programs_become_problems_by_what_they_count_and_by_what_is_told_as_measured() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [program("a", "3,4,5,6,7,8", 2.0), program("b", "3,4,5,6,7,8", 4.0), program("c", "1,0,0,0,0,0", 1.0)];
    let file = write(folder.path(), "clocks.csv", table(&rows).as_bytes());
    let out = folder.path().join("clocks.sqt").display().to_string();
    let (said, err, code) = run(&["import", "clocks", &file, "--measured", "0,2", "-o", &out]);
    assert_eq!(code, 0, "{err}");
    assert!(said.contains("24 records of clocks on GTX Titan X from 12 rows of 3 programs"), "{said}");
    let dataset = Dataset::load(out.as_ref()).unwrap();
    let kernel = Kernel::open("clocks").unwrap();
    let first = &dataset.records[0];
    let problem = kernel.problem(&first.problem).unwrap();
    assert_eq!(
        kernel.brief_problem(&problem),
        "f32=3,f64=4,move=8,load_global=5,store_shared=6,barrier=7",
        "columns by opcode, state space and type"
    );
    assert_eq!(&*first.config, "MEMORY=3505,CORE=1164");
    assert_eq!(first.outcome.time_us(), Some(2000.0), "milliseconds");
    assert!((first.outcome.joules().unwrap() - 0.4).abs() < 1e-9, "millijoules");
    let told = &dataset.records[4].problem;
    assert!(told.ends_with("copy=0,us_top=2000,watts_top=200,us_low=4000,watts_low=100"), "{told}");
    assert!(dataset.records[8].problem.contains("copy=1,us_top=0"), "{}", dataset.records[8].problem);
}

#[test]
fn rows_that_make_no_sense_are_left_out_and_counted_and_what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        program("a", "3,4,5,6,7,8", 2.0),
        "real,a,3505,633,-1,200,400,3,4,5,6,7,8".into(),
        "real,a,3505,671,1,200,200,3,4,5,6,7,9".into(),
        "real,a,3505,709,1,200,200,3,4,5,6,7,x".into(),
        "real,a,3505,747,1,200".into(),
        "real,a,3505,1000,1,200,200,3,4,5,6,7,8".into(),
        "real,a,810,595,1,200,200,3,4,5,6,7,8".into(),
    ];
    let file = write(folder.path(), "clocks.csv", table(&rows).as_bytes());
    let out = folder.path().join("clocks.sqt").display().to_string();
    let (said, err, code) = run(&["import", "clocks", &file, "-o", &out]);
    assert_eq!(code, 0, "{err}");
    for what in [
        "4 records",
        "no number above 0",
        "other counts",
        "no whole number",
        "another number of columns",
        "no such pair",
        "before",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let refused = |args: &[&str], what: &str| {
        let (_, err, code) = run(&[&["import", "clocks"], args].concat());
        assert!(code == 2 && err.contains(what) && err.lines().count() == 1, "{code} {err}");
    };
    refused(&[&file, "-o", &out, "--overwrite", "--strict"], "strict");
    refused(&[&file, "-o", &out, "--overwrite", "--only", "z"], "no program is called z");
    refused(&[&file, "-o", &out, "--overwrite", "--measured", "3"], "--measured");
    for (columns, what) in [
        ("celsius", "the column celsius is no count of an instruction"),
        ("add_s32,add_s32", "has two columns add_s32"),
        ("", "has no column that counts an instruction"),
    ] {
        let more = if columns.is_empty() { String::new() } else { format!(",{columns}") };
        let text = format!("program,memory_mhz,core_mhz,ms,watts,millijoules{more}\n");
        let file = write(folder.path(), "columns.csv", text.as_bytes());
        refused(&[&file, "-o", &out, "--overwrite"], what);
    }
    let other = write(folder.path(), "other.csv", b"program,ms\na,1\n");
    refused(&[&other, "-o", &out, "--overwrite"], "has no column memory_mhz");
}

#[test]
fn the_measured_programs_of_a_gpu_are_all_imported() {
    let from = "the sets of github.com/hpc-ulisboa/gpuPTXModel, as one table";
    let Some(file) = public("clocks/gtxtitanx.csv", from) else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("clocks.sqt").display().to_string();
    let (said, err, code) = run(&["import", "clocks", &file, "-o", &out, "--strict"]);
    assert!(
        code == 0 && said.contains("5024 records of clocks on GTX Titan X from 5024 rows of 157 programs"),
        "{said}{err}"
    );
}
