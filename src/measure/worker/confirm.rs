//! Checks of configs with other data than those they were measured with.

use crate::batch::Contender;
use crate::verify::case::Case;
use crate::worker::client::{Client, Reply};
use crate::worker::protocol::{Event, Request};
use seqtune_data::Invalidity;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Kernel, Problem};
use std::time::Duration;

/// What came of a check: the failure of each config, or why the problem cannot be checked.
pub type Checked = std::result::Result<Vec<Option<Invalidity>>, String>;

impl Client {
    /// Launches configs on the data of a case and compares each result with the reference, also after crashes and hangs.
    ///
    /// # Errors
    /// [`Error::Unavailable`](seqtune_kernel::error::Error::Unavailable) or [`Error::Failed`](seqtune_kernel::error::Error::Failed)
    /// where no worker can be started.
    pub fn check(&mut self, kernel: &Kernel, problem: &Problem, configs: &[Config], case: Case) -> Result<Checked> {
        let (mut faults, mut spared) = (Vec::new(), Vec::new());
        while faults.len() < configs.len() {
            let begun = faults.len();
            let texts = configs[begun..].iter().map(|config| kernel.show_config(config)).collect();
            self.send(&Request::Check { problem: kernel.show_problem(problem), configs: texts, case })?;
            loop {
                match self.receive(Duration::from_millis(200))? {
                    Reply::Event(Event::Checked { index, fault }) if begun + index == faults.len() => {
                        faults.push(fault)
                    }
                    Reply::Event(Event::End) => break,
                    Reply::Event(Event::Error { sentence, .. }) => {
                        self.stop();
                        return Ok(Err(sentence));
                    }
                    Reply::Event(_) | Reply::Nothing => {}
                    Reply::Lost(_) if self.is_spared(&mut spared, |at| at) => break,
                    Reply::Lost(fault) => match self.at.take() {
                        Some(Contender::Config(at)) if begun + at == faults.len() => {
                            faults.push(Some(fault));
                            break;
                        }
                        Some(_) => break,
                        None => return Ok(Err(fault.detail)),
                    },
                }
            }
        }
        Ok(Ok(faults))
    }
}
