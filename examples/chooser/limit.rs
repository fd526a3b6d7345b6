//! A limit that drops in the middle. This machine has no counter of power, so power is modelled: what a call takes in joules is computed from
//! its arithmetic and the bytes that its tiles load, and divided by the time that is measured. Large tiles load less. At first nothing is
//! limited and time is minimised; in the middle a limit comes that, by what is known then, some config of every size keeps with a third to spare.

use crate::bench::Bench;
use seqtune_choose::{Chooser, Given, Goal, Measured, Options, Point};
use seqtune_kernel::error::Result;
use seqtune_predict::{Config, Kernel, Model, Predictor, Problem, Query};
use std::collections::HashMap;
use std::time::Instant;

const CALLS: usize = 600;
/// The limit as a multiple of what the size that is worst off needs at least.
const SPARE: f64 = 1.33;
/// Modelled joules of a floating-point operation and of a byte that a tile loads.
const PER_FLOP: f64 = 1e-11;
const PER_BYTE: f64 = 1e-9;
const SIZES: [&str; 6] = [
    "M=384,N=320,K=300",
    "M=500,N=400,K=200",
    "M=256,N=512,K=400",
    "M=450,N=300,K=350",
    "M=320,N=330,K=500",
    "M=512,N=384,K=250",
];

/// Modelled joules of a call: every tile loads its rows of A and its columns of B.
fn joules(kernel: &Kernel, problem: &Problem, config: &Config) -> f64 {
    let [m, n, k] = [0, 1, 2].map(|at| problem.values[at]);
    let [rows, columns] = ["MWG", "NWG"].map(|name| kernel.value(config, name).unwrap_or(1) as f64);
    let bytes = 4.0 * k * (m * (n / columns).ceil() + n * (m / rows).ceil());
    PER_FLOP * kernel.flops(problem) + PER_BYTE * bytes
}

/// The model's first three configs, and its first ones that take less and less.
fn points(kernel: &Kernel, bench: &Bench, predictor: &Predictor, problem: &Problem) -> Result<Vec<Point>> {
    let query = Query { top: 300, width: 300, ..Query::new(&bench.device) };
    let found = predictor.predict_one(problem, &query)?.candidates;
    let mut chosen = Vec::new();
    let mut least = f64::INFINITY;
    for candidate in &found {
        let taken = joules(kernel, problem, &candidate.config);
        if chosen.len() < 3 || taken < 0.8 * least {
            chosen.push(Point { config: candidate.config.clone(), time_us: candidate.time_us, joules: Some(taken) });
            least = least.min(taken);
        }
    }
    Ok(chosen)
}

/// The least watts of a problem's configs, as they are known.
fn least_watts(chooser: &Chooser, problem: &Problem) -> f64 {
    let known = chooser.standing(problem).map(|standing| standing.configs).unwrap_or_default();
    known.iter().map(|config| config.joules / config.time_us * 1e6).fold(f64::INFINITY, f64::min)
}

/// What the calls of one half took: milliseconds and watts of each.
#[derive(Default)]
struct Half {
    ms: Vec<f64>,
    watts: Vec<f64>,
}

/// The middle of some numbers; calls that were interrupted are outliers.
fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Half {
    fn add(&mut self, us: f64, joules: f64) {
        self.ms.push(us / 1e3);
        self.watts.push(joules / (us / 1e6));
    }

    /// Share of the calls from `from` on up to `to` that are above the limit.
    fn over(&self, limit: f64, from: usize, to: usize) -> f64 {
        let calls = &self.watts[from.min(self.watts.len())..to.min(self.watts.len())];
        calls.iter().filter(|watts| **watts > limit).count() as f64 / calls.len().max(1) as f64
    }

    fn row(&self, name: &str, limit: Option<f64>) -> String {
        let half = if limit.is_some() { "under the limit" } else { "before the limit" };
        let share = limit.map_or(String::new(), |limit| format!("{:.1} %", 100.0 * self.over(limit, 0, CALLS)));
        format!("| {name} | {half} | {:.2} | {:.2} | {share} |", median(&self.ms), median(&self.watts))
    }
}

pub fn run(bench: &mut Bench, kernel: &Kernel, model: &Model) -> Result<()> {
    let predictor = Predictor::new(kernel, model)?;
    let problems: Vec<Problem> = SIZES.iter().map(|text| kernel.problem(text)).collect::<Result<_>>()?;
    let mut table: HashMap<String, Vec<Point>> = HashMap::new();
    for problem in &problems {
        table.insert(kernel.show_problem(problem), points(kernel, bench, &predictor, problem)?);
    }
    let (named, of) = (kernel.clone(), table);
    let give = move |p: &Problem| of.get(&named.show_problem(p)).cloned().unwrap_or_default();
    let options = Options { top: 10, ..Options::default() };
    let chooser = Chooser::new(kernel, &bench.device, Box::new(Given::new("demonstration", give)), options)?;
    // what each size took last before the limit, kept for good
    let mut kept: HashMap<usize, Config> = HashMap::new();
    let mut halves: [[Half; 2]; 2] = Default::default();
    let mut limit = f64::INFINITY;
    for call in 0..CALLS {
        let half = (call >= CALLS / 2) as usize;
        if call == CALLS / 2 {
            limit = SPARE * problems.iter().map(|p| least_watts(&chooser, p)).fold(0.0, f64::max);
            chooser.set_goal(Goal { power_w: Some(limit), ..Goal::default() })?;
        }
        let at = call % problems.len();
        let problem = &problems[at];
        let pick = chooser.pick(problem)?;
        let config = pick.config();
        if half == 0 {
            kept.insert(at, config.clone());
        }
        let taken = joules(kernel, problem, config);
        let us = bench.call(problem, config)?.us;
        chooser.report(&pick, Measured { time_us: us, joules: Some(taken) })?;
        halves[0][half].add(us, taken);
        let fixed = kept.get(&at).unwrap_or(config);
        let us = bench.call(problem, fixed)?.us;
        halves[1][half].add(us, joules(kernel, problem, fixed));
    }
    println!("| strategy | calls | ms | modelled watts | calls above the limit |");
    println!("|---|---|---|---|---|");
    for (name, halves) in ["chooser", "kept from before"].iter().zip(&halves) {
        println!("{}", halves[0].row(name, None));
        println!("{}", halves[1].row(name, Some(limit)));
    }
    println!(
        "\n{CALLS} calls of {} sizes in turn, medians; after {} a limit of {limit:.2} W. Of the chooser's first 30 calls under it, {:.0} % are above \
         it, of its last 100 {:.0} %.",
        SIZES.len(),
        CALLS / 2,
        100.0 * halves[0][1].over(limit, 0, 30),
        100.0 * halves[0][1].over(limit, CALLS / 2 - 100, CALLS)
    );
    speed(&chooser, &problems[0])
}

/// What a settled choice costs.
fn speed(chooser: &Chooser, problem: &Problem) -> Result<()> {
    let times = 1_000_000;
    let began = Instant::now();
    let mut settled = 0;
    for _ in 0..times {
        settled += std::hint::black_box(chooser.pick(problem)?).is_settled() as usize;
    }
    let ns = began.elapsed().as_secs_f64() * 1e9 / times as f64;
    println!("\nA choice takes {ns:.0} ns ({:.0} % of these were settled).", 100.0 * settled as f64 / times as f64);
    Ok(())
}
