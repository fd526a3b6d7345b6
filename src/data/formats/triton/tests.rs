//! What is read of Triton's files, in the forms that they have.

use super::*;

const CONFIG: &str = r#"{"kwargs": {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32}, "num_warps": 2, "num_ctas": 1, "num_stages": 2, "maxnreg": null, "pre_hook": null, "ir_override": null}"#;

fn opened(place: &str, text: String) -> OpenedText {
    OpenedText { place: place.into(), text }
}

fn ask(key: &[&str]) -> TritonOptions {
    let set = ["mat1_stride_0=64", "mat1_stride_1=1", "mat2_stride_0=48", "mat2_stride_1=1"];
    let source = |(field, from): (&str, &str)| FieldSource { field: field.into(), from: from.into() };
    let set = set.iter().filter_map(|pair| pair.split_once('=')).map(source).collect();
    let key = key.iter().map(|name| name.to_string()).collect();
    TritonOptions { device: Device::find_described("A100").unwrap(), key, set, command: String::new() }
}

fn triton(key: &str, rows: &[String], names: &[&str]) -> Result<ImportedTriton> {
    let text = format!(r#"{{"key": [{key}], "configs_timings": [{}]}}"#, rows.join(", "));
    import(&Kernel::open("triton_mm").unwrap(), &[opened("a.autotune.json", text)], ask(names))
}

const NAMES: [&str; 5] = ["m", "n", "k", "mat1_dtype", "mat2_dtype"];
const KEY: &str = r#"64, 48, 64, "torch.bfloat16", "torch.bfloat16", "torch.bfloat16""#;

#[test]
fn configs_become_records_with_their_three_times_and_infinite_ones_are_failures() {
    let bigger = CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": 32");
    let beyond = CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": 128");
    let rows = [
        format!("[{CONFIG}, [0.02, 0.019, 0.025]]"),
        format!("[{bigger}, [Infinity, Infinity, Infinity]]"),
        format!("[{beyond}, [0.1, 0.1, 0.1]]"),
        format!("[{CONFIG}, [0.02, 0.019, 0.025]]"),
        format!("[{CONFIG}, [0.03, 0.029, 0.035]]"),
    ];
    let imported = triton(KEY, &rows, &NAMES).unwrap();
    assert_eq!((imported.rows, imported.twice.same, imported.failed, imported.bad.rows()), (5, 1, 1, 0));
    // the file has the config twice: two programs that the kernel cannot tell apart
    assert_eq!(imported.unsaid.0.keys().collect::<Vec<_>>(), ["the file has the config already, with other times"]);
    assert_eq!(imported.left_out.values().sum::<usize>(), 1, "{:?}", imported.left_out);
    let [measured, failed] = &imported.dataset.records[..] else { panic!("{}", imported.dataset.records.len()) };
    assert!(measured.problem.starts_with("m=64,k=64,n=48,") && measured.problem.contains("mat1_dtype=bfloat16"));
    let Outcome::Measured(times) = &measured.outcome else { panic!("measured") };
    assert_eq!(times.samples_us, [20.0, 19.0, 25.0]);
    assert!(matches!(failed.outcome, Outcome::Invalid(_)));
}

#[test]
fn tensors_of_other_data_types_are_refused_where_no_field_tells_them_apart_and_times_of_two_files_are_one_configs() {
    let kernel = Kernel::from_files(BTreeMap::from([("kernel.toml".into(), ACT.into())]), "act").unwrap();
    let import = |keys: [&str; 2]| {
        let file = |(place, (key, ms)): (&str, (&str, f64))| {
            let row = row("128", "\"True\"", "", &ms.to_string());
            opened(place, format!(r#"{{"key": [{key}], "configs_timings": [{row}]}}"#))
        };
        let files: Vec<_> = ["a", "b"].into_iter().zip(keys.into_iter().zip([0.5, 0.75])).map(file).collect();
        let device = Device::find_described("A100").unwrap();
        import(&kernel, &files, TritonOptions { device, key: Vec::new(), set: Vec::new(), command: String::new() })
    };
    let half = r#"4096, "torch.float16""#;
    let told = import([half, r#"8192, "torch.float32""#]).err().unwrap().to_string();
    assert!(
        told.starts_with("b: its tensors are of torch.float32, those of a of torch.float16, and no field"),
        "{told}"
    );
    assert_eq!(import([half, r#"8192, "torch.float16""#]).unwrap().dataset.records.len(), 2);
    let twice = import([half, half]).unwrap();
    assert_eq!((twice.dataset.records.len(), twice.twice), (1, Twice { same: 0, again: 1 }));
    let Outcome::Measured(times) = &twice.dataset.records[0].outcome else { panic!("measured") };
    assert_eq!(times.samples_us, [500.0, 750.0]);
}

#[test]
fn rows_that_cannot_be_read_are_counted_and_files_and_keys_of_another_kind_refused() {
    let rows = [
        CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": \"x\""),
        CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": 17"),
        CONFIG.replace("\"num_ctas\": 1", "\"num_ctas\": \"x\""),
        CONFIG.replace("kwargs", "keywords"),
    ];
    let rows: Vec<String> = rows.iter().map(|config| format!("[{config}, [0.1]]")).collect();
    let more = ["[]".to_string(), format!("[{CONFIG}, [0.0, 0.0]]"), format!("[{CONFIG}, [\"soon\"]]")];
    let imported = triton(KEY, &[&rows[..], &more].concat(), &NAMES).unwrap();
    assert_eq!(
        (imported.bad.rows(), imported.unsaid.rows(), imported.dataset.records.len()),
        (6, 1, 0),
        "{:?}",
        imported.bad
    );
    let wrong = |key: &str, names: &[&str]| triton(key, &rows, names).err().unwrap().to_string();
    assert!(wrong("1, 2, 3, 4", &["m", "n"]).contains("`3` is no tensor's data type"));
    assert!(wrong("1", &["m", "n"]).contains("has 1 entries, --key names 2"));
    assert!(wrong("1", &["rows"]).contains("no field `rows` (it has m, k, n"));
    assert!(wrong("1", &["m", "m"]).contains("given twice"));
    let import = |text: &str| {
        let file = [opened("a.json", text.to_string())];
        import(&Kernel::open("triton_mm").unwrap(), &file, ask(&[])).err().unwrap().to_string()
    };
    assert!(import("{").starts_with("a.json: is no autotune.json of Triton's"));
    assert!(import("[1]").contains("it has no configs_timings"));
}

#[test]
fn tensors_that_a_choice_brings_or_leaves_out_are_of_other_types_with_it() {
    let text = ACT.replace(
        "field = [",
        r#"field = [{ name = "HAS_BIAS", kind = "choice", labels = ["False", "True"], meaning = "x" },"#,
    );
    let kernel = Kernel::from_files(BTreeMap::from([("kernel.toml".into(), text)]), "act").unwrap();
    let import = |keys: &[&str]| {
        let file = |(at, key): (usize, &&str)| {
            let row = row("128", "\"True\"", "", "0.5");
            opened(&format!("{at}"), format!(r#"{{"key": [{key}], "configs_timings": [{row}]}}"#))
        };
        let files: Vec<_> = keys.iter().enumerate().map(file).collect();
        let (device, key) = (Device::find_described("A100").unwrap(), vec!["n".into(), "HAS_BIAS".into()]);
        super::import(&kernel, &files, TritonOptions { device, key, set: Vec::new(), command: String::new() })
    };
    let (with, without) = (r#"64, true, "torch.float32", "torch.float16""#, r#"64, false, "torch.float16""#);
    let found = import(&[with, without]).unwrap();
    let problems: Vec<&str> = found.dataset.records.iter().map(|record| &*record.problem).collect();
    assert_eq!(problems, ["HAS_BIAS=True,n=64", "HAS_BIAS=False,n=64"]);
    let other = r#"128, true, "torch.float32", "torch.float32""#;
    assert!(import(&[with, other]).err().unwrap().to_string().contains("no field of the kernel tells them apart"));
}

#[test]
fn a_time_that_is_no_number_and_a_file_without_configs_are_left_out_and_counted() {
    let rows = [row("128", "\"True\"", "", "[NaN, NaN, NaN]"), row("256", "\"True\"", "", "[0.5, NaN, 0.5]")];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let found = act(&[("x/act.autotune.json", &rows), ("y/act.autotune.json", &[])]).unwrap();
    assert_eq!((found.dataset.records.len(), found.failed, found.bad.rows()), (0, 0, 3), "{:?}", found.bad);
    let kernel = Kernel::from_files(BTreeMap::from([("kernel.toml".into(), ACT.into())]), "act").unwrap();
    let (device, key) = (Device::find_described("A100").unwrap(), Vec::new());
    let ask = TritonOptions { device, key, set: Vec::new(), command: String::new() };
    let told = import(&kernel, &[opened("c.autotune.json", " \n".into())], ask).err().unwrap().to_string();
    assert!(told.contains("it is empty"), "{told}");
}

const ACT: &str = r#"name = "act"
meaning = "x"
field = [{ name = "n", kind = "size", min = 1, max = 1000000, shape = true, meaning = "x" }]
parameter = [
{ name = "BLOCK", values = [0, 1, 128, 256], default = 128, meaning = "x" },
{ name = "EVICT", labels = ["evict_first", "True", "None"], default = "None", meaning = "x" },
{ name = "num_warps", values = [1, 2, 4, 8], default = 4, meaning = "x" },
]
work = { flops = "n", bytes = "8 * n" }
"#;

/// What is imported of files of a kernel of names and numbers: pairs of name and rows.
fn act(files: &[(&str, &[&str])]) -> Result<ImportedTriton> {
    let kernel = Kernel::from_files(BTreeMap::from([("kernel.toml".into(), ACT.into())]), "act").unwrap();
    let text =
        |rows: &[&str]| format!(r#"{{"key": [4096, "torch.float16"], "configs_timings": [{}]}}"#, rows.join(","));
    let files: Vec<_> = files.iter().map(|(place, rows)| opened(place, text(rows))).collect();
    let device = Device::find_described("A100").unwrap();
    import(&kernel, &files, TritonOptions { device, key: Vec::new(), set: Vec::new(), command: String::new() })
}

fn row(block: &str, evict: &str, more: &str, times: &str) -> String {
    format!(r#"[{{"kwargs": {{"BLOCK": {block}, "EVICT": {evict}}}, "num_warps": 4, "num_stages": 3{more}}}, {times}]"#)
}

#[test]
fn values_are_texts_truth_values_null_and_numbers_of_any_form_and_one_time_is_a_list_of_one() {
    let rows = [
        row("128", "\"evict_first\"", "", "[0.011, 0.0105, 0.0115]"),
        row("128.0", "true", "", "0.5"),
        row(
            "true",
            "null",
            r#", "maxnreg": null, "pre_hook": null, "ir_override": null, "num_consumer_groups": 0"#,
            "[0.25]",
        ),
        row("256", "\"None\"", "", "[0.25, 0.2, Infinity]"),
    ];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let imported = act(&[("act.autotune.json", &rows)]).unwrap();
    let found: Vec<String> =
        imported.dataset.records.iter().map(|r| format!("{} {:?}", r.config, r.outcome.time_us())).collect();
    assert_eq!(
        found,
        [
            "BLOCK=128,EVICT=evict_first,num_warps=4 Some(11.0)",
            "BLOCK=128,EVICT=True,num_warps=4 Some(500.0)",
            "BLOCK=1,EVICT=None,num_warps=4 Some(250.0)",
            "BLOCK=256,EVICT=None,num_warps=4 Some(225.0)",
        ],
        "{:?} {:?}",
        imported.bad,
        imported.unsaid
    );
}

#[test]
fn what_is_set_and_no_parameter_is_left_out_whatever_it_is_called() {
    let set = [
        r#", "ir_override": "mine.ttgir""#,
        r#", "ubtune_cfg": {"align": true}"#,
        r#", "num_consumer_groups": 2"#,
        r#", "maxnreg": 128"#,
        r#", "num_ctas": 2"#,
        r#", "pre_hook": "zero""#,
        r#", "something_new": [1]"#,
        r#", "warp_specialize": true"#,
    ];
    let usual = row("128", "null", "", "[0.5]");
    let rows: Vec<String> = set.iter().map(|more| row("128", "null", more, "[0.05]")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).chain([usual.as_str()]).collect();
    let imported = act(&[("act.autotune.json", &rows)]).unwrap();
    assert_eq!(
        (imported.unsaid.rows(), imported.unsaid.0.len(), imported.bad.rows()),
        (8, 8, 0),
        "{:?}",
        imported.unsaid
    );
    let [record] = &imported.dataset.records[..] else { panic!("{}", imported.dataset.records.len()) };
    assert_eq!(record.outcome.time_us(), Some(500.0));
}

#[test]
fn files_of_two_kernels_are_refused_and_two_runs_of_one_are_put_together() {
    let (first, second) = (row("128", "null", "", "[0.5]"), row("128", "null", "", "[0.25]"));
    let failed = row("128", "null", "", "[Infinity]");
    let places =
        ["a/fwd.autotune.json", "b/bwd.autotune.json", "b/fwd.autotune.json", "runs.zip, c/fwd.autotune.json.gz"];
    assert_eq!(places.map(kernel_of), [Some("fwd"), Some("bwd"), Some("fwd"), Some("fwd")]);
    let error = act(&[(places[0], &[&first]), (places[1], &[&second])]).err().unwrap().to_string();
    assert!(error.contains("of kernel `bwd`, a/fwd.autotune.json of kernel `fwd`"), "{error}");
    let imported = act(&[(places[0], &[&first]), (places[2], &[&second]), (places[3], &[&failed])]).unwrap();
    assert_eq!((imported.dataset.records.len(), imported.unsaid.rows()), (1, 1));
    assert_eq!(imported.dataset.records[0].outcome.time_us(), Some(375.0));
}

#[test]
fn times_that_cannot_be_are_counted() {
    let times = ["[0.0, 0.0, 0.0]", "0", "[-1.0]", "[0.5, 0.0, 0.5]", "[1e15]", "[\"0.5\"]", "[]", "{}", "[[0.5]]"];
    let rows: Vec<String> = times.iter().map(|times| row("128", "null", "", times)).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let imported = act(&[("act.autotune.json", &rows)]).unwrap();
    assert_eq!((imported.bad.rows(), imported.dataset.records.len()), (times.len(), 0), "{:?}", imported.bad);
}
