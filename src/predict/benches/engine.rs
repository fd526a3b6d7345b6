//! What a prediction spends its time in: `cargo bench -p seqtune-predict`.
//!
//! The toy model is always measured, `models/gemm-cpu` where the repository is around.

use divan::{Bencher, black_box};
use rand::SeedableRng;
use seqtune_kernel::ConfigSpace;
use seqtune_predict::features::Instance;
use seqtune_predict::{Device, Kernel, Model, Predictor, Problem, Query};
use std::path::{Path, PathBuf};

fn main() {
    if !gemm_model().exists() {
        println!("note: models/gemm-cpu is not here, so the toy model alone is measured");
    }
    divan::main();
}

fn toy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("toy")
}

fn gemm_model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/gemm-cpu")
}

/// A model ready to predict, with problems to ask it.
struct Subject {
    device: Device,
    predictor: Predictor,
    problems: Vec<Problem>,
}

impl Subject {
    fn toy() -> Subject {
        let kernel = Kernel::open(&toy().display().to_string()).unwrap();
        let model = Model::load(&toy().join("model")).unwrap();
        let problems = (1..=64).map(|i| kernel.problem(&format!("M={}", 37 * i)).unwrap()).collect();
        let predictor = Predictor::new(&kernel, &model).unwrap();
        Subject { device: Device::find_described("A100").unwrap(), predictor, problems }
    }

    fn gemm() -> Option<Subject> {
        let kernel = Kernel::open("gemm").unwrap();
        let model = Model::load(gemm_model().exists().then(gemm_model)?.as_path()).unwrap();
        let problem = |i: usize| kernel.problem(&format!("M={},N={},K={}", 16 * i, 1_040 - 16 * i, 8 * i)).unwrap();
        let problems = (1..=64).map(problem).collect();
        let device = model.meta.devices[0].clone();
        let predictor = Predictor::new(&kernel, &model).unwrap();
        Some(Subject { device, predictor, problems })
    }

    /// Nothing where the model of gemm is not here.
    fn named(name: &str) -> Option<Subject> {
        if name == "gemm" { Subject::gemm() } else { Some(Subject::toy()) }
    }
}

#[divan::bench]
fn open_kernel() -> Kernel {
    Kernel::open(black_box("gemm")).unwrap()
}

#[divan::bench(args = ["toy", "gemm"])]
fn load_model(bencher: Bencher, name: &str) {
    let folder = if name == "gemm" { gemm_model() } else { toy().join("model") };
    if folder.exists() {
        bencher.bench(|| Model::load(black_box(&folder)).unwrap());
    }
}

fn gemm_problem() -> (Kernel, Device, Problem) {
    let kernel = Kernel::open("gemm").unwrap();
    let problem = kernel.problem("M=512,N=512,K=512").unwrap();
    (kernel, Device::find_described("A100").unwrap(), problem)
}

#[divan::bench]
fn count_a_space(bencher: Bencher) {
    let (kernel, device, problem) = gemm_problem();
    bencher.bench(|| ConfigSpace::new(&kernel, black_box(&problem), &device).counter().total());
}

#[divan::bench]
fn compile_a_space_with_its_features(bencher: Bencher) {
    let (kernel, device, problem) = gemm_problem();
    bencher.bench(|| Instance::new(&kernel, black_box(&problem), &device));
}

/// What may follow each prefix of 20 configs, as a beam asks.
#[divan::bench]
fn look_ahead_along_20_configs(bencher: Bencher) {
    let (kernel, device, problem) = gemm_problem();
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let mut counter = space.counter();
    counter.total();
    let configs = counter.sample_distinct(20, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1)).unwrap();
    bencher.with_inputs(|| ConfigSpace::new(&kernel, &problem, &device)).bench_local_values(|space| {
        for config in &configs {
            (0..config.0.len()).for_each(|at| drop(black_box(space.completions(&config.0[..at]))));
        }
    });
}

#[divan::bench]
fn walk_a_million_configs(bencher: Bencher) {
    let (kernel, device, problem) = gemm_problem();
    bencher.with_inputs(|| ConfigSpace::new(&kernel, &problem, &device)).bench_local_values(|space| {
        let mut left = 1_000_000;
        space.for_each(&mut |_| {
            left -= 1;
            left > 0
        })
    });
}

#[divan::bench]
fn sample_100_of_a_counted_space(bencher: Bencher) {
    let (kernel, device, problem) = gemm_problem();
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let mut counter = space.counter();
    counter.total();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    bencher.bench_local(|| counter.sample_distinct(100, &mut rng).ok());
}

#[divan::bench(args = ["toy", "gemm"], consts = [5, 20])]
fn predict_one<const WIDTH: usize>(bencher: Bencher, name: &str) {
    let Some(Subject { device, predictor, problems, .. }) = Subject::named(name) else { return };
    let query = Query { top: WIDTH, width: WIDTH, ..Query::new(&device) };
    let mut at = 0;
    bencher.bench_local(|| {
        at = (at + 1) % problems.len();
        predictor.predict_one(&problems[at], &query).unwrap()
    });
}

#[divan::bench(args = ["toy", "gemm"])]
fn predict_a_batch_of_64(bencher: Bencher, name: &str) {
    let Some(Subject { device, predictor, problems, .. }) = Subject::named(name) else { return };
    let query = Query { width: 5, ..Query::new(&device) };
    bencher
        .counter(divan::counter::ItemsCount::new(problems.len()))
        .bench_local(|| predictor.predict(black_box(&problems), &query).unwrap());
}
