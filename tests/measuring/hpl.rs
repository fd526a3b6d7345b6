//! What HPL prints, in the forms that its builds and `mpirun` have, as the shipped kernel reads it.

use crate::common::{root, seqtune, text, write};
use seqtune_data::{Dataset, Outcome};

/// The shipped kernel with one process alone, which needs no mpirun, and few other values.
fn small(folder: &std::path::Path) -> String {
    let kernel = folder.join("hpl");
    std::fs::create_dir(&kernel).unwrap();
    for file in ["kernel.toml", "run.sh", "HPL.dat.in", "main.c"] {
        let mut bytes = std::fs::read_to_string(root().join("kernels/hpl").join(file)).unwrap();
        for values in ["[1, 2, 4, 8, 16]", "[1, 2, 4, 8, 16, 32]", "[1, 2, 4, 8, 16, 32, 64]"] {
            for name in ["P", "Q", "threads"] {
                bytes = bytes.replace(
                    &format!("name = \"{name}\"\nvalues = {values}"),
                    &format!("name = \"{name}\"\nvalues = [1]"),
                );
            }
        }
        std::fs::write(kernel.join(file), bytes).unwrap();
    }
    kernel.display().to_string()
}

#[cfg(unix)]
#[test]
fn the_rate_is_read_before_a_second_column_and_behind_a_tag_and_no_other_number_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let kernel = small(folder.path());
    let program = folder.path().join("xhpl");
    let line = "WR00L2L2         100    64     1     1               0.17              3.1020e+01";
    let head = "T/V                N    NB     P     Q               Time                 Gflops";
    let forms = [
        (format!("{head}\n{line}"), true),
        (format!("{head} (   per GPU)\n{line} ( 1.5510e+01)"), true),
        (format!("[1,0]<stdout>:{line}"), true),
        (format!("[prterun-node7-4@1,0]<stdout>: {line}"), true),
        (format!("[0] {line}"), true),
        (format!("0: {line}"), true),
        (format!("Sun Nov 29 02:00:00 2026<stdout>:{line}"), true),
        (line.replace("WR00L2L2", "WC03R2C4").replace("e+01", "e+01\r"), true),
        (line.replace("3.1020e+01", "31.02"), true),
        // what it prints where the time is below its clock, and where the decimal sign is a comma
        (line.replace("0.17", "0.00").replace("3.1020e+01", "0.0000e+00"), false),
        (line.replace("0.17", "0,17").replace("3.1020e+01", "3,1020e+01"), false),
        (line.replace("3.1020e+01", "3,1020e+01"), false),
        (line.replace("3.1020e+01", "nan"), false),
        (line.replace("3.1020e+01", "3.1020e+01x"), false),
    ];
    for (at, (printed, is_read)) in forms.iter().enumerate() {
        let said = write(
            folder.path(),
            "said",
            format!("{printed}\n||Ax-b||_oo/(eps*N)=   5.4e-03 ...... PASSED\n").as_bytes(),
        );
        std::fs::write(&program, format!("#!/bin/sh\ncat {said}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let journal = folder.path().join(format!("{at}.jsonl"));
        let journal = journal.display().to_string();
        let mut sweep = seqtune(&["sweep", &kernel, "--problems", "N=100", "--sample", "1", "-o", &journal]);
        let (out, err, _) = text(sweep.env("SEQTUNE_XHPL", &program).output().unwrap());
        let records = Dataset::load(journal.as_ref()).unwrap_or_else(|e| panic!("{printed}: {e} {out}{err}")).records;
        // 2/3 N^3 + 3/2 N^2 operations at 31.02 GFLOP/s
        let us = (2.0 / 3.0 * 1e6 + 1.5e4) / 31.02e3;
        let close = |record: &seqtune_data::Record| match (&record.outcome, is_read) {
            (Outcome::Measured(_), true) => (record.outcome.time_us().unwrap() / us - 1.0).abs() < 1e-3,
            (Outcome::Invalid(_), false) => true,
            _ => false,
        };
        assert!(!records.is_empty() && records.iter().all(close), "{printed}: {records:?} {err}");
    }
}
