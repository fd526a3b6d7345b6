//! Properties of spaces and predictions on kernels that nobody wrote, held against an evaluator that shares no code with the program.
//! `SEQTUNE_PREDICTIONS` says how many predictions (2,000).

use crate::common::{processor_seconds, seed, test_generator};
use crate::evaluator::Rules;
use proptest::test_runner::{Config as Cases, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::{Choice, ConfigSpace, Count};
use seqtune_predict::{Config, Device, Kernel, Model, Predictor, Problem, Query};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Instant;

type Limits = BTreeMap<String, Option<f64>>;

fn limits(device: &Device) -> Limits {
    serde_json::from_value(serde_json::to_value(&device.limits).unwrap()).unwrap()
}

/// Every combination of values, legal or not.
fn all_combinations(kernel: &Kernel) -> Vec<Config> {
    let mut all: Vec<Vec<Choice>> = vec![Vec::new()];
    for parameter in &kernel.parameters {
        let choices = 0..parameter.values.len() as Choice;
        all = all.iter().flat_map(|prefix| choices.clone().map(move |c| [&prefix[..], &[c]].concat())).collect();
    }
    all.into_iter().map(Config).collect()
}

/// Legality, look-ahead, counts and samples of a space agree with trying everything.
fn agrees(text: &str, size: u32, seed: u64) -> Result<(), TestCaseError> {
    let (kernel, rules) = (crate::invented::kernel(text), Rules::new(&[text]));
    let device = Device::find_described("A100").unwrap();
    let problem = kernel.problem(&format!("M={size}")).unwrap();
    let (shown, limits) = (kernel.show_problem(&problem), limits(&device));
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let is_legal = |config: &Config| rules.broken(&shown, &kernel.show_config(config), &limits).is_none();
    let all = all_combinations(&kernel);
    for config in &all {
        let (ours, theirs) = (space.is_legal(config), is_legal(config));
        proptest::prop_assert_eq!(ours, theirs, "{} of {}", kernel.show_config(config), shown);
    }
    let legal: Vec<Config> = all.into_iter().filter(is_legal).collect();
    let prefixes: HashSet<&[Choice]> = legal.iter().flat_map(|c| (0..c.0.len()).map(|at| &c.0[..at])).collect();
    for prefix in prefixes {
        let expected: HashSet<Choice> =
            legal.iter().filter(|c| c.0.starts_with(prefix)).map(|c| c.0[prefix.len()]).collect();
        let found: HashSet<Choice> = space.completions(prefix).unwrap().iter().collect();
        proptest::prop_assert_eq!(found, expected, "after {:?}", prefix);
    }
    let (mut counter, mut rng) = (space.counter(), ChaCha8Rng::seed_from_u64(seed));
    proptest::prop_assert_eq!(counter.total(), Count::Exactly(legal.len() as u64));
    for count in [1, legal.len() / 2, legal.len() + 1] {
        let drawn: HashSet<Config> = counter.sample_distinct(count, &mut rng).unwrap().into_iter().collect();
        proptest::prop_assert_eq!(drawn.len(), count.min(legal.len()));
        proptest::prop_assert!(drawn.iter().all(is_legal));
    }
    Ok(())
}

/// A beam as wide as the space finds every legal config, in the order in which judging all of them ranks them.
fn is_exhaustive_at_full_width(text: &str, size: u32, seed: u64) -> Result<(), TestCaseError> {
    let kernel = crate::invented::kernel(text);
    let model = crate::invented::model(&kernel, &mut ChaCha8Rng::seed_from_u64(seed));
    let device = Device::find_described("A100").unwrap();
    let problem = kernel.problem(&format!("M={size}")).unwrap();
    let legal: Vec<Config> = {
        let space = ConfigSpace::new(&kernel, &problem, &device);
        all_combinations(&kernel).into_iter().filter(|config| space.is_legal(config)).collect()
    };
    if legal.is_empty() {
        return Ok(());
    }
    let query = Query { width: legal.len() + 1, top: legal.len() + 1, ..Query::new(&device) };
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let found = predictor.predict_one(&problem, &query).unwrap().candidates;
    let judged = predictor.predict_among(&problem, &query, &legal).unwrap().candidates;
    proptest::prop_assert_eq!(found.len(), legal.len());
    let total: f64 = found.iter().filter_map(|candidate| candidate.probability).sum();
    proptest::prop_assert!((total - 1.0).abs() < 1e-6, "probabilities sum to {}", total);
    for (one, other) in found.iter().zip(&judged) {
        proptest::prop_assert!((one.probability.unwrap() - other.probability.unwrap()).abs() < 1e-6);
    }
    Ok(())
}

/// Runs a property on so many invented kernels, the same for the same `SEQTUNE_TEST_SEED`.
fn hold(cases: u32, property: fn(&str, u32, u64) -> Result<(), TestCaseError>) {
    let settings = Cases { cases, failure_persistence: None, ..Cases::default() };
    let mut bytes = [24; 32];
    bytes.iter_mut().zip(seed().to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
    let mut runner = TestRunner::new_with_rng(settings, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let kernels = (proptest::num::u64::ANY, 1u32..200, proptest::num::u64::ANY);
    let run = |(invented, size, seed): (u64, u32, u64)| {
        let text = crate::invented::random_text(&mut ChaCha8Rng::seed_from_u64(invented));
        property(&text, size, seed).map_err(|e| TestCaseError::fail(format!("{e}\nM={size} on\n{text}")))
    };
    runner.run(&kernels, run).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn spaces_agree_with_trying_every_combination_by_an_evaluator_of_its_own() {
    hold(400, agrees);
}

#[test]
fn a_beam_of_full_width_finds_every_legal_config_with_its_probability() {
    hold(60, is_exhaustive_at_full_width);
}

/// Kernel, its model and its rules.
struct Subject {
    kernel: Kernel,
    model: Model,
    rules: Rules,
}

/// The shipped models with their kernels.
fn shipped() -> Vec<Subject> {
    let read = |path: String| std::fs::read_to_string(path).unwrap();
    let mut subjects = vec![Subject {
        kernel: Kernel::open("gemm").unwrap(),
        model: Model::load(Path::new("models/gemm-cpu")).unwrap(),
        rules: Rules::new(&[&read("kernels/gemm/kernel.toml".into())]),
    }];
    for folder in std::fs::read_dir("models/miopen").unwrap().map(|entry| entry.unwrap().path()) {
        if !folder.is_dir() {
            continue;
        }
        for name in Model::load(&folder).unwrap().meta.kernels() {
            let kernel = Kernel::open(name).unwrap();
            let own = read(format!("kernels/miopen/{name}/kernel.toml"));
            let base = own.parse::<toml::Table>().unwrap().get("base").and_then(|base| base.as_str()).map(String::from);
            let base = base.map(|base| read(format!("kernels/miopen/{name}/{base}"))).unwrap_or_default();
            subjects.push(Subject { rules: Rules::new(&[&base, &own]), kernel, model: Model::load(&folder).unwrap() });
        }
    }
    subjects
}

fn invent(rng: &mut ChaCha8Rng) -> Subject {
    let text = crate::invented::random_text(rng);
    let kernel = crate::invented::kernel(&text);
    Subject { model: crate::invented::model(&kernel, rng), rules: Rules::new(&[&text]), kernel }
}

/// A device of which any limit is halved, doubled, tiny or unknown.
fn random_device(rng: &mut ChaCha8Rng) -> Device {
    let name = ["A100", "H100", "MI250X", "MI100", "Radeon VII", "V100"].choose(rng).unwrap();
    let device = Device::find_described(name).unwrap_or_else(|_| Device::find_described("A100").unwrap());
    let mut value = serde_json::to_value(&device).unwrap();
    for (_, limit) in value["limits"].as_object_mut().unwrap() {
        *limit = match (rng.random_range(0..8), limit.as_f64()) {
            (0, Some(x)) => (x / 2.0).into(),
            (1, Some(x)) => (x * 2.0).into(),
            (2, Some(x)) if x > 64.0 => 64.0.into(),
            (3, _) => serde_json::Value::Null,
            _ => continue,
        };
    }
    serde_json::from_value(value).unwrap()
}

fn random_problem(kernel: &Kernel, rng: &mut ChaCha8Rng) -> Option<Problem> {
    let mut pairs = Vec::new();
    for field in &kernel.fields {
        if field.default.is_some() && rng.random_bool(0.7) {
            continue;
        }
        let (least, most) = (field.min, field.max.max(field.min).min(4096));
        let value = match field.labels.choose(rng) {
            Some(label) => label.clone(),
            // small ones as often as large ones
            None => ((most.max(1) as f64).powf(rng.random::<f64>()) as u64).clamp(least, most.max(least)).to_string(),
        };
        pairs.push(format!("{}={value}", field.name));
    }
    kernel.problem(&pairs.join(",")).ok()
}

/// Predicts so many problems of one subject; returns predictions, configs and refusals, and fails at an illegal config.
fn predict(subject: &Subject, count: usize, rng: &mut ChaCha8Rng) -> [usize; 3] {
    let Subject { kernel, model, rules } = subject;
    let predictor = Predictor::new(kernel, model).unwrap();
    let device = random_device(rng);
    let problems: Vec<Problem> = (0..20 * count).filter_map(|_| random_problem(kernel, rng)).take(count).collect();
    let query = Query { width: rng.random_range(1..8), top: rng.random_range(1..8), ..Query::new(&device) };
    let (limits, mut counts) = (limits(&device), [0; 3]);
    for problem in &problems {
        // a space without a legal config is refused with a sentence
        let found = predictor.predict_one(problem, &query).map(|found| found.candidates);
        counts[if found.is_ok() { 0 } else { 2 }] += 1;
        for candidate in found.unwrap_or_default() {
            let (problem, config) = (kernel.show_problem(problem), kernel.show_config(&candidate.config));
            let broken = rules.broken(&problem, &config, &limits);
            assert_eq!(broken, None, "{}: {config} of {problem} on {limits:?}", kernel.name);
            counts[1] += 1;
        }
    }
    counts
}

#[test]
fn no_prediction_of_any_problem_device_and_kernel_is_illegal() {
    let wanted: usize = std::env::var("SEQTUNE_PREDICTIONS").ok().map_or(2_000, |n| n.parse().unwrap());
    let (shipped, began) = (shipped(), Instant::now());
    let run = |part: u64| {
        let (mut rng, mut total, mut kernels) = (test_generator(part), [0; 3], shipped.len());
        while total[0] < wanted / 2 {
            // a shipped model takes longer to get ready than to predict
            let own = rng.random_bool(0.97).then(|| invent(&mut rng));
            kernels += own.is_some() as usize;
            let counts = match &own {
                Some(subject) => predict(subject, 10, &mut rng),
                None => predict(shipped.choose(&mut rng).unwrap(), 100, &mut rng),
            };
            total = std::array::from_fn(|i| total[i] + counts[i]);
        }
        (total, kernels)
    };
    let parts: Vec<([usize; 3], usize)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..2).map(|part| scope.spawn(move || run(part))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let sum = |of: fn(&([usize; 3], usize)) -> usize| parts.iter().map(of).sum::<usize>();
    let (predictions, configs, refused) = (sum(|p| p.0[0]), sum(|p| p.0[1]), sum(|p| p.0[2]));
    println!(
        "{predictions} predictions for {} kernels on as many devices: {configs} configs, none illegal; {refused} refused; {:.0} s",
        sum(|p| p.1),
        began.elapsed().as_secs_f64()
    );
    assert!(predictions >= wanted && configs >= predictions);
}

#[test]
fn a_model_answers_on_spaces_of_any_size_within_seconds_or_names_the_constraint() {
    let parameters: Vec<Vec<i64>> = (0..60).map(|_| (0..64).collect()).collect();
    let sum = (0..60).map(|at| format!("p{at}")).collect::<Vec<_>>().join(" + ");
    let mix = (0..60).map(|at| format!("{} * p{at}", at % 7 + 1)).collect::<Vec<_>>().join(" + ");
    let even = (0..60).map(|at| format!("2 * p{at} * p{}", (at * 7 + 3) % 60)).collect::<Vec<_>>().join(" + ");
    for (constraint, is_answered) in [
        ("p0 <= p59".to_string(), true),
        (format!("{sum} == 1000"), true),
        (format!("({sum}) % 64 == p59"), true),
        (format!("({mix}) % 61 == 7"), true),
        ("p59 == 64".to_string(), false),
        (format!("({even}) % 4 == 1"), false),
    ] {
        let text = crate::invented::text(&parameters, std::slice::from_ref(&constraint));
        let (kernel, rules) = (crate::invented::kernel(&text), Rules::new(&[&text]));
        let model = crate::invented::model(&kernel, &mut ChaCha8Rng::seed_from_u64(1));
        let device = Device::find_described("A100").unwrap();
        let problem = kernel.problem("M=100").unwrap();
        let began = processor_seconds();
        let found =
            Predictor::new(&kernel, &model).unwrap().predict_one(&problem, &Query { width: 5, ..Query::new(&device) });
        let seconds = processor_seconds() - began;
        let short: String = constraint.chars().take(30).collect();
        match &found {
            Ok(found) => {
                println!("`{short}...`: {} answers in {seconds:.2} s", found.candidates.len());
                let is_legal = |c: &seqtune_predict::Candidate| {
                    rules.broken("M=100", &kernel.show_config(&c.config), &limits(&device)).is_none()
                };
                assert!(
                    found.candidates.iter().all(is_legal) && found.candidates.is_empty() != is_answered,
                    "{constraint}"
                );
            }
            Err(error) => {
                println!("`{short}...`: refused in {seconds:.2} s: {error}");
                assert!(!is_answered, "{error}");
            }
        }
        // a debug build beside others that share the core's units; a release build takes less than two
        assert!(seconds < 20.0, "{constraint}: {seconds} s");
    }
}
