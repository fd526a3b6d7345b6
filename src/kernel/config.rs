//! One setting of all parameters.

use crate::space::choices::Choice;

/// The index of each parameter's value in its list, in decoding order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Config(pub Vec<Choice>);
