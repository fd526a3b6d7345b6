//! The rules of the source tree that ARCHITECTURE.md states.

use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn modules_import_only_what_lies_below_them() {
    let allowed: &[(&str, &[&str])] = &[
        ("kernel", &[]),
        ("dataset", &["kernel"]),
        ("executor", &["kernel", "dataset"]),
        ("model", &["kernel", "dataset"]),
        ("eval", &["kernel", "dataset", "model"]),
        ("cli", &["kernel", "dataset", "executor", "model", "eval"]),
    ];
    for (module, below) in allowed {
        for path in sources(&Path::new("src").join(module)) {
            let text = std::fs::read_to_string(&path).unwrap();
            for part in text.split("crate::").skip(1) {
                let name: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let known = allowed.iter().any(|(m, _)| *m == name);
                let fine = !known || name == *module || below.contains(&name.as_str());
                assert!(fine, "{} imports {name}", path.display());
            }
        }
    }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for path in sources(Path::new("src")).into_iter().chain(sources(Path::new("tests"))) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not open with //!", path.display());
        let lines = text.lines().count();
        assert!(lines <= 420, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_parameter_of_a_kernel_has_a_documented_default_in_its_source() {
    for name in seqtune::kernel::Kernel::shipped() {
        let kernel = seqtune::kernel::Kernel::open(&name).unwrap();
        let Some(source) = kernel.source.as_ref() else { continue };
        let source = &kernel.files[&source.program.file];
        for p in &kernel.parameters {
            let guard = format!("#ifndef {}\n#define {} ", p.name, p.name);
            let at = source.find(&guard).unwrap_or_else(|| panic!("{name}: no default for {}", p.name));
            let line = source[at + guard.len()..].lines().next().unwrap();
            assert!(line.contains("//"), "{name}: {} is not explained", p.name);
        }
        for file in ["README.md", "kernel.toml"] {
            assert!(kernel.files.contains_key(file), "{name} has no {file}");
        }
    }
}
