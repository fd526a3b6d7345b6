//! Weights as libtorch's tensors, from and to the arrays that models are stored in.

use seqtune_kernel::error::{Error, Result};
use seqtune_predict::network::weights::{Array, Weights as Arrays};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Named weights. The names are the paths of the parts that they belong to.
pub type Weights = BTreeMap<String, Tensor>;

/// The first line of what libtorch says: a C++ backtrace follows.
pub fn libtorch_error(e: tch::TchError) -> Error {
    let text = e.to_string();
    Error::Failed(format!("libtorch: {}", text.lines().next().unwrap_or_default()))
}

/// The numbers of a tensor, row-major.
///
/// # Errors
/// `Error::Failed` where libtorch does not give them.
pub fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    Vec::<f32>::try_from(tensor.to_kind(Kind::Float).reshape([-1])).map_err(libtorch_error)
}

/// Copies weights out of libtorch.
///
/// # Errors
/// `Error::Failed` where libtorch does not give them.
pub fn to_arrays(weights: &Weights) -> Result<Arrays> {
    let array = |(name, tensor): (&String, &Tensor)| {
        let shape = tensor.size().iter().map(|s| *s as usize).collect();
        Ok((name.clone(), Array { shape, values: numbers(tensor)? }))
    };
    weights.iter().map(array).collect()
}

/// Copies weights into libtorch.
pub fn from_arrays(arrays: &Arrays) -> Weights {
    let tensor = |(name, array): (&String, &Array)| {
        let shape: Vec<i64> = array.shape.iter().map(|s| *s as i64).collect();
        (name.clone(), Tensor::from_slice(&array.values).reshape(shape))
    };
    arrays.iter().map(tensor).collect()
}

/// The numbers of a tensor in memory.
pub(crate) fn slice(tensor: &Tensor) -> &[f32] {
    assert!(tensor.kind() == Kind::Float && tensor.is_contiguous());
    if tensor.numel() == 0 {
        // whose pointer may be null
        return &[];
    }
    // SAFETY: contiguous numbers of this type on the CPU, which the tensor keeps alive as long as it is borrowed
    unsafe { std::slice::from_raw_parts(tensor.data_ptr() as *const f32, tensor.numel()) }
}

/// The same, to be written.
pub(crate) fn slice_mut(tensor: &mut Tensor) -> &mut [f32] {
    assert!(tensor.kind() == Kind::Float && tensor.is_contiguous());
    if tensor.numel() == 0 {
        return &mut [];
    }
    // SAFETY: as above; the caller writes tensors that share no memory with others
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr() as *mut f32, tensor.numel()) }
}
