//! Sweeps that go on in the journal of an older version.

use crate::common::{SIZES, run};
use seqtune_data::{Dataset, Outcome, Record};
use std::collections::BTreeMap;

/// Least samples of the configs that take 1.6 to 2.5 times the best of their problem.
fn samples_behind(records: &[Record]) -> usize {
    let measured = |r: &Record| match &r.outcome {
        Outcome::Measured(m) => Some((m.median_us(), m.samples_us.len())),
        _ => None,
    };
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for (record, (us, _)) in records.iter().filter_map(|r| Some((r, measured(r)?))) {
        let least = best.entry(&record.problem).or_insert(us);
        *least = least.min(us);
    }
    let behind = records.iter().filter_map(|r| Some((measured(r)?, best[&*r.problem])));
    let behind = behind.filter(|((us, _), best)| (1.6..2.5).contains(&(us / best)));
    behind.map(|((_, samples), _)| samples).min().expect("configs that are behind")
}

#[test]
fn a_sweep_goes_on_by_the_rules_of_the_version_that_began_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.jsonl");
    let args = |sample: &'static str| {
        [
            &["sweep", "gemm", "--device", "fake", "-o", path.to_str().unwrap()][..],
            &["--private-share", "0", "--pool", "60", "--sample", sample, "--problems"],
            &SIZES,
        ]
        .concat()
    };
    assert_eq!(run(&args("5")).2, 0);
    // as a version wrote it that knew no configs that are behind, and gave up on others sooner
    let journal = std::fs::read_to_string(&path).unwrap();
    let old = journal.replace("\"behind\":1.5,", "").replace("\"slow\":3.0", "\"slow\":1.2");
    assert_ne!(old, journal);
    std::fs::write(&path, &old).unwrap();
    let (out, err, code) = run(&args("40"));
    assert!(code == 0 && out.contains("240 records: 210 measured now"), "{out}{err}");
    assert!(err.contains("other rules of when a config is done; it goes on by them"), "{err}");
    let header = |text: &str| text.lines().next().map(String::from);
    assert_eq!(header(&std::fs::read_to_string(&path).unwrap()), header(&old));
    let records = Dataset::load(&path).unwrap().records;
    let by_old = samples_behind(&records[30..]);
    // what an option or the device decides is no such rule
    std::fs::write(&path, old.replace("\"warm_up_ms\":5.0", "\"warm_up_ms\":9.0")).unwrap();
    let (_, err, code) = run(&args("40"));
    assert!(code == 2 && err.contains("was begun with recipe warm_up_ms 9.0, not warm_up_ms 5.0"), "{err}");
    std::fs::remove_file(&path).unwrap();
    let (_, err, code) = run(&args("40"));
    assert!(code == 0 && !err.contains("other rules"), "{err}");
    let by_new = samples_behind(&Dataset::load(&path).unwrap().records);
    assert!(by_old < by_new, "{by_new} samples of what is behind, by the old rules {by_old}");
}
