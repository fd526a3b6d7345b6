//! The stream: 2,000 calls of 60 sizes, each call made under every strategy in turn, so that all meet the same load.

use crate::bench::Bench;
use crate::plot;
use crate::strategies::{CALLS, Spent, Strategy, TRIED, Way, pool};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_data::Dataset;
use seqtune_kernel::error::Result;
use seqtune_predict::{Kernel, Model, Predictor, Problem};
use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

const SIZES: usize = 60;
const STREAM: usize = 2_000;
/// Random configs that searches draw from.
const POOL: usize = 24;

/// Sizes that are in none of the shipped sweeps of gemm, evenly on a logarithmic scale.
fn sizes(kernel: &Kernel, bench: &Bench, rng: &mut ChaCha8Rng) -> Result<Vec<Problem>> {
    let mut swept = HashSet::new();
    for name in ["cpu-epyc-2c", "cpu-xeon-2c", "cpu-skylake-2c"] {
        let dataset = Dataset::load(Path::new(&format!("datasets/gemm/{name}.sqt")))?;
        for record in &dataset.records {
            swept.insert(record.problem.to_string());
        }
    }
    let swept: HashSet<String> = swept.iter().filter_map(|p| Some(kernel.shape(&kernel.problem(p).ok()?))).collect();
    let mut found: Vec<Problem> = Vec::new();
    while found.len() < SIZES {
        let mut size = |least: f64, most: f64| (least * (most / least).powf(rng.random())).round();
        let text = format!("M={},N={},K={}", size(16.0, 800.0), size(16.0, 800.0), size(16.0, 800.0));
        let problem = kernel.problem(&text)?;
        let work = (4e5..1.5e8).contains(&kernel.flops(&problem));
        if work && bench.fits(&problem) && !swept.contains(&kernel.shape(&problem)) && !found.contains(&problem) {
            found.push(problem);
        }
    }
    Ok(found)
}

/// Which size each call is of: the r-th has a share in proportion to 1 / r (Zipf).
fn order(rng: &mut ChaCha8Rng) -> Vec<usize> {
    let weights: Vec<f64> = (1..=SIZES).map(|rank| 1.0 / rank as f64).collect();
    let total: f64 = weights.iter().sum();
    let draw = |_| {
        let mut left = rng.random::<f64>() * total;
        let reached = |weight: &f64| {
            left -= weight;
            left < 0.0
        };
        weights.iter().position(reached).unwrap_or(SIZES - 1)
    };
    (0..STREAM).map(draw).collect()
}

pub fn run(bench: &mut Bench, kernel: &Kernel, model: &Model, folder: &Path) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let problems = sizes(kernel, bench, &mut rng)?;
    let order = order(&mut rng);
    let pool = pool(kernel, bench, &problems, POOL)?;
    let reference = kernel.problem("M=256,N=256,K=256")?;
    eprintln!("compiling and measuring {} configs for tuning once", pool.len());
    let once = Strategy::tuned_once(bench, &pool, &reference, SIZES)?;
    let setup = bench.mean_setup_us();
    let predictor = Box::new(Predictor::new(kernel, model)?);
    let mut strategies = vec![
        Strategy::new("default", Way::Always(kernel.default_config()), SIZES),
        once,
        Strategy::new("searched first", Way::Searched(pool), SIZES),
        Strategy::new("predicted only", Way::Predicted(predictor), SIZES),
        Strategy::chosen("chooser", bench, kernel, model, 0.0)?,
        Strategy::chosen("chooser, set-up counted", bench, kernel, model, setup)?,
    ];
    let began = Instant::now();
    for (call, at) in order.iter().enumerate() {
        for turn in 0..strategies.len() {
            // none is always the first after another
            let turn = (turn + call) % 6;
            strategies[turn].call(bench, (*at, &problems[*at]))?;
        }
        if call + 1 == STREAM / 2 {
            strategies.iter_mut().for_each(|s| s.spent.late_us = -s.spent.kernels);
        }
        if call % 100 == 99 {
            eprintln!("{} of {STREAM} calls, {:.0} s", call + 1, began.elapsed().as_secs_f64());
            bench.keep_costs()?;
        }
    }
    strategies.iter_mut().for_each(|s| s.spent.late_us += s.spent.kernels);
    table(bench, &strategies);
    plot::courses(&folder.join("chooser.svg"), &strategies)
}

fn table(bench: &Bench, strategies: &[Strategy]) {
    println!(
        "| strategy | kernels | search | predicting, choosing | running in all | configs | compiling | all | pays after |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let per_call = |spent: &Spent| spent.late_us / (STREAM / 2) as f64;
    let default = &strategies[0].spent;
    for Strategy { name, spent, .. } in strategies {
        let s = |us: f64| format!("{:.2}", us / 1e6);
        let (saved, paid) = (per_call(default) - per_call(spent), spent.fixed() - default.fixed());
        let after = match paid > 0.0 {
            _ if std::ptr::eq(spent, default) => String::new(),
            _ if saved <= 0.0 => "never".into(),
            true => format!("{:.0},000 calls", (paid / saved / 1e3).ceil()),
            false => "at once".into(),
        };
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {after} |",
            s(spent.kernels),
            s(spent.search),
            s(spent.thought),
            s(spent.running()),
            spent.configs.len(),
            s(spent.compiled),
            s(spent.running() + spent.compiled)
        );
    }
    println!(
        "\nSeconds on {}: {STREAM} calls of {SIZES} sizes. A search tries {TRIED} of {POOL} random configs {CALLS} times each at a size's first \
         call; tuned once: the best of those {POOL} at M=N=K=256. Each distinct config is compiled once, {:.2} s on average. Pays after: calls \
         of such a stream after which compiling, searching and predicting cost less than they gained on the default, by the kernels of the second half.",
        bench.device.name,
        bench.mean_setup_us() / 1e6
    );
}
