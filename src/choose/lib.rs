//! Chooses the config of a GPU kernel at run time: starts with predictions, learns from the times that the caller reports, settles,
//! and thinks again when times, limits or goals change.
//!
//! [`Chooser`] has the example. [`Options`] say how many configs are considered and where choices are remembered, [`Goal`] what is minimised
//! and which limits are kept. The configs come from a model ([`Predicted`]) or from the caller ([`Given`]). [`dispatch`] writes choices as C++
//! for programs that link nothing of this.

mod belief;
mod book;
pub mod breakpoints;
mod change;
mod chooser;
mod course;
mod device_state;
pub mod dispatch;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
mod entry;
mod goal;

mod locks;
pub mod losses;
mod normal;
mod options;
mod points;
pub mod ranges;
mod saving;
#[cfg(test)]
mod scenarios;
pub mod selection;
#[cfg(test)]
mod simulation;
mod standing;
mod table;

pub use chooser::{Chooser, Pick};
pub use goal::{Goal, Measured};
pub use options::{MOST_CONFIGS, Options};
pub use points::{Given, Point, Points, Predicted};
pub use standing::{ConfigStanding, Standing};
