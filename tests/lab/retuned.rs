//! Problems that were tuned twice: imported with both results, and judged by them.

use crate::common::{run, run_laboratory, write};
use seqtune_data::Dataset;
use std::path::Path;

#[test]
fn a_problem_tuned_twice_keeps_its_first_result_as_miopen_does_and_tells_how_far_tuning_again_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let line = "direction=F,dtype=FP32,layout=NCHW,N=1,C=72,H=30,W=30,K=144,R=1,S=1\n";
    let line = write(folder.path(), "layer.txt", line.as_bytes());
    let write_out = [
        "export",
        "miopen",
        "models/miopen",
        &line,
        "--range",
        "N=1..6",
        "--range",
        "C,K=64..256+8",
        "--solver",
        "ConvAsm1x1U",
    ];
    let (_, err, code) = run(&[&write_out[..], &["--device", "MI50", "-o", &path("one.udb.txt")]].concat());
    assert_eq!(code, 0, "{err}");
    // tuned again, every third problem to what its neighbour has
    let text = std::fs::read_to_string(path("one.udb.txt")).unwrap();
    let rows: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let again = |i: usize| rows[if i.is_multiple_of(3) { (i + 1) % rows.len() } else { i }].1;
    let twice: String = rows
        .iter()
        .enumerate()
        .map(|(i, (key, entry))| match i % 2 {
            // in one line, and in two
            0 => format!("{key}={entry};{}\n", again(i)),
            _ => format!("{key}={entry}\n{key}={}\n", again(i)),
        })
        .collect();
    let database = write(folder.path(), "gfx906_60.db.txt", twice.as_bytes());
    let import = ["import", "miopen", &database, "-o", &path("tuned"), "--second-tuning", &path("again"), "--json"];
    let (out, err, code) = run(&import);
    assert_eq!(code, 0, "{err}");
    let counts: serde_json::Value = serde_json::from_str(&out).unwrap();
    let file = |of: &str| format!("{}/MI50-ConvAsm1x1U.sqt", path(of));
    let records = |of: &str| Dataset::load(Path::new(&file(of))).unwrap().records;
    let (first, again) = (records("tuned"), records("again"));
    let counted = ["hidden", "repeated", "replaced"].map(|what| counts[what].as_u64().unwrap() as usize);
    assert_eq!(
        (counted[0] + counted[1], counted[2]),
        (again.len(), 0),
        "what is tuned to the same config again counts too"
    );
    assert_eq!(first.len(), rows.len());
    let alike = again.iter().filter(|record| first.contains(record)).count();
    assert!(0 < alike && alike == counted[1] && alike < again.len(), "some were tuned to something else");
    let judge =
        ["tuned", "models/miopen", &file("tuned"), "--lightgbm=off", "--json", "--second-tuning", &file("again")];
    let (out, err, code) = run_laboratory(&judge);
    assert_eq!(code, 0, "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let retuned = &report[0]["retuned"];
    assert_eq!(retuned["problems"].as_u64().unwrap() as usize, again.len());
    assert!((retuned["agree"].as_f64().unwrap() - alike as f64 / again.len() as f64).abs() < 1e-12);
    // the first results are the model's own first choices
    assert_eq!((retuned["exact"].as_f64(), retuned["either"].as_f64()), (Some(1.0), Some(1.0)));
    let share = |name: &str| retuned[name].as_f64().unwrap();
    assert!(share("again") < 1.0 && share("agree_in_kept") >= share("agree") && share("probability_of_kept") <= 1.0);
    // datasets that know nothing of these problems
    let sweep = ["tuned", "models/gemm-cpu", "datasets/gemm/cpu-epyc-2c.sqt", "--second-tuning", &file("again")];
    let (_, err, code) = run_laboratory(&sweep);
    assert!(code == 2 && err.contains("are sweeps"), "{err}");
}
