//! Cache of compiled programs on disk.

use crate::compile::job::{Binary, Compiler, Job};
use crate::compile::prelude::as_cpp;
use seqtune_data::{Attempt, Resources};
use seqtune_kernel::canonical::tuple;
use seqtune_kernel::hex;
use seqtune_kernel::limits;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// Compiler with a cache of its programs.
pub struct Cached<C> {
    compiler: C,
    store: Option<Store>,
}

impl<C> Cached<C> {
    /// Adds a cache to a compiler; there is none without a store.
    pub fn new(compiler: C, store: Option<Store>) -> Cached<C> {
        Cached { compiler, store }
    }

    /// Compiler without the cache.
    pub fn inner(&self) -> &C {
        &self.compiler
    }
}

impl<C: Compiler> Compiler for Cached<C> {
    fn identity(&self) -> String {
        self.compiler.identity()
    }

    fn compile(&self, job: &Job) -> Attempt<Binary> {
        let Some(store) = &self.store else { return self.compiler.compile(job) };
        let key = key(&self.compiler, job);
        if let Some(found) = store.get(&key) {
            tracing::trace!("program {key} of {}: on disk", job.entry);
            return Ok(found);
        }
        let began = std::time::Instant::now();
        let made = self.compiler.compile(job)?;
        tracing::trace!("program {key} of {}: compiled in {:.2} s", job.entry, began.elapsed().as_secs_f64());
        store.put(&key, &made);
        Ok(made)
    }
}

/// Hash of everything that a program depends on, including the version of seqtune, whose prelude is a part of the source.
fn key(compiler: &impl Compiler, job: &Job) -> String {
    let Job { file, source, entry, defines, group, dynamic_local_bytes } = job;
    let text = as_cpp(file, source, defines);
    let all = tuple(&[&compiler.identity(), &text, entry, defines, group, dynamic_local_bytes]);
    hex(&Sha256::digest(format!("{} {REVISION} {all}", env!("CARGO_PKG_VERSION")))[..16])
}

/// Revision of the data that are computed and stored with a program, such as its occupancy. It is part of a program's key: raise
/// it where the computation changes.
const REVISION: u32 = 2;

/// Folder of compiled programs, with a file each: a line of JSON with the resources, then the binary.
///
/// Files are written under a unique name and renamed. Damaged files count as missing, so that any number of processes may share a
/// folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Size limit of all files in bytes; the least recently used files are removed beyond it.
    most_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    resources: Resources,
    /// Hash of the binary.
    hash: String,
}

/// Size limit of the standard store in bytes.
const MOST_BYTES: u64 = 2 << 30;
/// Least age of a file's modification time before a use renews it.
const TOUCH: Duration = Duration::from_secs(3_600);

impl Store {
    /// Creates a store in `folder` of about `most_bytes` bytes at most.
    pub fn new(folder: PathBuf, most_bytes: u64) -> Store {
        Store { folder, most_bytes }
    }

    /// Store in the subfolder `programs` of [`cache_folder`]; `None` where that is unknown.
    pub fn standard() -> Option<Store> {
        Some(Store::new(cache_folder()?.join("programs"), MOST_BYTES))
    }

    /// Reads the program of a key; `None` where it is missing or damaged.
    pub fn get(&self, key: &str) -> Option<Binary> {
        let path = self.folder.join(key);
        let bytes = seqtune_kernel::files::read(&path, limits::DATASET).ok()?;
        let end = bytes.iter().position(|b| *b == b'\n')?;
        let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
        let code = bytes[end + 1..].to_vec();
        if head.hash != hash(&code) {
            return None;
        }
        let used = std::fs::metadata(&path).and_then(|m| m.modified()).ok();
        if used.and_then(|used| used.elapsed().ok()).is_some_and(|age| age > TOUCH)
            && let Ok(file) = std::fs::File::options().append(true).open(&path)
        {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(Binary { code, resources: head.resources })
    }

    /// Stores the program of a key. Failures of the disk are ignored.
    pub fn put(&self, key: &str, made: &Binary) {
        let head = Head { resources: made.resources, hash: hash(&made.code) };
        let Ok(mut bytes) = serde_json::to_vec(&head) else { return };
        bytes.push(b'\n');
        bytes.extend(&made.code);
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let of_its_own = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let part = self.folder.join(format!("{key}.{}-{}.part", of_its_own.0, of_its_own.1));
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            std::fs::write(&part, &bytes)?;
            std::fs::rename(&part, self.folder.join(key))
        };
        if write().is_err() {
            let _ = std::fs::remove_file(&part);
        }
        // one key in 256 makes the store look at its size
        if key.starts_with("00") {
            self.trim();
        }
    }

    /// Removes the least recently used files of a store beyond its limit, down to nine tenths of the limit.
    pub fn trim(&self) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let file = |e: std::fs::DirEntry| {
            let meta = e.metadata().ok()?;
            Some((meta.modified().ok()?, meta.len(), e.path()))
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries.filter_map(file).collect();
        let mut bytes: u64 = files.iter().map(|(_, len, _)| len).sum();
        if bytes <= self.most_bytes {
            return;
        }
        files.sort();
        for (_, len, path) in files {
            if bytes <= self.most_bytes / 10 * 9 {
                return;
            }
            // another process may have been quicker
            let _ = std::fs::remove_file(path);
            bytes -= len;
        }
    }
}

fn hash(code: &[u8]) -> String {
    hex(&Sha256::digest(code)[..8])
}

/// Folder of the cache: `$SEQTUNE_CACHE`, else `~/.cache/seqtune`; `None` where neither is known.
pub fn cache_folder() -> Option<PathBuf> {
    let own = std::env::var_os("SEQTUNE_CACHE").map(PathBuf::from);
    own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/seqtune")))
}
