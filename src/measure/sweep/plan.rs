//! Which configs of which problems a sweep measures.

use crate::batch::ProgramKey;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_data::MeasuredProblem;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits::PLAN;
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Which configs of each problem to measure.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// Every legal config.
    Exhaustive,
    /// So many per problem: the default, then configs of a pool that problems share (so that compiling is paid once), a
    /// share of them drawn fresh.
    Sample {
        /// Configs per problem.
        configs: usize,
        /// Configs of the pool.
        pool: usize,
        /// Problems that were swept before: those that share programs with them take what they had as their pool.
        swept: &'a [MeasuredProblem],
        /// Share of a problem's configs drawn for it alone, 0 to 1.
        fresh: f64,
    },
}

/// Refuses a plan of more configs than a sweep holds: so many for each of so many problems, in numbers that do not wrap.
///
/// # Errors
/// `Error::Input` that says how many there are.
pub fn check_size(configs: f64, problems: usize) -> Result<()> {
    let planned = configs * problems as f64;
    match planned > PLAN as f64 {
        true => input(format!(
            "the plan has {planned:.0} configs or more; {PLAN} are the most of one sweep: name fewer problems, or --sample fewer configs"
        )),
        false => Ok(()),
    }
}

/// A problem with the configs to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The problem.
    pub problem: Problem,
    /// Its configs, in the order in which they are measured.
    pub configs: Vec<Config>,
}

/// Problems with the configs to measure for each. The same arguments give the same plan.
///
/// # Errors
/// `Error::Input` where there are more configs than a sweep can hold, or a space can neither be counted nor looked ahead in.
pub fn plan(kernel: &Kernel, device: &Device, problems: &[Problem], choice: Choice, seed: u64) -> Result<Vec<Planned>> {
    let planner = Planner { kernel, device, seed };
    match choice {
        Choice::Exhaustive => {
            let mut planned = 0.0;
            for problem in problems {
                planned += planner.space(problem).counter().total().known_number().unwrap_or(f64::INFINITY);
                check_size(planned, 1)?;
            }
            on_threads(problems, cores(), |p| Ok(Planned { problem: p.clone(), configs: planner.all(p)? }))
        }
        Choice::Sample { configs, pool, swept, fresh } => {
            check_size(configs.max(pool) as f64, problems.len())?;
            let pools = planner.pools(problems, pool, swept, configs)?;
            let pool = |p: &Problem| pools.get(&ProgramKey::variant(kernel, p)).cloned().unwrap_or_default();
            on_threads(problems, cores(), |p| {
                Ok(Planned { problem: p.clone(), configs: planner.sample(p, configs, fresh, pool(p))? })
            })
        }
    }
}

/// Keeps `size` configs of a plan for all problems that share programs, those that most of them name early, and each problem's first, so that
/// few programs are compiled for many measurements. A problem's configs come the best first, and stay in that order.
pub fn pool_plan(kernel: &Kernel, plan: Vec<Planned>, size: usize) -> Vec<Planned> {
    let mut wanted: HashMap<ProgramKey, HashMap<&Config, f64>> = HashMap::new();
    for Planned { problem, configs } in &plan {
        let votes = wanted.entry(ProgramKey::variant(kernel, problem)).or_default();
        for (at, config) in configs.iter().enumerate() {
            *votes.entry(config).or_default() += 1.0 / (EARLY + at as f64);
        }
    }
    let pools: HashMap<ProgramKey, HashSet<Config>> = wanted
        .into_iter()
        .map(|(variant, votes)| {
            let mut votes: Vec<(&Config, f64)> = votes.into_iter().collect();
            votes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            (variant, votes.into_iter().take(size).map(|(config, _)| config.clone()).collect())
        })
        .collect();
    let keep = |Planned { problem, configs }: Planned| {
        let pool = &pools[&ProgramKey::variant(kernel, &problem)];
        let kept = configs.into_iter().enumerate().filter(|(at, config)| *at == 0 || pool.contains(config));
        Planned { problem, configs: kept.map(|(_, config)| config).collect() }
    };
    plan.into_iter().map(keep).collect()
}

/// Places within which an earlier one counts for little more.
const EARLY: f64 = 8.0;

struct Planner<'a> {
    kernel: &'a Kernel,
    device: &'a Device,
    seed: u64,
}

impl Planner<'_> {
    fn space(&self, problem: &Problem) -> ConfigSpace {
        ConfigSpace::new(self.kernel, problem, self.device)
    }

    /// Every legal config, in random order: what an interrupted sweep has measured is then a fair sample.
    fn all(&self, problem: &Problem) -> Result<Vec<Config>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut all = self.space(problem).counter().sample_distinct(usize::MAX, &mut rng)?;
        all.shuffle(&mut rng);
        Ok(all)
    }

    /// Pools of about `size` configs, each for the problems that share programs; larger where a problem would not find `count` legal ones.
    fn pools(
        &self,
        problems: &[Problem],
        size: usize,
        swept: &[MeasuredProblem],
        count: usize,
    ) -> Result<HashMap<ProgramKey, Vec<Config>>> {
        let mut known: HashMap<ProgramKey, BTreeSet<&Config>> = HashMap::new();
        for tried in swept {
            let configs = tried.results.iter().map(|trial| &trial.config);
            known.entry(ProgramKey::variant(self.kernel, &tried.problem)).or_default().extend(configs);
        }
        let mut members: Vec<(ProgramKey, Vec<&Problem>)> = Vec::new();
        for problem in problems {
            let variant = ProgramKey::variant(self.kernel, problem);
            match members.iter_mut().find(|(v, _)| *v == variant) {
                Some((_, list)) => list.push(problem),
                None => members.push((variant, vec![problem])),
            }
        }
        let pools = on_threads(&members, cores(), |(variant, list)| {
            // of its own: a pool does not depend on other variants
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            let mut pool = match known.get(variant) {
                Some(known) => known.iter().copied().cloned().collect(),
                None => self.draw_configs(list, size, &mut rng)?,
            };
            self.fill(&mut pool, list, count, &mut rng)?;
            Ok((variant.clone(), pool))
        })?;
        Ok(pools.into_iter().collect())
    }

    /// About `size` configs, drawn from the space of a few members each, as spaces may differ between problems.
    fn draw_configs(&self, problems: &[&Problem], size: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Config>> {
        let sources = problems.len().min(8);
        let mut pool = Vec::new();
        for i in 0..sources {
            let space = self.space(problems[i * problems.len() / sources]);
            pool.extend(space.counter().sample_distinct(size.div_ceil(sources), rng)?);
        }
        pool.sort();
        pool.dedup();
        pool.shuffle(rng);
        Ok(pool)
    }

    /// Adds what a problem lacks: the next ones like it find it there, so that it is compiled once.
    fn fill(&self, pool: &mut Vec<Config>, problems: &[&Problem], count: usize, rng: &mut ChaCha8Rng) -> Result<()> {
        for problem in problems {
            let space = self.space(problem);
            let found = pool.iter().filter(|config| space.is_legal(config)).count();
            if found < count {
                let mut more = space.counter().sample_distinct(count, rng)?;
                let known: HashSet<&Config> = pool.iter().collect();
                more.retain(|config| !known.contains(config));
                more.truncate(count - found);
                pool.extend(more);
            }
        }
        Ok(())
    }

    /// The default, a share of `fresh` configs, then those of the pool, `count` in all as far as there are so many.
    fn sample(&self, problem: &Problem, count: usize, fresh: f64, mut pool: Vec<Config>) -> Result<Vec<Config>> {
        let space = self.space(problem);
        // its own generator: a problem's configs do not depend on the problems before it
        let text = self.kernel.show_problem(problem);
        let stream = text.bytes().fold(self.seed, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3));
        let mut rng = ChaCha8Rng::seed_from_u64(stream);
        let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |config: Config, chosen: &mut Vec<Config>| {
            if chosen.len() < count && space.is_legal(&config) && seen.insert(config.clone()) {
                chosen.push(config);
            }
        };
        add(self.kernel.default_config(), &mut chosen);
        let mut counter = space.counter();
        // a fraction of a fresh config is drawn with that probability
        let expected = count as f64 * fresh;
        let fresh = expected.floor() as usize + (rng.random::<f64>() < expected.fract()) as usize;
        for config in counter.sample_distinct(fresh, &mut rng)? {
            add(config, &mut chosen);
        }
        pool.shuffle(&mut rng);
        pool.into_iter().for_each(|config| add(config, &mut chosen));
        if chosen.len() < count {
            for config in counter.sample_distinct(count, &mut rng)? {
                add(config, &mut chosen);
            }
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use seqtune_data::TriedConfig;
    use seqtune_data::{InvalidityKind, Outcome};

    #[test]
    fn a_plan_of_more_configs_than_a_sweep_holds_is_refused_whatever_wraps() {
        let device = Device::find_described("H100").unwrap();
        let kernel = Kernel::open("softmax").unwrap();
        let problems = vec![kernel.problem("rows=64,columns=512").unwrap(); 3];
        for (configs, pool) in [(usize::MAX, 1), (1, usize::MAX), (usize::MAX / 3 + 1, 1), (PLAN, 1)] {
            let choice = Choice::Sample { configs, pool, swept: &[], fresh: 0.0 };
            let said = plan(&kernel, &device, &problems, choice, 1).unwrap_err().to_string();
            assert!(said.contains("are the most of one sweep"), "{said}");
        }
        assert!(check_size(PLAN as f64, 1).is_ok() && check_size(f64::INFINITY, 1).is_err());
    }

    #[test]
    fn what_small_problems_lack_of_the_pool_is_drawn_once_for_all_of_them() {
        let device = Device::find_described("H100").unwrap();
        let kernel = Kernel::open("softmax").unwrap();
        // of few columns few configs of the pool are legal
        let small = |i: usize| kernel.problem(&format!("rows={},columns={}", 64 + i, 2 + i % 3)).unwrap();
        let problems: Vec<Problem> =
            (0..60).map(small).chain([kernel.problem("rows=64,columns=4096").unwrap()]).collect();
        let choice = Choice::Sample { configs: 40, pool: 50, swept: &[], fresh: 0.0 };
        let planned = plan(&kernel, &device, &problems, choice, 1).unwrap();
        assert!(planned.iter().all(|planned| planned.configs.len() == 40));
        let configs: HashSet<_> = planned.iter().flat_map(|planned| &planned.configs).collect();
        assert!(configs.len() < 150, "{} programs for {} measurements", configs.len(), 61 * 40);
    }

    #[test]
    fn further_problems_of_a_sweep_are_measured_with_its_configs_where_they_share_programs() {
        let device = Device::find_described("H100").unwrap();
        let kernel = Kernel::open("softmax").unwrap();
        let problem = |text: &str| kernel.problem(text).unwrap();
        let choice = |swept| Choice::Sample { configs: 10, pool: 20, swept, fresh: 0.0 };
        let before: Vec<Problem> = (0..40).map(|i| problem(&format!("rows={},columns=4096", 64 + i))).collect();
        let before = plan(&kernel, &device, &before, choice(&[]), 1).unwrap();
        let known: HashSet<Config> = before.iter().flat_map(|planned| planned.configs.clone()).collect();
        let failed = Outcome::invalid(InvalidityKind::Compile, "");
        let swept: Vec<MeasuredProblem> = before
            .into_iter()
            .map(|Planned { problem, configs }| {
                let results =
                    configs.into_iter().map(|config| TriedConfig { config, outcome: failed.clone() }).collect();
                MeasuredProblem { problem, device: 0, dataset: 0, results, library_us: None }
            })
            .collect();
        let further = [problem("rows=999,columns=2048"), problem("rows=999,columns=2048,dtype=f16")];
        let shared = |swept| {
            let planned = plan(&kernel, &device, &further, choice(swept), 2).unwrap();
            [0, 1].map(|at| planned[at].configs.iter().filter(|config| known.contains(config)).count())
        };
        let [alike, other] = shared(&swept);
        assert_eq!(alike, 10);
        assert!(other < 8 && shared(&[])[0] < 8, "another data type has other programs: {other}");
    }

    #[test]
    fn of_what_each_problem_names_the_pool_keeps_what_most_name_early_and_each_ones_first() {
        let kernel = Kernel::open("softmax").unwrap();
        let device = Device::find_described("H100").unwrap();
        let problem = |text: &str| kernel.problem(text).unwrap();
        let (a, b, c) =
            (problem("rows=64,columns=512"), problem("rows=65,columns=512"), problem("rows=9,columns=512,dtype=f16"));
        let space = ConfigSpace::new(&kernel, &a, &device);
        let x = space.counter().sample_distinct(4, &mut test_generator(1)).unwrap();
        let lists = [(a, [0, 1, 2, 3]), (b, [3, 1, 2, 0]), (c, [2, 3, 0, 1])];
        let planned =
            lists.map(|(problem, order)| Planned { problem, configs: order.map(|at| x[at].clone()).to_vec() });
        let plan = planned.to_vec();
        let kept = pool_plan(&kernel, plan, 1);
        // two problems share programs: what is second for both is named earlier than what is first for one; the third has other programs
        let orders: Vec<Vec<usize>> = kept
            .iter()
            .map(|planned| planned.configs.iter().map(|c| x.iter().position(|d| d == c).unwrap()).collect())
            .collect();
        assert_eq!(orders, [vec![0, 1], vec![3, 1], vec![2]]);
    }
}
