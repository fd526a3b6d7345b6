//! Datasets: both forms hold the same, and damage is named.

use crate::common::{toy, toy_dataset};
use seqtune_data::packed;
use seqtune_data::recipe::Provenance;
use seqtune_data::{
    Dataset, Header, InvalidityKind, Journal, Measurement, NamedDataset, Outcome, Record, Resources, Table,
};
use seqtune_kernel::Objective;
use seqtune_kernel::{Device, Kernel};
use seqtune_predict::Model;
use seqtune_predict::model::{Part, Split};
use std::io::Write;
use std::path::Path;

fn sample() -> Dataset {
    let mut dataset = toy_dataset(&toy(), [5, 64, 300].into_iter());
    let detail = "line 3: \"unbekannt\"\n\u{2014} end".to_string();
    dataset.records[1].outcome = Outcome::invalid(InvalidityKind::Compile, detail);
    dataset.records[2].observed.resources =
        Some(Resources { registers: 80, local_bytes: 5_632, ..Resources::default() });
    dataset
}

#[test]
fn journal_and_packed_form_convert_into_each_other_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, c) = (folder.path().join("a.jsonl"), folder.path().join("b.sqt"), folder.path().join("c.jsonl"));
    let dataset = sample();
    dataset.save_journal(&a).unwrap();
    let first = Dataset::load(&a).unwrap();
    first.save_packed(&b).unwrap();
    let second = Dataset::load(&b).unwrap();
    second.save_journal(&c).unwrap();
    assert_eq!(second, dataset);
    assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&c).unwrap());
    assert_eq!(second.hash(), dataset.hash());
}

#[test]
fn a_packed_file_of_the_first_version_is_read_and_keeps_its_hash() {
    let shipped = Path::new("datasets/gemm/cpu-xeon-2c.sqt");
    assert!(std::fs::read(shipped).unwrap().starts_with(b"SEQTUNE1"));
    let old = Dataset::load(shipped).unwrap();
    assert_eq!((old.records.len(), old.records[0].observed.resources), (32_000, None));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.sqt");
    old.save_packed(&path).unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(b"SEQTUNE2"));
    let new = Dataset::load(&path).unwrap();
    assert!(new == old && new.hash() == old.hash());
}

#[test]
fn a_hash_names_what_was_measured_and_not_when_or_by_which_command() {
    let dataset = sample();
    let mut again = dataset.clone();
    (again.header.date, again.header.command, again.header.tool) = ("2031-01-01".into(), "else".into(), "9.9".into());
    assert_eq!(again.hash(), dataset.hash());
    let changed = |change: &dyn Fn(&mut Dataset)| {
        let mut other = dataset.clone();
        change(&mut other);
        other.hash()
    };
    assert_ne!(changed(&|d| d.header.device.name += " 2"), dataset.hash());
    assert_ne!(changed(&|d| d.header.space = "0".into()), dataset.hash());
    assert_ne!(changed(&|d| drop(d.records.pop())), dataset.hash());
    assert_ne!(changed(&|d| d.records.swap(0, 1)), dataset.hash());
}

#[test]
fn the_shipped_model_of_gemm_names_the_shipped_sweeps_that_it_learned_from() {
    let hash = |name: &str| Dataset::load(Path::new(&format!("datasets/gemm/{name}.sqt"))).unwrap().hash();
    let model = Model::load(Path::new("models/gemm-cpu")).unwrap();
    assert_eq!(model.meta.data, [hash("cpu-epyc-2c"), hash("cpu-xeon-2c")]);
}

#[test]
fn a_time_that_cannot_be_one_is_refused_with_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let mut dataset = sample();
    for samples in [vec![0.0], vec![-5.0, 1.0, 1.0], vec![f32::NAN, 1.0, 1.0], vec![]] {
        dataset.records[0].outcome = Outcome::Measured(Measurement { samples_us: samples, energy: None });
        std::fs::write(&path, packed::encode(&dataset).unwrap()).unwrap();
        let text = Dataset::load(&path).unwrap_err().to_string();
        assert!(text.ends_with("record 1: a time is not above 0; delete it"), "{text}");
        assert!(dataset.save_packed(&path).is_err(), "what could not be read again is not written");
    }
    dataset.records[0].outcome = Outcome::Measured(Measurement { samples_us: vec![0.0, 1.0, 2.0], energy: None });
    dataset.save_packed(&path).unwrap();
    assert_eq!(Dataset::load(&path).unwrap(), dataset, "a coarse clock finds nothing now and then");
}

#[test]
fn a_truncated_or_damaged_file_is_refused_with_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let text = Dataset::load(&path).unwrap_err().to_string();
        text.replace(&path.display().to_string(), "FILE")
    };
    let dataset = sample();
    dataset.save_packed(&path).unwrap();
    let packed = std::fs::read(&path).unwrap();
    assert_eq!(
        load(&packed[..packed.len() / 2]),
        "FILE: its packed data are truncated or damaged (incomplete deflate stream); fetch it again"
    );
    dataset.save_journal(&path).unwrap();
    let journal = std::fs::read(&path).unwrap();
    let cut = load(&journal[..journal.len() - 10]);
    let last = dataset.records.len() + 1;
    assert_eq!(
        cut,
        format!(
            "FILE: line {last}: the record is cut off; run the sweep again to go on from there, or delete the line"
        )
    );
    let foreign = "FILE: is no dataset: neither a journal (.jsonl) nor a packed one (.sqt)";
    assert_eq!((load(b"").as_str(), load(b"{\"a\": 1}\n").as_str()), (foreign, foreign));
    let twice = [packed.as_slice(), &packed].concat();
    assert_eq!(load(&twice), "FILE: something stands behind the dataset; fetch or make it again");
    let missing = Dataset::load(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.ends_with("no such file or folder"), "{missing}");
}

#[test]
fn a_file_that_is_no_journal_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("note.txt"), folder.path().join("link"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let header = sample().header;
    for note in ["remember the milk", "remember\nthe milk", "{\"format\": 1}\n", "{", "{\"format\":\"seqtune-dataset-2"]
    {
        std::fs::write(&path, note).unwrap();
        for path in [&path, &link] {
            assert!(Journal::open(path, header.clone()).is_err(), "{note}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), note);
    }
    // a journal of a line too few or too many is one all the same
    std::fs::remove_file(&path).unwrap();
    drop(Journal::open(&path, header.clone()).unwrap());
    let begun = std::fs::read_to_string(&path).unwrap();
    let record = serde_json::to_string(&sample().records[0]).unwrap();
    std::fs::write(&path, format!("\u{feff}{begun}\r\n{record}")).unwrap();
    let mut journal = Journal::open(&path, header).unwrap();
    journal.append(sample().records[1].clone()).unwrap();
    drop(journal);
    assert_eq!(Dataset::load(&path).unwrap().records, sample().records[..2]);
}

#[test]
fn a_journal_cuts_off_a_torn_line_and_refuses_another_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let dataset = sample();
    let mut journal = Journal::open(&path, dataset.header.clone()).unwrap();
    for record in &dataset.records[..3] {
        journal.append(record.clone()).unwrap();
    }
    let locked = Journal::open(&path, dataset.header.clone()).err().unwrap().to_string();
    assert!(locked.contains("another sweep is writing it"), "{locked}");
    drop(journal);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"problem\":\"M=5\",\"conf").unwrap();
    drop(file);
    let mut journal = Journal::open(&path, dataset.header.clone()).unwrap();
    assert_eq!(journal.dataset.records, dataset.records[..3]);
    journal.append(dataset.records[3].clone()).unwrap();
    drop(journal);
    assert_eq!(Dataset::load(&path).unwrap().records, dataset.records[..4]);
    let mut other = dataset.header.clone();
    other.seed = 7;
    let refused = Journal::open(&path, other).err().unwrap().to_string();
    assert!(refused.contains("was begun with seed 1, not 7"), "{refused}");
    // one in which nothing was measured yet is begun anew
    let empty = folder.path().join("empty.jsonl");
    drop(Journal::open(&empty, dataset.header.clone()).unwrap());
    let mut header = dataset.header.clone();
    header.seed = 7;
    let mut journal = Journal::open(&empty, header.clone()).unwrap();
    journal.append(dataset.records[0].clone()).unwrap();
    drop(journal);
    let found = Dataset::load(&empty).unwrap();
    assert_eq!((found.header, found.records.len()), (header, 1));
}

#[test]
fn a_journal_that_ends_is_free_although_a_forked_process_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let journal = Journal::open(&path, sample().header).unwrap();
    // what a fork between threads inherits until it becomes another program, or for as long as it lives
    let inherited = crate::common::inherited(&path);
    assert!(!inherited.is_empty());
    assert!(Journal::open(&path, sample().header).is_err());
    drop(journal);
    Journal::open(&path, sample().header).unwrap();
}

#[test]
fn a_table_refuses_data_of_another_kernel_or_space_and_names_an_unreadable_record() {
    let kernel = toy();
    let named = |d: Dataset| [NamedDataset::new("data.sqt", d)];
    let mut dataset = sample();
    dataset.header.kernel = "gemm".into();
    let e = Table::new(&kernel, &named(dataset)).unwrap_err().to_string();
    assert_eq!(e, "data.sqt: holds kernel gemm, not toy");
    let mut dataset = sample();
    dataset.header.space = "0".into();
    let e = Table::new(&kernel, &named(dataset)).unwrap_err().to_string();
    assert!(e.starts_with("data.sqt: was measured with another version of kernel toy"), "{e}");
    let mut dataset = sample();
    dataset.records[2].config = "tile=3,local=0,width=1".into();
    let e = Table::new(&kernel, &named(dataset)).unwrap_err().to_string();
    assert!(e.starts_with("data.sqt, record 3: config `tile=3,local=0,width=1`: tile=3 is not one of"), "{e}");
}

#[test]
fn data_of_cuda_and_hip_are_of_what_these_compile_of_a_source() {
    let kernel = Kernel::open("gemm").unwrap();
    let described = Device::find_described("H200").unwrap();
    let header = |driver: &str| {
        let device = Device { driver: driver.into(), ..described.clone() };
        Header::new(&kernel, &device, 1, Provenance::Described(String::new()), String::new())
    };
    let (opencl, cuda) = (header("OpenCL 3.0 CUDA 13.0, driver 580.1"), header("CUDA 13.0"));
    let shipped = Dataset::load(Path::new("datasets/gemm/cpu-epyc-2c.sqt")).unwrap();
    assert_eq!(kernel.identity(false).older, shipped.header.space);
    assert_eq!((header("").space, header("HIP 7.0.0").space), (opencl.space.clone(), cuda.space.clone()));
    assert_ne!(cuda.space, opencl.space);
    let is_known = |space: &str| kernel.has_space(space, None);
    assert!(is_known(&cuda.space) && is_known(&opencl.space) && !is_known("0"));
    let read = |header: &Header, space: &str| {
        let header = Header { space: space.into(), identity: None, ..header.clone() };
        Table::new(&kernel, &[NamedDataset::new("data.sqt", Dataset { header, records: Vec::new() })])
    };
    assert!(read(&cuda, &cuda.space).is_ok() && read(&opencl, &opencl.space).is_ok());
    assert!(read(&cuda, &opencl.space).is_err() && read(&opencl, &cuda.space).is_err());
    let both =
        [&cuda, &opencl].map(|h| NamedDataset::new("data.sqt", Dataset { header: h.clone(), records: Vec::new() }));
    let refused = Table::new(&kernel, &both).unwrap_err().to_string();
    assert!(refused.contains("these compile different programs of kernel gemm"), "{refused}");
    // where a source says nothing to them alone, there is one space
    let plain = Kernel::open("conv2d").unwrap();
    assert_eq!(plain.space_hash_on(&cuda.device), plain.space_hash());
}

#[test]
fn the_split_is_by_shape_and_the_same_everywhere() {
    let split = Split { seed: 1, test: 0.2, validation: 0.1, from: 0.0 };
    let parts: Vec<Part> = (0..2_000).map(|i| split.part(&format!("M={i}"))).collect();
    let share = |part| parts.iter().filter(|p| **p == part).count() as f64 / 2_000.0;
    assert!((share(Part::Test) - 0.2).abs() < 0.03 && (share(Part::Validation) - 0.1).abs() < 0.03);
    // golden: a change would leak test shapes of shipped models into training
    let golden: Vec<Part> = ["M=1,N=1,K=1", "M=512,N=512,K=512", "M=7"].iter().map(|s| split.part(s)).collect();
    insta::assert_debug_snapshot!(golden);
}

#[test]
fn costs_follow_the_objective_and_leave_out_what_was_not_measured() {
    let kernel = toy();
    let table = Table::new(&kernel, &[NamedDataset::new("d", sample())]).unwrap();
    let tried = &table.problems[0];
    let times = tried.costs(Objective::Time);
    assert_eq!(times.len(), tried.results.len() - 1, "a failed config has no cost");
    assert!(times.is_sorted_by(|a, b| a.cost <= b.cost));
    assert!(tried.costs(Objective::Energy).is_empty(), "no energy was measured");
    let _ = Record {
        problem: "".into(),
        config: "".into(),
        outcome: tried.results[0].outcome.clone(),
        observed: Default::default(),
    };
}

#[test]
fn labels_that_pandas_reads_as_missing_are_named_where_a_table_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = 'lab'\nmeaning = 'labels'\nfield = [{ name = 'M', kind = 'size', min = 1, max = 9, shape = true, meaning = 'size' }]\n\
                parameter = [{ name = 'evict', labels = ['None', 'first', 'NA'], default = 'first', meaning = 'policy' },\n\
                 { name = 'b', values = [0, 1], default = 0, meaning = 'b' }, { name = 'c', values = [1, 2], default = 1, meaning = 'c' }]\n\
                work = { flops = 'M', bytes = 'M' }\n";
    let kernel = folder.path().join("lab");
    std::fs::create_dir(&kernel).unwrap();
    crate::common::write(&kernel, "kernel.toml", text.as_bytes());
    let opened = Kernel::open(kernel.to_str().unwrap()).unwrap();
    let journal = folder.path().join("lab.jsonl");
    toy_dataset(&opened, [5].into_iter()).save_journal(&journal).unwrap();
    for (kind, names_them) in [("csv", true), ("parquet", false)] {
        let output = folder.path().join(format!("lab.{kind}"));
        let words = [
            "export",
            kind,
            journal.to_str().unwrap(),
            "--kernel",
            kernel.to_str().unwrap(),
            "-o",
            output.to_str().unwrap(),
        ];
        let (out, err, code) = crate::common::run(&words);
        assert_eq!((code, err.contains("`NA`, `None` as missing")), (0, names_them), "{out}{err}");
    }
}
