//! Dimensions of a launch.

use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::{Config, Device, Kernel, Launch, Problem};

/// Dimensions of a launch in work-items.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchDims {
    /// Global size per dimension.
    pub global: Vec<usize>,
    /// Size of a work-group per dimension; empty where the API chooses.
    pub local: Vec<usize>,
}

impl LaunchDims {
    /// Dimensions that `launch` of a kernel states for a problem and a config.
    pub fn new(
        kernel: &Kernel,
        device: &Device,
        launch: &Launch,
        problem: &Problem,
        config: Option<&Config>,
    ) -> LaunchDims {
        let [global, local] = kernel.launch_sizes(launch, problem, config, device);
        LaunchDims { global, local }
    }

    /// Number of work-groups; 1 where `local` is empty.
    pub fn groups(&self) -> usize {
        std::iter::zip(&self.global, &self.local).map(|(global, local)| global / local.max(&1)).product()
    }

    /// Refuses sizes that a driver would refuse without saying which.
    ///
    /// # Errors
    /// A failure to compile, where a work-group is empty or does not divide its dimension.
    pub fn check(&self) -> Attempt<()> {
        let divides = |(global, local): (&usize, &usize)| *local > 0 && global.is_multiple_of(*local);
        match std::iter::zip(&self.global, &self.local).all(divides) {
            true => Ok(()),
            false => {
                let LaunchDims { global, local } = self;
                let detail = format!(
                    "global sizes {global:?} are no multiples of the local ones {local:?}; `global` counts work-items, not work-groups"
                );
                Err(Invalidity::new(InvalidityKind::Compile, detail))
            }
        }
    }
}
