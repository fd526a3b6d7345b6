//! The documents against the tree and the program: sentences, sections, links, and the command lines that they show.

use crate::common::{root, run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The sections of README, in their order.
const SECTIONS: [&str; 10] = [
    "# seqtune",
    "## First prediction",
    "## Start with your own code",
    "## Install",
    "## How good it is",
    "## When not to use it",
    "## Documentation",
    "## Limits",
    "## Patent",
    "## Licence",
];

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The documents whose links have to lead somewhere: those at the top, and all of `docs` but the records of experiments.
fn documents() -> Vec<PathBuf> {
    let folders = ["guide", "reference", "integrations", "results", "internals"];
    let entries = folders.iter().flat_map(|f| std::fs::read_dir(root().join("docs").join(f)).unwrap());
    let docs = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(|name| root().join(name))
        .into_iter()
        .chain(docs)
        .collect()
}

/// Lines that are text, and lines in fences or indented by four columns, where no paragraph or item goes on.
fn prose_and_code(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut prose, mut code, mut fenced) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            code.push(line.trim());
        } else {
            prose.push(line);
        }
    }
    (prose, code)
}

/// Anchors of the headings as GitHub makes them: lower case, no punctuation, hyphens for spaces, repeats numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose_and_code(text).0.into_iter().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let times = seen.entry(anchor.clone()).and_modify(|times| *times += 1).or_insert(0);
        if *times == 0 { anchor } else { format!("{anchor}-{times}") }
    };
    headings.map(anchor).collect()
}

/// What stands in the parentheses of links and images.
fn links(text: &str) -> Vec<String> {
    let prose = prose_and_code(text).0.join("\n");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_string()).filter(|t| !t.contains("://") && !t.contains('`')).collect()
}

#[test]
fn readme_has_its_sections_in_order() {
    let readme = read(&root().join("README.md"));
    let headings: Vec<&str> = prose_and_code(&readme).0.into_iter().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, SECTIONS);
    assert!(readme.find("](docs/results/predicted-or-searched.svg)") < readme.find("\n## "), "the picture comes first");
}

/// Paragraphs and list items of a document, each on a line: no code, tables, headings, pictures or comments.
fn paragraphs(text: &str) -> Vec<String> {
    let (mut found, mut open, mut hidden) = (Vec::new(), String::new(), false);
    let mut fenced = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            fenced = !fenced;
        }
        hidden |= trimmed.starts_with("<!--");
        let is_item = |t: &str| {
            let digits = t.len() - t.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            t.starts_with("* ") || t.starts_with("- ") || (digits > 0 && t[digits..].starts_with(". "))
        };
        let is_code = fenced || trimmed.starts_with("```") || hidden || (line.starts_with("    ") && open.is_empty());
        let ends = trimmed.is_empty() || trimmed.starts_with(['|', '#', '<']) || trimmed.starts_with("![");
        if (is_code || ends || is_item(trimmed)) && !open.is_empty() {
            found.push(std::mem::take(&mut open));
        }
        if !is_code && !ends {
            let text = if is_item(trimmed) { trimmed.split_once(' ').map_or("", |(_, rest)| rest) } else { trimmed };
            open = format!("{open} {text}").trim().into();
        }
        hidden &= !trimmed.ends_with("-->");
    }
    if open.is_empty() { found } else { [found, vec![open]].concat() }
}

/// The words of each sentence; a span of code is one word, and a link is its text.
fn sentences(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        let spans = paragraph.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { "Code" } else { part });
        let mut plain: String = spans.collect();
        while let Some((before, rest)) = plain.split_once("](") {
            plain = format!("{before}{}", rest.split_once(')').map_or("", |(_, behind)| behind));
        }
        let plain = plain.replace(['[', ']', '*', '_', '"', '(', ')'], " ");
        let mut words: Vec<String> = Vec::new();
        let all: Vec<&str> = plain.split_whitespace().collect();
        for (at, word) in all.iter().enumerate() {
            words.extend(word.chars().any(char::is_alphanumeric).then(|| word.to_string()));
            let is_next = |next: &&str| next.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
            let ends = word.ends_with(['.', '?', '!']) && all.get(at + 1).is_none_or(is_next);
            if (ends || at + 1 == all.len()) && !words.is_empty() {
                found.push(std::mem::take(&mut words));
            }
        }
    }
    found
}

/// Words that turn a sentence around, so that its subject comes late.
const OPENERS: [&str; 6] = ["Of", "What", "That", "As", "Where", "Which"];

#[test]
fn sentences_are_short_and_begin_with_their_subject() {
    let mut faults = Vec::new();
    for document in documents() {
        let name = document.strip_prefix(root()).unwrap().display().to_string();
        let all = sentences(&read(&document));
        let mut lengths: Vec<usize> = all.iter().map(Vec::len).collect();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
        if median > 16 {
            faults.push(format!("{name}: half of the sentences have {median} words or more"));
        }
        for words in all {
            if words.len() > 35 || OPENERS.contains(&words[0].as_str()) {
                faults.push(format!("{name}: {} words: {}", words.len(), words.join(" ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn long_and_turned_sentences_are_found() {
    let text = "# Of heads\n\nOne. Two `a. B` three (four. Five.)\n\n    Of code\n\n* Which item\n  goes [on here](x.md).\n| Of | cells |\n";
    let lengths: Vec<usize> = sentences(text).iter().map(Vec::len).collect();
    assert_eq!(lengths, [1, 4, 1, 5], "{:?}", sentences(text));
    assert_eq!(sentences(text)[3][0], "Which");
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for document in documents() {
        for link in links(&read(&document)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let found = target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !found {
                broken.push(format!("{}: {link}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

/// Command lines of the program in a document: in code, and in the text between backticks.
fn commands(text: &str) -> Vec<Vec<String>> {
    let (prose, code) = prose_and_code(text);
    let spans = prose.join("\n");
    let spans = spans.split('`').skip(1).step_by(2).map(str::trim);
    let words = |line: &str| -> Option<Vec<String>> {
        let line = line.split(" #").next().unwrap_or_default().split(" && ").next().unwrap_or_default();
        let rest = line.trim_start_matches("target/release/").strip_prefix("seqtune ")?;
        Some(rest.split_whitespace().map(String::from).collect())
    };
    // not the first line of what `doctor` prints
    let commands = code.into_iter().chain(spans).filter_map(words);
    commands.filter(|words| !words[0].contains(char::is_numeric)).collect()
}

#[test]
fn every_command_line_has_a_verb_and_options_that_the_program_knows() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let (mut unknown, mut checked) = (Vec::new(), 0);
    for document in ["README.md", "docs/guide/tour.md"] {
        for words in commands(&read(&root().join(document))) {
            let is_of_journals = |word: &String| word == "merge" || word == "status";
            let deep = words.len() > 1
                && match words[0].as_str() {
                    "import" | "export" | "evaluate" => true,
                    "sweep" => is_of_journals(&words[1]),
                    _ => false,
                };
            let verb = words[..1 + deep as usize].join(" ");
            let help = helps.entry(verb.clone()).or_insert_with(|| {
                let (out, err, code) = run(&[&verb.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat());
                if code == 0 { out } else { panic!("{document}: seqtune {verb}: {err}") }
            });
            let known: BTreeSet<&str> = help.split([' ', ',', '\n', '[', ']', '.', '=']).collect();
            let options = words.iter().filter(|word| word.starts_with('-') && word.len() > 1);
            unknown.extend(
                options
                    .filter(|o| !known.contains(o.split('=').next().unwrap_or_default()))
                    .map(|o| format!("{document}: {verb} {o}")),
            );
            checked += 1;
        }
    }
    assert_eq!(unknown, [""; 0]);
    assert!(checked > 30, "{checked} command lines");
}

#[test]
fn the_page_on_triton_shows_what_is_computed_from_counted_machine_code() {
    let script = root().join("scripts/figures/triton_article.py");
    match std::process::Command::new("python3").arg(script).arg("check").output() {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("No module named 'tomllib'") => {
            println!("skipped: Python here has no tomllib; it takes Python 3.11 or newer");
        }
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => println!("skipped: python3 is missing; `apt-get install python3` brings it"),
    }
}
