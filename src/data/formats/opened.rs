//! Files of others as they come: plain, or packed, which their first bytes tell and not their names.

use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::files;
use seqtune_kernel::limits;
use seqtune_kernel::unpacking::{Taken, unpack};
use std::io::Cursor;
use std::path::Path;

/// Files of an archive that are read at most.
const ENTRIES: usize = 10_000;

/// Times that a file may be packed: an archive of packed files.
const LAYERS: usize = 2;

/// Forms that are packed and not read, by their first bytes (and where these stand): what they are called, and what unpacks them.
const UNREAD: [(usize, &[u8], &str, &str); 9] = [
    (0, b"\xfd7zXZ\0", "an xz file", "xz -d"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file", "zstd -d"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"),
    (0, b"\x04\x22\x4d\x18", "an lz4 file", "lz4 -d"),
    (0, b"LZIP", "an lzip file", "lzip -d"),
    (0, b"Rar!", "a rar archive", "unrar x"),
    (0, b"\x1f\x9d", "a .Z file", "uncompress"),
    (257, b"ustar", "a tar archive", "tar -xf"),
    (0, b"\x89LZO", "an lzop file", "lzop -d"),
];

/// A file, or one of an archive, unpacked.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Its path; of one in an archive, with its name there.
    pub place: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// A text file, or one of an archive, unpacked.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedText {
    /// Its path; of one in an archive, with its name there.
    pub place: String,
    /// What it holds.
    pub text: String,
}

/// Opens a regular file and unpacks gzip, bzip2 and zip, within [`limits::FOREIGN`] in all. An archive gives each of its files.
///
/// # Errors
/// [`Error::File`] where it is missing, no regular file or too large, [`Error::Input`] where it is damaged, or packed in a form that is not read.
pub fn open(path: &Path) -> Result<Vec<Opened>> {
    let bytes = files::read(path, limits::FOREIGN)?;
    let mut found = Vec::new();
    add_unpacked(Opened { place: path.display().to_string(), bytes }, LAYERS, &mut found)?;
    Ok(found)
}

/// As [`open`], of a file that is one.
///
/// # Errors
/// As [`open`]; [`Error::Input`] of an archive of several.
pub fn contents(path: &Path) -> Result<Vec<u8>> {
    let mut found = open(path)?;
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one.bytes),
        (_, more) => input(format!("{}: is an archive of {} files; unpack it first", path.display(), more + 1)),
    }
}

/// As [`open`], as text.
///
/// # Errors
/// As [`open`]; [`Error::Input`] with the line where one is not text in UTF-8.
pub fn texts(path: &Path) -> Result<Vec<OpenedText>> {
    let text = |one: Opened| {
        let text = files::text(one.bytes).map_err(|e| e.at_place(&one.place))?;
        Ok(OpenedText { place: one.place, text })
    };
    open(path)?.into_iter().map(text).collect()
}

/// Adds a file to those that were found, unpacked as often as `layers` says.
fn add_unpacked(file: Opened, layers: usize, found: &mut Vec<Opened>) -> Result<()> {
    let Opened { place, bytes } = file;
    let at = |e: Error| e.at_place(&place);
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let taken = Taken::default();
    let packed = taken.count(&bytes[..]);
    let plain = if starts(b"\x1f\x8b") && layers > 0 {
        unpack(flate2::read::MultiGzDecoder::new(packed), &taken, limits::FOREIGN).map_err(at)?
    } else if starts(b"BZh") && layers > 0 {
        unpack(bzip2::read::MultiBzDecoder::new(packed), &taken, limits::FOREIGN).map_err(at)?
    } else if (starts(b"PK\x03\x04") || starts(b"PK\x05\x06")) && layers > 0 {
        return unzip(&place, &bytes, layers, found);
    } else {
        return match unread(&bytes) {
            Some((what, how)) => input(format!("is {what}; unpack it first ({how})")).map_err(at),
            None => {
                found.push(Opened { place, bytes });
                Ok(())
            }
        };
    };
    add_unpacked(Opened { place, bytes: plain }, layers - 1, found)
}

/// What a file is that is packed and not read, and what unpacks it.
fn unread(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let is = |at: usize, magic: &[u8]| bytes.get(at..).is_some_and(|from| from.starts_with(magic));
    let packed = [
        (b"\x1f\x8b".as_slice(), "a gzip file", "gzip -d"),
        (b"BZh", "a bzip2 file", "bzip2 -d"),
        (b"PK\x03\x04", "a zip archive", "unzip"),
    ];
    let layered = packed.into_iter().find(|(magic, ..)| bytes.starts_with(magic)).map(|(_, what, how)| (what, how));
    layered.or_else(|| UNREAD.iter().find(|(at, magic, ..)| is(*at, magic)).map(|(_, _, what, how)| (*what, *how)))
}

/// Adds the files of a zip archive.
fn unzip(place: &str, bytes: &[u8], layers: usize, found: &mut Vec<Opened>) -> Result<()> {
    let damaged =
        |e: &dyn std::fmt::Display| Error::Input(format!("{place}: is a damaged zip archive ({e}); fetch it again"));
    let taken = Taken::default();
    let mut archive = zip::ZipArchive::new(taken.count(Cursor::new(bytes))).map_err(|e| damaged(&e))?;
    if archive.len() > ENTRIES {
        return input(format!("{place}: is an archive of {} files, {ENTRIES} are read at most", archive.len()));
    }
    let (before, mut all) = (found.len(), 0);
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(|e| damaged(&e))?;
        let name = quote(&entry.name().map_err(|e| damaged(&e))?);
        // what a Mac puts beside each file is none
        if entry.is_dir() || name.starts_with("__MACOSX/") || name.ends_with(".DS_Store") {
            continue;
        }
        let place = format!("{place}, {name}");
        let rest = limits::FileLimit { what: "an archive", bytes: limits::FOREIGN.bytes - all };
        let bytes = unpack(entry, &taken, rest).map_err(|e| e.at_place(&place))?;
        all += bytes.len() as u64;
        add_unpacked(Opened { place, bytes }, layers - 1, found)?;
    }
    match found.len() == before {
        true => input(format!("{place}: is an archive without a file")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn found(bytes: &[u8]) -> Result<Vec<Opened>> {
        let mut found = Vec::new();
        add_unpacked(Opened { place: "f".into(), bytes: bytes.into() }, LAYERS, &mut found).map(|()| found)
    }

    #[test]
    fn files_are_unpacked_by_what_they_begin_with() {
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(b"text").unwrap();
        let two = [gzipped(b"te"), gzipped(b"xt")].concat();
        for packed in [b"text".to_vec(), gzipped(b"text"), two, bzip2.finish().unwrap()] {
            assert_eq!(found(&packed).unwrap(), [Opened { place: "f".into(), bytes: b"text".into() }]);
        }
        let archive = zipped(&[
            ("a.json", b"text"),
            ("folder/", b""),
            ("__MACOSX/._a.json", b"x"),
            ("b.json.gz", &gzipped(b"more")),
        ]);
        let inside = found(&archive).unwrap();
        let shown: Vec<(&str, &[u8])> = inside.iter().map(|one| (&*one.place, &*one.bytes)).collect();
        assert_eq!(shown, [("f, a.json", &b"text"[..]), ("f, b.json.gz", b"more")]);
    }

    #[test]
    fn forms_that_are_not_read_are_named_with_what_unpacks_them() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let thrice = gzipped(&gzipped(&gzipped(b"text")));
        for (bytes, expected) in [
            (b"\xfd7zXZ\0rest".to_vec(), "f: is an xz file; unpack it first (xz -d)"),
            (b"\x28\xb5\x2f\xfdrest".to_vec(), "f: is a zstd file; unpack it first (zstd -d)"),
            (gzipped(&tar), "f: is a tar archive; unpack it first (tar -xf)"),
            (thrice, "f: is a gzip file; unpack it first (gzip -d)"),
            (zipped(&[]), "f: is an archive without a file"),
            (b"PK\x03\x04nothing".to_vec(), "f: is a damaged zip archive"),
            (b"\x1f\x8bnothing".to_vec(), "f: its packed data are truncated or damaged"),
        ] {
            let error = found(&bytes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn archives_that_hold_nothing_are_refused_before_they_fill_memory() {
        let zeros = vec![0; 80 << 20];
        for bomb in [gzipped(&zeros), zipped(&[("zeros.json", &zeros)])] {
            let error = found(&bomb).map(|files| files.len()).unwrap_err().to_string();
            assert!(error.contains("times as much as its packed data"), "{error}");
        }
    }
}
