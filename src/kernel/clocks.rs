//! Clocks of the device as tuning parameters: `[clocks]` of a `kernel.toml`.

use crate::canonical::Canonical;
use crate::error::{Result, input};
use crate::expressions::Expr;
use crate::kernel_toml::names::Names;
use crate::kernel_toml::spec::ClocksSpec;

/// Clocks that a config is measured at; what is `None` is left to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clocks {
    /// Clock of the cores in MHz.
    pub core_mhz: Option<u32>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<u32>,
}

impl Clocks {
    /// Whether all is left to the driver.
    pub fn is_free(self) -> bool {
        self == Clocks::default()
    }
}

impl std::fmt::Display for Clocks {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let mhz = |clock: Option<u32>| clock.map_or("free".into(), |mhz| format!("at {mhz} MHz"));
        write!(f, "cores {}, memory {}", mhz(self.core_mhz), mhz(self.memory_mhz))
    }
}

/// How a config says its clocks.
#[derive(Clone, Debug)]
pub struct ClockExprs {
    core: Option<Expr>,
    memory: Option<Expr>,
    /// The expressions as written, for digests of before.
    pub(crate) older_identity: String,
}

impl ClockExprs {
    pub(crate) fn load(spec: ClocksSpec, names: &Names, has_program: bool) -> Result<ClockExprs> {
        if !has_program {
            return input("[clocks] sets those of the device that a [program] runs on; there is none");
        }
        let expr = |text: &Option<String>| {
            text.as_deref().map(|text| names.expr(text)).transpose().map_err(|e| e.at_place("[clocks]"))
        };
        Ok(ClockExprs {
            core: expr(&spec.core)?,
            memory: expr(&spec.memory)?,
            older_identity: format!("clocks {} {}\n", spec.core.canonical(), spec.memory.canonical()),
        })
    }

    /// The clocks in an environment of slots; 0 is left to the driver.
    pub(crate) fn eval(&self, env: &[f64]) -> Clocks {
        let mhz = |expr: &Option<Expr>| expr.as_ref().map(|e| e.eval(env) as u32).filter(|mhz| *mhz > 0);
        Clocks { core_mhz: mhz(&self.core), memory_mhz: mhz(&self.memory) }
    }

    /// Whether a slot is read.
    pub(crate) fn reads(&self, slot: usize) -> bool {
        let mut found = false;
        [&self.core, &self.memory].into_iter().flatten().for_each(|e| e.slots(&mut |read| found |= read == slot));
        found
    }
}
