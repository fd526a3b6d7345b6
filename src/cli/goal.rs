//! Options that say what predicted configs are to be best in.

use seqtune_console::value_parsers;
use seqtune_kernel::error::Result;
use seqtune_predict::{Model, Objective, Query};

/// What is minimised.
#[derive(clap::Args, Clone, Copy)]
pub struct Goal {
    /// Quantity to minimize
    #[arg(long, value_parser = value_parsers::objective(), default_value_t = Objective::Time)]
    pub objective: Objective,
    /// Minimize energy among configs that take at most this share longer than the fastest, 0 to 99 percent
    ///
    /// The model must have learned energy.
    #[arg(long, value_name = "PERCENT", value_parser = value_parsers::share(), conflicts_with = "objective")]
    pub within_time: Option<f64>,
}

impl Goal {
    /// Refuses a quantity that the model did not learn.
    ///
    /// # Errors
    /// `Error::Mismatch`, with what it learned.
    pub fn check(self, model: &Model) -> Result<()> {
        match self.within_time {
            Some(_) => model.check_objective(Objective::Energy),
            None => model.check_objective(self.objective),
        }
    }

    /// A query for that.
    pub fn ask(self, query: Query) -> Query {
        Query { objective: self.objective, within_time: self.within_time, ..query }
    }

    /// Whether the answer is the fastest config.
    pub fn is_time(self) -> bool {
        self.objective == Objective::Time && self.within_time.is_none()
    }
}
