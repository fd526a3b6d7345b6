//! A model on disk: one safetensors file with the weights and, in its metadata, everything else.

use crate::calibration::Calibration;
use crate::error::{Error, Result, input, io};
use crate::files::write_whole;
use crate::gbdt::Trees;
use crate::kernel::Objective;
use crate::kernel::{Device, hex};
use crate::network::weights::{Array, Weights};
use crate::settings::{Hparams, Settings};
use crate::split::Split;
use crate::vocab::Vocab;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything about a model but its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the file format.
    pub format: String,
    /// Sizes of the network.
    pub hparams: Hparams,
    /// Networks whose probabilities are averaged; the weights of member `i` are named `i.…`.
    pub members: usize,
    /// With the kernels that it was made for.
    pub vocab: Vocab,
    /// Devices it was trained on.
    pub devices: Vec<Device>,
    /// Objectives it was trained for.
    pub objectives: Vec<Objective>,
    /// Split of the shapes into training, validation and test.
    pub split: Split,
    /// Hashes of the datasets.
    pub data: Vec<String>,
    /// How it was trained; what stands beside it here is left out of it.
    pub settings: Settings,
    /// [`Model::digest`] of the model that its training went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Scores by name, of the weights kept.
    pub scores: BTreeMap<String, f64>,
    /// What its probabilities are worth; `None` of a model that was made before this was learned.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Command line of the training.
    pub command: String,
    /// Version of the program that trained it.
    pub tool: String,
    /// Date of the training.
    pub date: String,
}

impl Meta {
    /// Reads the description of a model's folder (or file) without its weights.
    ///
    /// # Errors
    /// [`Error::File`] where there is no model, [`Error::Model`] where it is damaged or of another format.
    pub fn load(path: &Path) -> Result<Meta> {
        #[derive(Deserialize)]
        struct Header {
            #[serde(rename = "__metadata__", default)]
            metadata: HashMap<String, String>,
        }
        let file = file_of(path);
        let at = |e: Error| e.or_kind(Error::Model).at(file.display());
        let mut from = std::fs::File::open(&file).map_err(io(&file))?;
        let (mut length, mut header) = ([0; 8], Vec::new());
        from.read_exact(&mut length)
            .and_then(|()| from.take(u64::from_le_bytes(length)).read_to_end(&mut header))
            .map_err(io(&file))?;
        let header: Header = serde_json::from_slice(&header)
            .map_err(|e| at(Error::Input(format!("is not a safetensors file ({e}); fetch or train it again"))))?;
        Meta::parse(header.metadata.get("seqtune")).map_err(at)
    }

    fn parse(text: Option<&String>) -> Result<Meta> {
        let Some(text) = text else { return input("is not a seqtune model") };
        #[derive(Deserialize)]
        struct Versioned {
            format: String,
        }
        if let Ok(Versioned { format }) = serde_json::from_str(text)
            && format != FORMAT
        {
            return input(format!(
                "format {format} is not {FORMAT}; scripts/convert_files.py FILE converts models of before"
            ));
        }
        let meta: Meta = serde_json::from_str(text).map_err(|e| {
            Error::Input(format!("the model's description cannot be read ({e}); train the model again"))
        })?;
        meta.vocab.check()?;
        Ok(meta)
    }

    /// How it was trained, whole.
    pub fn trained_as(&self) -> Settings {
        Settings {
            hparams: self.hparams,
            members: self.members,
            split: self.split,
            command: self.command.clone(),
            ..self.settings.clone()
        }
    }

    /// Names of the kernels that the model was made for.
    pub fn kernels(&self) -> Vec<&str> {
        self.vocab.kernels.iter().map(|k| k.kernel.as_str()).collect()
    }
}

/// The file of a model that is named by its folder or its file.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { Model::file(path) } else { path.to_path_buf() }
}

const FORMAT: &str = "seqtune-model-3";

/// A trained model.
pub struct Model {
    /// Description: everything but weights and trees.
    pub meta: Meta,
    /// Weights of all members, by name.
    pub weights: Weights,
    /// Of models of whole sweeps: for each kernel and objective.
    pub trees: Vec<Arc<Trees>>,
}

impl Model {
    /// The file of a model's folder.
    pub fn file(folder: &Path) -> PathBuf {
        folder.join("model.safetensors")
    }

    /// Writes `folder/model.safetensors`, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let meta = serde_json::to_string(&self.meta).map_err(|e| Error::Failed(format!("writing a model: {e}")))?;
        let meta = HashMap::from([("seqtune".to_string(), meta)]);
        write_whole(&Model::file(folder), &encode(&self.weights, &self.trees, meta, Dtype::I8)?)
    }

    /// Folders of the models in a folder: itself, and those in it of one kernel each.
    ///
    /// # Errors
    /// [`Error::File`] where the folder cannot be read.
    pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
        let mut folders = vec![folder.to_path_buf()];
        if folder.is_dir() {
            let inside = std::fs::read_dir(folder).map_err(io(folder))?.flatten();
            folders.extend(inside.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
        folders.retain(|f| Model::file(f).is_file());
        folders.sort();
        Ok(folders)
    }

    /// Reads the model for a kernel: the one that it has to itself in the folder, otherwise the folder's.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where no model of the folder knows the kernel, else as [`Model::load`].
    pub fn load_for(path: &Path, kernel: &str) -> Result<Model> {
        let own = path.join(kernel);
        if Model::file(&own).is_file() {
            return Model::load(&own);
        }
        if path.is_dir() && !Model::file(path).exists() {
            let others = Model::kernels_in(path)?;
            if !others.is_empty() {
                return input(format!(
                    "{}: no model is for kernel {kernel}, only for {}",
                    path.display(),
                    others.join(", ")
                ));
            }
        }
        Model::load(path)
    }

    /// Names of the kernels that a folder's models were made for.
    ///
    /// # Errors
    /// As [`Meta::load`].
    pub fn kernels_in(path: &Path) -> Result<Vec<String>> {
        let folders = if path.is_dir() { Model::folders(path)? } else { vec![path.to_path_buf()] };
        let mut names = Vec::new();
        for folder in folders {
            names.extend(Meta::load(&folder)?.kernels().into_iter().map(String::from));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Reads a model's folder (or its file).
    ///
    /// # Errors
    /// [`Error::File`] where there is no model, [`Error::Model`] where it is damaged or of another format.
    pub fn load(path: &Path) -> Result<Model> {
        let file = file_of(path);
        let bytes = std::fs::read(&file).map_err(io(&file))?;
        let at = |e: Error| e.or_kind(Error::Model).at(file.display());
        let Decoded { weights, trees, meta } = decode(&bytes).map_err(at)?;
        tracing::debug!("{}: {} bytes, {} arrays, {} forests", file.display(), bytes.len(), weights.len(), trees.len());
        Ok(Model { meta: Meta::parse(meta.get("seqtune")).map_err(at)?, weights, trees })
    }

    /// The format that this version writes.
    pub fn format() -> String {
        FORMAT.into()
    }

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

    /// What tells it from others, in 16 hexadecimal digits: of its data, settings and scores.
    pub fn digest(&self) -> String {
        let Meta { data, scores, parent, .. } = &self.meta;
        hex(&Sha256::digest(format!("{data:?} {:?} {parent:?} {scores:?}", self.meta.trained_as()))[..8])
    }

    /// Number of weights.
    pub fn size(&self) -> usize {
        self.weights.values().map(|array| array.values.len()).sum()
    }
}

/// Tensors and metadata as safetensors bytes: in single precision, or small (`I8`), matrices as bytes with a scale for each row (a
/// tensor `NAME.scale`) and vectors in half precision. What that rounds moves a validation score by less than 0.001 nats, a hundredth of
/// the difference between two trainings (LOG.md). Trees are one tensor of bytes, packed by bincode and zlib, which knows when they are damaged.
///
/// # Errors
/// [`Error::Failed`] where the tensors cannot be encoded.
pub fn encode(tensors: &Weights, trees: &[Arc<Trees>], meta: HashMap<String, String>, dtype: Dtype) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| Error::Failed(format!("writing weights: {e}"));
    let half = |values: &[f32]| values.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect();
    let mut raw: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, tensor) in tensors {
        let Array { shape, values } = tensor;
        match (dtype, &shape[..]) {
            (Dtype::F32, _) => {
                let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                raw.push((name.clone(), dtype, shape.clone(), bytes));
            }
            (_, [rows, columns]) if *columns > 0 => {
                let scale = |row: &[f32]| row.iter().fold(f32::MIN_POSITIVE, |m, v| m.max(v.abs())) / 127.0;
                let scales: Vec<f32> = values.chunks(*columns).map(scale).collect();
                let rounded = values.chunks(*columns).zip(&scales);
                let bytes = rounded.flat_map(|(row, s)| row.iter().map(move |v| (v / s).round() as i8 as u8)).collect();
                let scales: Vec<u8> = scales.iter().flat_map(|s| s.to_le_bytes()).collect();
                raw.push((format!("{name}{SCALE}"), Dtype::F32, vec![*rows], scales));
                raw.push((name.clone(), Dtype::I8, shape.clone(), bytes));
            }
            _ => raw.push((name.clone(), Dtype::F16, shape.clone(), half(values))),
        }
    }
    if !trees.is_empty() {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        bincode::encode_into_std_write(trees, &mut packed, bincode::config::standard()).map_err(|e| failed(&e))?;
        let packed = packed.finish().map_err(|e| failed(&e))?;
        raw.push((TREES.into(), Dtype::U8, vec![packed.len()], packed));
    }
    let mut meta = meta;
    meta.insert(CHECKSUM.into(), checksum(raw.iter().map(|(name, _, _, bytes)| (name.as_str(), &bytes[..]))));
    let views = raw.iter().map(|(name, dtype, shape, bytes)| {
        Ok((name.clone(), TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| failed(&e))?))
    });
    safetensors::serialize(views.collect::<Result<Vec<_>>>()?, Some(meta)).map_err(|e| failed(&e))
}

/// Key of the checksum in the metadata.
const CHECKSUM: &str = "sha256";

/// Of the tensors' bytes, in the order of their names.
fn checksum<'a>(tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut tensors: Vec<(&str, &[u8])> = tensors.collect();
    tensors.sort();
    let mut sha = Sha256::new();
    for (name, bytes) in tensors {
        sha.update(name);
        sha.update(bytes);
    }
    hex(&sha.finalize()[..16])
}

/// Name of the trees among the tensors.
const TREES: &str = "trees";

/// Ending of the names of what rows of bytes are multiplied by.
const SCALE: &str = ".scale";

fn damaged(e: safetensors::SafeTensorError) -> Error {
    Error::Input(format!("is not a safetensors file, or is truncated ({e}); fetch or train it again"))
}

/// The contents of a file.
pub struct Decoded {
    /// Weights in single precision.
    pub weights: Weights,
    /// Boosted trees by kernel and objective.
    pub trees: Vec<Arc<Trees>>,
    /// Metadata as text.
    pub meta: HashMap<String, String>,
}

/// The inverse of [`encode`].
///
/// # Errors
/// [`Error::Input`] where the bytes are no safetensors file, or hold other kinds of tensors.
pub fn decode(bytes: &[u8]) -> Result<Decoded> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let meta = header.metadata().clone().unwrap_or_default();
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let found = || checksum(tensors.iter().map(|(name, view)| (name, view.data())));
    // models of before have none
    let is_sound = || meta.get(CHECKSUM).is_none_or(|stated| *stated == found());
    let packed = tensors.tensor(TREES).ok().map(|view| view.data());
    // side by side: most of a program's start is this
    let (found, trees) = rayon::join(|| (is_sound(), weights_of(&tensors)), || packed.map(unpack).transpose());
    let (true, weights) = found else {
        return input("its weights are not those that were written; fetch or train it again");
    };
    Ok(Decoded { weights: weights?, trees: trees?.unwrap_or_default(), meta })
}

/// The weights of a file in single precision.
fn weights_of(tensors: &SafeTensors) -> Result<Weights> {
    let single = |data: &[u8]| data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut weights = Weights::new();
    for (name, view) in tensors.tensors() {
        let (data, shape) = (view.data(), view.shape());
        let values: Vec<f32> = match view.dtype() {
            _ if name.ends_with(SCALE) || name == TREES => continue,
            Dtype::F32 => single(data),
            Dtype::F16 => data.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Dtype::I8 => {
                let scales: Vec<f32> = single(tensors.tensor(&format!("{name}{SCALE}")).map_err(damaged)?.data());
                let columns = shape.last().copied().unwrap_or(1).max(1);
                let rows = data.chunks(columns).zip(&scales);
                rows.flat_map(|(row, s)| row.iter().map(move |b| *b as i8 as f32 * s)).collect()
            }
            other => return input(format!("weights of type {other:?} are not read; train the model again")),
        };
        if values.len() != shape.iter().product::<usize>() {
            return input(format!("{name} has {} weights for shape {shape:?}; fetch or train it again", values.len()));
        }
        weights.insert(name, Array { shape: shape.to_vec(), values });
    }
    Ok(weights)
}

/// Trees from their bytes, unpacked whole: read number by number from the decompressor they take ten times as long.
fn unpack(packed: &[u8]) -> Result<Vec<Arc<Trees>>> {
    let damaged =
        |e: &dyn std::fmt::Display| Error::Input(format!("its trees cannot be read ({e}); fetch or train it again"));
    // about four times as much: a buffer that grows is copied
    let mut plain = Vec::with_capacity(4 * packed.len());
    flate2::read::ZlibDecoder::new(packed).read_to_end(&mut plain).map_err(|e| damaged(&e))?;
    let (trees, _) = bincode::decode_from_slice(&plain, bincode::config::standard()).map_err(|e| damaged(&e))?;
    Ok(trees)
}
