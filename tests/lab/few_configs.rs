//! `breakpoints` and `selection`: replays of a shipped sweep by a shipped model.

use crate::common::run_laboratory;
use serde_json::Value;

const SWEEP: [&str; 2] = ["models/softmax-cpu", "datasets/softmax/cpu-epyc-2c.sqt"];

fn report(verb: &str, more: &[&str]) -> Value {
    let (out, err, code) = run_laboratory(&[&[verb], &SWEEP[..], more, &["--json"]].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn rows_within_a_wider_bound_are_fewer_and_what_they_lose_is_stated() {
    let found = report("breakpoints", &["--over", "columns", "--problems", "3", "--sizes", "12", "--within", "1%,50%"]);
    let results = found["results"].as_array().unwrap();
    let rows = |kind: &str, bound: f64| {
        let own = results.iter().find(|result| result["method"][kind] == bound).unwrap();
        assert!(own["problems"] == 3 && own["exceeded"].as_f64().is_some(), "{own}");
        assert!(own["mean"].as_f64() <= own["worst"].as_f64(), "{own}");
        own["rows"].as_f64().unwrap()
    };
    for kind in ["Intervals", "Rows"] {
        assert!(rows(kind, 0.5) < rows(kind, 0.01), "{found}");
    }
    let powers = results.iter().find(|result| result["method"] == "PowersOfTwo").unwrap();
    assert!(powers["stated"].is_null() && powers["rows"].as_f64().unwrap() > 1.0, "{powers}");
}

#[test]
fn no_way_to_choose_a_set_beats_the_oracle_and_more_configs_never_cost_it() {
    let found = report("selection", &["--configs", "1,4", "--samples", "30"]);
    let results = found["results"].as_array().unwrap();
    let mean = |method: &str, configs: u64| {
        let own = results.iter().find(|result| result["method"] == method && result["configs"] == configs);
        own.unwrap_or_else(|| panic!("{method} with {configs}"))["mean"].as_f64().unwrap()
    };
    for method in ["Predicted", "PredictedTree", "Measured", "Winners", "Medoids"] {
        for configs in [1, 4] {
            assert!(mean(method, configs) >= mean("Oracle", configs) - 1e-12, "{method}, {configs}");
        }
    }
    assert!(mean("Oracle", 4) < mean("Oracle", 1));
}

#[test]
fn a_field_that_is_none_and_a_sweep_of_tuned_configs_are_refused() {
    for (verb, more, fault) in [
        ("breakpoints", &["--over", "depth"][..], "kernel softmax has no field depth"),
        ("breakpoints", &["--over", "dtype"], "`dtype` is no size of kernel softmax"),
        ("breakpoints", &["--over", "columns", "--within", "2"], "write it in percent"),
        ("selection", &["--configs", "0"], "0 is not in 1..=256"),
    ] {
        let (out, err, code) = run_laboratory(&[&[verb], &SWEEP[..], more].concat());
        assert!(code == 2 && err.contains(fault) && out.is_empty(), "{more:?}: {err}");
    }
}
