//! Imports between the files of a package, read from their text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files of a package by the path of their module: `""`, `kernel`, `kernel::space`.
pub struct Package {
    pub name: String,
    pub files: BTreeMap<String, String>,
}

/// Which modules each module imports.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Reads packages of a folder and a crate each.
pub fn packages(list: &[(&str, &str)]) -> Vec<Package> {
    let read = |(folder, name): &(&str, &str)| {
        let mut files = BTreeMap::new();
        // the command line is a module of its crate
        let prefix = if *name == "seqtune" { "cli" } else { "" };
        collect(Path::new(folder), prefix, &mut files);
        assert!(!files.is_empty(), "{folder} holds no source");
        Package { name: name.to_string(), files }
    };
    list.iter().map(read).collect()
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let inner = if prefix.is_empty() { stem.clone() } else { format!("{prefix}::{stem}") };
        if path.is_dir() && stem != "kernels" {
            collect(&path, &inner, files);
        } else if path.extension().is_some_and(|e| e == "rs") && !["main", "build"].contains(&stem.as_str()) {
            let module = if ["lib", "mod"].contains(&stem.as_str()) { prefix.to_string() } else { inner };
            files.insert(module, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// What a file says outside its tests and comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let line = |line: &str| line.split("//").next().unwrap_or_default().to_string();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The paths that a tree of `use` names, as `a::b::c`.
fn expand(tree: &str, prefix: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    match tree.split_once('{') {
        None if !tree.is_empty() => {
            let path = tree.split(" as ").next().unwrap_or_default().trim();
            found.push(format!("{prefix}{path}"));
        }
        None => {}
        Some((head, rest)) => {
            let prefix = format!("{prefix}{}", head.trim());
            let inner = &rest[..rest.rfind('}').unwrap_or(rest.len())];
            let (mut depth, mut from) = (0, 0);
            for (at, c) in inner.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        expand(&inner[from..at], &prefix, found);
                        from = at + 1;
                    }
                    _ => {}
                }
            }
            expand(&inner[from..], &prefix, found);
        }
    }
}

/// Statements that begin with `use` or `pub use`, also within functions: whether they re-export, and their trees.
fn uses(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let before = rest[..at].rsplit('\n').next().unwrap_or_default().trim();
        let statement = rest[at + 4..].split(';').next().unwrap_or_default().to_string();
        rest = &rest[at + 4..];
        let is_public = is_visibility(before);
        if is_public || before.is_empty() || before.ends_with(['{', '}', ';']) {
            found.push((is_public, statement));
        }
    }
    found
}

/// Whether a text is `pub`, `pub(crate)` or the like.
fn is_visibility(text: &str) -> bool {
    text == "pub" || text.starts_with("pub(") && text.ends_with(')') && text.matches('(').count() == 1
}

/// `path` as it is seen from `module`, from the root; `None` where it is of another crate.
fn absolute(path: &str, module: &str, package: &Package) -> Option<String> {
    let segments: Vec<&str> = path.split("::").collect();
    let mut base: Vec<&str> = module.split("::").filter(|s| !s.is_empty()).collect();
    let leading = segments.iter().take_while(|s| ["crate", "self", "super"].contains(*s)).count();
    for segment in &segments[..leading] {
        match *segment {
            "crate" => base.clear(),
            "super" => drop(base.pop()),
            _ => {}
        }
    }
    if leading == 0 {
        let own = if module.is_empty() { segments[0].to_string() } else { format!("{module}::{}", segments[0]) };
        package.files.get(&own)?;
    }
    base.extend(&segments[leading..]);
    Some(base.join("::"))
}

/// The module that defines what an absolute path names: re-exports are followed.
fn definer(path: &str, package: &Package, exports: &BTreeMap<String, String>) -> String {
    let mut path = path.to_string();
    for _ in 0..8 {
        let segments: Vec<&str> = path.split("::").collect();
        // a function may have the name of its module, in which paths go on
        let is_module = |n: usize| n < segments.len() && package.files.contains_key(&segments[..n].join("::"));
        let known = (1..=segments.len()).rev().filter(|n| !is_module(*n));
        let known = known.into_iter().find_map(|n| exports.get(&segments[..n].join("::")).map(|to| (n, to)));
        match known {
            Some((n, to)) if *to != path => path = [&[to.as_str()], &segments[n..]].concat().join("::"),
            _ => break,
        }
    }
    let segments: Vec<&str> = path.split("::").collect();
    let module = (0..=segments.len()).rev().map(|n| segments[..n].join("::"));
    module.into_iter().find(|m| package.files.contains_key(m)).unwrap_or_default()
}

/// Paths beside `use` that begin with `crate::`, `super::`, a child module or a name of `imported`, which holds absolute paths.
fn inline(code: &str, module: &str, package: &Package, imported: &[String]) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in code.match_indices("::") {
        let start = code[..at].rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
        if start == at || code[..start].ends_with("::") || code[..start].ends_with('.') {
            continue;
        }
        let end = code[at..].find(|c: char| !is_word(c) && c != ':').map_or(code.len(), |i| at + i);
        let path = code[start..end].trim_end_matches(':');
        let behind_import = || {
            let (first, rest) = path.split_once("::")?;
            let whole = imported.iter().find(|whole| whole.rsplit("::").next() == Some(first))?;
            Some(format!("{whole}::{rest}"))
        };
        found.extend(absolute(path, module, package).or_else(behind_import));
    }
    found
}

/// The code without its `use` statements and its declarations of modules.
fn without_uses(code: &str) -> String {
    let mut own = String::new();
    let mut inside = false;
    for line in code.lines() {
        let start = line.trim_start();
        let start = start.split_once(' ').filter(|(first, _)| is_visibility(first)).map_or(start, |(_, rest)| rest);
        inside |= start.starts_with("use ") || start.starts_with("mod ") && start.ends_with(';');
        if !inside {
            own += line;
            own.push('\n');
        }
        inside &= !line.trim_end().ends_with(';');
    }
    own
}

/// Whether a text holds a word.
fn names(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|w| w == word)
}

/// Who imports whom in a package.
pub fn graph(package: &Package) -> Graph {
    let mut exports = BTreeMap::new();
    for (module, text) in &package.files {
        for (_, tree) in uses(&code(text)).into_iter().filter(|(public, _)| *public) {
            let mut paths = Vec::new();
            expand(&tree, "", &mut paths);
            for to in paths.iter().filter_map(|p| absolute(p, module, package)) {
                let name = to.rsplit("::").next().unwrap_or_default().to_string();
                exports.insert(if module.is_empty() { name } else { format!("{module}::{name}") }, to);
            }
        }
    }
    let mut graph = Graph::new();
    for (module, text) in &package.files {
        let code = code(text);
        let mut paths = Vec::new();
        let statements = uses(&code);
        statements.iter().filter(|(public, _)| !public).for_each(|(_, tree)| expand(tree, "", &mut paths));
        // what is handed on is imported too where the file itself names it
        let own = without_uses(&code);
        let mut handed = Vec::new();
        statements.iter().filter(|(public, _)| *public).for_each(|(_, tree)| expand(tree, "", &mut handed));
        paths.extend(handed.into_iter().filter(|path| names(&own, path.rsplit("::").next().unwrap_or_default())));
        let mut absolute: Vec<String> = paths.iter().filter_map(|p| absolute(p, module, package)).collect();
        absolute.extend(inline(&own, module, package, &absolute));
        let imported = absolute.iter().map(|path| definer(path, package, &exports)).filter(|m| m != module);
        graph.insert(module.clone(), imported.collect());
    }
    graph
}

/// The circles of a graph, each as `a -> b -> a`; one for each set of files that import each other.
pub fn circles(graph: &Graph) -> Vec<String> {
    let reaches = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for next in graph.get(module).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<&String>> = graph.keys().map(|module| (module, reaches(module))).collect();
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for (module, reached) in &reach {
        if reached.contains(module) && !told.contains(*module) {
            let tied: Vec<&String> =
                graph.keys().filter(|m| reached.contains(m) && reach[m].contains(*module)).collect();
            told.extend(tied.iter().map(|m| (*m).clone()));
            let edges = tied
                .iter()
                .flat_map(|a| graph[*a].iter().filter(|b| tied.contains(b)).map(move |b| format!("{a} -> {b}")));
            found.push(edges.collect::<Vec<_>>().join(", "));
        }
    }
    found
}
