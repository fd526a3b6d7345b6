//! Samples of a result in double precision, computed on the host. They check the reference kernel, and replace it where it is slow.

use crate::verify::format::Format;
use seqtune_kernel::Exact;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::threads::{cores, on_threads};

/// Least and greatest number of elements, and limit of their products in all.
const FEWEST: f64 = 256.0;
const MOST: f64 = 4_096.0;
const PRODUCTS: f64 = 3.3e7;

/// Sample of an output's elements.
pub struct Sample {
    /// Index of the output among the arguments.
    pub output: usize,
    /// Some of its elements.
    pub elements: Vec<Element>,
}

/// An element of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// Its index.
    pub at: usize,
    /// Its value.
    pub value: f64,
}

/// Data of an argument on the host.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Format of its elements.
    pub format: Format,
}

/// Computes a sample that is spread evenly over the output, including its corners.
///
/// `env` holds the kernel's slots for the problem, `data` each argument's buffer before a launch, `None` for numbers.
///
/// # Errors
/// [`Error::Failed`] where `[exact]` names a number as a buffer, reads beyond a buffer, or has unequal steps along the last index.
pub fn sample(exact: &Exact, env: &[f64], data: &[Option<Data>]) -> Result<Sample> {
    let counts =
        |exprs: &[seqtune_kernel::expressions::Expr]| exprs.iter().map(|e| e.eval(env) as usize).collect::<Vec<_>>();
    let (over, sum) = (counts(&exact.over), counts(&exact.sum));
    let products = sum.iter().product::<usize>().max(1) as f64;
    let points = points(&over, (PRODUCTS / products).clamp(FEWEST, MOST) as usize);
    let first = env.len();
    let mut env = env.to_vec();
    env.resize(first + over.len() + sum.len(), 0.0);
    let (factor, old) = (exact.factor.eval(&env), exact.old.eval(&env));
    let buffer =
        |argument: usize| data[argument].ok_or_else(|| Error::Failed("[exact] names a number as a buffer".into()));
    let inputs = exact.product.iter().map(|(argument, _)| buffer(*argument)).collect::<Result<Vec<_>>>()?;
    let output = buffer(exact.output)?;
    let value = |point: &Vec<usize>| {
        let mut env = env.clone();
        for (slot, index) in env[first..].iter_mut().zip(point) {
            *slot = *index as f64;
        }
        let total = total(exact, &mut env, first + point.len(), &sum, &inputs)?;
        let at = exact.at.eval(&env) as usize;
        let before = if old == 0.0 { 0.0 } else { old * element(output, at)? };
        Ok(Element { at, value: factor * total + before })
    };
    // the device waits meanwhile
    Ok(Sample { output: exact.output, elements: on_threads(&points, cores(), value)? })
}

/// Sum over all indices, whose slots in `env` begin at `sum_from`.
fn total(exact: &Exact, env: &mut [f64], sum_from: usize, sum: &[usize], inputs: &[Data]) -> Result<f64> {
    let (last, outer) = (sum[sum.len() - 1], &sum[..sum.len() - 1]);
    let last_slot = env.len() - 1;
    let mut total = 0.0;
    for i in 0..outer.iter().product::<usize>() {
        let mut rest = i;
        for (slot, count) in env[sum_from..].iter_mut().zip(outer).rev() {
            *slot = (rest % count) as f64;
            rest /= count;
        }
        env[last_slot] = 0.0;
        if exact.within.eval(env) != 0.0 {
            total += run(exact, env, last_slot, last, inputs)?;
        }
    }
    Ok(total)
}

/// Sum of products along the last index.
fn run(exact: &Exact, env: &mut [f64], slot: usize, count: usize, inputs: &[Data]) -> Result<f64> {
    let mut lines = Vec::with_capacity(inputs.len());
    for (_, place) in &exact.product {
        let mut at = |i: usize| {
            env[slot] = i as f64;
            place.eval(env)
        };
        let (from, step) = (at(0), if count > 1 { at(1) - at(0) } else { 0.0 });
        if at(count - 1) != from + step * (count - 1) as f64 {
            return Err(Error::Failed(
                "[exact]: places along the last index of the sum are not equally far apart".into(),
            ));
        }
        lines.push((from, step));
    }
    let mut total = 0.0;
    for i in 0..count {
        let mut product = 1.0;
        for (input, (from, step)) in inputs.iter().zip(&lines) {
            product *= element(*input, (from + step * i as f64) as usize)?;
        }
        total += product;
    }
    Ok(total)
}

fn element(Data { bytes, format }: Data, at: usize) -> Result<f64> {
    let size = format.bytes();
    let found = bytes.get(at * size..(at + 1) * size).map(|b| format.read(b));
    found.ok_or_else(|| Error::Failed(format!("[exact]: element {at} lies beyond its buffer")))
}

/// Chooses about `wanted` index tuples, or all where there are no more.
///
/// They are the corners, and one near the middle of each cell of an even grid, so that every tile much larger than a cell is visited.
fn points(counts: &[usize], wanted: usize) -> Vec<Vec<usize>> {
    let all = counts.iter().product::<usize>();
    let tuples = |counts: &[usize]| {
        let counts = counts.to_vec();
        (0..counts.iter().product::<usize>()).map(move |mut i| {
            let mut tuple: Vec<usize> = counts.iter().rev().map(|c| (i % c, i /= c).0).collect();
            tuple.reverse();
            tuple
        })
    };
    if all <= wanted {
        return tuples(counts).collect();
    }
    // cells as wide along each index as can be, the short ones first
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|d| counts[*d]);
    let (mut cells, mut left) = (vec![1; counts.len()], wanted as f64);
    for (done, d) in order.iter().enumerate() {
        let rest: f64 = order[done..].iter().map(|d| counts[*d] as f64).product();
        let width = (rest / left).powf(1.0 / (counts.len() - done) as f64).max(1.0);
        cells[*d] = ((counts[*d] as f64 / width).round() as usize).max(1);
        left /= cells[*d] as f64;
    }
    let corners = tuples(&vec![2; counts.len()]).map(|c| c.iter().zip(counts).map(|(end, n)| end * (n - 1)).collect());
    let mut points: Vec<Vec<usize>> = corners.collect();
    for (i, cell) in tuples(&cells).enumerate() {
        let place = |d: usize| {
            // off the middle by up to a quarter of the cell, differently each time, to meet every lane of a vector
            let off = 0.5 * ((i as f64 * 0.618_033_988_75 * (d + 1) as f64).fract() - 0.5);
            let share = (cell[d] as f64 + 0.5 + off) / cells[d] as f64;
            ((share * counts[d] as f64) as usize).min(counts[d] - 1)
        };
        points.push((0..counts.len()).map(place).collect());
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqtune_kernel::Kernel;

    #[test]
    fn points_visit_the_corners_and_every_tile() {
        assert_eq!(points(&[2, 3], 10), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        let found = points(&[4_096, 8_192], 4_096);
        assert!(
            found.len().abs_diff(4_096) < 100 && found.contains(&vec![4_095, 0]) && found.contains(&vec![4_095, 8_191])
        );
        let tile = |p: &Vec<usize>| p[0] / 128 * 64 + p[1] / 128;
        let visited: std::collections::BTreeSet<usize> = found.iter().map(tile).collect();
        assert_eq!(visited.len(), 32 * 64, "a tile of 128 x 128 is not visited");
        let found = points(&[1, 512, 56, 56], 4_096);
        let lanes: std::collections::BTreeSet<usize> = found.iter().map(|p| p[3] % 4).collect();
        assert!(found.len().abs_diff(4_096) < 200 && lanes.len() == 4, "{} points, lanes {lanes:?}", found.len());
    }

    #[test]
    fn a_small_product_is_what_it_is_by_hand() {
        let kernel = Kernel::open("gemm").unwrap();
        let exact = kernel.source().unwrap().exact.as_ref().unwrap();
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        let (a, b, c) = (bytes(&[1.0, 2.0, 3.0, 4.0]), bytes(&[5.0, 6.0, 7.0, 8.0]), bytes(&[1.0, 1.0, 1.0, 2.0]));
        let computed = |problem: &str| {
            let problem = kernel.problem(problem).unwrap();
            let buffer = |data| Some((data, Format::F32));
            let data = [None, None, None, None, None, buffer(&a[..]), buffer(&b), buffer(&c)];
            let data = data.map(|kept| kept.map(|(bytes, format)| Data { bytes, format }));
            let elements = sample(exact, &kernel.env(&problem, None), &data).unwrap().elements;
            elements.iter().map(|element| (element.at, element.value)).collect::<Vec<_>>()
        };
        assert_eq!(computed("M=2,N=2,K=2"), [(0, 19.0), (1, 22.0), (2, 43.0), (3, 50.0)]);
        // the transposed product of transposed matrices; half of it, and twice what was there
        let both = computed("M=2,N=2,K=2,transA=T,transB=T,alpha=0.5,beta=2");
        assert_eq!(both, [(0, 13.5), (1, 17.5), (2, 19.0), (3, 27.0)]);
    }
}
