//! Files of Kernel Tuner, KTT and in the T4 format as people have them, and our exports on their way back.

use crate::common::{run, write};
use seqtune_data::recipe::Provenance;
use seqtune_data::{Dataset, Energy, Header, InvalidityKind, Measurement, Outcome, Record};
use seqtune_kernel::{Device, Kernel};
use std::path::Path;

const VEC: &str = r#"
name = "vec"
meaning = "z = x + y"
field = [{ name = "n", kind = "size", min = 1, max = 1000000000, shape = true, meaning = "elements" }]
parameter = [{ name = "block", values = [32, 64, 128, 256], default = 128, meaning = "threads" }]
work = { flops = "n", bytes = "12 * n" }
"#;

/// A kernel whose names are those of columns, whose values are texts, and whose problems have more than sizes.
const ODD: &str = r#"
name = "odd"
meaning = "a kernel of odd names"
field = [
    { name = "n", kind = "size", min = 1, max = 1000, shape = true, meaning = "elements" },
    { name = "samples", kind = "choice", labels = ["A+1", "A-1", "A_1"], default = "A-1", meaning = "an odd name" },
]
parameter = [
    { name = "time", values = [1, 2], default = 1, meaning = "an odd name" },
    { name = "outcome", labels = ["row", "col", "None"], texts = ["-row", "-col", "-none"], default = "row", meaning = "an odd name" },
    { name = "staged", labels = ["False", "True"], default = "False", meaning = "a truth value" },
]
work = { flops = "n", bytes = "n" }
"#;

/// A folder with kernels and files.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("vec", VEC), ("odd", ODD)] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            write(&folder.path().join(name), "kernel.toml", text.as_bytes());
        }
        Place(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        write(self.0.path(), name, text.as_bytes())
    }

    /// Imports files of `vec` into `name`: what it says, and the records.
    fn import(&self, verb: &str, files: &[&str], more: &[&str], name: &str) -> (String, Vec<Record>) {
        let (kernel, out) = (self.path("vec"), self.path(name));
        let args = ["import", verb, "--kernel", &kernel, "-o", &out, "--overwrite"];
        let (told, err, code) = run(&[&args[..], files, more].concat());
        assert_eq!(code, 0, "{told}{err}");
        (told + &err, Dataset::load(Path::new(&out)).unwrap().records)
    }

    /// The sentence that refuses an import of files of `vec`.
    fn refused(&self, verb: &str, files: &[&str], more: &[&str]) -> String {
        let (kernel, out) = (self.path("vec"), self.path("refused.sqt"));
        let args = ["import", verb, "--kernel", &kernel, "-o", &out];
        let (told, err, code) = run(&[&args[..], files, more].concat());
        assert!(
            code == 2 && err.lines().last().is_some_and(|line| line.starts_with("seqtune: ")),
            "{code} {told}{err}"
        );
        assert!(!Path::new(&out).exists());
        err
    }
}

/// A cache of `vec` with these blocks, each of so many milliseconds.
fn cache(device: &str, kernel: &str, entries: &[(u32, &str)]) -> String {
    let entry = |(block, time): &(u32, &str)| format!("\"{block}\": {{\"block\": {block}, \"time\": {time}}}");
    let entries: Vec<String> = entries.iter().map(entry).collect();
    format!(
        r#"{{"device_name": "{device}", "kernel_name": "{kernel}", "problem_size": 1000, "tune_params_keys": ["block"], "cache": {{{}}}}}"#,
        entries.join(", ")
    )
}

#[test]
fn files_of_two_kernels_or_two_devices_or_of_another_device_than_the_named_one_are_refused() {
    let place = Place::new();
    let one = place.write("one.json", &cache("NVIDIA GeForce RTX 3090", "vec", &[(32, "0.5")]));
    let kernel = place.write("kernel.json", &cache("NVIDIA GeForce RTX 3090", "bwd", &[(64, "0.5")]));
    let device = place.write("device.json", &cache("NVIDIA GeForce RTX 4090", "vec", &[(64, "0.5")]));
    assert!(place.refused("kernel-tuner", &[&one, &kernel], &[]).contains("is of kernel `bwd`"));
    for more in [&[][..], &["--device", "RTX 3090"]] {
        assert!(place.refused("kernel-tuner", &[&one, &device], more).contains("`NVIDIA GeForce RTX 4090`"));
    }
    let named = place.refused("kernel-tuner", &[&one], &["--device", "H100"]);
    assert!(named.contains("was measured on NVIDIA GeForce RTX 3090, and --device names H100"), "{named}");
    let unknown = place.write("unknown.json", &cache("NVIDIA Nothing", "vec", &[(64, "0.5")]));
    let (told, _) = place.import("kernel-tuner", &[&unknown], &["--device", "H100"], "out.sqt");
    assert!(told.contains("warning: ") && told.contains("booked as those of H100"), "{told}");
}

#[test]
fn what_is_there_twice_counts_once_and_what_cannot_be_read_is_named_and_left_out_unless_strict() {
    let place = Place::new();
    let one = place.write("one.json", &cache("NVIDIA T4", "vec", &[(32, "0.5"), (64, "0.25")]));
    let cut =
        place.write("cut.json", &cache("NVIDIA T4", "vec", &[(128, "0.5"), (256, "0.375")]).replace("375}}}", "3"));
    let (told, records) = place.import("kernel-tuner", &[&one, &one], &[], "out.sqt");
    assert!(told.contains("2 records") && records.len() == 2, "{told}");
    assert!(told.contains("left out, 2 configs: the same as an earlier one"), "{told}");
    let later = place.write("later.json", &cache("NVIDIA T4", "vec", &[(32, "0.75"), (64, "0.25")]));
    let (told, records) = place.import("kernel-tuner", &[&one, &later], &[], "out.sqt");
    assert!(told.contains("measured again, 1 config: the times stand beside"), "{told}");
    assert!(told.contains("left out, 1 config: the same as an earlier one") && records.len() == 2, "{told}");
    let junk = place.write("junk.json", "nothing");
    let (told, records) = place.import("kernel-tuner", &[&one, &junk, &cut, "missing.json"], &[], "out.sqt");
    assert!(told.contains("junk.json: is no cache file") && told.contains("missing.json: no such file"), "{told}");
    assert!(told.contains("left out, 1 row: is cut off") && told.contains("cut.json, entry 256"), "{told}");
    assert_eq!(records.len(), 3);
    for file in [&junk, &cut] {
        assert!(place.refused("kernel-tuner", &[&one, file], &["--strict"]).contains("--strict"));
    }
    assert!(place.refused("kernel-tuner", &[&junk], &[]).contains("is no object of JSON"));
    let none = place.write("none.json", &cache("NVIDIA T4", "vec", &[]));
    assert!(place.refused("kernel-tuner", &[&none], &[]).contains("no config could be imported: the files hold none"));
    let none_fits = format!("{VEC}\n[[constraint]]\nexpr = \"block > 256\"\nreason = \"none fits\"\n");
    write(&place.0.path().join("vec"), "kernel.toml", none_fits.as_bytes());
    let told = place.refused("kernel-tuner", &[&one], &[]);
    assert!(told.contains("no config could be imported; left out, 2 configs: none fits"), "{told}");
}

#[test]
fn another_name_of_the_kernel_and_another_size_than_the_file_tells_are_told() {
    let place = Place::new();
    let file = place.write("other.json", &cache("NVIDIA T4", "vec_add", &[(32, "0.5")]));
    let (told, records) = place.import("kernel-tuner", &[&file], &["--problem", "n=4000"], "out.sqt");
    assert!(told.contains("of vec (`vec_add` in the files) on T4"), "{told}");
    assert!(told.contains("tells the problem n=1000; its records are booked as those of n=4000"), "{told}");
    assert_eq!(&*records[0].problem, "n=4000");
    let (told, _) = place.import("kernel-tuner", &[&file], &["--problem", "n=1000"], "out.sqt");
    assert!(!told.contains("booked"), "{told}");
}

#[test]
fn the_end_of_the_name_decides_the_form_and_names_of_other_forms_are_refused_with_their_verb() {
    let place = Place::new();
    let one = place.write("one.json", &cache("NVIDIA T4", "vec", &[(32, "0.5")]));
    for (name, first) in [("out.sqt", b'S'), ("out.jsonl", b'{')] {
        let (_, records) = place.import("kernel-tuner", &[&one], &[], name);
        assert_eq!((records.len(), std::fs::read(place.path(name)).unwrap()[0]), (1, first));
    }
    for (name, verb) in [("x.csv", "export csv"), ("x.parquet", "export parquet"), ("x.json", "export t4")] {
        let (out, err, code) = run(&["export", "dataset", &place.path("out.sqt"), "-o", &place.path(name)]);
        assert!(code == 2 && err.contains(verb) && !Path::new(&place.path(name)).exists(), "{out}{err}");
        let (out, err, code) = run(&["sweep", &place.path("vec"), "--problems", "n=1", "-o", &place.path(name)]);
        assert!(code == 2 && err.contains(verb), "{out}{err}");
    }
}

#[test]
fn ktts_own_output_is_imported_packed_or_not_and_named_by_the_other_verbs() {
    let place = Place::new();
    let row = |block: u32, status: &str, us: &str| {
        format!(
            r#"{{"Configuration": [{{"Name": "block", "Value": {block}, "ValueType": "UnsignedInt"}}], "KernelName": "vec", "Status": "{status}", "TotalDuration": {us}}}"#
        )
    };
    let rows =
        [row(32, "Ok", "96.5"), row(64, "ComputationFailed", "0.0"), row(128, "Ok", "0.0"), row(256, "Ok", "38")];
    let text = format!(
        r#"{{"Metadata": {{"Device": "NVIDIA GeForce RTX 3090", "TimeUnit": "Microseconds"}}, "Results": [{}]}}"#,
        rows.join(",")
    );
    let file = place.write("TuningOutput.json", &text);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let packed = write(place.0.path(), "packed", &packed.finish().unwrap());
    for file in [&file, &packed] {
        let (told, records) = place.import("ktt", &[file], &["--problem", "n=1048576"], "out.sqt");
        assert!(told.contains("left out, 1 row: a time is not above 0"), "{told}");
        let times: Vec<Option<f64>> = records.iter().map(|record| record.outcome.time_us()).collect();
        assert_eq!(times, [Some(96.5), None, Some(38.0)]);
    }
    for verb in ["kernel-tuner", "t4"] {
        assert!(place.refused(verb, &[&file], &["--problem", "n=1"]).contains("`seqtune import ktt` reads"));
    }
    let xz = write(place.0.path(), "f.xz", b"\xfd7zXZ\0rest");
    assert!(place.refused("ktt", &[&xz], &["--problem", "n=1"]).contains("is an xz file; unpack it first (xz -d)"));
}

/// A dataset of `odd` on a T4 with a time, energy, failures of every kind and two problems.
fn odd(place: &Place) -> Dataset {
    let kernel = Kernel::open(&place.path("odd")).unwrap();
    let device = Device::find_described("T4").unwrap();
    let provenance = Provenance::Imported { tool: "nobody".into(), files: Vec::new() };
    let header = Header::new(&kernel, &device, 0, provenance, "a test".into());
    let mut records = Vec::new();
    let kinds = [
        InvalidityKind::Constraints,
        InvalidityKind::Compile,
        InvalidityKind::Runtime,
        InvalidityKind::Timeout,
        InvalidityKind::Correctness,
    ];
    for samples in ["A+1", "A-1", "A_1"] {
        let problem = kernel.show_problem(&kernel.problem(&format!("n=7,samples={samples}")).unwrap());
        for time in [1, 2] {
            for (at, outcome) in ["row", "col", "None"].iter().enumerate() {
                let config = format!("time={time},outcome={outcome},staged={}", if at == 0 { "True" } else { "False" });
                let outcome = match records.len() % 7 {
                    failed @ 0..5 => Outcome::invalid(kinds[failed], format!("failed, \"{failed}\"")),
                    _ => Outcome::Measured(Measurement {
                        samples_us: vec![9.3, 1.1 * time as f32, 2.7],
                        energy: (at == 1).then_some(Energy { joules: 0.0003, half_width: 0.0, idle_watts: 0.0 }),
                    }),
                };
                let (problem, config) = (problem.as_str().into(), config.into());
                records.push(Record { problem, config, outcome, observed: Default::default() });
            }
        }
    }
    Dataset { header, records }
}

#[test]
fn what_is_exported_is_imported_again_every_sample_failure_joule_and_field_of_it() {
    let place = Place::new();
    let dataset = odd(&place);
    let (own, kernel) = (place.path("own.jsonl"), place.path("odd"));
    dataset.save_journal(Path::new(&own)).unwrap();
    let caches = place.path("caches");
    let (out, err, code) = run(&["export", "kernel-tuner", &own, "--kernel", &kernel, "-o", &caches]);
    assert!(code == 0 && out.contains("18 records of odd in 3 cache files"), "{out}{err}");
    let mut files: Vec<String> =
        std::fs::read_dir(&caches).unwrap().map(|f| f.unwrap().path().display().to_string()).collect();
    files.sort();
    let names: Vec<&str> = files.iter().map(|file| file.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["n7.json", "n7_samplesA_1-2.json", "n7_samplesA_1.json"]);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(text.contains("\"parameter_time\":1") && text.contains("\"time\":0.00"), "{text}");
    let sorted = |records: &[Record]| {
        let mut lines: Vec<String> = records.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
        lines.sort();
        lines
    };
    let import = |verb: &str, files: &[String]| {
        let out = place.path("back.sqt");
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let args = ["import", verb, "--kernel", &kernel, "-o", &out, "--overwrite"];
        let (told, err, code) = run(&[&args[..], &files].concat());
        assert_eq!(code, 0, "{told}{err}");
        Dataset::load(Path::new(&out)).unwrap().records
    };
    assert_eq!(sorted(&import("kernel-tuner", &files)), sorted(&dataset.records));
    let problems = ["A+1", "A-1", "A_1"].map(|samples| format!("n=7,samples={samples}"));
    let mut back = Vec::new();
    for problem in &problems {
        let t4 = place.path("t4.json");
        let (out, err, code) =
            run(&["export", "t4", &own, "--kernel", &kernel, "--problem", problem, "-o", &t4, "--overwrite"]);
        assert!(code == 0 && out.contains("6 records"), "{out}{err}");
        back.extend(import("t4", &[t4]));
    }
    assert_eq!(sorted(&back), sorted(&dataset.records));
    // a problem that is named has to be the one that was exported
    let (_, err, code) = run(&[
        "import",
        "t4",
        &place.path("t4.json"),
        "--kernel",
        &kernel,
        "--problem",
        &problems[0],
        "-o",
        &place.path("x.sqt"),
    ]);
    assert!(code == 2 && err.contains("--problem names"), "{err}");
}

#[test]
fn columns_have_names_of_their_own_in_every_table() {
    let place = Place::new();
    let (own, kernel) = (place.path("own.jsonl"), place.path("odd"));
    odd(&place).save_journal(Path::new(&own)).unwrap();
    let (csv, parquet) = (place.path("o.csv"), place.path("o.parquet"));
    assert_eq!(run(&["export", "csv", &own, "--kernel", &kernel, "-o", &csv]).2, 0);
    assert_eq!(run(&["export", "parquet", &own, "--kernel", &kernel, "-o", &parquet]).2, 0);
    let text = std::fs::read_to_string(&csv).unwrap();
    let expected = "n,field_samples,time,parameter_outcome,staged,outcome,detail,median_us,quartile1_us,quartile3_us,samples,joules,registers,local_bytes,library_us";
    assert_eq!(text.lines().next(), Some(expected));
    let reader = parquet::file::reader::SerializedFileReader::new(std::fs::File::open(&parquet).unwrap()).unwrap();
    let first = reader.into_iter().next().unwrap().unwrap();
    let names: Vec<&str> = first.get_column_iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.join(","), expected);
}

#[test]
fn an_export_by_another_kernel_or_another_version_of_it_is_refused() {
    let place = Place::new();
    let own = place.path("own.jsonl");
    odd(&place).save_journal(Path::new(&own)).unwrap();
    std::fs::create_dir(place.path("other")).unwrap();
    write(
        &place.0.path().join("other"),
        "kernel.toml",
        ODD.replace("values = [1, 2]", "values = [1, 2, 4]").as_bytes(),
    );
    for form in ["csv", "parquet", "kernel-tuner", "t4"] {
        for (kernel, expected) in [("other", "another version of kernel odd"), ("vec", "holds kernel odd, not vec")] {
            let output = place.path(&format!("o.{form}"));
            let (out, err, code) = run(&["export", form, &own, "--kernel", &place.path(kernel), "-o", &output]);
            assert!(code == 2 && err.contains(expected) && !Path::new(&output).exists(), "{out}{err}");
        }
    }
}

#[test]
fn a_field_or_a_range_that_is_given_twice_is_refused() {
    let place = Place::new();
    let twice = "direction=F,N=1,C=64,H=56,W=56,K=64,R=1,S=1";
    for line in [format!("{twice},direction=B"), format!("{twice},K=32")] {
        let lines = place.write("lines.txt", &line);
        let args = ["export", "miopen", "models/miopen/ConvAsm1x1U", &lines, "--device", "MI50"];
        let (out, err, code) = run(&[&args[..], &["-o", &place.path("u.txt")]].concat());
        assert!(code == 2 && err.contains("is given twice"), "{out}{err}");
    }
    let lines = place.write("lines.txt", twice);
    let (out, err, code) = run(&[
        "export",
        "miopen",
        "models/miopen/ConvAsm1x1U",
        &lines,
        "--range",
        "N=1,2",
        "--range",
        "H,N=4",
        "--device",
        "MI50",
        "-o",
        &place.path("u.txt"),
    ]);
    assert!(code == 2 && err.contains("the range of N is given twice"), "{out}{err}");
    let kernel = Kernel::open(&place.path("vec")).unwrap();
    assert!(kernel.problem("n=1,n=2").unwrap_err().to_string().contains("given twice"));
    let problems = [kernel.problem("n=1").unwrap()];
    let range = |least| seqtune_choose::ranges::Range { field: "n".into(), least, greatest: 9 };
    let ranges = [1, 2].map(range);
    let error = seqtune_choose::ranges::Ranges::new(&kernel, &problems, &ranges).unwrap_err().to_string();
    assert!(error.contains("the range of n is given twice"), "{error}");
}

#[test]
fn data_that_stand_for_gigabytes_are_refused_in_time_by_every_reader() {
    let place = Place::new();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for to in [&mut zlib as &mut dyn std::io::Write, &mut gzip] {
        std::io::copy(&mut std::io::Read::take(std::io::repeat(b' '), 80 << 20), to).unwrap();
    }
    let dataset = write(place.0.path(), "d.sqt", &[b"SEQTUNE2", &zlib.finish().unwrap()[..]].concat());
    let cache = write(place.0.path(), "c.json", &gzip.finish().unwrap());
    let (_, err, code) = run(&["export", "csv", &dataset, "-o", &place.path("o.csv")]);
    assert!(code == 2 && err.contains("times as much as its packed data"), "{err}");
    assert!(place.refused("kernel-tuner", &[&cache], &[]).contains("times as much as its packed data"));
}

#[test]
fn autoheuristics_files_are_of_the_device_that_is_named_and_bad_rows_and_files_are_left_out() {
    let place = Place::new();
    let head = r#"{"shared_memory": 166912, "device_capa": [8, 0], "name": "mm", "numerical_features": []}"#;
    let columns = "m,k,n,mat1_dtype,mat2_dtype,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_iscontig,mat2_iscontig,using_tf32,choice,feedback";
    let row = |step: u32, ms: &str| {
        format!(
            "64,32,48,float16,float16,32,1,48,1,True,True,not_float_32,type=triton_BLOCK-M=16_BLOCK-K={step}_BLOCK-N=32_numstages=2_numwarps=2,{ms}"
        )
    };
    let file = place.write("a.txt", &[head, columns, &row(32, "0.5"), &row(16, "0.25"), &row(64, "3e12")].join("\n"));
    let junk = place.write("junk.txt", "nothing");
    let out = place.path("out.sqt");
    let import = |more: &[&str]| run(&[&["import", "autoheuristic", &file, "-o", &out, "--overwrite"], more].concat());
    let (told, err, code) = import(&[&junk]);
    assert!(
        code == 0
            && told.contains("2 records")
            && told.contains("left out, 1 row: ")
            && told.contains("is over thirty days"),
        "{told}{err}"
    );
    assert!(err.contains("junk.txt: is no file of AutoHeuristic"), "{err}");
    assert_eq!(import(&["--device", "A100"]).2, 0);
    let (_, err, code) = import(&["--device", "H100"]);
    assert!(code == 2 && err.contains("tell a device of sm_80 with 166912 bytes, and --device names H100"), "{err}");
    for strict in [&["--strict"][..], &["--strict", &junk]] {
        assert_eq!(import(strict).2, 2);
    }
}
