//! A config of one's own: what it breaks, and what each parameter could have instead.

use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Choices, Config, ConfigSpace, Constraint};
use seqtune_predict::{Device, Kernel, Problem};
use serde_json::{Value, json};

/// What stands beside a config that somebody chooses by hand.
pub struct Choosing<'a> {
    kernel: &'a Kernel,
    space: ConfigSpace,
    /// Slots of the kernel's expressions, with the config's values.
    env: Vec<f64>,
    config: &'a Config,
}

impl<'a> Choosing<'a> {
    /// Of a config for a problem on a device.
    pub fn new(kernel: &'a Kernel, problem: &Problem, device: &Device, config: &'a Config) -> Choosing<'a> {
        let env = kernel.env_of(problem, Some(device), config);
        Choosing { kernel, space: ConfigSpace::new(kernel, problem, device), env, config }
    }

    /// Every constraint that the config breaks: its reason, its text, and the values of the parameters in it.
    pub fn broken(&self) -> Vec<Value> {
        let constraints = self.kernel.constraints.iter().filter(|constraint| constraint.is_broken(&self.env));
        constraints
            .map(|constraint| {
                let parameters = &self.kernel.parameters;
                let read = slots(constraint).into_iter().filter(|slot| *slot < parameters.len());
                let value = |at: usize| format!("{}={}", parameters[at].name, self.env[at]);
                let values: Vec<String> = read.map(value).collect();
                json!({ "reason": constraint.reason, "expr": constraint.text, "values": values })
            })
            .collect()
    }

    /// By parameter and value: `now` where the config is legal with this value and all others as they are, `later` where those
    /// above it leave it open but others below would have to change, `closed` where no legal config has it with those above.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where the constraints are too entangled to look ahead.
    pub fn states(&self) -> Result<Vec<Vec<&'static str>>> {
        let mut states = Vec::with_capacity(self.kernel.parameters.len());
        let mut is_open = true;
        for (at, parameter) in self.kernel.parameters.iter().enumerate() {
            let prefix = &self.config.0[..at];
            // behind what has no completion there is none
            let open = if is_open { self.space.completions(prefix)? } else { Choices::default() };
            let state = |choice: Choice| match open.contains(choice) {
                false => "closed",
                true if self.is_legal_with(at, choice) => "now",
                true => "later",
            };
            states.push((0..parameter.values.len() as Choice).map(state).collect());
            is_open &= open.contains(self.config.0[at]);
        }
        Ok(states)
    }

    fn is_legal_with(&self, at: usize, choice: Choice) -> bool {
        let mut config = self.config.clone();
        config.0[at] = choice;
        self.space.is_legal(&config)
    }
}

/// The slots that a constraint reads, each once.
fn slots(constraint: &Constraint) -> Vec<usize> {
    let mut slots = Vec::new();
    constraint.expr.slots(&mut |slot| {
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    });
    slots
}
