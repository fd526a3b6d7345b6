//! Expressions of which a part is known: constants are folded, and what a condition decides falls away.

use crate::expressions::{Binary, Expr, Op, Unary};

impl Expr {
    /// Replaces every slot from `first_known` on by its value and folds what became constant.
    pub fn specialise(&self, env: &[f64], first_known: usize) -> Expr {
        let mut folded = Folded::default();
        for op in &self.ops {
            match *op {
                Op::Slot(s) if s as usize >= first_known => folded.push(Op::Number(env[s as usize])),
                Op::Number(_) | Op::Slot(_) => folded.push(*op),
                Op::Unary(op) => folded.unary(op),
                Op::Binary(op) => folded.binary(op),
                Op::Select => folded.select(),
            }
        }
        let depth = deepest(&folded.ops);
        Expr { ops: folded.ops, depth }
    }
}

impl Expr {
    /// The parts of a conjunction, each of which is 1 where it holds; itself where it is none. It is 1 where all of them are.
    pub(crate) fn conjuncts(self) -> Vec<Expr> {
        let (mut open, mut parts) = (vec![self.ops], Vec::new());
        while let Some(mut ops) = open.pop() {
            match ops.last() {
                Some(Op::Binary(Binary::And)) => {
                    ops.pop();
                    let second = ops.split_off(begin_of_last(&ops));
                    open.extend([second, ops]);
                }
                _ => parts.push(ops),
            }
        }
        if let [_] = &parts[..] {
            let ops = parts.remove(0);
            return vec![Expr { depth: deepest(&ops), ops }];
        }
        let part = |mut ops: Vec<Op>| {
            // what is not 0 holds, in a conjunction
            if !matches!(ops.last(), Some(Op::Binary(op)) if op.is_truth()) {
                ops.extend([Op::Unary(Unary::Not), Op::Unary(Unary::Not)]);
            }
            Expr { depth: deepest(&ops), ops }
        };
        parts.into_iter().map(part).collect()
    }
}

/// Where the code of the last value begins.
fn begin_of_last(ops: &[Op]) -> usize {
    let (mut at, mut wanted) = (ops.len(), 1);
    while wanted > 0 && at > 0 {
        at -= 1;
        wanted = match ops[at] {
            Op::Number(_) | Op::Slot(_) => wanted - 1,
            Op::Unary(_) => wanted,
            Op::Binary(_) => wanted + 1,
            Op::Select => wanted + 2,
        };
    }
    at
}

/// Values that an evaluation of postfix code holds at once.
fn deepest(ops: &[Op]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for op in ops {
        match op {
            Op::Number(_) | Op::Slot(_) => depth += 1,
            Op::Unary(_) => {}
            Op::Binary(_) => depth -= 1,
            Op::Select => depth -= 2,
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Postfix code in the making, of which constants are folded at once.
#[derive(Default)]
struct Folded {
    ops: Vec<Op>,
    /// Where the code of each value on the stack begins.
    begins: Vec<usize>,
}

impl Folded {
    fn push(&mut self, op: Op) {
        self.begins.push(self.ops.len());
        self.ops.push(op);
    }

    /// The constant that code is, if it is one.
    fn constant(&self, code: std::ops::Range<usize>) -> Option<f64> {
        match self.ops[code] {
            [Op::Number(x)] => Some(x),
            _ => None,
        }
    }

    /// Puts a constant in the place of the last value.
    fn replace(&mut self, begin: usize, value: f64) {
        self.ops.truncate(begin);
        self.ops.push(Op::Number(value));
    }

    fn unary(&mut self, op: Unary) {
        let begin = self.begins.last().copied().unwrap_or_default();
        match self.constant(begin..self.ops.len()) {
            Some(x) => self.replace(begin, op.apply(x)),
            None => self.ops.push(Op::Unary(op)),
        }
    }

    fn binary(&mut self, op: Binary) {
        let second = self.begins.pop().unwrap_or_default();
        let first = self.begins.last().copied().unwrap_or_default();
        let (a, b) = (self.constant(first..second), self.constant(second..self.ops.len()));
        match (op, a, b) {
            (_, Some(x), Some(y)) => self.replace(first, op.apply(x, y)),
            // what one side already decides, so that a rule of one data type costs nothing for another
            (Binary::And, Some(0.0), _) | (Binary::And, _, Some(0.0)) => self.replace(first, 0.0),
            (Binary::Or, Some(x), _) | (Binary::Or, _, Some(x)) if x != 0.0 => self.replace(first, 1.0),
            _ => self.ops.push(Op::Binary(op)),
        }
    }

    fn select(&mut self) {
        let (no, yes) = (self.begins.pop().unwrap_or_default(), self.begins.pop().unwrap_or_default());
        let condition = self.begins.last().copied().unwrap_or_default();
        match self.constant(condition..yes) {
            Some(x) if x != 0.0 => {
                self.ops.truncate(no);
                self.ops.drain(condition..yes);
            }
            Some(_) => drop(self.ops.drain(condition..no)),
            None => self.ops.push(Op::Select),
        }
    }
}
