//! Unpacking within a limit: a file of a few bytes may stand for more than memory holds.

use crate::count::size;
use crate::error::{Result, input};
use crate::limits::{FileLimit, UNPACKED_BYTES, UNPACKED_MOST, UNPACKED_TIMES};
use std::cell::Cell;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

/// How many packed bytes a decompressor took so far.
#[derive(Clone, Debug, Default)]
pub struct Taken(Rc<Cell<u64>>);

impl Taken {
    /// A reader that is counted, for the decompressor.
    pub fn count<R>(&self, from: R) -> Counted<R> {
        Counted { from, taken: self.clone() }
    }
}

/// Reader whose bytes are counted.
pub struct Counted<R> {
    from: R,
    taken: Taken,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(into)?;
        self.taken.0.set(self.taken.0.get().saturating_add(read as u64));
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.from.seek(to)
    }
}

/// Bytes that are unpacked between two looks at the limits.
const PORTION: u64 = 1 << 20;

/// Unpacks all that `decoder` gives, which took its packed bytes through `taken`.
///
/// Data end where they are more than `limit` says, or more than [`UNPACKED_TIMES`] times the bytes taken so far ([`UNPACKED_BYTES`] are free), whichever
/// comes first: of data that hold nothing no more than that is ever in memory.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) where they are damaged or too many.
pub fn unpack(mut decoder: impl Read, taken: &Taken, limit: FileLimit) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    let most = limit.bytes.min(UNPACKED_MOST);
    loop {
        match Read::by_ref(&mut decoder).take(PORTION).read_to_end(&mut plain) {
            Ok(0) => return Ok(plain),
            Ok(_) => {}
            Err(e) => return input(format!("its packed data are truncated or damaged ({e}); fetch it again")),
        }
        let unpacked = plain.len() as u64;
        if unpacked > most {
            return input(format!("unpacks to more than {}, which {} has at most", size(most), limit.what));
        }
        let packed = taken.0.get();
        if unpacked > UNPACKED_BYTES.max(packed.saturating_mul(UNPACKED_TIMES)) {
            return input(format!(
                "unpacks to more than {}, {UNPACKED_TIMES} times as much as its packed data: it holds nothing",
                size(unpacked)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;

    const NOTE: FileLimit = FileLimit { what: "a note", bytes: 1 << 30 };

    /// Noise that does not pack, then zeros, packed.
    fn packed(noise: usize, zeros: u64) -> Vec<u8> {
        let mut bytes = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut state = 1u32;
        for _ in 0..noise {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            std::io::Write::write_all(&mut bytes, &[(state >> 24) as u8]).unwrap();
        }
        std::io::copy(&mut std::io::repeat(0).take(zeros), &mut bytes).unwrap();
        bytes.finish().unwrap()
    }

    fn unpacked(bytes: &[u8], limit: FileLimit) -> Result<Vec<u8>> {
        let taken = Taken::default();
        unpack(ZlibDecoder::new(taken.count(bytes)), &taken, limit)
    }

    #[test]
    fn what_holds_nothing_is_refused_before_it_fills_memory_and_the_rest_comes_back_whole() {
        let sound = packed(300_000, 3_000_000);
        assert_eq!(unpacked(&sound, NOTE).unwrap().len(), 3_300_000);
        let error = unpacked(&packed(0, 80 << 20), NOTE).map(|plain| plain.len()).unwrap_err().to_string();
        assert!(error.contains("100 times as much"), "{error}");
        let small = FileLimit { bytes: 2_000_000, ..NOTE };
        let error = unpacked(&sound, small).unwrap_err().to_string();
        assert!(error.contains("2.0 MB, which a note has at most"), "{error}");
        let damaged = [&[0], &sound[1..]].concat();
        assert!(unpacked(&damaged, NOTE).unwrap_err().to_string().contains("truncated or damaged"));
    }
}
