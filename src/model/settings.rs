//! How to train.

use super::store::Hparams;
use crate::dataset::Split;

/// What the decoder is trained towards.
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
    pub target: Target,
    /// Temperature of the soft target: 0.2 halves a config's weight at 14 % above the best.
    pub tau: f64,
    /// Passes over the training problems; `None` chooses for about [`STEPS`] updates.
    pub epochs: Option<usize>,
    /// Problems per update.
    pub batch: usize,
    /// Configs of each problem per update: half by target weight, half at random.
    pub configs: usize,
    /// Highest learning rate.
    pub rate: f64,
    pub decay: f64,
    /// Problems per measured one that the teacher labels; 0 trains on measured problems alone.
    pub imagined: usize,
    /// Weight of the time head's loss.
    pub head: f64,
    pub split: Split,
    pub seed: u64,
    /// Command line, kept with the model.
    pub command: String,
    /// Seconds between checkpoints.
    pub checkpoint: u64,
}

/// Updates that the default number of epochs makes.
pub const STEPS: usize = 1_500;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            hparams: Hparams::default(),
            target: Target::Soft,
            tau: 0.2,
            epochs: None,
            batch: 16,
            configs: 24,
            rate: 1.5e-3,
            decay: 0.05,
            imagined: 12,
            head: 0.3,
            split: Split { seed: 1, test: 0.2, validation: 0.1 },
            seed: 1,
            command: String::new(),
            checkpoint: 20,
        }
    }
}

impl Settings {
    /// One line for a model's description.
    pub fn describe(&self, epochs: usize) -> String {
        let Settings { hparams: h, target, tau, batch, configs, rate, decay, head, seed, imagined, .. } = self;
        format!(
            "d {} heads {} ff {} layers {}+{}; {target:?} target, tau {tau}; {epochs} epochs, {batch} problems of {configs} configs an update; \
             {imagined} imagined problems per measured one; AdamW {rate} cosine, decay {decay}; head {head}; seed {seed}",
            h.width, h.heads, h.feed_forward, h.encoder_layers, h.decoder_layers
        )
    }
}
