//! Bounds of expressions by interval arithmetic (Moore 1966): what a constraint can still become while some parameters are open.
//!
//! Bounds hold what evaluation can give, rounding included, and may be wider: a constraint that they exclude is broken for certain, and
//! nothing else is concluded from them. Operations of floating-point numbers round monotonically, so corners bound results.

use crate::expressions::{Binary, Expr, Op, Unary};

/// Numbers from `low` to `high`, and NaN where that is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Least number.
    pub low: f64,
    /// Greatest number.
    pub high: f64,
    /// Whether it may be no number.
    pub nan: bool,
}

/// Anything.
const ANY: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY, nan: true };

impl Interval {
    /// From the least to the greatest of numbers.
    pub fn new(low: f64, high: f64) -> Interval {
        if low.is_nan() || high.is_nan() { ANY } else { Interval { low, high, nan: false } }
    }

    /// One number.
    pub fn point(value: f64) -> Interval {
        Interval::new(value, value)
    }

    fn is_point(self) -> bool {
        self.low == self.high && !self.nan
    }

    /// Whether a constraint of these bounds can hold: then it is 1.
    pub fn may_hold(self) -> bool {
        self.low <= 1.0 && 1.0 <= self.high
    }

    /// Whether what is not 0 is certain, or what is 0: NaN counts as not 0, as in evaluation.
    fn truth(self) -> Option<bool> {
        match (self.low > 0.0 || self.high < 0.0, self.low == 0.0 && self.high == 0.0 && !self.nan) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Of a condition that is certain or not.
    fn of_truth(truth: Option<bool>) -> Interval {
        truth.map_or(Interval::new(0.0, 1.0), |t| Interval::point(t as u8 as f64))
    }

    fn or(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high), nan: self.nan || other.nan }
    }

    fn with_nan(self, nan: bool) -> Interval {
        Interval { nan: self.nan || nan, ..self }
    }

    /// A little wider: of functions that are not rounded correctly.
    fn widen(self) -> Interval {
        // a number that is not finite has no neighbours; what overflowed at a corner may just fit beside it
        let (low, high) = (self.low.min(f64::MAX), self.high.max(f64::MIN));
        let by = |x: f64| if x.is_finite() { 1e-12 * x.abs() + f64::MIN_POSITIVE } else { 0.0 };
        Interval { low: low - by(low), high: high + by(high), nan: self.nan }
    }
}

fn unary(op: Unary, a: Interval) -> Interval {
    let both = |f: fn(f64) -> f64| Interval::new(f(a.low), f(a.high)).with_nan(a.nan);
    match op {
        Unary::Neg => Interval::new(-a.high, -a.low).with_nan(a.nan),
        Unary::Not => Interval::of_truth(a.truth().map(|t| !t)),
        Unary::Abs if a.low >= 0.0 => a,
        Unary::Abs if a.high <= 0.0 => Interval::new(-a.high, -a.low).with_nan(a.nan),
        Unary::Abs => Interval::new(0.0, a.high.max(-a.low)).with_nan(a.nan),
        Unary::Floor => both(f64::floor),
        Unary::Ceil => both(f64::ceil),
        Unary::Sqrt if a.low >= 0.0 => both(f64::sqrt),
        Unary::Log2 if a.low > 0.0 => both(f64::log2).widen(),
        Unary::Sqrt | Unary::Log2 => ANY,
    }
}

/// The range of `f` over the corners of two intervals, of an operation that is monotone in each operand.
fn corners(a: Interval, b: Interval, f: impl Fn(f64, f64) -> f64) -> Interval {
    let all = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
    if all.iter().any(|x| x.is_nan()) {
        return ANY;
    }
    let (low, high) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    Interval { low, high, nan: a.nan || b.nan }
}

/// Whether division by any number of these is of whole numbers that fit and are not 0.
fn divides(a: Interval, b: Interval) -> bool {
    let fits = |x: Interval| x.low >= -9e18 && x.high <= 9e18;
    fits(a) && fits(b) && (b.low >= 1.0 || b.high <= -1.0)
}

fn remainder(a: Interval, b: Interval) -> Interval {
    match divides(a, b) && b.low >= 1.0 {
        true if a.low >= 0.0 && a.high < b.low.trunc() => Interval::new(a.low.trunc(), a.high.trunc()),
        true => Interval::new(0.0, b.high.trunc() - 1.0),
        false => return ANY,
    }
    .with_nan(a.nan || b.nan)
}

/// A comparison: certain where the intervals lie apart; of NaN it is false.
fn comparison(a: Interval, b: Interval, always: bool, never: bool) -> Interval {
    match (always && !a.nan && !b.nan, never) {
        (true, _) => Interval::point(1.0),
        (_, true) => Interval::point(0.0),
        _ => Interval::new(0.0, 1.0),
    }
}

fn binary(op: Binary, a: Interval, b: Interval) -> Interval {
    if a.is_point() && b.is_point() {
        let value = op.apply(a.low, b.low);
        return if value.is_nan() { ANY } else { Interval::point(value) };
    }
    let apart = a.high < b.low || b.high < a.low;
    match op {
        Binary::Add => Interval::new(a.low + b.low, a.high + b.high).with_nan(a.nan || b.nan),
        Binary::Sub => Interval::new(a.low - b.high, a.high - b.low).with_nan(a.nan || b.nan),
        Binary::Mul => corners(a, b, |a, b| a * b),
        Binary::Div if b.low > 0.0 || b.high < 0.0 => corners(a, b, |a, b| a / b),
        Binary::FloorDiv | Binary::CeilDiv if divides(a, b) => corners(a, b, |a, b| op.apply(a, b)),
        Binary::Mod => remainder(a, b),
        Binary::Pow if a.low > 0.0 => corners(a, b, f64::powf).widen(),
        Binary::Div | Binary::FloorDiv | Binary::CeilDiv | Binary::Pow => ANY,
        // of a number and NaN they give the number
        Binary::Min | Binary::Max if a.nan || b.nan => Interval { nan: a.nan && b.nan, ..a.or(b) },
        Binary::Min => Interval::new(a.low.min(b.low), a.high.min(b.high)),
        Binary::Max => Interval::new(a.low.max(b.low), a.high.max(b.high)),
        Binary::Eq => comparison(a, b, false, apart),
        Binary::Ne => match apart {
            true => Interval::point(1.0),
            false => Interval::new(0.0, 1.0),
        },
        Binary::Le => comparison(a, b, a.high <= b.low, a.low > b.high),
        Binary::Ge => comparison(a, b, a.low >= b.high, a.high < b.low),
        Binary::Lt => comparison(a, b, a.high < b.low, a.low >= b.high),
        Binary::Gt => comparison(a, b, a.low > b.high, a.high <= b.low),
        Binary::And => Interval::of_truth(match (a.truth(), b.truth()) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }),
        Binary::Or => Interval::of_truth(match (a.truth(), b.truth()) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }),
    }
}

impl Expr {
    /// Bounds of its value where slots are within `env`; `stack` is scratch.
    pub(crate) fn bounds(&self, env: &[Interval], stack: &mut Vec<Interval>) -> Interval {
        stack.clear();
        for op in &self.ops {
            let made = match *op {
                Op::Number(x) => Interval::point(x),
                Op::Slot(s) => env[s as usize],
                Op::Unary(op) => {
                    let a = stack.pop().unwrap_or(ANY);
                    unary(op, a)
                }
                Op::Binary(op) => {
                    let (b, a) = (stack.pop().unwrap_or(ANY), stack.pop().unwrap_or(ANY));
                    binary(op, a, b)
                }
                Op::Select => {
                    let (no, yes) = (stack.pop().unwrap_or(ANY), stack.pop().unwrap_or(ANY));
                    match stack.pop().unwrap_or(ANY).truth() {
                        Some(true) => yes,
                        Some(false) => no,
                        None => yes.or(no),
                    }
                }
            };
            stack.push(made);
        }
        stack.pop().unwrap_or(ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;

    /// A random expression of three slots.
    fn random(rng: &mut ChaCha8Rng, depth: usize) -> String {
        if depth == 0 || rng.random_range(0..5) == 0 {
            return match rng.random_range(0..4) {
                0 => rng.random_range(0..20).to_string(),
                _ => ["x", "y", "z"][rng.random_range(0..3)].to_string(),
            };
        }
        let mut part = || random(rng, depth - 1);
        let (a, b, c) = (part(), part(), part());
        let signs = ["+", "-", "*", "/", "//", "%", "==", "!=", "<=", ">=", "<", ">", "and", "or"];
        match rng.random_range(0..9) {
            0 => format!("if({a}, {b}, {c})"),
            1 => format!("{}({a}, {b})", ["min", "max", "cdiv", "pow"][rng.random_range(0..4)]),
            2 => format!("{}({a})", ["abs", "floor", "ceil", "sqrt", "log2"][rng.random_range(0..5)]),
            3 => format!("(not {a})"),
            _ => format!("({a} {} {b})", signs[rng.random_range(0..signs.len())]),
        }
    }

    #[test]
    fn bounds_of_what_overflows_are_numbers() {
        let slot = |name: &str| "xyz".find(name).map(Expr::slot);
        for text in ["log2(1 / (x - x))", "log2(3 / (not x))", "pow(5, pow(x, 3))", "log2(pow(10, 400 * x))"] {
            let expr = Expr::parse(text, &slot).unwrap();
            let bounds = expr.bounds(&[Interval::new(9.0, 9.5)], &mut Vec::new());
            assert!(bounds.low <= bounds.high, "{text}: {bounds:?}");
            let value = expr.eval(&[9.5]);
            assert!(value.is_nan() && bounds.nan || (bounds.low..=bounds.high).contains(&value), "{text}: {bounds:?}");
        }
    }

    #[test]
    fn every_value_lies_within_the_bounds() {
        let mut rng = test_generator(11);
        let slot = |name: &str| "xyz".find(name).map(Expr::slot);
        let mut excluded = 0;
        for _ in 0..3_000 {
            let text = random(&mut rng, 4);
            let expr = Expr::parse(&text, &slot).unwrap();
            let sets: Vec<Vec<f64>> = (0..3)
                .map(|_| (0..rng.random_range(1..4)).map(|_| rng.random_range(-8..24) as f64 / 2.0).collect())
                .collect();
            let env: Vec<Interval> = sets
                .iter()
                .map(|set| {
                    Interval::new(
                        set.iter().copied().fold(f64::MAX, f64::min),
                        set.iter().copied().fold(f64::MIN, f64::max),
                    )
                })
                .collect();
            let bounds = expr.bounds(&env, &mut Vec::new());
            excluded += !bounds.may_hold() as usize;
            for x in &sets[0] {
                for y in &sets[1] {
                    for z in &sets[2] {
                        let value = expr.eval(&[*x, *y, *z]);
                        let within =
                            if value.is_nan() { bounds.nan } else { (bounds.low..=bounds.high).contains(&value) };
                        assert!(within, "{text} at {x} {y} {z} is {value}, bounds {bounds:?}");
                    }
                }
            }
        }
        assert!(excluded > 300, "bounds exclude something: {excluded}");
    }
}
