//! What a page is answered, held against the engine and against trying everything.

use seqtune_kernel::{Config, ConfigSpace, Count};
use seqtune_predict::{Device, Kernel, Model, Predictor, Query};
use seqtune_web::session::Session;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn ask(session: &mut Session, question: Value) -> Value {
    session.ask(question.to_string().as_bytes())
}

fn shipped_model() -> Vec<u8> {
    std::fs::read(root().join("models/gemm-cpu/distilled.safetensors")).unwrap()
}

/// A session with the toy kernel, and its problem of 8 elements.
fn toy() -> (Session, Value) {
    let mut session = Session::default();
    let text = std::fs::read_to_string(root().join("src/predict/toy/kernel.toml")).unwrap();
    let opened = ask(&mut session, json!({ "ask": "open", "files": { "kernel.toml": text } }));
    assert_eq!(opened, json!({ "kernel": "toy" }));
    (session, json!({ "kernel": "toy", "problem": { "M": "8" }, "device": "H200" }))
}

/// A question about a subject.
fn about(subject: &Value, ask: Value) -> Value {
    let mut question = subject.clone();
    question.as_object_mut().unwrap().extend(ask.as_object().unwrap().clone());
    question
}

#[test]
fn a_page_is_answered_what_the_engine_predicts() {
    let mut session = Session::default();
    let bytes = shipped_model();
    let model = Model::from_bytes(&bytes).unwrap();
    let told = session.take_model(&bytes);
    assert_eq!(told["kernels"], json!(["gemm"]));
    let kernel = Kernel::open("gemm").unwrap();
    let predictor = Predictor::new(&kernel, &model).unwrap();
    for device in [model.meta.devices[0].clone(), Device::find_described("H200").unwrap()] {
        let problem = kernel.problem("M=300,N=200,K=100").unwrap();
        let predicted = predictor.predict_one(&problem, &Query { top: 4, ..Query::new(&device) }).unwrap();
        let expected = &predicted.candidates;
        let subject = json!({
            "kernel": "gemm", "problem": { "M": "300", "N": " 200 ", "K": "100", "alpha": "" }, "device": device.name,
        });
        let found = ask(&mut session, about(&subject, json!({ "ask": "predict", "top": 4 })));
        assert_eq!(found["problem"], kernel.show_problem(&problem));
        let list = found["predictions"].as_array().unwrap();
        assert_eq!(list.len(), 4);
        for (found, expected) in list.iter().zip(expected) {
            assert_eq!(found["config"], kernel.show_config(&expected.config));
            assert_eq!(found["probability"].as_f64(), expected.probability);
            assert_eq!(found["predicted_us"].as_f64(), expected.time_us);
        }
        assert_eq!(found["unsure"], predicted.unsure);
        let grounds = predictor.grounds(&device);
        assert_eq!(found["device_learned"], grounds.is_learned);
        assert_eq!(found["note"], json!(grounds.note()));
        assert_eq!(found["device"], device.name.as_str());
        let basis = if grounds.is_learned { "learned" } else { "absent" };
        assert!(found["predictions"].as_array().unwrap().iter().all(|p| p["time_basis"] == basis), "{found}");
        let space = ask(&mut session, about(&subject, json!({ "ask": "space" })));
        let Count::Exactly(legal) = ConfigSpace::new(&kernel, &problem, &device).counter().total() else { panic!() };
        assert_eq!((space["legal"].as_f64(), &space["exact"]), (Some(legal as f64), &json!(true)));
    }
}

#[test]
fn a_config_is_judged_and_its_open_values_are_those_that_trying_everything_finds() {
    let (mut session, subject) = toy();
    let kernel = Kernel::open(&root().join("src/predict/toy").display().to_string()).unwrap();
    let space = ConfigSpace::new(&kernel, &kernel.problem("M=8").unwrap(), &Device::find_described("H200").unwrap());
    let [tiles, widths] = [0, 1].map(|at| kernel.parameters[at].values.clone());
    let is_legal = |tile: usize, width: usize| space.is_legal(&Config(vec![tile as u16, width as u16]));
    for (i, tile) in tiles.iter().enumerate() {
        for (k, width) in widths.iter().enumerate() {
            let config = json!({ "ask": "config", "config": { "tile": tile, "width": width } });
            let found = ask(&mut session, about(&subject, config));
            assert_eq!(found["legal"], is_legal(i, k), "{found}");
            let first = space.broken(&Config(vec![i as u16, k as u16])).map(|constraint| constraint.reason.clone());
            let reasons: Vec<&str> =
                found["broken"].as_array().unwrap().iter().map(|b| b["reason"].as_str().unwrap()).collect();
            assert!(first.is_none_or(|first| reasons.contains(&first.as_str())), "{reasons:?}");
            let has_some = |tile: usize| (0..widths.len()).any(|width| is_legal(tile, width));
            let state = |now: bool, open: bool| {
                if now {
                    "now"
                } else if open {
                    "later"
                } else {
                    "closed"
                }
            };
            let of_tiles: Vec<&str> = (0..tiles.len()).map(|t| state(is_legal(t, k), has_some(t))).collect();
            let of_widths: Vec<&str> = (0..widths.len()).map(|w| state(is_legal(i, w), false)).collect();
            assert_eq!(found["states"], json!([of_tiles, of_widths]), "tile={tile},width={width}");
        }
    }
}

#[test]
fn every_shipped_kernel_begins_with_a_problem_that_has_configs() {
    let mut session = Session::default();
    let told = ask(&mut session, json!({ "ask": "about" }));
    let kernels = told["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), Kernel::all_shipped().len());
    for kernel in kernels {
        let name = &kernel["name"];
        let described = ask(&mut session, json!({ "ask": "kernel", "kernel": name }));
        let fields = described["fields"].as_array().unwrap();
        let problem: serde_json::Map<String, Value> =
            fields.iter().map(|f| (f["name"].as_str().unwrap().to_string(), f["begin"].clone())).collect();
        let space = ask(
            &mut session,
            json!({ "ask": "space", "kernel": name, "problem": problem, "device": told["devices"][0]["name"] }),
        );
        assert!(space["legal"].as_f64().is_some_and(|legal| legal > 0.0), "{name}: {space}");
    }
}

#[test]
fn wrong_input_is_answered_with_a_sentence_and_its_field() {
    let (mut session, _) = toy();
    let subject = json!({ "kernel": "toy", "problem": { "M": "8" }, "limits": { "local_memory": "much" } });
    let with = |what: &str, value: Value| {
        let mut subject = subject.clone();
        subject[what] = value;
        about(&subject, json!({ "ask": "space" }))
    };
    let cases = [
        (
            about(&subject, json!({ "ask": "space" })),
            "limit `local_memory`: `much` is not a number",
            json!("local_memory"),
        ),
        (with("limits", json!({ "nonsense": "1" })), "no device has a limit `nonsense`", json!("nonsense")),
        (with("device", json!("H2OO")), "no device `H2OO`", json!(null)),
        (with("kernel", json!("nonsense")), "no kernel `nonsense`", json!(null)),
        (with("problem", json!({ "M": "-1" })), "field `M`: `-1` is not a whole number from 1 to 4096", json!("M")),
        (with("problem", json!({})), "field `M`: `` is not a whole number", json!("M")),
        (with("problem", json!({ "M": "1", "Q": "1" })), "kernel toy has no field `Q`", json!(null)),
        (json!({ "ask": "nonsense" }), "the question: unknown variant", json!(null)),
        (json!({ "ask": "open", "files": {} }), "kernel.toml: ", json!(null)),
    ];
    for (question, sentence, field) in cases {
        let found = ask(&mut session, question);
        assert!(found["error"].as_str().is_some_and(|said| said.starts_with(sentence)), "{sentence}: {found}");
        assert_eq!(found["field"], field, "{found}");
    }
    let unknown = ask(&mut session, about(&with("limits", json!({})), json!({ "ask": "predict", "top": 1 })));
    assert_eq!(unknown["unknown"], "no model is loaded");
}

#[test]
fn what_the_model_cannot_answer_is_said_and_the_space_is_still_shown() {
    let (mut session, toy) = toy();
    session.take_model(&shipped_model());
    let gemm =
        json!({ "kernel": "gemm", "problem": { "M": "8", "N": "8", "K": "8" }, "limits": { "max_group_items": "0" } });
    for (subject, why, legal) in
        [(toy, "the model knows gemm, not toy", 12.0), (gemm, "kernel gemm has no legal config", 0.0)]
    {
        let found = ask(&mut session, about(&subject, json!({ "ask": "predict", "top": 1 })));
        assert!(found["unknown"].as_str().is_some_and(|said| said.starts_with(why)), "{found}");
        assert_eq!(ask(&mut session, about(&subject, json!({ "ask": "space" })))["legal"], legal);
    }
}

#[test]
fn a_damaged_model_is_refused_and_leaves_the_one_before() {
    let mut session = Session::default();
    let mut bytes = shipped_model();
    let told = session.take_model(&bytes);
    assert_eq!(told["error"], Value::Null);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    assert!(session.take_model(&bytes)["error"].is_string());
    assert_eq!(ask(&mut session, json!({ "ask": "about" }))["model"], told);
}

#[test]
fn no_script_of_the_page_declares_a_name_twice() {
    for script in ["page.js", "worker.js", "seqtune.js"] {
        let text = std::fs::read_to_string(root().join("docs/try").join(script)).unwrap();
        // what is declared at a line's beginning is of the whole module; a script with a name twice does not start
        let declared = text.lines().flat_map(|line| {
            let words = ["export ", "async "].iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
            let list =
                ["const ", "let ", "var ", "function ", "class "].iter().find_map(|word| words.strip_prefix(word));
            let names = list.map_or("", |list| list.split(['=', '(']).next().unwrap_or_default());
            names.split([',', ';']).map(str::trim).filter(|name| !name.is_empty()).collect::<Vec<_>>()
        });
        let mut seen = std::collections::BTreeSet::new();
        for name in declared {
            assert!(seen.insert(name), "{script} declares `{name}` twice");
        }
        assert!(!seen.is_empty(), "{script}");
    }
}
