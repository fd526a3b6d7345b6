//! Edits of a program, each with all that it takes to apply it again: replay needs no random numbers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A value of the program that is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// Argument of the kernel, written `a3`.
    Argument(u32),
    /// Instruction of the unedited program, by its place, written `u12`.
    Original(u32),
    /// Instruction that an edit inserted, written `n5f`.
    Inserted(u32),
}

/// What an operand may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Another value.
    Id(Id),
    /// Whole number, written `k1`.
    Int(i64),
    /// Real number by its bits, written `r3ff0000000000000`.
    Real(u64),
    /// What stands there already, written `=`.
    Same,
}

/// A change of the program, after the operators of GEVO (Liou et al., 2020).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Edit {
    /// Removes an instruction; another value takes its place for its users.
    Delete {
        /// The instruction.
        at: Id,
        /// What its users get; none where it has none.
        instead: Option<Value>,
    },
    /// Gives an instruction another operand.
    Operand {
        /// The instruction.
        at: Id,
        /// Index of the operand.
        index: u32,
        /// The new operand.
        to: Value,
    },
    /// Copies an instruction to another place, where a later instruction uses it.
    Copy {
        /// The instruction.
        of: Id,
        /// The copy.
        new: Id,
        /// Instruction in front of which the copy stands.
        before: Id,
        /// Operands of the copy.
        operands: Vec<Value>,
        /// Instruction that uses the copy, and the index of its operand; none where a copy has no result.
        user: Option<Id>,
        /// Index of that operand.
        index: u32,
    },
    /// Moves an instruction.
    Move {
        /// The instruction.
        of: Id,
        /// The instruction at its new place.
        new: Id,
        /// Instruction in front of which it stands then.
        before: Id,
        /// Its operands there.
        operands: Vec<Value>,
        /// What users get that it no longer precedes; none where there are none.
        instead: Option<Value>,
    },
    /// Puts a copy of an instruction in the place of another one of the same type.
    Replace {
        /// The instruction that goes.
        at: Id,
        /// The instruction that is copied.
        by: Id,
        /// The copy.
        new: Id,
        /// Operands of the copy.
        operands: Vec<Value>,
    },
    /// Exchanges two instructions of the same type.
    Swap {
        /// Both instructions.
        pair: [Id; 2],
        /// Both at their new places.
        new: [Id; 2],
        /// Operands of the first at its new place, and of the second.
        operands: [Vec<Value>; 2],
    },
}

impl Edit {
    /// The operator's name.
    pub fn operator(&self) -> &'static str {
        match self {
            Edit::Delete { .. } => "delete",
            Edit::Operand { .. } => "operand",
            Edit::Copy { .. } => "copy",
            Edit::Move { .. } => "move",
            Edit::Replace { .. } => "replace",
            Edit::Swap { .. } => "swap",
        }
    }

    /// The instruction that it is about.
    pub fn place(&self) -> Id {
        match self {
            Edit::Delete { at, .. } | Edit::Operand { at, .. } | Edit::Replace { at, .. } => *at,
            Edit::Copy { before, .. } => *before,
            Edit::Move { of, .. } => *of,
            Edit::Swap { pair, .. } => pair[0],
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Id::Argument(at) => write!(f, "a{at}"),
            Id::Original(at) => write!(f, "u{at}"),
            Id::Inserted(at) => write!(f, "n{at:x}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Id(id) => write!(f, "{id}"),
            Value::Int(value) => write!(f, "k{value}"),
            Value::Real(bits) => write!(f, "r{bits:x}"),
            Value::Same => f.write_str("="),
        }
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Id, String> {
        let wrong = || format!("`{text}` names no value of a program; such are a3, u12 and n5f");
        let digits = text.get(1..).ok_or_else(wrong)?;
        match text.as_bytes()[0] {
            b'a' => digits.parse().map(Id::Argument).map_err(|_| wrong()),
            b'u' => digits.parse().map(Id::Original).map_err(|_| wrong()),
            b'n' => u32::from_str_radix(digits, 16).map(Id::Inserted).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Value, String> {
        let wrong = || format!("`{text}` is no number; such are k1 and r3ff0000000000000");
        match (text.as_bytes().first(), text.get(1..)) {
            (Some(b'k'), Some(digits)) => digits.parse().map(Value::Int).map_err(|_| wrong()),
            (Some(b'r'), Some(digits)) => u64::from_str_radix(digits, 16).map(Value::Real).map_err(|_| wrong()),
            (Some(b'='), Some("")) => Ok(Value::Same),
            _ => text.parse().map(Value::Id),
        }
    }
}

macro_rules! as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

as_text!(Id);
as_text!(Value);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_written_as_json_and_read_back() {
        let [a, u, n] = [Id::Argument(2), Id::Original(17), Id::Inserted(0xbeef)];
        let operands = vec![Value::Id(a), Value::Int(-3), Value::Real(1.5f64.to_bits()), Value::Same];
        let edits = [
            Edit::Delete { at: u, instead: Some(Value::Int(0)) },
            Edit::Operand { at: u, index: 1, to: Value::Id(a) },
            Edit::Copy { of: u, new: n, before: u, operands: operands.clone(), user: None, index: 0 },
            Edit::Move { of: u, new: n, before: u, operands: operands.clone(), instead: None },
            Edit::Replace { at: u, by: u, new: n, operands: operands.clone() },
            Edit::Swap { pair: [u, u], new: [n, n], operands: [operands, Vec::new()] },
        ];
        for edit in edits {
            let text = serde_json::to_string(&edit).unwrap();
            assert_eq!(serde_json::from_str::<Edit>(&text).unwrap(), edit, "{text}");
        }
        let text = r#"{"op":"delete","at":"u130","instead":"k0"}"#;
        let Ok(Edit::Delete { at, .. }) = serde_json::from_str(text) else { panic!("{text}") };
        assert_eq!(at, Id::Original(130));
    }

    #[test]
    fn what_is_no_value_is_refused_in_a_sentence() {
        for text in ["", "u", "x3", "u-1", "nxyz", "k1.5", "rzz", "é1"] {
            assert!(text.parse::<Value>().is_err(), "{text}");
        }
    }
}
