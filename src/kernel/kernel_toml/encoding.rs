//! Tables of `kernel.toml` as digests are taken of them: their names are those of version 1 of [`crate::canonical`], whatever Rust calls them.

use crate::canonical::{Canonical, structure, variant};
use crate::kernel_toml::run_spec::{InputSpec, PatternSpec, TimeSpec, Unit};
use crate::kernel_toml::spec::{ArgumentKind, ArgumentSpec, ClocksSpec, FieldKind};

impl Canonical for FieldKind {
    fn canonical(&self) -> String {
        match self {
            FieldKind::Size => "Size",
            FieldKind::Real => "Real",
            FieldKind::Choice => "Choice",
        }
        .into()
    }
}

impl Canonical for ArgumentKind {
    fn canonical(&self) -> String {
        match self {
            ArgumentKind::In => "In",
            ArgumentKind::Out => "Out",
            ArgumentKind::Int => "Int",
            ArgumentKind::Float => "Float",
        }
        .into()
    }
}

impl Canonical for ArgumentSpec {
    fn canonical(&self) -> String {
        let ArgumentSpec { name, kind, length, element, bf16, integer, running, value } = self;
        structure(
            "ArgumentSpec",
            &[
                ("name", name),
                ("kind", kind),
                ("length", length),
                ("element", element),
                ("bf16", bf16),
                ("integer", integer),
                ("running", running),
                ("value", value),
            ],
        )
    }
}

impl Canonical for ClocksSpec {
    fn canonical(&self) -> String {
        let ClocksSpec { core, memory } = self;
        structure("ClocksSpec", &[("core", core), ("memory", memory)])
    }
}

impl Canonical for InputSpec {
    fn canonical(&self) -> String {
        let InputSpec { file, template } = self;
        structure("InputSpec", &[("file", file), ("template", template)])
    }
}

impl Canonical for Unit {
    fn canonical(&self) -> String {
        match self {
            Unit::Seconds => "Seconds",
            Unit::Milliseconds => "Milliseconds",
            Unit::Microseconds => "Microseconds",
            Unit::Nanoseconds => "Nanoseconds",
            Unit::Gflops => "Gflops",
        }
        .into()
    }
}

impl Canonical for PatternSpec {
    fn canonical(&self) -> String {
        let PatternSpec { pattern, unit } = self;
        structure("PatternSpec", &[("pattern", pattern), ("unit", unit)])
    }
}

impl Canonical for TimeSpec {
    fn canonical(&self) -> String {
        match self {
            TimeSpec::Pattern(pattern) => variant("Pattern", pattern),
            TimeSpec::Named(name) => variant("Named", name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;

    fn text(rng: &mut ChaCha8Rng) -> String {
        (0..rng.random_range(0..6)).map(|_| rng.random_range('\0'..='\u{17f}')).collect()
    }

    fn perhaps(rng: &mut ChaCha8Rng) -> Option<String> {
        rng.random::<bool>().then(|| text(rng))
    }

    /// Holds while Rust's names are those of the encoding; a name that changes in Rust leaves this test, not the encoding.
    #[test]
    fn the_canonical_text_of_drawn_tables_is_what_debug_prints() {
        let mut rng = test_generator(32);
        for at in 0..1_000 {
            let rng = &mut rng;
            let kind = [ArgumentKind::In, ArgumentKind::Out, ArgumentKind::Int, ArgumentKind::Float][at % 4];
            let argument = ArgumentSpec {
                name: text(rng),
                kind,
                length: perhaps(rng),
                element: perhaps(rng),
                bf16: perhaps(rng),
                integer: perhaps(rng),
                running: perhaps(rng),
                value: perhaps(rng),
            };
            assert_eq!(argument.canonical(), format!("{argument:?}"));
            let clocks = ClocksSpec { core: perhaps(rng), memory: perhaps(rng) };
            assert_eq!(clocks.canonical(), format!("{clocks:?}"));
            let input = vec![InputSpec { file: text(rng), template: text(rng) }; at % 3];
            assert_eq!(input.canonical(), format!("{input:?}"));
            let units = [Unit::Seconds, Unit::Milliseconds, Unit::Microseconds, Unit::Nanoseconds, Unit::Gflops];
            let pattern = PatternSpec { pattern: text(rng), unit: units[at % 5] };
            let time = [None, Some(TimeSpec::Named(text(rng))), Some(TimeSpec::Pattern(pattern))];
            time.iter().for_each(|time| assert_eq!(time.canonical(), format!("{time:?}")));
            let kind = [FieldKind::Size, FieldKind::Real, FieldKind::Choice][at % 3];
            assert_eq!(kind.canonical(), format!("{kind:?}"));
        }
    }
}
