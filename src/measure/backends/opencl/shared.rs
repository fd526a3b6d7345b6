//! Programs that hold the kernels of several configs, so that the compiler reads its own headers once for all of them.

use super::combine::combine;
use crate::compile::{Binary, Job, Store, cache_folder};
use opencl3::context::Context;
use opencl3::kernel::Kernel as ClKernel;
use opencl3::program::Program;
use seqtune_data::Resources;
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::hex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Options of the compiler.
pub const OPTIONS: &str = "-cl-std=CL1.2 -cl-fast-relaxed-math -cl-mad-enable -w";

/// Combined sources on disk, found by each of their jobs, and those that are built in this process.
///
/// The driver keeps what it compiles under a hash of the source. Another process finds a job's code again by the combined source.
pub struct Shared {
    store: Store,
    built: HashMap<String, Program>,
}

/// Size limit of the combined sources in bytes.
const MOST_BYTES: u64 = 256 << 20;

impl Shared {
    /// Opens the folder `combined` of the cache; `None` where there is no cache.
    pub fn open() -> Option<Shared> {
        Some(Shared { store: Store::new(cache_folder()?.join("combined"), MOST_BYTES), built: HashMap::new() })
    }

    /// Builds one program of those jobs that are in none yet. Jobs that cannot be combined stay as they are.
    pub fn announce(&mut self, context: &Context, jobs: &[Job]) {
        let new: Vec<&Job> = jobs.iter().filter(|job| self.text(&key_of(job)).is_none()).collect();
        let Some(combined) = (new.len() > 1).then(|| combine(&new)).flatten() else { return };
        let began = std::time::Instant::now();
        let program = match Program::create_and_build_from_source(context, &combined.source, OPTIONS) {
            Ok(program) => program,
            Err(log) => {
                let line = log.lines().find(|line| line.contains("error")).unwrap_or_default();
                tracing::debug!("{} programs compile one by one, not as one: {line}", new.len());
                return;
            }
        };
        tracing::debug!("{} programs in one: {:.2} s", new.len(), began.elapsed().as_secs_f64());
        let key = hash(&combined.source);
        self.put(&key, combined.source);
        for (job, entry) in new.iter().zip(combined.entries) {
            self.put(&key_of(job), format!("{key} {entry}"));
        }
        self.built.insert(key, program);
    }

    /// Kernel of a job that is in a combined program.
    pub fn kernel(&mut self, context: &Context, job: &Job) -> Option<ClKernel> {
        let place = self.text(&key_of(job))?;
        let (key, entry) = place.split_once(' ')?;
        if !self.built.contains_key(key) {
            let source = self.text(key)?;
            self.built.insert(key.into(), Program::create_and_build_from_source(context, &source, OPTIONS).ok()?);
        }
        ClKernel::create(&self.built[key], entry).ok()
    }

    /// Releases the programs; kernels that are in use keep theirs.
    pub fn release(&mut self) {
        self.built.clear();
    }

    fn text(&self, key: &str) -> Option<String> {
        String::from_utf8(self.store.get(key)?.code).ok()
    }

    fn put(&self, key: &str, text: String) {
        self.store.put(key, &Binary { code: text.into_bytes(), resources: Resources::default() });
    }
}

/// Key of a job; seqtune's version stands for how sources are combined.
fn key_of(Job { source, entry, defines, .. }: &Job) -> String {
    hash(&format!("{} {entry} {} {source}", env!("CARGO_PKG_VERSION"), defines.canonical()))
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text)[..16])
}
