//! The keys of convolutions in databases of text form: of either generation.

use crate::formats::miopen::convolution::{BATCH, Convolution, FLAT, FLAT_DEPTH, SIZES, sizes_of};
use seqtune_kernel::error::{Error, Result};

/// The sizes of a key of the second generation, behind its dimensions.
const CROSSED: [&str; 18] = [
    "C",
    "H",
    "W",
    "D",
    "R",
    "S",
    "T",
    "K",
    BATCH,
    "pad_h",
    "pad_w",
    "pad_d",
    "stride_h",
    "stride_w",
    "stride_d",
    "dilation_h",
    "dilation_w",
    "dilation_d",
];

/// Parts of such a key: around the sizes its dimensions, bias, groups, layout, data type and direction.
const PARTS: usize = CROSSED.len() + 6;

/// Dashes from which on a key is one of the first generation.
const DASHES: usize = 4;

impl Convolution {
    /// Parses a key of either generation: `C-H-W-RxS-K-OH-OW-N-padHxW-strideHxW-dilationHxW-bias-layout-dtype-direction`, with `_gG` for
    /// groups and the depth before rows where there is one; or 24 parts between `x`, from the number of dimensions to the direction, as MIOpen
    /// writes them from ROCm 6.2 on, with the depth behind columns.
    ///
    /// # Errors
    /// [`Error::Input`] where the key is malformed.
    pub fn parse(key: &str) -> Result<Convolution> {
        let crossed: Vec<&str> = key.split('x').collect();
        let told = |what: String| Error::Input(format!("key `{key}`: {what}"));
        // a key of the first generation has a cross between rows and columns alone
        match (key.matches('-').count() < DASHES, crossed.len()) {
            (true, PARTS) => of_crossed(&crossed).map_err(told),
            (true, 1) => Err(told("is no MIOpenDriver command, no name=value pairs and no key of a database".into())),
            (true, parts) => Err(told(format!("has {parts} parts between x, not {PARTS}"))),
            (false, _) => of_dashed(key).map_err(told),
        }
    }

    /// Formats the key in the second generation's way, which MIOpen reads in tuned databases from ROCm 6.2 on.
    pub fn key(&self) -> String {
        // two dimensions have no stride and no dilation along a depth there
        let size = |name: &str| match (self.dimensions, name) {
            (2, "stride_d" | "dilation_d") => 0,
            _ => self.size(name),
        };
        let sizes = [self.dimensions].into_iter().chain(CROSSED.map(size)).chain([0, self.size("groups")]);
        let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
        format!("{}x{}x{}x{}", sizes.join("x"), self.layout, self.dtype, self.direction)
    }
}

fn number(text: &str) -> std::result::Result<u32, String> {
    text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"))
}

fn of_crossed(parts: &[&str]) -> std::result::Result<Convolution, String> {
    let mut numbers = [0; CROSSED.len() + 3];
    for (size, part) in numbers.iter_mut().zip(parts) {
        *size = number(part)?;
    }
    let [dimensions, named @ .., bias, groups] = numbers;
    let mut sizes = SIZES.map(|name| CROSSED.iter().position(|other| *other == name).map_or(groups, |at| named[at]));
    match dimensions {
        2 if sizes[FLAT..][..3] == FLAT_DEPTH[..3] => sizes[FLAT..].copy_from_slice(&FLAT_DEPTH),
        2 => return Err("two dimensions have no depth".into()),
        3 => {}
        _ => return Err(format!("{dimensions} dimensions; they are 2 or 3")),
    }
    let [.., layout, dtype, direction] = parts else { return Err("is cut off".into()) };
    Ok(Convolution {
        direction: (*direction).into(),
        dtype: (*dtype).into(),
        layout: (*layout).into(),
        dimensions,
        sizes,
        output: None,
        beyond: if bias == 0 { String::new() } else { "a bias".into() },
    })
}

fn of_dashed(key: &str) -> std::result::Result<Convolution, String> {
    let (key_part, groups) = match key.rsplit_once("_g") {
        Some((rest, groups)) => (rest, groups.parse().map_err(|_| "the groups are not a number")?),
        None => (key, 1),
    };
    let mut parts: Vec<&str> = key_part.split('-').collect();
    // of three dimensions the depth stands before rows and columns of input and output
    let deep = !parts.get(3).is_some_and(|p| p.contains('x'));
    let mut beyond = "";
    // some keys name the layouts of input, filter and output
    let layouts = if deep { 14 } else { 12 };
    if parts.len() == layouts + 5 {
        if parts[layouts..layouts + 3].iter().any(|l| *l != parts[layouts]) {
            beyond = "different layouts";
        }
        parts.drain(layouts..layouts + 2);
    }
    if parts.len() != layouts + 3 {
        return Err(format!("has {} parts, not 15 (or 17 for 3 dimensions)", parts.len()));
    }
    // the depth of two dimensions
    let mut depths = if deep { vec![number(parts.remove(1))?, number(parts.remove(5))?] } else { vec![1, 1] };
    let output_depth = depths.remove(1);
    let of = |text: &str, flat: u32| -> std::result::Result<[u32; 3], String> {
        let numbers = text.split('x').map(number).collect::<std::result::Result<Vec<_>, String>>()?;
        match numbers[..] {
            [a, b] if !deep => Ok([flat, a, b]),
            [d, a, b] if deep => Ok([d, a, b]),
            _ => Err(format!("`{text}` is not written {}", if deep { "TxRxS" } else { "RxS" })),
        }
    };
    let ([t, r, s], [pad_d, pad_h, pad_w]) = (of(parts[3], 1)?, of(parts[8], 0)?);
    let ([stride_d, stride_h, stride_w], [dilation_d, dilation_h, dilation_w]) = (of(parts[9], 1)?, of(parts[10], 1)?);
    let [c, h, w, k, oh, ow, n] = [0, 1, 2, 4, 5, 6, 7].map(|at| number(parts[at]));
    let flat = [n?, c?, h?, w?, k?, r, s, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups];
    Ok(Convolution {
        direction: parts[14].into(),
        dtype: parts[13].into(),
        layout: parts[12].into(),
        dimensions: if deep { 3 } else { 2 },
        sizes: sizes_of(flat, [depths[0], t, pad_d, stride_d, dilation_d]),
        output: Some([output_depth, oh?, ow?]),
        beyond: if parts[11] != "0" { "a bias".into() } else { beyond.into() },
    })
}
