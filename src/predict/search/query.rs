//! The options of a prediction.

use seqtune_kernel::{Device, Objective};

/// Width of the beam that is searched where nothing else is asked for, and by which probabilities are stated.
pub const WIDTH: usize = 20;

/// What configs are wanted, and how they are searched for. [`Query::new`] asks for the fastest one:
///
/// ```
/// use seqtune_predict::{Device, Objective, Query};
///
/// let device = Device::find_described("A100")?;
/// let query = Query { top: 5, objective: Objective::Energy, ..Query::new(&device) };
/// assert_eq!((query.top, query.width), (5, 20));
/// # Ok::<(), seqtune_predict::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Device whose limits configs have to keep.
    pub device: &'a Device,
    /// Quantity that configs are ranked by.
    pub objective: Objective,
    /// Candidates returned per problem, best first.
    pub top: usize,
    /// Hypotheses of the beam; searched with at least `top`. Fewer than [`WIDTH`] are faster; where re-ranker and trees share the likelihood of
    /// what the beam finds, no probability is stated by so few (`crate::confidence::stated_probability`).
    pub width: usize,
    /// Threads that problems are spread over.
    pub threads: usize,
    /// Where it is set, the fewest joules are asked for among configs that are predicted to take at most this share longer than the fastest,
    /// whatever the objective says. The model must have learned energy.
    pub within_time: Option<f64>,
}

impl<'a> Query<'a> {
    /// The fastest config, by a beam of the usual width, on one thread.
    pub fn new(device: &'a Device) -> Query<'a> {
        Query { device, objective: Objective::Time, top: 1, width: WIDTH, threads: 1, within_time: None }
    }
}
