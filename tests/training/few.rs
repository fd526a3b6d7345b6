//! Few sizes: left out in turn, judged on what was not learned, and folds of twelve.

use crate::common::{run, toy, toy_dataset, write_toy};
use crate::support::small_settings;
use seqtune_data::{MeasuredProblem, NamedDataset, Table};
use seqtune_predict::Objective;
use seqtune_train::cross_validation::{CrossValidationOptions, HeldOut, cross_validate};
use seqtune_train::few::{leave_out, parts, place};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Sizes of different shapes.
fn sizes(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|at| 16 + 37 * at)
}

fn table(count: u64) -> Table {
    let kernel = toy();
    let dataset = toy_dataset(&kernel, sizes(count));
    Table::new(&kernel, &[NamedDataset::new("toy.sqt", dataset)]).unwrap()
}

#[test]
fn parts_are_of_whole_shapes_as_equal_as_can_be_and_none_learns_what_it_is_asked() {
    let (kernel, table) = (toy(), table(12));
    let problems: Vec<&MeasuredProblem> = table.problems.iter().collect();
    let shapes =
        |of: &[&MeasuredProblem]| -> BTreeSet<String> { of.iter().map(|t| kernel.shape(&t.problem)).collect() };
    for folds in [2, 5, 12, 100] {
        let parts = parts(&kernel, &problems, 1, folds);
        assert_eq!(parts.len(), folds.min(12));
        let asked: Vec<usize> = parts.iter().map(|part| part.tests.len()).collect();
        assert_eq!(asked.iter().sum::<usize>(), 12, "each once");
        assert!(asked.iter().max().unwrap() - asked.iter().min().unwrap() <= 1, "{asked:?}");
        for part in &parts {
            let (learned, half, tests) = (shapes(&part.learned), shapes(&part.half), shapes(&part.tests));
            assert!(learned.is_disjoint(&tests) && half.is_subset(&learned));
            assert_eq!(half.len(), learned.len().div_ceil(2));
        }
    }
}

#[test]
fn each_of_a_few_sizes_is_left_out_and_what_was_trained_is_found_again() {
    let (kernel, table) = (toy(), table(6));
    let folder = tempfile::tempdir().unwrap();
    let settings = seqtune_predict::Settings {
        split: seqtune_predict::model::Split { test: 0.0, ..small_settings(1).split },
        ..small_settings(6)
    };
    let heard = Mutex::new(Vec::new());
    let tell = |done: usize, all: usize| heard.lock().unwrap().push((done, all));
    let first = leave_out(&kernel, &table, &settings, folder.path(), &tell).unwrap().unwrap();
    let figures = &first.figures;
    assert_eq!((figures.folds, figures.shapes, figures.shares.len(), figures.halved.len()), (6, 6, 6, 6));
    assert!(figures.shares.iter().all(|share| *share > 0.0 && *share <= 1.0), "{:?}", figures.shares);
    assert_eq!(heard.lock().unwrap().iter().max(), Some(&(12, 12)), "with all of the others, and with half");
    assert_eq!(first.epochs, Some(6));
    let models = || {
        let runs = std::fs::read_dir(place(folder.path())).unwrap().flatten().map(|e| e.path());
        let parts =
            runs.flat_map(|run| std::fs::read_dir(run).unwrap().flatten().map(|e| e.path()).collect::<Vec<_>>());
        let file = |part: std::path::PathBuf| part.join("model.safetensors");
        let mut times: Vec<_> =
            parts.map(file).map(|f| (f.clone(), f.metadata().unwrap().modified().unwrap())).collect();
        times.sort();
        times
    };
    let trained = models();
    assert_eq!(trained.len(), 12);
    let again = leave_out(&kernel, &table, &settings, folder.path(), &|_, _| ()).unwrap().unwrap();
    assert_eq!(again.figures, first.figures);
    assert_eq!(models(), trained, "none is trained again");
    let of_two = Table { problems: table.problems[..2].to_vec(), ..table.clone() };
    assert!(leave_out(&kernel, &of_two, &settings, folder.path(), &|_, _| ()).unwrap().is_none());
}

#[test]
fn folds_of_twelve_problems_are_judged_on_all_of_them() {
    let (kernel, table) = (toy(), table(12));
    let folder = tempfile::tempdir().unwrap();
    let settings = small_settings(3);
    for (folds, made) in [(4, "4 folds grouped by shape"), (40, "12 folds grouped by shape")] {
        let ask = CrossValidationOptions {
            held_out: HeldOut::Shapes(folds),
            objective: Objective::Time,
            library: None,
            settings: &settings,
            distil: None,
            models: folder.path(),
        };
        let report = cross_validate(&kernel, &table, &ask, &|_| ()).unwrap();
        assert_eq!((report.problems, &*report.folds), (12, made));
        assert!(report.rows.iter().all(|row| row.regret[0] >= 0.0 && row.regret[0] < 1.0));
    }
}

#[test]
fn training_on_a_few_sizes_tells_what_it_is_worth_on_sizes_left_out_and_nothing_of_those_learned() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let kernel = write_toy(&folder.path().join("toy"));
    toy_dataset(&toy(), sizes(12)).save_packed(&folder.path().join("toy.sqt")).unwrap();
    let quick = "--epochs 2 --members 2 --pseudo-labels 0 --width 16 --layers 1 --kernel";
    let train = |model: &str, more: &[&str]| {
        let quick: Vec<&str> = quick.split(' ').collect();
        run(&[&["train", &path("toy.sqt"), "-o", &path(model)][..], &quick, &[&kernel], more].concat())
    };
    let (out, err, code) = train("model", &[]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("1 kernel, 12 problems,"), "{err}");
    assert!(err.contains("too few sizes to choose weights by"), "{err}");
    assert!(out.contains("size left out in turn, one network each: the first choice reaches"), "{out}");
    assert!(out.contains("more sizes: with half as many,"), "{out}");
    assert!(!out.contains("learned:") && !out.contains("validation"), "{out}");
    assert!(!folder.path().join("model/left-out").exists(), "models of parts are gone");
    let (out, err, code) = train("quick", &["--no-cross-validation"]);
    assert!(code == 0 && !err.contains("left out in turn,"), "{err}");
    assert!(out.contains("on what was learned: ") && !out.contains("left out"), "{out}");
    let (out, _, code) = train("json", &["--json"]);
    let meta: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, meta["scores"]["left out in turn problems"].is_number()), (0, true));
    let shown = &meta["shown"][0];
    assert_eq!(shown["held_out"], "in turn", "{shown}");
    assert_eq!(shown["problems"].as_f64(), meta["scores"]["left out in turn problems"].as_f64());
    let (_, err, _) = run(&["predict", &path("json"), &kernel, "M=300"]);
    assert!(err.contains(" problems left out in turn, each asked of a model that learned from the others"), "{err}");

    let judge =
        |args: &[&str]| run(&[&["evaluate", "model"][..], args, &[&path("toy.sqt"), "--kernel", &kernel]].concat());
    let (out, err, code) = judge(&[&path("model")]);
    assert!(code == 0 || err.contains("evaluate folds --folds 12"), "{out}{err}");
}
