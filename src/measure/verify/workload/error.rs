//! How far results are from what was expected.

use super::{Expected, Workload};
use crate::executor::Executor;
use crate::verify::compare::{CANARY, largest, overrun};
use crate::verify::format::Format;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::error::Result;

impl Workload {
    /// Error that is allowed, relative to the largest magnitude of an output.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The largest error of an element, relative to the largest magnitude of its output; a failure where bytes behind an output changed.
    ///
    /// # Errors
    /// `Error::Failed` where a result cannot be read.
    pub fn error(&self, executor: &mut dyn Executor) -> Result<Attempt<f64>> {
        let mut worst = 0.0;
        for output in &self.outputs {
            let mut found = vec![0; output.before.len()];
            executor.read(output.buffer, &mut found)?;
            if let Some(broken) = overrun(&found) {
                let broken = format!("`{}`: {broken}", output.name);
                return Ok(Err(Invalidity::new(InvalidityKind::Correctness, broken)));
            }
            let data = &found[..found.len() - CANARY];
            let error = match &output.expected {
                Expected::Nothing => 0.0,
                Expected::All(expected, magnitude, _) => {
                    all(data, expected, output.format) / magnitude.max(f64::MIN_POSITIVE)
                }
                Expected::Some(sample) => {
                    let scale = largest(&sample.elements).max(output.least_scale).max(f64::MIN_POSITIVE);
                    let bytes = output.format.bytes();
                    let off = sample
                        .elements
                        .iter()
                        .map(|element| distance(output.format.read(&data[element.at * bytes..]), element.value));
                    off.fold(0.0, f64::max) / scale
                }
            };
            worst = f64::max(worst, error);
        }
        Ok(Ok(worst))
    }
}

/// Distance of two numbers; infinite where one alone is none.
fn distance(found: f64, expected: f64) -> f64 {
    let off = (found - expected).abs();
    match off.is_nan() {
        true if found == expected || found.is_nan() && expected.is_nan() => 0.0,
        true => f64::INFINITY,
        false => off,
    }
}

fn all(found: &[u8], expected: &[u8], format: Format) -> f64 {
    let pairs = found.chunks_exact(format.bytes()).zip(expected.chunks_exact(format.bytes()));
    pairs.filter(|(f, e)| f != e).map(|(f, e)| distance(format.read(f), format.read(e))).fold(0.0, f64::max)
}
