//! The expression language of `kernel.toml`: constraints, launch geometry, lengths, counts and features.
//!
//! Every value is an `f64`; true is 1 and false is 0. Names stand for slots of one flat environment
//! (parameters, problem fields, device limits). An expression is postfix code from the moment it is read, so that nothing here
//! calls itself however deep the text is; it is specialised for a problem and a device (everything known is folded away).
//! `parse` has the grammar. `//` and `%` round down, on whole numbers. Functions: `min max cdiv pow if abs floor ceil log2 sqrt`.

pub(crate) mod bounds;
pub(crate) mod compiled;
pub(crate) mod fold;
pub(crate) mod machine;
pub(crate) mod parse;

use crate::elementary;
use crate::error::{Result, input};
use crate::limits::EXPRESSION_NODES;

/// A unary operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    /// Negation.
    Neg,
    /// Logical not: 1 for 0, otherwise 0.
    Not,
    /// Absolute value.
    Abs,
    /// Rounding down.
    Floor,
    /// Rounding up.
    Ceil,
    /// Logarithm to base 2.
    Log2,
    /// Square root.
    Sqrt,
}

/// A binary operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
    /// Quotient of whole numbers, rounded down; NaN for a divisor of 0.
    FloorDiv,
    /// Remainder of whole numbers; NaN for a divisor of 0.
    Mod,
    /// Quotient of whole numbers, rounded up; NaN for a divisor of 0.
    CeilDiv,
    /// Power.
    Pow,
    /// Smaller of two.
    Min,
    /// Larger of two.
    Max,
    /// Equal: 1 or 0, as all comparisons.
    Eq,
    /// Not equal.
    Ne,
    /// Less or equal.
    Le,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Greater.
    Gt,
    /// Logical and: 1 or 0.
    And,
    /// Logical or: 1 or 0.
    Or,
}

/// One step of postfix code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Pushes a constant.
    Number(f64),
    /// Pushes the value of a slot.
    Slot(u32),
    /// Applies a unary operation to the top of the stack.
    Unary(Unary),
    /// Applies a binary operation to the top two.
    Binary(Binary),
    /// Replaces a condition and two values by one of the values: the first where the condition is not 0.
    Select,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Operands before their operations.
    pub(crate) ops: Vec<Op>,
    /// Values that evaluation holds at once.
    pub(crate) depth: usize,
}

impl Unary {
    #[inline(always)]
    pub(crate) fn apply(self, a: f64) -> f64 {
        match self {
            Unary::Neg => -a,
            Unary::Not => (a == 0.0) as u8 as f64,
            Unary::Abs => a.abs(),
            Unary::Floor => a.floor(),
            Unary::Ceil => a.ceil(),
            Unary::Log2 => elementary::log2(a),
            Unary::Sqrt => a.sqrt(),
        }
    }
}

/// Quotient rounded down and remainder of whole numbers; `None` for a divisor of 0, or where one of the numbers or the quotient is
/// beyond 64 bits.
fn divide(a: f64, b: f64) -> Option<(i64, i64)> {
    let fits = |x: f64| (-9.2e18..=9.2e18).contains(&x);
    if !fits(a) || !fits(b) {
        return None;
    }
    let (a, b) = (a as i64, b as i64);
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    match rest != 0 && (rest < 0) != (b < 0) {
        true => Some((quotient - 1, rest + b)),
        false => Some((quotient, rest)),
    }
}

impl Binary {
    /// Whether its value is 1 or 0.
    pub(crate) fn is_truth(self) -> bool {
        use Binary::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        matches!(self, Eq | Ne | Le | Ge | Lt | Gt | And | Or)
    }

    #[inline(always)]
    pub(crate) fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| t as u8 as f64;
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::FloorDiv => divide(a, b).map_or(f64::NAN, |(quotient, _)| quotient as f64),
            Binary::Mod => divide(a, b).map_or(f64::NAN, |(_, rest)| rest as f64),
            Binary::CeilDiv => divide(a, b).map_or(f64::NAN, |(quotient, rest)| quotient as f64 + truth(rest != 0)),
            Binary::Pow => elementary::pow(a, b),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::Le => truth(a <= b),
            Binary::Ge => truth(a >= b),
            Binary::Lt => truth(a < b),
            Binary::Gt => truth(a > b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
        }
    }
}

impl Expr {
    /// A constant.
    pub fn number(value: f64) -> Expr {
        Expr { ops: vec![Op::Number(value)], depth: 1 }
    }

    /// The value of a slot.
    pub fn slot(slot: usize) -> Expr {
        Expr { ops: vec![Op::Slot(slot as u32)], depth: 1 }
    }

    /// An operation on one operand.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the expression becomes longer than [`EXPRESSION_NODES`], as of all that combine.
    pub fn unary(op: Unary, a: Expr) -> Result<Expr> {
        Expr::join_by(a, &[], Op::Unary(op))
    }

    /// An operation on two operands.
    ///
    /// # Errors
    /// See [`Expr::unary`].
    pub fn binary(op: Binary, a: Expr, b: &Expr) -> Result<Expr> {
        Expr::join_by(a, &[b], Op::Binary(op))
    }

    /// `a` where `condition` is not 0, else `b`.
    ///
    /// # Errors
    /// See [`Expr::unary`].
    pub fn select(condition: Expr, a: &Expr, b: &Expr) -> Result<Expr> {
        Expr::join_by(condition, &[a, b], Op::Select)
    }

    /// As [`Expr::binary`], of any length: of what is not written but made.
    pub(crate) fn then(self, op: Binary, b: &Expr) -> Expr {
        let Expr { mut ops, depth } = self;
        ops.extend_from_slice(&b.ops);
        ops.push(Op::Binary(op));
        Expr { ops, depth: depth.max(b.depth + 1) }
    }

    fn join_by(first: Expr, rest: &[&Expr], op: Op) -> Result<Expr> {
        let Expr { mut ops, mut depth } = first;
        if ops.len() + rest.iter().map(|e| e.ops.len()).sum::<usize>() >= EXPRESSION_NODES {
            return input(format!("has more than {EXPRESSION_NODES} parts, its definitions written out"));
        }
        for (i, expr) in rest.iter().enumerate() {
            ops.extend_from_slice(&expr.ops);
            depth = depth.max(expr.depth + 1 + i);
        }
        ops.push(op);
        Ok(Expr { ops, depth })
    }

    /// Numbers, slots and operations.
    pub fn nodes(&self) -> usize {
        self.ops.len()
    }

    /// Its postfix code, for who writes it in another language.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Calls `visit` with each slot that the expression names.
    pub fn slots(&self, visit: &mut dyn FnMut(usize)) {
        for op in &self.ops {
            if let Op::Slot(slot) = op {
                visit(*slot as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let resolve = |name: &str| match name {
            "x" => Some(Expr::slot(0)),
            "y" => Some(Expr::slot(1)),
            _ => None,
        };
        let expr = Expr::parse(text, &resolve).unwrap();
        let env = [7.0, 2.0];
        let value = expr.eval(&env);
        for first_known in 0..3 {
            let folded = expr.specialise(&env, first_known);
            assert_eq!(
                folded.eval(&env).to_bits(),
                value.to_bits(),
                "folding from {first_known} keeps the value of {text}"
            );
        }
        assert_eq!(expr.specialise(&env, 0).nodes(), 1, "what is known becomes a number");
        value
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("10 - 4 - 3", 3.0),
            ("x // y * y + x % y", 7.0),
            ("-x + 10", 3.0),
            ("x / y", 3.5),
            ("x == 7 and not y == 3", 1.0),
            ("x < 3 or y >= 2", 1.0),
            ("cdiv(x, y) + max(x, y) + min(x, y)", 13.0),
            ("if(x > y, log2(8), sqrt(16))", 3.0),
            ("pow(y, 10)", 1024.0),
            ("2 * (3 + 4)", 14.0),
            ("5e-1 - 2.5e-1", 0.25),
            ("if(x < y, x, if(x == 7, 11, y)) + 1", 12.0),
            ("(0 - x) // y", -4.0),
            ("x // (0 - y)", -4.0),
            ("(0 - x) % y", 1.0),
            ("x % (0 - y)", -1.0),
            ("cdiv(0 - x, y)", -3.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn division_by_zero_breaks_a_constraint_instead_of_the_program() {
        assert!(value("x % (y - 2)").is_nan());
        assert_eq!(value("x % (y - 2) == 0"), 0.0);
    }

    #[test]
    fn whole_numbers_beyond_64_bits_are_no_numbers() {
        let least = "(0 - 9223372036854775808)";
        for text in [format!("{least} // (0 - 1)"), format!("{least} % (0 - 1)"), format!("cdiv({least}, 0 - 1)")] {
            assert!(value_is_nan(&text), "{text}");
        }
        assert!(value_is_nan("1e300 // 2") && value_is_nan("sqrt(0 - x) % 2"));
    }

    fn value_is_nan(text: &str) -> bool {
        Expr::parse(text, &|_| Some(Expr::slot(0))).unwrap().eval(&[7.0]).is_nan()
    }

    #[test]
    fn text_that_is_too_deep_or_too_long_is_refused_and_what_is_long_is_not() {
        let resolve = |_: &str| Some(Expr::slot(0));
        let error = |text: String| Expr::parse(&text, &resolve).unwrap_err().to_string();
        for deep in [
            "(".repeat(100_000) + "1" + &")".repeat(100_000),
            "not ".repeat(100_000) + "1",
            "- ".repeat(100_000) + "1",
            "abs(".repeat(100_000) + "1" + &")".repeat(100_000),
        ] {
            let error = error(deep);
            assert!(error.contains("nested deeper than 64") && error.len() < 300, "{error}");
        }
        assert!(error("x + ".repeat(200_000) + "x").contains("more than 10000 parts"));
        let long = Expr::parse(&("x + ".repeat(4_000) + "x"), &resolve).unwrap();
        assert_eq!(long.eval(&[2.0]), 8_002.0);
        let mut deep = Expr::slot(0);
        for _ in 0..3_000 {
            deep = Expr::binary(Binary::Add, Expr::slot(0), &deep).unwrap();
        }
        assert_eq!((deep.eval(&[1.0]), deep.specialise(&[1.0], 0)), (3_001.0, Expr::number(3_001.0)));
    }

    #[test]
    fn a_wrong_expression_is_named_with_its_fault() {
        for (text, fault) in [
            ("x +", "a value is missing"),
            ("z * 2", "the name `z` is unknown"),
            ("(x", "a `)` is missing"),
            ("min(x)", "no function `min`"),
            ("x $ y", "did not expect `$`"),
            ("x y", "did not expect"),
        ] {
            let resolve = |name: &str| (name != "z").then(|| Expr::number(1.0));
            let error = Expr::parse(text, &resolve).unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
