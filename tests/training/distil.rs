//! Distillation of a toy model: what the small decoder learns, that it predicts what it was trained as, how it is stored and resumed.

use crate::common::{toy, toy_dataset, toy_sizes, toy_table as table};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{KernelTable, NamedDataset, Outcome, Table, TriedConfig, Tuned};
use seqtune_kernel::{Config, Device, Kernel, Objective};
use seqtune_predict::features::{Featurizer, Instance};
use seqtune_predict::network::weights::member;
use seqtune_predict::{Error, Hparams, Model, Predictor, Quality, Query};
use seqtune_train::distil::batch::LessonBatch;
use seqtune_train::distil::chain::Chain;
use seqtune_train::distil::lesson::{ConfigShare, Lesson, Wanted};
use seqtune_train::distil::network::Student;
use seqtune_train::distil::teacher::Teacher;
use seqtune_train::distil::whole::Whole;
use seqtune_train::distil::{DistilOptions, Stage, distil};
use seqtune_train::network::tensors::{from_arrays, numbers};
use seqtune_train::{Existing, refine, train};
use std::path::Path;
use std::sync::Arc;

fn whole(kernel: &Kernel, folder: &Path) -> (Model, [KernelTable; 1]) {
    let corpus = [KernelTable::new(kernel.clone(), table(kernel))];
    let settings = crate::support::small_settings(8);
    (train(&corpus, &settings, folder, Existing::Keep, &mut |_| {}).unwrap(), corpus)
}

fn options(steps: usize) -> DistilOptions {
    let hparams = Hparams { width: 16, heads: 2, feed_forward: 32, encoder_layers: 1, decoder_layers: 1 };
    DistilOptions { hparams: Some(hparams), invented: Some(60), steps: Some(steps), ..DistilOptions::default() }
}

#[test]
fn a_small_decoder_comes_near_the_whole_model_is_stored_beside_it_and_predicts_what_it_was_trained_as() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let (model, corpus) = whole(&kernel, folder.path());
    let mut asked = 0;
    let mut told = |stage| {
        if let Stage::Asking(done, _) = stage {
            asked = done;
        }
    };
    let small = distil(&model, None, &corpus, &options(200), folder.path(), &mut told).unwrap();
    assert!(asked > 60, "{asked}");
    assert_eq!(small.meta.parent, Some(model.training_digest()));
    let level = small.meta.distilled.unwrap();
    assert!(level.problems > 2 && level.behind < 0.1, "{level:?}");
    let read = Model::load_as(folder.path(), &kernel.name, Quality::Fast).unwrap();
    assert_eq!(read.training_digest(), small.training_digest());
    assert!(Model::load_as(folder.path(), &kernel.name, Quality::Best).unwrap().meta.distilled.is_none());

    // as it was trained: the same numbers by libtorch
    let predictor = Predictor::new(&kernel, &read).unwrap();
    let device = Device::find_described("A100").unwrap();
    let featurizer = Featurizer::new(&Arc::new(read.meta.vocab.clone()), &kernel).unwrap();
    let net = Student::new(&read.meta.hparams, &from_arrays(&member(&read.weights, 0))).unwrap();
    for m in [1, 6, 1_000] {
        let problem = kernel.problem(&format!("M={m}")).unwrap();
        let query = Query { top: 100, width: 100, ..Query::new(&device) };
        let found = predictor.estimate_one(&problem, &query).unwrap().candidates;
        let instance = Instance::new(&kernel, &problem, &device);
        let n = found.len();
        let wanted = |(i, config): (usize, Config)| Wanted { config, target: (n - i) as f64, costs: [f32::NAN; 2] };
        let wanted = found.iter().map(|c| c.config.clone()).enumerate().map(wanted).collect();
        let lesson = Lesson::new(&featurizer, &instance, Objective::Time, wanted).unwrap();
        let batch = LessonBatch::new(&featurizer, &[&lesson], 2 * n, &mut ChaCha8Rng::seed_from_u64(1));
        let answers = tch::no_grad(|| batch.forward(&net, featurizer.kernel_index));
        let (log, costs) = (numbers(&answers.log).unwrap(), numbers(&answers.costs).unwrap());
        for (i, candidate) in found.iter().enumerate() {
            assert!((log[i] as f64 - candidate.log_probability).abs() < 1e-4);
            let [time_us, _] = featurizer.decode_costs(&instance, [costs[2 * i], costs[2 * i + 1]]);
            assert!((time_us.unwrap() / candidate.time_us.unwrap() - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn an_interrupted_distillation_goes_on_to_the_same_weights() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let (model, corpus) = whole(&kernel, folder.path());
    let straight = distil(&model, None, &corpus, &options(600), folder.path(), &mut |_| {}).unwrap();
    let stopped = folder.path().join("stopped");
    let mut end = |stage| {
        if matches!(stage, Stage::Learning(400, ..)) {
            panic!("stopped");
        }
    };
    let begun = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(distil(&model, None, &corpus, &options(600), &stopped, &mut end));
    }));
    assert!(begun.is_err() && stopped.join("checkpoint-distilled.safetensors").is_file());
    let mut first = None;
    let mut note = |stage| {
        if let Stage::Learning(step, ..) = stage {
            first.get_or_insert(step);
        }
    };
    let resumed = distil(&model, None, &corpus, &options(600), &stopped, &mut note).unwrap();
    assert_eq!(first, Some(400), "what was done is not done again");
    assert_eq!(resumed.weights, straight.weights);
    assert!(!stopped.join("checkpoint-distilled.safetensors").exists());
}

#[test]
fn what_is_asked_behind_prefixes_multiplies_to_the_likelihood_and_makes_lessons_whose_shares_sum_to_its_steps() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = whole(&kernel, folder.path());
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let device = Device::find_described("A100").unwrap();
    let problem = kernel.problem("M=300").unwrap();
    let wide = Query { top: 1_000, width: 1_000, ..Query::new(&device) };
    let asked = predictor.prefix_scores(std::slice::from_ref(&problem), &wide).unwrap().remove(0);
    let found = predictor.predict_one(&problem, &wide).unwrap().candidates;
    for candidate in &found {
        let steps = asked.iter().filter(|asked| candidate.config.0.starts_with(&asked.prefix));
        let log: f64 = steps
            .map(|asked| {
                asked.log[asked.choices.iter().position(|c| *c == candidate.config.0[asked.prefix.len()]).unwrap()]
            })
            .sum();
        assert!((log - candidate.log_probability).abs() < 1e-4, "{log} {}", candidate.log_probability);
    }
    let featurizer = Featurizer::new(&Arc::new(model.meta.vocab.clone()), &kernel).unwrap();
    let instance = Instance::new(&kernel, &problem, &device);
    let tuned = found[3].config.clone();
    let wanted = || Wanted { config: tuned.clone(), target: 1.0, costs: [f32::NAN; 2] };
    for share in [0.0, 0.3, 1.0] {
        let lesson =
            Lesson::of_prefixes(&featurizer, &instance, &asked, wanted(), Some(ConfigShare { config: &tuned, share }))
                .unwrap();
        // all of the target takes the first choice, and what is on the tuned config's way takes its own
        let first = lesson.prefixes.iter().position(Vec::is_empty).unwrap();
        assert!((lesson.shares[first].iter().sum::<f32>() - 1.0).abs() < 1e-4);
        let own = lesson.shares[first][lesson.legal[first].iter().position(|c| c == tuned.0[0]).unwrap()];
        assert!(own as f64 >= share - 1e-6, "{own}");
    }
}

#[test]
fn trees_say_what_is_tuned_to_after_a_prefix_and_lessons_take_it_in() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = whole(&kernel, folder.path());
    let featurizer = &Featurizer::new(&Arc::new(model.meta.vocab.clone()), &kernel).unwrap();
    // the fastest config of each problem as a tuner's choice
    let mut table = table(&kernel);
    for tried in &mut table.problems {
        let best = tried.costs(Objective::Time)[0].config.clone();
        tried.results = vec![TriedConfig { config: best, outcome: Outcome::Tuned(Tuned { time_us: None }) }];
    }
    let (held, train): (Vec<usize>, Vec<usize>) = (0..table.problems.len()).partition(|i| i % 4 == 0);
    let chain = Chain::fit(featurizer, &table, &train, &held, 1).unwrap();
    let mut right = 0;
    for i in &held {
        let (problem, tuned) = (&table.problems[*i].problem, &table.problems[*i].results[0].config);
        let instance = Instance::new(&kernel, problem, &table.devices[0]);
        let legal: Vec<_> = instance.space.completions(&[]).unwrap().iter().collect();
        let log =
            chain.log(featurizer, &instance, &featurizer.quantities(&instance, Objective::Time), &[], &legal).unwrap();
        assert!((log.iter().map(|l| l.exp()).sum::<f64>() - 1.0).abs() < 1e-6, "{log:?}");
        let best = (0..legal.len()).max_by(|a, b| log[*a].total_cmp(&log[*b])).unwrap();
        right += (legal[best] == tuned.0[0]) as usize;
    }
    assert!(2 * right > held.len(), "{right} of {} tiles; by chance a fifth", held.len());
    let whole = &Whole::new(&kernel, &model, None).unwrap();
    let (table, indices, objective, tau) = (&table, &train[..3], Objective::Time, 0.1);
    let lessons = |chain| {
        let teacher = Teacher { whole, featurizer, table, indices, objective, tau, measured: 0.2, most: 10, chain };
        teacher.lessons(2, 1, &mut |_, _| {}).unwrap()
    };
    let (without, with) = (lessons(None), lessons(Some(&chain)));
    assert_eq!((without.len(), with.len()), (5, 5));
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without.prefixes, with.prefixes, "trees weigh what networks found");
        assert_ne!(without.shares, with.shares);
        let first = with.prefixes.iter().position(Vec::is_empty).unwrap();
        assert!((with.shares[first].iter().sum::<f32>() - 1.0).abs() < 1e-4);
    }
}

#[test]
fn other_data_than_the_models_and_a_distilled_model_are_refused() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let (model, corpus) = whole(&kernel, folder.path());
    let [KernelTable { kernel, table: mut other }] = corpus.clone();
    other.hashes = vec!["0123456789abcdef".into()];
    let refused = distil(
        &model,
        None,
        &[seqtune_data::KernelTable { kernel, table: other }],
        &options(1),
        folder.path(),
        &mut |_| {},
    )
    .err()
    .unwrap();
    assert!(
        matches!(refused, Error::Mismatch(_)) && refused.to_string().contains("other datasets")
            || refused.to_string().contains("which these are not"),
        "{refused}"
    );
    let small = distil(&model, None, &corpus, &options(1), folder.path(), &mut |_| {}).unwrap();
    let refused = distil(&small, None, &corpus, &options(1), folder.path(), &mut |_| {}).err().unwrap();
    assert!(refused.to_string().contains("distil the whole model"), "{refused}");
}

#[test]
fn what_was_measured_makes_a_list_of_its_own_beside_what_the_model_finds() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let (model, corpus) = whole(&kernel, folder.path());
    let (whole, table) = (&Whole::new(&kernel, &model, None).unwrap(), &corpus[0].table);
    let featurizer = &Featurizer::new(&Arc::new(model.meta.vocab.clone()), &kernel).unwrap();
    let (indices, objective, tau, measured, most) = (&[0, 1, 2][..], Objective::Time, 0.05, 0.5, 10);
    let teacher = Teacher { whole, featurizer, table, indices, objective, tau, measured, most, chain: None };
    let lessons = teacher.lessons(2, 1, &mut |_, _| {}).unwrap();
    let (found, lists): (Vec<&Lesson>, Vec<&Lesson>) = lessons.iter().partition(|lesson| lesson.among_legal);
    assert_eq!((found.len(), lists.len()), (5, 5), "three measured problems and two invented ones");
    let all: Vec<usize> = table.problems[..3].iter().map(|t| t.costs(Objective::Time).len()).collect();
    for list in &lists {
        assert!((list.target.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert!(list.paths.len() <= *all.iter().max().unwrap(), "as many as were measured of a problem");
    }
    for (lesson, list) in found.iter().zip(&lists) {
        assert_eq!(lesson.quantities, list.quantities, "both of the same problem");
    }
}

#[test]
fn on_the_devices_of_a_refined_model_lessons_are_what_that_one_says() {
    let kernel = toy();
    let folder = tempfile::tempdir().unwrap();
    let mut few = toy_dataset(&kernel, toy_sizes());
    few.header.device = Device::find_described("MI50").unwrap();
    let sets = [NamedDataset::new("toy", toy_dataset(&kernel, toy_sizes())), NamedDataset::new("few", few)];
    let corpus = |sets| [KernelTable::new(kernel.clone(), Table::new(&kernel, sets).unwrap())];
    let (both, few) = (corpus(&sets), corpus(&sets[1..]));
    let (settings, at) = (crate::support::small_settings(4), |name| folder.path().join(name));
    let model = train(&both, &settings, &at("model"), Existing::Keep, &mut |_| {}).unwrap();
    let refined = refine(&model, &few, &settings, &at("refined"), Existing::Keep, &mut |_| {}).unwrap();
    let featurizer = &Featurizer::new(&Arc::new(model.meta.vocab.clone()), &kernel).unwrap();
    let table = &both[0].table;
    let first = table.problems.iter().position(|tried| table.devices[tried.device].name == "MI50").unwrap();
    let indices = [0, 1, 2, first, first + 1, first + 2];
    let tried: Vec<_> = table.problems.iter().collect();
    let lessons = |refined: Option<&Model>| {
        let whole = &Whole::new(&kernel, &model, refined).unwrap();
        let groups = whole.together(&tried).len();
        assert_eq!(
            groups,
            1 + refined.is_some() as usize,
            "problems are invented for each device alike beside a refined model"
        );
        let (indices, objective, tau, measured, most) = (&indices[..], Objective::Time, 0.05, 0.5, 10);
        let teacher = Teacher { whole, featurizer, table, indices, objective, tau, measured, most, chain: None };
        teacher.lessons(0, 1, &mut |_, _| {}).unwrap().into_iter().map(|lesson| lesson.target).collect::<Vec<_>>()
    };
    let (without, with) = (lessons(None), lessons(Some(&refined)));
    assert_eq!((without.len(), with.len()), (12, 12), "of each problem what was found and what was measured");
    assert_eq!(without[..6], with[..6], "of the A100, which comes first, what the model says that was distilled");
    assert!(without[6..].iter().zip(&with[6..]).all(|(without, with)| without != with));
    let other = Whole::new(&kernel, &refined, Some(&model)).err().unwrap();
    assert!(matches!(other, Error::Mismatch(_)) && other.to_string().contains("--fine-tune"), "{other}");
}
