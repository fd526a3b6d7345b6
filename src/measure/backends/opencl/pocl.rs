//! PoCL, OpenCL on processors: how many threads it may have, and the folder in which it keeps what it compiles.

use crate::compile::cache_folder;
use seqtune_kernel::error::{Error, Result};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// Name of its platform.
pub const PLATFORM: &str = "Portable Computing Language";

/// Variable that names its folder.
const FOLDER: &str = "POCL_CACHE_DIR";

/// Variables that limit its threads: of versions before and from 4.0 on.
const THREADS: [&str; 2] = ["POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"];

/// A variable that PoCL 3.1 sets by itself when its devices are listed, to this value. A variable that is new moves the whole environment, also under a
/// thread that starts a process meanwhile, which then fails with "Bad address". One that is there is changed in its place.
const PLUGINS: [&str; 2] = ["HWLOC_PLUGINS_PATH", "/dev/null"];

/// Bytes below which a file system counts as full: what a kernel takes with all that its compiler writes on the way.
const ROOM: u64 = 1 << 20;

/// Sets PoCL's variables where the user has not, before the first call of OpenCL and before this process starts a thread.
///
/// PoCL counts the processors of the machine, although `taskset`, a container or a batch system may allow this process fewer. Its threads would take
/// turns on those, and times would be recorded for a device with more units than the process has.
pub fn set_up() {
    let set = |name: &str, value: &std::ffi::OsStr| {
        if std::env::var_os(name).is_none() {
            // SAFETY: no other thread is there that could read the environment
            unsafe { std::env::set_var(name, value) };
        }
    };
    if let Ok(usable) = available_parallelism() {
        THREADS.iter().for_each(|name| set(name, usable.to_string().as_ref()));
    }
    let [name, value] = PLUGINS;
    set(name, value.as_ref());
    if let Some(folder) = own_folder().filter(|folder| std::fs::create_dir_all(folder).is_ok()) {
        set(FOLDER, folder.as_os_str());
    }
}

fn own_folder() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("pocl"))
}

/// Its folder, where that is known.
fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from).or_else(own_folder)
}

/// Why it may not have opened: its folder cannot be written.
pub fn why_hidden() -> Option<String> {
    let folder = folder()?;
    let made = std::fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder));
    made.err().map(|e| {
        format!(
            "; PoCL needs a cache folder, and {} cannot be written: {e}; name another in SEQTUNE_CACHE",
            folder.display()
        )
    })
}

/// Refuses a folder that programs cannot be loaded from.
///
/// # Errors
/// [`Error::Unavailable`] with the folder.
pub fn check_folder() -> Result<()> {
    let barred = folder().filter(|folder| of_file_system(folder).is_some_and(|fs| fs.f_flag & libc::ST_NOEXEC != 0));
    barred.map_or(Ok(()), |folder| {
        Err(Error::Unavailable(format!(
            "OpenCL: the file system of the cache folder {} runs no programs (noexec), and PoCL loads what it compiles from there; name another \
             folder in SEQTUNE_CACHE",
            folder.display()
        )))
    })
}

/// The error of a full file system, by which everything fails to compile.
pub fn no_room() -> Option<Error> {
    let folder = folder()?;
    let fs = of_file_system(&folder)?;
    let left = fs.f_bavail * fs.f_frsize;
    (left < ROOM).then(|| {
        Error::Failed(format!(
            "OpenCL: the file system of the cache folder {} has {left} bytes left; make room there, or name another folder in SEQTUNE_CACHE",
            folder.display()
        ))
    })
}

fn of_file_system(folder: &Path) -> Option<libc::statvfs> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: a structure of numbers
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both live through the call
    (unsafe { libc::statvfs(path.as_ptr(), &mut found) } == 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a process of its own, which has one thread: what it sets would move the environment under other tests.
    #[test]
    fn listing_devices_adds_no_variable_while_other_threads_may_start_processes() {
        let name = "backends::opencl::pocl::tests::alone_listing_devices_adds_no_variable";
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        test.args(["--ignored", "--exact", name, "--test-threads", "1"]).env_remove(PLUGINS[0]);
        let output = test.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    #[ignore = "run by the test above"]
    fn alone_listing_devices_adds_no_variable() {
        set_up();
        let names = || std::env::vars_os().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>();
        let before = names();
        // whether or not there is a driver
        crate::backends::opencl::devices().ok();
        assert_eq!(names(), before);
    }
}
