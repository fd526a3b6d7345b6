//! The fuzz targets on stable Rust: seeded mutations of a corpus. `SEQTUNE_FUZZ_INPUTS` says how many of each (2,000),
//! `SEQTUNE_FUZZ_TARGET` names one.

#[path = "fuzz/targets.rs"]
mod targets;

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;
use targets::TARGETS;

/// Seconds that one input may take.
const SECONDS: f64 = 5.0;

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

/// The corpus of a target: files in the tree.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let read = |path: &str| std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let lines = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    match target {
        "kernel_toml" => vec![
            read("src/predict/toy/kernel.toml"), read("kernels/gemm/kernel.toml"), read("kernels/conv2d/kernel.toml"),
            lines(&["name = 'k'\nmeaning = 'k'\n[define]\na = 'b + 1'\nb = '2 * p'\n[[parameter]]\nname = 'p'\nvalues = [1, 2, 4]\ndefault = 1\nmeaning = 'p'\n[[constraint]]\nexpr = 'a <= 8 and p % 2 == 0'\nreason = 'r'\n[work]\nflops = '1'\nbytes = '1'\n"]).remove(0),
        ],
        "expression" => lines(&["a + b * 3 // 2", "if(a > 2, min(a, b), cdiv(b, 4)) == 1 and not b", "pow(2, log2(sqrt(a))) % 7 != -1"]),
        "problem" | "stream" => lines(&["M=64,N=64,K=64,transA=T,dtype=f16", "{\"M\": 64, \"N\": 3, \"K\": \"9\"}", "# a list\nM=1,N=2,K=3\n\nM=4,N=5,K=6\n"]),
        "config" => lines(&["MWG=64,NWG=64,MDIM=8,NDIM=8,VWN=4,STRM=0,STRN=0,KWG=16,KWI=2,SA=1,SB=1,PAD=0,VWA=1,VWB=1,GROUP=1"]),
        "devices" => vec![read("src/predict/kernels/devices.toml")[..3_000].to_vec(), lines(&["[[device]]\nname = 'x'\naliases = ['y']\nlimits = { local_memory = 65536, max_group_items = 1024 }\n"]).remove(0)],
        "journal" => vec![of_dataset(false)],
        "packed" => vec![of_dataset(true)],
        "packed_contents" => {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&of_dataset(true)[8..]), &mut plain).unwrap();
            vec![plain]
        }
        "model" => vec![read("src/predict/toy/model/model.safetensors")],
        "miopen_database" | "miopen_convolutions" => {
            let mut texts = vec![read("tests/goldens/inputs/gfx906_60.db.txt"), read("tests/goldens/inputs/gfx906_60.HIP.fdb.txt")];
            texts.extend(lines(&["MIOpenDriver convfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 0", "direction=F,N=1,C=2,H=3,W=4,K=5,R=1,S=1"]));
            texts
        }
        "autoheuristic" => vec![read("tests/goldens/inputs/mm.txt")],
        "kernel_tuner" => lines(&[r#"{"device_name": "T4", "problem_size": [64, 32], "tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": 2.0, "times": [5.0, 2.0]}, "2": {"a": 2, "time": "RuntimeFailedConfig"}}}"#]),
        "t4" => lines(&[r#"{"schema_version": "1.0.0", "results": [{"configuration": {"a": 1}, "times": {"runtimes": [3.0, 1.0]}, "invalidity": "correct"}]}"#]),
        other => panic!("no corpus for {other}"),
    }
}

/// The first records of a shipped dataset, as a journal or packed.
fn of_dataset(is_packed: bool) -> Vec<u8> {
    let mut dataset = seqtune_data::Dataset::load(Path::new("datasets/gemm/cpu-epyc-2c.sqt")).unwrap();
    dataset.records.truncate(20);
    if is_packed { seqtune_data::packed::encode(&dataset).unwrap() } else { seqtune_data::journal::encode(&dataset) }
}

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

#[test]
fn no_input_breaks_a_reader() {
    let inputs: u64 = std::env::var("SEQTUNE_FUZZ_INPUTS").ok().map_or(2_000, |n| n.parse().unwrap());
    let only = std::env::var("SEQTUNE_FUZZ_TARGET").ok();
    std::panic::set_hook(Box::new(|_| {}));
    let mut faults = Vec::new();
    for (name, run) in TARGETS.into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let (corpus, began, mut slowest) = (corpus(name), Instant::now(), 0f64);
        corpus.iter().for_each(|data| run(data));
        for seed in 0..inputs {
            let data = mutated(&corpus, &mut ChaCha8Rng::seed_from_u64(seed));
            let one = Instant::now();
            let fault = catch_unwind(AssertUnwindSafe(|| run(&data))).err();
            slowest = slowest.max(one.elapsed().as_secs_f64());
            if fault.is_some() || one.elapsed().as_secs_f64() > SECONDS {
                let text = fault.and_then(|f| {
                    f.downcast_ref::<String>().cloned().or(f.downcast_ref::<&str>().map(|s| s.to_string()))
                });
                let input = seqtune_predict::error::quoted(&String::from_utf8_lossy(&data));
                faults.push(format!("{name}, seed {seed}: {} on {input}", text.unwrap_or("slow".into())));
            }
        }
        println!(
            "{name}: {inputs} inputs in {:.1} s, the slowest {:.0} ms",
            began.elapsed().as_secs_f64(),
            1e3 * slowest
        );
    }
    let shown: Vec<&String> = faults.iter().take(20).collect();
    assert!(faults.is_empty(), "{} faults, such as {shown:#?}", faults.len());
}
