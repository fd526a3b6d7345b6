//! Models of what tuners chose: trained on imported databases, judged, exported, stopped and continued.

use crate::common::{run, run_laboratory, write};
use seqtune_data::{Dataset, KernelTable, NamedDataset, Outcome, Table, Tuned};
use seqtune_kernel::Kernel;
use seqtune_predict::{Hparams, Model, Settings};
use seqtune_train::{Existing, Progress, train};
use std::path::Path;

/// Imports a few dozen problems of three solvers, whose best config follows their size, into `folder/data`.
fn import_three_solvers(folder: &Path) {
    let mut rows = String::new();
    for (i, c) in [32, 64, 96, 128, 192, 256, 384, 512].iter().enumerate() {
        for (j, side) in [7, 14, 28, 56].iter().enumerate() {
            let per_wave = [2, 4, 8][(i + j) % 3];
            let key = format!("{c}-{side}-{side}-1x1-{c}-{side}-{side}-16-0x0-1x1-1x1-0-NCHW-FP32-F");
            rows += &format!(
                "{key}=ConvAsm1x1U:1,16,{per_wave},16,1,1,2,2;ConvMlirIgemmFwd:128,64,64,{},4,4\n",
                [4, 8][j % 2]
            );
            rows += &format!(
                "{c}-{side}-{side}-5x5-{c}-{side}-{side}-16-2x2-1x1-1x1-0-NCHW-FP32-W=ConvOclBwdWrW2<2>:8,6,1,1,5\n"
            );
        }
    }
    let database = write(folder, "gfx906_60.db.txt", rows.as_bytes());
    let (_, err, code) = run(&["import", "miopen", &database, "-o", &folder.join("data").display().to_string()]);
    assert_eq!(code, 0, "{err}");
}

/// Says why the trees are not judged here, and returns whether LightGBM is there.
fn lightgbm_or_skip() -> bool {
    let there = Path::new(".lightgbm").exists() || std::env::var_os("SEQTUNE_LIGHTGBM").is_some();
    if !there {
        println!("skipped: LightGBM is not here; `scripts/setup.sh lightgbm` fetches it");
    }
    there
}

/// Distils the models of a folder, and judges the small decoders beside them.
fn distilled_beside_the_whole(model: &str, data: &str, small: &str) {
    let (out, err, code) = run(&["distil", model, data, "-o", small, "--synthetic", "40", "--steps", "30"]);
    assert!(code == 0 && out.contains("validation problems"), "{out} {err}");
    // what is there is kept
    let (_, err, code) = run(&["distil", model, data, "-o", small, "--synthetic", "40", "--steps", "30"]);
    assert!(code == 0 && err.contains("is there already"), "{err}");
    let (out, err, code) =
        run(&["evaluate", "model", small, data, "--lightgbm=off", "--baseline-model", model, "--json"]);
    assert_eq!(code, 0, "{err}");
    let reports: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    assert_eq!(reports.len(), 3);
    for report in reports {
        let (rows, margins) = (&report["rows"], &report["margins_beside"]);
        for at in 0..3 {
            let less = rows[0]["exact"][at].as_f64().unwrap() - rows[1]["exact"][at].as_f64().unwrap();
            assert!((less - margins[at][0].as_f64().unwrap()).abs() < 1e-9, "{report}");
        }
        assert!(rows[1]["method"] == "the model beside" && rows[0]["illegal"] == 0.0, "{report}");
    }
    let (out, _, _) = run(&["evaluate", "model", small, data, "--lightgbm=off", "--baseline-model", model]);
    assert!(out.contains("seqtune less the model beside: top-1"), "{out}");
}

#[test]
fn models_of_several_solvers_are_trained_judged_exported_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    import_three_solvers(folder.path());
    // the first twice, as networks have it
    let commands = "MIOpenDriver conv -n 16 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1\nMIOpenDriver conv -n 16 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1\nMIOpenDriver conv -n 16 -c 64 -H 28 -W 28 -k 64 -y 5 -x 5 -p 2 -q 2 -F 4\n";
    write(folder.path(), "net.txt", commands.as_bytes());
    for (name, sharing) in [("all", vec!["--together"]), ("each", vec![])] {
        let mut train = vec!["train", "--epochs", "2", "--members", "2", "--width", "16", "--test", "0.3"];
        let (data, model) = (at("data"), at(name));
        train.extend([&data, "-o", &model]);
        train.extend(sharing);
        let (_, err, code) = run(&train);
        assert_eq!(code, 0, "{err}");
        let (out, err, code) = run(&["evaluate", "model", &model, &data, "--lightgbm=off"]);
        assert_eq!(code, 0, "{err}");
        for solver in ["ConvAsm1x1U", "ConvMlirIgemmFwd", "ConvOclBwdWrW2"] {
            assert!(out.contains(&format!("| {solver} |")), "{out}");
        }
        if name == "each" {
            distilled_beside_the_whole(&model, &data, &at("small"));
        }
        if name == "each" && lightgbm_or_skip() {
            let (out, err, code) = run_laboratory(&["tuned", &model, &data, "--config-classifiers", "--json"]);
            assert_eq!(code, 0, "{err}");
            let reports: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
            let classifiers = ["LightGBM, whole configs", "extremely randomised trees, whole configs"];
            for (row, name) in
                reports.iter().flat_map(|r| &r["rows"].as_array().unwrap()[2..4]).zip(classifiers.iter().cycle())
            {
                assert!(
                    row["method"] == **name && row["illegal"] == 0.0 && row["exact"][2].as_f64() > Some(0.2),
                    "{row}"
                );
            }
            for row in reports.iter().flat_map(|r| &r["rows"].as_array().unwrap()[..2]) {
                let (first, ten) = (row["exact"][0].as_f64().unwrap(), row["exact"][2].as_f64().unwrap());
                assert!(row["illegal"] == 0.0 && (0.0..=1.0).contains(&first) && first <= ten, "{row}");
                assert!(row["nats"].as_f64().unwrap() > 0.0 && row["forced"].as_f64().unwrap() <= 1.0, "{row}");
            }
        }
        let problem = "direction=F,N=16,C=64,H=28,W=28,K=64,R=1,S=1";
        let (out, err, code) = run(&["predict", &model, "ConvAsm1x1U", problem]);
        assert!(
            code == 0 && out.contains('%') && !out.contains(" us "),
            "no time was learned, none is told: {out} {err}"
        );
        let (user, back) = (at(&format!("gfx906_60.{name}.udb.txt")), at(&format!("back-{name}")));
        let export = ["export", "miopen", &model, &at("net.txt"), "-o", &user];
        let (out, err, code) = run(&export);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("7 configs for 2 convolutions"), "two of the first, five variants of the second: {out}");
        let (_, err, code) = run(&export);
        assert!(code == 2 && err.contains("--overwrite"), "{err}");
        let (out, err, code) = run(&["import", "miopen", &user, "-o", &back, "--json"]);
        assert_eq!(code, 0, "{err}");
        let counts: serde_json::Value = serde_json::from_str(&out).unwrap();
        let found = (&counts["rows"], &counts["records"]);
        assert_eq!(found, (&7.into(), &7.into()), "all that is exported is legal: {counts}");
    }
    let folders = |name: &str| Model::folders(&folder.path().join(name)).unwrap().len();
    assert_eq!((folders("all"), folders("each")), (1, 3));
}

#[test]
fn training_apart_goes_on_where_it_was_stopped_and_replaces_models_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    import_three_solvers(folder.path());
    let (data, model) = (at("data"), at("model"));
    let train = |more: &[&str]| {
        let mut words = vec!["train", &data, "-o", &model, "--members", "1", "--width", "16", "--test", "0.3"];
        words.extend(more);
        run(&words)
    };
    let file = |name: &str| Model::file(&folder.path().join("model").join(name));
    let written = |name: &str| std::fs::metadata(file(name)).unwrap().modified().unwrap();
    let (_, err, code) = train(&["--epochs", "1"]);
    assert_eq!(code, 0, "{err}");
    // as an interruption leaves it
    std::fs::remove_file(file("ConvMlirIgemmFwd")).unwrap();
    let before = written("ConvAsm1x1U");
    let (_, err, code) = train(&["--epochs", "2"]);
    assert!(code == 2 && err.contains("other data or settings") && err.contains("--overwrite"), "{err}");
    let (_, err, code) = train(&["--epochs", "1"]);
    assert_eq!(code, 0, "{err}");
    assert!(file("ConvMlirIgemmFwd").exists());
    assert_eq!(written("ConvAsm1x1U"), before, "what is there is not trained again");
    let (_, err, code) = train(&["--epochs", "1", "--together"]);
    assert!(code == 2 && err.contains("already holds a model"), "{err}");
    let (_, err, code) = train(&["--epochs", "1", "--together", "--overwrite"]);
    assert_eq!(code, 0, "{err}");
    assert!(!file("ConvAsm1x1U").exists() && file("").exists(), "models that the new one replaces are gone");
    let (_, err, code) = run(&["predict", &model, "gemm", "M=64,N=64,K=64"]);
    assert!(code == 2 && err.contains("gemm"), "{err}");
    std::fs::write(file(""), "somebody's own").unwrap();
    let (_, err, code) = train(&["--epochs", "1", "--together", "--overwrite"]);
    assert!(code == 2 && err.contains("is there and no whole model"), "{err}");
    assert_eq!(std::fs::read_to_string(file("")).unwrap(), "somebody's own");
}

#[test]
fn a_new_model_of_one_kernel_leaves_the_models_of_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    import_three_solvers(folder.path());
    let quick = ["--epochs", "1", "--members", "1", "--width", "16", "--test", "0.3", "--overwrite"];
    let (_, err, code) = run(&[&["train", &at("data"), "-o", &at("model")][..], &quick].concat());
    assert_eq!(code, 0, "{err}");
    let one = at("data/MI50-ConvAsm1x1U.sqt");
    let (_, err, code) = run(&[&["train", &one, "-o", &at("model"), "--seed", "2"][..], &quick].concat());
    assert_eq!(code, 0, "{err}");
    let model = |kernel: &str| Model::load_for(&folder.path().join("model"), kernel).unwrap().meta;
    assert!(model("ConvAsm1x1U").settings.seed == 2, "the new one is used");
    assert!(model("ConvMlirIgemmFwd").settings.seed == 1, "the others are still there");
}

#[test]
fn interrupted_training_goes_on_where_no_time_is_known_and_without_validation_problems() {
    let folder = tempfile::tempdir().unwrap();
    import_three_solvers(folder.path());
    let kernel = Kernel::open("ConvAsm1x1U").unwrap();
    let dataset = Dataset::load(&folder.path().join("data/MI50-ConvAsm1x1U.sqt")).unwrap();
    let table = Table::new(&kernel, &[NamedDataset::new("here", dataset)]).unwrap();
    let mut settings = Settings {
        hparams: Hparams { width: 16, feed_forward: 32, ..Hparams::default() },
        members: 1,
        epochs: Some(3),
        checkpoint: 0,
        ..Settings::for_tuned()
    };
    settings.split.validation = 0.0;
    let corpus = [KernelTable { kernel, table }];
    let path = folder.path().join("model");
    let interrupted = std::panic::catch_unwind(|| {
        train(&corpus, &settings, &path, Existing::Keep, &mut |p| {
            assert!(!matches!(p, Progress::Epoch(e) if e.epoch == 2), "interrupted")
        })
    });
    assert!(interrupted.is_err() && path.join("checkpoint-0.safetensors").exists());
    let mut epochs = Vec::new();
    let model = train(&corpus, &settings, &path, Existing::Keep, &mut |p| {
        if let Progress::Epoch(e) = p {
            epochs.push(e.epoch);
        }
    })
    .unwrap();
    assert_eq!(epochs, [3], "two epochs were not repeated");
    assert!(model.meta.scores.values().all(|s| s.is_finite() && *s < 100.0), "{:?}", model.meta.scores);
}

#[test]
fn a_model_that_goes_on_with_a_few_problems_of_another_device_knows_what_it_was_worth_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    import_three_solvers(folder.path());
    let known = at("data/MI50-ConvAsm1x1U.sqt");
    let few = at("few/RX_Vega_56-ConvAsm1x1U.sqt");
    let rows = std::fs::read_to_string(at("gfx906_60.db.txt")).unwrap();
    let rows: Vec<&str> = rows.lines().filter(|line| line.contains("ConvAsm1x1U")).take(20).collect();
    let elsewhere = write(folder.path(), "gfx900_56.db.txt", rows.join("\n").as_bytes());
    let import = ["import", "miopen", &elsewhere, "--solver", "ConvAsm1x1U", "-o", &at("few")];
    assert_eq!(run(&import).2, 0);
    let (model, refined) = (at("model"), at("refined"));
    let (_, err, code) = run(&["train", &known, "-o", &model, "--epochs", "2", "--members", "1", "--width", "16"]);
    assert_eq!(code, 0, "{err}");
    let (_, err, code) = run(&["train", &known, &few, "--fine-tune", &model, "-o", &refined, "--epochs", "1"]);
    assert_eq!(code, 0, "{err}");
    let meta = Model::load(Path::new(&refined)).unwrap().meta;
    assert_eq!(meta.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["MI50", "RX Vega 56"]);
    let [measured] = &meta.device_calibration.measured[..] else { panic!("{:?}", meta.device_calibration) };
    assert_eq!(measured.device, "RX Vega 56", "not as true as on the device of all the others");
    assert!((10..=20).contains(&measured.problems), "each once: {}", measured.problems);
    assert!(meta.device_calibration.seen.is_some());
}

#[test]
fn problems_with_a_single_legal_config_are_learned_one_by_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let toy = crate::common::write_toy(folder.path());
    let text = std::fs::read_to_string(folder.path().join("kernel.toml")).unwrap();
    let forced = "[[constraint]]\nexpr = \"M != 7 or (tile == 4 and local == 0 and width == 1)\"\nreason = \"only this\"\n[[feature]]";
    write(folder.path(), "kernel.toml", text.replacen("[[feature]]", forced, 1).as_bytes());
    let kernel = Kernel::open(&toy).unwrap();
    let mut dataset = crate::common::toy_dataset(&kernel, [7, 8, 9, 10, 11, 12, 13, 14, 15, 16].into_iter());
    let mut seen = std::collections::HashSet::new();
    dataset.records.retain(|record| seen.insert(record.problem.clone()));
    dataset.records.iter_mut().for_each(|record| record.outcome = Outcome::Tuned(Tuned { time_us: None }));
    let table = Table::new(&kernel, &[NamedDataset::new("toy", dataset)]).unwrap();
    let mut settings = Settings {
        hparams: Hparams { width: 16, feed_forward: 32, ..Hparams::default() },
        members: 1,
        epochs: Some(2),
        batch: Some(1),
        ..Settings::for_tuned()
    };
    (settings.split.validation, settings.split.test) = (0.0, 0.0);
    let model =
        train(&[KernelTable { kernel, table }], &settings, &folder.path().join("model"), Existing::Keep, &mut |_| ())
            .unwrap();
    assert!(model.meta.scores.values().all(|s| s.is_finite()), "{:?}", model.meta.scores);
}
