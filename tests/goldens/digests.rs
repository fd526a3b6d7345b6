//! Digests by which files know kernels, models and plans: those that stand in `tests/goldens/digests.txt`, byte by byte.
//!
//! A digest that changes orphans every dataset, model and journal that records it. `UPDATE_GOLDENS=1` writes the file anew.

use super::{golden, is_update, root, seqtune};
use seqtune_kernel::Kernel;
use seqtune_kernel::canonical::VERSION;
use seqtune_predict::Model;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# By which digests files know what is shipped; src/kernel/canonical.rs has the encoding that they are taken of.
# kernel or folder: language, digest, digest of files of before, digest of the whole record
# model: digest
# plan: words of the sweep, digest
";

/// Kernels in folders of the repository that are not inside the program.
const FOLDERS: [&str; 5] = [
    "examples/programs/openmp",
    "examples/programs/python",
    "examples/programs/sqlite",
    "examples/triton",
    "src/predict/toy",
];

fn identities(name: &str) -> String {
    let kernel = Kernel::open(name).unwrap();
    let line = |(language, whole): (&str, bool)| {
        let identity = kernel.identity(whole);
        let record = Sha256::digest(serde_json::to_string(identity).unwrap());
        let record: String = record[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name}: {language} {} {} {record}\n", identity.digest(), identity.older)
    };
    [("opencl", false), ("cpp", true)].map(line).concat()
}

/// Model files in a folder and those in it, in the order of their names.
fn models(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let is_model = |path: &PathBuf| path.extension().is_some_and(|end| end == "safetensors");
    let inside =
        |path: PathBuf| if path.is_dir() { models(&path) } else { Vec::from_iter([path].into_iter().filter(is_model)) };
    entries.into_iter().flat_map(inside).collect()
}

/// The plan's digest in the header of a shard's journal.
fn plan(words: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("plan.jsonl");
    let start = "SEQTUNE_FAKE= sweep gemm --device fake --problems M=64,N=64,K=64 M=100,N=7,K=3 --shard 1/1 -o";
    let all = start.split(' ').chain([journal.to_str().unwrap()]).chain(words.split(' '));
    let (_, err, code) = seqtune(&all.map(String::from).collect::<Vec<_>>(), "");
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(folder.path().join("plan.1-of-1.jsonl")).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    format!("plan {words}: {}\n", header["shard"]["plan"].as_str().unwrap())
}

#[test]
fn digests_of_all_that_is_shipped_are_what_they_were() {
    let mut found = format!("{HEAD}encoding {VERSION}\n");
    let mut shipped = Kernel::all_shipped();
    shipped.sort();
    shipped.iter().for_each(|name| found += &identities(name));
    FOLDERS.iter().for_each(|folder| found += &identities(folder));
    for path in models(&root().join("models")).into_iter().chain(models(&root().join("src/predict/toy/model"))) {
        let model = Model::load(&path).unwrap();
        writeln!(found, "model {}: {}", path.strip_prefix(root()).unwrap().display(), model.training_digest()).unwrap();
    }
    found += &plan("--sample 2");
    found += &plan("--sample 3 --pool 4 --fresh 0.25 --seed 9");
    found += &plan("--sample 3 --guided models/gemm-cpu");
    if is_update() {
        return std::fs::write(golden("digests.txt"), found).unwrap();
    }
    let wanted = std::fs::read_to_string(golden("digests.txt")).unwrap();
    let differs = wanted.lines().zip(found.lines()).find(|(wanted, found)| wanted != found);
    assert_eq!(differs, None, "a digest has changed");
    assert_eq!(wanted.lines().count(), found.lines().count(), "something is new or gone");
}
