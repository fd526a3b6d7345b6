//! Which device a model answers for, and what each door says of that.

use crate::common::{root, run, seqtune, text};
use seqtune_kernel::Device;
use seqtune_predict::{Meta, Model};
use serde_json::Value;
use std::path::Path;

const LAYER: &str = "direction=W,N=12,C=72,H=30,W=30,K=144,R=5,S=5,pad_h=2,pad_w=2,batch_loops=4";

/// Whether one of these devices is live here, with a word that the test skips.
fn is_live(names: &[&str]) -> bool {
    let (out, _, _) = run(&["devices", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let live = found["live"].as_array().unwrap().iter().any(|device| names.contains(&device["name"].as_str().unwrap()));
    if live {
        println!("skipped: a device of the model is live here; it takes a machine without {}", names.join(", "));
    }
    live
}

/// A copy of the toy's model that learned these devices.
fn toy_of(devices: Vec<Device>, folder: &Path) -> String {
    let model = Model::load(&root().join("src/predict/toy/model")).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    Model { meta: Meta { devices, ..model.meta.clone() }, ..model }.save(folder).unwrap();
    folder.display().to_string()
}

fn toy() -> String {
    root().join("src/predict/toy").display().to_string()
}

#[test]
fn a_model_of_several_devices_asked_about_none_is_refused_with_a_list_at_every_door() {
    if is_live(&["MI50", "RX 6800 XT", "RX Vega 56", "MI300X"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("layers.txt"), "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -F 4\n").unwrap();
    let solver = "ConvOclBwdWrW2";
    let doors: [Vec<String>; 4] = [
        ["predict", "models/miopen", solver, LAYER].map(String::from).into(),
        ["evaluate", "speed", "models/miopen", solver].map(String::from).into(),
        ["export", "header", "models/miopen", LAYER, "--kernel", solver, "-o", &path("table.h")]
            .map(String::from)
            .into(),
        ["export", "miopen", "models/miopen", &path("layers.txt"), "--solver", solver, "-o", &path("net.udb.txt")]
            .map(String::from)
            .into(),
    ];
    for door in doors {
        let (out, err, code) = run(&door.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((code, out.as_str()), (2, ""), "{door:?}: {err}");
        let list = "--device: the model learned 3 devices, and none of them is live here: name the device that is asked about, `MI50`, `RX 6800 XT` or `RX Vega 56`";
        assert!(err.contains(list) && err.lines().count() == 1, "{door:?}: {err}");
    }
    assert!(!Path::new(&path("table.h")).exists() && !Path::new(&path("net.udb.txt")).exists());
    // a name stands for the one that was learned, however it is written
    for name in ["MI50", "mi50", "gfx906_60", "Radeon Instinct MI50"] {
        let (out, err, code) = run(&["predict", "models/miopen", solver, LAYER, "--device", name]);
        assert!(
            code == 0 && !err.contains("never saw") && out.lines().next().unwrap().contains(" on MI50"),
            "{name}: {out}{err}"
        );
    }
}

#[test]
fn of_several_devices_the_live_one_is_taken_and_of_one_that() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _, _) = run(&["devices", "--json"]);
    let host: Device = serde_json::from_value(serde_json::from_str::<Value>(&out).unwrap()["host"].clone()).unwrap();
    let a100 = Device::find_described("A100").unwrap();
    let both = toy_of(vec![a100.clone(), host.clone()], &folder.path().join("both"));
    let ask = |model: &str| {
        let (out, err, code) = run(&["predict", model, &toy(), "M=1000", "--json"]);
        assert_eq!((code, err.as_str()), (0, ""));
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let found = ask(&both);
    assert_eq!((found["device"].as_str(), found["device_learned"].as_bool()), (Some(host.name.as_str()), Some(true)));
    assert_eq!(found["learned_on"], serde_json::json!(["A100", host.name]));
    let one = toy_of(vec![a100], &folder.path().join("one"));
    assert_eq!(ask(&one)["device"], "A100");
}

#[test]
fn no_driver_is_opened_where_a_device_is_named_or_only_one_was_learned() {
    let folder = tempfile::tempdir().unwrap();
    let one = toy_of(vec![Device::find_described("A100").unwrap()], &folder.path().join("one"));
    for more in [&[][..], &["--device", "H200"]] {
        let mut command = seqtune(&[&["predict", &one, &toy(), "M=1000"], more].concat());
        // the loader of libraries says what it opens
        let (_, said, code) = text(command.env("LD_DEBUG", "files").output().unwrap());
        assert_eq!(code, 0);
        for library in ["libcuda", "libamdhip64", "libOpenCL"] {
            assert!(!said.contains(library), "{library} is opened");
        }
    }
}

#[test]
fn an_answer_for_a_device_never_seen_says_so_and_has_no_times() {
    let words = ["predict", "models/gemm-h200", "gemm", "M=4096,N=4096,K=4096", "--top", "3"];
    let (out, err, code) = run(&words);
    assert!(code == 0 && !err.contains("never saw"), "{err}");
    assert!(out.lines().next().unwrap().contains(" on H200") && out.matches(" us ").count() == 3, "{out}");
    let (out, err, code) = run(&[&words[..], &["--device", "t4"]].concat());
    assert_eq!(code, 0);
    assert!(out.lines().next().unwrap().contains(" on T4, which the model never saw"), "{out}");
    assert!(!out.contains(" us ") && !out.contains(" mJ "), "{out}");
    assert!(
        err.contains("warning: the model never saw T4 (learned on H200 only): ") && err.contains("what that costs"),
        "{err}"
    );
    for device in ["T4", "RTX4090", "MI300X"] {
        let (out, _, _) = run(&[&words[..], &["--json", "--device", device]].concat());
        let found: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["device_learned"], false);
        assert_eq!(found["learned_on"], serde_json::json!(["H200"]));
        assert!(found["note"].as_str().unwrap().starts_with("the model never saw "), "{found}");
        for one in found["predictions"].as_array().unwrap() {
            assert!(one["predicted_us"].is_null() && one["predicted_joules"].is_null(), "{one}");
            assert_eq!(one["time_basis"], "absent");
        }
    }
    let (out, _, _) = run(&[&words[..], &["--json", "--device", "nvidia h200"]].concat());
    let found: Value = serde_json::from_str(&out).unwrap();
    assert!(found["note"].is_null() && found["device_learned"] == true);
    for one in found["predictions"].as_array().unwrap() {
        let us = one["predicted_us"].as_f64().unwrap();
        assert!(us >= 2.0 * 4096f64.powi(3) / 66_900e3 && one["time_basis"] == "learned", "{one}");
    }
}

#[test]
fn the_front_of_time_and_energy_stays_where_neither_is_told() {
    let words = ["predict", "models/gemm-h200", "gemm", "M=1024,N=512,K=256", "--pareto", "--json"];
    let front = |device: &str| -> Value {
        let (out, err, code) = run(&[&words[..], &["--device", device]].concat());
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    };
    assert!(!front("H200")["predictions"].as_array().unwrap().is_empty());
    let other = front("T4");
    let list = other["predictions"].as_array().unwrap();
    assert!(!list.is_empty() && list.iter().all(|one| one["predicted_us"].is_null()), "{other}");
}

#[test]
fn a_device_is_named_as_people_write_it_and_a_doubtful_name_is_refused() {
    for name in ["RTX4090", "rtx 4090", "NVIDIA GeForce RTX 4090"] {
        let (out, err, code) = run(&["space", "gemm", "M=64,N=64,K=64", "--device", name]);
        assert!(code == 0 && !out.is_empty(), "{name}: {err}");
    }
    for (name, meant) in [("4090", "RTX 4090"), ("rx vega", "RX Vega 56 or RX Vega 64"), ("MI250", "MI250X")] {
        let (_, err, code) = run(&["space", "gemm", "M=64,N=64,K=64", "--device", name]);
        assert!(code == 2 && err.contains(&format!("no device `{name}`: did you mean {meant}?")), "{err}");
    }
}

#[test]
fn the_form_that_answers_is_said_where_it_costs_something() {
    let folder = tempfile::tempdir().unwrap();
    // level with the whole model, and beside it: nothing to say
    let (_, err, _) = run(&["predict", "models/gemm-cpu", "gemm", "M=300,N=200,K=100", "--device", "epyc"]);
    assert!(!err.contains("decoder"), "{err}");
    let model = Model::load(&root().join("models/gemm-cpu/distilled.safetensors")).unwrap();
    let mut meta = model.meta.clone();
    if let Some(level) = &mut meta.distilled {
        (level.behind, level.error) = (0.031, 0.004);
    }
    Model { meta, ..model }.save(folder.path()).unwrap();
    let model = folder.path().display().to_string();
    let words = ["predict", &model, "gemm", "M=300,N=200,K=100", "--device", "epyc"];
    let (_, err, _) = run(&words);
    let said = "the small decoder answers, the only form of the model that is here; the speed of its first choices is 3.1 ± 0.4 % of the best speed lower on 56 problems";
    assert_eq!(err.matches(said).count(), 1, "{err}");
    assert_eq!(run(&[&words[..], &["--json"]].concat()).1, "");
}
