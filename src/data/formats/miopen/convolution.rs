//! Convolutions as keys of MIOpen's databases, and as problems of the kernels that share `kernels/miopen/convolution.toml`.

use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::{Kernel, Problem};

/// Key of a database row. For the directions B and W, `C`, `H` and `W` are those of dy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// `F` (forward), `B` (backward data) or `W` (backward weights).
    pub direction: String,
    /// `FP32`, `FP16`, `BF16`, `INT8`.
    pub dtype: String,
    /// `NCHW` or `NHWC`.
    pub layout: String,
    /// Sizes in the order of `SIZES`, from `N` to `groups`.
    pub sizes: [u32; 14],
    /// Rows and columns of the output; `None` for rows of SQLite databases, which lack them.
    pub output: Option<(u32, u32)>,
    /// Feature that no kernel supports, such as 3 dimensions or a bias; empty where there is none.
    pub beyond: String,
}

/// Field of the batch size.
pub const BATCH: &str = "N";

/// Names of the sizes.
pub const SIZES: [&str; 14] = [
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
];

/// Largest accepted size, so that products of three sizes fit 64 bits.
pub(crate) const MOST: u32 = 1 << 20;

impl Convolution {
    /// Parses a key `C-H-W-RxS-K-OH-OW-N-padHxW-strideHxW-dilationHxW-bias-layout-dtype-direction`, with `_gG` for groups.
    ///
    /// # Errors
    /// [`Error::Input`] where the key is malformed.
    pub fn parse(key: &str) -> Result<Convolution> {
        let bad = |what: &str| Error::Input(format!("key `{key}`: {what}"));
        let (key_part, groups) = match key.rsplit_once("_g") {
            Some((rest, groups)) => (rest, groups.parse().map_err(|_| bad("the groups are not a number"))?),
            None => (key, 1),
        };
        let mut parts: Vec<&str> = key_part.split('-').collect();
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad(&format!("`{text}` is not a number")));
        // 3-D keys have a depth before rows and columns of input and output
        let flat = parts.get(3).is_some_and(|p| p.contains('x'));
        let mut beyond = if flat { "" } else { "3 dimensions" };
        // some keys name the layouts of input, filter and output
        let layouts = if flat { 12 } else { 14 };
        if parts.len() == layouts + 5 {
            if parts[layouts..layouts + 3].iter().any(|l| *l != parts[layouts]) {
                beyond = "different layouts";
            }
            parts.drain(layouts..layouts + 2);
        }
        let at: [usize; 13] = match (flat, parts.len()) {
            (true, 15) => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            (false, 17) => [0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14],
            (_, n) => return Err(bad(&format!("has {n} parts, not 15 (or 17 for 3 dimensions)"))),
        };
        let part = |i: usize| parts[at[i]];
        let last = |text: &str| -> Result<[u32; 2]> {
            let numbers = text.split('x').map(number).collect::<Result<Vec<_>>>()?;
            match numbers[..] {
                [.., a, b] => Ok([a, b]),
                _ => Err(bad(&format!("`{text}` is not written RxS"))),
            }
        };
        let ([r, s], [pad_h, pad_w]) = (last(part(3))?, last(part(8))?);
        let ([stride_h, stride_w], [dilation_h, dilation_w]) = (last(part(9))?, last(part(10))?);
        let (c, h, w, k, n) =
            (number(part(0))?, number(part(1))?, number(part(2))?, number(part(4))?, number(part(7))?);
        Ok(Convolution {
            direction: parts[parts.len() - 1].into(),
            dtype: parts[parts.len() - 2].into(),
            layout: part(12).into(),
            sizes: [n, c, h, w, k, r, s, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups],
            output: Some((number(part(5))?, number(part(6))?)),
            beyond: if part(11) != "0" { "a bias".into() } else { beyond.into() },
        })
    }

    /// Formats the key, as [`Convolution::parse`] reads it. `output` must be known.
    pub fn key(&self) -> String {
        let [n, c, h, w, k, r, s, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups] = self.sizes;
        let (oh, ow) = self.output.unwrap_or_default();
        let groups = if groups > 1 { format!("_g{groups}") } else { String::new() };
        format!(
            "{c}-{h}-{w}-{r}x{s}-{k}-{oh}-{ow}-{n}-{pad_h}x{pad_w}-{stride_h}x{stride_w}-{dilation_h}x{dilation_w}-0-{}-{}-{}{groups}",
            self.layout, self.dtype, self.direction
        )
    }

    /// Checks direction, data type, layout and sizes.
    ///
    /// # Errors
    /// [`Error::Input`] where a value is out of range, or the convolution has an unsupported feature.
    pub fn check(&self) -> Result<()> {
        let known = |what: &str, value: &str, all: &[&str]| match all.contains(&value) {
            true => Ok(()),
            false => input(format!("{what} `{value}` is not one of {}", all.join(", "))),
        };
        known("direction", &self.direction, &["F", "B", "W"])?;
        known("data type", &self.dtype, &["FP32", "FP16", "BF16", "INT8"])?;
        known("layout", &self.layout, &["NCHW", "NHWC"])?;
        for (name, size) in SIZES.iter().zip(self.sizes) {
            let least = !name.starts_with("pad") as u32;
            if !(least..=MOST).contains(&size) {
                return input(format!("{name} is {size}, not {least} to {MOST}"));
            }
        }
        match self.beyond.is_empty() {
            true => Ok(()),
            false => input(format!("a convolution with {} is not described", self.beyond)),
        }
    }

    /// Copies the convolution without its output size, as SQLite databases hold it.
    pub fn without_output(&self) -> Convolution {
        Convolution { output: None, ..self.clone() }
    }

    /// Converts the convolution to a problem of `kernel`; `argument` is the `x` of a solver `Name<x>`.
    ///
    /// # Errors
    /// [`Error::Input`] where a value is not allowed by its field, or `kernel` has a field that is unknown here.
    pub fn problem(&self, kernel: &Kernel, argument: Option<&str>) -> Result<Problem> {
        let value = |field: &seqtune_predict::kernel::spec::Field| match field.name.as_str() {
            "direction" => field.value(&self.direction),
            "dtype" => field.value(&self.dtype),
            "layout" => field.value(&self.layout),
            name if kernel.database.argument.as_deref() == Some(name) => field.value(argument.unwrap_or_default()),
            name => match SIZES.iter().position(|s| *s == name) {
                Some(i) if (field.min..=field.max).contains(&(self.sizes[i] as u64)) => Ok(self.sizes[i] as f64),
                Some(i) => field.value(&self.sizes[i].to_string()),
                None => input(format!("kernel {} has a field `{name}` that MIOpen does not know", kernel.name)),
            },
        };
        Ok(Problem { values: kernel.fields.iter().map(value).collect::<Result<_>>()? })
    }

    /// Rows and columns of the output: exact for a forward convolution, else of the smallest image that fits.
    pub(crate) fn smallest_output(&self) -> (u32, u32) {
        let [_, _, h, w, _, r, s, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, _] =
            self.sizes.map(i64::from);
        let size = |x: i64, taps: i64, pad: i64, stride: i64, dilation: i64| match self.direction.as_str() {
            "F" => (x + 2 * pad - dilation * (taps - 1) - 1).div_euclid(stride) + 1,
            _ => (x - 1) * stride - 2 * pad + dilation * (taps - 1) + 1,
        };
        let output = |x| u32::try_from(x).unwrap_or(0).max(1);
        (output(size(h, r, pad_h, stride_h, dilation_h)), output(size(w, s, pad_w, stride_w, dilation_w)))
    }
}
