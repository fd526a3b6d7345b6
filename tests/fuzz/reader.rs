//! One target under cargo-fuzz: the one that `SEQTUNE_FUZZ_TARGET` names.
#![no_main]

mod targets;

use std::sync::LazyLock;
use targets::{TARGETS, Target};

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("SEQTUNE_FUZZ_TARGET").unwrap_or_default();
    let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let found = TARGETS.into_iter().find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("SEQTUNE_FUZZ_TARGET names one of {}", known.join(", ")))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (CHOSEN.1)(data));
