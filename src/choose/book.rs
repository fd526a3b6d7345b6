//! The file of choices: what was observed of the configs of each problem, by kernel, device and driver.
//!
//! Any number of processes share it. Each adds what it observed since it last wrote, under a lock beside the file, and replaces the file whole.

use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::{Locked, open_lock, read, target, write_whole};
use seqtune_kernel::limits::FileLimit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Version of the format.
const FORMAT: &str = "seqtune-choices-1";
/// The size of a file of choices.
const LIMIT: FileLimit = FileLimit { what: "a file of choices", bytes: 64 << 20 };
/// Problems that a file holds at most; those used longest ago go.
pub(crate) const PROBLEMS: usize = 10_000;
/// Configs of a problem that a file holds at most.
const CONFIGS: usize = 200;
/// Observations of a config that count at most.
const WINDOW: f64 = 50.0;
/// Sums of logarithms and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) count: f64,
    pub(crate) mean: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, other: Sum) {
        let count = self.count + other.count;
        if count > 0.0 {
            self.mean += (other.mean - self.mean) * other.count / count;
            self.count = count.min(WINDOW);
        }
    }

    fn is_sound(&self) -> bool {
        self.mean.is_finite() && (0.0..=1e9).contains(&self.count)
    }
}

/// A config of a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) config: String,
    /// Expected logarithms of microseconds and joules, before observations.
    pub(crate) expected: [f64; 2],
    pub(crate) time: Sum,
    #[serde(default)]
    pub(crate) energy: Sum,
    #[serde(default)]
    pub(crate) failed: bool,
}

/// A problem's configs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// When what was known was last found to hold no longer, in milliseconds since 1970; 0 for never. Only observations of one era add up.
    pub(crate) era: u64,
    /// When it was used last, in seconds since 1970.
    pub(crate) used: u64,
    pub(crate) calls: u64,
    /// Config that it settled on, as a place in the list.
    pub(crate) settled: Option<usize>,
    pub(crate) configs: Vec<Entry>,
}

/// What choices belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) kernel: String,
    pub(crate) device: String,
    pub(crate) driver: String,
    pub(crate) space: String,
    /// The digest by which files of before know that space.
    #[serde(skip)]
    pub(crate) older_space: String,
    /// Model's digest, or the name of another source of configs.
    pub(crate) source: String,
}

impl Owner {
    /// Whether `other`, as a file states it, is this one.
    fn is(&self, other: &Owner) -> bool {
        let whose = |owner: &Owner| [&owner.kernel, &owner.device, &owner.driver, &owner.source].map(String::clone);
        whose(self) == whose(other) && [&self.space, &self.older_space].contains(&&other.space)
    }

    /// Whether `other` is of the same kernel and device through the same API: then only one of them can be up to date.
    fn replaces(&self, other: &Owner) -> bool {
        let api = |driver: &str| driver.split_whitespace().next().unwrap_or_default().to_string();
        (&self.kernel, &self.device, api(&self.driver)) == (&other.kernel, &other.device, api(&other.driver))
            && !self.is(other)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Section {
    owner: Owner,
    problems: BTreeMap<String, Remembered>,
}

/// The content of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Book {
    format: String,
    sections: Vec<Section>,
}

/// What every version's file begins with.
const MARK: &[u8] = b"{\"format\":\"seqtune-choices-";

/// Why bytes are no book.
enum Unusable {
    /// They are not what was written.
    Damaged(String),
    /// They are somebody's text.
    Foreign,
    /// They are of another version's format.
    Other,
}

impl Default for Book {
    fn default() -> Book {
        Book { format: FORMAT.into(), sections: Vec::new() }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

impl Book {
    fn parse(bytes: &[u8]) -> std::result::Result<Book, Unusable> {
        #[derive(Deserialize)]
        struct Versioned {
            format: String,
        }
        // what a disk leaves of a file of ours begins as one, or is no text
        let begins = bytes.starts_with(MARK) || MARK.starts_with(bytes);
        if !begins && is_text(bytes) {
            return Err(Unusable::Foreign);
        }
        let damaged = |e: serde_json::Error| Unusable::Damaged(e.to_string());
        let Versioned { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(Unusable::Other);
        }
        let book: Book = serde_json::from_slice(bytes).map_err(damaged)?;
        let sound = |entry: &Entry| entry.time.is_sound() && entry.energy.is_sound();
        let problems = || book.sections.iter().flat_map(|section| section.problems.values());
        match problems().all(|p| p.configs.iter().all(sound) && p.settled.is_none_or(|at| at < p.configs.len())) {
            true => Ok(book),
            false => Err(Unusable::Damaged("it holds numbers that nothing observes".into())),
        }
    }

    /// The problems of an owner.
    pub(crate) fn choices_of(&self, owner: &Owner) -> Option<&BTreeMap<String, Remembered>> {
        self.sections.iter().find(|section| owner.is(&section.owner)).map(|section| &section.problems)
    }

    /// Adds what an owner observed; what was observed under another driver, space or source goes.
    fn merge(&mut self, owner: &Owner, news: &BTreeMap<String, Remembered>) {
        self.sections.retain(|section| !owner.replaces(&section.owner));
        let at = self.sections.iter().position(|section| owner.is(&section.owner)).unwrap_or_else(|| {
            self.sections.push(Section { owner: owner.clone(), problems: BTreeMap::new() });
            self.sections.len() - 1
        });
        self.sections[at].owner = owner.clone();
        let problems = &mut self.sections[at].problems;
        for (problem, new) in news {
            let known = problems.entry(problem.clone()).or_default();
            known.used = known.used.max(new.used);
            if new.era < known.era {
                continue;
            }
            if new.era > known.era || known.configs.is_empty() {
                *known = Remembered { used: known.used, ..new.clone() };
                continue;
            }
            known.calls += new.calls;
            let mut places = Vec::new();
            for entry in &new.configs {
                let place = known.configs.iter().position(|other| other.config == entry.config);
                places.push(place.or_else(|| (known.configs.len() < CONFIGS).then_some(known.configs.len())));
                match place {
                    None if known.configs.len() >= CONFIGS => {}
                    Some(place) => {
                        let known = &mut known.configs[place];
                        known.time.add(entry.time);
                        known.energy.add(entry.energy);
                        known.failed |= entry.failed;
                    }
                    None => known.configs.push(entry.clone()),
                }
            }
            known.settled = new.settled.and_then(|at| places[at]).or(known.settled);
        }
        self.trim(PROBLEMS);
    }

    /// Removes the problems used longest ago beyond `most`.
    fn trim(&mut self, most: usize) {
        let mut used: Vec<u64> = self.sections.iter().flat_map(|s| s.problems.values()).map(|p| p.used).collect();
        if used.len() <= most {
            return;
        }
        used.sort_unstable();
        let (oldest, mut surplus) = (used[used.len() - most], used.len() - most);
        for section in &mut self.sections {
            section.problems.retain(|_, problem| {
                let goes = surplus > 0 && problem.used <= oldest;
                surplus -= goes as usize;
                !goes
            });
        }
        self.sections.retain(|section| !section.problems.is_empty());
    }
}

/// Whether somebody can have written the bytes as a text.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(|c| c.is_control() && !c.is_whitespace()))
}

/// Files beside the file of choices that damaged ones were put aside as, at most.
const ASIDE: usize = 100;

/// The place of a file of choices.
#[derive(Clone, Debug)]
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    /// Reads the file; one that is not there is empty. Of a damaged one the sentence is given too: nothing of it is used.
    ///
    /// # Errors
    /// [`Error::File`] where the file cannot be read now, is of another version, or is none of ours.
    pub(crate) fn read(&self) -> Result<(Book, Option<String>)> {
        let path = &self.0;
        if !path.exists() {
            return Ok((Book::default(), None));
        }
        match Book::parse(&read(path, LIMIT)?) {
            Ok(book) => Ok((book, None)),
            Err(Unusable::Damaged(why)) => {
                let word = format!("{} is damaged ({why}); choices start afresh", path.display());
                Ok((Book::default(), Some(word)))
            }
            Err(Unusable::Foreign) => Err(Error::File(format!(
                "{} is there and no file of choices; it stays as it is: name another file",
                path.display()
            ))),
            Err(Unusable::Other) => Err(Error::File(format!(
                "{} is of another format than {FORMAT}: another version writes it; name another file",
                path.display()
            ))),
        }
    }

    /// Renames the file, to a name beside it that nothing has.
    ///
    /// # Errors
    /// [`Error::File`] where all such names are taken, [`Error::Failed`] where the disk fails.
    fn put_aside(&self) -> Result<PathBuf> {
        let led = Place(target(&self.0)?);
        for number in 1..=ASIDE {
            let aside =
                led.file_with_ending(&if number == 1 { ".damaged".into() } else { format!(".damaged{number}") });
            // a link is made where nothing has the name, and nowhere else; some file systems have none
            let linked = std::fs::hard_link(&led.0, &aside);
            match linked {
                Ok(()) => return Ok(aside),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(_) if aside.symlink_metadata().is_ok() => {}
                Err(_) => return std::fs::rename(&led.0, &aside).map_err(io(&aside)).map(|()| aside),
            }
        }
        let place = self.0.display();
        Err(Error::File(format!(
            "{place} is damaged, and {ASIDE} files beside it were put aside; remove them, or name another file"
        )))
    }

    fn file_with_ending(&self, ending: &str) -> PathBuf {
        let mut name = self.0.as_os_str().to_os_string();
        name.push(ending);
        PathBuf::from(name)
    }

    /// Adds what an owner observed to the file; the sentence of a damaged one.
    ///
    /// # Errors
    /// [`Error::Failed`] where other processes hold the lock for longer than `patience`, or the disk fails; what was there stays.
    pub(crate) fn add(
        &self,
        owner: &Owner,
        news: &BTreeMap<String, Remembered>,
        patience: Duration,
    ) -> Result<Option<String>> {
        let _lock = self.lock(patience)?;
        let (mut book, mut warning) = self.read()?;
        if let Some(word) = &mut warning {
            let aside = self.put_aside()?;
            *word += &format!(", it is put aside as {}", aside.display());
        }
        book.merge(owner, news);
        let mut text = json(&book)?;
        // what is written is to be read again
        let mut most = PROBLEMS;
        while text.len() as u64 > LIMIT.bytes && most > 1 {
            most /= 2;
            book.trim(most);
            text = json(&book)?;
        }
        write_whole(&self.0, &text)?;
        Ok(warning)
    }

    /// The lock of the file, which ends with what is returned, or with the process.
    fn lock(&self, patience: Duration) -> Result<Locked> {
        let path = self.file_with_ending(".lock");
        let file = open_lock(&path)?;
        let (began, mut pause) = (std::time::Instant::now(), Duration::from_millis(2));
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Locked(file)),
                Err(std::fs::TryLockError::WouldBlock) if began.elapsed() < patience => {
                    // of a thousand processes that end at once
                    std::thread::sleep(pause);
                    pause = (pause * 3 / 2).min(Duration::from_millis(100));
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(Error::Failed(format!(
                        "{}: other processes hold it; what was learned is kept to be written later",
                        path.display()
                    )));
                }
                // a file system without locks: the file is still replaced whole
                Err(std::fs::TryLockError::Error(_)) => return Ok(Locked(file)),
            }
        }
    }
}

fn json(book: &Book) -> Result<Vec<u8>> {
    serde_json::to_vec(book).map_err(|e| Error::Failed(format!("writing choices: {e}")))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    seqtune_kernel::error::io(path)
}
