//! What a program reports: numbers that stand there whole, in a unit that is stated, within a time that ends.

use crate::common::{run, write};
use seqtune_data::{Dataset, InvalidityKind, Outcome, Record};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Sweeps a kernel of one parameter `A` of so many values, whose script is `script`; the records by config.
fn sweep(folder: &Path, values: usize, table: &str, script: &str) -> BTreeMap<String, Record> {
    let all: Vec<String> = (1..=values).map(|value| value.to_string()).collect();
    let text = format!(
        "name = 'mine'\nmeaning = 'mine'\nfield = [{{ name = 'n', kind = 'size', min = 1, max = 9, shape = true, meaning = 'size' }}]\n\
         parameter = [{{ name = 'A', values = [{}], default = 1, meaning = 'one' }}]\n[run]\nfiles = ['script.sh']\n{table}\n",
        all.join(", ")
    );
    write(folder, "script.sh", script.as_bytes());
    write(folder, "kernel.toml", text.as_bytes());
    let (kernel, journal) = (folder.display().to_string(), folder.join("a.jsonl"));
    let path = journal.display().to_string();
    let (out, err, code) = run(&["sweep", &kernel, "--problems", "n=4", "--exhaustive", "-o", &path]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!(out + &err).contains('\u{1b}'), "an escape sequence reaches the terminal");
    Dataset::load(&journal).unwrap().records.into_iter().map(|record| (record.config.to_string(), record)).collect()
}

fn expect(records: &BTreeMap<String, Record>, expected: &[(&str, &str)]) {
    for (config, words) in expected {
        match &records[*config].outcome {
            Outcome::Invalid(fault) => {
                assert!(fault.kind == InvalidityKind::Runtime && fault.detail.contains(words), "{config}: {fault:?}");
            }
            other => panic!("{config}: {other:?}"),
        }
    }
}

#[test]
fn a_loose_pattern_books_no_part_of_a_number_and_no_other_unit() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
case $1 in
  1) echo "time: 1.8 ms" ;;
  2) echo "time: 1,8 ms" ;;
  3) echo "time: 1.8E-03 ms" ;;
  4) echo "time: 1,238.5 ms" ;;
  5) echo "time: 18446744073709.2 ms" ;;
  6) echo "time: 1.8 us" ;;
  7) echo "time: 1.8e+00 ms" ;;
  8) echo "time: 1.8 ms"; echo "time: 0.000 ms" ;;
  9) echo "time: 1.8 ms"; echo "time: 1,9 ms" ;;
  10) printf 'time: 1.8 ms\r\n' ;;
  11) printf '\033[31mtime: none\033[0m\007\n' ;;
  12) echo "time: 0.0000000000000001 ms" ;;
esac
"#;
    let table = "command = ['sh', '{kernel}/script.sh', '{A}']\ntime = { pattern = 'time: ([0-9.]+)', unit = 'ms' }\nsamples = 2";
    let records = sweep(folder.path(), 12, table, script);
    let time = |config: &str| records[config].outcome.time_us().unwrap();
    assert!((time("A=1") - 1_800.0).abs() < 0.1 && (time("A=10") - 1_800.0).abs() < 0.1);
    expect(
        &records,
        &[
            ("A=2", "holds `1,8`, of which the pattern takes `1` alone"),
            ("A=3", "holds `1.8E-03`, of which the pattern takes `1.8` alone"),
            ("A=4", "holds `1,238.5`"),
            ("A=5", "holds a time of 585 years"),
            ("A=6", "says `us` beside `1.8`"),
            ("A=7", "holds `1.8e+00`"),
            ("A=8", "a time that is not above 0"),
            ("A=9", "holds `1,9`"),
            ("A=11", "holds no time; its last words: \\u{1b}[31mtime: none\\u{1b}[0m\\u{7}"),
            ("A=12", "which is none that anything takes"),
        ],
    );
}

#[test]
fn a_time_is_found_on_either_stream_at_any_end_of_a_line_and_in_json_of_many_lines() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
case $1 in
  1) printf 'time: 1.5\r\n' ;;
  2) printf '10 %%\r50 %%\rtime: 1.5\n' ;;
  3) echo "warming up"; echo "time: 1.5" >&2 ;;
  4) echo "time: 1.5"; echo "time: 9" >&2 ;;
  5) echo "time: 1.5"; echo "result: FAILED" >&2 ;;
esac
"#;
    let table = "command = ['sh', '{kernel}/script.sh', '{A}']\ntime = { pattern = '^time: ([0-9.]+)$', unit = 'ms' }\nwrong = 'FAILED$'";
    let records = sweep(folder.path(), 5, table, script);
    for config in ["A=1", "A=2", "A=3", "A=4"] {
        assert!(records[config].outcome.time_us() == Some(1_500.0), "{config}: {:?}", records[config].outcome);
    }
    assert!(matches!(&records["A=5"].outcome, Outcome::Invalid(fault) if fault.kind == InvalidityKind::Correctness));

    let script = r#"
case $1 in
  1) printf '{\n  "time_ms": 1.5,\n  "counters": {\n    "x": 2\n  }\n}\n' ;;
  2) printf '{ a log\n{"time_ms": [\n1.5,\n1.5]}\nbye\n' ;;
  3) printf '{"time_ms": 1.5}\n' >&2 ;;
  4) printf '{"time_ms": 1.5}\n{"time_ms": 9} and more\n' ;;
esac
"#;
    let folder = tempfile::tempdir().unwrap();
    let records = sweep(folder.path(), 4, "command = ['sh', '{kernel}/script.sh', '{A}']", script);
    for (config, record) in &records {
        assert!(record.outcome.time_us() == Some(1_500.0), "{config}: {:?}", record.outcome);
    }
}

#[test]
fn json_is_held_to_the_same_rules() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
case $1 in
  1) echo '{"time_ms": 1.8}' ;;
  2) echo '{"time_s": 1e9}' ;;
  3) echo '{"time_ms": "1,8"}' ;;
  4) printf '{"times_us": [1'; yes ',1' | head -n 20000 | tr -d '\n'; echo ']}' ;;
  5) echo '{"time_ms": 1, "joules": -1}' ;;
  6) echo '{"time_ms": 1, "counters": {"a\u001b[31m": 1}}' ;;
  7) echo '{"time_us": 1e-30}' ;;
  8) echo '{"time": 5}' ;;
esac
"#;
    let records = sweep(folder.path(), 8, "command = ['sh', '{kernel}/script.sh', '{A}']\nsamples = 2", script);
    assert!((records["A=1"].outcome.time_us().unwrap() - 1_800.0).abs() < 0.1);
    expect(
        &records,
        &[
            ("A=2", "holds a time of 32 years"),
            ("A=3", "a time that is no number"),
            ("A=4", "holds 20001 numbers of a kind"),
            ("A=5", "joules that are not above 0"),
            ("A=6", "a counter whose name"),
            ("A=7", "which is none that anything takes"),
            ("A=8", "holds no time"),
        ],
    );
}

#[test]
fn a_pattern_over_a_long_output_ends_in_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
case $1 in
  1) echo "took 0.001 s" ;;
  2) yes "took 0.001 s" | head -n 200000 ;;
  3) od -An -v -tx1 /dev/urandom | tr -d ' \n' | head -c 4000000; echo; echo "took 0.001 s" ;;
esac
"#;
    // half of the letters may be the first of four thousand: so many states at once
    let table = "command = ['sh', '{kernel}/script.sh', '{A}']\ntime = { pattern = 'took ([0-9.]+) s' }\nsamples = 2\n\
                 wrong = '[0-7][0-9a-f]{4000}[^0-9a-f\\s]'";
    let began = Instant::now();
    let records = sweep(folder.path(), 3, table, script);
    assert!(records["A=1"].outcome.time_us().is_some());
    expect(
        &records,
        &[("A=2", "more than 10000 numbers"), ("A=3", "could not be searched for the patterns of [run] within 5 s")],
    );
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

#[test]
fn old_answers_without_end_are_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["config"]["A"] == 2:
        while True:
            print(json.dumps({"id": asked["id"] - 1, "time_ms": 1}), flush=True)
    print(json.dumps({"id": asked["id"], "time_ms": 1}), flush=True)
"#;
    let began = Instant::now();
    let table = "command = ['python3', '{kernel}/script.sh']\nserve = true\ntimeout = 8\nsamples = 2";
    let records = sweep(folder.path(), 3, table, script);
    assert!(records["A=1"].outcome.time_us().is_some() && records["A=3"].outcome.time_us().is_some());
    match &records["A=2"].outcome {
        Outcome::Invalid(fault) => assert!(
            fault.kind == InvalidityKind::Timeout && fault.detail.contains("no answer to the request"),
            "{fault:?}"
        ),
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}
