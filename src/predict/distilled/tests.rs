//! Tests of the small decoder on made-up weights of the toy kernel.

use crate::Error;
use crate::distilled::comparison::Comparison;
use crate::drawn::test_generator;
use crate::network::prefix;
use crate::network::weights::Array;
use crate::{Device, Hparams, Kernel, Meta, Model, Objective, Predictor, Problem, Quality, Query};
use rand::Rng;
use seqtune_kernel::{Config, ConfigSpace};
use std::path::{Path, PathBuf};

fn toy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("toy")
}

/// A small decoder of random weights for the toy kernel, large enough that its choices differ.
fn small(seed: u64) -> Model {
    let whole = Model::load(&toy().join("model")).unwrap();
    let hparams = Hparams { width: 16, heads: 4, feed_forward: 24, encoder_layers: 1, decoder_layers: 2 };
    let mut rng = test_generator(seed);
    let mut draw = |(name, shape): (String, Vec<usize>)| {
        let count: usize = shape.iter().product();
        let values = (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
        (format!("0.{name}"), Array { shape, values })
    };
    let weights = prefix::shapes(&hparams, &whole.meta.vocab).into_iter().map(&mut draw).collect();
    let level = Comparison { behind: 0.0, error: 0.0, problems: 9 };
    let meta = Meta { hparams, members: 1, distilled: Some(level), calibration: None, ..whole.meta };
    Model { meta, weights, trees: Vec::new(), neighbours: Vec::new(), checksum: None }
}

struct Subject {
    kernel: Kernel,
    device: Device,
    predictor: Predictor,
    problems: Vec<Problem>,
}

fn subject(seed: u64) -> Subject {
    let kernel = Kernel::open(&toy().display().to_string()).unwrap();
    let predictor = Predictor::new(&kernel, &small(seed)).unwrap();
    let problems = [1, 37, 1000, 4096].map(|m| kernel.problem(&format!("M={m}")).unwrap()).to_vec();
    Subject { kernel, device: Device::find_described("A100").unwrap(), predictor, problems }
}

fn all(space: &ConfigSpace) -> Vec<Config> {
    let mut all = Vec::new();
    let mut add = |config: &[u16]| {
        all.push(Config(config.to_vec()));
        true
    };
    space.for_each(&mut add).unwrap();
    all
}

#[test]
fn a_beam_as_wide_as_the_space_finds_every_config_with_the_probability_that_it_is_scored_with() {
    for seed in 0..5 {
        let Subject { kernel, device, predictor, problems } = subject(seed);
        let query = Query { top: 1000, width: 1000, ..Query::new(&device) };
        for (problem, found) in problems.iter().zip(predictor.predict(&problems, &query).unwrap()) {
            let configs = all(&ConfigSpace::new(&kernel, problem, &device));
            let found = found.candidates;
            assert_eq!(found.len(), configs.len());
            let total: f64 = found.iter().filter_map(|c| c.probability).sum();
            assert!((total - 1.0).abs() < 1e-6, "{total}");
            assert!(found.is_sorted_by(|a, b| a.log_probability >= b.log_probability));
            let scored = predictor.score(problem, &device, Objective::Time, &configs).unwrap();
            for candidate in found {
                let at = configs.iter().position(|c| *c == candidate.config).unwrap();
                assert!((scored[at].log_probability - candidate.log_probability).abs() < 1e-5);
                let times = scored[at].time_us.zip(candidate.time_us);
                assert!(times.is_some_and(|(scored, found)| (scored / found - 1.0).abs() < 1e-4));
            }
        }
    }
}

#[test]
fn judging_every_config_finds_what_the_widest_beam_does_on_any_number_of_threads() {
    let Subject { kernel, device, predictor, problems } = subject(7);
    for problem in &problems {
        let legal = all(&ConfigSpace::new(&kernel, problem, &device)).len() as u64;
        let query = Query { top: 5, width: 1000, ..Query::new(&device) };
        let beam = predictor.predict_one(problem, &query).unwrap().candidates;
        for threads in [1, 3] {
            let found = predictor.exhaustive(problem, &Query { threads, ..query }).unwrap();
            assert!(found.considered == legal && found.scored <= legal && found.scored >= 5.min(legal));
            assert_eq!(
                found.best.iter().map(|c| &c.config).collect::<Vec<_>>(),
                beam.iter().map(|c| &c.config).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn a_narrow_beam_gives_legal_configs_and_the_widest_first_choice_where_it_is_greedily_found() {
    let Subject { kernel, device, predictor, problems } = subject(3);
    for problem in &problems {
        let space = ConfigSpace::new(&kernel, problem, &device);
        let query = Query { top: 1, width: 1, ..Query::new(&device) };
        let first = predictor.predict_one(problem, &query).unwrap().candidates.remove(0);
        assert!(space.is_legal(&first.config));
        let among =
            predictor.predict_among(problem, &Query { top: 1, ..query }, std::slice::from_ref(&first.config)).unwrap();
        assert!((among.candidates[0].log_probability - first.log_probability).abs() < 1e-5);
    }
}

#[test]
fn a_small_decoder_is_stored_beside_the_whole_model_and_read_as_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let read = |quality| Model::load_as(folder.path(), "toy", quality).map(|model| model.meta.distilled.is_some());
    let behind = Comparison { behind: 0.5, error: 0.1, problems: 9 };
    let mut model = small(1);
    model.save(folder.path()).unwrap();
    assert!(read(Quality::Auto).unwrap() && read(Quality::Fast).unwrap(), "alone");
    let sentence = read(Quality::Best).unwrap_err().to_string();
    assert!(sentence.contains("holds the distilled model alone"), "{sentence}");
    std::fs::copy(toy().join("model/model.safetensors"), Model::file(folder.path())).unwrap();
    assert!(read(Quality::Auto).unwrap() && !read(Quality::Best).unwrap());
    model.meta.distilled = Some(behind);
    model.save(folder.path()).unwrap();
    assert!(!read(Quality::Auto).unwrap() && read(Quality::Fast).unwrap(), "behind the whole");
    // of another whole model
    Model::load(&toy().join("model")).unwrap().save(folder.path()).unwrap();
    assert!(!Model::small_file(folder.path()).exists() && !read(Quality::Auto).unwrap());
    assert!(read(Quality::Fast).unwrap_err().to_string().contains("seqtune distil"));
}

#[test]
fn a_folder_of_models_gives_the_one_that_knows_the_kernel_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let of = |kernel| Model::file_for(folder.path(), kernel, Quality::Auto);
    let said = |kernel| match of(kernel) {
        Err(Error::File(sentence) | Error::Mismatch(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    assert!(said(Some("toy")).contains("no model is in this folder"));
    let model = small(1);
    model.save(&folder.path().join("first")).unwrap();
    let first = Model::small_file(&folder.path().join("first"));
    assert_eq!((of(Some("toy")).unwrap(), of(None).unwrap()), (first.clone(), first));
    assert!(said(Some("gemm")).ends_with("no model is for kernel gemm, only for toy"));
    model.save(&folder.path().join("second")).unwrap();
    assert!(said(Some("toy")).contains("several models are for kernel toy"));
    model.save(&folder.path().join("toy")).unwrap();
    assert_eq!(of(Some("toy")).unwrap(), Model::small_file(&folder.path().join("toy")));
}
