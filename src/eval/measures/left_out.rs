//! What training makes of few sizes: figures on sizes that were left out in turn, and what more sizes would bring.

use seqtune_data::stats::quantile;
use seqtune_kernel::count_noun;
use serde::Serialize;
use std::collections::BTreeMap;

/// Problems that were left out in turn, each judged by a model that learned from the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOutInTurn {
    /// Models that were trained for it.
    pub folds: usize,
    /// Shapes that were left out, alone or several together.
    pub shapes: usize,
    /// Share of the best measured cost that the first choice reaches, of each problem.
    pub shares: Vec<f64>,
    /// The same of models that learned from half of the other shapes; empty where these would be too few.
    pub halved: Vec<f64>,
}

/// What the second half of the shapes brought to the mean share.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// Mean over problems, which are paired.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl LeftOutInTurn {
    /// Mean share of the best.
    pub fn mean(&self) -> f64 {
        mean(&self.shares)
    }

    /// The share that nine of ten problems reach.
    pub fn low(&self) -> f64 {
        let mut sorted = self.shares.clone();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, 0.1)
    }

    /// What the second half of the shapes brought; `None` where it was not measured.
    pub fn gain(&self) -> Option<Gain> {
        let (n, differences) =
            (self.shares.len() as f64, self.shares.iter().zip(&self.halved).map(|(all, half)| all - half));
        if self.halved.len() != self.shares.len() || self.shares.len() < 2 {
            return None;
        }
        let differences: Vec<f64> = differences.collect();
        let gain = mean(&differences);
        let variance = differences.iter().map(|d| (d - gain).powi(2)).sum::<f64>() / (n - 1.0);
        Some(Gain { mean: gain, error: (variance / n).sqrt() })
    }

    /// By name, for a model's scores.
    pub fn scores(&self) -> BTreeMap<String, f64> {
        let name = |what: &str| format!("left out in turn {what}");
        let mut scores = BTreeMap::from([
            (name("problems"), self.shares.len() as f64),
            (name("share of best, first choice"), self.mean()),
            (name("share of best, first choice, 10th percentile"), self.low()),
        ]);
        if let Some(Gain { mean, error }) = self.gain() {
            scores.insert(name("share that the second half of the sizes brought"), mean);
            scores.insert(name("share that the second half of the sizes brought, standard error"), error);
        }
        scores
    }

    /// The figures in a line, and what more sizes would bring in another.
    pub fn text(&self) -> String {
        let how = match self.folds == self.shapes {
            true => "each size left out in turn".to_string(),
            false => format!("sizes left out in turn, in {}", count_noun(self.folds, "fold")),
        };
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let mut text = format!(
            "{how}, one network each: the first choice reaches {} % of the best measured on average, {} % at the 10th percentile, of {}",
            percent(self.mean()),
            percent(self.low()),
            count_noun(self.shares.len(), "problem")
        );
        let Some(Gain { mean: gain, error }) = self.gain() else {
            return text
                + "\nmore sizes: half of these are too few to learn from, so what more would bring is not known; measure more";
        };
        let half = mean(&self.halved);
        let measured = format!(
            "\nmore sizes: with half as many, {} % on the same problems; the second half brought {} ± {} points",
            percent(half),
            percent(gain),
            percent(error)
        );
        text += &measured;
        text += match gain > 2.0 * error {
            true => ", and as many again would bring at most about as much",
            false => ", no more than chance: that more sizes would help is not seen",
        };
        text
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_of_pairs_and_says_whether_it_is_more_than_chance() {
        let figures =
            |halved: Vec<f64>| LeftOutInTurn { folds: 4, shapes: 4, shares: vec![0.9, 0.8, 1.0, 0.9], halved };
        let clear = figures(vec![0.8, 0.7, 0.91, 0.79]);
        let Gain { mean: gain, error } = clear.gain().unwrap();
        assert!((gain - 0.1).abs() < 1e-9 && (error - 0.00408).abs() < 1e-4, "{gain} {error}");
        assert!(clear.text().contains("each size left out in turn") && clear.text().contains("90.0 % of the best"));
        assert!(clear.text().contains("10.0 ± 0.4 points, and as many again would bring at most"), "{}", clear.text());
        let noisy = figures(vec![0.7, 1.0, 0.8, 1.0]);
        assert!(noisy.text().contains("no more than chance"), "{}", noisy.text());
        assert!(figures(Vec::new()).text().contains("too few to learn from"));
        assert_eq!(clear.scores()["left out in turn share of best, first choice"], clear.mean());
    }
}
