//! How a model is trained: kept with it, so that it can be made again, and known again by who would make the same.

use crate::model::split::Split;
use seqtune_kernel::error::{Result, input};
use serde::{Deserialize, Serialize};

/// Size of the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hparams {
    /// Width of the hidden states.
    pub width: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
    /// Width inside the feed-forward layers.
    pub feed_forward: usize,
    /// Layers of the encoder.
    pub encoder_layers: usize,
    /// Layers of the decoder.
    pub decoder_layers: usize,
}

impl Hparams {
    /// Refuses sizes that no network has.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) with what is allowed.
    pub fn check(&self) -> Result<()> {
        let layers = |n| (1..=64).contains(&n);
        match (1..=1_024).contains(&self.width)
            && (1..=self.width).contains(&self.heads)
            && self.width.is_multiple_of(self.heads)
            && (1..=65_536).contains(&self.feed_forward)
            && layers(self.encoder_layers)
            && layers(self.decoder_layers)
        {
            true => Ok(()),
            false => input(format!(
                "the width is 1 to 1024 and a multiple of the heads ({}), layers are 1 to 64",
                self.heads
            )),
        }
    }
}

impl Default for Hparams {
    fn default() -> Self {
        Hparams { width: 64, heads: 4, feed_forward: 128, encoder_layers: 2, decoder_layers: 2 }
    }
}

/// What the decoder is trained towards, where whole sweeps were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The best measured config.
    Best,
    /// A distribution over all measured configs by how close each comes to the best.
    Soft,
}

/// How to train.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Sizes of each network.
    #[serde(skip)]
    pub hparams: Hparams,
    /// Networks that are trained from different seeds, and whose probabilities are averaged.
    #[serde(skip)]
    pub members: usize,
    /// Target of the decoder.
    pub target: Target,
    /// Temperature of the soft target: 0.2 halves a config's weight at 14 % above the best. `None` chooses by the noise of the data,
    /// see `seqtune-train`.
    pub tau: Option<f64>,
    /// Passes over the training problems; `None` chooses for about 1500 updates.
    pub epochs: Option<usize>,
    /// Problems per update; fewer for a kernel of few tuned configs. `None` chooses by how many problems there are.
    pub batch: Option<usize>,
    /// Configs of each problem per update: two thirds by target weight, the rest at random. 1 for tuned configs.
    pub configs: usize,
    /// Highest learning rate.
    pub rate: f64,
    /// Weight decay.
    pub decay: f64,
    /// Share of each layer's output that training leaves out.
    pub dropout: f64,
    /// Share of the target that goes to all legal values alike.
    pub smoothing: f64,
    /// Whether products were computed in bfloat16, as those of some models before 24 November 2026 were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bf16: bool,
    /// Problems per measured one that boosted trees label, as long as there are fewer than `MOST_PSEUDO_LABELS` in all; 0 trains on
    /// measured problems alone.
    pub pseudo_labels: usize,
    /// Weight of the loss of each head that predicts a cost: time and energy.
    pub head: f64,
    /// Weight of the loss of what ranks finished configs, where whole sweeps were measured.
    pub rank: f64,
    /// Weight of the loss of their order.
    pub pairwise_weight: f64,
    /// Split of the shapes into training, validation and test.
    #[serde(skip)]
    pub split: Split,
    /// Seed of the training.
    pub seed: u64,
    /// Command line, kept with the model.
    #[serde(skip)]
    pub command: String,
    /// Seconds between checkpoints.
    #[serde(skip)]
    pub checkpoint: u64,
}

/// Problems that are made up for where fewer were measured.
pub const MOST_PSEUDO_LABELS: usize = 2_000;

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
            bf16: false,
            pseudo_labels: 12,
            head: 0.3,
            rank: 2.0,
            pairwise_weight: 0.5,
            split: Split { seed: 1, test: 0.2, validation: 0.1, from: 0.0 },
            seed: 1,
            command: String::new(),
            checkpoint: 20,
        }
    }
}

impl Settings {
    /// For what tuners chose: one config per problem, and many problems.
    pub fn for_tuned() -> Settings {
        Settings {
            hparams: Hparams { width: 96, feed_forward: 192, ..Hparams::default() },
            target: Target::Best,
            members: 6,
            epochs: Some(12),
            batch: Some(128),
            configs: 1,
            rate: 1e-3,
            dropout: 0.15,
            bf16: false,
            pseudo_labels: 0,
            head: 0.03,
            rank: 0.0,
            pairwise_weight: 0.0,
            split: Split { seed: 1, test: 0.1, validation: 0.05, from: 0.0 },
            ..Settings::default()
        }
    }

    /// For going on from a model that learned from sweeps: a few minutes, in small steps.
    pub fn refining() -> Settings {
        Settings { rate: 4e-4, ..Settings::default() }
    }

    /// For going on from a model that learned from tuned configs, with few of another device: a minute, in small steps.
    pub fn refining_tuned() -> Settings {
        Settings { rate: 3e-4, epochs: None, batch: Some(32), ..Settings::for_tuned() }
    }

    /// Problems that are made up beside so many measured ones.
    pub fn made_up_count(&self, measured: usize) -> usize {
        (self.pseudo_labels * measured).min(MOST_PSEUDO_LABELS.saturating_sub(measured))
    }

    /// Whether a model that was trained with these settings is what training with `asked` would make: without the number of epochs where
    /// that is left to the data, and whatever the command line and the pace of checkpoints.
    pub fn is_as_asked(&self, asked: &Settings) -> bool {
        let epochs = if asked.epochs.is_none() { None } else { self.epochs };
        *asked == Settings { epochs, command: asked.command.clone(), checkpoint: asked.checkpoint, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_again_without_their_epochs_and_by_nothing_else() {
        let asked = Settings::default();
        let made = Settings { epochs: Some(17), command: "another".into(), ..asked.clone() };
        assert!(made.is_as_asked(&asked) && made.is_as_asked(&made));
        assert!(!made.is_as_asked(&Settings { epochs: Some(16), ..asked.clone() }));
        assert!(!made.is_as_asked(&Settings { seed: 2, ..asked.clone() }));
        assert!(!made.is_as_asked(&Settings { members: 2, ..asked }));
    }
}
