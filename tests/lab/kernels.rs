//! Kernels that were left out: ranked by what other kernels taught.

use crate::common::run_laboratory;

#[test]
fn a_kernel_that_was_left_out_is_ranked_by_what_others_taught() {
    let sweeps = ["softmax", "norm", "reduction", "gemv"].map(|kernel| format!("datasets/{kernel}/h200.sqt"));
    let args = [&["kernels", "--json"][..], &sweeps.each_ref().map(|s| s.as_str())].concat();
    let (out, err, code) = run_laboratory(&args);
    assert_eq!(code, 0, "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let mean = |name: &str| rows.iter().map(|row| row[name][0].as_f64().unwrap()).sum::<f64>() / 4.0;
    let (random, others, alone, both) = (mean("random"), mean("others"), mean("alone"), mean("both"));
    assert!(others > random + 0.1, "others {others}, random {random}");
    assert!(both > alone, "both {both}, 20 measurements alone {alone}");
}

#[test]
fn two_kernels_are_too_few_to_leave_one_out() {
    let args = ["kernels", "datasets/softmax/h200.sqt", "datasets/norm/h200.sqt"];
    let (_, err, code) = run_laboratory(&args);
    assert!(code == 2 && err.lines().count() == 1 && err.contains("three kernels or more; these are of 2"), "{err}");
}
