//! Prediction with some configs of the very problem measured.
//!
//! The posterior of a problem's coefficients ([`ErrorModel`]) is written by the covariances of configs (Gaussian process
//! regression, Rasmussen & Williams 2006), because few are measured. How probably each config is the best is counted over
//! draws from it (Matheron's rule).

use crate::confidence::calibration::{LOSS, RISK};
use crate::features::featurizer::Instance;
use crate::numeric::linear::{cholesky, dot, solve};
use crate::posterior::error_model::{ErrorModel, Observation, encoding};
use crate::prediction::Prediction;
use crate::predictor::Predictor;
use crate::search::candidate::{Candidate, Scored};
use crate::search::query::Query;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::elementary::{cos, exp, ln};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Count, Objective, Problem};

/// Legal configs that are all considered; of larger spaces, those that a beam of at least [`MIN_BEAM_WIDTH`] finds.
const MAX_ENUMERATED: u64 = 4_000;
pub(crate) const MIN_BEAM_WIDTH: usize = 256;

/// Draws of all costs, and their seed.
const DRAWS: usize = 1_000;
const SEED: u64 = 0x5e97;

/// What was measured of a config.
#[derive(Clone, Debug)]
pub struct MeasuredConfig {
    /// Legal config.
    pub config: Config,
    /// Microseconds, where measured.
    pub time_us: Option<f64>,
    /// Joules, where measured.
    pub joules: Option<f64>,
}

/// What the slopes of an error model multiply, of configs of one problem.
pub struct Regressors {
    /// Logarithm of the predicted cost of the config with the highest score; 0 where none is predicted.
    pub base: f64,
    /// By config, how far it is from that one in the logarithm of the predicted cost, and in the score.
    pub rows: Vec<[f64; 2]>,
}

impl Regressors {
    /// Of so many configs of which nothing is predicted.
    pub fn none(configs: usize) -> Regressors {
        Regressors { base: 0.0, rows: vec![[0.0; 2]; configs] }
    }
}

impl MeasuredConfig {
    fn cost(&self, of: Objective) -> Option<f64> {
        of.cost_of(self.time_us, self.joules).filter(|cost| cost.is_finite() && *cost > 0.0)
    }
}

impl Predictor {
    /// The best legal configs of a problem of which some were measured.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; [`Error::Input`](crate::Error::Input) where the model did not learn how its errors go together,
    /// [`Error::Config`](crate::Error::Config) where a measured config is illegal.
    pub fn predict_measured(&self, problem: &Problem, query: &Query, known: &[MeasuredConfig]) -> Result<Prediction> {
        let instance = self.instance(problem, query.device);
        instance.check(problem, query.device)?;
        let considered = self.configs_to_consider(&instance, problem, query)?;
        self.predict_measured_among(problem, query, known, considered)
    }

    /// As [`Predictor::predict_measured`], of `considered` and the measured configs alone: what replay asks.
    ///
    /// # Errors
    /// As [`Predictor::predict_measured`].
    #[doc(hidden)]
    pub fn predict_measured_among(
        &self,
        problem: &Problem,
        query: &Query,
        known: &[MeasuredConfig],
        considered: Vec<Config>,
    ) -> Result<Prediction> {
        let Some((error_model, parts)) = self.error_model().and_then(|l| Some((l, l.parts(query.objective)?))) else {
            return input(format!(
                "the model does not know how its errors of {} go together, so that measured configs tell nothing of others; train it again, or `seqtune calibrate` it with its own data",
                query.objective
            ));
        };
        if error_model.independent && known.iter().all(|known| known.cost(Objective::Time).is_none()) {
            // coefficients alone know nothing of the problem
            let all = Query { top: considered.len(), ..*query };
            let mut prediction = self.predict_among(problem, &all, &considered)?;
            prediction.candidates.truncate(query.top);
            return Ok(prediction);
        }
        let mut configs: Vec<Config> = known.iter().map(|known| known.config.clone()).collect();
        let is_new = |config: &Config| known.iter().all(|known| known.config != *config);
        configs.extend(considered.into_iter().filter(is_new));
        let instance = self.instance(problem, query.device);
        let encodings: Vec<Vec<f64>> = configs.iter().map(|c| encoding(&self.featurizer, &instance, c)).collect();
        let near = nearby(error_model, known, &encodings);
        let error_model = near.as_ref().unwrap_or(error_model);
        let (mut rows, mut scored) = (Vec::new(), Vec::new());
        for (at, quantity) in error_model.quantities.iter().enumerate() {
            let own = self.score(problem, query.device, quantity.objective, &configs)?;
            let Regressors { base, rows: regressors } = match error_model.independent {
                true => Regressors::none(own.len()),
                false => self.regressors(&own, quantity.objective),
            };
            for (i, x) in regressors.into_iter().enumerate() {
                let mean = base + dot(&quantity.slopes, &x) + error_model.offset(at, &encodings[i]);
                let measured = known.get(i).and_then(|known| known.cost(quantity.objective)).map(ln);
                rows.push(ExpectedRow {
                    mean,
                    spread: error_model.spread(at, &encodings[i]),
                    rest: quantity.rest,
                    measured,
                });
            }
            if at == parts[0] {
                scored = own;
            }
        }
        let Answer { mut candidates, unsure } =
            Belief::new(rows, configs.len(), parts).answer(error_model, configs, &scored, query);
        let least = self.least_us(problem, query.device);
        for candidate in &mut candidates {
            let is_measured = known.iter().any(|known| known.config == candidate.config);
            if !is_measured {
                candidate.time_us = candidate.time_us.map(|us| us.max(least));
            }
        }
        Ok(self.prediction(query, candidates, unsure))
    }

    /// Configs that may come first.
    fn configs_to_consider(&self, instance: &Instance, problem: &Problem, query: &Query) -> Result<Vec<Config>> {
        if matches!(instance.space.counter().total(), Count::Exactly(count) if count <= MAX_ENUMERATED) {
            let mut all = Vec::new();
            instance.space.for_each(&mut |choices| {
                all.push(Config(choices.to_vec()));
                true
            })?;
            return Ok(all);
        }
        let width = query.width.max(query.top).max(MIN_BEAM_WIDTH);
        let found = self.predict_one(problem, &Query { top: width, width, ..*query })?;
        Ok(found.candidates.into_iter().map(|candidate| candidate.config).collect())
    }

    /// What an error model's slopes multiply, of configs of one problem.
    #[doc(hidden)]
    pub fn regressors(&self, scored: &[Scored], of: Objective) -> Regressors {
        let log = |s: &Scored| {
            let predicted = of.cost_of(s.time_us, s.joules).filter(|cost| cost.is_finite() && *cost > 0.0);
            predicted.map_or(0.0, ln)
        };
        let pairs: Vec<[f64; 2]> = scored.iter().map(|s| [log(s), self.pooled_score(s)]).collect();
        let best = pairs.iter().copied().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap_or_default();
        let rows = pairs.into_iter().map(|pair| [pair[0] - best[0], pair[1] - best[1]]).collect();
        Regressors { base: best[0], rows }
    }

    /// The encoding of a config that coefficients of an error model multiply.
    #[doc(hidden)]
    pub fn encoding(&self, instance: &Instance, config: &Config) -> Vec<f64> {
        encoding(&self.featurizer, instance, config)
    }
}

/// The error model of learned problems that are like what was measured, where there is one.
fn nearby(error_model: &ErrorModel, known: &[MeasuredConfig], encodings: &[Vec<f64>]) -> Option<ErrorModel> {
    let of = |quantity: usize, known: &MeasuredConfig| known.cost(error_model.quantities[quantity].objective).map(ln);
    let seen = (0..error_model.quantities.len()).flat_map(|quantity| {
        let measured = known.iter().zip(encodings);
        measured
            .filter_map(move |(known, encoding)| Some(Observation { quantity, encoding, log: of(quantity, known)? }))
    });
    error_model.near(&seen.collect::<Vec<Observation>>())
}

/// What is expected of the logarithm of a quantity of a config, and what was measured.
struct ExpectedRow {
    mean: f64,
    spread: Vec<f64>,
    rest: f64,
    measured: Option<f64>,
}

/// The configs with the least expected costs, and whether the first may lose more than [`LOSS`] more often than [`RISK`].
struct Answer {
    candidates: Vec<Candidate>,
    unsure: bool,
}

/// What is believed of the logarithms of quantities: a row for each config of the first, then of the next.
struct Belief {
    rows: Vec<ExpectedRow>,
    configs: usize,
    /// Quantities that the objective is the product of.
    parts: Vec<usize>,
    /// Measured rows, and the factor of their covariance.
    known: Vec<usize>,
    factor: Vec<Vec<f64>>,
}

impl Belief {
    fn new(mut rows: Vec<ExpectedRow>, configs: usize, parts: Vec<usize>) -> Belief {
        let known: Vec<usize> = (0..rows.len()).filter(|i| rows[*i].measured.is_some()).collect();
        let covariance = |i: usize, j: usize| {
            let (a, b) = (&rows[known[i]], &rows[known[j]]);
            dot(&a.spread, &b.spread) + if i == j { a.rest } else { 0.0 }
        };
        let factor = cholesky(known.len(), &covariance);
        let off: Vec<f64> = known.iter().map(|i| rows[*i].measured.unwrap_or_default() - rows[*i].mean).collect();
        let shifts = shifts(&rows, &known, &factor, &off);
        for (row, shift) in rows.iter_mut().zip(shifts) {
            row.mean = row.measured.unwrap_or(row.mean + shift);
        }
        Belief { rows, configs, parts, known, factor }
    }

    /// The logarithm of the objective of a config by those of the rows.
    fn objective(&self, config: usize, of: &dyn Fn(usize) -> f64) -> f64 {
        self.parts.iter().map(|part| of(part * self.configs + config)).sum()
    }

    /// Whether all was measured of a config that makes the objective.
    fn is_measured(&self, config: usize) -> bool {
        self.parts.iter().all(|part| self.rows[part * self.configs + config].measured.is_some())
    }

    /// Variance of the logarithm of the objective.
    fn variance(&self, config: usize) -> f64 {
        let open: Vec<usize> = self.parts.iter().map(|part| part * self.configs + config).collect();
        let open: Vec<&ExpectedRow> =
            open.into_iter().map(|i| &self.rows[i]).filter(|row| row.measured.is_none()).collect();
        let Some(width) = open.first().map(|row| row.spread.len()) else { return 0.0 };
        let sum: Vec<f64> = (0..width).map(|k| open.iter().map(|row| row.spread[k]).sum()).collect();
        let mut solved: Vec<f64> = Vec::with_capacity(self.known.len());
        for (row, known) in self.factor.iter().zip(&self.known) {
            solved
                .push((dot(&sum, &self.rows[*known].spread) - dot(&row[..solved.len()], &solved)) / row[solved.len()]);
        }
        dot(&sum, &sum) - dot(&solved, &solved) + open.iter().map(|row| row.rest).sum::<f64>()
    }

    /// Draws the logarithms of all quantities.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let width = self.rows.first().map_or(0, |row| row.spread.len());
        let normal: Vec<f64> = (0..width).map(|_| gauss(rng)).collect();
        let own: Vec<f64> = self.rows.iter().map(|row| dot(&row.spread, &normal)).collect();
        let seen: Vec<f64> = self.known.iter().map(|i| own[*i] + self.rows[*i].rest.sqrt() * gauss(rng)).collect();
        let shifts = shifts(&self.rows, &self.known, &self.factor, &seen);
        let drawn = self.rows.iter().zip(own.iter().zip(shifts));
        drawn
            .map(|(row, (own, shift))| match row.measured {
                Some(log) => log,
                None => row.mean + own - shift + row.rest.sqrt() * gauss(rng),
            })
            .collect()
    }

    /// The configs with the least expected costs, and how probably each is the best.
    fn answer(&self, error_model: &ErrorModel, configs: Vec<Config>, scored: &[Scored], query: &Query) -> Answer {
        // by the mean of the cost, not of its logarithm: what is less known is riskier
        let risk = |i| self.objective(i, &|row| self.rows[row].mean) + 0.5 * self.variance(i);
        let risks: Vec<f64> = (0..configs.len()).map(risk).collect();
        let mut order: Vec<usize> = (0..configs.len()).collect();
        order.sort_by(|a, b| risks[*a].total_cmp(&risks[*b]));
        let (mut best, mut lossy) = (vec![0usize; configs.len()], 0);
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        for _ in 0..DRAWS {
            let drawn = self.draw(&mut rng);
            let costs: Vec<f64> = (0..configs.len()).map(|i| self.objective(i, &|row| drawn[row])).collect();
            let at = (0..costs.len()).fold(0, |best, i| if costs[i] < costs[best] { i } else { best });
            best[at] += 1;
            lossy += (exp(costs[at] - costs[order[0]]) < 1.0 - LOSS) as usize;
        }
        let quantity = |of: Objective, config: usize| {
            let at = error_model.quantities.iter().position(|q| q.objective == of)?;
            Some(exp(self.rows[at * self.configs + config].mean))
        };
        let candidate = |at: usize| Candidate {
            config: configs[at].clone(),
            log_probability: scored[at].log_probability,
            probability: Some(best[at] as f64 / DRAWS as f64),
            time_us: quantity(Objective::Time, at).or(scored[at].time_us),
            joules: quantity(Objective::Energy, at).or(scored[at].joules),
            risk: None,
            measured: self.is_measured(at),
        };
        let mut rows: Vec<usize> = order.iter().copied().take(query.top).collect();
        // whatever is guessed, the best that is known stands there
        let best_known = order.into_iter().filter(|at| self.is_measured(*at)).min_by(|a, b| {
            let cost = |at: usize| self.objective(at, &|row| self.rows[row].mean);
            cost(*a).total_cmp(&cost(*b))
        });
        rows.extend(best_known.filter(|best| !rows.contains(best)));
        let candidates = rows.into_iter().map(candidate).collect();
        Answer { candidates, unsure: lossy as f64 > RISK * DRAWS as f64 }
    }
}

/// What errors of the measured rows let expect of all.
fn shifts(rows: &[ExpectedRow], known: &[usize], factor: &[Vec<f64>], off: &[f64]) -> Vec<f64> {
    let weights = solve(factor, off);
    let width = rows.first().map_or(0, |row| row.spread.len());
    let mut direction = vec![0.0; width];
    for (weight, i) in weights.iter().zip(known) {
        direction.iter_mut().zip(&rows[*i].spread).for_each(|(sum, s)| *sum += weight * s);
    }
    rows.iter().map(|row| dot(&row.spread, &direction)).collect()
}

/// A normal deviate (Box & Muller 1958).
fn gauss(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * ln(1.0 - u)).sqrt() * cos(std::f64::consts::TAU * v)
}
