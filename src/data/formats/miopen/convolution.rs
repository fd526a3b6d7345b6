//! Convolutions as keys of MIOpen's databases, and as problems of the kernels that share `kernels/miopen/convolution.toml`.

use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Kernel, Problem};

/// Key of a database row. For the directions B and W, `C`, `H` and `W` are those of dy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// `F` (forward), `B` (backward data) or `W` (backward weights).
    pub direction: String,
    /// `FP32`, `FP16`, `BF16`, `INT8`.
    pub dtype: String,
    /// `NCHW` or `NHWC`; of three dimensions `NCDHW` or `NDHWC`.
    pub layout: String,
    /// Dimensions of the image: 2 or 3.
    pub dimensions: u32,
    /// Sizes in the order of `SIZES`, from `N` to `dilation_d`.
    pub sizes: Sizes,
    /// Depth, rows and columns of the output, with a depth of 1 where there are two dimensions; `None` of keys that lack them, as those of
    /// SQLite databases do.
    pub output: Option<[u32; 3]>,
    /// Feature that no kernel supports, such as a bias; empty where there is none.
    pub beyond: String,
}

/// Field of the batch size.
pub const BATCH: &str = "N";

/// The sizes of a convolution.
pub type Sizes = [u32; 19];

/// Number of sizes of a convolution of two dimensions: the first of them all.
pub(crate) const FLAT: usize = 14;

/// The others of such a convolution.
pub(crate) const FLAT_DEPTH: [u32; 5] = [1, 1, 0, 1, 1];

/// Names of the sizes. `T` are the taps along the depth `D`.
pub const SIZES: [&str; 19] = [
    BATCH,
    "C",
    "H",
    "W",
    "K",
    "R",
    "S",
    "pad_h",
    "pad_w",
    "stride_h",
    "stride_w",
    "dilation_h",
    "dilation_w",
    "groups",
    "D",
    "T",
    "pad_d",
    "stride_d",
    "dilation_d",
];

/// All sizes, from those of two dimensions and those of a depth.
pub(crate) fn sizes_of(flat: [u32; FLAT], depth: [u32; 5]) -> Sizes {
    let mut all = [0; SIZES.len()];
    all[..FLAT].copy_from_slice(&flat);
    all[FLAT..].copy_from_slice(&depth);
    all
}

/// Where a size stands among `SIZES`.
pub(crate) fn place_of(name: &str) -> Option<usize> {
    SIZES.iter().position(|size| *size == name)
}

/// Whether a field of a kernel is of the convolution, whatever the solver.
pub fn is_of_convolution(field: &str) -> bool {
    place_of(field).is_some() || ["direction", "dtype", "layout"].contains(&field)
}

/// Size of the output along an axis, from its size, taps, padding, stride and dilation; `None` where the filter does not fit into the padded
/// image.
pub(crate) fn output_along(axis: [u32; 5]) -> Option<u32> {
    // in 64 bits: products of sizes of 32 bits do not wrap there
    let [x, taps, pad, stride, dilation] = axis.map(u64::from);
    let span = (x + 2 * pad).checked_sub(dilation * taps.saturating_sub(1) + 1)?;
    u32::try_from(span.checked_div(stride)? + 1).ok()
}

/// The smallest image along an axis of which so many outputs are made; below 1 where padding alone makes them.
fn image_along(axis: [u32; 5]) -> i64 {
    let [x, taps, pad, stride, dilation] = axis.map(i64::from);
    (x - 1) * stride - 2 * pad + dilation * (taps - 1) + 1
}

/// What is said where an output would have no element.
pub(crate) const NO_ROOM: &str = "the filter does not fit into the padded image";

/// Refuses groups that do not divide the channels, and what [`check_range`] refuses.
pub(crate) fn check_sizes(sizes: &Sizes) -> Result<()> {
    check_range(sizes)?;
    let [c, k, groups] = ["C", "K", "groups"].map(|name| place_of(name).map_or(1, |at| sizes[at]));
    match c % groups == 0 && k % groups == 0 {
        true => Ok(()),
        false => input(format!("{groups} groups do not divide {c} and {k} channels")),
    }
}

/// Refuses sizes that are out of range.
pub(crate) fn check_range(sizes: &Sizes) -> Result<()> {
    for (name, size) in SIZES.iter().zip(sizes) {
        let least = !name.starts_with("pad") as u32;
        if !(least..=MOST).contains(size) {
            return input(format!("{name} is {size}, not {least} to {MOST}"));
        }
    }
    Ok(())
}

/// Directions: forward, backward data, backward weights.
pub const DIRECTIONS: [&str; 3] = ["F", "B", "W"];

/// Data types.
pub const DTYPES: [&str; 4] = ["FP32", "FP16", "BF16", "INT8"];

/// Layouts of two and of three dimensions.
pub const LAYOUTS: [[&str; 2]; 2] = [["NCHW", "NHWC"], ["NCDHW", "NDHWC"]];

/// By axis, the names of its size, taps, padding, stride and dilation: depth, rows, columns.
pub(crate) const AXES: [[&str; 5]; 3] = [
    ["D", "T", "pad_d", "stride_d", "dilation_d"],
    ["H", "R", "pad_h", "stride_h", "dilation_h"],
    ["W", "S", "pad_w", "stride_w", "dilation_w"],
];

/// Largest accepted size, so that products of three sizes fit 64 bits.
pub(crate) const MOST: u32 = 1 << 20;

impl Convolution {
    /// Checks direction, data type, layout and sizes.
    ///
    /// # Errors
    /// `Error::Input` where a value is out of range, or the convolution has an unsupported feature.
    pub fn check(&self) -> Result<()> {
        let known = |what: &str, value: &str, all: &[&str]| match all.contains(&value) {
            true => Ok(()),
            false => input(format!("{what} `{value}` is not one of {}", all.join(", "))),
        };
        known("direction", &self.direction, &DIRECTIONS)?;
        known("data type", &self.dtype, &DTYPES)?;
        known("layout", &self.layout, &LAYOUTS[usize::from(self.dimensions == 3)])?;
        check_sizes(&self.sizes)?;
        match self.beyond.is_empty() {
            true => Ok(()),
            false => input(format!("a convolution with {} is not described", self.beyond)),
        }
    }

    /// As [`Convolution::check`], and that the filter fits into the padded image. Databases hold a few convolutions whose filter does not: their
    /// keys are taken as they are.
    ///
    /// # Errors
    /// As [`Convolution::check`].
    pub fn check_fit(&self) -> Result<()> {
        self.check()?;
        let fits = |axis: [u32; 5]| match self.direction.as_str() {
            "F" => output_along(axis).is_some(),
            // the largest image whose output is dy: what a stride leaves over is not known
            _ => image_along(axis) + i64::from(axis[3]) > 1,
        };
        match self.axes().into_iter().all(fits) {
            true => Ok(()),
            false => input(NO_ROOM),
        }
    }

    /// Copies the convolution without its output size, as SQLite databases hold it.
    pub fn without_output(&self) -> Convolution {
        Convolution { output: None, ..self.clone() }
    }

    /// Converts the convolution to a problem of `kernel`; `argument` is the `x` of a solver `Name<x>`.
    ///
    /// # Errors
    /// `Error::Input` where a value is not allowed by its field, or `kernel` has a field that is unknown here.
    pub fn problem(&self, kernel: &Kernel, argument: Option<&str>) -> Result<Problem> {
        let deep = kernel.fields.iter().any(|f| f.name == SIZES[FLAT]);
        if deep != (self.dimensions == 3) {
            return input(format!("a convolution with {} dimensions", self.dimensions));
        }
        let value = |field: &seqtune_kernel::kernel_toml::spec::Field| match field.name.as_str() {
            "direction" => field.value(&self.direction),
            "dtype" => field.value(&self.dtype),
            "layout" => field.value(&self.layout),
            name if kernel.database.argument.as_deref() == Some(name) => field.value(argument.unwrap_or_default()),
            name => match place_of(name) {
                Some(i) if (field.min..=field.max).contains(&(self.sizes[i] as u64)) => Ok(self.sizes[i] as f64),
                Some(i) => field.value(&self.sizes[i].to_string()),
                None => input(format!("kernel {} has a field `{name}` that MIOpen does not know", kernel.name)),
            },
        };
        Ok(Problem { values: kernel.fields.iter().map(value).collect::<Result<_>>()? })
    }

    /// A size by its name; 0 where there is none of that name.
    pub(crate) fn size(&self, name: &str) -> u32 {
        place_of(name).map_or(0, |at| self.sizes[at])
    }

    /// By axis, depth first, its size, taps, padding, stride and dilation.
    pub(crate) fn axes(&self) -> [[u32; 5]; 3] {
        AXES.map(|axis| axis.map(|name| self.size(name)))
    }

    /// Depth, rows and columns of the output: exact for a forward convolution, else of the smallest image that fits.
    pub(crate) fn smallest_output(&self) -> [u32; 3] {
        self.axes().map(|axis| {
            let size = match self.direction.as_str() {
                "F" => output_along(axis),
                _ => u32::try_from(image_along(axis)).ok(),
            };
            size.unwrap_or(1).max(1)
        })
    }
}
