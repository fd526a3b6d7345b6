//! What measured configs of a problem tell of its other configs, and what learned problems tell of a new one.

pub(crate) mod evidence;
pub mod likeness;
pub mod profiles;

pub use evidence::{Informed, Known};
pub use likeness::{Likeness, Quantity};
pub use profiles::{Profiles, Weighed};
