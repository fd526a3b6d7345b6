//! Progress bars on standard error; plain lines now and then where it is not a terminal.

use crate::cli::answer::tell;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A bar with an ETA.
pub struct Bar {
    bar: ProgressBar,
    what: &'static str,
    plain: bool,
    reported: Instant,
    began: Instant,
    /// Seconds gone and steps done at each report.
    marks: Vec<(f64, usize)>,
    /// Where it began: what goes on with earlier work does not begin at 0.
    first: Option<usize>,
    /// Whether the time to go is shown.
    estimates: bool,
}

impl Bar {
    /// A bar over `total` steps of `what`.
    pub fn new(what: &'static str, total: u64) -> Bar {
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain { ProgressBar::hidden() } else { ProgressBar::new(total) };
        bar.set_length(total);
        bar.set_style(style("{prefix} {bar:30} {pos}/{len}, {elapsed} gone  {wide_msg}"));
        bar.set_prefix(what);
        Bar {
            bar,
            what,
            plain,
            reported: Instant::now(),
            began: Instant::now(),
            marks: Vec::new(),
            first: None,
            estimates: false,
        }
    }

    /// Moves to step `at`.
    pub fn at(&mut self, at: usize, message: &str) {
        self.bar.set_position(at as u64);
        if self.first.is_none() {
            self.bar.reset_eta();
        }
        let first = *self.first.get_or_insert(at);
        if at > first && !self.estimates {
            self.estimates = true;
            self.bar.set_style(style("{prefix} {bar:30} {pos}/{len}, {elapsed} gone, {eta} to go  {wide_msg}"));
        }
        self.bar.set_message(message.to_string());
        if self.plain && self.reported.elapsed() > Duration::from_secs(15) {
            self.reported = Instant::now();
            let total = self.bar.length().unwrap_or(0);
            let gone = self.began.elapsed().as_secs_f64();
            // by the pace of the later half: what is done once, such as compiling, is done at first
            let (since, before) =
                self.marks.iter().rev().find(|(s, _)| *s <= gone / 2.0).copied().unwrap_or((0.0, first));
            self.marks.push((gone, at));
            let to_go = match at - before.min(at) {
                0 => String::new(),
                steps => {
                    let pace = (gone - since) / steps as f64;
                    format!(", about {:.0} s to go", pace * total.saturating_sub(at as u64) as f64)
                }
            };
            tell(&format!("{}: {at}/{total}, {gone:.0} s gone{to_go}; {message}", self.what));
        }
    }

    /// Removes the bar.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}
