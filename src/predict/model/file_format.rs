//! The file of a model: safetensors with weights, trees and, in the metadata, a description and a checksum of all of it.

use crate::network::weights::{Array, Weights};
use crate::posterior::cost_neighbours::CostNeighbours;
use crate::trees::gbdt::Trees;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::{RegularFile, decode_whole, open_regular};
use seqtune_kernel::hex;
use seqtune_kernel::limits;
use seqtune_kernel::threads::{cores, run_in_pool};
use seqtune_kernel::unpacking::{Taken, unpack};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Tensors and metadata as safetensors bytes: in single precision, or small (`I8`), matrices as bytes with a scale for each row (a
/// tensor `NAME.scale`) and vectors in half precision. What that rounds moves a validation score by less than 0.001 nats, a hundredth of
/// the difference between two trainings (docs/log). Trees are one
/// tensor of bytes, packed by bincode and zlib, which knows when they are damaged; profiles another.
///
/// # Errors
/// [`Error::Failed`] where the tensors cannot be encoded.
pub fn encode(
    tensors: &Weights,
    trees: &[Arc<Trees>],
    neighbours: &[Arc<CostNeighbours>],
    meta: HashMap<String, String>,
    dtype: Dtype,
) -> Result<Vec<u8>> {
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
    for (name, bytes) in [(TREES, pack(trees)?), (PROFILES, pack(neighbours)?)] {
        raw.extend(bytes.map(|bytes| (name.into(), Dtype::U8, vec![bytes.len()], bytes)));
    }
    let mut meta = meta;
    meta.insert(CHECKSUM.into(), "0".repeat(DIGITS));
    let views = raw.iter().map(|(name, dtype, shape, bytes)| {
        Ok((name.clone(), TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| failed(&e))?))
    });
    let mut bytes = safetensors::serialize(views.collect::<Result<Vec<_>>>()?, Some(meta)).map_err(|e| failed(&e))?;
    match seal(&mut bytes) {
        true => Ok(bytes),
        false => Err(failed(&"its description names its checksum")),
    }
}

/// Parts in packed bytes; `None` of none. They are encoded whole first: at each write the compressor clears all of its room.
fn pack<T: bincode::Encode>(parts: &[T]) -> Result<Option<Vec<u8>>> {
    if parts.is_empty() {
        return Ok(None);
    }
    let failed = |e: &dyn std::fmt::Display| Error::Failed(format!("writing trees: {e}"));
    let plain = bincode::encode_to_vec(parts, bincode::config::standard()).map_err(|e| failed(&e))?;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&plain).and_then(|()| packed.finish()).map(Some).map_err(|e| failed(&e))
}

/// Writes the checksum of a file's bytes into them; whether there is a place for it.
pub fn seal(bytes: &mut [u8]) -> bool {
    let Some(digits) = place_of_checksum(bytes) else { return false };
    let sum = checksum(bytes, &digits);
    bytes[digits].copy_from_slice(sum.as_bytes());
    true
}

/// Key of the checksum in the metadata.
const CHECKSUM: &str = "sha256";

/// Digits of the checksum, and what stands in their place while it is computed.
const DIGITS: usize = 64;

/// Where the digits of the checksum stand in the bytes of a file: in its header, once.
fn place_of_checksum(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let length = bytes.get(..8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)?;
    let header = bytes.get(8..)?.get(..usize::try_from(length).ok()?)?;
    let key = format!("\"{CHECKSUM}\":\"");
    let mut places = header.windows(key.len()).enumerate().filter(|(_, window)| *window == key.as_bytes());
    let (first, second) = (places.next()?, places.next());
    let begin = 8 + first.0 + key.len();
    let digits = begin..begin + DIGITS;
    (second.is_none() && bytes.len() >= digits.end).then_some(digits)
}

/// Of everything in a file, the digits of the checksum left out.
fn checksum(bytes: &[u8], digits: &std::ops::Range<usize>) -> String {
    let mut sha = Sha256::new();
    sha.update(&bytes[..digits.start]);
    sha.update(&bytes[digits.end..]);
    hex(&sha.finalize())
}

/// Names of the trees and of the profiles among the tensors.
const TREES: &str = "trees";
const PROFILES: &str = "profiles";

/// Ending of the names of what rows of bytes are multiplied by.
const SCALE: &str = ".scale";

/// Refuses a dataset where a model is asked for.
pub(crate) fn refuse_dataset(file: &Path) -> Result<()> {
    if file.extension().is_some_and(|ending| ending == "jsonl" || ending == "sqt") {
        let place = file.display();
        return Err(Error::Model(format!(
            "{place}: is a dataset by its name, no model; `seqtune train` makes a model of it"
        )));
    }
    Ok(())
}

/// What is said of bytes that are no safetensors file.
pub(crate) fn not_a_model(e: &dyn std::fmt::Display) -> Error {
    Error::Input(format!("is not a safetensors file, or is truncated ({e}); fetch or train it again"))
}

fn damaged_weights(e: safetensors::SafeTensorError) -> Error {
    not_a_model(&e)
}

/// The metadata of a file, unchecked.
///
/// # Errors
/// [`Error::Input`] where the bytes are no safetensors file.
pub fn metadata(bytes: &[u8]) -> Result<HashMap<String, String>> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged_weights)?;
    Ok(header.metadata().clone().unwrap_or_default())
}

/// Key of the description in the metadata.
pub(crate) const DESCRIPTION: &str = "seqtune";

/// The metadata of a file on disk, unchecked, without its weights.
///
/// # Errors
/// [`Error::File`] where it cannot be read, [`Error::Model`] where it is no safetensors file.
pub(crate) fn metadata_of(file: &Path) -> Result<HashMap<String, String>> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "__metadata__", default)]
        metadata: HashMap<String, String>,
    }
    refuse_dataset(file)?;
    let RegularFile { file: mut from, length: all } = open_regular(file, limits::MODEL)?;
    let (mut length, mut header) = (Vec::new(), Vec::new());
    Read::by_ref(&mut from).take(8).read_to_end(&mut length).map_err(io(file))?;
    let length = length.try_into().map_or(0, u64::from_le_bytes).min(all);
    from.take(length).read_to_end(&mut header).map_err(io(file))?;
    let header: Header =
        serde_json::from_slice(&header).map_err(|e| not_a_model(&e).or_kind(Error::Model).at_place(file.display()))?;
    Ok(header.metadata)
}

/// Whether a file says that it is a model of ours, of this or another version: a whole one, or a small decoder that was distilled from one.
pub fn is_of_ours(file: &Path, small: bool) -> bool {
    let Ok(metadata) = metadata_of(file) else { return is_damaged(file) };
    let Some(description) = metadata.get(DESCRIPTION) else { return false };
    let description: serde_json::Value = serde_json::from_str(description).unwrap_or_default();
    description["distilled"].is_null() != small
}

/// Whether a file begins as one of ours and goes on as none: of neither kind any more.
fn is_damaged(file: &Path) -> bool {
    let Ok(RegularFile { file: from, .. }) = open_regular(file, limits::MODEL) else { return false };
    let mut head = Vec::new();
    let read = from.take(1_024).read_to_end(&mut head);
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && head.contains("__metadata__") && head.contains(DESCRIPTION)
}

/// Refuses to write a model, or a small decoder, over what is something else, also where a link leads there.
///
/// # Errors
/// [`Error::File`] where another kind of file is there.
pub(crate) fn check_replaced(file: &Path, small: bool) -> Result<()> {
    match file.symlink_metadata().is_err() || is_of_ours(file, small) {
        true => Ok(()),
        false => {
            let kind = if small { "small decoder" } else { "whole model" };
            Err(Error::File(format!("{}: is there and no {kind} of seqtune; name another folder", file.display())))
        }
    }
}

/// The contents of a file.
pub struct Decoded {
    /// Weights in single precision.
    pub weights: Weights,
    /// Boosted trees by kernel and objective.
    pub trees: Vec<Arc<Trees>>,
    /// Profiles by kernel and objective.
    pub neighbours: Vec<Arc<CostNeighbours>>,
    /// Metadata as text.
    pub meta: HashMap<String, String>,
    /// Checksum of the bytes, in 64 hexadecimal digits.
    pub checksum: String,
}

/// The inverse of [`encode`].
///
/// # Errors
/// [`Error::Input`] where the bytes are no safetensors file, are not those that were written, or hold other kinds of tensors.
pub fn decode(bytes: &[u8]) -> Result<Decoded> {
    let meta = metadata(bytes)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged_weights)?;
    let digits = place_of_checksum(bytes).filter(|_| meta.contains_key(CHECKSUM));
    let Some(digits) = digits else { return input("it has no checksum; fetch or train it again") };
    let is_sound = || bytes[digits.clone()] == *checksum(bytes, &digits).as_bytes();
    let packed = |name: &str| tensors.tensor(name).ok().map(|view| view.data());
    let (trees, neighbours) = (packed(TREES), packed(PROFILES));
    // side by side: most of a program's start is this
    let both = || rayon::join(|| (is_sound(), weights_of(&tensors)), || trees.map(unpack_trees).transpose());
    let (found, trees) = run_in_pool(cores().min(2), both)?;
    let (true, weights) = found else {
        return input("it was changed since it was written, or is damaged; fetch or train it again");
    };
    let neighbours = neighbours.map(unpack_trees).transpose()?.unwrap_or_default();
    let checksum = meta.get(CHECKSUM).cloned().unwrap_or_default();
    Ok(Decoded { weights: weights?, trees: trees?.unwrap_or_default(), neighbours, meta, checksum })
}

/// The weights of a file in single precision.
fn weights_of(tensors: &SafeTensors) -> Result<Weights> {
    let single = |data: &[u8]| data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut weights = Weights::new();
    for (name, view) in tensors.tensors() {
        let (data, shape) = (view.data(), view.shape());
        let values: Vec<f32> = match view.dtype() {
            _ if name.ends_with(SCALE) || name == TREES || name == PROFILES => continue,
            Dtype::F32 => single(data),
            Dtype::F16 => data.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Dtype::I8 => {
                let scales: Vec<f32> =
                    single(tensors.tensor(&format!("{name}{SCALE}")).map_err(damaged_weights)?.data());
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
fn unpack_trees<T: bincode::Decode<()>>(packed: &[u8]) -> Result<Vec<Arc<T>>> {
    let taken = Taken::default();
    let plain = unpack(flate2::read::ZlibDecoder::new(taken.count(packed)), &taken, limits::MODEL);
    plain.and_then(|plain| decode_whole(&plain)).map_err(|e| e.at_place("its trees"))
}
