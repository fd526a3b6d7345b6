//! The graph of imports: no two files import each other in a circle, and packages import only what stands before them.

use crate::imports::{Package, circles, graph, packages};
use std::collections::BTreeMap;

/// Packages in the order in which they may import each other, with their folder and crate.
const ORDER: [(&str, &str); 16] = [
    ("src/kernel", "seqtune_kernel"),
    ("src/predict", "seqtune_predict"),
    ("src/web", "seqtune_web"),
    ("src/choose", "seqtune_choose"),
    ("src/hip-runtime-sys", "hip_runtime_sys"),
    ("src/devices", "seqtune_devices"),
    ("src/c", "seqtune_c"),
    ("src/data", "seqtune_data"),
    ("src/measure", "seqtune_measure"),
    ("src/eval", "seqtune_eval"),
    ("src/fit", "seqtune_fit"),
    ("src/console", "seqtune_console"),
    ("src/cli", "seqtune"),
    ("src/train", "seqtune_train"),
    ("src/lab", "seqtune_lab"),
    ("src/python", "_seqtune"),
];

#[test]
fn no_two_files_of_a_package_import_each_other_in_a_circle() {
    for package in packages(&ORDER) {
        let found = circles(&graph(&package));
        assert!(found.is_empty(), "{}: {}", package.name, found.join("\n"));
    }
}

#[test]
fn a_circle_that_is_planted_is_found() {
    let file = |module: &str, text: &str| (module.to_string(), text.to_string());
    let package = |files: [(String, String); 5]| Package { name: "planted".into(), files: BTreeMap::from(files) };
    let sound = [
        file("", "pub mod a;\npub mod b;\npub use b::Thing;\n"),
        file("a", "use crate::{Thing, c::d};\nfn f() { d::g() }\n"),
        file("b", "pub struct Thing;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
        file("c", "mod d;\n"),
        file("c::d", "// crate::a is named in a comment only\npub fn g() {}\n"),
    ];
    assert_eq!(circles(&graph(&package(sound.clone()))), Vec::<String>::new());
    for (module, planted) in
        [("b", "use crate::a::f;\n"), ("c::d", "pub fn h() { crate::a::f() }\n"), ("b", "use super::a;\n")]
    {
        let mut circular = package(sound.clone());
        circular.files.insert(module.into(), format!("{planted}{}", circular.files[module]));
        let found = circles(&graph(&circular));
        assert_eq!(found.len(), 1, "{module}: {found:?}");
        assert!(found[0].contains("a ->") && found[0].contains(module), "{found:?}");
    }
}

#[test]
fn a_circle_within_a_folder_is_found_however_it_is_written() {
    let file = |module: &str, text: &str| (module.to_string(), text.to_string());
    // a function that the crate hands on has the name of its folder
    let sound = [
        file("", "pub mod deep;\npub use deep::deep;\n"),
        file("deep", "pub mod inner;\nmod other;\npub fn deep() {\n    other::g()\n}\n"),
        file("deep::other", "pub(crate) fn g() {}\npub struct Thing;\n"),
        file("deep::inner", "pub(crate) mod one;\nmod two;\n"),
        file("deep::inner::one", "use crate::deep::inner::two::Two;\npub struct One(Two);\n"),
        file("deep::inner::two", "use super::super::other::Thing;\npub struct Two(Thing);\n"),
    ];
    let package = |files: [(String, String); 6]| Package { name: "planted".into(), files: BTreeMap::from(files) };
    assert_eq!(circles(&graph(&package(sound.clone()))), Vec::<String>::new());
    for (module, planted) in [
        ("deep::inner::two", "use crate::deep::inner::one::One;\n"),
        ("deep::inner::two", "use crate::{deep::inner::one};\n"),
        ("deep::inner::two", "use super::one::One;\n"),
        ("deep::inner::two", "fn f(one: &super::one::One) {}\n"),
        ("deep::inner::two", "fn f() {\n    use super::one::{self, One};\n    one::f()\n}\n"),
        ("deep::inner::two", "fn f() { use super::one::One; }\n"),
        ("deep::inner::two", "use crate::deep::inner;\nfn f() {\n    inner::one::f()\n}\n"),
        ("deep::inner::two", "use self::super::one;\n"),
        ("deep::other", "use super::inner::one::One;\n"),
        ("deep::other", "use crate::deep::deep;\n"),
    ] {
        let mut circular = package(sound.clone());
        circular.files.insert(module.into(), format!("{planted}{}", circular.files[module]));
        let found = circles(&graph(&circular));
        assert!(found.len() == 1 && found[0].contains(&format!("{module} ->")), "{module}, {planted}: {found:?}");
    }
}

#[test]
fn packages_import_only_what_stands_before_them() {
    for (at, package) in packages(&ORDER).iter().enumerate() {
        for (_, later) in &ORDER[at + 1..] {
            for (module, text) in &package.files {
                let named = text.contains(&format!("{later}::"));
                assert!(!named, "{}: {module} imports {later}", package.name);
            }
        }
    }
    let manifest =
        ["src/kernel/Cargo.toml", "src/predict/Cargo.toml"].map(|path| std::fs::read_to_string(path).unwrap()).concat();
    for heavy in ["tch", "rusqlite", "parquet", "clap", "cudarc", "opencl3"] {
        assert!(!manifest.contains(&format!("\n{heavy}")), "seqtune-kernel or seqtune-predict depends on {heavy}");
    }
}
