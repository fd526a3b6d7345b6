//! The kernel that a worker serves, which has to stay the one that its parent measures: files may be edited during a sweep of hours.

use crate::worker::protocol::FoundKernel;
use seqtune_kernel::Kernel;
use seqtune_kernel::error::Result;
use std::path::PathBuf;
use std::time::SystemTime;

/// Size of a file, and when it was changed.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// A kernel's files.
pub(super) struct Watch<'a> {
    /// Kernel name or folder.
    name: &'a str,
    /// Digest that the kernel has to have, source included; any where `None`.
    space: Option<&'a str>,
    /// Files that a program reads while it runs, as they were looked at last. A source is read once.
    files: Vec<(PathBuf, Stamp)>,
}

impl<'a> Watch<'a> {
    /// Watches the kernel of that name, of that digest where one is given.
    pub(super) fn new(name: &'a str, space: Option<&'a str>) -> Watch<'a> {
        Watch { name, space, files: Vec::new() }
    }

    /// Opens the kernel. The inner error is what stands in its place where it was changed.
    ///
    /// # Errors
    /// The error of [`Kernel::open`] where any version will do.
    pub(super) fn open(&mut self) -> Result<std::result::Result<Kernel, FoundKernel>> {
        let opened = Kernel::open(self.name);
        let Some(space) = self.space else { return opened.map(Ok) };
        let kernel = match opened {
            Err(e) => return Ok(Err(FoundKernel::Nothing(e.to_string()))),
            Ok(kernel) => kernel,
        };
        if kernel.identity(true).digest() != space {
            return Ok(Err(FoundKernel::Version(Box::new(kernel.identity(true).of_data()))));
        }
        if let Some(folder) = kernel.folder().filter(|_| kernel.run.is_some()) {
            self.files = kernel.files.keys().map(|name| (folder.join(name), None)).collect();
        }
        Ok(Ok(kernel))
    }

    /// What stands in the kernel's place since it was opened, where its program reads files that were edited.
    pub(super) fn change(&mut self) -> Option<FoundKernel> {
        let now: Vec<Stamp> = self.files.iter().map(|(path, _)| stamp(path)).collect();
        if self.files.iter().zip(&now).all(|((_, before), now)| before == now) {
            return None;
        }
        // looked at before they are read: what is edited meanwhile is found the next time
        let found = self.open().ok()?.err();
        self.files.iter_mut().zip(now).for_each(|((_, before), now)| *before = now);
        found
    }
}

fn stamp(path: &PathBuf) -> Stamp {
    std::fs::metadata(path).ok().map(|file| (file.len(), file.modified().ok()))
}
