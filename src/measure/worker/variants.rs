//! Programs that take the place of a config's own one, tried by a worker.

use crate::measuring::variant::{VariantAsked, VariantFound};
use crate::worker::client::{Client, Reply};
use crate::worker::protocol::{Event, Request};
use seqtune_data::{Attempt, Invalidity};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Kernel, Problem};
use std::path::Path;
use std::time::Duration;

/// Pause between two looks at a worker.
const WAIT: Duration = Duration::from_millis(200);

impl Client {
    /// Has the compiled program of a config written into a file, in a form whose code can be edited.
    ///
    /// # Errors
    /// `Error::Unavailable` or [`Error::Failed`] where no worker can be started, or it fails.
    pub fn write_program(
        &mut self,
        kernel: &Kernel,
        problem: &Problem,
        config: &Config,
        file: &Path,
    ) -> Result<Attempt<()>> {
        let (problem, config) = (kernel.show_problem(problem), kernel.show_config(config));
        let found = self.ask(&Request::Program { problem, config, file: file.into() }, |event| match event {
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
    /// `Error::Unavailable` or [`Error::Failed`] where no worker can be started, or data or reference fail.
    pub fn try_variant(&mut self, asked: &VariantAsked) -> Result<VariantFound> {
        let found = self.ask(&Request::Variant(asked.clone()), |event| match event {
            Event::Tried(found) => Some(found),
            _ => None,
        })?;
        Ok(found.unwrap_or_else(|fault| VariantFound { fault: Some(fault), ..VariantFound::default() }))
    }

    /// Sends a request and waits for its end; the answer that `read` takes, or how the worker was lost.
    fn ask<T>(&mut self, request: &Request, read: impl Fn(Event) -> Option<T>) -> Result<Attempt<T>> {
        self.send(request)?;
        let mut answer = None;
        loop {
            match self.receive(WAIT)? {
                Reply::Event(Event::End) => {
                    let none = || Error::Failed("a worker ended a request without an answer".into());
                    return answer.map(Ok).ok_or_else(none);
                }
                Reply::Event(Event::Error { sentence, .. }) => {
                    self.stop();
                    return Err(Error::Failed(sentence));
                }
                Reply::Event(event) => answer = read(event).or(answer),
                Reply::Nothing => {}
                Reply::Lost(fault) => return Ok(answer.map_or_else(|| Err::<T, Invalidity>(fault), Ok)),
            }
        }
    }
}
