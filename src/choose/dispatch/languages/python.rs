//! Expressions as Python.

use crate::dispatch::languages::{Language, Operators};
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::expressions::Unary;

/// Python 3.9 or later.
pub(crate) struct Python;

impl Language for Python {
    fn number(&self, x: f64) -> String {
        match x {
            x if x.is_nan() => "math.nan".into(),
            x if x.is_infinite() => if x > 0.0 { "math.inf" } else { "(-math.inf)" }.into(),
            x if x < 0.0 => format!("({})", x.canonical()),
            x => x.canonical(),
        }
    }

    fn unary(&self, op: Unary, a: &str) -> String {
        match op {
            Unary::Neg => format!("(-{a})"),
            Unary::Not => format!("float({a} == 0.0)"),
            Unary::Abs => format!("abs({a})"),
            Unary::Floor => format!("_floor({a})"),
            Unary::Ceil => format!("(-_floor(-{a}))"),
            Unary::Log2 => format!("_log2({a})"),
            Unary::Sqrt => format!("_sqrt({a})"),
        }
    }

    fn operators(&self) -> Operators {
        Operators {
            truth: "float",
            and: "and",
            or: "or",
            divide: Some("_divide"),
            floor_div: "_floor_div",
            modulo: "_modulo",
            ceil_div: "_ceil_div",
            power: "_power",
            least: "_least",
            most: "_most",
        }
    }

    fn select(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("({yes} if {condition} != 0.0 else {no})")
    }

    fn statement(&self, name: &str, value: &str) -> String {
        format!("    {name} = {value}\n")
    }
}

/// What expressions need: as kernel.toml defines it. Python raises errors where other languages have NaN or infinity.
pub(crate) const FUNCTIONS: &str = "
def _floor(x):
    return float(math.floor(x)) if math.isfinite(x) else x


def _log2(x):
    return math.log2(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


def _sqrt(x):
    return math.sqrt(x) if x >= 0.0 else math.nan


def _divide(a, b):
    if b != 0.0:
        return a / b
    return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _divided(a, b):
    whole = abs(a) <= 9.2e18 and abs(b) <= 9.2e18
    return divmod(int(a), int(b)) if whole and int(b) != 0 else (math.nan, math.nan)


def _floor_div(a, b):
    return float(_divided(a, b)[0])


def _modulo(a, b):
    return float(_divided(a, b)[1])


def _ceil_div(a, b):
    return _floor_div(a, b) + float(_modulo(a, b) != 0.0)


def _power(a, b):
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf if a > 0.0 or b % 2.0 == 0.0 else -math.inf
    except ValueError:
        return math.inf if a == 0.0 else math.nan


def _least(a, b):
    return b if a != a else (a if b != b else min(a, b))


def _most(a, b):
    return b if a != a else (a if b != b else max(a, b))
";
