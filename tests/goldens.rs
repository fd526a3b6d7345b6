//! Golden outputs: what the program answered before the source tree was divided into packages, and must go on answering.
//!
//! It is run as a child process only. The files under `tests/goldens` hold commands (`$ …`) with what came of them;
//! `UPDATE_GOLDENS=1 cargo test --test goldens` runs the commands that stand there and writes their outputs anew.
//! `SEQTUNE_BIN` names another program to judge.

#[path = "goldens/digests.rs"]
mod digests;

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How far numbers may be from their golden: probabilities in absolute, times in relative terms.
const TOLERANCE: f64 = 1e-4;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn golden(name: &str) -> PathBuf {
    root().join("tests/goldens").join(name)
}

fn is_update() -> bool {
    std::env::var("UPDATE_GOLDENS").is_ok_and(|v| v == "1")
}

/// Standard output, messages and exit code.
type Ran = (String, String, i32);

/// Runs the program in the repository's root; words of the form NAME=value before the verb are its environment.
fn seqtune(words: &[String], input: &str) -> Ran {
    let program = std::env::var_os("SEQTUNE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_seqtune").into());
    let verb = words.iter().position(|word| !word.contains('=')).unwrap();
    let mut child = Command::new(program)
        .envs(words[..verb].iter().map(|word| word.split_once('=').unwrap()))
        .args(&words[verb..])
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // the program reads all of it before it answers; one that refused its words has closed the pipe
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    (out, err, output.status.code().unwrap_or(-1))
}

/// Fails with the first mismatches, each named with its place and shown with both sides.
fn demand_none(mismatches: &[String]) {
    let count = mismatches.len();
    let shown = mismatches[..count.min(6)].join("\n");
    assert!(count == 0, "{count} mismatches with goldens (UPDATE_GOLDENS=1 accepts them), the first:\n{shown}");
}

// Predictions: a section per command, in it a block per problem, with a line `probability microseconds values` per config.

/// A problem's lines; the first is the problem, marked where the model is unsure.
type Block = Vec<String>;

/// A command's answers.
struct Section {
    command: String,
    /// The device and the parameters' names.
    head: Block,
    blocks: Vec<Block>,
}

impl Section {
    fn text(&self) -> String {
        let blocks = self.blocks.iter().map(|block| format!("\n{}\n", block.join("\n")));
        format!("$ {}\n{}\n{}", self.command, self.head.join("\n"), blocks.collect::<String>())
    }
}

fn problem_of(block: &Block) -> &str {
    block[0].split(' ').next().unwrap()
}

fn sections(text: &str) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut lines: Block = paragraph.lines().filter(|l| !l.is_empty()).map(String::from).collect();
        match lines.first().and_then(|first| first.strip_prefix("$ ")).map(String::from) {
            Some(command) => all.push(Section { command, head: lines.split_off(1), blocks: Vec::new() }),
            None if lines.is_empty() => {}
            None => all.last_mut().unwrap().blocks.push(lines),
        }
    }
    all
}

/// A config as its values, and the names of its parameters.
fn split_config(config: &Value) -> (String, String) {
    let pairs = config.as_str().unwrap().split(',').map(|pair| pair.split_once('=').unwrap());
    let (names, values): (Vec<&str>, Vec<&str>) = pairs.unzip();
    (names.join(","), values.join(","))
}

/// An answer in the golden's form, with its head.
fn block_of(answer: &Value) -> (Block, Block) {
    let unsure = if answer["unsure"].as_bool().unwrap() { " unsure" } else { "" };
    let mut block = vec![format!("{}{unsure}", answer["problem"].as_str().unwrap())];
    let mut head = Vec::new();
    for prediction in answer["predictions"].as_array().unwrap() {
        let (names, values) = split_config(&prediction["config"]);
        head = vec![format!("device {}", answer["device"].as_str().unwrap()), format!("parameters {names}")];
        let us = prediction["predicted_us"].as_f64().map_or("-".into(), |us| format!("{us:.6e}"));
        let joules = prediction["predicted_joules"].as_f64().map_or(String::new(), |joules| format!("{joules:.6e} "));
        block.push(format!("{:.6} {us} {joules}{values}", prediction["probability"].as_f64().unwrap()));
    }
    let nearest = answer["nearest_measured"].as_array().into_iter().flatten();
    block.extend(nearest.map(|config| format!("nearest {}", split_config(config).1)));
    (head, block)
}

fn is_same_prediction(golden: &str, found: &str) -> bool {
    let (golden, found): (Vec<&str>, Vec<&str>) = (golden.split(' ').collect(), found.split(' ').collect());
    // what is predicted of a config: its time, and its joules where the model knows them
    let ([p, costs @ .., values], [p2, costs2 @ .., values2]) = (&golden[..], &found[..]) else {
        return golden == found;
    };
    let within = |a: &str, b: &str, relative: bool| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= TOLERANCE * if relative { a.abs() } else { 1.0 },
        _ => a == b,
    };
    let same_costs = costs.len() == costs2.len() && costs.iter().zip(costs2).all(|(a, b)| within(a, b, true));
    within(p, p2, false) && same_costs && values == values2
}

/// Asks for a section's problems at once. What is found, and what of it differs.
fn predict(section: &Section) -> (Section, Vec<String>) {
    let words: Vec<String> = section.command.split(' ').map(String::from).collect();
    let problems: Vec<&str> = section.blocks.iter().map(problem_of).collect();
    let (out, err, code) = seqtune(&words, &(problems.join("\n") + "\n"));
    assert_eq!(code, 0, "{}: {err}", section.command);
    let answers: Vec<(Block, Block)> = out.lines().map(|l| block_of(&serde_json::from_str(l).unwrap())).collect();
    assert_eq!(answers.len(), problems.len(), "{}: an answer for each problem", section.command);
    let blocks = answers.iter().map(|(_, block)| block.clone()).collect();
    let found = Section { command: section.command.clone(), head: answers[0].0.clone(), blocks };
    let mut mismatches = Vec::new();
    for (i, (golden, block)) in section.blocks.iter().zip(&found.blocks).enumerate() {
        let same = golden.len() == block.len() && golden.iter().zip(block).all(|(a, b)| is_same_prediction(a, b));
        if !same || answers[i].0 != section.head {
            let [golden, found] = [(&section.head, golden), (&answers[i].0, block)]
                .map(|(head, block)| format!("{}\n    {}", head.join("; "), block.join("\n    ")));
            mismatches.push(format!("`seqtune {}`\n  golden: {golden}\n  found:  {found}", section.command));
        }
    }
    (found, mismatches)
}

#[test]
fn every_shipped_model_still_predicts_what_it_did() {
    let folders = [root().join("models"), root().join("models/miopen")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    // whole, distilled, or both
    let is_model =
        |path: &PathBuf| ["model", "distilled"].iter().any(|f| path.join(f).with_extension("safetensors").exists());
    let models = entries.map(|e| e.unwrap().path()).filter(is_model);
    let mut names: Vec<String> = models.map(|m| m.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mismatches = std::sync::Mutex::new(Vec::new());
    let judge = || {
        while let Some(name) = names.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let path = golden(&format!("predict/{name}.txt"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("model {name}: {e}"));
            let (found, wrong): (Vec<Section>, Vec<_>) = sections(&text).iter().map(predict).unzip();
            if is_update() {
                std::fs::write(&path, found.iter().map(Section::text).collect::<Vec<_>>().join("\n")).unwrap();
            } else {
                mismatches.lock().unwrap().extend(wrong.concat());
            }
        }
    };
    // a model is loaded on one core only
    std::thread::scope(|scope| {
        scope.spawn(judge);
        scope.spawn(judge);
    });
    demand_none(&mismatches.into_inner().unwrap());
}

// Transcripts: after `$ command`, lines `> …` of standard output, `! …` of messages and `= code` where it is not 0.
// `DIR` is a temporary folder. `| filter` behind a command leaves of its answer what does not depend on machine, day and load.

/// Removes members of all objects.
fn without(value: &mut Value, names: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|name, _| !names.contains(&name.as_str()));
        map.values_mut().for_each(|member| without(member, names));
    }
    value.as_array_mut().into_iter().flatten().for_each(|item| without(item, names));
}

/// Replaces what a value holds by its kind.
fn blank(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(blank),
        Value::Array(items) => {
            items.truncate(1);
            items.iter_mut().for_each(blank);
        }
        Value::Null => {}
        other => *other = if other.is_number() { 0.into() } else { "".into() },
    }
}

/// An answer of JSON lines, changed.
fn filtered(out: &str, filter: &str) -> String {
    let (filter, names) = filter.split_once(' ').unwrap_or((filter, ""));
    let names: Vec<&str> = names.split(',').collect();
    let change = |line: &str| {
        let mut value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        match filter {
            "keys" => blank(&mut value),
            "without" => without(&mut value, &names),
            // one member, a line per item
            "part" => return value[names[0]].as_array().unwrap().iter().map(|item| format!("{item}\n")).collect(),
            other => panic!("no filter {other}"),
        }
        format!("{value}\n")
    };
    out.lines().map(change).collect()
}

/// Size, hash and first lines of a file.
fn show(path: &str, lines: usize) -> String {
    let mut bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    if bytes.starts_with(b"{") {
        bytes = without_recipe(&bytes);
    } else if bytes.starts_with(b"SEQTUNE") {
        bytes = without_header(&bytes);
    }
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let head: String = String::from_utf8_lossy(&bytes).split_inclusive('\n').take(lines).collect();
    format!("{} bytes, sha256 {hash}\n{head}", bytes.len())
}

/// A journal without what its header says of how it was measured: a sentence in format 1, fields in format 2.
fn without_recipe(journal: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(journal);
    let (first, rest) = text.split_once('\n').unwrap_or_default();
    let Ok(Value::Object(mut header)) = serde_json::from_str(first) else { return journal.to_vec() };
    ["format", "policy", "provenance"].iter().for_each(|name| drop(header.shift_remove(*name)));
    format!("{}\n{rest}", Value::Object(header)).into_bytes()
}

/// A packed file's contents behind its header, which is a text of its own and begins with its length.
fn without_header(packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&packed[8..]), &mut plain).unwrap();
    let (length, at) = match plain[0] {
        251 => (u16::from_le_bytes([plain[1], plain[2]]) as usize, 3),
        short => (short as usize, 1),
    };
    plain.split_off(at + length)
}

/// Blanks what differs from run to run in a journal: day, version and command line in the header. Of a measurement so many samples are
/// kept: how many a sweep takes depends on the load.
fn steady(path: &str, kept: usize) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in ["tool", "command", "date"] {
        assert!(lines[0][name].is_string(), "{path}: the header tells {name}");
        lines[0][name] = "".into();
    }
    let samples = lines[1..].iter_mut().filter_map(|line| line.pointer_mut("/outcome/Measured/samples_us"));
    samples.for_each(|samples| samples.as_array_mut().unwrap().truncate(kept));
    std::fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    String::new()
}

/// Runs a command of a transcript and gives the lines that follow it.
fn transcribe(command: &str, folder: &str) -> String {
    let (line, filter) = command.split_once(" | ").map_or((command, None), |(line, filter)| (line, Some(filter)));
    let words: Vec<String> = line.split(' ').map(|word| word.replace("DIR", folder)).collect();
    let own = |out: String| (out, String::new(), 0);
    let (out, err, code) = match (words[0].as_str(), &words[1..]) {
        ("show", [path, lines]) => own(show(path, lines.parse().unwrap())),
        ("steady", [path]) => own(steady(path, usize::MAX)),
        ("steady", [path, kept]) => own(steady(path, kept.parse().unwrap())),
        _ => seqtune(&words, ""),
    };
    let out = filter.map_or(out.clone(), |filter| filtered(&out, filter));
    let mut text: String = out.lines().map(|l| format!("> {l}").trim_end().to_string() + "\n").collect();
    // progress is no message
    let messages = err.lines().filter_map(|line| line.strip_prefix("seqtune: "));
    messages.for_each(|message| writeln!(text, "! {message}").unwrap());
    if code != 0 {
        writeln!(text, "= {code}").unwrap();
    }
    text.replace(folder, "DIR")
}

/// Words, numbers and signs of a line.
fn tokens(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    let ends = line.char_indices().scan(' ', |last, (at, c)| {
        let joins = is_word(*last) && is_word(c);
        *last = c;
        Some((!joins).then_some(at))
    });
    let starts: Vec<usize> = ends.flatten().chain([line.len()]).collect();
    starts.windows(2).map(|pair| &line[pair[0]..pair[1]]).collect()
}

/// Whether lines agree; with `tolerance`, numbers with decimals may differ by that, and in a table, which rounds, by one in the last place.
fn is_same_line(golden: &str, found: &str, tolerance: f64) -> bool {
    let is_json = golden.starts_with("> {") || golden.starts_with("> [");
    let same = |(a, b): (&&str, &&str)| {
        let number = |text: &str| text.trim_end_matches('.').parse::<f64>().ok().filter(|x| x.is_finite());
        let (Some(x), Some(y), Some((_, decimals))) = (number(a), number(b), a.split_once('.')) else { return a == b };
        let place = if is_json { 0.0 } else { 1.001 * 0.1f64.powi(decimals.trim_end_matches('.').len() as i32) };
        // what is below 1 is a share or a difference, whose last digits may be noise
        a == b || (tolerance > 0.0 && (x - y).abs() <= tolerance * x.abs().max(1.0) + place)
    };
    let (golden, found) = (tokens(golden), tokens(found));
    golden.len() == found.len() && golden.iter().zip(&found).all(same)
}

/// Runs all commands of a transcript and compares.
fn judge_transcript(name: &str, tolerance: f64) {
    let text = std::fs::read_to_string(golden(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let (mut found, mut mismatches) = (String::new(), Vec::new());
    let is_output = |line: &&str| line.starts_with(['>', '!', '=']);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut golden = Vec::new();
        while let Some(output) = lines.next_if(is_output) {
            golden.push(output);
        }
        writeln!(found, "{line}").unwrap();
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let output = transcribe(command, folder);
        let now: Vec<&str> = output.lines().collect();
        let same = |i: usize| golden.get(i).zip(now.get(i)).is_some_and(|(a, b)| is_same_line(a, b, tolerance));
        if let Some(i) = (0..golden.len().max(now.len())).find(|i| !same(*i)) {
            let [a, b] = [&golden, &now].map(|lines| lines.get(i).unwrap_or(&"nothing"));
            mismatches.push(format!("{name}, line {} of `seqtune {command}`\n  golden: {a}\n  found:  {b}", i + 1));
        }
        found += &output;
    }
    if is_update() {
        return std::fs::write(golden(name), found).unwrap();
    }
    demand_none(&mismatches);
}

#[test]
fn shipped_datasets_are_exported_and_converted_as_before() {
    judge_transcript("export.txt", 0.0);
}

#[test]
fn what_others_measured_is_imported_and_packed_to_the_same_bytes() {
    judge_transcript("import.txt", 0.0);
}

#[test]
fn a_sweep_of_the_fake_device_writes_the_same_journal() {
    judge_transcript("sweep.txt", 0.0);
}

#[test]
fn verbs_answer_as_before_in_text_and_in_json() {
    judge_transcript("answers.txt", TOLERANCE);
}

#[test]
fn shipped_models_are_judged_as_before() {
    judge_transcript("evaluate.txt", TOLERANCE);
}
