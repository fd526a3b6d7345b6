//! The network as it is trained, asked what the network for prediction is asked: a test holds that they agree.

use crate::network::tensors::{self, numbers};
use crate::network::transformer::Transformer;
use crate::training_data::batch::{Batch, Forward};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem};
use seqtune_predict::features::{Featurizer, Instance, Sequence};
use seqtune_predict::network::weights::{has_reranker, member};
use seqtune_predict::{Model, Scored};
use std::sync::Arc;
use tch::{Kind, Tensor, no_grad};

/// As [`Predictor::score`](seqtune_predict::Predictor::score), by the network that is trained, without boosted trees. Only for a model with
/// one member.
///
/// # Errors
/// `Error::Input` of a model of several networks, `Error::Config` where a config is illegal.
pub fn score_by_libtorch(
    kernel: &Kernel,
    model: &Model,
    problem: &Problem,
    device: &Device,
    objective: Objective,
    configs: &[Config],
) -> Result<Vec<Scored>> {
    if model.meta.members != 1 {
        return input("libtorch scores models of one member only");
    }
    let featurizer = &Featurizer::new(&Arc::new(model.meta.vocab.clone()), kernel)?;
    let instance = Instance::new(&featurizer.kernel, problem, device);
    let weights = member(&model.weights, 0);
    let reranks = has_reranker(weights.keys());
    let sequence = |config| Sequence::new(featurizer, &instance, config, reranks);
    let sequences = configs.iter().map(sequence).collect::<Result<Vec<_>>>()?;
    let quantities = featurizer.quantities(&instance, objective);
    let rows: Vec<&Sequence> = sequences.iter().collect();
    let batch = Batch::new(featurizer, &[&quantities], rows.len(), &rows);
    let net = Transformer::new(&model.meta.hparams, &tensors::from_arrays(&weights))?;
    let Forward { decoded, scores: outputs } = no_grad(|| batch.forward(&net));
    let log = numbers(&batch.take_chosen(&decoded.log).sum_dim_intlist(1, false, Kind::Float))?;
    let or_zeros = |scores: Option<Tensor>| scores.map_or(Ok(vec![0.0; log.len()]), |scores| numbers(&scores));
    let rank = outputs.rank.map(|rank| rank.log_softmax(0, Kind::Float));
    let (time, energy, rank) = (or_zeros(outputs.time)?, or_zeros(outputs.energy)?, or_zeros(rank)?);
    let scored = (0..log.len()).map(|i| {
        let [time_us, joules] = featurizer.decode_costs(&instance, [time[i], energy[i]]);
        let (log_probability, rank) = (log[i] as f64, rank[i] as f64);
        Scored { log_probability, steps: Vec::new(), time_us, joules, rank, trees: [0.0; 2], risk: None }
    });
    Ok(scored.collect())
}
