//! Builds of a program, each in a folder of the cache: what a config needs is built once.

use crate::compile::cache_folder;
use crate::programs::step::ProcessStep;
use seqtune_data::journal::is_without_locks;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_devices::host::processor_info;
use seqtune_kernel::canonical::{Canonical, structure};
use seqtune_kernel::error::{Error, Result, input, printable};
use seqtune_kernel::files::{Locked, open_lock};
use seqtune_kernel::{Kernel, Run, Template, hex};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// File that says that a build is complete.
const DONE: &str = ".seqtune-built";

/// Age at which a build that was not used is removed.
const OLD: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Words of a command; `place` gives the texts of places.
///
/// # Errors
/// The error of `place`.
pub fn words(command: &[Template], env: &[f64], place: &dyn Fn(&str) -> Result<String>) -> Result<Vec<String>> {
    Ok(command.iter().map(|word| word.words(env, place)).collect::<Result<Vec<_>>>()?.concat())
}

/// Builds what a config needs, or finds what was built before; returns its folder, or the failure to build.
///
/// `env` has the slots of problem and config, `place` the texts of places.
///
/// # Errors
/// [`Error::Failed`] where the cache cannot be used, `Error::Input` where files of the kernel were edited meanwhile, the error of `place`.
pub fn build(
    kernel: &Kernel,
    run: &Run,
    env: &[f64],
    place: &dyn Fn(&str) -> Result<String>,
    limit: Duration,
) -> Result<Attempt<PathBuf>> {
    let Some(cache) = cache_folder() else {
        return input("no folder for builds is known; set SEQTUNE_CACHE to one");
    };
    let all = cache.join("builds");
    let unnamed = |name: &str| if name == "build" { Ok("{build}".into()) } else { place(name) };
    let named = words(&run.build, env, &unnamed)?;
    let key = [kernel.space_hash(), named.canonical(), builder(&named)].join(" ");
    let key = hex(&Sha256::digest(key)[..16]);
    let folder = all.join(&key);
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |e: std::io::Error| Error::Failed(format!("{path}: {e}"))
    };
    std::fs::create_dir_all(&all).map_err(failed(&all))?;
    // of two processes that need the same, one builds
    let lock_path = all.join(format!("{key}.lock"));
    let lock = Locked(open_lock(&lock_path)?);
    match lock.0.lock() {
        // two processes may build the same there
        Err(e) if is_without_locks(&e) => {}
        locked => locked.map_err(failed(&lock_path))?,
    }
    let done = folder.join(DONE);
    if done.is_file()
        && let Ok(file) = File::options().append(true).open(&done)
    {
        let _ = file.set_modified(SystemTime::now());
        return Ok(Ok(folder));
    }
    remove_old(&all);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let here = |name: &str| if name == "build" { Ok(folder.display().to_string()) } else { place(name) };
    let step = ProcessStep {
        words: words(&run.build, env, &here)?,
        environment: Vec::new(),
        folder: folder.clone(),
        cores: Vec::new(),
        limit,
    };
    let ended = step.run()?;
    if let Some(fault) = ended.failure() {
        let _ = std::fs::remove_dir_all(&folder);
        // a compiler's last line only counts the errors
        let is_error = |line: &&str| line.contains("error") && !line.contains("collect2");
        let first = ended.errors.lines().map(str::trim).find(is_error).filter(|line| !fault.detail.ends_with(line));
        let first = first.map_or(String::new(), |line| format!("; its first error: {}", printable(line)));
        return Ok(Err(Invalidity::new(InvalidityKind::Compile, format!("build: {}{first}", fault.detail))));
    }
    // what was built of files that were edited meanwhile would be found again as that of this version
    if !kernel.is_as_opened() {
        let _ = std::fs::remove_dir_all(&folder);
        return Err(Error::Input(format!("the files of kernel {} were edited while it was built", kernel.name)));
    }
    File::create(&done).map_err(failed(&done))?;
    Ok(Ok(folder))
}

/// What else a build depends on where machines share a cache: the processor, for which `-march=native` builds, and the compiler.
fn builder(words: &[String]) -> String {
    let program = words.first().map(String::as_str).unwrap_or_default();
    let found = |folder: PathBuf| Some(folder.join(program)).filter(|path| path.is_file());
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let path = match program.contains('/') {
        true => Some(PathBuf::from(program)),
        false => std::env::split_paths(&paths).find_map(found),
    };
    let path = path.and_then(|path| std::fs::canonicalize(path).ok());
    let meta = path.as_ref().and_then(|path| std::fs::metadata(path).ok());
    let size_and_time = meta.map(|meta| (meta.len(), meta.modified().ok().and_then(SinceEpoch::new)));
    let machine = [processor_info("model name").canonical(), processor_info("flags").canonical()];
    format!("{} {} {}", machine.join(" "), path.canonical(), size_and_time.canonical())
}

/// Time at which a file was changed.
struct SinceEpoch(Duration);

impl SinceEpoch {
    /// `None` of a time before 1970.
    fn new(time: SystemTime) -> Option<SinceEpoch> {
        time.duration_since(SystemTime::UNIX_EPOCH).ok().map(SinceEpoch)
    }
}

impl Canonical for SinceEpoch {
    fn canonical(&self) -> String {
        let (seconds, nanoseconds) = (self.0.as_secs(), self.0.subsec_nanos());
        structure("SystemTime", &[("tv_sec", &seconds), ("tv_nsec", &nanoseconds)])
    }
}

/// Removes builds that were not used for long.
fn remove_old(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let used = std::fs::metadata(entry.path().join(DONE)).and_then(|meta| meta.modified()).ok();
        if used.and_then(|used| used.elapsed().ok()).is_some_and(|age| age > OLD) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canonical_text_of_a_time_is_what_it_always_was() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_796_035_359, 288_611_331);
        let expected = "Some(SystemTime { tv_sec: 1796035359, tv_nsec: 288611331 })";
        assert_eq!(SinceEpoch::new(time).canonical(), expected);
    }
}
