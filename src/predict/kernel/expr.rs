//! The expression language of `kernel.toml`: constraints, launch geometry, lengths, counts and features.
//!
//! Every value is an `f64`; true is 1 and false is 0. Names stand for slots of one flat environment
//! (parameters, problem fields, device limits). An expression is parsed once into a tree, then
//! specialised for a problem and a device (everything known is folded away) and compiled to postfix code.
//! `parse` has the grammar. `//` and `%` round down, on whole numbers. Functions: `min max cdiv pow if abs floor ceil log2 sqrt`.

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

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Constant.
    Number(f64),
    /// Value of a slot of the environment.
    Slot(usize),
    /// Unary operation on an operand.
    Unary(Unary, Box<Expr>),
    /// Binary operation on two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// Condition, value where it holds, and value where it does not.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Unary {
    #[inline(always)]
    fn apply(self, a: f64) -> f64 {
        match self {
            Unary::Neg => -a,
            Unary::Not => (a == 0.0) as u8 as f64,
            Unary::Abs => a.abs(),
            Unary::Floor => a.floor(),
            Unary::Ceil => a.ceil(),
            Unary::Log2 => a.log2(),
            Unary::Sqrt => a.sqrt(),
        }
    }
}

/// Whole-number operation; NaN where the divisor is 0.
fn whole(a: f64, b: f64, f: impl Fn(i64, i64) -> i64) -> f64 {
    let (a, b) = (a as i64, b as i64);
    if b == 0 { f64::NAN } else { f(a, b) as f64 }
}

impl Binary {
    #[inline(always)]
    fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| t as u8 as f64;
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::FloorDiv => whole(a, b, i64::div_euclid),
            Binary::Mod => whole(a, b, i64::rem_euclid),
            Binary::CeilDiv => whole(a, b, |a, b| -((-a).div_euclid(b))),
            Binary::Pow => a.powf(b),
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
    /// Value in an environment of slots.
    pub fn eval(&self, env: &[f64]) -> f64 {
        match self {
            Expr::Number(x) => *x,
            Expr::Slot(s) => env[*s],
            Expr::Unary(op, a) => op.apply(a.eval(env)),
            Expr::Binary(op, a, b) => op.apply(a.eval(env), b.eval(env)),
            Expr::If(c, a, b) => {
                if c.eval(env) != 0.0 {
                    a.eval(env)
                } else {
                    b.eval(env)
                }
            }
        }
    }

    /// Calls `visit` with each slot that the expression names.
    pub fn slots(&self, visit: &mut dyn FnMut(usize)) {
        match self {
            Expr::Number(_) => {}
            Expr::Slot(s) => visit(*s),
            Expr::Unary(_, a) => a.slots(visit),
            Expr::Binary(_, a, b) => {
                a.slots(visit);
                b.slots(visit);
            }
            Expr::If(c, a, b) => {
                c.slots(visit);
                a.slots(visit);
                b.slots(visit);
            }
        }
    }

    /// Replaces every slot from `first_known` on by its value and folds what became constant.
    pub fn specialise(&self, env: &[f64], first_known: usize) -> Expr {
        match self {
            Expr::Number(x) => Expr::Number(*x),
            Expr::Slot(s) if *s >= first_known => Expr::Number(env[*s]),
            Expr::Slot(s) => Expr::Slot(*s),
            Expr::Unary(op, a) => match a.specialise(env, first_known) {
                Expr::Number(x) => Expr::Number(op.apply(x)),
                a => Expr::Unary(*op, Box::new(a)),
            },
            Expr::Binary(op, a, b) => {
                match (op, a.specialise(env, first_known), b.specialise(env, first_known)) {
                    (op, Expr::Number(x), Expr::Number(y)) => Expr::Number(op.apply(x, y)),
                    // what one side already decides, so that a rule of one data type costs nothing for another
                    (Binary::And, Expr::Number(0.0), _) | (Binary::And, _, Expr::Number(0.0)) => Expr::Number(0.0),
                    (Binary::Or, Expr::Number(x), _) | (Binary::Or, _, Expr::Number(x)) if x != 0.0 => {
                        Expr::Number(1.0)
                    }
                    (op, a, b) => Expr::Binary(*op, Box::new(a), Box::new(b)),
                }
            }
            Expr::If(c, a, b) => match c.specialise(env, first_known) {
                Expr::Number(x) if x != 0.0 => a.specialise(env, first_known),
                Expr::Number(_) => b.specialise(env, first_known),
                c => Expr::If(
                    Box::new(c),
                    Box::new(a.specialise(env, first_known)),
                    Box::new(b.specialise(env, first_known)),
                ),
            },
        }
    }

    /// Compiles to postfix code, about ten times faster to evaluate than the tree.
    pub fn compile(&self) -> Code {
        let mut ops = Vec::new();
        emit(self, &mut ops);
        let (mut depth, mut deepest) = (0usize, 0usize);
        for op in &ops {
            match op {
                Op::Number(_) | Op::Slot(_) => depth += 1,
                Op::Unary(_) => {}
                Op::Binary(_) => depth -= 1,
                Op::Select => depth -= 2,
            }
            deepest = deepest.max(depth);
        }
        if deepest > STACK { Code::Tree(self.clone()) } else { Code::Postfix(ops) }
    }
}

const STACK: usize = 16;

/// A compiled expression.
#[derive(Clone, Debug)]
pub enum Code {
    /// Postfix code, evaluated on a stack.
    Postfix(Vec<Op>),
    /// An expression nested deeper than the fixed stack.
    Tree(Expr),
}

/// One step of postfix code.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Pushes a constant.
    Number(f64),
    /// Pushes the value of a slot.
    Slot(u32),
    /// Applies a unary operation to the top of the stack.
    Unary(Unary),
    /// Applies a binary operation to the top two.
    Binary(Binary),
    /// Replaces a condition and two values by one of the values.
    Select,
}

fn emit(expr: &Expr, ops: &mut Vec<Op>) {
    match expr {
        Expr::Number(x) => ops.push(Op::Number(*x)),
        Expr::Slot(s) => ops.push(Op::Slot(*s as u32)),
        Expr::Unary(op, a) => {
            emit(a, ops);
            ops.push(Op::Unary(*op));
        }
        Expr::Binary(op, a, b) => {
            emit(a, ops);
            emit(b, ops);
            ops.push(Op::Binary(*op));
        }
        Expr::If(c, a, b) => {
            emit(c, ops);
            emit(a, ops);
            emit(b, ops);
            ops.push(Op::Select);
        }
    }
}

impl Code {
    /// Value in an environment of slots.
    pub fn eval(&self, env: &[f64]) -> f64 {
        let ops = match self {
            Code::Postfix(ops) => ops,
            Code::Tree(expr) => return expr.eval(env),
        };
        let mut stack = [0.0; STACK];
        let mut top = 0;
        for op in ops {
            match *op {
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
        }
        stack[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let resolve = |name: &str| match name {
            "x" => Some(Expr::Slot(0)),
            "y" => Some(Expr::Slot(1)),
            _ => None,
        };
        let expr = Expr::parse(text, &resolve).unwrap();
        let env = [7.0, 2.0];
        let tree = expr.eval(&env);
        assert_eq!(expr.compile().eval(&env).to_bits(), tree.to_bits(), "postfix code agrees with the tree");
        assert_eq!(expr.specialise(&env, 1).eval(&env).to_bits(), tree.to_bits(), "folding keeps the value");
        tree
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
    fn a_wrong_expression_is_named_with_its_fault() {
        for (text, fault) in [
            ("x +", "a value is missing"),
            ("z * 2", "the name `z` is unknown"),
            ("(x", "a `)` is missing"),
            ("min(x)", "no function `min`"),
            ("x $ y", "did not expect `$`"),
            ("x y", "did not expect"),
        ] {
            let resolve = |name: &str| (name != "z").then_some(Expr::Number(1.0));
            let error = Expr::parse(text, &resolve).unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
