//! The container in which PoCL gives and takes compiled programs: `poclbin`, version 9 of PoCL 3.x, as its `pocl_binary.c` reads it.
//!
//! Numbers are little endian. Behind the head stand the files of the program, of which there is one, its bitcode; then each kernel with a description
//! and what was compiled for sizes of work-groups. That is left out where the bitcode is replaced.

use seqtune_kernel::error::{Error, Result};
use sha2::{Digest, Sha256};

const MAGIC: &[u8] = b"poclbin\0";
const VERSION: u32 = 9;

/// Bytes of a hash: letters, and a zero behind them.
const HASH: usize = 41;

/// Places in the head.
const VERSION_AT: usize = 16;
const KERNELS_AT: usize = 20;
const ROOTS_AT: usize = 32;
const HASH_AT: usize = 36;
const BYTES_AT: usize = HASH_AT + HASH;
const HEAD: usize = BYTES_AT + 8;

/// A program, as PoCL gives it.
pub struct Container<'a> {
    head: &'a [u8],
    name: &'a [u8],
    bitcode: &'a [u8],
    /// Descriptions of kernels, without compiled files.
    kernels: Vec<&'a [u8]>,
}

/// What is read from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| wrong("it is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize> {
        Ok(u32_at(self.take(4)?, 0) as usize)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn wrong(why: &str) -> Error {
    Error::Unavailable(format!("the program that this PoCL gives is not read: {why}; PoCL 3.1 is known"))
}

impl<'a> Container<'a> {
    /// Takes a program apart.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where it has another form.
    pub fn read(bytes: &'a [u8]) -> Result<Container<'a>> {
        let mut rest = Reader(bytes);
        let head = rest.take(HEAD)?;
        if !head.starts_with(MAGIC) || u32_at(head, VERSION_AT) != VERSION || u32_at(head, ROOTS_AT) != 1 {
            return Err(wrong(&format!("it is of version {}", u32_at(head, VERSION_AT))));
        }
        let length = rest.number()?;
        let name = rest.take(length)?;
        let length = rest.number()?;
        let bitcode = rest.take(length)?;
        let mut kernels = Vec::new();
        for _ in 0..u32_at(head, KERNELS_AT) {
            let [whole, files] = [0, 8].map(|at| u64_at(rest.0, at) as usize);
            let kernel = rest.take(whole)?;
            let described = whole.checked_sub(files).filter(|described| *described >= 16);
            kernels.push(&kernel[..described.ok_or_else(|| wrong("a kernel has no description"))?]);
        }
        if !rest.0.is_empty() {
            return Err(wrong("something stands behind its kernels"));
        }
        Ok(Container { head, name, bitcode, kernels })
    }

    /// LLVM's bitcode.
    pub fn bitcode(&self) -> &'a [u8] {
        self.bitcode
    }

    /// The same program with other bitcode.
    pub fn with_bitcode(&self, bitcode: &[u8]) -> Vec<u8> {
        let mut made = self.head.to_vec();
        // what PoCL has in its cache under a hash is not replaced
        made[HASH_AT..BYTES_AT].copy_from_slice(&hash(bitcode));
        let files = 8 + self.name.len() + bitcode.len();
        made[BYTES_AT..HEAD].copy_from_slice(&(files as u64).to_le_bytes());
        for part in [self.name, bitcode] {
            made.extend((part.len() as u32).to_le_bytes());
            made.extend(part);
        }
        for kernel in &self.kernels {
            made.extend((kernel.len() as u64).to_le_bytes());
            made.extend(0u64.to_le_bytes());
            made.extend(&kernel[16..]);
        }
        made
    }
}

/// A hash as PoCL writes one: letters from A to P, a slash behind the second, and a zero.
fn hash(bitcode: &[u8]) -> [u8; HASH] {
    let digest = Sha256::digest(bitcode);
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|nibble| b'A' + nibble);
    let mut text = [0; HASH];
    text.iter_mut().zip(nibbles).for_each(|(to, letter)| *to = letter);
    text[2] = b'/';
    text[HASH - 1] = 0;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of one kernel, of which `files` bytes were compiled.
    fn program(bitcode: &[u8], files: usize) -> Vec<u8> {
        let mut made = MAGIC.to_vec();
        made.extend(7u64.to_le_bytes());
        made.extend([VERSION, 1].map(u32::to_le_bytes).concat());
        made.extend(0u64.to_le_bytes());
        made.extend(1u32.to_le_bytes());
        made.extend([b'A'; HASH]);
        made.extend((8 + 11 + bitcode.len() as u64).to_le_bytes());
        for part in [&b"/program.bc"[..], bitcode] {
            made.extend((part.len() as u32).to_le_bytes());
            made.extend(part);
        }
        made.extend((16 + 5 + files as u64).to_le_bytes());
        made.extend((files as u64).to_le_bytes());
        made.extend(b"about");
        made.extend(vec![9; files]);
        made
    }

    #[test]
    fn other_bitcode_has_another_hash_and_loses_what_was_compiled() {
        let given = program(b"old", 100);
        let container = Container::read(&given).unwrap();
        assert_eq!(container.bitcode(), b"old");
        let made = container.with_bitcode(b"newer");
        let read = Container::read(&made).unwrap();
        assert_eq!((read.bitcode(), read.kernels[0].len()), (&b"newer"[..], 21));
        assert_eq!(made.len(), given.len() - 100 + 2);
        assert_ne!(made[HASH_AT..BYTES_AT], given[HASH_AT..BYTES_AT]);
        assert_eq!((made[HASH_AT + 2], made[BYTES_AT - 1]), (b'/', 0));
    }

    #[test]
    fn what_is_cut_off_or_of_another_version_is_refused_in_a_sentence() {
        let whole = program(b"bitcode", 10);
        for length in 0..whole.len() {
            assert!(Container::read(&whole[..length]).is_err(), "{length}");
        }
        let mut other = whole;
        other[VERSION_AT] = 10;
        let Err(e) = Container::read(&other) else { panic!("read") };
        assert!(e.to_string().contains("it is of version 10; PoCL 3.1 is known"), "{e}");
    }
}
