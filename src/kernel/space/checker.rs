//! Checking many problems and configs of one kernel against its rules, without building a space for each.

use crate::definition::{Constraint, Kernel};
use crate::expressions::Expr;

/// A kernel's rules and constraints, compiled.
pub struct Checker {
    kernel: Kernel,
    rules: Vec<Expr>,
    constraints: Vec<CompiledConstraint>,
}

impl Checker {
    /// Compiles the rules and constraints of `kernel`.
    pub fn new(kernel: &Kernel) -> Checker {
        let constraint = |c: &Constraint| {
            let mut slots = Vec::new();
            c.expr.slots(&mut |s| slots.push(s));
            CompiledConstraint { code: c.expr.clone(), slots }
        };
        let rules = kernel.rules.iter().map(|r| r.expr.clone()).collect();
        Checker { kernel: kernel.clone(), rules, constraints: kernel.constraints.iter().map(constraint).collect() }
    }

    /// The first rule that a problem breaks; `env` is [`Kernel::env`].
    pub fn broken_rule(&self, env: &[f64]) -> Option<&Constraint> {
        let at = self.rules.iter().position(|code| code.eval(env) != 1.0)?;
        Some(&self.kernel.rules[at])
    }

    /// The number of rules that a problem breaks; `env` is [`Kernel::env`].
    pub fn broken_rules(&self, env: &[f64]) -> usize {
        self.rules.iter().filter(|code| code.eval(env) != 1.0).count()
    }

    /// Of each rule and then of each constraint, whether a problem and a config of it keep it; `problem` is [`Kernel::env`], `config`
    /// [`Kernel::env_of`].
    pub fn rules_kept(&self, problem: &[f64], config: &[f64]) -> Vec<bool> {
        let rules = self.rules.iter().map(|code| code.eval(problem) == 1.0);
        rules.chain(self.constraints.iter().map(|constraint| constraint.keeps(config))).collect()
    }

    /// The first constraint that a config breaks; `env` is [`Kernel::env_of`].
    pub fn broken_constraint(&self, env: &[f64]) -> Option<&Constraint> {
        let at = self.constraints.iter().position(|constraint| !constraint.keeps(env))?;
        Some(&self.kernel.constraints[at])
    }
}

/// A constraint with the slots that it reads.
struct CompiledConstraint {
    code: Expr,
    slots: Vec<usize>,
}

impl CompiledConstraint {
    /// Whether a config keeps it; one that reads an unknown limit is kept.
    fn keeps(&self, env: &[f64]) -> bool {
        self.code.eval(env) == 1.0 || self.slots.iter().any(|s| env[*s].is_nan())
    }
}
