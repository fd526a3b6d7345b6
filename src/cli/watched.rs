//! A model's answers with their progress.

use seqtune_choose::{Point, Points};
use seqtune_console::progress::Bar;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Objective, Problem};
use std::sync::{Mutex, PoisonError};

/// A model's answers, with a bar that counts them.
pub struct Watched<P> {
    points: P,
    bar: Mutex<(Bar, usize)>,
}

impl<P: Points> Watched<P> {
    /// With a bar for so many questions.
    pub fn new(points: P, questions: usize) -> Watched<P> {
        Watched { points, bar: Mutex::new((Bar::new("problems asked", questions as u64), 0)) }
    }

    fn step(&self) {
        let (bar, done) = &mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        bar.move_to(*done, "answers of the model");
    }

    /// Takes the bar away.
    pub fn end(self) {
        self.bar.into_inner().unwrap_or_else(PoisonError::into_inner).0.end();
    }
}

impl<P: Points> Points for Watched<P> {
    fn best(&self, problem: &Problem, objective: Objective, top: usize) -> Result<Vec<Point>> {
        let found = self.points.best(problem, objective, top);
        self.step();
        found
    }

    fn expect(&self, problem: &Problem, objective: Objective, first: &Point, configs: &[Config]) -> Result<Vec<Point>> {
        let found = self.points.expect(problem, objective, first, configs);
        self.step();
        found
    }

    fn identity(&self) -> String {
        self.points.identity()
    }

    fn grounds(&self) -> String {
        self.points.grounds()
    }
}
