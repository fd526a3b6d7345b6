//! Oclgrind, a simulator of an OpenCL device: it tells races of work-items, and accesses beyond any memory, local memory included.

use seqtune_kernel::error::{Result, io};
use seqtune_kernel::files::read;
use seqtune_kernel::limits;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Name of its program, and of its library beside that, as Debian and as its authors install it.
const PROGRAM: &str = "oclgrind";
const LIBRARIES: [&str; 3] = [
    "lib/oclgrind/liboclgrind-rt-icd.so",
    "lib/liboclgrind-rt-icd.so",
    "lib/x86_64-linux-gnu/oclgrind/liboclgrind-rt-icd.so",
];

/// Word in the name of its device.
pub const NAME: &str = "Oclgrind";

/// Variable of a worker's environment.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: OsString,
}

/// An installed simulator, and the folder in which its workers find it and write what they find.
pub struct Oclgrind {
    folder: TempDir,
}

impl Oclgrind {
    /// Finds the simulator by its program; `None` where it is not installed.
    ///
    /// # Errors
    /// `Error::File` where no temporary file can be written.
    pub fn find() -> Result<Option<Oclgrind>> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file());
        let Some(library) = program.as_deref().and_then(library) else { return Ok(None) };
        let folder = tempfile::tempdir().map_err(io(&std::env::temp_dir()))?;
        let driver = folder.path().join("oclgrind.icd");
        std::fs::write(&driver, format!("{}\n", library.display())).map_err(io(&driver))?;
        Ok(Some(Oclgrind { folder }))
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Variables of a worker whose only OpenCL device is the simulator, which looks for races.
    pub fn environment(&self) -> Vec<Variable> {
        let set = |name, value| Variable { name, value };
        vec![
            set("OCL_ICD_VENDORS", self.folder.path().into()),
            set("OCLGRIND_LOG", self.log().into()),
            set("OCLGRIND_DATA_RACES", "1".into()),
            set("OCLGRIND_MAX_ERRORS", "1".into()),
        ]
    }

    /// What it told first, in one line; `None` where it found nothing.
    pub fn first_message(&self) -> Option<String> {
        sentence(&String::from_utf8_lossy(&read(&self.log(), limits::LIST).ok()?))
    }
}

/// Its library, beside its program.
fn library(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let prefix = real.parent()?.parent()?;
    LIBRARIES.iter().map(|place| prefix.join(place)).find(|file| file.is_file())
}

/// The first message of a log: what happened, and the lines of source that took part.
fn sentence(log: &str) -> Option<String> {
    let what = log.lines().map(str::trim).find(|line| !line.is_empty())?;
    // its addresses say nothing, since they are its own
    let what = what.split(" address 0x").next().unwrap_or(what);
    let mut lines = log.lines().map(str::trim);
    let mut places: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        let Some(place) = line.strip_prefix("At line ") else { continue };
        let number = place.split(' ').next().unwrap_or_default();
        let place = format!("line {number} `{}`", lines.next().unwrap_or_default());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let what = what.replacen("Read-write data race at", "work-items read and write", 1);
    let what = what.replacen("Write-write data race at", "work-items write at once", 1);
    Some(match places.is_empty() {
        true => what,
        false => format!("{what}: {}", places.join(" and ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_a_line_with_its_places_in_the_source() {
        let race = "\nRead-write data race at local memory address 0x1000000000000\n\tKernel: k\n\t\n\tFirst entity:  Global(1,0,0)\n\t  %3 = load float\n\
                    \tAt line 39 (column 30) of input.cl:\n\t  part[l] = part[l - 1];\n\t\n\tSecond entity: Global(0,0,0)\n\t  store float\n\
                    \tAt line 40 (column 13) of input.cl:\n\t  y = part[l];\n";
        let told = sentence(race).unwrap();
        assert_eq!(
            told,
            "work-items read and write local memory: line 39 `part[l] = part[l - 1];` and line 40 `y = part[l];`"
        );
        let beyond = "Invalid read of size 4 at global memory address 0x2000000000010\n\tKernel: k\n";
        assert_eq!(sentence(beyond).unwrap(), "Invalid read of size 4 at global memory");
        assert_eq!(sentence("\n"), None);
    }
}
