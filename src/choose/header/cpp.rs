//! Expressions and numbers as C++17; names are spelled in `seqtune_kernel::spelling`.

use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::expressions::{Binary, Expr, Op, Unary};

/// A number as C++ reads it, to the last bit.
pub(crate) fn number(x: f64) -> String {
    match x {
        x if x.is_nan() => "detail::nan".into(),
        x if x.is_infinite() => if x > 0.0 { "detail::infinity" } else { "(-detail::infinity)" }.into(),
        x if x < 0.0 => format!("({})", x.canonical()),
        x => x.canonical(),
    }
}

/// Characters of a part that is written within another at most; longer ones get a name.
const PART: usize = 90;

/// Statements that compute parts, each indented by four columns, and the expression itself. `slot` writes the value of a slot.
pub(crate) fn expression(expr: &Expr, slot: &dyn Fn(usize) -> String, parts: &mut usize) -> (String, String) {
    let (mut statements, mut stack) = (String::new(), Vec::<String>::new());
    for op in expr.ops() {
        let mut take = || stack.pop().unwrap_or_default();
        let text = match *op {
            Op::Number(x) => number(x),
            Op::Slot(s) => slot(s as usize),
            Op::Unary(op) => unary(op, &take()),
            Op::Binary(op) => {
                let second = take();
                binary(op, &take(), &second)
            }
            Op::Select => {
                let (second, first) = (take(), take());
                format!("({} != 0.0 ? {first} : {second})", take())
            }
        };
        match text.len() > PART {
            true => {
                *parts += 1;
                statements += &format!("    const double part{parts} = {text};\n");
                stack.push(format!("part{parts}"));
            }
            false => stack.push(text),
        }
    }
    (statements, stack.pop().unwrap_or_default())
}

fn unary(op: Unary, a: &str) -> String {
    match op {
        Unary::Neg => format!("(-{a})"),
        Unary::Not => format!("detail::truth({a} == 0.0)"),
        Unary::Abs => format!("std::fabs({a})"),
        Unary::Floor => format!("std::floor({a})"),
        Unary::Ceil => format!("std::ceil({a})"),
        Unary::Log2 => format!("std::log2({a})"),
        Unary::Sqrt => format!("std::sqrt({a})"),
    }
}

fn binary(op: Binary, a: &str, b: &str) -> String {
    let infix = |sign: &str| format!("({a} {sign} {b})");
    let truth = |sign: &str| format!("detail::truth({a} {sign} {b})");
    let call = |function: &str| format!("{function}({a}, {b})");
    match op {
        Binary::Add => infix("+"),
        Binary::Sub => infix("-"),
        Binary::Mul => infix("*"),
        Binary::Div => infix("/"),
        Binary::FloorDiv => call("detail::floor_div"),
        Binary::Mod => call("detail::modulo"),
        Binary::CeilDiv => call("detail::ceil_div"),
        Binary::Pow => call("std::pow"),
        Binary::Min => call("std::fmin"),
        Binary::Max => call("std::fmax"),
        Binary::Eq => truth("=="),
        Binary::Ne => truth("!="),
        Binary::Le => truth("<="),
        Binary::Ge => truth(">="),
        Binary::Lt => truth("<"),
        Binary::Gt => truth(">"),
        Binary::And => format!("detail::truth({a} != 0.0 && {b} != 0.0)"),
        Binary::Or => format!("detail::truth({a} != 0.0 || {b} != 0.0)"),
    }
}

/// What expressions need beside the standard library: as kernel.toml defines it, on whole numbers of 64 bits.
pub(crate) const FUNCTIONS: &str = "
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

inline double truth(bool holds) { return holds ? 1.0 : 0.0; }

inline bool divides(double a, double b) {
    const bool whole = a >= -9.2e18 && a <= 9.2e18 && b >= -9.2e18 && b <= 9.2e18;
    return whole && static_cast<std::int64_t>(b) != 0;
}

inline double floor_div(double a, double b) {
    if (!divides(a, b)) return nan;
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    const auto quotient = x / y, rest = x % y;
    return static_cast<double>(rest != 0 && (rest < 0) != (y < 0) ? quotient - 1 : quotient);
}

inline double modulo(double a, double b) {
    if (!divides(a, b)) return nan;
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    const auto rest = x % y;
    return static_cast<double>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

inline double ceil_div(double a, double b) {
    return floor_div(a, b) + truth(modulo(a, b) != 0.0);
}
";

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
        let (statements, last) = expression(&deep, &|_| "p.M".into(), &mut parts);
        let longest = statements.lines().map(str::len).max().unwrap();
        assert!(parts > 20 && longest < 150 && last.len() <= PART, "{parts}, {longest}");
    }
}
