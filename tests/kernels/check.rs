//! `seqtune check`: what ships is sound, and what was changed is told.

use crate::common::{run, seqtune, text, write};

#[test]
fn everything_that_ships_is_sound_and_described() {
    let shipped = [
        "models/gemm-cpu",
        "models/miopen",
        "datasets/gemm/cpu-epyc-2c.sqt",
        "kernels/gemm",
        "kernels/conv2d/kernel.toml",
    ];
    let (out, err, code) = run(&[&["check"], &shipped[..], &["src/kernel/kernels/devices.toml"]].concat());
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

/// A kernel of a field, a parameter and more tables, in a folder.
fn written(folder: &std::path::Path, more: &str) -> String {
    let text = "name = 'mine'\nmeaning = 'mine'\nfield = [{ name = 'n', kind = 'size', min = 1, max = 9, shape = true, meaning = 'size' }]\n\
                parameter = [{ name = 'A', values = [1, 2], default = 1, meaning = 'one' }]\n";
    std::fs::write(folder.join("kernel.toml"), format!("{text}{more}\n")).unwrap();
    folder.display().to_string()
}

#[test]
fn what_no_sweep_can_use_is_refused_by_every_verb_with_the_same_sentence() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.c"), "").unwrap();
    let journal = folder.path().join("never.jsonl").display().to_string();
    for (table, said) in [
        ("time = { pattern = '(' }", "[run] time: `(` is no regular expression"),
        ("time = { pattern = '(a{1000}){1000}' }", "is no regular expression"),
        ("time = { pattern = '(?<=x)(5)' }", "is no regular expression"),
        ("time = { pattern = '(?P<x>a)(?P<x>b)' }", "is no regular expression"),
        ("time = { pattern = 'time: 5' }", "has no group"),
        ("time = 'wall'\nright = '[z-a]'", "[run] right"),
        ("time = 'wall'\nwrong = '\\'", "[run] wrong"),
        ("time = 'wall'\njoules = { pattern = 'x' }", "[run] joules: `x` has no group"),
        ("time = 'wall'\ncounter = { misses = { pattern = '*' } }", "[run] misses"),
        ("time = 'wall'\ncores = '3-'", "write numbers and ranges"),
        (
            "time = 'wall'\nbuild = ['true']\nfiles = ['x.c']\nsetup = ['{build}']",
            "it names {build}, which is built for a config",
        ),
        ("time = 'wall'\nbuild = ['true']\nfiles = ['x.c']\nteardown = ['x', '{build}']", "it names {build}"),
        ("time = 'wall'\nenvironment = { X = '{build}' }", "there is no `build` command"),
        ("time = 'wall'\ncores = '{build}'", "there is no `build` command"),
        (
            "serve = true\nbuild = ['true', '{A}']\nfiles = ['x.c']\nenvironment = { X = '{build}' }",
            "whose builds differ",
        ),
        ("time = 'wall'\nenvironment = { 'A=B' = '1' }", "is no name of a variable"),
    ] {
        let kernel = written(folder.path(), &format!("[run]\ncommand = ['true']\n{table}"));
        let verbs = [
            &["check", &kernel][..],
            &["space", &kernel, "n=4", "--device", "H200"],
            &["sweep", &kernel, "--problems", "n=4", "--exhaustive", "-o", &journal],
        ];
        for verb in verbs {
            let (out, err, code) = run(verb);
            assert!(code == 2 && err.contains(said) && err.lines().count() == 1, "{verb:?} {table}: {code} {out}{err}");
        }
    }
    assert!(!std::path::Path::new(&journal).exists(), "nothing was begun");
}

#[test]
fn a_name_stands_for_one_thing_and_a_kernel_to_verify_has_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let source = "[[argument]]\nname = 'y'\nkind = 'KIND'\nlength = '1'\nvalue = '1'\nelement = '4'\n\
                  [program]\nfile = 'x.cl'\nentry = 'entry'\nglobal = ['1']\nlocal = []\n\
                  [reference]\nfile = 'x.cl'\nentry = 'entry'\nglobal = ['1']\nlocal = []\n[work]\nflops = '1'\nbytes = '1'\n";
    std::fs::write(folder.path().join("x.cl"), "kernel void entry(global float* y) {}").unwrap();
    let parameter = |name: &str, values: &str| format!("[[parameter]]\nname = '{name}'\n{values}\nmeaning = 'one'\n");
    let field = |name: &str| {
        format!("[[field]]\nname = '{name}'\nkind = 'choice'\nlabels = ['a', 'b']\ncompiled = true\nmeaning = 'one'\n")
    };
    let (numbers, labels) = ("values = [1, 2]\ndefault = 1", "labels = ['p', 'q']\ndefault = 'p'");
    let (out, source_of) = (source.replace("KIND", "out"), |kind: &str| source.replace("KIND", kind));
    let head = "name = 'NAME'\nmeaning = 'mine'\n";
    for (name, text, said) in [
        ("mine", field("A") + &parameter("A", labels), "`A` stands for two things: a field and a parameter"),
        ("mine", field("A") + &field("A") + &parameter("B", numbers), "`A` stands for two things: a field twice"),
        ("mine", parameter("A", numbers) + &parameter("A", labels), "a parameter twice"),
        ("mine", parameter("local_memory", labels), "a limit of devices and a parameter"),
        ("mine", field("is_cpu") + &parameter("A", numbers), "a limit of devices and a field"),
        (
            "mine",
            field("seed") + &parameter("A", numbers) + "[run]\ncommand = ['true']\n",
            "a place of [run] and a field",
        ),
        ("mine", field("A") + &parameter("A_a", numbers) + &out, "a parameter and the macro of a label"),
        ("mine", field("A") + &parameter("entry", numbers) + &out, "parameter `entry`: it is a macro"),
        ("mine", field("A") + &parameter("float", numbers) + &out, "parameter `float`: it is a macro"),
        ("mine", field("A") + &parameter("B", numbers) + &source_of("int"), "no [[argument]] is of kind \"out\""),
        ("-mine", field("A") + &parameter("B", numbers), "name `-mine`"),
        ("--help", field("A") + &parameter("B", numbers), "name `--help`"),
        ("../mine", field("A") + &parameter("B", numbers), "name `../mine`"),
        ("a b", field("A") + &parameter("B", numbers), "name `a b`"),
    ] {
        std::fs::write(folder.path().join("kernel.toml"), head.replace("NAME", name) + &text).unwrap();
        let (out, err, code) = run(&["check", &folder.path().display().to_string()]);
        assert!(code == 2 && err.contains(said) && err.lines().count() == 1, "{text}: {code} {out}{err}");
    }
    std::fs::write(
        folder.path().join("kernel.toml"),
        head.replace("NAME", "mine") + &field("A") + &parameter("B", numbers) + &out,
    )
    .unwrap();
    let (out, err, code) = run(&["check", &folder.path().display().to_string()]);
    assert!(code == 0 && out.contains(": sound"), "{out}{err}");
}

#[test]
fn a_device_that_is_there_twice_is_refused_wherever_its_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.toml").display().to_string();
    let device = |name: &str, more: &str| format!("[[device]]\nname = '{name}'\n{more}\nlimits = {{ is_cpu = 0.0 }}\n");
    for text in [
        device("one", "") + &device("one", ""),
        device("one", "") + &device("ONE", ""),
        device("one", "aliases = ['two']") + &device("two", ""),
    ] {
        std::fs::write(&path, text).unwrap();
        for verb in [&["check", &path][..], &["space", "gemm", "M=64,N=64,K=64", "--device", &path]] {
            let (out, err, code) = run(verb);
            assert!(code == 2 && err.contains("is there twice") && err.lines().count() == 1, "{code} {out}{err}");
        }
    }
    std::fs::write(&path, device("one", "aliases = ['One', 'uno']") + &device("two", "")).unwrap();
    assert_eq!(run(&["check", &path]).2, 0);
}

#[test]
fn a_parameter_that_no_source_and_no_launch_names_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    // `W` is there in a comment alone, `WG` in the launch, `V` in the source
    let program = "// W\n__kernel void f(const int n, __global const float* x, __global float* y) { int i = get_global_id(0); if (i < n) y[i] = V * x[i]; }\n";
    write(folder.path(), "f.cl", program.as_bytes());
    let parameters = ["--parameter", "V=1,2", "--parameter", "W=1,2", "--parameter", "WG=32,64"];
    let words = ["init", &place, "--source", "f.cl", "--field", "n=1..1000", "--global", "cdiv(n, WG) * WG"];
    let (out, err, code) = run(&[&words[..], &["--local", "WG"], &parameters].concat());
    assert_eq!(code, 0, "{out}{err}");
    let (out, err, code) = run(&["check", &place]);
    assert!(code == 0 && out.contains(": sound"), "{out}{err}");
    assert!(err.contains("names parameter `W`, so that all of its values do the same"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn a_dataset_is_held_against_the_kernel_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let toy = crate::common::write_toy(&folder.path().join("toy"));
    let data = folder.path().join("a.jsonl").display().to_string();
    let sweep = ["sweep", &toy, "--problems", "M=64", "--device", "fake", "--sample", "2", "-o", &data];
    let (out, err, code) = text(seqtune(&sweep).env("SEQTUNE_FAKE", "slow=1").output().unwrap());
    assert_eq!(code, 0, "{out}{err}");
    let (_, err, code) = run(&["check", &data]);
    assert!(code == 0 && err.contains("kernel toy is not here") && err.contains("--kernel"), "{err}");
    let (out, err, code) = run(&["check", &data, "--kernel", &toy]);
    assert!(code == 0 && !err.contains("is not here"), "{out}{err}");
    let shipped = "datasets/gemm/cpu-epyc-2c.sqt";
    let (_, err, code) = run(&["check", shipped, "--kernel", &toy]);
    assert!(code == 0 && err.contains("is of kernel gemm, and was held against that of"), "{err}");
    assert!(err.contains("not against toy, which --kernel names"), "{err}");
    let (_, err, code) = run(&["check", &data, "--kernel", "gemm"]);
    assert!(
        code == 0 && err.contains("kernel toy is not here, and --kernel names gemm, so the records were not"),
        "{err}"
    );
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
