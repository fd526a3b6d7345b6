//! Evaluation in portions: of an expression that reads its slots in order, as far as they are known.

use crate::expressions::{Expr, Op, STACK};

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
        let (mut at, mut top) = (self.at as usize, self.top as usize);
        let stack = &mut self.stack;
        while let Some(op) = expr.ops.get(at) {
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
