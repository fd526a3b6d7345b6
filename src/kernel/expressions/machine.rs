//! The machine that evaluates expressions: at once, or in portions, of an expression that reads its slots in order, as far as they are known.

use crate::expressions::{Expr, Op};

/// Values that an evaluation holds without asking for memory.
const STACK: usize = 16;

/// Every slot is known.
const ALL_KNOWN: usize = usize::MAX;

/// How far an evaluation is.
struct Progress {
    /// The next operation.
    at: usize,
    /// Values of the stack that are in use.
    top: usize,
}

/// Runs operations until a slot from `first_open` on is asked for, or to the end. Returns how far that is.
#[inline(always)]
fn run(ops: &[Op], from: Progress, stack: &mut [f64], env: &[f64], first_open: usize) -> Progress {
    let Progress { mut at, mut top } = from;
    while let Some(op) = ops.get(at) {
        match *op {
            Op::Slot(s) if s as usize >= first_open => break,
            Op::Number(x) => {
                stack[top] = x;
                top += 1;
            }
            Op::Slot(s) => {
                stack[top] = env[s as usize];
                top += 1;
            }
            Op::Unary(op) => stack[top - 1] = op.apply(stack[top - 1]),
            Op::Binary(op) => {
                top -= 1;
                stack[top - 1] = op.apply(stack[top - 1], stack[top]);
            }
            Op::Select => {
                top -= 2;
                stack[top - 1] = if stack[top - 1] != 0.0 { stack[top] } else { stack[top + 1] };
            }
        }
        at += 1;
    }
    Progress { at, top }
}

impl Expr {
    /// Value in an environment of slots.
    pub fn eval(&self, env: &[f64]) -> f64 {
        match self.depth <= STACK {
            true => self.eval_on(env, &mut [0.0; STACK]),
            false => self.eval_on(env, &mut vec![0.0; self.depth]),
        }
    }

    #[inline(always)]
    fn eval_on(&self, env: &[f64], stack: &mut [f64]) -> f64 {
        run(&self.ops, Progress { at: 0, top: 0 }, stack, env, ALL_KNOWN);
        stack[0]
    }
}

/// Where an evaluation waits for the next slot, and what it holds there.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    at: u32,
    top: u32,
    stack: [f64; STACK],
}

impl Machine {
    /// Before the first operation.
    pub(crate) const BEGIN: Machine = Machine { at: 0, top: 0, stack: [0.0; STACK] };

    /// Whether an expression can be evaluated so: its values fit.
    pub(crate) fn serves(expr: &Expr) -> bool {
        expr.depth <= STACK
    }

    /// Goes on until a slot from `first_open` on is asked for, or to the end.
    pub(crate) fn advance(&mut self, expr: &Expr, env: &[f64], first_open: usize) {
        let from = Progress { at: self.at as usize, top: self.top as usize };
        let Progress { at, top } = run(&expr.ops, from, &mut self.stack, env, first_open);
        (self.at, self.top) = (at as u32, top as u32);
    }

    /// The value of an expression that was evaluated to its end.
    pub(crate) fn value(&self) -> f64 {
        self.stack[0]
    }

    /// Appends what tells it from other states of the same expression.
    pub(crate) fn state(&self, out: &mut Vec<u64>) {
        out.push(self.at as u64);
        out.extend(self.stack[..self.top as usize].iter().map(|x| x.to_bits()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_in_portions_ends_with_the_value_of_one_at_once() {
        let slot = |name: &str| "xyz".find(name).map(Expr::slot);
        let env = [7.0, 2.0, 0.5];
        for text in
            ["x + y * z", "if(x > 3, y, z) + 1", "x // 2 == 3 and y < z", "max(x, 3) % (y + z)", "not x or sqrt(y) > z"]
        {
            let expr = Expr::parse(text, &slot).unwrap();
            let mut machine = Machine::BEGIN;
            let mut states = Vec::new();
            for first_open in 0..=3 {
                machine.advance(&expr, &env, first_open);
                machine.state(&mut states);
            }
            assert_eq!(machine.value().to_bits(), expr.eval(&env).to_bits(), "{text}");
            assert_eq!(machine.at as usize, expr.nodes(), "{text} is evaluated to its end");
            assert_eq!(states[0], 0, "{text} waits for its first slot");
        }
    }
}
