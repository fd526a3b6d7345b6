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

/// Holds what was found against a list that may only shrink.
fn only_shrinks(list: &str, found: &BTreeSet<String>) {
    let path = format!("tests/house/{list}.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = text.lines().map(String::from).collect();
    let new: Vec<&String> = found.difference(&listed).collect();
    assert!(new.is_empty(), "name these otherwise: {new:#?}");
    let gone: Vec<&String> = listed.difference(found).collect();
    assert!(gone.is_empty(), "take these out of {path}: {gone:#?}");
}

#[test]
fn no_function_is_called_by_a_bare_preposition_and_few_by_a_participle() {
    let functions = declared(&["fn"]).into_iter().filter(|(_, name)| is_bare(name));
    let bare: BTreeSet<String> = functions.map(|(place, name)| format!("{place} {name}")).collect();
    assert!(bare.iter().all(|found| !found.ends_with(" of")), "{bare:#?}");
    only_shrinks("bare_names", &bare);
}

#[test]
fn a_name_stands_for_one_type_in_a_package_but_for_those_of_a_list() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (place, name) in declared(&["struct", "enum", "trait"]) {
        let package = place.split('/').next().unwrap_or_default();
        // each verb of a command line has options of its own
        if name != "Args" {
            places.entry(format!("{package} {name}")).or_default().insert(place);
        }
    }
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1).map(|(name, _)| name).collect();
    only_shrinks("repeated_types", &twice);
}
