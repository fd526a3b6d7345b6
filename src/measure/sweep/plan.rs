//! Which configs of which problems a sweep measures.

use crate::batch::ProgramKey;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use std::collections::{HashMap, HashSet};

/// Which configs of each problem to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// Every legal config.
    Exhaustive,
    /// So many per problem: the default, then configs of a pool that problems share (so that compiling is paid once), a
    /// share of them drawn fresh.
    Sample { configs: usize, pool: usize, fresh: f64 },
}

/// Problems with the configs to measure for each. The same arguments give the same plan.
pub fn plan(
    kernel: &Kernel,
    device: &Device,
    problems: &[Problem],
    choice: Choice,
    seed: u64,
) -> Vec<(Problem, Vec<Config>)> {
    let mut pools: HashMap<ProgramKey, Vec<Config>> = HashMap::new();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    if let Choice::Sample { pool, .. } = choice {
        let variant = |p: &Problem| ProgramKey::variant(kernel, p);
        let mut members: Vec<(ProgramKey, Vec<&Problem>)> = Vec::new();
        for problem in problems {
            let variant = variant(problem);
            match members.iter_mut().find(|(v, _)| *v == variant) {
                Some((_, list)) => list.push(problem),
                None => members.push((variant, vec![problem])),
            }
        }
        for (variant, list) in members {
            // drawn from the space of a few members each, as spaces may differ between problems
            let sources = list.len().min(8);
            let mut drawn = Vec::new();
            for i in 0..sources {
                let space = ConfigSpace::new(kernel, list[i * list.len() / sources], device);
                drawn.extend(space.counter().sample_distinct(pool.div_ceil(sources), &mut rng));
            }
            drawn.sort();
            drawn.dedup();
            drawn.shuffle(&mut rng);
            pools.insert(variant, drawn);
        }
    }
    let configs_of = |problem: &Problem| {
        let space = ConfigSpace::new(kernel, problem, device);
        let Choice::Sample { configs, fresh, .. } = choice else {
            return space.counter().sample_distinct(usize::MAX, &mut ChaCha8Rng::seed_from_u64(seed));
        };
        // its own generator: a problem's configs do not depend on the problems before it
        let text = kernel.show_problem(problem);
        let stream = text.bytes().fold(seed, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3));
        let mut rng = ChaCha8Rng::seed_from_u64(stream);
        let mut chosen = Vec::new();
        let mut seen = HashSet::new();
        let default = kernel.default_config();
        let mut add = |config: Config, chosen: &mut Vec<Config>| {
            if chosen.len() < configs && space.is_legal(&config) && seen.insert(config.clone()) {
                chosen.push(config);
            }
        };
        add(default, &mut chosen);
        let mut counter = space.counter();
        // a fraction of a fresh config is drawn with that probability
        let expected = configs as f64 * fresh;
        let fresh = expected.floor() as usize + (rng.random::<f64>() < expected.fract()) as usize;
        for config in counter.sample_distinct(fresh, &mut rng) {
            add(config, &mut chosen);
        }
        let mut pool = pools.get(&ProgramKey::variant(kernel, problem)).cloned().unwrap_or_default();
        pool.shuffle(&mut rng);
        for config in pool {
            add(config, &mut chosen);
        }
        if chosen.len() < configs {
            for config in counter.sample_distinct(configs, &mut rng) {
                add(config, &mut chosen);
            }
        }
        chosen
    };
    problems.iter().map(|p| (p.clone(), configs_of(p))).collect()
}
