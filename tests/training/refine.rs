//! Learning from what is measured next: every config judged, guided sweeps, refined models, answers that are unsure.

use crate::common::{run, toy, toy_dataset, toy_sizes as sizes, toy_table as table};
use crate::support::small_settings;
use seqtune_data::{Dataset, Energy, KernelTable, NamedDataset, Outcome, Table, TriedConfig};
use seqtune_eval::baselines::method::Method;
use seqtune_eval::measures::regrets::RegretRow;
use seqtune_fit::imputed_energy::complete_joules;
use seqtune_kernel::Objective;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel};
use seqtune_predict::model::Split;
use seqtune_predict::{Acquisition, Model, Predictor, Query, Settings};
use seqtune_train::cross_validation::{CrossValidationOptions, HeldOut, cross_validate};
use seqtune_train::{Existing, refine, train};
use std::path::Path;

fn settings(epochs: usize) -> Settings {
    let split = Split { seed: 1, test: 0.25, validation: 0.25, from: 0.0 };
    Settings { members: 2, pseudo_labels: 0, split, ..small_settings(epochs) }
}

fn fit(kernel: &Kernel, folder: &Path) -> Model {
    train(&[KernelTable::new(kernel.clone(), table(kernel))], &settings(15), folder, Existing::Keep, &mut |_| {})
        .unwrap()
}

#[test]
fn a_survey_judges_every_legal_config_as_scoring_them_does_on_any_number_of_threads() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    // one network: several are averaged otherwise where configs are compared
    let one = Settings { members: 1, ..settings(15) };
    let model =
        train(&[KernelTable::new(kernel.clone(), table(&kernel))], &one, folder.path(), Existing::Keep, &mut |_| {})
            .unwrap();
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let device = Device::find_described("A100").unwrap();
    for size in [1, 3, 100, 4_096] {
        let problem = kernel.problem(&format!("M={size}")).unwrap();
        let mut legal = Vec::new();
        ConfigSpace::new(&kernel, &problem, &device)
            .for_each(&mut |c| {
                legal.push(Config(c.to_vec()));
                true
            })
            .unwrap();
        let scored = predictor.score(&problem, &device, Objective::Time, &legal).unwrap();
        let mut expected: Vec<(&Config, f64)> = legal.iter().zip(scored.iter().map(|s| s.rank)).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        for threads in [1, 2] {
            let exhaustive = predictor.exhaustive(&problem, &Query { top: 5, threads, ..Query::new(&device) }).unwrap();
            assert_eq!(exhaustive.considered, legal.len() as u64);
            assert_eq!(exhaustive.best.len(), legal.len().min(5));
            for (found, (config, _)) in exhaustive.best.iter().zip(&expected) {
                assert_eq!(&found.config, *config);
            }
        }
    }
}

#[test]
fn a_guided_plan_spends_its_budget_on_what_is_most_probably_the_best() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let model = fit(&kernel, folder.path());
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let device = Device::find_described("A100").unwrap();
    let problems: Vec<_> = [3, 17, 90, 333, 1_234].iter().map(|m| kernel.problem(&format!("M={m}")).unwrap()).collect();
    let plan =
        |fresh| predictor.acquire(&problems, &Query::new(&device), Acquisition { each: 4, fresh, seed: 1 }).unwrap();
    let sure = plan(0.0);
    assert_eq!(sure.iter().map(Vec::len).sum::<usize>(), 4 * problems.len());
    let mut taken = Vec::new();
    let mut left = Vec::new();
    for (problem, configs) in problems.iter().zip(&sure) {
        let found = predictor.predict_one(problem, &Query { top: 16, ..Query::new(&device) }).unwrap();
        let (chosen, rest) = found.candidates.split_at(configs.len());
        assert!(configs.iter().eq(chosen.iter().map(|c| &c.config)), "the most probable ones, best first");
        taken.extend(chosen.iter().skip(1).filter_map(|c| c.probability));
        left.extend(rest.iter().filter_map(|c| c.probability));
    }
    let least = taken.iter().copied().fold(f64::INFINITY, f64::min);
    // the plan weighs problems by how its own beam shares likelihood out, the answers state probabilities among all legal configs
    assert!(left.iter().all(|p| *p <= 2.0 * least), "nothing that is left is much more probable than what is taken");
    let explored = plan(0.5);
    let space = ConfigSpace::new(&kernel, &problems[2], &device);
    assert!(explored[2].iter().all(|c| space.is_legal(c)));
    assert_eq!(explored, plan(0.5), "the same arguments give the same plan");
}

#[test]
fn what_was_measured_since_is_learned_without_forgetting() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    // learned on small sizes, refined with large ones
    let of = |sizes: Vec<u64>| {
        Table::new(&kernel, &[NamedDataset::new("toy", toy_dataset(&kernel, sizes.into_iter()))]).unwrap()
    };
    let (small, all) = (of(sizes().filter(|m| *m < 64).collect()), of(sizes().collect()));
    let whole =
        |epochs| Settings { split: Split { seed: 1, test: 0.0, validation: 0.2, from: 0.0 }, ..settings(epochs) };
    let first = train(&[KernelTable::new(kernel.clone(), small)], &whole(25), &place("a"), Existing::Keep, &mut |_| {})
        .unwrap();
    let corpus = [KernelTable::new(kernel.clone(), all)];
    let second = refine(&first, &corpus, &whole(10), &place("b"), Existing::Keep, &mut |_| {}).unwrap();
    assert_eq!(second.meta.vocab, first.meta.vocab);
    assert_eq!(second.meta.parent, Some(first.training_digest()));
    let lost = |model: &Model, large: bool| {
        let predictor = Predictor::new(&kernel, model).unwrap();
        let (mut sum, mut count) = (0.0, 0.0);
        for tried in &corpus[0].table.problems {
            if (tried.problem.values[0] >= 256.0) == large {
                let costs = tried.costs(Objective::Time);
                let configs = tried.configs(Objective::Time);
                let device = &corpus[0].table.devices[0];
                let found = predictor
                    .predict_among(&tried.problem, &Query { width: 20, ..Query::new(device) }, &configs)
                    .unwrap()
                    .candidates;
                let cost = costs.iter().find(|known| *known.config == found[0].config).unwrap().cost;
                sum += 1.0 - costs[0].cost / cost;
                count += 1.0;
            }
        }
        sum / count
    };
    assert!(lost(&second, true) < 0.5 * lost(&first, true), "{} {}", lost(&second, true), lost(&first, true));
    assert!(lost(&second, false) < lost(&first, false) + 0.02);
}

#[test]
fn a_device_left_out_is_judged_by_what_the_others_taught() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let on = |name: &str| {
        let mut dataset = toy_dataset(&kernel, sizes());
        dataset.header.device = Device::find_described(name).unwrap();
        NamedDataset::new(name, dataset)
    };
    let settings = settings(15);
    let ask = CrossValidationOptions {
        held_out: HeldOut::Devices,
        objective: Objective::Time,
        library: None,
        settings: &settings,
        distil: None,
        models: folder.path(),
    };
    let one = Table::new(&kernel, &[on("A100")]).unwrap();
    let error = cross_validate(&kernel, &one, &ask, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("two devices or more"), "{error}");
    let table = Table::new(&kernel, &[on("A100"), on("H200")]).unwrap();
    let report = cross_validate(&kernel, &table, &ask, &|_| {}).unwrap();
    assert_eq!((report.problems, report.folds.as_str()), (table.problems.len(), "each device left out in turn"));
    let model = Model::load(&folder.path().join("without-A100")).unwrap();
    assert_eq!(model.meta.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["H200"]);
    assert_eq!(model.meta.data, table.hashes[1..], "what was measured on the other only");
    // each device has a column of its own
    let left_out: Vec<(&str, usize)> = report.left_out.iter().map(|l| (l.device.as_str(), l.problems)).collect();
    assert_eq!(left_out, [("A100", report.problems / 2), ("H200", report.problems / 2)]);
    let predict = |rows: &[RegretRow]| rows.iter().find(|r| r.method == Method::Predict).unwrap().regret[0];
    let mean = report.left_out.iter().map(|l| predict(&l.rows)).sum::<f64>() / 2.0;
    assert!((mean - predict(&report.rows)).abs() < 1e-12, "{}", report.table());
    assert!(report.table().contains("| method | A100, "), "{}", report.table());
    // it never saw the device that it is asked for, and says so
    assert_eq!(report.sureness.unwrap().unsure, 1.0);
}

/// Runs the program with a device that takes its time.
fn slow_fake(args: &[&str]) -> (String, String, i32) {
    crate::common::text(crate::common::seqtune(args).env("SEQTUNE_FAKE", "slow=1").output().unwrap())
}

/// Another device is not answered by measurements; of what is unsure the nearest measured config is told.
fn assert_predicted_with_doubt(model: &str, toy: &str, sweep: &str) {
    let (_, err, code) = run(&["predict", model, toy, "M=700", "--device", "H200", "--fallback", sweep]);
    assert!(code == 2 && err.contains("measured on fake, and H200 is asked about"), "{err}");
    let (out, err, code) = slow_fake(&["predict", model, toy, "M=700", "--device", "fake", "--fallback", sweep]);
    assert!(code == 0 && out.contains("unsure: measure the first few") && out.contains("nearest  "), "{out}{err}");
    let (out, _, code) = run(&["predict", model, toy, "M=700", "--device", "H200", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && answer["unsure"] == true && answer["predictions"][0]["predicted_joules"].is_null(), "{out}");
    let (_, err, code) = run(&["predict", model, toy, "M=700", "--pareto"]);
    assert!(code == 2 && err.contains("its data had no energy"), "{err}");
}

#[test]
fn a_sweep_is_guided_and_its_problems_are_validated_learned_and_predicted_with_doubt() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let toy = crate::common::write_toy(&folder.path().join("toy"));
    fit(&kernel, &folder.path().join("model"));
    let (model, sweep, learned, refined) = (path("model"), path("sweep.jsonl"), path("learned.jsonl"), path("refined"));
    let guided =
        ["sweep", &toy, "--problems", "M=50", "M=700", "--device", "fake", "--guided", &model, "--sample", "4"];
    let (out, err, code) = slow_fake(&[&guided[..], &["-o", &sweep]].concat());
    assert!(code == 0 && out.contains("measured now"), "{out}{err}");
    assert!(err.contains("never saw"), "{err}");
    let swept = Dataset::load(Path::new(&sweep)).unwrap();
    assert!(
        swept.records.len() <= 10
            && swept.records.iter().any(|r| *r.config == *kernel.show_config(&kernel.default_config()))
    );
    let (_, err, code) = slow_fake(&[&guided[..], &["--objective", "energy", "-o", &path("energy.jsonl")]].concat());
    assert!(code == 2 && err.contains("was not trained for energy"), "{err}");

    let validate = ["validate", &model, &toy, "M=50", "M=700", "--device", "fake", "--top", "3", "--record", &learned];
    let (out, err, code) = slow_fake(&validate);
    assert_eq!(code, 0, "{out}{err}");
    let measured = Dataset::load(Path::new(&learned)).unwrap();
    assert!(measured.records.len() >= 6);
    assert!(measured.records.iter().all(|r| matches!(r.outcome, Outcome::Measured(_))));
    let (out, err, code) = slow_fake(&[&validate[..7], &["--budget", "0.01s", "--json"]].concat());
    assert!(code == 0 && err.contains("the budget is spent at 1 of 2 problems"), "{out}{err}");
    assert_eq!(out.lines().count(), 1, "{out}");
    let refusing = |more: &[&str]| {
        let validate = [&validate[..5], more, &["--device", "fake", "--json"]].concat();
        crate::common::text(crate::common::seqtune(&validate).env("SEQTUNE_FAKE", "refuse=700").output().unwrap())
    };
    let (out, err, code) = refusing(&[]);
    assert!(code == 0 && out.lines().count() == 1 && out.contains("M=50"), "{out}{err}");
    assert!(err.contains("M=700 could not be measured: the reference of kernel toy: refused"), "{err}");
    let train = ["train", &sweep, &learned, "--kernel", &toy, "--fine-tune", &model];
    let (out, err, code) = run(&[&train[..], &["--test", "0", "--epochs", "1", "-o", &refined]].concat());
    assert!(code == 0 && out.contains("weights"), "{out}{err}");
    // what it learned before is named beside what it learned since, and is never judged as unseen
    let data = |folder: &str| Model::load(Path::new(folder)).unwrap().meta.data;
    assert_eq!(data(&refined), [data(&model), vec![swept.hash(), measured.hash()]].concat());
    let (_, err, code) = run(&["evaluate", "model", &refined, &sweep, "--kernel", &toy, "--all-problems"]);
    assert!(code == 2 && err.contains("learned from some of these data"), "{err}");
    for other in [["--split-seed", "9"], ["--test", "0.9"]] {
        let (_, err, code) =
            run(&[&["train", &sweep, "--kernel", &toy, "--fine-tune", &model, "-o", &path("x")], &other[..]].concat());
        assert!(code == 2 && err.contains("would be judged as held out"), "{err}");
    }
    assert_predicted_with_doubt(&model, &toy, &sweep);
}

#[test]
fn joules_of_timed_configs_follow_from_the_power_of_metered_ones() {
    let kernel = toy();
    let watts = |record: &seqtune_data::Record| {
        let width: f64 = record.config.rsplit('=').next().unwrap().parse().unwrap();
        100.0 + 40.0 * width
    };
    let mut whole = toy_dataset(&kernel, (4..65).map(|i| i * i));
    for (at, record) in whole.records.iter_mut().enumerate() {
        let joules = watts(record);
        if let Outcome::Measured(m) = &mut record.outcome {
            // one config in five of every problem but those of odd sizes is metered
            let is_metered = at % 5 == 0 && !record.problem.ends_with(['1', '5', '9']);
            let joules = joules * m.median_us() * 1e-6;
            m.energy = is_metered.then_some(Energy { joules, half_width: 0.0, idle_watts: 50.0 });
        }
    }
    let few: Vec<_> = whole.records.iter().filter(|r| r.problem.ends_with("00")).cloned().collect();
    let few = Dataset { header: whole.header.clone(), records: few };
    let corpus = |dataset: &Dataset| {
        vec![KernelTable::new(
            kernel.clone(),
            Table::new(&kernel, &[NamedDataset::new("toy", dataset.clone())]).unwrap(),
        )]
    };
    let (before, settings) = (corpus(&whole), settings(1));
    let after = complete_joules(&before, &settings);
    let (mut filled, mut left, mut off) = (0, 0, 0.0);
    for (old, new) in before[0].table.problems.iter().zip(&after[0].table.problems) {
        let shape = kernel.shape(&new.problem);
        let is_learned = settings.split.part(&shape) == seqtune_predict::model::Part::Train;
        for (TriedConfig { config, outcome: was }, TriedConfig { outcome: is, .. }) in
            old.results.iter().zip(&new.results)
        {
            match (was.joules(), is.joules()) {
                (None, Some(joules)) => {
                    let width = kernel.value(config, "width").unwrap() as f64;
                    let truth = (100.0 + 40.0 * width) * is.time_us().unwrap() * 1e-6;
                    off += (joules / truth - 1.0).abs();
                    filled += 1;
                }
                (was, is) => assert_eq!(was, is, "what was metered, or is held out, stays"),
            }
            left += (is.joules().is_none() && !is_learned) as usize;
            assert!(is.joules().is_some() || !is_learned);
        }
    }
    assert!(filled > 100 && left > 20, "{filled} filled, {left} left");
    // by the mean power they would be off by 20 %
    assert!(off / f64::from(filled) < 0.1, "off by {}", off / f64::from(filled));
    let before = corpus(&few);
    assert!(matches!(complete_joules(&before, &settings), std::borrow::Cow::Borrowed(_)), "too few to learn from");
}
