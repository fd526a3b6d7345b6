//! What the tests that train share.

use seqtune_predict::model::Split;
use seqtune_predict::{Hparams, Settings};

/// For a network that is trained in seconds, on one thread.
pub fn small_settings(epochs: usize) -> Settings {
    tch::set_num_threads(1);
    Settings {
        hparams: Hparams { width: 32, heads: 4, feed_forward: 64, encoder_layers: 1, decoder_layers: 1 },
        members: 1,
        bf16: false,
        epochs: Some(epochs),
        batch: Some(8),
        configs: 16,
        rate: 3e-3,
        pseudo_labels: 3,
        split: Split { seed: 1, test: 0.25, validation: 0.15, from: 0.0 },
        ..Settings::default()
    }
}
