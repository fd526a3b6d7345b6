//! The fuzz targets on stable Rust: seeded mutations of a corpus. `SEQTUNE_FUZZ_INPUTS` says how many of each
//! (3,000), `SEQTUNE_FUZZ_TARGET` names one. With `SEQTUNE_FUZZ_CORPUS` the corpora are written to this
//! folder instead, for cargo-fuzz.

#[path = "fuzz/corpus.rs"]
mod corpus;
#[path = "../src/kernel/drawn.rs"]
mod drawn;
#[path = "fuzz/targets.rs"]
mod targets;

use corpus::corpus;
use drawn::test_generator;
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;
use targets::TARGETS;

/// Seconds that one input may take.
const SECONDS: f64 = 60.0;

/// Words and numbers that readers trip over.
const HARD: [&str; 40] = [
    "0",
    "-1",
    "1e999",
    "-0",
    "NaN",
    "inf",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e-60",
    "4294967296",
    "((((((((",
    "))))",
    "not not not ",
    "- - - ",
    " // 0",
    " % 0",
    "[[parameter]]\n",
    "[[constraint]]\n",
    "[define]\n",
    "values = [1, 1]\n",
    "values = []\n",
    "name = ''\n",
    "\u{feff}",
    "\0",
    "\r\n",
    "\n\n",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    "x",
    "é",
    "\u{202e}",
    "\x1b[2J",
    "null",
    "true",
];

/// One to six changes of one of the inputs, of which two may be spliced.
fn mutated(corpus: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut data = corpus.choose(rng).cloned().unwrap_or_default();
    for _ in 0..rng.random_range(1..=6) {
        let length = data.len();
        let at = rng.random_range(0..=length);
        match rng.random_range(0..9) {
            0 if length > 0 => data[at % length] ^= 1 << rng.random_range(0..8),
            1 if length > 0 => data[at % length] = rng.random(),
            2 => data.truncate(at),
            3 => drop(data.splice(at..at, HARD.choose(rng).unwrap_or(&"").bytes())),
            4 if length > 0 => {
                // a number is replaced by a hard one
                let begin =
                    data.iter().skip(at % length).position(u8::is_ascii_digit).map_or(length, |i| i + at % length);
                let end = data[begin..].iter().position(|b| !b.is_ascii_digit()).map_or(length, |i| begin + i);
                data.splice(begin..end, HARD.choose(rng).unwrap_or(&"0").bytes());
            }
            5 => {
                let end = (at + rng.random_range(0..64)).min(length);
                data.drain(at..end);
            }
            6 => {
                let end = (at + rng.random_range(0..256)).min(length);
                let part = data[at..end].to_vec();
                for _ in 0..rng.random_range(1..40) {
                    data.splice(at..at, part.iter().copied());
                }
            }
            7 => {
                let other = corpus.choose(rng).cloned().unwrap_or_default();
                let from = rng.random_range(0..=other.len());
                data.truncate(at);
                data.extend(&other[from..]);
            }
            _ => {
                let (word, times) = (HARD.choose(rng).unwrap_or(&"("), rng.random_range(1..300));
                data.splice(at..at, word.repeat(times).into_bytes());
            }
        }
    }
    data
}

/// Writes each input to a file in the folder of its target.
fn write_corpora(folder: &std::path::Path) {
    for (name, _) in TARGETS {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        for (at, data) in corpus(name).iter().enumerate() {
            std::fs::write(folder.join(name).join(at.to_string()), data).unwrap();
        }
    }
}

#[test]
fn no_input_breaks_a_reader() {
    let stated: Option<u64> = std::env::var("SEQTUNE_FUZZ_INPUTS").ok().map(|n| n.parse().unwrap());
    let wanted = stated.unwrap_or(3_000);
    let only = std::env::var("SEQTUNE_FUZZ_TARGET").ok();
    if let Some(folder) = std::env::var_os("SEQTUNE_FUZZ_CORPUS") {
        return write_corpora(folder.as_ref());
    }
    std::panic::set_hook(Box::new(|_| {}));
    let mut faults = Vec::new();
    for (name, run) in TARGETS.into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let (corpus, began, mut slowest) = (corpus(name), Instant::now(), 0f64);
        corpus.iter().for_each(|data| run(data));
        for seed in 0..wanted {
            let data = mutated(&corpus, &mut test_generator(seed));
            let one = Instant::now();
            let fault = catch_unwind(AssertUnwindSafe(|| run(&data))).err();
            slowest = slowest.max(one.elapsed().as_secs_f64());
            if fault.is_some() || one.elapsed().as_secs_f64() > SECONDS {
                let text = fault.and_then(|f| {
                    f.downcast_ref::<String>().cloned().or(f.downcast_ref::<&str>().map(|s| s.to_string()))
                });
                let input = seqtune_kernel::error::quote(&String::from_utf8_lossy(&data));
                faults.push(format!("{name}, input {seed}: {} on {input}", text.unwrap_or("slow".into())));
            }
        }
        println!(
            "{name}: {wanted} inputs in {:.1} s, the slowest {:.0} ms",
            began.elapsed().as_secs_f64(),
            1e3 * slowest
        );
    }
    let shown: Vec<&String> = faults.iter().take(20).collect();
    assert!(faults.is_empty(), "{} faults, such as {shown:#?}", faults.len());
}
