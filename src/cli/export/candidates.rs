//! The best of the configs that an engine can launch, for problems that share a row of its table.

use seqtune_choose::Points;
use seqtune_choose::losses::{LossOptions, LossTable, speed_lost};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Device, Kernel, Problem};

/// Configs by what they lose.
pub struct JudgedConfigs {
    /// The configs.
    pub configs: Vec<Config>,
    /// By row and config: the predicted share of the speed that is lost, on average over the row's problems. Infinite where one of them forbids
    /// the config.
    losses: Vec<Vec<f64>>,
}

impl JudgedConfigs {
    /// Judges `candidates` on the problems of each row; without them those that the model names for the problems.
    ///
    /// # Errors
    /// As [`LossTable::predict`].
    pub fn judge(
        kernel: &Kernel,
        device: &Device,
        points: &dyn Points,
        rows: &[Vec<Problem>],
        candidates: Option<&[Config]>,
        options: &LossOptions,
    ) -> Result<JudgedConfigs> {
        let all: Vec<Problem> = rows.iter().flatten().cloned().collect();
        let table = match candidates {
            Some(configs) => LossTable::for_candidates(kernel, device, points, &all, configs, options)?,
            None => {
                let options = LossOptions { configs: options.configs.max(all.len()), ..options.clone() };
                LossTable::predict(kernel, points, &all, &options)?
            }
        };
        let mut of_problems = table.losses.iter();
        let mut mean = |problems: &Vec<Problem>| {
            let mut sum = vec![0.0; table.configs.len()];
            for losses in of_problems.by_ref().take(problems.len()) {
                let shares = losses.iter().map(|log| if log.is_finite() { speed_lost(*log) } else { f64::INFINITY });
                sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share / problems.len() as f64);
            }
            sum
        };
        let losses = rows.iter().map(&mut mean).collect();
        Ok(JudgedConfigs { configs: table.configs, losses })
    }

    /// The place of the config that loses least on a row; `None` where each is forbidden.
    pub fn best(&self, row: usize) -> Option<usize> {
        least(&self.losses[row])
    }

    /// The place of the config that loses least on average over all rows. Where it is forbidden it loses everything.
    pub fn best_for_all(&self) -> Option<usize> {
        let sum = |config: usize| self.losses.iter().map(|row| row[config].min(1.0)).sum();
        least(&(0..self.configs.len()).map(sum).collect::<Vec<f64>>())
    }

    /// What a config loses on a row more than the best one, as a share of the speed.
    pub fn lost(&self, row: usize, config: usize) -> f64 {
        let best = self.best(row).map_or(0.0, |best| self.losses[row][best]);
        self.losses[row][config] - best
    }
}

fn least(losses: &[f64]) -> Option<usize> {
    let finite = losses.iter().enumerate().filter(|(_, loss)| loss.is_finite());
    finite.min_by(|a, b| a.1.total_cmp(b.1)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqtune_choose::Point;
    use seqtune_kernel::{ConfigSpace, Objective};

    /// Three configs with times that were made up, by the columns of a problem.
    struct MadeUp(Vec<Config>);

    impl MadeUp {
        fn points(&self, problem: &Problem) -> Vec<Point> {
            let times = match problem.values[1] as u64 {
                64 => [1.0, 2.0, 1.5],
                128 => [4.0, 1.0, 1.1],
                _ => [3.0, 2.0, 2.1],
            };
            let point =
                |(config, us): (&Config, f64)| Point { config: config.clone(), time_us: Some(us), joules: None };
            self.0.iter().zip(times).map(point).collect()
        }
    }

    impl Points for MadeUp {
        fn best(&self, problem: &Problem, _: Objective, top: usize) -> Result<Vec<Point>> {
            let mut found = self.points(problem);
            found.sort_by(|a, b| a.time_us.unwrap().total_cmp(&b.time_us.unwrap()));
            found.truncate(top);
            Ok(found)
        }

        fn expect(&self, problem: &Problem, _: Objective, _: &Point, configs: &[Config]) -> Result<Vec<Point>> {
            Ok(self.points(problem).into_iter().filter(|point| configs.contains(&point.config)).collect())
        }

        fn identity(&self) -> String {
            "made up".into()
        }
    }

    #[test]
    fn rows_take_the_config_that_loses_least_over_their_problems() {
        let kernel = seqtune_console::inputs::kernel("softmax").unwrap();
        let device = Device::find_described("H200").unwrap();
        let problem = |columns: u64| kernel.problem(&format!("rows=64,columns={columns}")).unwrap();
        let mut configs: Vec<Config> = Vec::new();
        let visit = &mut |choices: &[seqtune_kernel::Choice]| {
            configs.push(Config(choices.to_vec()));
            configs.len() < 3
        };
        ConfigSpace::new(&kernel, &problem(64), &device).for_each(visit).unwrap();
        let points = MadeUp(configs.clone());
        let rows = [vec![problem(64), problem(128)], vec![problem(256)]];
        for candidates in [None, Some(&configs[..])] {
            let options = LossOptions::default();
            let judged = JudgedConfigs::judge(&kernel, &device, &points, &rows, candidates, &options).unwrap();
            let best = |row| &judged.configs[judged.best(row).unwrap()];
            // on the first row 37.5, 25 and 21 % of the speed are lost on average
            assert_eq!([best(0), best(1)], [&configs[2], &configs[1]]);
            let all = judged.best_for_all().unwrap();
            // over both rows 35, 12.5 and 13 % are lost on average
            assert_eq!(judged.configs[all], configs[1]);
            let third = (1.0 / 3.0 + 0.1 / 1.1) / 2.0;
            assert!((judged.lost(0, all) - (0.25 - third)).abs() < 1e-9 && judged.lost(1, all) == 0.0);
        }
    }
}
