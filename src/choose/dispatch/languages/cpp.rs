//! Expressions as C++17; names are spelled in `seqtune_kernel::spelling`.

use crate::dispatch::languages::{Language, Operators};
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::expressions::Unary;

/// C++17.
pub(crate) struct Cpp;

impl Language for Cpp {
    fn number(&self, x: f64) -> String {
        match x {
            x if x.is_nan() => "detail::nan".into(),
            x if x.is_infinite() => if x > 0.0 { "detail::infinity" } else { "(-detail::infinity)" }.into(),
            x if x < 0.0 => format!("({})", x.canonical()),
            x => x.canonical(),
        }
    }

    fn unary(&self, op: Unary, a: &str) -> String {
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

    fn operators(&self) -> Operators {
        Operators {
            truth: "detail::truth",
            and: "&&",
            or: "||",
            divide: None,
            floor_div: "detail::floor_div",
            modulo: "detail::modulo",
            ceil_div: "detail::ceil_div",
            power: "std::pow",
            least: "std::fmin",
            most: "std::fmax",
        }
    }

    fn select(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("({condition} != 0.0 ? {yes} : {no})")
    }

    fn statement(&self, name: &str, value: &str) -> String {
        format!("    const double {name} = {value};\n")
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
