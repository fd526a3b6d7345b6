//! `seqtune check`: what ships is sound, and what was changed is told.

mod common;

use common::run;

#[test]
fn everything_that_ships_is_sound_and_described() {
    let shipped = [
        "models/gemm-cpu",
        "models/miopen",
        "datasets/gemm/cpu-epyc-2c.sqt",
        "kernels/gemm",
        "kernels/conv2d/kernel.toml",
    ];
    let (out, err, code) = run(&[&["check"], &shipped[..], &["src/predict/kernels/devices.toml"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().filter(|line| line.ends_with(": sound")).count() > 30, "{out}");
    let (out, _, code) = run(&["check", "datasets/gemm/cpu-epyc-2c.sqt", "--json"]);
    let facts: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, facts["kind"].as_str(), facts["kernel"].as_str()), (0, Some("dataset"), Some("gemm")));
}

#[test]
fn what_is_damaged_or_nothing_of_ours_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut model = std::fs::read("models/gemm-cpu/model.safetensors").unwrap();
    let middle = model.len() / 2;
    model[middle] ^= 4;
    std::fs::write(path("m.safetensors"), model).unwrap();
    let data = std::fs::read("datasets/gemm/cpu-epyc-2c.sqt").unwrap();
    std::fs::write(path("d.sqt"), &data[..data.len() - 9]).unwrap();
    std::fs::write(path("note.txt"), "remember the milk").unwrap();
    std::fs::write(path("gpu.toml"), "[[device]]\nname = 'x'\nlimits = { local_memory = nan }\n").unwrap();
    for (name, fault) in [
        ("m.safetensors", "it was changed since it was written"),
        ("d.sqt", "truncated or damaged"),
        ("note.txt", "is no model, dataset, kernel or list of devices"),
        ("gpu.toml", "local_memory is NaN"),
        ("none", "no such file"),
        (".", "holds no kernel.toml and no model"),
    ] {
        let (out, err, code) = run(&["check", &path(name)]);
        assert!(code == 2 && err.contains(fault) && err.lines().count() == 1, "{name}: {code} {out}{err}");
    }
}

#[test]
fn a_parameter_that_no_part_of_a_run_names_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let parameter =
        |name: &str| format!("[[parameter]]\nname = '{name}'\nvalues = [1, 2]\ndefault = 1\nmeaning = 'one'\n");
    let check = |how: &str| {
        let field = "[[field]]\nname = 'n'\nkind = 'size'\nmin = 1\nmax = 9\nmeaning = 'size'\n";
        let all = ["threads", "tile", "level"].map(parameter).concat();
        let text = format!("name = 'mine'\nmeaning = 'mine'\n{field}{all}[run]\n{how}\n");
        std::fs::write(folder.path().join("kernel.toml"), text).unwrap();
        run(&["check", &folder.path().display().to_string()])
    };
    let (out, err, code) =
        check("command = ['x', '{n}', '{tile * 2}']\nenvironment = { LEVEL = '{level}' }\ntime = 'wall'");
    assert!(code == 0 && out.contains(": sound"), "{out}{err}");
    assert!(err.contains("nothing in [run] names parameter `threads`") && err.lines().count() == 1, "{err}");
    let (_, err, code) = check("command = ['x']\nserve = true");
    assert!(code == 0 && err.is_empty(), "{err}");
}
