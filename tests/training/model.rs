//! The model on a toy kernel: search against exhaustive scoring, learning, resuming, storing.

use crate::common::{toy, toy_dataset, toy_table as table, toy_with_profiles};
use crate::support::small_settings as settings;
use seqtune_data::{Energy, KernelTable, NamedDataset, Outcome, Table};
use seqtune_eval::baselines::method::Method;
use seqtune_eval::measures::replay;
use seqtune_kernel::Objective;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel};
use seqtune_predict::model::{Part, Split};
use seqtune_predict::{Hparams, Model, Predictor, Query, Scored, Settings, TimeBasis};
use seqtune_train::cross_validation::{CrossValidationOptions, HeldOut, cross_validate};
use seqtune_train::distil;
use seqtune_train::network::agree::score_by_libtorch;
use seqtune_train::{Existing, Progress, train};
use std::path::Path;

fn ask(objective: Objective) -> replay::ReplayOptions<'static> {
    replay::ReplayOptions { objective, whole: false, trees: None }
}

fn corpus(kernel: &Kernel) -> [KernelTable; 1] {
    [KernelTable::new(kernel.clone(), table(kernel))]
}

fn fit(kernel: &Kernel, epochs: usize, folder: &Path) -> Model {
    train(&corpus(kernel), &settings(epochs), folder, Existing::Keep, &mut |_| {}).unwrap()
}

#[test]
fn a_wide_beam_agrees_with_scoring_every_legal_config() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let model = fit(&kernel, 2, folder.path());
    let predictor = Predictor::new(&kernel, &model).unwrap();
    for (m, device) in [(1, "A100"), (6, "MI100"), (1_000, "H200")] {
        let device = Device::find_described(device).unwrap();
        let problem = kernel.problem(&format!("M={m}")).unwrap();
        let mut legal = Vec::new();
        ConfigSpace::new(&kernel, &problem, &device)
            .for_each(&mut |c| {
                legal.push(Config(c.to_vec()));
                true
            })
            .unwrap();
        let scored = predictor.score(&problem, &device, Objective::Time, &legal).unwrap();
        let trained = score_by_libtorch(&kernel, &model, &problem, &device, Objective::Time, &legal).unwrap();
        for (a, b) in scored.iter().zip(&trained) {
            assert!((a.log_probability - b.log_probability).abs() < 1e-4, "the runtime agrees with libtorch");
            let times = a.time_us.zip(b.time_us);
            assert!(times.is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-4) && (a.rank - b.rank).abs() < 1e-4);
        }
        let mut expected: Vec<(&Scored, &Config)> = scored.iter().zip(&legal).collect();
        expected.sort_by(|a, b| predictor.pooled_score(b.0).total_cmp(&predictor.pooled_score(a.0)));
        let query = Query { top: 100, width: 100, ..Query::new(&device) };
        let found = predictor.predict_one(&problem, &query).unwrap().candidates;
        assert_eq!(found.len(), legal.len());
        let total: f64 = found.iter().map(|c| c.log_probability.exp()).sum();
        assert!((total - 1.0).abs() < 1e-4, "probabilities sum to {total}");
        let bases = predictor.time_bases(&problem, &device, &found);
        let quickest_us = model.meta.training_ranges.iter().find_map(|reach| reach.quickest_us(&device));
        for ((found, basis), (scored, config)) in found.iter().zip(bases).zip(&expected) {
            let difference = found.log_probability - scored.log_probability;
            assert!(difference.abs() < 1e-3, "steps with cached keys agree with one pass");
            assert_eq!(&&found.config, config);
            let (told, learned) = (found.time_us, scored.time_us);
            let is_right = match basis {
                TimeBasis::Absent => quickest_us.is_none_or(|quickest| learned < Some(quickest / 2.0)),
                TimeBasis::Bounded => told >= learned,
                TimeBasis::Learned => told.zip(learned).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-3),
            };
            assert!(is_right, "{told:?} {learned:?} {basis:?}");
        }
    }
}

#[test]
fn batches_and_threads_answer_as_single_predictions_do() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let model = fit(&kernel, 2, folder.path());
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let device = Device::find_described("A100").unwrap();
    let problems: Vec<_> = (1..=130).map(|m| kernel.problem(&format!("M={}", m * 7)).unwrap()).collect();
    let together =
        predictor.predict(&problems, &Query { top: 3, width: 20, threads: 2, ..Query::new(&device) }).unwrap();
    for (problem, together) in problems.iter().zip(&together) {
        let alone = predictor.predict_one(problem, &Query { top: 3, width: 20, ..Query::new(&device) }).unwrap();
        for (a, b) in alone.candidates.iter().zip(&together.candidates) {
            let off = (a.probability.unwrap() - b.probability.unwrap()).abs();
            assert!(off < 1e-4);
            assert!(a.config == b.config || off < 1e-6);
        }
    }
}

#[test]
fn a_trained_model_finds_good_configs_of_sizes_it_never_saw_and_their_time() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let table = table(&kernel);
    let model = fit(&kernel, 60, folder.path());
    let report = seqtune_eval::evaluate(&kernel, &model, &table, ask(Objective::Time), &mut |_| {}).unwrap();
    let row = |method| report.rows.iter().find(|r| r.method == method).unwrap();
    assert!(row(Method::Predict).mean > 0.93, "{}", report.table());
    assert!(row(Method::Predict).mean > row(Method::BestOnAverage).mean, "{}", report.table());
    assert_eq!(row(Method::Predict).legal, 1.0);
    assert!(row(Method::OwnTrees).mean > row(Method::BestOnAverage).mean, "{}", report.table());
    assert!(model.trees == Model::load(folder.path()).unwrap().trees && model.trees.len() == 1);
    assert!(model.meta.scores["validation time error (ln)"] < 0.2, "{:?}", model.meta.scores);
    assert_eq!(row(Method::Random).answered, 1.0);
    // as if the data were another's: all problems are judged, and nobody learns from them
    let whole = replay::ReplayOptions { whole: true, ..ask(Objective::Time) };
    let report = seqtune_eval::evaluate(&kernel, &model, &table, whole, &mut |_| {}).unwrap();
    assert_eq!((report.test_problems, report.train_problems), (table.problems.len(), 0));
    assert!(report.rows.iter().all(|r| r.method != Method::NearestNeighbour), "{}", report.table());
}

#[test]
fn where_a_kernel_asks_for_profiles_they_answer_and_tell_what_a_choice_may_lose() {
    let kernel = toy_with_profiles();
    let folder = tempfile::tempdir().unwrap();
    // networks that learned next to nothing
    let model = fit(&kernel, 1, folder.path());
    assert_eq!(model.meta.calibration.unwrap().weights, [0.0, 0.0, 0.5, 0.5]);
    let report = replay::evaluate(&kernel, &model, &table(&kernel), ask(Objective::Time), &mut |_| {}).unwrap();
    let row = |method| report.rows.iter().find(|r| r.method == method).unwrap();
    let (predicted, likelihood) = (row(Method::Predict), row(Method::Likelihood));
    assert!(predicted.mean > 0.95 && predicted.mean > likelihood.mean, "{predicted:?} {likelihood:?}");
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let device = Device::find_described("A100").unwrap();
    let problem = kernel.problem("M=700").unwrap();
    let found = predictor.predict_one(&problem, &Query { top: 42, ..Query::new(&device) }).unwrap().candidates;
    assert!(found[0].risk.unwrap() < 0.5 && found.last().unwrap().risk > Some(0.9), "{found:?}");
    let total: f64 = found.iter().map(|c| c.log_probability.exp()).sum();
    assert!((total - 1.0).abs() < 1e-4, "a beam of the whole space: {total}");
}

#[test]
fn interrupted_training_goes_on_to_the_same_weights() {
    let kernel = toy();
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = fit(&kernel, 6, whole.path());
    let interrupted = std::panic::catch_unwind(|| {
        let settings = Settings { checkpoint: 0, ..settings(6) };
        let _ = train(&corpus(&kernel), &settings, parts.path(), Existing::Keep, &mut |p| {
            assert!(!matches!(p, Progress::Epoch(e) if e.epoch >= 3), "interrupted")
        });
    });
    assert!(interrupted.is_err());
    assert!(parts.path().join("checkpoint-0.safetensors").exists());
    let mut first = None;
    let resumed = train(&corpus(&kernel), &settings(6), parts.path(), Existing::Keep, &mut |p| {
        if let Progress::Epoch(e) = p {
            first.get_or_insert(e.epoch);
        }
    })
    .unwrap();
    assert_eq!(first, Some(4), "three epochs were not repeated");
    for (name, weight) in &expected.weights {
        assert_eq!(weight, &resumed.weights[name], "{name}");
    }
    assert!(!parts.path().join("checkpoint-0.safetensors").exists());
}

#[test]
fn networks_that_take_turns_on_two_cores_are_those_of_one() {
    let kernel = toy();
    let fit = |cores: i32| {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { members: 3, ..settings(4) };
        tch::set_num_threads(cores);
        train(&corpus(&kernel), &settings, folder.path(), Existing::Keep, &mut |_| {}).unwrap()
    };
    let (one, two) = (fit(1), fit(2));
    assert_eq!(one.meta.scores, two.meta.scores);
    for (name, weight) in &one.weights {
        assert_eq!(weight, &two.weights[name], "{name}");
    }
}

#[test]
fn a_checkpoint_of_other_settings_is_refused() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let _ = std::panic::catch_unwind(|| {
        let settings = Settings { checkpoint: 0, ..settings(6) };
        let _ = train(&corpus(&kernel), &settings, folder.path(), Existing::Keep, &mut |p| {
            assert!(!matches!(p, Progress::Epoch(_)), "interrupted")
        });
    });
    let error =
        train(&corpus(&kernel), &settings(7), folder.path(), Existing::Keep, &mut |_| {}).err().unwrap().to_string();
    assert!(error.contains("was made with other data or settings; delete it to begin anew"), "{error}");
}

#[test]
fn a_model_is_read_as_it_was_written_and_refused_for_another_kernel() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let model = fit(&kernel, 1, folder.path());
    let read = Model::load(folder.path()).unwrap();
    assert_eq!(read.meta, model.meta);
    assert_eq!(read.weights, model.weights);
    let gemm = Kernel::open("gemm").unwrap();
    let error = Predictor::new(&gemm, &read).err().unwrap().to_string();
    assert_eq!(error, "the model was made for toy, not kernel gemm");
    let file = Model::file(folder.path());
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 100]).unwrap();
    let error = Model::load(folder.path()).err().unwrap().to_string();
    assert!(error.contains("is truncated") && error.contains("model.safetensors"), "{error}");
    let mut flipped = bytes;
    let at = flipped.len() - 100;
    flipped[at] ^= 1;
    std::fs::write(&file, &flipped).unwrap();
    let error = Model::load(folder.path()).err().unwrap().to_string();
    assert!(error.contains("model.safetensors: it was changed since it was written"), "{error}");
}

#[test]
fn a_model_of_a_sweep_with_energy_answers_for_time_energy_and_their_product() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let sizes = (0..48).map(|i| (2f64.powf(2.0 + i as f64 / 5.0)) as u64);
    let mut dataset = toy_dataset(&kernel, sizes);
    // the wider a vector, the more it takes: what is fast is not what is frugal
    for record in &mut dataset.records {
        let width: f64 = record.config.rsplit('=').next().unwrap().parse().unwrap();
        if let Outcome::Measured(m) = &mut record.outcome {
            let joules = m.median_us() * 1e-6 * 100.0 * width * width;
            m.energy = Some(Energy { joules, half_width: 0.0, idle_watts: 50.0 });
        }
    }
    let table = Table::new(&kernel, &[NamedDataset::new("toy", dataset)]).unwrap();
    let tables = [KernelTable::new(kernel.clone(), table)];
    let model = train(&tables, &settings(40), folder.path(), Existing::Keep, &mut |_| {}).unwrap();
    assert_eq!(model.meta.objectives, Objective::ALL);
    let mut chosen = Vec::new();
    for objective in Objective::ALL {
        let report = seqtune_eval::evaluate(&kernel, &model, &tables[0].table, ask(objective), &mut |_| {}).unwrap();
        let row = |method| report.rows.iter().find(|r| r.method == method).unwrap();
        assert!(row(Method::Predict).mean > 0.9, "{objective:?}\n{}", report.table());
        let predictor = Predictor::new(&kernel, &model).unwrap();
        let problem = kernel.problem("M=700").unwrap();
        let device = Device::find_described("A100").unwrap();
        let found = predictor.predict_one(&problem, &Query { objective, width: 5, ..Query::new(&device) }).unwrap();
        chosen.push(kernel.show_config(&found.candidates[0].config));
    }
    assert!(chosen[0] != chosen[1] && chosen[1].ends_with("width=1"), "time, energy, both: {chosen:?}");
    let name = folder.path().display().to_string();
    let toy = crate::common::write_toy(&folder.path().join("toy"));
    let (out, err, code) =
        crate::common::run(&["predict", &name, &toy, "M=700", "--device", "A100", "--objective", "energy"]);
    assert!(code == 0 && out.contains(&chosen[1]), "{out}{err}");
    // the front goes from the fastest to the thriftiest, and no config on it beats another in both
    let (out, err, code) =
        crate::common::run(&["predict", &name, &toy, "M=700", "--device", "A100", "--pareto", "--json"]);
    let front: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let front = front["predictions"].as_array().unwrap();
    let number = |c: &serde_json::Value, what: &str| c[what].as_f64().unwrap();
    assert!(code == 0 && front.len() > 1, "{out}");
    for pair in front.windows(2) {
        assert!(number(&pair[0], "predicted_us") < number(&pair[1], "predicted_us"));
        assert!(number(&pair[0], "predicted_joules") > number(&pair[1], "predicted_joules"));
    }
    let args = ["validate", &name, &toy, "M=700", "--device", "fake", "--objective", "edp"];
    let (out, err, code) =
        crate::common::text(crate::common::seqtune(&args).env("SEQTUNE_FAKE", "energy,slow=1").output().unwrap());
    assert!(
        code == 0
            && out.contains("1 problem, by energy times time: first choice")
            && out.contains("| mJ |")
            // of a device that it never saw the model tells no joules
            && !out.contains("predicted mJ"),
        "{out}{err}"
    );
}

#[test]
fn cross_validation_judges_every_problem_once_by_models_that_have_not_seen_its_shape() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let table = table(&kernel);
    let settings = settings(25);
    let hparams = Hparams { width: 16, heads: 2, feed_forward: 32, encoder_layers: 1, decoder_layers: 1 };
    let small = distil::DistilOptions {
        hparams: Some(hparams),
        invented: Some(60),
        steps: Some(200),
        ..distil::DistilOptions::default()
    };
    let ask = CrossValidationOptions {
        held_out: HeldOut::Shapes(3),
        objective: Objective::Time,
        library: None,
        settings: &settings,
        distil: Some(&small),
        models: folder.path(),
    };
    let report = cross_validate(&kernel, &table, &ask, &|_| {}).unwrap();
    assert_eq!(report.problems, table.problems.len());
    let row = |method| report.rows.iter().find(|r| r.method == method).unwrap();
    let (model, average) = (row(Method::Predict), row(Method::BestOnAverage));
    assert!(model.regret[0] < 0.1 && model.regret[0] < average.regret[0], "{}", report.table());
    for row in &report.rows {
        assert!(row.regret.is_sorted_by(|a, b| a >= b) && row.regret[3] >= 0.0, "{row:?}");
    }
    let less = average.predict_less.unwrap();
    for (top, (mean, error)) in less.into_iter().enumerate() {
        assert!((mean - (model.regret[top] - average.regret[top])).abs() < 1e-12 && error >= 0.0, "{less:?}");
    }
    assert!(model.predict_less.is_none());
    let (distilled, less) = (row(Method::Distilled), average.distilled_less.unwrap());
    assert!(distilled.regret[0] < 0.15 && distilled.regret[0] < average.regret[0], "{}", report.table());
    assert!(
        (less[0].0 - (distilled.regret[0] - average.regret[0])).abs() < 1e-12 && distilled.distilled_less.is_none()
    );
    let parts = |of: usize| report.shapes.iter().map(move |s| s.parts.last().unwrap().1[of]).collect::<Vec<f64>>();
    assert!(parts(3).is_sorted_by(|a, b| a >= b), "{:?}", parts(3));
    assert!(
        (0..4).all(|of| parts(of).iter().sum::<f64>() <= model.regret[of] + 1e-12),
        "{:?} {model:?}",
        report.shapes
    );
    assert!(parts(0).iter().any(|part| *part > 0.0), "{:?}", report.shapes);
    assert!(report.losing(1).contains(&report.shapes[0].shape) && report.losing(0).is_empty());
    // the parts of the folds for testing are all shapes, each once
    let shapes: Vec<String> = table.problems.iter().map(|t| kernel.shape(&t.problem)).collect();
    for shape in &shapes {
        let part = |fold: usize| Split { from: fold as f64 / 3.0, test: 1.0 / 3.0, ..settings.split }.part(shape);
        assert_eq!((0..3).filter(|fold| part(*fold) == Part::Test).count(), 1);
    }
    // models that are there are found again
    let fold = |i: usize| folder.path().join(format!("fold-{i}"));
    let files = || (0..3).flat_map(|i| [Model::file(&fold(i)), Model::small_file(&fold(i))]);
    let written = || files().map(|file| file.metadata().unwrap().modified());
    let before: Vec<_> = written().map(|t| t.unwrap()).collect();
    assert_eq!(cross_validate(&kernel, &table, &ask, &|_| {}).unwrap().table(), report.table());
    assert!(written().map(|t| t.unwrap()).eq(before));
}

#[test]
fn of_few_problems_all_are_learned_from_and_no_answer_is_sure() {
    let kernel = toy();
    let fitted = |most: usize| {
        let mut few = table(&kernel);
        few.problems.truncate(most);
        let folder = tempfile::tempdir().unwrap();
        let corpus = [KernelTable::new(kernel.clone(), few)];
        let model = train(&corpus, &settings(2), folder.path(), Existing::Keep, &mut |_| {}).unwrap();
        let device = Device::find_described("A100").unwrap();
        let predictor = Predictor::new(&kernel, &model).unwrap();
        let found = predictor.predict_one(&kernel.problem("M=100").unwrap(), &Query::new(&device)).unwrap();
        assert!(found.unsure || !model.meta.held_out.is_empty(), "an answer is sure though nothing was shown");
        model.meta.calibration.unwrap()
    };
    let by_heart = fitted(20);
    let [likelihood, others @ ..] = by_heart.weights;
    assert!(likelihood == 0.0 && others.iter().all(|weight| *weight > 0.0), "it is surest of what it knows by heart");
    let shapes = |part| table(&kernel).part(&kernel, &settings(2).split, part, Objective::Time);
    let few: Vec<usize> = (0..20).filter(|i| !shapes(Part::Test).contains(i)).collect();
    assert!(few.iter().any(|i| shapes(Part::Validation).contains(i)), "some would choose weights");
    assert_eq!(by_heart.problems, few.len(), "none is held out");
    assert!(fitted(usize::MAX).weights[0] > 0.0);
}

#[test]
fn every_shipped_model_is_whole_and_made_for_a_shipped_kernel() {
    let folders: Vec<_> = ["models/gemm-cpu", "models/miopen"]
        .iter()
        .flat_map(|f| Model::folders(&crate::common::root().join(f)).unwrap())
        .collect();
    assert!(folders.len() > 20, "{folders:?}");
    for folder in folders {
        let model = Model::load(&folder).unwrap();
        for name in model.meta.kernels() {
            Predictor::new(&Kernel::open(name).unwrap(), &model).unwrap();
        }
    }
}
