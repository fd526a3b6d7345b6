//! The variants that a search tried, a line each, so that the same search goes on. The first line says what they are variants of.

use crate::search::Variant;
use crate::session::Origin;
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::{Locked, open_lock, read_text};
use seqtune_kernel::limits;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The form of such a file.
const FORMAT: &str = "seqtune-variants-1";

/// The first line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    format: String,
    #[serde(flatten)]
    origin: Origin,
    /// Largest error; the kernel's tolerance where none is given.
    most_error: Option<f64>,
}

/// A file of variants, open for more and locked against a second writer.
pub struct Journal {
    path: PathBuf,
    file: Locked,
    /// The variants that an earlier run tried.
    pub earlier: Vec<Variant>,
}

impl Journal {
    /// Opens a file of variants, or makes one, with its folder.
    ///
    /// # Errors
    /// [`Error::Input`] where it is another kind of file, has variants of something else, or is being written; [`Error::File`] or
    /// [`Error::Failed`] where it cannot be read or written.
    pub fn open(path: &Path, origin: &Origin, most_error: Option<f64>) -> Result<Journal> {
        let at = |e: Error| e.at_place(path.display());
        let file = open_lock(path)?;
        if file.try_lock().is_err() {
            return input("another search is writing it; wait for it or name another folder").map_err(at);
        }
        let text = read_text(path, limits::ORDERS)?;
        let mut journal = Journal { path: path.into(), file: Locked(file), earlier: Vec::new() };
        let head = Head { format: FORMAT.into(), origin: origin.clone(), most_error };
        let Some(first) = text.lines().next() else {
            journal.write(&head)?;
            return Ok(journal);
        };
        let found: Head = serde_json::from_str(first).map_err(|_| {
            at(Error::Input("is there and holds no variants of `seqtune evolve`; name another folder".into()))
        })?;
        if found != head {
            let what = "holds variants of another config, problem, device, error limit or version of the kernel";
            return input(format!("{what}; name another folder")).map_err(at);
        }
        if !text.ends_with('\n') {
            // the last line of a run that was killed is cut off: what follows begins a line of its own
            journal.put("\n")?;
        }
        journal.earlier = text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(journal)
    }

    /// Appends a variant.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be written.
    pub fn append(&mut self, variant: &Variant) -> Result<()> {
        self.write(variant)
    }

    fn write(&mut self, what: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(what).map_err(|e| Error::Failed(e.to_string()))? + "\n";
        self.put(&line)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.file.0.write_all(text.as_bytes()).map_err(io(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Verdict;

    fn origin() -> Origin {
        let text = || String::from("x");
        Origin {
            kernel: text(),
            space: text(),
            config: text(),
            problems: vec![text()],
            device: text(),
            llvm: 15,
            base: text(),
        }
    }

    #[test]
    fn variants_are_read_back_also_behind_a_line_that_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/variants.jsonl");
        let variant = |ratio| Variant { edits: Vec::new(), verdict: Verdict { fault: None, error: 0.0, ratio } };
        let mut journal = Journal::open(&path, &origin(), None).unwrap();
        journal.append(&variant(0.5)).unwrap();
        journal.append(&variant(f64::INFINITY)).unwrap();
        journal.put("{\"edits\":[],\"err").unwrap();
        assert!(Journal::open(&path, &origin(), None).is_err(), "two searches write one file");
        drop(journal);
        let mut journal = Journal::open(&path, &origin(), None).unwrap();
        assert_eq!(journal.earlier, [variant(0.5), variant(f64::INFINITY)]);
        journal.append(&variant(0.25)).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path, &origin(), None).unwrap().earlier.last(), Some(&variant(0.25)));
    }

    #[test]
    fn variants_of_something_else_and_other_files_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("variants.jsonl");
        drop(Journal::open(&path, &origin(), Some(0.1)).unwrap());
        let before = std::fs::read(&path).unwrap();
        for (other, most_error) in [(origin(), None), (Origin { base: "y".into(), ..origin() }, Some(0.1))] {
            let Err(e) = Journal::open(&path, &other, most_error) else { panic!("opened") };
            assert!(e.to_string().contains("holds variants of another config"), "{e}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::write(&path, "notes of mine").unwrap();
        let Err(e) = Journal::open(&path, &origin(), None) else { panic!("opened") };
        assert!(e.to_string().contains("holds no variants of `seqtune evolve`; name another folder"), "{e}");
        assert_eq!(std::fs::read(&path).unwrap(), b"notes of mine");
    }
}
