//! Cache files as they come, and as they are written.

use super::*;
use crate::formats::sweep::{ImportedSweep, SweepImport};
use crate::record::{Energy, Measurement};
use std::sync::Arc;

/// A cache of the toy parameters `a` and `b` with these entries; left open where `open`.
fn cache(facts: &str, entries: &[&str], open: bool) -> String {
    let end = if open { "," } else { "}}" };
    let entries: Vec<String> = entries.iter().enumerate().map(|(i, entry)| format!("\"{i}\": {entry}")).collect();
    format!(
        r#"{{"device_name": "NVIDIA T4", "kernel_name": "vec", "problem_size": [64, 32], {facts} "tune_params_keys": ["a", "b"], "cache": {{{}{end}"#,
        entries.join(",\n")
    )
}

fn read(facts: &str, entries: &[&str]) -> Sweep {
    read_cache(&cache(facts, entries, false)).unwrap()
}

fn samples(sweep: &Sweep, at: usize) -> &[f32] {
    let Outcome::Measured(m) = &sweep.tried[at].outcome else { panic!("{:?}", sweep.tried[at]) };
    &m.samples_us
}

#[test]
fn a_cache_that_was_left_open_is_read_without_its_cold_runs() {
    let entries = [
        r#"{"a": 1, "b": 2, "time": 2.0, "times": [5.0, 2.0, 2.5]}"#,
        r#"{"a": 2, "b": 2, "time": "RuntimeFailedConfig", "times": []}"#,
    ];
    let sweep = read_cache(&cache("", &entries, true)).unwrap();
    assert_eq!((sweep.device.as_deref(), &sweep.sizes[..]), (Some("NVIDIA T4"), &[64, 32][..]));
    assert_eq!((samples(&sweep, 0), sweep.bad.rows()), (&[2_000.0, 2_500.0][..], 0));
    assert_eq!(sweep.tried[1].outcome, Outcome::invalid(InvalidityKind::Runtime, "RuntimeFailedConfig"));
    for other in ["{}", "a,b\n1,2", "", "{\"tune_params_keys\": [\"a\"]}", "<?xml?>"] {
        assert!(read_cache(other).is_err(), "{other}");
    }
}

#[test]
fn a_cache_is_read_as_far_as_it_goes_wherever_it_was_cut_and_no_cut_number_counts() {
    let whole = cache("", &[r#"{"a": 1, "b": 2, "time": 0.0375}"#, r#"{"a": 2, "b": 2, "time": 0.0475}"#], false);
    let first = whole.find("\"1\":").unwrap();
    let last = whole.len() - 2;
    for end in first..last {
        let sweep = read_cache(&whole[..end]).unwrap();
        assert_eq!(samples(&sweep, 0), [37.5], "{}", &whole[..end]);
        let cut = sweep.bad.0.get("is cut off").map_or(0, |counts| counts.rows);
        assert_eq!((sweep.tried.len(), cut), (1, (end > first) as usize), "{}", &whole[..end]);
    }
    assert_eq!(read_cache(&whole[..last]).unwrap().tried.len(), 2);
    assert!(read_cache(&format!("{whole} more")).is_err());
}

#[test]
fn what_python_alone_writes_spoils_no_more_than_a_time_in_which_it_stands() {
    let entries = [
        r#"{"a": 1, "b": 2, "time": 1.0, "times": [1.0, 2.0], "nvml_power": NaN, "GFLOP/s": Infinity}"#,
        r#"{"a": 2, "b": 2, "time": 1.0, "times": [1.0, NaN]}"#,
        r#"{"a": 3, "b": 2, "time": 1.0, "times": [1.0, nothing]}"#,
        "7",
        r#"{"a": 1, "time": 1.0}"#,
        r#"{"a": 1, "b": 1, "time": "soon"}"#,
    ];
    let sweep = read("", &entries);
    assert_eq!((sweep.tried.len(), samples(&sweep, 0), sweep.bad.rows()), (1, &[2_000.0][..], 5));
    for reason in [
        "a time is no number",
        "cannot be parsed (`…`)",
        "is no object",
        "lacks a parameter",
        "`…` is neither a time nor a failure",
    ] {
        assert_eq!(sweep.bad.0[reason].rows, 1, "{:?}", sweep.bad);
    }
}

#[test]
fn times_are_one_or_many_numbers_in_a_known_unit_of_a_plausible_size() {
    let entry = |time: &str| format!(r#"{{"a": 1, "b": 2, {time}}}"#);
    for (time, expected) in [
        (r#""time": 0.5"#, vec![500.0]),
        (r#""time": "0.5""#, vec![500.0]),
        (r#""times": 0.5"#, vec![500.0]),
        (r#""time": 9, "times": []"#, vec![9_000.0]),
        (r#""time": 9, "times": null"#, vec![9_000.0]),
        (r#""times": [1, 2, 3], "GFLOP/s": 7"#, vec![2_000.0, 3_000.0]),
    ] {
        assert_eq!(samples(&read(r#""objective": "GFLOP/s","#, &[&entry(time)]), 0), expected, "{time}");
    }
    for (time, reason) in [
        (r#""time": 0.0"#, "a time is not above 0"),
        (r#""time": -1.0"#, "a time is not above 0"),
        (r#""times": [1, 2, 0.0, 2]"#, "a time is 0 beside others such as `…` us"),
        (r#""time": 3.2e15"#, "a time is `…` us, over thirty days"),
        (r#""GFLOP/s": 7"#, "has no time, and its objective `…` is none"),
        (r#""time": [true]"#, "a time is no number"),
    ] {
        let sweep = read(r#""objective": "GFLOP/s","#, &[&entry(time)]);
        assert!(sweep.tried.is_empty() && sweep.bad.0.contains_key(reason), "{time}: {:?}", sweep.bad);
    }
    assert_eq!(samples(&read(r#""metrics_units": {"time": "us"},"#, &[&entry(r#""time": 5"#)]), 0), [5.0]);
    let weeks = read_cache(&cache(r#""time_unit": "weeks","#, &[], false)).unwrap_err().to_string();
    assert!(weeks.contains("`weeks`, which is no unit"), "{weeks}");
    for (failed, kind) in [
        (r#""time": 1e20"#, InvalidityKind::Runtime),
        (r#""__error__": "CompilationFailedConfig""#, InvalidityKind::Compile),
        (r#""GFLOP/s": "InvalidConfig""#, InvalidityKind::Constraints),
    ] {
        let sweep = read(r#""objective": ["GFLOP/s"],"#, &[&entry(failed)]);
        assert!(matches!(&sweep.tried[0].outcome, Outcome::Invalid(i) if i.kind == kind), "{failed}");
    }
}

#[test]
fn sizes_are_numbers_in_every_way_and_none_where_one_is_not() {
    for (told, expected) in [
        ("64", vec![64]),
        ("[64, 32.0]", vec![64, 32]),
        ("\"(64, 32)\"", vec![64, 32]),
        ("\"100\"", vec![100]),
        ("[64, \"n\"]", vec![]),
        ("null", vec![]),
    ] {
        let value: Value = serde_json::from_str(told).unwrap();
        assert_eq!(sizes(&value), expected, "{told}");
    }
}

/// Imports entries of `gemm`'s default config, each with more behind it.
fn imported(device: &str, entries: &[(&str, &str)]) -> ImportedSweep {
    let kernel = Kernel::open("gemm").unwrap();
    let config = kernel.default_config();
    let names: Vec<&str> = kernel.parameters.iter().map(|p| p.name.as_str()).collect();
    let entry = |(group, more): &(&str, &str)| {
        let mut values: Map<String, Value> =
            kernel.parameters.iter().zip(&config.0).map(|(p, c)| (p.name.clone(), p.json(*c as usize))).collect();
        values.insert("GROUP".into(), (*group).into());
        let text = Value::Object(values).to_string();
        format!("\"{group}\": {}, {more}}}", text.trim_end_matches('}'))
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    let names = serde_json::to_string(&names).unwrap();
    let text = format!(r#"{{"tune_params_keys": {names}, "cache": {{{}}}}}"#, entries.join(","));
    let device = Device::find_described(device).unwrap();
    let mut import = SweepImport::new(&kernel, &device, String::new());
    import.add("a.json", read_cache(&text).unwrap(), "M=3,N=2,K=1").unwrap();
    import.finish()
}

#[test]
fn joules_are_those_of_the_best_meter_of_the_device_and_implausible_ones_are_told_and_left_out() {
    let one = |meters: &str| {
        let imported = imported("T4", &[("1", &format!("\"time\": 2.0, {meters}"))]);
        let record = imported.dataset.records[0].clone();
        (record.outcome.joules(), record.observed.unmetered.is_some())
    };
    assert_eq!(one(r#""nvml_energy": 0.25, "ps_energy": 0.5, "nvml_power": 70"#), (Some(0.5), false));
    assert_eq!(one(r#""amdsmi_energy": 0.25"#), (Some(0.25), false));
    assert_eq!(one(r#""my_energy": 0.75, "rapl_energy": 0.25"#), (Some(0.75), false));
    assert_eq!(one(r#""rapl_energy": 0.25, "energyless": 1"#), (None, false));
    for odd in ["NaN", "0.0", "-1.0", "null", "\"much\"", "1e9"] {
        assert_eq!(one(&format!("\"nvml_energy\": {odd}")), (None, true), "{odd}");
    }
}

#[test]
fn entries_that_are_there_twice_count_once_and_a_config_measured_again_has_all_samples() {
    let entries = [
        ("1", "\"time\": 2.0"),
        ("4", "\"time\": 3.0"),
        ("1", "\"time\": 2.0"),
        ("4", "\"time\": 5.0"),
        ("1", "\"time\": \"RuntimeFailedConfig\""),
    ];
    let imported = imported("T4", &entries);
    assert_eq!((imported.entries, imported.dataset.records.len()), (5, 2));
    assert_eq!((imported.twice.same, imported.twice.again), (1, 1));
    let Outcome::Measured(m) = &imported.dataset.records[1].outcome else { panic!("measured") };
    assert_eq!((&m.samples_us[..], imported.left_out.values().sum::<usize>()), (&[3_000.0, 5_000.0][..], 1));
}

#[test]
fn a_cache_that_was_written_is_read_again_with_every_sample_problem_failure_and_joule() {
    let kernel = Kernel::open("gemm").unwrap();
    let device = Device::find_described("H100").unwrap();
    let config: Arc<str> = kernel.show_config(&kernel.default_config()).into();
    let problem: Arc<str> = kernel.show_problem(&kernel.problem("M=3,N=2,K=1,transA=T").unwrap()).into();
    let record = |group: usize, outcome| Record {
        problem: problem.clone(),
        config: config.replace("GROUP=1", &format!("GROUP={group}")).into(),
        outcome,
        observed: Default::default(),
    };
    let times = Measurement {
        samples_us: vec![30.1, 10.7, 20.3],
        energy: Some(Energy { joules: 0.001, half_width: 0.0, idle_watts: 0.0 }),
    };
    let records = [
        record(1, Outcome::Measured(times)),
        record(4, Outcome::invalid(InvalidityKind::Timeout, "silent for 20.0 s")),
    ];
    let WrittenFile { text, entries } = write_cache(&kernel, &device, &records.iter().collect::<Vec<_>>()).unwrap();
    // Kernel Tuner goes on with a cache only where its last line is the brace of the whole
    assert!(text.ends_with("}}\n}") && entries == 2, "{text}");
    let sweep = read_cache(&text).unwrap();
    assert_eq!((sweep.device.as_deref(), &sweep.sizes[..]), (Some("H100"), &[3, 2, 1][..]));
    let problem = sweep.problem(&kernel).unwrap();
    let mut import = SweepImport::new(&kernel, &device, String::new());
    import.add("a.json", sweep, &problem).unwrap();
    assert_eq!(import.finish().dataset.records, records);
}
