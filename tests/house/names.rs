//! Names of functions and types: a function is called by what it does or gives, and a name stands for one type in a package.

use crate::signatures::{code, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// No name of a function: it says nothing of what the function does. `from` is that of a trait.
const PREPOSITIONS: [&str; 16] = [
    "about", "above", "among", "at", "behind", "below", "beside", "between", "by", "for", "in", "of", "on", "over",
    "to", "with",
];

/// Participles that do not end in `ed`.
const IRREGULAR: [&str; 16] = [
    "begun", "built", "chosen", "drawn", "found", "given", "grown", "held", "kept", "known", "left", "made", "said",
    "shown", "told", "written",
];

/// Whether a function's name is a preposition or a participle alone.
fn is_bare(name: &str) -> bool {
    let is_participle =
        name.ends_with("ed") && !name.contains('_') && !["need", "seed", "feed", "embed"].contains(&name);
    PREPOSITIONS.contains(&name) || IRREGULAR.contains(&name) || is_participle
}

/// Words behind a keyword, by the file where they stand.
fn declared(keywords: &[&str]) -> Vec<(String, String)> {
    let (mut files, mut found) = (Vec::new(), Vec::new());
    sources(Path::new("src"), &mut files);
    for file in files {
        let place = file.strip_prefix("src").unwrap().display().to_string();
        for line in code(&std::fs::read_to_string(&file).unwrap()).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| keywords.contains(word));
            let name =
                at.and_then(|at| words.get(at + 1)).map(|word| word.split(['(', '<', '{', ';', ':']).next().unwrap());
            found.extend(name.filter(|name| !name.is_empty()).map(|name| (place.clone(), name.to_string())));
        }
    }
    found
}

#[test]
fn no_function_is_called_by_a_bare_preposition_or_participle() {
    // that of `std::time::Instant`, for whom another stands in browsers
    let instant = ("predict/clock.rs".to_string(), "elapsed".to_string());
    let mut functions = declared(&["fn"]);
    functions.retain(|found| is_bare(&found.1) && *found != instant);
    assert!(functions.is_empty(), "name these otherwise: {functions:#?}");
}

#[test]
fn a_name_stands_for_one_type_in_a_package() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (place, name) in declared(&["struct", "enum", "trait"]) {
        let package = place.split('/').next().unwrap_or_default();
        // each verb of a command line has options of its own
        if name != "Args" {
            places.entry(format!("{package} {name}")).or_default().insert(place);
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "name these otherwise: {places:#?}");
}
