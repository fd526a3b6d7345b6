//! What tells one model from others, and what it can be asked for.

use crate::model::settings::{Hparams, Settings, Target};
use crate::model::split::Split;
use crate::model::trained::{Meta, Model};
use seqtune_kernel::canonical::{Canonical, structure};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Objective, hex};
use sha2::{Digest, Sha256};

impl Model {
    /// Refuses an objective that the model's data did not measure.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where it was trained for other objectives.
    pub fn check_objective(&self, objective: Objective) -> Result<()> {
        match self.meta.objectives.contains(&objective) {
            true => Ok(()),
            false => Err(Error::Mismatch(format!(
                "the model was not trained for {objective}: its data had no energy; sweep with --energy and train"
            ))),
        }
    }

    /// What tells a model's file from others, in 16 hexadecimal digits: the beginning of its checksum. The same file gives the same answers
    /// on every host. A model that was not read from a file has that of its training.
    pub fn digest(&self) -> String {
        self.checksum.as_deref().and_then(|sum| sum.get(..16)).map_or_else(|| self.training_digest(), String::from)
    }

    /// What tells a training from others, in 16 hexadecimal digits: of its data, settings and scores. All forms of a model have it in common.
    pub fn training_digest(&self) -> String {
        let Meta { data, scores, parent, .. } = &self.meta;
        let all = [data.canonical(), self.meta.trained_as().canonical(), parent.canonical(), scores.canonical()];
        hex(&Sha256::digest(all.join(" "))[..8])
    }

    /// Number of weights.
    pub fn size(&self) -> usize {
        self.weights.values().map(|array| array.values.len()).sum()
    }
}

impl Canonical for Hparams {
    fn canonical(&self) -> String {
        let Hparams { width, heads, feed_forward, encoder_layers, decoder_layers } = self;
        structure(
            "Hparams",
            &[
                ("width", width),
                ("heads", heads),
                ("feed_forward", feed_forward),
                ("encoder_layers", encoder_layers),
                ("decoder_layers", decoder_layers),
            ],
        )
    }
}

impl Canonical for Target {
    fn canonical(&self) -> String {
        match self {
            Target::Best => "Best",
            Target::Soft => "Soft",
        }
        .into()
    }
}

impl Canonical for Split {
    fn canonical(&self) -> String {
        let Split { seed, test, validation, from } = self;
        structure("Split", &[("seed", seed), ("test", test), ("validation", validation), ("from", from)])
    }
}

impl Canonical for Settings {
    fn canonical(&self) -> String {
        // all of them, so that a new one cannot be forgotten here
        let Settings {
            hparams,
            members,
            target,
            tau,
            epochs,
            batch,
            configs,
            rate,
            decay,
            dropout,
            smoothing,
            bf16,
            pseudo_labels,
            head,
            rank,
            pairwise_weight,
            split,
            seed,
            command,
            checkpoint,
        } = self;
        structure(
            "Settings",
            &[
                ("hparams", hparams),
                ("members", members),
                ("target", target),
                ("tau", tau),
                ("epochs", epochs),
                ("batch", batch),
                ("configs", configs),
                ("rate", rate),
                ("decay", decay),
                ("dropout", dropout),
                ("smoothing", smoothing),
                ("bf16", bf16),
                ("pseudo_labels", pseudo_labels),
                ("head", head),
                ("rank", rank),
                ("pairwise_weight", pairwise_weight),
                ("split", split),
                ("seed", seed),
                ("command", command),
                ("checkpoint", checkpoint),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;

    /// Holds while Rust's names are those of the encoding; a name that changes in Rust leaves this test, not the encoding.
    #[test]
    fn the_canonical_text_of_drawn_settings_is_what_debug_prints() {
        let mut rng = test_generator(33);
        for at in 0..500 {
            let mut share = || rng.random_range(0..1_000) as f64 / 1e3;
            let settings = Settings {
                target: [Target::Best, Target::Soft][at % 2],
                tau: (at % 3 > 0).then(&mut share),
                epochs: (at % 5 > 0).then_some(at),
                rate: share() * 1e-3,
                dropout: share(),
                bf16: at % 7 == 0,
                split: Split { seed: at as u64, test: share(), validation: share(), from: share() },
                command: format!("seqtune train \"{at}\" -o it's"),
                ..if at % 2 == 0 { Settings::for_tuned() } else { Settings::default() }
            };
            assert_eq!(settings.canonical(), format!("{settings:?}"));
        }
    }
}
