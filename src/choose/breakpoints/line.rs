//! One field that varies while the others stay.

use crate::ranges::Range;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Checker, ConfigSpace};
use seqtune_predict::{Device, Kernel, Problem};
use std::collections::BTreeSet;

/// Sizes that a line is asked at, where it has more.
pub const DEFAULT_SIZES: usize = 240;

/// Sizes that people choose are multiples of this or one more, where they are not small.
const ROUND: u64 = 16;

/// The problems of one field's sizes.
#[derive(Clone, Debug)]
pub struct Line {
    /// Place of the field that varies.
    pub field: usize,
    /// Range that was asked for.
    pub range: Range,
    /// Sizes in rising order that the kernel takes and that some config is legal for.
    pub sizes: Vec<u64>,
    /// The problem of each size.
    pub problems: Vec<Problem>,
}

impl Line {
    /// The line of `range` through a problem, at about `most` sizes: all of them where there are no more, else those that are even on a
    /// logarithmic scale, multiples of 16 beside them, and powers of two, with what follows each.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where the field is none of the kernel's sizes, where the range is empty or beyond the
    /// kernel's, and where no config is legal for any size.
    pub fn new(kernel: &Kernel, device: &Device, problem: &Problem, range: &Range, most: usize) -> Result<Line> {
        let field = range.check(kernel)?;
        let checker = Checker::new(kernel);
        let (mut sizes, mut problems) = (Vec::new(), Vec::new());
        for size in spread_sizes(range.least, range.greatest, most.max(2)) {
            let mut own = problem.clone();
            own.values[field] = size as f64;
            let serves = checker.broken_rule(&kernel.env(&own, None)).is_none();
            if serves && !ConfigSpace::new(kernel, &own, device).completions(&[])?.is_empty() {
                sizes.push(size);
                problems.push(own);
            }
        }
        if sizes.is_empty() {
            return input(format!(
                "no config of kernel {} is legal for any {} from {} to {} of {}",
                kernel.name,
                range.field,
                range.least,
                range.greatest,
                kernel.brief_problem(problem)
            ));
        }
        Ok(Line { field, range: range.clone(), sizes, problems })
    }
}

/// About `most` sizes of a range.
fn spread_sizes(least: u64, greatest: u64, most: usize) -> BTreeSet<u64> {
    if greatest - least < most as u64 {
        return (least..=greatest).collect();
    }
    let (from, to) = ((least as f64 + 1.0).ln(), (greatest as f64 + 1.0).ln());
    let even = (most / 3).max(2);
    let mut sizes = BTreeSet::from([least, greatest]);
    for at in 0..even {
        let size = ((from + (to - from) * at as f64 / (even - 1) as f64).exp() - 1.0).round() as u64;
        sizes.insert(size);
        if size >= 2 * ROUND {
            let round = size.div_ceil(ROUND) * ROUND;
            sizes.extend([round, round + 1]);
        }
    }
    let powers = (0..u64::BITS).map(|bits| 1u64 << bits).take_while(|power| *power <= greatest);
    sizes.extend(powers.flat_map(|power| [power, power + 1]));
    sizes.retain(|size| (least..=greatest).contains(size));
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn sizes_of_a_line_are_all_of_a_short_range_and_round_ones_of_a_long_one() {
        assert_eq!(spread_sizes(3, 7, 9).into_iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
        let long = spread_sizes(1, 65_536, 240);
        assert!(long.len() > 150 && long.len() < 280, "{}", long.len());
        assert!([1, 64, 65, 4096, 4097, 65_536].iter().all(|size| long.contains(size)));
        assert_eq!((long.first(), long.last()), (Some(&1), Some(&65_536)));
        assert_eq!(spread_sizes(1 << 40, u64::MAX >> 12, 30).last(), Some(&(u64::MAX >> 12)));
    }

    #[test]
    fn a_line_has_the_sizes_that_the_kernel_takes_and_refuses_what_is_no_size() {
        let toy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../predict/toy");
        let kernel = Kernel::open(&toy.display().to_string()).unwrap();
        let device = Device::find_described("A100").unwrap();
        let problem = kernel.problem("M=64").unwrap();
        let line = |field: &str, least, greatest| {
            let range = Range { field: field.into(), least, greatest };
            Line::new(&kernel, &device, &problem, &range, 30)
        };
        let found = line("M", 32, 40).unwrap();
        assert_eq!(found.sizes, (32..=40).collect::<Vec<_>>());
        assert_eq!(found.problems[3], kernel.problem("M=35").unwrap());
        let refused = |field: &str, least, greatest| line(field, least, greatest).unwrap_err().to_string();
        assert!(refused("N", 1, 2).contains("`N` is no size of kernel toy: M"), "{}", refused("N", 1, 2));
        assert!(refused("M", 9, 8).contains("the first is at most the second"));
    }
}
