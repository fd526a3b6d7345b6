//! Figures as people read them: tables, plots and pages.

pub mod html;
pub mod markdown;
pub mod plot;
