//! What predictions are to be best in: time, energy, or energy within a share of the best time.

use crate::common::run;
use serde_json::Value;

const PROBLEM: &str = "M=2048,N=2048,K=2048,dtype=f16";

/// Answers of a model that learned energy.
fn answers(more: &[&str]) -> Vec<Value> {
    let words = ["predict", "models/gemm-h200", PROBLEM, "--device", "H200", "--json"];
    let (out, err, code) = run(&[&words[..], more].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str::<Value>(&out).unwrap()["predictions"].as_array().unwrap().clone()
}

fn number(answer: &Value, of: &str) -> f64 {
    answer[of].as_f64().unwrap_or_else(|| panic!("{of} of {answer}"))
}

#[test]
fn fewest_joules_within_a_share_of_the_time_are_few_and_within_it() {
    let front = answers(&["--pareto"]);
    let least = front.iter().map(|one| number(one, "predicted_us")).fold(f64::INFINITY, f64::min);
    let joules = |answers: &[Value]| number(&answers[0], "predicted_joules");
    let mut before = f64::INFINITY;
    for share in ["0%", "2%", "20%", "99%"] {
        let found = answers(&["--within-time", share, "--top", "8"]);
        let most = 1.0 + share.trim_end_matches('%').parse::<f64>().unwrap() / 100.0;
        for one in &found {
            assert!(number(one, "predicted_us") <= most * least * 1.000_001, "{share}: {one}");
            assert!(number(one, "predicted_joules") >= joules(&found), "the fewest joules come first");
        }
        assert!(joules(&found) <= before, "{share}: more time never needs more energy");
        before = joules(&found);
    }
}

#[test]
fn energy_is_refused_of_a_model_that_learned_none_and_with_what_it_does_not_go_with() {
    let of_time = ["predict", "models/gemm-cpu", "M=64,N=64,K=64", "--device", "epyc", "--within-time", "2%"];
    let (_, err, code) = run(&of_time);
    assert!(code == 2 && err.contains("not trained for energy") && err.lines().count() == 1, "{err}");
    let words = ["predict", "models/gemm-h200", PROBLEM, "--device", "H200", "--within-time", "2%"];
    for (more, fault) in [
        (&["--objective", "energy"][..], "cannot be used with"),
        (&["--pareto"], "cannot be used with"),
        (&["--within-time", "2"], ""),
    ] {
        let (_, err, code) = run(&[&words[..], more].concat());
        assert!(code == 2 && err.contains(fault), "{more:?}: {err}");
    }
}
