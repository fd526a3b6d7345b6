//! What a buffer holds before a launch: random numbers, or the whole numbers that its kernel states.

use crate::verify::compare::random_data;
use crate::verify::format::Format;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Argument, Integers};

/// Elements that a thread computes at a time.
const CHUNK: usize = 1 << 16;

/// Content of a buffer of `count` elements; `env` holds the kernel's slots for the problem.
///
/// # Errors
/// [`Error::Failed`] where an element is no whole number of 32 bits.
pub fn content(
    argument: &Argument,
    count: usize,
    format: Format,
    env: &[f64],
    rng: &mut ChaCha8Rng,
) -> Result<Vec<u8>> {
    match &argument.integers {
        None => Ok(random_data(count, format, rng)),
        Some(integers) => {
            whole_numbers(integers, count, env).map_err(|e| e.at_place(format!("argument `{}`", argument.name)))
        }
    }
}

/// The numbers, on all cores; sums are added up afterwards.
fn whole_numbers(integers: &Integers, count: usize, env: &[f64]) -> Result<Vec<u8>> {
    let starts: Vec<usize> = (0..count).step_by(CHUNK).collect();
    let chunk = |from: &usize| {
        let mut env = env.to_vec();
        env.push(0.0);
        let place = env.len() - 1;
        let value = |i: usize| {
            env[place] = i as f64;
            let value = integers.value.eval(&env);
            if value == value as i32 as f64 { Ok(value as i32) } else { outside(i, value) }
        };
        (*from..(from + CHUNK).min(count)).map(value).collect::<Result<Vec<i32>>>()
    };
    let mut values: Vec<i32> = on_threads(&starts, cores(), chunk)?.concat();
    if integers.is_running {
        let mut sum = 0i64;
        for (i, value) in values.iter_mut().enumerate() {
            let before = i32::try_from(sum).or_else(|_| outside(i, sum as f64))?;
            sum += *value as i64;
            *value = before;
        }
    }
    Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn outside<T>(place: usize, value: f64) -> Result<T> {
    Err(Error::Failed(format!("its element {place} would be {value}, which is no whole number of 32 bits")))
}
