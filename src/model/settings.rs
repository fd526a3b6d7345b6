//! How to train.

use super::store::Hparams;
use crate::dataset::{Split, Table};
use crate::kernel::Kernel;

/// What the decoder is trained towards, where whole sweeps were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// The best measured config.
    Best,
    /// A distribution over all measured configs by how close each comes to the best.
    Soft,
}

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub hparams: Hparams,
    /// Networks that are trained from different seeds, and whose probabilities are averaged.
    pub members: usize,
    pub target: Target,
    /// Temperature of the soft target: 0.2 halves a config's weight at 14 % above the best. `None` chooses by the noise of the data,
    /// see [`Settings::fitted`].
    pub tau: Option<f64>,
    /// Passes over the training problems; `None` chooses for about [`STEPS`] updates.
    pub epochs: Option<usize>,
    /// Problems per update; fewer for a kernel of few tuned configs. `None` chooses by how many problems there are.
    pub batch: Option<usize>,
    /// Configs of each problem per update: two thirds by target weight, the rest at random. 1 for tuned configs.
    pub configs: usize,
    /// Highest learning rate.
    pub rate: f64,
    pub decay: f64,
    /// Share of each layer's output that training leaves out.
    pub dropout: f64,
    /// Share of the target that goes to all legal values alike.
    pub smoothing: f64,
    /// Compute in bfloat16; weights and their averages stay in single precision.
    pub half: bool,
    /// Problems per measured one that boosted trees label, as long as there are fewer than [`MOST_IMAGINED`] in all; 0 trains on
    /// measured problems alone.
    pub imagined: usize,
    /// Weight of the loss of each head that predicts a cost: time and energy.
    pub head: f64,
    /// Weight of the loss of what ranks finished configs, where whole sweeps were measured.
    pub rank: f64,
    /// Weight of the loss of their order.
    pub order: f64,
    pub split: Split,
    pub seed: u64,
    /// Command line, kept with the model.
    pub command: String,
    /// Seconds between checkpoints.
    pub checkpoint: u64,
}

/// Updates that the default number of epochs makes.
pub const STEPS: usize = 1_500;

/// Updates that go on from the weights of another model.
pub const REFINING_STEPS: usize = 300;

/// Stands for what is not known before examples are made.
const UNKNOWN: char = '*';

/// Whether a stored description is this one, whatever number stands for what is not known: that follows from data and settings.
pub(super) fn is_described(stored: &str, as_described: &str) -> bool {
    let Some((before, behind)) = as_described.split_once(UNKNOWN) else { return stored == as_described };
    let number = stored.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// Problems that are made up for where fewer were measured.
pub const MOST_IMAGINED: usize = 2_000;

impl Default for Settings {
    /// For sweeps.
    fn default() -> Self {
        Settings {
            hparams: Hparams::default(),
            members: 3,
            target: Target::Soft,
            tau: None,
            epochs: None,
            batch: None,
            configs: 32,
            rate: 1.5e-3,
            decay: 0.05,
            dropout: 0.0,
            smoothing: 0.0,
            half: fast_bfloat16(),
            imagined: 12,
            head: 0.3,
            rank: 2.0,
            order: 0.5,
            split: Split { seed: 1, test: 0.2, validation: 0.1, from: 0.0 },
            seed: 1,
            command: String::new(),
            checkpoint: 20,
        }
    }
}

impl Settings {
    /// For what tuners chose: one config per problem, and many problems.
    pub fn tuned() -> Settings {
        Settings {
            hparams: Hparams { width: 96, feed_forward: 192, ..Hparams::default() },
            target: Target::Best,
            members: 6,
            epochs: Some(12),
            batch: Some(128),
            configs: 1,
            rate: 1e-3,
            dropout: 0.15,
            half: fast_bfloat16(),
            imagined: 0,
            head: 0.03,
            rank: 0.0,
            order: 0.0,
            split: Split { seed: 1, test: 0.1, validation: 0.05, from: 0.0 },
            ..Settings::default()
        }
    }

    /// For going on from a model that learned from sweeps: a few minutes, in small steps.
    pub fn refining() -> Settings {
        Settings { rate: 4e-4, ..Settings::default() }
    }

    /// With what the data decide: a temperature of eight times the spread of a config's median, between 0.05 and 0.2 (what suits the A100
    /// data and a noisy virtual machine, LOG.md; 0.2 where no config was measured often enough), and batches of a seventieth of the problems, 16 to 48.
    pub fn fitted(&self, corpus: &[(Kernel, Table)], problems: usize) -> Settings {
        let spread = corpus.iter().filter_map(|(_, table)| table.spread()).max_by(f64::total_cmp);
        Settings {
            tau: self.tau.or(Some(spread.map_or(0.2, |spread| (8.0 * spread).clamp(0.05, 0.2)))),
            batch: self.batch.or(Some((problems / 70).clamp(16, 48))),
            ..self.clone()
        }
    }

    /// Problems that are made up beside so many measured ones.
    pub fn wanted(&self, measured: usize) -> usize {
        (self.imagined * measured).min(MOST_IMAGINED.saturating_sub(measured))
    }

    /// One line for a model's description; [`UNKNOWN`] stands for epochs that are not known yet.
    pub fn describe(&self, epochs: Option<usize>) -> String {
        let Settings { hparams: h, members, target, tau, batch, configs, rate, decay, head, seed, imagined, .. } = self;
        let Settings { dropout, smoothing, half, rank, order, .. } = self;
        let (tau, batch) = (tau.unwrap_or(f64::NAN), batch.unwrap_or(0));
        let epochs = epochs.map_or(UNKNOWN.to_string(), |epochs| epochs.to_string());
        let rank = if *rank > 0.0 {
            format!(", rank {rank}, order {order}, beside trees of values and lists")
        } else {
            String::new()
        };
        format!(
            "{members} x d {} heads {} ff {} layers {}+{}; {target:?} target, tau {tau}; {epochs} epochs, at most {batch} problems of {configs} configs an update; \
             {imagined} imagined problems per measured one; AdamW {rate} cosine, decay {decay}, dropout {dropout}, smoothing {smoothing}; head {head}{rank}; \
             {}; seed {seed}",
            h.width,
            h.heads,
            h.feed_forward,
            h.encoder_layers,
            h.decoder_layers,
            if *half { "bf16" } else { "f32" }
        )
    }
}

/// Whether the processor multiplies matrices of bfloat16 faster than of f32.
fn fast_bfloat16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_description_is_known_again_without_its_epochs_and_by_nothing_else() {
        let settings = Settings::default();
        let stored = settings.describe(Some(17));
        assert!(is_described(&stored, &settings.describe(None)) && is_described(&stored, &stored));
        assert!(!is_described(&stored, &settings.describe(Some(16))));
        assert!(!is_described(&stored, &Settings { seed: 2, ..settings.clone() }.describe(None)));
        assert!(!is_described(&stored, &format!("{}; from another", settings.describe(None))));
    }
}
