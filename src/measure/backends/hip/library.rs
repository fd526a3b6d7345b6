//! Libraries of ROCm, opened at run time.

use libloading::Library;
pub use seqtune_devices::hip::LIBRARIES;
use std::path::{Path, PathBuf};

/// Opens the first of `names` that the system finds, or that is in a folder of ROCm.
///
/// Libraries stay open, because those of ROCm do not survive being closed.
pub fn open(names: &[&str]) -> Option<&'static Library> {
    let roots = std::env::var_os("ROCM_PATH").map(PathBuf::from).into_iter().chain([PathBuf::from("/opt/rocm")]);
    let folders: Vec<PathBuf> = roots.map(|root| root.join("lib")).collect();
    let in_folders = |name: &&str| folders.iter().map(|f| f.join(name)).collect::<Vec<_>>();
    let places = names.iter().map(PathBuf::from).chain(names.iter().flat_map(in_folders));
    places.into_iter().find_map(|place| open_at(&place)).map(|library| &*Box::leak(Box::new(library)))
}

fn open_at(place: &Path) -> Option<Library> {
    // SAFETY: opens a library of ROCm's, whose initialisers are those of any user of it
    unsafe { Library::new(place) }.ok()
}

/// Looks up a function of a library by its name.
///
/// # Errors
/// A message where the library lacks the function.
///
/// # Safety
/// `F` must be the type of that function.
pub unsafe fn find<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: as the caller promises
    let found = unsafe { library.get::<F>(format!("{name}\0").as_bytes()) };
    found.map(|f| *f).map_err(|_| format!("the installed ROCm has no {name}"))
}
