//! Progress bars on standard error; plain lines now and then where it is not a terminal.

use crate::answer::tell;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Seconds between plain lines.
const PLAIN: u64 = 15;

/// The pace of a work, and so the time that is left of it.
#[derive(Default)]
struct Pace {
    /// Seconds gone and steps done, at each step that was told.
    marks: Vec<(f64, usize)>,
}

impl Pace {
    /// Seconds to go from step `at` to step `total`, `gone` seconds after the begin; `None` before a step is done, and of many steps before the third:
    /// the first may hold all compiling. The later half of the time tells the pace: work that is done once is done at first.
    fn seconds_to_go(&mut self, gone: f64, at: usize, total: usize) -> Option<f64> {
        let (since, before) =
            self.marks.iter().rev().find(|(s, _)| *s <= gone / 2.0).or(self.marks.first()).copied()?;
        let steps = at.saturating_sub(before);
        let first = self.marks.first().map_or(0, |(_, at)| *at).min(total);
        let enough = if total - first >= 20 { 3 } else { 1 };
        (steps >= enough).then(|| (gone - since) / steps as f64 * total.saturating_sub(at) as f64)
    }

    fn mark(&mut self, gone: f64, at: usize) {
        self.marks.push((gone, at));
        // every second one is enough to find the middle by
        if self.marks.len() > 4_096 {
            let mut keep = false;
            self.marks.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }
}

/// Seconds as a person says them.
fn spoken(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5_970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// A bar with the time to go.
pub struct Bar {
    bar: ProgressBar,
    what: &'static str,
    plain: bool,
    reported: Instant,
    began: Instant,
    pace: Pace,
}

impl Bar {
    /// A bar over `total` steps of `what`.
    pub fn new(what: &'static str, total: u64) -> Bar {
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain { ProgressBar::hidden() } else { ProgressBar::new(total) };
        bar.set_length(total);
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}, {elapsed} gone{wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(what);
        if !plain {
            // the first step may take a minute, in which the clock goes on
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Bar { bar, what, plain, reported: Instant::now(), began: Instant::now(), pace: Pace::default() }
    }

    /// Moves to step `at`. The first call says where the work begins: earlier work that is gone on with does not count.
    pub fn move_to(&mut self, at: usize, message: &str) {
        let (total, gone) = (self.bar.length().unwrap_or(0), self.began.elapsed().as_secs_f64());
        let to_go = match self.pace.seconds_to_go(gone, at, total as usize) {
            Some(seconds) => format!(", about {} to go", spoken(seconds)),
            None => String::new(),
        };
        self.pace.mark(gone, at);
        self.bar.set_position(at as u64);
        self.bar.set_message(format!("{to_go}  {message}"));
        if self.plain && self.reported.elapsed() > Duration::from_secs(PLAIN) {
            self.reported = Instant::now();
            tell(&format!("{}: {at}/{total}, {} gone{to_go}; {message}", self.what, spoken(gone)));
        }
    }

    /// Removes the bar.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_go_is_told_by_the_later_half() {
        let mut pace = Pace::default();
        assert_eq!(pace.seconds_to_go(0.0, 0, 100), None);
        pace.mark(0.0, 0);
        assert_eq!(pace.seconds_to_go(30.0, 0, 100), None, "no step is done");
        assert_eq!(pace.seconds_to_go(60.0, 1, 100), None, "one of many tells of compiling");
        assert_eq!(pace.seconds_to_go(60.0, 1, 5), Some(240.0));
        // a minute of compiling, then a step a second
        for step in 1..=80 {
            pace.mark(60.0 + step as f64, step);
        }
        assert_eq!(pace.seconds_to_go(140.0, 80, 100), Some(20.0));
    }

    #[test]
    fn what_goes_on_counts_its_own_steps_alone() {
        let mut pace = Pace::default();
        pace.mark(0.0, 900);
        assert_eq!(pace.seconds_to_go(10.0, 910, 1_000), Some(90.0));
    }

    #[test]
    fn five_minutes_are_told_as_five_minutes() {
        let shown = [4.4, 99.0, 300.0, 5_400.0, 7_200.0].map(spoken);
        assert_eq!(shown, ["4 s", "99 s", "5 min", "90 min", "2.0 h"]);
    }
}
