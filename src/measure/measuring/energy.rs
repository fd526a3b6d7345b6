//! Energy per launch from a cumulative counter.
//!
//! The counters of GPUs are exact but slow: they are updated every 20 to 100 ms. So a config is launched back to back for seconds,
//! from one update of the counter to another, and the difference is divided by the launches in between. Instantaneous power
//! times a time from another pass, as other tools take it, misses most of a run (Yang et al., "Part-time Power Measurements", 2023).

use seqtune_data::recipe::Recipe;
use seqtune_data::{Energy, Invalidity};

/// Cumulative energy counter of a device.
pub trait EnergyMeter {
    /// Reads the energy in joules since an arbitrary moment.
    ///
    /// # Errors
    /// A message where the counter cannot be read.
    fn joules(&mut self) -> Result<f64, String>;
}

/// Source of time: the clock of the machine, or a simulated one.
pub trait Clock {
    /// Reads the time in seconds since an arbitrary moment.
    fn now(&mut self) -> f64;
    /// Waits for `seconds` seconds.
    fn sleep(&mut self, seconds: f64);
}

/// Clock of the machine.
pub struct MachineClock(std::time::Instant);

impl MachineClock {
    /// Starts the clock at 0.
    pub fn new() -> MachineClock {
        MachineClock(std::time::Instant::now())
    }
}

impl Default for MachineClock {
    fn default() -> Self {
        MachineClock::new()
    }
}

impl Clock for MachineClock {
    fn now(&mut self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    fn sleep(&mut self, seconds: f64) {
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
    }
}

/// Reason for missing energy.
#[derive(Clone, Debug, PartialEq)]
pub enum Unmetered {
    /// Failure of the counter, with a message.
    Counter(String),
    /// Failure of the config.
    Config(Invalidity),
}

/// Measures the power of the idle device in watts.
///
/// # Errors
/// A message where the counter cannot be read or stands still.
pub fn idle_watts(meter: &mut dyn EnergyMeter, clock: &mut dyn Clock, recipe: &Recipe) -> Result<f64, String> {
    match idle_watts_once(meter, clock, recipe) {
        Err(e) if e == BACKWARDS => idle_watts_once(meter, clock, recipe),
        found => found,
    }
}

fn idle_watts_once(meter: &mut dyn EnergyMeter, clock: &mut dyn Clock, recipe: &Recipe) -> Result<f64, String> {
    clock.sleep(recipe.rest);
    let (began, first) = next_update(meter, clock, recipe)?;
    let mut last = (began, first);
    while last.0 - began < recipe.idle {
        last = next_update(meter, clock, recipe)?;
    }
    Ok((last.1 - first) / (last.0 - began))
}

/// Waits for the counter's next update, and returns its time in seconds and its joules.
fn next_update(meter: &mut dyn EnergyMeter, clock: &mut dyn Clock, recipe: &Recipe) -> Result<(f64, f64), String> {
    let (began, before) = (clock.now(), meter.joules()?);
    loop {
        clock.sleep(recipe.portion / 5.0);
        let (now, joules) = (clock.now(), meter.joules()?);
        if joules < before {
            return Err(BACKWARDS.into());
        }
        if joules != before {
            return Ok((now, joules));
        }
        if now - began > recipe.limit {
            return Err(CONSTANT.into());
        }
    }
}

const CONSTANT: &str = "the counter of energy stands still";
/// A counter of 32 bits may wrap around after minutes, and so once in a window.
const BACKWARDS: &str = "the counter of energy went backwards";

/// What is known of a launch and its device before it is metered.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Time of a launch in microseconds.
    pub launch_us: f64,
    /// Power of the idle device in watts.
    pub idle_watts: f64,
}

/// Measures the energy per launch in joules.
///
/// `launch` launches back to back as often as requested.
///
/// # Errors
/// [`Unmetered::Config`] where a launch fails, [`Unmetered::Counter`] where the counter cannot be read or stands still.
pub fn meter(
    meter: &mut dyn EnergyMeter,
    clock: &mut dyn Clock,
    recipe: &Recipe,
    Draw { launch_us, idle_watts }: Draw,
    launch: &mut dyn FnMut(usize) -> Result<(), Invalidity>,
) -> Result<Energy, Unmetered> {
    let portion = ((recipe.portion * 1e6 / launch_us.max(0.1)) as usize).clamp(1, 10_000);
    let began = clock.now();
    while clock.now() - began < recipe.ramp {
        launch(portion).map_err(Unmetered::Config)?;
    }
    let mut updates: Vec<Update> = Vec::new();
    let (mut launches, mut last) = (0.0, meter.joules().map_err(Unmetered::Counter)?);
    let (mut began, mut has_wrapped) = (clock.now(), false);
    loop {
        launch(portion).map_err(Unmetered::Config)?;
        launches += portion as f64;
        let (now, joules) = (clock.now(), meter.joules().map_err(Unmetered::Counter)?);
        if joules < last {
            if has_wrapped {
                return Err(Unmetered::Counter(BACKWARDS.into()));
            }
            has_wrapped = true;
            updates.clear();
        }
        if joules != last {
            last = joules;
            if updates.is_empty() {
                began = now;
            }
            updates.push(Update { joules, launches });
            if now - began >= recipe.window && updates.len() > recipe.updates {
                break;
            }
        }
        if now - began > recipe.limit {
            break;
        }
    }
    if updates.len() < 3 {
        return Err(Unmetered::Counter(CONSTANT.into()));
    }
    Ok(energy(&updates, idle_watts))
}

/// Parts of a window, whose scatter gives the interval.
const PARTS: usize = 8;

/// An update of the counter of energy.
#[derive(Clone, Copy)]
struct Update {
    joules: f64,
    /// Launches since the first update.
    launches: f64,
}

impl Update {
    /// Joules per launch since an earlier one.
    fn since(self, earlier: Update) -> f64 {
        (self.joules - earlier.joules) / (self.launches - earlier.launches)
    }
}

/// Energy per launch over the whole window, with the 95 % interval from the scatter of its parts.
fn energy(updates: &[Update], idle_watts: f64) -> Energy {
    let joules = updates[updates.len() - 1].since(updates[0]);
    let parts = PARTS.min(updates.len() - 1);
    let at = |i: usize| updates[i * (updates.len() - 1) / parts];
    let each: Vec<f64> = (0..parts).map(|i| at(i + 1).since(at(i))).collect();
    let mean = each.iter().sum::<f64>() / parts as f64;
    let variance = each.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (parts as f64 - 1.0).max(1.0);
    Energy { joules, half_width: student(parts - 1) * (variance / parts as f64).sqrt(), idle_watts }
}

/// 97.5 % quantile of Student's t-distribution.
fn student(freedom: usize) -> f64 {
    const QUANTILES: [f64; PARTS] = [f64::INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36];
    QUANTILES[freedom.min(PARTS - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqtune_data::InvalidityKind;
    use std::cell::Cell;

    /// A device whose counter is updated every `period` seconds; time passes by sleeping and launching.
    struct Device {
        now: Cell<f64>,
        used: Cell<f64>,
        period: f64,
        /// Time and reading of the last update.
        shown: Cell<(f64, f64)>,
    }

    impl Device {
        fn new(period: f64) -> Device {
            Device { now: Cell::new(0.0), used: Cell::new(0.0), period, shown: Cell::new((0.0, 0.0)) }
        }

        fn pass(&self, seconds: f64, watts: f64) {
            let end = self.now.get() + seconds;
            loop {
                let next = self.shown.get().0 + self.period;
                let until = next.min(end);
                self.used.set(self.used.get() + watts * (until - self.now.get()));
                self.now.set(until);
                if next > end {
                    return;
                }
                self.shown.set((next, self.used.get()));
            }
        }
    }

    const IDLE: f64 = 70.0;

    struct OfDevice<'a>(&'a Device);

    impl Clock for OfDevice<'_> {
        fn now(&mut self) -> f64 {
            self.0.now.get()
        }

        fn sleep(&mut self, seconds: f64) {
            self.0.pass(seconds, IDLE);
        }
    }

    impl EnergyMeter for OfDevice<'_> {
        fn joules(&mut self) -> Result<f64, String> {
            Ok(self.0.shown.get().1)
        }
    }

    #[test]
    fn joules_per_launch_and_idle_power_are_found_within_a_percent_whatever_the_launch_takes() {
        for (window, period, launch_s, watts) in [
            (2.0, 0.1, 20e-6, 600.0),
            (2.0, 0.1, 3e-3, 250.0),
            (2.0, 0.02, 0.4, 400.0),
            (2.0, 0.1, 1e-3, 90.0),
            (0.3, 0.02, 1e-3, 300.0),
        ] {
            let device = Device::new(period);
            let recipe = Recipe::with_window(window);
            let idle = idle_watts(&mut OfDevice(&device), &mut OfDevice(&device), &recipe).unwrap();
            assert!((idle / IDLE - 1.0).abs() < 0.02, "{idle}");
            let began = device.now.get();
            let mut launch = |n: usize| {
                device.pass(n as f64 * launch_s, watts);
                Ok(())
            };
            let found = meter(
                &mut OfDevice(&device),
                &mut OfDevice(&device),
                &recipe,
                Draw { launch_us: launch_s * 1e6, idle_watts: idle },
                &mut launch,
            )
            .unwrap();
            let truth = launch_s * watts;
            assert!((found.joules / truth - 1.0).abs() < 0.015, "{} instead of {truth}", found.joules);
            assert!(found.half_width < 0.05 * truth, "{found:?}");
            assert_eq!(found.idle_watts, idle);
            let took = device.now.get() - began;
            assert!((window..recipe.limit + 1.5).contains(&took), "{took} s");
            assert!(took < 1.3 * window || launch_s * 20.0 > window, "{took} s");
        }
    }

    #[test]
    fn a_counter_that_stands_still_and_a_config_that_fails_are_told_apart() {
        struct Still;
        impl EnergyMeter for Still {
            fn joules(&mut self) -> Result<f64, String> {
                Ok(5.0)
            }
        }
        let device = Device::new(0.1);
        let recipe = Recipe::default();
        assert_eq!(idle_watts(&mut Still, &mut OfDevice(&device), &recipe).unwrap_err(), CONSTANT);
        let mut launch = |n: usize| {
            device.pass(n as f64 * 1e-4, 300.0);
            Ok(())
        };
        let found =
            meter(&mut Still, &mut OfDevice(&device), &recipe, Draw { launch_us: 100.0, idle_watts: 0.0 }, &mut launch);
        assert_eq!(found, Err(Unmetered::Counter(CONSTANT.into())));
        let broken = Invalidity::new(InvalidityKind::Runtime, "broke");
        let found =
            meter(&mut Still, &mut OfDevice(&device), &recipe, Draw { launch_us: 100.0, idle_watts: 0.0 }, &mut |_| {
                Err(broken.clone())
            });
        assert_eq!(found, Err(Unmetered::Config(broken)));
    }

    #[test]
    fn a_counter_that_wraps_around_once_is_read_on_and_one_that_goes_back_again_and_again_is_not() {
        struct Wrapping<'a>(OfDevice<'a>, f64);
        impl EnergyMeter for Wrapping<'_> {
            fn joules(&mut self) -> Result<f64, String> {
                self.0.joules().map(|joules| joules % self.1)
            }
        }
        let recipe = Recipe::default();
        for (most, is_metered) in [(900.0, true), (70.0, false)] {
            let device = Device::new(0.1);
            let mut counter = Wrapping(OfDevice(&device), most);
            let mut launch = |n: usize| {
                device.pass(n as f64 * 1e-3, 300.0);
                Ok(())
            };
            let draw = Draw { launch_us: 1_000.0, idle_watts: 0.0 };
            // several windows, so that the counter wraps in one of them
            let found: Vec<_> =
                (0..4).map(|_| meter(&mut counter, &mut OfDevice(&device), &recipe, draw, &mut launch)).collect();
            for found in found {
                match found {
                    Ok(energy) => assert!(is_metered && (energy.joules - 0.3).abs() < 0.01, "{energy:?}"),
                    Err(why) => assert_eq!((is_metered, why), (false, Unmetered::Counter(BACKWARDS.into()))),
                }
            }
        }
    }
}
