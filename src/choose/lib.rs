//! Chooses the config of a GPU kernel at run time: starts with predictions, learns from the times that the caller reports, settles,
//! and thinks again when times, limits or goals change.
//!
//! [`Chooser`] has the example. [`Options`] say how many configs are considered and where choices are remembered, [`Goal`] what is minimised
//! and which limits are kept. The configs come from a model ([`Predicted`]) or from the caller ([`Given`]). [`header`] writes choices as C++
//! for programs that link nothing of this.

mod belief;
mod book;
mod change;
mod chooser;
mod course;
mod device_state;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
mod entry;
mod goal;
pub mod header;
mod locks;
mod normal;
mod options;
mod points;
mod saving;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod simulation;
mod standing;
mod table;

pub use chooser::{Chooser, Pick};
pub use goal::{Goal, Measured};
pub use options::{MOST_CONFIGS, Options};
pub use points::{Given, Point, Points, Predicted};
pub use standing::{ConfigStanding, Standing};
