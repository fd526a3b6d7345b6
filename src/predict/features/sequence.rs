//! A config as the decoding steps that lead to it.

use crate::features::featurizer::{Featurizer, Instance};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choices, Config};

/// A config as decoding steps: one per parameter that has more than one legal value, then "finished".
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Config that the steps decode to.
    pub config: Config,
    /// Positions that are asked for, then that of "finished".
    pub asked: Vec<u8>,
    /// [`Featurizer::step_width`] numbers per step.
    pub features: Vec<f32>,
    /// Legal choices at each asked step; one fewer than steps.
    pub legal: Vec<Choices>,
    /// What each legal choice decides, see [`Featurizer::weigh`], one after the other.
    pub weighed: Vec<f32>,
    /// What the finished config decides, encoded: see [`Featurizer::encode_config`]. Empty where nobody judges it.
    pub finished: Vec<f32>,
}

impl Sequence {
    /// Encodes `config`, which must be legal; with what it decides where it is to be re-ranked.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where the config is illegal.
    pub fn new(featurizer: &Featurizer, instance: &Instance, config: &Config, reranked: bool) -> Result<Sequence> {
        let (mut asked, mut features, mut legal, mut weighed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for at in 0..config.0.len() {
            let prefix = &config.0[..at];
            let open = instance.space.completions(prefix)?;
            instance.allow(config, at, &open)?;
            if open.only().is_none() {
                asked.push(at as u8);
                featurizer.step(instance, prefix, &mut features);
                featurizer.weigh(instance, prefix, open.iter(), &mut weighed);
                legal.push(open);
            }
        }
        asked.push(config.0.len() as u8);
        featurizer.step(instance, &config.0, &mut features);
        let mut finished = Vec::new();
        if reranked {
            featurizer.encode_config(instance, config, &mut finished);
        }
        Ok(Sequence { config: config.clone(), asked, features, legal, weighed, finished })
    }
}
