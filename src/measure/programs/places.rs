//! Folders of a program: the kernel's own, a working folder that is fresh for each problem, and that of a build.

use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::{Kernel, variable};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// File that names the problem for which set-up has run.
const MARK: &str = "set-up.json";

/// Folders of a program.
pub struct Places {
    /// Working folder.
    pub work: PathBuf,
    kernel: PathBuf,
    mark: PathBuf,
}

/// Problem for which set-up has run.
#[derive(Serialize, Deserialize)]
pub struct Mark {
    /// The problem.
    pub problem: String,
    /// Seed of its data.
    pub seed: u64,
}

impl Places {
    /// Uses the folder `scratch`. The files of a kernel that is inside the program are written there.
    ///
    /// # Errors
    /// [`Error::Failed`] where nothing can be written there.
    pub fn new(kernel: &Kernel, scratch: &Path) -> Result<Places> {
        let folder = match kernel.folder() {
            Some(folder) => folder,
            None => {
                let folder = scratch.join("kernel");
                for (name, text) in &kernel.files {
                    let path = folder.join(name);
                    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
                    written.and_then(|()| std::fs::write(&path, text)).map_err(place_error(&path))?;
                }
                folder
            }
        };
        let work = scratch.join("work");
        std::fs::create_dir_all(&work).map_err(place_error(&work))?;
        Ok(Places { work, kernel: folder, mark: scratch.join(MARK) })
    }

    /// Text of a place, or of a variable of the environment; `build` is the folder of the config's build.
    ///
    /// # Errors
    /// [`Error::Input`] where there is no such variable, or nothing was built.
    pub fn text(&self, name: &str, seed: u64, build: Option<&Path>) -> Result<String> {
        if let Some(variable) = variable(name) {
            return std::env::var(variable).map_err(|_| {
                Error::Input(format!("[run] names {{{name}}}, but the variable {variable} is not set; set it"))
            });
        }
        let path = match name {
            "seed" => return Ok(seed.to_string()),
            "kernel" => self.kernel.as_path(),
            "work" => self.work.as_path(),
            _ => match build {
                Some(folder) => folder,
                None => return input("[run] names {build} where nothing is built yet"),
            },
        };
        Ok(path.display().to_string())
    }

    /// The problem for which set-up has run and teardown has not.
    pub fn left_behind(&self) -> Option<Mark> {
        serde_json::from_slice(&std::fs::read(&self.mark).ok()?).ok()
    }

    /// Notes that teardown has run.
    ///
    /// # Errors
    /// [`Error::Failed`] where the note cannot be removed.
    pub fn forget(&self) -> Result<()> {
        std::fs::remove_file(&self.mark).map_err(place_error(&self.mark))
    }

    /// Empties the working folder, and notes the problem that it is for.
    ///
    /// # Errors
    /// [`Error::Failed`] where the disk fails.
    pub fn begin(&self, problem: &str, seed: u64) -> Result<()> {
        let emptied = std::fs::remove_dir_all(&self.work).and_then(|()| std::fs::create_dir_all(&self.work));
        emptied.map_err(place_error(&self.work))?;
        let mark = serde_json::to_vec(&Mark { problem: problem.into(), seed }).unwrap_or_default();
        std::fs::write(&self.mark, mark).map_err(place_error(&self.mark))
    }
}

fn place_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |e| Error::Failed(format!("{}: {e}", path.display()))
}
