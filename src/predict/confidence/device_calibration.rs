//! What stated probabilities are worth by device: where a model learned, where it never was, and where a few problems were measured since.
//!
//! A model asked about a device that it was not trained on is as sure as ever, and right less often. How much less was learned by leaving
//! devices out, of many kernels at once (`scripts/figures/unseen.sh`): log-odds shrink by `UNSEEN_SLOPE`, and fall by `UNSEEN_LOSS` and by `LOSS_BY_DISTANCE` for each unit of
//! [`distance`]. What is said of a few problems of the device corrects that, as a line through the log-odds (Platt 1999) that is held to it.
//! The line holds for the first choice and for the first few together: it is learned of where in the ranking the best config stood.

use crate::confidence::calibration::{BestRank, TopPrediction, log_odds, logistic};
use crate::numeric::newton::{Derivatives, Newton, newton2};
use crate::search::candidate::Candidate;
use seqtune_kernel::Device;
use seqtune_kernel::elementary;
use seqtune_kernel::error::{Result, input};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What log-odds are multiplied by on any GPU that the model never saw, and on any CPU, where one compiler makes the same code of all. Of tuned
/// configs: no GPU was left out of sweeps, whose first choices are far less probable, and half the log-odds of those would raise them.
const UNSEEN_SLOPE: [f64; 2] = [0.5, 1.0];

/// Log-odds that are lost there besides.
const UNSEEN_LOSS: [f64; 2] = [0.9, 0.3];

/// Log-odds that are lost for each unit of distance.
const LOSS_BY_DISTANCE: f64 = 0.5;

/// Distance beyond which nothing more is lost: of none farther apart anything is known.
const MAX_DISTANCE: f64 = 3.0;

/// How strongly slope and offset are held to what would be without problems of a device: a few problems tell of the offset alone.
const PRIOR_STRENGTH: [f64; 2] = [20.0, 1.0];

/// A line through the log-odds of the most probable configs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlattScaling {
    /// Slope.
    pub slope: f64,
    /// Intercept, in log-odds.
    pub offset: f64,
}

impl PlattScaling {
    /// Probabilities as they are.
    pub const IDENTITY: PlattScaling = PlattScaling { slope: 1.0, offset: 0.0 };

    /// A probability as it turns out; what is impossible or certain stays so.
    pub fn corrected_probability(&self, probability: f64) -> f64 {
        match probability {
            none if none <= 0.0 => 0.0,
            all if all >= 1.0 => 1.0,
            some => logistic(self.slope * log_odds(some) + self.offset),
        }
    }

    /// The line under which first choices are as probable as they turn out right: logistic regression by Newton's method, whose slope and
    /// offset are held to those of `prior`, each as strongly as `4 * held` problems would. Learned towards the targets of Platt (1999), as if
    /// one more had been right and one wrong: a dozen problems that were all right make nothing certain.
    pub fn fit(firsts: &[TopPrediction], prior: PlattScaling, held: [f64; 2]) -> PlattScaling {
        let right = firsts.iter().filter(|first| first.best).count() as f64;
        let targets = [1.0 / (firsts.len() as f64 - right + 2.0), (right + 1.0) / (right + 2.0)];
        let derivatives = |[slope, offset]: [f64; 2]| {
            let mut g = [held[0] * (slope - prior.slope), held[1] * (offset - prior.offset)];
            let mut h = [held[0], 0.0, held[1]];
            for first in firsts {
                let x = log_odds(first.probability);
                let p = logistic(slope * x + offset);
                let (error, weight) = (p - targets[first.best as usize], p * (1.0 - p));
                g = [g[0] + error * x, g[1] + error];
                h = [h[0] + weight * x * x, h[1] + weight * x, h[2] + weight];
            }
            Derivatives { gradient: g, hessian: h }
        };
        let how = Newton { steps: 60, longest: [0.5, 0.5], least: [f64::NEG_INFINITY; 2] };
        let [slope, offset] = newton2([prior.slope, prior.offset], how, derivatives);
        match slope.is_finite() && offset.is_finite() && slope > 0.0 {
            true => PlattScaling { slope, offset },
            false => prior,
        }
    }

    /// The line under which the places where best configs stood are most probable, held to `prior` as strongly as [`PlattScaling::fit`] holds it:
    /// maximum likelihood of a logistic distribution that is known by intervals, which has one maximum, by Newton's method.
    pub fn fit_best_ranks(ranks: &[BestRank], prior: PlattScaling, held: [f64; 2]) -> PlattScaling {
        let derivatives = |[slope, offset]: [f64; 2]| {
            let mut g = [held[0] * (slope - prior.slope), held[1] * (offset - prior.offset)];
            let mut h = [held[0], 0.0, held[1]];
            for rank in ranks {
                let (line, upto) = (PlattScaling { slope, offset }, rank.ahead + rank.own);
                let all = (line.corrected_probability(upto) - line.corrected_probability(rank.ahead)).max(1e-12);
                let (mut first, mut second) = ([0.0; 2], [0.0; 3]);
                for (mass, sign) in [(upto, 1.0), (rank.ahead, -1.0)] {
                    let (x, p) = (log_odds(mass), line.corrected_probability(mass));
                    let density = sign * p * (1.0 - p) / all;
                    let bend = density * (1.0 - 2.0 * p);
                    first = [first[0] + density * x, first[1] + density];
                    second = [second[0] + bend * x * x, second[1] + bend * x, second[2] + bend];
                }
                g = [g[0] - first[0], g[1] - first[1]];
                h[0] += first[0] * first[0] - second[0];
                h[1] += first[0] * first[1] - second[1];
                h[2] += first[1] * first[1] - second[2];
            }
            Derivatives { gradient: g, hessian: h }
        };
        let how = Newton { steps: 200, longest: [0.2, 0.5], least: [0.02, f64::NEG_INFINITY] };
        let [slope, offset] = newton2([prior.slope, prior.offset], how, derivatives);
        match slope.is_finite() && offset.is_finite() {
            true => PlattScaling { slope, offset },
            false => prior,
        }
    }

    /// Probabilities of a problem's configs, best first, as they turn out: those of the first few together go through the line, for each
    /// number of them.
    pub(crate) fn correct_all(self, probabilities: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
        probabilities.scan((0.0, 0.0), move |(said, before), probability| {
            *said += probability;
            let now = self.corrected_probability(*said);
            Some(now - std::mem::replace(before, now))
        })
    }

    /// The same of candidates.
    pub fn correct(self, candidates: &mut [Candidate]) {
        let stated: Vec<f64> = candidates.iter().map(|c| c.probability.unwrap_or(0.0)).collect();
        candidates.iter_mut().zip(self.correct_all(stated.into_iter())).for_each(|(c, now)| c.probability = Some(now));
    }
}

/// A device that the model never saw, of which problems were measured since, or of which it learned from a few.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDevice {
    /// Its name.
    pub device: String,
    /// What stated probabilities are worth there.
    #[serde(rename = "line")]
    pub scaling: PlattScaling,
    /// Problems it was learned from.
    pub problems: usize,
}

/// What stated probabilities are worth by device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceCalibration {
    /// On devices that the model was trained on, where its calibration says nothing: of tuned configs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<PlattScaling>,
    /// On devices of which problems were measured since, or that a few problems were learned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasuredDevice>,
    /// Names of the devices whose times it learned from, of tuned configs, which have times of some devices only; `None` of sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<BTreeSet<String>>,
}

impl DeviceCalibration {
    /// What is known of nothing.
    pub fn is_empty(&self) -> bool {
        self.seen.is_none() && self.measured.is_empty() && self.timed.is_none()
    }

    /// Whether the model learned of tuned configs.
    pub fn is_of_tuned(&self) -> bool {
        self.timed.is_some() || self.seen.is_some()
    }

    /// Whether predicted times of a device rest on times: a model of tuned configs that saw none of it would tell those of another.
    pub fn knows_times(&self, device: &Device) -> bool {
        self.timed.as_ref().is_none_or(|names| names.iter().any(|name| device.is_called(name)))
    }

    /// What probabilities are worth on a device, of a model that was trained on `devices`.
    pub fn scaling(&self, device: &Device, devices: &[Device]) -> PlattScaling {
        match self.measured.iter().find(|m| m.device == device.name) {
            Some(measured) => measured.scaling,
            None if device.is_among(devices) => self.seen.unwrap_or(PlattScaling::IDENTITY),
            None => self.elsewhere(device, devices),
        }
    }

    /// The same of a device of which nothing is known.
    fn elsewhere(&self, device: &Device, devices: &[Device]) -> PlattScaling {
        let far = devices.iter().map(|d| distance(d, device)).min_by(f64::total_cmp).unwrap_or(0.0);
        let PlattScaling { slope, offset } = self.seen.unwrap_or(PlattScaling::IDENTITY);
        let kind = is_cpu(device) as usize;
        let shrinks = if self.is_of_tuned() { UNSEEN_SLOPE[kind] } else { 1.0 };
        PlattScaling {
            slope: shrinks * slope,
            offset: shrinks * offset - UNSEEN_LOSS[kind] - LOSS_BY_DISTANCE * far.min(MAX_DISTANCE),
        }
    }

    /// Learns what probabilities are worth on a device that the model never saw, of where best configs stand by the probabilities that the
    /// model states without any correction.
    pub fn measure(&mut self, device: &Device, devices: &[Device], ranks: &[BestRank]) -> MeasuredDevice {
        self.measured.retain(|m| m.device != device.name);
        let line = PlattScaling::fit_best_ranks(ranks, self.elsewhere(device, devices), PRIOR_STRENGTH);
        let measured = MeasuredDevice { device: device.name.clone(), scaling: line, problems: ranks.len() };
        self.measured.push(measured.clone());
        measured
    }

    /// Refuses numbers that no training finds.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input), always the same sentence.
    pub fn check(&self) -> Result<()> {
        let mut lines = self.seen.iter().chain(self.measured.iter().map(|m| &m.scaling));
        match lines.all(|l| l.slope.is_finite() && l.slope > 0.0 && l.offset.is_finite()) {
            true => Ok(()),
            false => input("its trust by device holds numbers that no training finds"),
        }
    }
}

fn is_cpu(device: &Device) -> bool {
    device.limits.is_cpu == Some(1.0)
}

/// How far two devices are apart: 1 for another maker of GPUs, 1 for another generation of the architecture, and 1 for each doubling of the
/// compute units. 0 of the same chip.
pub fn distance(a: &Device, b: &Device) -> f64 {
    let differs = |a: &str, b: &str| (!a.eq_ignore_ascii_case(b)) as u8 as f64;
    let units = match (a.limits.compute_units, b.limits.compute_units) {
        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => elementary::log2(a / b).abs(),
        _ => 0.0,
    };
    // CPUs of all makers run the same instructions
    let maker = if is_cpu(a) && is_cpu(b) { 0.0 } else { differs(&a.vendor, &b.vendor) };
    maker + differs(generation(&a.architecture), generation(&b.architecture)) + units
}

/// The architecture without the numbers of a chip: `sm_8` of `sm_86`, `gfx10` of `gfx1030`.
fn generation(architecture: &str) -> &str {
    let chip = if architecture.starts_with("gfx") { 2 } else { architecture.starts_with("sm_") as usize };
    architecture.get(..architecture.len().saturating_sub(chip)).unwrap_or(architecture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;
    use seqtune_kernel::Config;

    fn device(name: &str) -> Device {
        Device::find_described(name).unwrap()
    }

    #[test]
    fn a_device_is_the_farther_the_more_it_differs() {
        let [mi50, vega, mi300x, rx, a100, h100] =
            ["MI50", "RX Vega 56", "MI300X", "RX 6800 XT", "A100", "H100"].map(device);
        let far = [distance(&mi50, &mi50), distance(&mi50, &vega), distance(&mi50, &rx), distance(&mi50, &mi300x)];
        assert!(far[0] == 0.0 && far.is_sorted() && far[1] < 0.2, "{far:?}");
        assert!((1.0..1.5).contains(&distance(&a100, &h100)));
        assert!(distance(&a100, &mi50) > 2.0);
        assert_eq!(distance(&rx, &mi50), distance(&mi50, &rx));
    }

    #[test]
    fn no_config_of_a_model_of_sweeps_is_more_probable_where_it_never_was() {
        let [h200, rtx, mi50] = ["H200", "RTX 4090", "MI50"].map(device);
        for other in [&rtx, &mi50] {
            let line = DeviceCalibration::default().scaling(other, std::slice::from_ref(&h200));
            assert!(
                [1e-6, 0.001, 0.02, 0.3, 0.9, 0.999].iter().all(|p| line.corrected_probability(*p) < *p),
                "{line:?}"
            );
        }
    }

    #[test]
    fn times_are_told_where_some_were_learned_from() {
        let (mi50, mi300x) = (device("MI50"), device("MI300X"));
        assert!(DeviceCalibration::default().knows_times(&mi300x), "of sweeps, whose every config has a time");
        let trust = DeviceCalibration { timed: Some(["MI50".into()].into()), ..DeviceCalibration::default() };
        assert!(trust.knows_times(&mi50) && !trust.knows_times(&mi300x) && !trust.is_empty());
    }

    #[test]
    fn probabilities_fall_where_a_model_never_was_and_stay_where_it_learned() {
        let (mi50, vega, rx) = (device("MI50"), device("RX Vega 56"), device("RX 6800 XT"));
        let trust = DeviceCalibration::default();
        let at = |on: &Device, of: &[Device]| trust.scaling(on, of).corrected_probability(0.6);
        assert_eq!(trust.scaling(&mi50, std::slice::from_ref(&mi50)), PlattScaling::IDENTITY);
        assert!(at(&vega, std::slice::from_ref(&mi50)) < 0.4);
        assert!(at(&rx, std::slice::from_ref(&mi50)) < at(&vega, std::slice::from_ref(&mi50)));
        // the nearest of those that it saw counts
        assert_eq!(at(&vega, &[rx, mi50.clone()]), at(&vega, std::slice::from_ref(&mi50)));
    }

    /// Where the best of three configs stands, of which the first is said to be as probable as drawn, and the others share the rest.
    fn rank(truth: PlattScaling, rng: &mut ChaCha8Rng) -> BestRank {
        let said = rng.random_range(0.2..0.9);
        let masses = [0.0, said, 0.5 * (1.0 + said), 1.0];
        let drawn = rng.random::<f64>();
        let rank = (1..3).take_while(|rank| truth.corrected_probability(masses[*rank]) < drawn).count();
        BestRank { ahead: masses[rank], own: masses[rank + 1] - masses[rank] }
    }

    #[test]
    fn a_line_is_found_again_from_where_the_best_configs_stand() {
        let mut rng = test_generator(4);
        for truth in [
            PlattScaling { slope: 0.5, offset: -1.2 },
            PlattScaling::IDENTITY,
            PlattScaling { slope: 1.4, offset: 0.3 },
        ] {
            let ranks: Vec<BestRank> = (0..20_000).map(|_| rank(truth, &mut rng)).collect();
            let found = PlattScaling::fit_best_ranks(&ranks, PlattScaling::IDENTITY, [1.0; 2]);
            assert!(
                (found.slope - truth.slope).abs() < 0.05 && (found.offset - truth.offset).abs() < 0.05,
                "{found:?}"
            );
        }
        let prior = PlattScaling { slope: 0.7, offset: -0.4 };
        assert_eq!(PlattScaling::fit_best_ranks(&[], prior, PRIOR_STRENGTH), prior);
    }

    #[test]
    fn twenty_problems_of_a_device_bring_its_probabilities_near_to_what_is_right() {
        let (mi50, vega) = (device("MI50"), device("RX Vega 56"));
        let seen = std::slice::from_ref(&mi50);
        let truth = PlattScaling { slope: 1.0, offset: -0.2 };
        let mut rng = test_generator(5);
        let mut error = [0.0, 0.0];
        for _ in 0..50 {
            let drawn: Vec<BestRank> = (0..20).map(|_| rank(truth, &mut rng)).collect();
            let mut trust = DeviceCalibration::default();
            let gap = |line: PlattScaling| {
                (line.corrected_probability(0.55) - truth.corrected_probability(0.55)).abs() / 50.0
            };
            error[0] += gap(trust.scaling(&vega, seen));
            let measured = trust.measure(&vega, seen, &drawn);
            assert_eq!((measured.problems, measured.scaling), (20, trust.scaling(&vega, seen)));
            error[1] += gap(measured.scaling);
        }
        assert!(error[1] < 0.6 * error[0], "{error:?}");
    }

    #[test]
    fn a_corrected_answer_gives_any_first_few_together_what_the_line_says() {
        let candidate = |probability: f64| Candidate {
            config: Config(vec![0]),
            log_probability: probability.ln(),
            probability: Some(probability),
            time_us: None,
            joules: None,
            risk: None,
            measured: false,
        };
        let mut answer: Vec<Candidate> = [0.5, 0.3, 0.1].map(candidate).into();
        PlattScaling { slope: 0.8, offset: -1.0 }.correct(&mut answer);
        let now: Vec<f64> = answer.iter().filter_map(|c| c.probability).collect();
        let line = PlattScaling { slope: 0.8, offset: -1.0 };
        for (few, said) in [(1, 0.5), (2, 0.8), (3, 0.9)] {
            assert!((now[..few].iter().sum::<f64>() - line.corrected_probability(said)).abs() < 1e-12);
        }
        PlattScaling::IDENTITY.correct(&mut []);
    }
}
