//! `calibrate`: what a few problems of a device that a model never saw are worth.

use crate::common::{root, run};
use seqtune_predict::Meta;
use std::fs::{copy, create_dir, read};

const SWEEPS: [&str; 2] = ["datasets/gemm/cpu-epyc-2c.sqt", "datasets/gemm/cpu-skylake-2c.sqt"];

/// The shipped model of gemm, whole and distilled, in a folder of its own.
fn copied(folder: &std::path::Path) -> String {
    let model = folder.join("model");
    create_dir(&model).unwrap();
    for file in ["model.safetensors", "distilled.safetensors"] {
        copy(root().join("models/gemm-cpu").join(file), model.join(file)).unwrap();
    }
    model.display().to_string()
}

#[test]
fn problems_of_a_new_device_change_what_is_said_there_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let model = copied(folder.path());
    let new = folder.path().join("new.toml").display().to_string();
    let cpu = "is_cpu = 1\ncompute_units = 2\nmax_group_items = 4096\nlocal_memory = 1048576";
    let name = "pthread-skylake-avx512-Intel(R) Xeon(R) Processor";
    std::fs::write(&new, format!("[[device]]\nname = \"{name}\"\narchitecture = \"cpu\"\n[device.limits]\n{cpu}\n"))
        .unwrap();
    let ask = |device: &[&str], quality: &str| {
        let words = ["predict", &model, "gemm", "M=300,N=200,K=100", "--json", "--top", "3", "--quality", quality];
        let mut answer: serde_json::Value = serde_json::from_str(&run(&[&words, device].concat()).0).unwrap();
        // the file has changed, and so has its digest
        answer.as_object_mut().unwrap().remove("model").unwrap();
        answer.to_string()
    };
    let before =
        ["fast", "best"].map(|quality| (ask(&["--device", "epyc"], quality), ask(&["--device", &new], quality)));
    let (out, err, code) = run(&["calibrate", &model, SWEEPS[1]]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.lines().filter(|line| line.contains("of 62 problems; the model said")).count(), 2, "{out}");
    for ((seen, unseen), quality) in before.into_iter().zip(["fast", "best"]) {
        assert_eq!(ask(&["--device", "epyc"], quality), seen, "what it says of devices that it learned from");
        let now = ask(&["--device", &new], quality);
        let configs = |text: &str| -> Vec<String> {
            let answer: serde_json::Value = serde_json::from_str(text).unwrap();
            answer["predictions"].as_array().unwrap().iter().map(|p| p["config"].to_string()).collect()
        };
        assert_eq!(configs(&now), configs(&unseen), "the order stays");
        assert_ne!(now, unseen, "the probabilities do not");
    }
    // again: replaced, not learned twice
    assert_eq!(run(&["calibrate", &model, SWEEPS[1]]).2, 0);
    for file in ["model.safetensors", "distilled.safetensors"] {
        let trust = Meta::load(&folder.path().join("model").join(file)).unwrap().device_calibration;
        let measured: Vec<(&str, usize)> = trust.measured.iter().map(|m| (m.device.as_str(), m.problems)).collect();
        assert_eq!(measured, [(name, 62)]);
    }
}

#[test]
fn tuned_configs_of_a_models_own_devices_change_how_probable_its_configs_are_said_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    create_dir(path("model")).unwrap();
    let file = folder.path().join("model/distilled.safetensors");
    copy(root().join("models/miopen/ConvAsm1x1U/distilled.safetensors"), &file).unwrap();
    let ask = |channels: usize| {
        let problem = format!("N=16,C={channels},H=14,W=14,K={channels},R=1,S=1,direction=F,dtype=FP32");
        let words = ["predict", &path("model"), "ConvAsm1x1U", &problem, "--device", "MI50", "--json"];
        let answer = serde_json::from_str::<serde_json::Value>(&run(&words).0).unwrap();
        let first = &answer["predictions"][0];
        (first["config"].as_str().unwrap().to_string(), first["probability"].as_f64().unwrap())
    };
    // as if a tuner had chosen what the model does, in every problem
    let row = |channels: usize| {
        let (config, _) = ask(channels);
        let values: Vec<&str> = config.split(',').map(|part| part.split('=').nth(1).unwrap()).collect();
        let size = format!("{channels}-14-14");
        format!("{size}-1x1-{size}-16-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:{}\n", values.join(","))
    };
    std::fs::write(path("gfx906_60.db.txt"), (1..=24).map(|i| row(32 * i)).collect::<String>()).unwrap();
    let (_, err, code) = run(&["import", "miopen", &path("gfx906_60.db.txt"), "-o", &path("data")]);
    assert_eq!(code, 0, "{err}");
    let before = ask(64);
    let (out, err, code) = run(&["calibrate", &path("model"), &path("data/MI50-ConvAsm1x1U.sqt")]);
    assert!(code == 0 && out.contains("MI50: the first choice is right in 24 of 24 problems"), "{out}{err}");
    let after = ask(64);
    assert_eq!(before.0, after.0, "the order stays");
    assert!(after.1 > 1.5 * before.1, "{before:?} {after:?}");
    // again: learned anew, the same
    let seen = || Meta::load(&file).unwrap().device_calibration.seen.unwrap();
    let once = seen();
    assert_eq!(run(&["calibrate", &path("model"), &path("data/MI50-ConvAsm1x1U.sqt")]).2, 0);
    assert_eq!(once, seen());
}

#[test]
fn what_cannot_be_learned_from_is_refused_and_the_model_stays() {
    let folder = tempfile::tempdir().unwrap();
    let model = copied(folder.path());
    let file = folder.path().join("model/model.safetensors");
    let before = read(&file).unwrap();
    for (words, fault) in [
        (
            vec![model.as_str(), SWEEPS[0]],
            "was trained on pthread-skylake-avx512-AMD EPYC; give problems of a device that it never saw",
        ),
        (vec![model.as_str(), "nothing.sqt"], "no such file"),
        (vec!["nowhere", SWEEPS[1]], "no such file"),
        (vec!["models/miopen", SWEEPS[1]], "no model is for kernel gemm"),
        (vec![model.as_str(), SWEEPS[1], "--objective", "energy"], "not trained for energy"),
    ] {
        let (_, err, code) = run(&[&["calibrate"], &words[..]].concat());
        assert!(code == 2 && err.contains(fault) && err.lines().count() == 1, "{words:?}: {err}");
    }
    assert!(read(&file).unwrap() == before, "the file was written");
}
