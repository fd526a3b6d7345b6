//! Versions of a kernel: what changes nothing, what is named where it differs, and what is carried over.

use crate::common::{run, write};
use seqtune_data::recipe::Provenance;
use seqtune_data::version::carry_over;
use seqtune_data::{
    Dataset, Header, Invalidity, InvalidityKind, Journal, Measurement, NamedDataset, Outcome, Record, Table,
};
use seqtune_kernel::{Device, Kernel, ruled_out};
use seqtune_predict::Model;
use seqtune_predict::features::Featurizer;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A kernel of one parameter, with every part that may change.
const BEFORE: &str = r#"name = "scale"
meaning = "Scaling"
[[field]]
name = "N"
kind = "size"
min = 1
max = 100000
meaning = "length"
shape = true
[define]
most = "4 * N"
unused = "N + 1"
[[parameter]]
name = "TILE"
values = [1, 2, 4, 8]
default = 1
meaning = "elements of a work-item"
[[constraint]]
expr = "TILE <= N"
reason = "no work-item may be idle"
[[constraint]]
expr = "TILE * 4 <= most"
reason = "registers"
[program]
file = "scale.cl"
entry = "scale"
global = ["cdiv(N, TILE)"]
local = ["1"]
[reference]
file = "reference.cl"
entry = "reference"
global = ["N"]
local = []
[[argument]]
name = "N"
kind = "int"
value = "N"
[[argument]]
name = "y"
kind = "out"
length = "N"
element = "4"
[work]
flops = "N"
bytes = "4 * N"
tolerance = "0"
"#;

const SOURCE: &str =
    "// scales\nkernel void scale(int N, global float *y) { y[get_global_id(0)] = 2 * N; /* \"x\" */ }\n";

/// A parameter that came later, with the value that stands for the program without it.
const VECTOR: &str = "[[parameter]]\nname = \"V\"\nvalues = [1, 2, 4]\ndefault = 2\nbefore = 1\nmeaning = \"width\"\n[[constraint]]\nexpr = \"V * TILE <= 4\"\nreason = \"registers\"\n";

fn files(toml: &str, source: &str, reference: &str) -> BTreeMap<String, String> {
    let file = |name: &str, text: &str| (name.to_string(), text.to_string());
    [file("kernel.toml", toml), file("scale.cl", source), file("reference.cl", reference)].into()
}

fn kernel(toml: &str, source: &str) -> Kernel {
    Kernel::from_files(files(toml, source, "kernel void reference() {}"), "scale/kernel.toml").unwrap()
}

/// Every config of two sizes, measured with a kernel of one parameter.
fn dataset(kernel: &Kernel) -> Dataset {
    let device = Device::find_described("A100").unwrap();
    let header = Header::new(kernel, &device, 1, Provenance::Described("made up".into()), "test".into());
    let record = |n: usize, tile: usize| Record {
        problem: format!("N={n}").into(),
        config: format!("TILE={tile}").into(),
        outcome: match tile {
            2 => Outcome::Invalid(Invalidity::new(InvalidityKind::Compile, "no")),
            _ => Outcome::Measured(Measurement { samples_us: vec![(n / tile) as f32], energy: None }),
        },
        observed: Default::default(),
    };
    let records = [64, 128].into_iter().flat_map(|n| [1, 2, 4, 8].map(|tile| record(n, tile))).collect();
    Dataset { header, records }
}

fn read(kernel: &Kernel, dataset: &Dataset) -> Result<Table, String> {
    Table::new(kernel, &[NamedDataset::new("old.jsonl", dataset.clone())]).map_err(|e| e.to_string())
}

#[test]
fn comments_white_space_and_words_leave_a_kernel_what_it_was() {
    let before = kernel(BEFORE, SOURCE);
    let toml = BEFORE
        .replace("Scaling", "Another meaning")
        .replace("no work-item may be idle", "another reason")
        .replace("\"TILE <= N\"", "\" TILE<=N \" # a comment")
        .replace("unused = \"N + 1\"", "unused = \"N + 2\"")
        .replace("cdiv(N, TILE)", "cdiv( N,TILE )");
    let source =
        "/* scales,\n   twice */\nkernel void scale( int N, global float * y )\n{\n\ty[get_global_id(0)]=2*N;\n}";
    let after = kernel(&toml, source);
    assert_eq!(after.space_hash(), before.space_hash());
    assert!(read(&after, &dataset(&before)).is_ok());
    // in quotes it is text
    let quoted = kernel(BEFORE, &SOURCE.replace("2 * N;", "2 * N; char *s = \"// a\";"));
    let other = kernel(BEFORE, &SOURCE.replace("2 * N;", "2 * N; char *s = \"// b\";"));
    assert_ne!(quoted.space_hash(), other.space_hash());
}

#[test]
fn what_differs_is_named() {
    let data = dataset(&kernel(BEFORE, SOURCE));
    let of = |from: &str, to: &str| {
        assert!(BEFORE.contains(from), "{from}");
        read(&kernel(&BEFORE.replace(from, to), SOURCE), &data).unwrap_err()
    };
    let cases = [
        (of("values = [1, 2, 4, 8]", "values = [1, 2, 4, 16]"), "parameter TILE was 1, 2, 4, 8 and is 1, 2, 4, 16"),
        (of("TILE <= N", "TILE < N"), "constraint 1 differs (it was `TILE<=N` and is `TILE<N`)"),
        (of("most = \"4 * N\"", "most = \"8 * N\""), "the definition most differs"),
        (of("cdiv(N, TILE)", "cdiv(N, 2 * TILE)"), "the launch of the program differs"),
        (of("element = \"4\"", "element = \"2\""), "the list of arguments differs"),
        (of("tolerance = \"0\"", "tolerance = \"0.1\""), "the tolerance differs"),
        (
            read(&kernel(BEFORE, &SOURCE.replace('2', "3")), &data).unwrap_err(),
            "the source scale.cl differs beyond comments",
        ),
    ];
    for (refused, clause) in cases {
        assert!(refused.starts_with("old.jsonl: was measured with another version of kernel scale"), "{refused}");
        assert!(refused.contains(clause), "{refused}\nlacks: {clause}");
        assert_eq!(refused.matches(" differs").count() + refused.matches(" was 1").count(), 1, "{refused}");
    }
    let reference =
        Kernel::from_files(files(BEFORE, SOURCE, "kernel void reference() { int a; }"), "scale/kernel.toml");
    let refused = read(&reference.unwrap(), &data).unwrap_err();
    assert!(refused.contains("the reference reference.cl differs beyond comments"), "{refused}");
    let field =
        BEFORE.replace("[define]", "[[field]]\nname = \"M\"\nkind = \"size\"\nmax = 9\nmeaning = \"m\"\n[define]");
    let refused = read(&kernel(&field, SOURCE), &data).unwrap_err();
    assert!(refused.contains("field M is new"), "{refused}");
    // what only rates are made of does not concern data
    assert!(read(&kernel(&BEFORE.replace("flops = \"N\"", "flops = \"2 * N\""), SOURCE), &data).is_ok());
}

#[test]
fn data_of_before_are_known_by_their_digest_and_else_by_their_names() {
    let before = kernel(BEFORE, SOURCE);
    let mut data = dataset(&before);
    data.header.space = before.identity(false).older.clone();
    data.header.identity = None;
    assert!(read(&before, &data).is_ok());
    let refused = read(&kernel(&(BEFORE.to_string() + VECTOR), SOURCE), &data).unwrap_err();
    assert!(refused.contains("parameter V is new; what else differs was not recorded"), "{refused}");
    // once recorded, comments may change
    let recorded = carry_over(&before, &data).unwrap().dataset;
    assert_eq!(recorded.hash(), data.hash(), "what was measured is the same");
    let commented = kernel(BEFORE, &format!("// more\n{SOURCE}"));
    assert!(read(&commented, &data).is_err() && read(&commented, &recorded).is_ok());
}

#[test]
fn data_are_carried_over_by_the_value_that_stands_for_the_old_program() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let before = kernel(BEFORE, SOURCE);
    dataset(&before).save_journal(Path::new(&place("old.jsonl"))).unwrap();
    let (new, source) = (BEFORE.to_string() + VECTOR, SOURCE.replace("2 * N", "V * N"));
    std::fs::create_dir(place("scale")).unwrap();
    for (name, text) in files(&new, &source, "kernel void reference() {}") {
        write(&folder.path().join("scale"), &name, text.as_bytes());
    }
    let after = Kernel::open(&place("scale")).unwrap();
    let refused = read(&after, &dataset(&before)).unwrap_err();
    assert!(
        refused.contains("parameter V is new; constraint 3 is new (`V*TILE<=4`); the source scale.cl differs"),
        "{refused}"
    );
    assert!(refused.contains("seqtune export dataset old.jsonl --kernel FOLDER -o NEW`, which sets V=1"), "{refused}");

    let (out, err, code) =
        run(&["export", "dataset", &place("old.jsonl"), "--kernel", &place("scale"), "-o", &place("new.jsonl")]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("V=1 in every config") && err.contains("registers"), "{err}");
    assert!(out.contains("6 records"), "{out}");
    let carried = Dataset::load(Path::new(&place("new.jsonl"))).unwrap();
    assert_eq!((carried.header.carried.len(), &*carried.header.carried[0].set), (1, "V=1"));
    assert!(carried.records.iter().all(|r| r.config.ends_with("V=1")), "{:?}", carried.records[0].config);
    let table = read(&after, &carried).unwrap();
    assert_eq!(table.records(), 6, "of TILE=8 nothing is legal any more");
    // a sweep of the new version goes on in it
    let header = Header::new(&after, &carried.header.device, 1, carried.header.provenance.clone(), String::new());
    drop(Journal::open(Path::new(&place("new.jsonl")), header).unwrap());

    let without = kernel(&new.replace("before = 1\n", ""), &source);
    let refused = carry_over(&without, &dataset(&before)).err().unwrap().to_string();
    assert!(refused.contains("parameter V is new, and kernel.toml does not state"), "{refused}");
    let other = kernel(BEFORE, &source);
    let refused = carry_over(&other, &dataset(&before)).err().unwrap().to_string();
    assert!(refused.contains("the source scale.cl differs") && refused.contains("measure again"), "{refused}");
    let of_numbers = new.replace("kind = \"size\"\nmin = 1\nmax = 100000", "kind = \"real\"");
    let asked = kernel(&of_numbers, &source);
    let refused = carry_over(&asked, &dataset(&before)).err().unwrap().to_string();
    assert!(refused.contains("cannot be carried over: field N was a size"), "{refused}");
}

#[test]
fn a_sweep_goes_on_after_a_comment_changed_and_not_after_a_constraint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let before = kernel(BEFORE, SOURCE);
    let data = dataset(&before);
    let header =
        |kernel: &Kernel| Header::new(kernel, &data.header.device, 1, data.header.provenance.clone(), String::new());
    let commented = kernel(BEFORE, &format!("// more\n{SOURCE}"));
    data.save_journal(&path).unwrap();
    assert_eq!(Journal::open(&path, header(&commented)).unwrap().dataset.records.len(), 8);
    let changed = kernel(&BEFORE.replace("TILE <= N", "TILE < N"), SOURCE);
    let refused = Journal::open(&path, header(&changed)).err().unwrap().to_string();
    assert!(refused.contains("was begun with another version of kernel scale: constraint 1 differs"), "{refused}");
    // a journal of before goes on as long as the texts are the same
    let mut old = data.clone();
    (old.header.space, old.header.identity) = (before.identity(false).older.clone(), None);
    old.save_journal(&path).unwrap();
    assert_eq!(Journal::open(&path, header(&before)).unwrap().dataset.records.len(), 8);
    assert!(Journal::open(&path, header(&commented)).is_err());
    // and old and new journals merge
    let both = [NamedDataset::new("a", old), NamedDataset::new("b", Dataset { records: Vec::new(), ..data })];
    assert_eq!(seqtune_data::merge::merge(&both).unwrap().dataset.records.len(), 8);
}

#[test]
fn a_model_serves_a_kernel_whose_comments_changed_and_names_what_else_did() {
    let model = Model::load(Path::new("models/softmax-cpu"));
    let shipped = Kernel::open("softmax").unwrap();
    let model = model.unwrap();
    let edited = |file: &str, from: &str, to: &str| {
        let mut files = shipped.files.clone();
        let text = files.get_mut(file).unwrap();
        assert!(text.contains(from), "{from}");
        *text = text.replacen(from, to, 1);
        Kernel::from_files(files, "softmax/kernel.toml").unwrap()
    };
    let commented = edited("softmax.cl", "\n", " // another comment\n");
    let mut vocab = model.meta.vocab.clone();
    assert!(Featurizer::new(&Arc::new(vocab.clone()), &shipped).is_ok());
    let refused = Featurizer::new(&Arc::new(vocab.clone()), &commented).err().unwrap().to_string();
    assert!(refused.contains("what differs was not recorded"), "{refused}");
    let of = vocab.kernels.iter_mut().find(|k| k.kernel == "softmax").unwrap();
    of.identity = Some(shipped.identity(false).clone());
    let vocab = Arc::new(vocab);
    assert!(Featurizer::new(&vocab, &commented).is_ok());
    let flops = edited("kernel.toml", "flops = \"", "flops = \"2 * ");
    let refused = Featurizer::new(&vocab, &flops).err().unwrap().to_string();
    assert!(refused.contains("the work (flops, bytes) differs") && refused.contains("on the same data"), "{refused}");
    let code = edited("softmax.cl", "{", "{ int more = 1;");
    let refused = Featurizer::new(&vocab, &code).err().unwrap().to_string();
    assert!(refused.contains("differs") && refused.contains("sweep and train again"), "{refused}");
}

#[test]
fn constraints_that_leave_nothing_are_named_with_what_they_read() {
    let device = Device::find_described("A100").unwrap();
    let alone = kernel(&BEFORE.replace("TILE <= N", "TILE > N"), SOURCE);
    let problem = |kernel: &Kernel| kernel.problem("N=64").unwrap();
    let why = ruled_out(&alone, &problem(&alone), &device).unwrap();
    assert_eq!(
        why,
        "constraint 1 (no work-item may be idle: TILE > N; TILE from 1 to 8, N=64) rules out every combination"
    );
    let pair = BEFORE.replace("TILE <= N", "TILE >= 4").replace("TILE * 4 <= most", "TILE <= N // 32")
        + "[[constraint]]\nexpr = \"TILE <= max_group_items\"\nreason = \"the device\"\n";
    let together = kernel(&pair, SOURCE);
    let why = ruled_out(&together, &problem(&together), &device).unwrap();
    assert!(why.starts_with("constraints 1 (") && why.contains(" and 2 (registers: TILE <= N // 32;"), "{why}");
    assert!(why.ends_with("together rule out every combination") && !why.contains("the device"), "{why}");
    assert_eq!(ruled_out(&kernel(BEFORE, SOURCE), &problem(&alone), &device), None);

    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files(&pair, SOURCE, "kernel void reference() {}") {
        write(folder.path(), &name, text.as_bytes());
    }
    let place = folder.path().display().to_string();
    let (out, err, code) = run(&["space", &place, "N=64", "--device", "A100"]);
    assert!(code == 0 && out.contains("0 of 4 combinations are legal") && out.contains(&why), "{out}{err}");
    let (out, _, _) = run(&["space", &place, "N=64", "--device", "A100", "--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap()["ruled_out"], why.as_str());
}
