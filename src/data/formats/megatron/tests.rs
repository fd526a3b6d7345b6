//! What is read of recordings, tables and logs of Megatron-Core, and what is written.

use super::*;

const KEY: &str = "m=64|n=128|k=32|torch.bfloat16|torch.bfloat16|torch.float32";

fn opened(text: &str) -> OpenedText {
    OpenedText { place: "x".into(), text: text.into() }
}

fn asked(text: &str) -> AskedKeys {
    let mut found = AskedKeys::default();
    found.add(&opened(text));
    found
}

#[test]
fn keys_of_recordings_tables_logs_and_lists_are_the_same() {
    let rows = format!(r#"{{"{KEY}": {{"kwargs": {{}}, "num_warps": 4, "num_stages": 3}}, "*": {{}}}}"#);
    let key = TuningKey::read(KEY).unwrap();
    for (text, architecture, function) in [
        (format!(r#"{{"sm103": {{"_mm_kernel": {rows}}}}}"#), Some("sm103"), Some("_mm_kernel")),
        (format!(r#"{{"arch": "sm90", "kernels": {{"a.b._mm": {rows}}}}}"#), Some("sm90"), Some("a.b._mm")),
        (format!("Ranks disagree on 1 choice:\n  sm90|_mm|{KEY}\n    m=16;warps=4\n"), Some("sm90"), Some("_mm")),
        (format!("# of mine\n\n{KEY}\n{KEY}\n"), None, None),
    ] {
        let found = asked(&text);
        let [architecture, function] = [architecture, function].map(|text| text.map(String::from));
        assert_eq!(found.keys, [AskedKey { architecture, function, key: key.clone() }], "{text}");
        assert_eq!(found.bad.rows(), 0, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_counted_with_its_reason() {
    for (text, why) in [
        (r#"{"sm90": {"_mm": {"m=1"#, "is cut off"),
        (r#"{"fp8": 3}"#, "neither a recording nor a table"),
        (r#"{"sm90": {"_mm": {"m=1|fast": {}}}}"#, "has the part `fast`"),
        ("m=1|m=2", "has `m` twice"),
        ("m=1|torch.bfloat16|7=3", "has the part `7=3`"),
    ] {
        let found = asked(text);
        assert!(found.bad.text().contains(why), "{text}: {}", found.bad.text());
        assert!(found.keys.is_empty() && found.met == 1);
    }
    assert_eq!(asked("no key | here\n").met, 0);
}

#[test]
fn a_key_is_a_problem_by_the_names_of_its_fields_and_the_type_of_its_first_tensor() {
    let kernel = Kernel::open("gemm").unwrap();
    let sizes = kernel.fields.iter().filter(|field| field.labels.is_empty()).map(|f| format!("{}=64", f.name));
    let key = TuningKey::read(&(sizes.collect::<Vec<_>>().join("|") + "|torch.float16|torch.int32")).unwrap();
    let problem = kernel.show_problem(&key.problem(&kernel, &Map::new(), &[]).unwrap());
    assert!(problem.contains("dtype=f16"), "{problem}");
    let set = Map::from_iter([("M".to_string(), Value::from("8"))]);
    assert!(key.problem(&kernel, &set, &[]).unwrap_err().to_string().contains("has `M` itself"));
    let second = ["_".to_string(), "dtype".to_string()];
    assert!(key.problem(&kernel, &Map::new(), &second).is_err(), "int32 is no label");
    let other = TuningKey::read("M=64|speed=3").unwrap().problem(&kernel, &Map::new(), &[]).unwrap_err();
    assert!(other.to_string().contains("speed"), "{other}");
}

#[test]
fn functions_are_the_same_with_and_without_their_module() {
    for (a, b, same) in
        [("a.b._mm", "_mm", true), ("a.b._mm", "mm", true), ("a.b._mm", "c._mm", false), ("_mm", "_mm_bwd", false)]
    {
        assert_eq!(is_same_function(a, b), same, "{a} {b}");
    }
}

#[test]
fn rows_are_added_beside_those_that_a_table_has_and_all_else_stays() {
    let text = r#"{"arch": "sm90", "kernels": {"f": {"*": {"kwargs": {}}}}, "packages": {"mamba_ssm": "2"}, "source": "a", "triton": "3"}"#;
    let mut table = TunedTable::read(&opened(text), "sm90").unwrap();
    table.insert("g", KEY, json!({ "kwargs": { "B": 1 }, "num_warps": 4, "num_stages": 3 }));
    table.add_source("seqtune");
    let again = TunedTable::read(&opened(&table.text().unwrap()), "sm90").unwrap();
    assert_eq!(again, table);
    assert!((again.has("f", ANY), again.has("g", KEY), again.has("g", ANY), again.len()) == (true, true, false, 2));
    assert_eq!(again.members["source"], "a; seqtune");
    assert_eq!(again.members["packages"]["mamba_ssm"], "2");
    let other = TunedTable::read(&opened(text), "sm103").unwrap_err().to_string();
    assert!(other.contains("is a table of sm90, not of sm103"), "{other}");
    assert!(TunedTable::read(&opened("{}"), "sm90").unwrap_err().to_string().contains("which has kernels"));
    assert!(TunedTable::new("sm90", "").is_empty());
}

#[test]
fn configs_are_found_in_lists_caches_recordings_and_tables() {
    let config = r#"{"kwargs": {"B": 1}, "num_warps": 4}"#;
    for text in [
        format!("[{config}]"),
        format!(r#"{{"key": [1], "configs_timings": [[{config}, [0.1, 0.1, 0.1]]]}}"#),
        format!(r#"{{"sm90": {{"f": {{"m=1": {config}}}}}}}"#),
        format!(r#"{{"arch": "sm90", "kernels": {{"f": {{"*": {config}}}}}}}"#),
    ] {
        assert_eq!(listed_configs(&opened(&text), "f").unwrap(), [serde_json::from_str::<Value>(config).unwrap()]);
    }
    let two = format!(r#"{{"arch": "sm90", "kernels": {{"g": {{"*": {config}}}}}}}"#);
    assert!(listed_configs(&opened(&two), "f").is_err(), "those of another function are none");
    assert!(listed_configs(&opened("[]"), "f").is_err() && listed_configs(&opened("x"), "f").is_err());
}
