//! Ways to tune at an equal budget of seconds, by replay of a sweep.

use crate::common::{run_laboratory as run, toy, toy_dataset, write, write_toy};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{NamedDataset, Table};
use seqtune_lab::tuners::lab::{CostModel, ReplayEnv};

/// A sweep of 14 sizes of the toy kernel, and the kernel's folder.
fn sweep(folder: &tempfile::TempDir) -> (String, String) {
    let path = folder.path().join("toy.sqt");
    toy_dataset(&toy(), (1..=14).map(|i| 37 * i)).save_packed(&path).unwrap();
    (path.display().to_string(), write_toy(&folder.path().join("toy")))
}

#[test]
fn orders_without_end_or_of_a_pipe_that_nobody_writes_are_refused_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, kernel) = sweep(&folder);
    let at = |name: &str| folder.path().join(name).display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    std::fs::File::create(folder.path().join("large")).unwrap().set_len(4 << 30).unwrap();
    for (orders, said) in [
        (at("pipe"), "nobody writes to it"),
        (at("large"), "has 4.3 GB"),
        ("/dev/zero".into(), "is a device"),
        (at("gone"), "no such file"),
    ] {
        let (out, err, code) = {
            let words =
                ["tuners", &dataset, "--kernel", &kernel, "--seeds", "1", "--seconds", "1", "--orders", &orders];
            run(&words)
        };
        assert!(code == 2 && err.lines().last().unwrap().contains(said), "{orders}: {code} {out}{err}");
    }
}

#[test]
fn a_laboratory_takes_its_price_once_and_measures_nothing_that_it_cannot_pay() {
    let kernel = toy();
    let dataset = toy_dataset(&kernel, [64, 128].into_iter());
    let table = Table::new(&kernel, &[NamedDataset::new("toy", dataset)]).unwrap();
    let (first, device) = (&table.problems[0], &table.devices[0]);
    let prices = CostModel { compile: 1.0, each: 0.25 };
    let rng = ChaCha8Rng::seed_from_u64(1);
    let mut lab = ReplayEnv::new(&kernel, device, [vec![first], vec![&table.problems[1]]], rng, 4.0, prices);
    let configs = lab.candidates(first);
    let us = lab.measure(first, &configs[0]).unwrap();
    let left = lab.left;
    assert!(left < 4.0 - 1.25 && left > 4.0 - 1.25 - 1e-4 * us.max(1.0), "{left}");
    assert_eq!(lab.measure(first, &configs[0]), Some(us), "a second time");
    assert_eq!(lab.left, left, "is free");
    // the program serves another size, so that only the measurement is paid
    let second = lab.unseen[0];
    if lab.candidates(second).contains(&configs[0]) {
        lab.measure(second, &configs[0]).unwrap();
        assert!(lab.left > left - 0.5, "{}", lab.left);
    }
    lab.left = 1.0;
    assert_eq!(lab.measure(first, &configs[1]), None);
    assert_eq!(lab.left, 0.0, "who cannot pay is done");
}

#[test]
fn with_much_time_a_search_finds_the_best_and_a_budget_buys_the_same_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kernel) = sweep(&folder);
    let games = |seconds: &str| -> serde_json::Value {
        let args = ["tuners", &path, "--kernel", &kernel, "--seconds", seconds, "--seeds", "1", "--json"];
        let (out, err, code) = run(&args);
        assert_eq!(code, 0, "{out}{err}");
        serde_json::from_str(&out).unwrap()
    };
    let share = |games: &serde_json::Value, rival: &str| -> f64 {
        let played = games["played"].as_array().unwrap();
        let own: Vec<f64> = played
            .iter()
            .filter(|p| p["rival"].as_str().unwrap().contains(rival))
            .map(|p| p["first"].as_f64().unwrap())
            .collect();
        assert!(!own.is_empty(), "{rival} does not play: {games}");
        own.iter().sum::<f64>() / own.len() as f64
    };
    let (rich, poor) = (games("2000"), games("1"));
    for rival in ["random search", "local search"] {
        assert_eq!(share(&rich, rival), 1.0, "{rival}");
        assert!(share(&poor, rival) < 1.0, "{rival}");
    }
    for rival in ["ISAAC", "nearest", "ATLAS", "SOCRATES"] {
        assert!(share(&rich, rival) > share(&poor, "random search"), "{rival} learns");
    }
    assert_eq!(games("20"), games("20"), "the same seeds play the same games");
}

#[test]
fn tuners_need_one_sweep_of_one_device_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kernel) = sweep(&folder);
    let refused = |args: &[&str], what: &str| {
        let (_, err, code) = run(&[&["tuners"], args].concat());
        assert!(code == 2 && err.contains(what) && err.lines().count() == 1, "{code} {err}");
    };
    refused(&[&path, "--kernel", &kernel, "--seconds", "0"], "--seconds");
    refused(&["models/gemm-cpu/model.safetensors"], "");
    let plot = folder.path().join("mine.svg");
    std::fs::write(&plot, "a picture of mine").unwrap();
    let plot = plot.display().to_string();
    refused(&[&path, "--kernel", &kernel, "--plot", &plot], "mine.svg");
}

#[test]
fn other_tuners_play_by_the_order_in_which_they_measure() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kernel) = sweep(&folder);
    let play = |more: &[&str]| {
        let args = ["tuners", &path, "--kernel", &kernel, "--seconds", "5", "--seeds", "1", "--json"];
        run(&[&args[..], more].concat())
    };
    let (out, err, code) = play(&[]);
    assert_eq!(code, 0, "{err}");
    let games: serde_json::Value = serde_json::from_str(&out).unwrap();
    let random = games["played"].as_array().unwrap().iter().find(|p| p["rival"].as_str().unwrap().contains("random"));
    let choices = random.unwrap()["choices"].as_array().unwrap().clone();
    // one that measures alone what a random search came to, and knows nothing of the last problem
    let line = |choice: &serde_json::Value| {
        let line = serde_json::json!({"name": "another", "seed": 1, "problem": choice["problem"], "configs": [choice["config"]]});
        line.to_string()
    };
    let known: Vec<String> = choices[..choices.len() - 1].iter().map(line).collect();
    let orders = write(folder.path(), "orders.jsonl", known.join("\n").as_bytes());
    let (out, err, code) = play(&["--orders", &orders]);
    assert_eq!(code, 0, "{err}");
    let games: serde_json::Value = serde_json::from_str(&out).unwrap();
    let another = games["played"].as_array().unwrap().iter().find(|p| p["rival"] == "another").unwrap();
    let chosen = another["choices"].as_array().unwrap();
    assert_eq!(chosen[..chosen.len() - 1], choices[..choices.len() - 1]);
    let wrong = write(
        folder.path(),
        "wrong.jsonl",
        b"{\"name\": \"x\", \"seed\": 1, \"problem\": \"n=oh\", \"configs\": []}\n",
    );
    let (_, err, code) = play(&["--orders", &wrong]);
    assert!(code == 2 && err.contains("line 1") && err.contains("n"), "{code} {err}");
}
