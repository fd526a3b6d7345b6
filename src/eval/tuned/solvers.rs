//! Which solver of a convolution would be chosen by predicted times, where a find database has measured those of several.

use crate::tuned::answers::{Answer, TestSet};
use seqtune_data::MeasuredProblem;
use seqtune_data::formats::miopen::is_of_convolution;
use serde::Serialize;
use std::collections::HashMap;

/// A convolution on a device under one solver.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Device and convolution, without what is the solver's own.
    convolution: String,
    /// Solver, with what is its own of the problem.
    solver: String,
    /// Measured microseconds of its tuned config.
    measured_us: f64,
    /// Predicted microseconds of the first choice; `None` of problems to learn from.
    predicted_us: Option<f64>,
}

/// What choosing by predicted times is worth. Shares of the convolutions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SolverChoice {
    /// Held-out convolutions with times of two solvers or more.
    pub convolutions: usize,
    /// Solvers of one, on average.
    pub solvers: f64,
    /// Share where the solver with the lowest predicted time is the fastest, and the mean share of the best speed that it loses.
    pub predicted: [f64; 2],
    /// The same of the solver that loses least on average where it was learned, by direction.
    pub on_average: [f64; 2],
    /// The same of a solver at random, as expected.
    pub random: [f64; 2],
}

/// Times of a kernel's problems: to learn from, and held out with what the model predicts.
pub fn solver_times(asked: &TestSet, answers: &[Answer]) -> Vec<Timed> {
    let of = |tried: &MeasuredProblem, predicted_us: Option<f64>| {
        let measured_us = tried.tuned_config()?.outcome.time_us()?;
        let problem = asked.kernel.show_problem(&tried.problem);
        let (convolution, own): (Vec<&str>, Vec<&str>) = problem
            .split(',')
            .partition(|field| field.split_once('=').is_some_and(|(name, _)| is_of_convolution(name)));
        let convolution = [&[asked.device(tried).name.as_str()], &convolution[..]].concat().join(",");
        let solver = [&[asked.kernel.name.as_str()], &own[..]].concat().join(",");
        Some(Timed { convolution, solver, measured_us, predicted_us })
    };
    let learned = asked.train.iter().filter_map(|tried| of(tried, None));
    let judged = asked.judged.iter().zip(answers).filter_map(|(tried, answer)| of(tried, Some(answer.time_us?)));
    learned.chain(judged).collect()
}

/// Judges choices among the solvers of all kernels; `None` where no convolution has times of several.
pub fn choice(all: &[&Timed]) -> Option<SolverChoice> {
    let groups = |held_out: bool| {
        let mut by: HashMap<&str, Vec<&Timed>> = HashMap::new();
        all.iter()
            .filter(|t| t.predicted_us.is_some() == held_out)
            .for_each(|t| by.entry(&t.convolution).or_default().push(t));
        by.into_iter().filter(|(_, of)| of.len() > 1).collect::<Vec<_>>()
    };
    let best = |of: &[&Timed]| of.iter().map(|t| t.measured_us).fold(f64::INFINITY, f64::min);
    let mut slower: HashMap<(&str, &str), (f64, f64)> = HashMap::new();
    for (convolution, of) in groups(false) {
        for t in &of {
            let sum = slower.entry((direction(convolution), &t.solver)).or_default();
            *sum = (sum.0 + (t.measured_us / best(&of)).ln(), sum.1 + 1.0);
        }
    }
    let judged = groups(true);
    let (n, mut predicted, mut on_average, mut random) = (judged.len() as f64, [0.0; 2], [0.0; 2], [0.0; 2]);
    for (convolution, of) in &judged {
        let lost = |t: &Timed| 1.0 - best(of) / t.measured_us;
        let count = |[fastest, loss]: &mut [f64; 2], t: &Timed, weight: f64| {
            *fastest += weight * (lost(t) == 0.0) as u8 as f64;
            *loss += weight * lost(t);
        };
        let mean =
            |t: &Timed| slower.get(&(direction(convolution), &t.solver)).map_or(f64::INFINITY, |(sum, n)| sum / n);
        let by = |score: &dyn Fn(&Timed) -> f64| of.iter().copied().min_by(|a, b| score(a).total_cmp(&score(b)));
        by(&|t| t.predicted_us.unwrap_or(f64::INFINITY)).iter().for_each(|t| count(&mut predicted, t, 1.0 / n));
        by(&mean).iter().for_each(|t| count(&mut on_average, t, 1.0 / n));
        of.iter().for_each(|t| count(&mut random, t, 1.0 / (n * of.len() as f64)));
    }
    let solvers = judged.iter().map(|(_, of)| of.len()).sum::<usize>() as f64 / n;
    (!judged.is_empty()).then_some(SolverChoice { convolutions: judged.len(), solvers, predicted, on_average, random })
}

fn direction(convolution: &str) -> &str {
    convolution.split(',').find(|field| field.starts_with("direction=")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solver_with_the_lowest_predicted_time_is_judged_by_measured_times() {
        let timed = |convolution: &str, solver: &str, measured_us: f64, predicted_us: Option<f64>| Timed {
            convolution: convolution.into(),
            solver: solver.into(),
            measured_us,
            predicted_us,
        };
        let all = [
            timed("direction=F,N=1", "A", 1.0, None),
            timed("direction=F,N=1", "B", 2.0, None),
            // predicted right, and wrong at half the speed
            timed("direction=F,N=2", "A", 4.0, Some(5.0)),
            timed("direction=F,N=2", "B", 3.0, Some(4.0)),
            timed("direction=F,N=4", "A", 10.0, Some(9.0)),
            timed("direction=F,N=4", "B", 5.0, Some(9.5)),
            timed("direction=B,N=4", "B", 5.0, Some(9.5)),
        ];
        let found = choice(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.convolutions, found.solvers), (2, 2.0));
        assert_eq!(found.predicted, [0.5, 0.25]);
        assert_eq!(found.on_average, [0.0, 0.375]);
        assert_eq!(found.random, [0.5, 0.1875]);
        assert!(choice(&all[..4].iter().take(3).collect::<Vec<_>>()).is_none());
    }
}
