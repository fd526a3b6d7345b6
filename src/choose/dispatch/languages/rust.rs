//! Expressions as Rust.

use crate::dispatch::languages::{Language, Operators};
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::expressions::Unary;

/// Rust, edition 2021 or later.
pub(crate) struct Rust;

impl Language for Rust {
    fn number(&self, x: f64) -> String {
        match x {
            x if x.is_nan() => "f64::NAN".into(),
            x if x.is_infinite() => if x > 0.0 { "f64::INFINITY" } else { "f64::NEG_INFINITY" }.into(),
            x if x < 0.0 => format!("({}_f64)", x.canonical()),
            x => format!("{}_f64", x.canonical()),
        }
    }

    fn unary(&self, op: Unary, a: &str) -> String {
        match op {
            Unary::Neg => format!("(-{a})"),
            Unary::Not => format!("truth({a} == 0.0)"),
            Unary::Abs => format!("{a}.abs()"),
            Unary::Floor => format!("{a}.floor()"),
            Unary::Ceil => format!("{a}.ceil()"),
            Unary::Log2 => format!("{a}.log2()"),
            Unary::Sqrt => format!("{a}.sqrt()"),
        }
    }

    fn operators(&self) -> Operators {
        Operators {
            truth: "truth",
            and: "&&",
            or: "||",
            divide: None,
            floor_div: "floor_div",
            modulo: "modulo",
            ceil_div: "ceil_div",
            power: "f64::powf",
            least: "f64::min",
            most: "f64::max",
        }
    }

    fn select(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("(if {condition} != 0.0 {{ {yes} }} else {{ {no} }})")
    }

    fn statement(&self, name: &str, value: &str) -> String {
        format!("    let {name}: f64 = {value};\n")
    }
}

/// What expressions need beside the standard library: as kernel.toml defines it, on whole numbers of 64 bits.
pub(crate) const FUNCTIONS: &str = "
fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn whole(x: f64) -> Option<i64> {
    (-9.2e18..=9.2e18).contains(&x).then_some(x as i64)
}

fn divided(a: f64, b: f64) -> Option<(i64, i64)> {
    let (x, y) = (whole(a)?, whole(b).filter(|y| *y != 0)?);
    let (quotient, rest) = (x.wrapping_div(y), x.wrapping_rem(y));
    Some(if rest != 0 && (rest < 0) != (y < 0) { (quotient - 1, rest + y) } else { (quotient, rest) })
}

fn floor_div(a: f64, b: f64) -> f64 {
    divided(a, b).map_or(f64::NAN, |(quotient, _)| quotient as f64)
}

fn modulo(a: f64, b: f64) -> f64 {
    divided(a, b).map_or(f64::NAN, |(_, rest)| rest as f64)
}

fn ceil_div(a: f64, b: f64) -> f64 {
    floor_div(a, b) + truth(modulo(a, b) != 0.0)
}
";
