//! Random input, and the comparison of a result with the reference.

use crate::verify::double_precision::Element;
use crate::verify::format::Format;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Number of bytes behind each output that a correct kernel leaves unchanged.
pub const CANARY: usize = 256;
const CANARY_BYTE: u8 = 0xA5;

/// Bytes that are placed behind an output.
pub fn canary() -> [u8; CANARY] {
    [CANARY_BYTE; CANARY]
}

/// Values that a thread generates at a time. Problems of hundreds of megabytes are made in a sweep, while the device waits.
const CHUNK: usize = 1 << 20;

/// Generates `count` random values in [-1, 1), on all cores; the same as on one.
pub fn random_data(count: usize, format: Format, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let size = format.bytes();
    let mut data = Vec::with_capacity(count * size + CANARY);
    data.resize(count * size, 0);
    // a value takes one word of the generator
    let first = rng.get_word_pos();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = count.div_ceil(threads).next_multiple_of(CHUNK);
    std::thread::scope(|scope| {
        let mut parts = data.chunks_mut(share * size).enumerate();
        let own = parts.next();
        for (at, part) in parts {
            let mut rng = rng.clone();
            rng.set_word_pos(first + (at * share) as u128);
            scope.spawn(move || fill(part, format, &mut rng));
        }
        if let Some((_, part)) = own {
            fill(part, format, rng);
        }
    });
    rng.set_word_pos(first + count as u128);
    data
}

fn fill(data: &mut [u8], format: Format, rng: &mut ChaCha8Rng) {
    for value in data.chunks_exact_mut(format.bytes()) {
        match format {
            Format::F16 => {
                // sign, exponent 8-14 (magnitudes 2^-7 to 1), mantissa
                let bits: u16 = rng.random();
                let exponent = 8 + (bits >> 10 & 31) % 7;
                value.copy_from_slice(&((bits & 0x83ff) | exponent << 10).to_le_bytes());
            }
            Format::F32 => value.copy_from_slice(&(rng.random::<f32>() * 2.0 - 1.0).to_le_bytes()),
            Format::Bf16 => value.copy_from_slice(&(rng.random::<f32>() * 2.0 - 1.0).to_le_bytes()[2..]),
        }
    }
}

/// Largest magnitude of a result, to which errors are relative.
pub fn scale(result: &[u8], format: Format) -> f64 {
    let values = result[..result.len() - CANARY].chunks_exact(format.bytes());
    values.map(|b| format.read(b).abs()).fold(0.0, f64::max)
}

/// Finds an error of a result: a value that deviates by more than `most`, or a changed canary.
pub fn difference(found: &[u8], expected: &[u8], format: Format, most: f64) -> Option<String> {
    if let Some(broken) = overrun(found) {
        return Some(broken);
    }
    let data = found.len() - CANARY;
    let (found, expected) = (&found[..data], &expected[..data]);
    // results of megabytes are compared for every config: whole blocks first, which the compiler vectorises
    let block = 4_096 * format.bytes();
    let wrong = |(f, e): &(&[u8], &[u8])| f != e && !blocks_agree(f, e, format, most);
    let (at, (f, e)) = found.chunks(block).zip(expected.chunks(block)).enumerate().find(|(_, pair)| wrong(pair))?;
    let values = |bytes| <[u8]>::chunks_exact(bytes, format.bytes()).map(|b| format.read(b));
    let compared = values(f).zip(values(e)).enumerate();
    let compared = compared.map(|(i, (found, expected))| Compared { at: i + at * 4_096, found, expected });
    let Compared { at, found, expected } = first_wrong(compared, most)?;
    Some(format!("element {at} is {found}, the reference says {expected}"))
}

fn blocks_agree(found: &[u8], expected: &[u8], format: Format, most: f64) -> bool {
    fn within<const N: usize>(found: &[u8], expected: &[u8], most: f64, read: impl Fn([u8; N]) -> f64) -> bool {
        let pairs = found.as_chunks::<N>().0.iter().zip(expected.as_chunks::<N>().0);
        // a NaN is within nothing
        pairs.map(|(f, e)| ((read(*f) - read(*e)).abs() <= most) as usize).sum::<usize>() == found.len() / N
    }
    match format {
        Format::F32 => within(found, expected, most, |b: [u8; 4]| f32::from_le_bytes(b) as f64),
        Format::F16 | Format::Bf16 => within(found, expected, most, |b: [u8; 2]| format.read(&b)),
    }
}

/// Finds an error of a result as [`difference`], where only some elements are known by their indices. Errors are relative to their largest magnitude,
/// or to `least_scale` where that is larger.
pub fn deviation(
    found: &[u8],
    expected: &[Element],
    format: Format,
    tolerance: f64,
    least_scale: f64,
) -> Option<String> {
    if let Some(broken) = overrun(found) {
        return Some(broken);
    }
    let scale = largest(expected).max(least_scale);
    let read = |i: usize| format.read(&found[i * format.bytes()..]);
    let compared =
        expected.iter().map(|element| Compared { at: element.at, found: read(element.at), expected: element.value });
    let Compared { at, found, expected } = first_wrong(compared, tolerance * scale)?;
    Some(format!("element {at} is {found}, double precision says {expected}"))
}

/// Largest magnitude of known elements.
pub fn largest(elements: &[Element]) -> f64 {
    elements.iter().map(|element| element.value.abs()).fold(0.0, f64::max)
}

/// Finds a changed canary.
pub fn overrun(found: &[u8]) -> Option<String> {
    let broken = found[found.len() - CANARY..].iter().any(|b| *b != CANARY_BYTE);
    broken.then(|| "wrote behind the end of its output".into())
}

/// An element beside what it should be.
struct Compared {
    at: usize,
    found: f64,
    expected: f64,
}

fn first_wrong(mut compared: impl Iterator<Item = Compared>, most: f64) -> Option<Compared> {
    compared.find(|element| {
        let error = (element.found - element.expected).abs();
        error > most || error.is_nan()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;

    #[test]
    fn random_values_of_every_format_lie_between_minus_one_and_one() {
        for format in [Format::F32, Format::F16, Format::Bf16] {
            let data = random_data(1_000, format, &mut test_generator(1));
            let values: Vec<f64> = data.chunks(format.bytes()).map(|b| format.read(b)).collect();
            assert!(values.iter().all(|v| (-1.0..=1.0).contains(v)), "{format:?}");
            let mean = values.iter().sum::<f64>() / 1e3;
            assert!(mean.abs() < 0.1 && values.iter().any(|v| v.abs() > 0.9), "{format:?}: {mean}");
        }
        assert_eq!(Format::Bf16.read(&[0x80, 0xbf]), -1.0);
    }

    #[test]
    fn random_data_are_the_same_on_one_core_and_on_many() {
        for format in [Format::F32, Format::F16, Format::Bf16] {
            let [mut parts, mut whole] = [7, 7].map(test_generator);
            let count = 2 * CHUNK + 77;
            let many = random_data(count, format, &mut parts);
            let mut one = vec![0; count * format.bytes()];
            fill(&mut one, format, &mut whole);
            assert!(many == one, "{format:?}");
            assert_eq!(parts.random::<u32>(), whole.random::<u32>(), "{format:?}: the next value");
        }
    }

    #[test]
    fn a_wrong_value_is_found_wherever_it_is() {
        let mut values = vec![0.25f32; 10_000];
        let bytes =
            |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).chain([CANARY_BYTE; CANARY]).collect::<Vec<u8>>();
        let expected = bytes(&values);
        (values[9_000], values[9_999]) = (0.2501, 0.26);
        let found = difference(&bytes(&values), &expected, Format::F32, 1e-3).unwrap();
        assert!(found.starts_with("element 9999 is 0.25999"), "{found}");
    }

    fn elements(known: &[(usize, f64)]) -> Vec<Element> {
        known.iter().map(|(at, value)| Element { at: *at, value: *value }).collect()
    }

    #[test]
    fn a_wrong_value_a_nan_and_a_broken_canary_are_found() {
        let data = |x: f32| [x.to_le_bytes().to_vec(), 1f32.to_le_bytes().to_vec(), vec![CANARY_BYTE; CANARY]].concat();
        assert_eq!(difference(&data(0.5), &data(0.5), Format::F32, 0.0), None);
        assert_eq!(scale(&data(-7.5), Format::F32), 7.5);
        assert_eq!(difference(&data(0.5001), &data(0.5), Format::F32, 1e-3), None);
        assert!(
            difference(&data(0.6), &data(0.5), Format::F32, 1e-3).is_some_and(|d| d.starts_with("element 0 is 0.6"))
        );
        assert!(difference(&data(f32::NAN), &data(0.5), Format::F32, 1e-3).is_some());
        let mut broken = data(0.5);
        broken[10] = 0;
        assert_eq!(difference(&broken, &data(0.5), Format::F32, 1e-3).unwrap(), "wrote behind the end of its output");
        assert_eq!(
            deviation(&broken, &elements(&[(0, 0.5)]), Format::F32, 1e-3, 0.0).unwrap(),
            "wrote behind the end of its output"
        );
        assert_eq!(deviation(&data(0.5001), &elements(&[(1, 1.0), (0, 0.5)]), Format::F32, 1e-3, 0.0), None);
        assert_eq!(deviation(&data(0.6), &elements(&[(1, 1.0), (0, 0.5)]), Format::F32, 1e-3, 200.0), None);
        let wrong = deviation(&data(0.6), &elements(&[(1, 1.0), (0, 0.5)]), Format::F32, 1e-3, 0.0).unwrap();
        assert!(wrong.starts_with("element 0 is 0.6"), "{wrong}");
    }
}
