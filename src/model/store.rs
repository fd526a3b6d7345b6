//! A model on disk: one safetensors file with the weights and, in its metadata, everything else.

use super::net::Weights;
use super::vocab::Vocab;
use crate::dataset::{Objective, Split, write_whole};
use crate::error::{Error, Result, input, io};
use crate::kernel::Device;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use tch::{Kind, Tensor};

/// Size of the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hparams {
    pub width: usize,
    pub heads: usize,
    pub feed_forward: usize,
    pub encoder_layers: usize,
    pub decoder_layers: usize,
}

impl Default for Hparams {
    fn default() -> Self {
        Hparams { width: 64, heads: 4, feed_forward: 128, encoder_layers: 2, decoder_layers: 2 }
    }
}

/// Everything about a model but its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub format: String,
    pub hparams: Hparams,
    /// Networks whose probabilities are averaged; the weights of member `i` are named `i.…`.
    pub members: usize,
    /// With the kernels that it was made for.
    pub vocab: Vocab,
    /// Devices it was trained on.
    pub devices: Vec<Device>,
    /// Objectives it was trained for.
    pub objectives: Vec<Objective>,
    pub split: Split,
    /// Hashes of the datasets.
    pub data: Vec<String>,
    /// Training settings in words and numbers.
    pub settings: String,
    /// Scores by name, of the weights kept.
    pub scores: BTreeMap<String, f64>,
    pub command: String,
    pub tool: String,
    pub date: String,
}

const FORMAT: &str = "seqtune-model-2";

/// A trained model.
pub struct Model {
    pub meta: Meta,
    pub weights: Weights,
}

impl Model {
    /// The file of a model's folder.
    pub fn file(folder: &Path) -> PathBuf {
        folder.join("model.safetensors")
    }

    /// Writes `folder/model.safetensors`, whole or not at all.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let meta = serde_json::to_string(&self.meta).map_err(|e| Error::Failed(format!("writing a model: {e}")))?;
        let meta = HashMap::from([("seqtune".to_string(), meta)]);
        write_whole(&Model::file(folder), &encode(&self.weights, meta, Dtype::F16)?)
    }

    /// Reads a model's folder (or its file).
    pub fn load(path: &Path) -> Result<Model> {
        let file = if path.is_dir() { Model::file(path) } else { path.to_path_buf() };
        let bytes = std::fs::read(&file).map_err(io(&file))?;
        let at = |e: Error| e.at(file.display());
        let (weights, meta) = decode(&bytes).map_err(at)?;
        let meta: Meta = match meta.get("seqtune") {
            Some(text) => serde_json::from_str(text)
                .map_err(|e| at(Error::Input(format!("the model's description cannot be read: {e}"))))?,
            None => return Err(at(Error::Input("is not a seqtune model".into()))),
        };
        if meta.format != FORMAT {
            return Err(at(Error::Input(format!("format {} is not {FORMAT}; train the model again", meta.format))));
        }
        meta.vocab.check().map_err(at)?;
        Ok(Model { meta, weights })
    }

    /// The format that this version writes.
    pub fn format() -> String {
        FORMAT.into()
    }

    /// Names of the kernels that it was made for.
    pub fn kernels(&self) -> Vec<&str> {
        self.meta.vocab.kernels.iter().map(|k| k.kernel.as_str()).collect()
    }

    /// Refuses an objective that the model's data did not measure.
    pub fn check_objective(&self, objective: Objective) -> Result<()> {
        match self.meta.objectives.contains(&objective) {
            true => Ok(()),
            false => input(format!("the model was not trained for objective {objective:?}: its data had no energy")),
        }
    }

    /// Number of weights.
    pub fn size(&self) -> usize {
        self.weights.values().map(Tensor::numel).sum()
    }
}

/// Tensors and metadata as safetensors bytes, in single precision or, half as large, in half precision: weights are of order 1, and
/// what rounding moves is far below the difference between two trainings.
pub(super) fn encode(tensors: &Weights, meta: HashMap<String, String>, dtype: Dtype) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| Error::Failed(format!("writing weights: {e}"));
    let mut raw = Vec::new();
    for (name, tensor) in tensors {
        let values = Vec::<f32>::try_from(tensor.to_kind(Kind::Float).reshape([-1])).map_err(|e| failed(&e))?;
        let bytes: Vec<u8> = match dtype {
            Dtype::F16 => values.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        let shape: Vec<usize> = tensor.size().iter().map(|s| *s as usize).collect();
        raw.push((name.clone(), shape, bytes));
    }
    let views = raw.iter().map(|(name, shape, bytes)| {
        Ok((name.clone(), TensorView::new(dtype, shape.clone(), bytes).map_err(|e| failed(&e))?))
    });
    safetensors::serialize(views.collect::<Result<Vec<_>>>()?, Some(meta)).map_err(|e| failed(&e))
}

/// The inverse of [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Result<(Weights, HashMap<String, String>)> {
    let damaged = |e: safetensors::SafeTensorError| {
        Error::Input(format!("is not a safetensors file, or is truncated ({e}); fetch or train it again"))
    };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let meta = header.metadata().clone().unwrap_or_default();
    let mut weights = Weights::new();
    for (name, view) in SafeTensors::deserialize(bytes).map_err(damaged)?.tensors() {
        let values: Vec<f32> = match view.dtype() {
            Dtype::F16 => {
                view.data().chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
            }
            Dtype::F32 => view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
            other => return input(format!("weights of type {other:?} are not read; train the model again")),
        };
        let shape: Vec<i64> = view.shape().iter().map(|s| *s as i64).collect();
        weights.insert(name, Tensor::from_slice(&values).reshape(shape));
    }
    Ok((weights, meta))
}
