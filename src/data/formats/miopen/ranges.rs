//! The same convolutions with a range of sizes.

use crate::formats::miopen::convolution::{Convolution, FLAT, SIZES, check_range, place_of};
use crate::formats::miopen::layer::Layer;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::limits;
use std::str::FromStr;

/// Sizes that take the same values together, such as `N=1..64*2` (1, 2, 4 to 64), `H,W=8..256+8` or `N=1,2,5`. They are those of
/// the layer: `C`, `H` and `W` of its input, `K` of its output, in all directions.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeRange {
    /// Indices into `SIZES`.
    places: Vec<usize>,
    values: Vec<u32>,
}

const NOTATION: &str =
    "write it as N=1,2,5 or N=1..64, N=1..64+8 (every eighth), N=1..64*2 (doubled), H,W=8..64+8 (both alike)";

impl FromStr for SizeRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<SizeRange> {
        let Some((names, values)) = text.split_once('=') else { return input(NOTATION) };
        let place = |name: &str| {
            place_of(name.trim())
                .ok_or_else(|| Error::Input(format!("there is no size `{name}`; they are {}", SIZES.join(", "))))
        };
        let places = names.split(',').map(place).collect::<Result<_>>()?;
        match values_of(values) {
            Some(values) if !values.is_empty() => Ok(SizeRange { places, values }),
            _ => input(format!("`{values}` is no range of sizes; {NOTATION}")),
        }
    }
}

fn values_of(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let Some((first, rest)) = text.split_once("..") else { return text.split(',').map(number).collect() };
    let (last, factor, step) = match (rest.split_once('*'), rest.split_once('+')) {
        (Some((last, factor)), _) => (last, number(factor)?, 0),
        (None, Some((last, step))) => (last, 1, number(step)?),
        (None, None) => (rest, 1, 1),
    };
    let (mut size, last) = (number(first)?, number(last)?);
    let mut values = Vec::new();
    while size <= last && values.len() <= limits::CONVOLUTIONS {
        values.push(size);
        let next = size.checked_mul(factor)?.checked_add(step)?;
        if next <= size {
            return None;
        }
        size = next;
    }
    Some(values)
}

/// Convolutions with combinations of sizes.
#[derive(Clone, Debug)]
pub struct Stretched {
    /// The convolutions.
    pub convolutions: Vec<Convolution>,
    /// Combinations that are none: they leave no room for a filter, or their groups do not divide the channels.
    pub impossible: usize,
}

/// Every convolution with every combination of the sizes.
///
/// # Errors
/// [`Error::Input`] where they are more than [`limits::CONVOLUTIONS`], a size is out of range, or has two ranges.
pub fn stretch(convolutions: &[Convolution], ranges: &[SizeRange]) -> Result<Stretched> {
    let each = ranges.iter().try_fold(1usize, |product, range| product.checked_mul(range.values.len()));
    let count = each.and_then(|each| each.checked_mul(convolutions.len()));
    if count.is_none_or(|count| count > limits::CONVOLUTIONS) {
        return input(format!("the ranges make more than {} convolutions; use wider steps", limits::CONVOLUTIONS));
    }
    let places: Vec<usize> = ranges.iter().flat_map(|range| range.places.iter().copied()).collect();
    if let Some(twice) = (1..places.len()).find(|at| places[..*at].contains(&places[*at])) {
        return input(format!("the range of {} is given twice", SIZES[places[twice]]));
    }
    let deep = ranges.iter().flat_map(|range| &range.places).find(|place| **place >= FLAT);
    if let (Some(place), true) = (deep, convolutions.iter().any(|c| c.dimensions == 2)) {
        return input(format!("{} is a size of three dimensions, and a convolution has two", SIZES[*place]));
    }
    let (mut all, mut impossible) = (Vec::new(), 0);
    for convolution in convolutions {
        let mut layers = vec![Layer::from_convolution(convolution)];
        for SizeRange { places, values } in ranges {
            layers = layers
                .iter()
                .flat_map(|layer| {
                    values.iter().map(|value| {
                        let mut layer = layer.clone();
                        places.iter().for_each(|place| layer.sizes[*place] = *value);
                        layer
                    })
                })
                .collect();
        }
        for layer in layers {
            check_range(&layer.sizes)?;
            match layer.in_direction(&convolution.direction) {
                Ok(made) => {
                    made.check()?;
                    all.push(made);
                }
                Err(_) => impossible += 1,
            }
        }
    }
    Ok(Stretched { convolutions: all, impossible })
}
