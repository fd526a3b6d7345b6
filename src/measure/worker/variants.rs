//! Programs that take the place of a config's own one, tried by a worker.

use crate::measuring::variant::{VariantAsked, VariantFound};
use crate::worker::client::Client;
use crate::worker::protocol::{Event, Request};
use seqtune_data::Attempt;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Kernel, Problem};
use std::path::Path;

impl Client {
    /// Has the compiled program of a config written into a file, in a form whose code can be edited.
    ///
    /// # Errors
    /// `Error::Unavailable` or `Error::Failed` where no worker can be started, or it fails.
    pub fn write_program(
        &mut self,
        kernel: &Kernel,
        problem: &Problem,
        config: &Config,
        file: &Path,
    ) -> Result<Attempt<()>> {
        let (problem, config) = (kernel.show_problem(problem), kernel.show_config(config));
        let found = self.question(&Request::Program { problem, config, file: file.into() }, |event| match event {
            Event::Compiled(fault) => Some(fault),
            _ => None,
        })?;
        Ok(match found {
            Ok(None) => Ok(()),
            Ok(Some(fault)) | Err(fault) => Err(fault),
        })
    }

    /// Tries a program; one that ends its worker or hangs has failed.
    ///
    /// # Errors
    /// `Error::Unavailable` or `Error::Failed` where no worker can be started, or data or reference fail.
    pub fn try_variant(&mut self, asked: &VariantAsked) -> Result<VariantFound> {
        let found = self.question(&Request::Variant(asked.clone()), |event| match event {
            Event::Tried(found) => Some(found),
            _ => None,
        })?;
        Ok(found.unwrap_or_else(|fault| VariantFound { fault: Some(fault), ..VariantFound::default() }))
    }
}
