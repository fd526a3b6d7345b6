//! The edits that matter: those without which a program is slower by more than a percent of its own time.

use crate::bench::{Bench, ratio, searched_cases};
use crate::edit::Edit;
use crate::llvm::{Library, Program};
use seqtune_kernel::error::Result;

/// An edit stays where the program without it takes so much longer.
const THRESHOLD: f64 = 0.01;

/// Pairs of one measurement; each program is measured twice, and the slower ratio counts.
const PAIRS: usize = 31;

/// Drops edits one by one, the last first, until none can go.
///
/// # Errors
/// The error of the bench.
pub fn minimise(
    library: &Library,
    prepared: &[u8],
    entry: &str,
    edits: &[Edit],
    bench: &mut Bench,
) -> Result<Vec<Edit>> {
    let mut kept = edits.to_vec();
    let mut own = ratio_of(library, prepared, entry, &kept, bench)?.unwrap_or(1.0);
    loop {
        let before = kept.len();
        for at in (0..kept.len()).rev() {
            let mut fewer = kept.clone();
            fewer.remove(at);
            let Some(ratio) = ratio_of(library, prepared, entry, &fewer, bench)? else { continue };
            if ratio <= own * (1.0 + THRESHOLD) {
                (kept, own) = (fewer, own.min(ratio));
            }
        }
        if kept.len() == before {
            return Ok(kept);
        }
    }
}

/// The ratio of a program, measured twice; none where it is wrong or an edit does not fit.
///
/// # Errors
/// The error of the bench.
pub fn ratio_of(
    library: &Library,
    prepared: &[u8],
    entry: &str,
    edits: &[Edit],
    bench: &mut Bench,
) -> Result<Option<f64>> {
    let mut program = Program::read(library, prepared, entry)?;
    if program.apply_all(edits).len() < edits.len() || program.fault().is_some() {
        return Ok(None);
    }
    let mut slower = 0.0;
    let cases = searched_cases();
    for cases in [&cases[..], &cases[..1]] {
        let found = bench.try_one(&program.bitcode(), cases, PAIRS)?;
        if found.fault.is_some() {
            return Ok(None);
        }
        slower = f64::max(slower, ratio(&found.ratios));
    }
    Ok(Some(slower))
}
