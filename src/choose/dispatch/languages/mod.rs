//! Expressions in the languages that dispatches are written in.

pub(crate) mod cpp;
pub(crate) mod python;
pub(crate) mod rust;

use seqtune_kernel::expressions::{Binary, Expr, Op, Unary};

/// How a language writes the parts of an expression, whose values are all double-precision numbers.
pub(crate) trait Language {
    /// A number, to the last bit.
    fn number(&self, x: f64) -> String;

    /// An operation on one operand.
    fn unary(&self, op: Unary, a: &str) -> String;

    /// The words of operations on two operands.
    fn operators(&self) -> Operators;

    /// An operation on two.
    fn binary(&self, op: Binary, a: &str, b: &str) -> String {
        let words = self.operators();
        let infix = |sign: &str| format!("({a} {sign} {b})");
        let truth = |sign: &str| format!("{}({a} {sign} {b})", words.truth);
        let both = |word: &str| format!("{}({a} != 0.0 {word} {b} != 0.0)", words.truth);
        let call = |function: &str| format!("{function}({a}, {b})");
        match op {
            Binary::Add => infix("+"),
            Binary::Sub => infix("-"),
            Binary::Mul => infix("*"),
            Binary::Div => words.divide.map_or_else(|| infix("/"), call),
            Binary::FloorDiv => call(words.floor_div),
            Binary::Mod => call(words.modulo),
            Binary::CeilDiv => call(words.ceil_div),
            Binary::Pow => call(words.power),
            Binary::Min => call(words.least),
            Binary::Max => call(words.most),
            Binary::Eq => truth("=="),
            Binary::Ne => truth("!="),
            Binary::Le => truth("<="),
            Binary::Ge => truth(">="),
            Binary::Lt => truth("<"),
            Binary::Gt => truth(">"),
            Binary::And => both(words.and),
            Binary::Or => both(words.or),
        }
    }

    /// One of two values: the first where the condition is not 0.
    fn select(&self, condition: &str, yes: &str, no: &str) -> String;

    /// A statement that gives a value a name, indented by four columns.
    fn statement(&self, name: &str, value: &str) -> String;
}

/// Functions and words that languages call differently.
pub(crate) struct Operators {
    /// 1 of what holds, else 0.
    pub(crate) truth: &'static str,
    pub(crate) and: &'static str,
    pub(crate) or: &'static str,
    /// Where the sign raises an error instead.
    pub(crate) divide: Option<&'static str>,
    pub(crate) floor_div: &'static str,
    pub(crate) modulo: &'static str,
    pub(crate) ceil_div: &'static str,
    pub(crate) power: &'static str,
    pub(crate) least: &'static str,
    pub(crate) most: &'static str,
}

/// Characters of a part that is written within another at most; longer ones get a name.
const PART: usize = 90;

/// An expression that was written.
pub(crate) struct Written {
    /// Statements that compute its parts.
    pub(crate) statements: String,
    /// The expression itself.
    pub(crate) value: String,
}

/// Writes an expression; `slot` writes the value of a slot, and `parts` counts the names that are taken.
pub(crate) fn expression(
    language: &dyn Language,
    expr: &Expr,
    slot: &dyn Fn(usize) -> String,
    parts: &mut usize,
) -> Written {
    let (mut statements, mut stack) = (String::new(), Vec::<String>::new());
    for op in expr.ops() {
        let mut take = || stack.pop().unwrap_or_default();
        let text = match *op {
            Op::Number(x) => language.number(x),
            Op::Slot(s) => slot(s as usize),
            Op::Unary(op) => language.unary(op, &take()),
            Op::Binary(op) => {
                let second = take();
                language.binary(op, &take(), &second)
            }
            Op::Select => {
                let (second, first) = (take(), take());
                language.select(&take(), &first, &second)
            }
        };
        match text.len() > PART {
            true => {
                *parts += 1;
                let name = format!("part{parts}");
                statements += &language.statement(&name, &text);
                stack.push(name);
            }
            false => stack.push(text),
        }
    }
    Written { statements, value: stack.pop().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_expressions_are_written_in_parts_of_a_few_brackets() {
        let mut deep = Expr::slot(0);
        for _ in 0..500 {
            deep = Expr::binary(Binary::Add, deep, &Expr::slot(0)).unwrap();
        }
        let mut parts = 0;
        let Written { statements, value } = expression(&cpp::Cpp, &deep, &|_| "p.M".into(), &mut parts);
        let longest = statements.lines().map(str::len).max().unwrap();
        assert!(parts > 20 && longest < 150 && value.len() <= PART, "{parts}, {longest}");
    }
}
