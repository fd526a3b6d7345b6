//! `seqtune init`: what it writes can be swept at once, for programs and for sources.

use crate::common::{PATIENT, opencl_or_skip, root, run, write};

#[test]
fn a_program_is_a_kernel_after_one_command_and_a_sweep_after_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("heat").display().to_string();
    std::fs::create_dir(&place).unwrap();
    std::fs::copy(root().join("examples/programs/openmp/heat.c"), folder.path().join("heat/heat.c")).unwrap();
    let words = [
        "init",
        &place,
        "--build",
        "gcc -fopenmp {level} {kernel}/heat.c -o {build}/heat -lm",
        "--command",
        "{build}/heat {side} 5 {tile}",
        "--field",
        "side=16..2000",
        "--parameter",
        "level=O1:-O1,[O2:-O2],O3:-Ofast",
        "--parameter",
        "tile=16,64,[2000]",
        "--environment",
        "OMP_NUM_THREADS=1",
        "--constraint",
        "tile == 2000 or tile <= side",
        "--time",
        "time: ([0-9.]+) s",
        "--right",
        "PASSED",
    ];
    let (out, err, code) = run(&words);
    assert!(code == 0 && out.contains("9 configs of side=179, the default is level=O2,tile=2000"), "{out}{err}");
    let written = std::fs::read_to_string(folder.path().join("heat/kernel.toml")).unwrap();
    assert!(written.contains("environment = { OMP_NUM_THREADS = \"1\" }"), "{written}");
    assert!(
        written.contains(r#"labels = ["O1", "O2", "O3"], texts = ["-O1", "-O2", "-Ofast"], default = "O2""#),
        "{written}"
    );
    let journal = folder.path().join("a.jsonl").display().to_string();
    let (out, err, code) =
        run(&["sweep", &place, "--problems", "side=100", "--exhaustive", "-o", &journal, PATIENT[0], PATIENT[1]]);
    assert!(code == 0 && out.contains("9 records: 9 measured now") && out.contains(" 0 failed"), "{out}{err}");
    let (_, err, code) = run(&words);
    assert!(code == 2 && err.contains("kernel.toml is there; edit it"), "{err}");
}

#[test]
fn a_source_in_cuda_is_a_kernel_that_compiles_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let source = "extern \"C\" __global__ void scale(int n, const float *__restrict__ x, float *y) {\n\
                  for (int k = 0; k < V; k++) { int i = (blockIdx.x * V + k) * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }\n}\n";
    write(folder.path(), "scale.cu", source.as_bytes());
    let place = folder.path().display().to_string();
    let sizes = ["--field", "n=1..100000000", "--parameter", "WG=32,[64],128,256", "--parameter", "V=[1],2,4"];
    let launch = ["--global", "cdiv(n, WG * V) * WG", "--local", "WG"];
    let (out, err, code) = run(&[&["init", &place, "--source", "scale.cu"][..], &sizes, &launch].concat());
    assert!(code == 0 && out.contains("reference.cu is the source with its default values"), "{out}{err}");
    let compiled = ["space", &place, "n=1000", "--device", "H200", "--compile", "--sample", "2"];
    match run(&compiled) {
        (out, _, 0) => assert_eq!(out.matches(" registers, ").count(), 2, "{out}"),
        (_, err, _) if err.contains("NVRTC") => {
            println!("skipped: {}; `scripts/setup.sh nvrtc` fetches it", err.trim())
        }
        (out, err, _) => panic!("{out}{err}"),
    }
}

#[test]
fn a_source_is_a_kernel_with_the_arguments_of_its_signature() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#ifndef V\n#define V 1 // elements\n#endif\n__kernel void scale(const int n, __global const float* x, __global float* y) {\n\
                  for (int k = 0; k < V; k++) { int i = get_global_id(0) * V + k; if (i < n) y[i] = 2.0f * x[i]; }\n}\n";
    write(folder.path(), "scale.cl", source.as_bytes());
    let place = folder.path().display().to_string();
    let words = [
        "init",
        &place,
        "--source",
        "scale.cl",
        "--field",
        "n=1..1000000",
        "--parameter",
        "V=1,2,4",
        "--global",
        "cdiv(n, V)",
    ];
    let (out, err, code) = run(&words);
    assert!(code == 0 && out.contains("3 configs of n=1000, the default is V=1"), "{out}{err}");
    assert!(std::fs::read_to_string(folder.path().join("reference.cl")).unwrap().contains("#define V 1\n#ifndef V"));
    if !opencl_or_skip() {
        return;
    }
    let journal = folder.path().join("a.jsonl").display().to_string();
    let (out, err, code) =
        run(&["sweep", &place, "--problems", "n=1000", "--exhaustive", "-o", &journal, PATIENT[0], PATIENT[1]]);
    assert!(code == 0 && out.contains("3 measured now"), "{out}{err}");
}

#[test]
fn a_reference_that_is_there_is_launched_by_its_own_name_and_takes_the_same_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let program = "__kernel void scale(const int n, __global const float* x, __global float* y) { int i = get_global_id(0); if (i < n) y[i] = V * x[i]; }\n";
    write(folder.path(), "scale.cl", program.as_bytes());
    let words = ["--source", "scale.cl", "--field", "n=1..1000000", "--parameter", "V=1,2,4"];
    let words = [&["init", &place][..], &words].concat();
    let reference = |arguments: &str| {
        let code = format!("__kernel void plain({arguments}) {{ y[get_global_id(0)] = x[get_global_id(0)]; }}\n");
        write(folder.path(), "reference.cl", code.as_bytes());
    };
    reference("__global const float* x, __global float* y");
    let (_, err, code) = run(&words);
    assert!(code == 2 && err.contains("plain does not take the arguments of scale"), "{err}");
    reference("int n, __global const float* x, __global float* y");
    let (out, err, code) = run(&words);
    assert!(code == 0 && out.contains("`global` of [reference]") && !out.contains("is the source"), "{out}{err}");
    let written = std::fs::read_to_string(folder.path().join("kernel.toml")).unwrap();
    assert!(written.contains(r#"entry = "plain""#) && written.contains(r#"entry = "scale""#), "{written}");
    let checked = |from: &str, to: &str| {
        write(folder.path(), "kernel.toml", written.replace(from, to).as_bytes());
        run(&["check", &place])
    };
    let (out, err, code) = checked("a", "a");
    assert!(code == 0 && out.contains(": sound"), "{out}{err}");
    for (from, to, said) in [
        (r#"element = "4""#, r#"element = "8""#, "argument `x`"),
        (r#"flops = "n""#, r#"flops = "-n""#, "`flops` is -1000 here; it counts from 0"),
    ] {
        let (_, err, code) = checked(from, to);
        assert!(code == 2 && err.contains(said), "{to}: {err}");
    }
}

#[test]
fn a_reference_has_a_launch_of_its_own_and_a_copy_of_the_source_has_the_sources() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let program = "__kernel void halve(const int n, __global const float* x, __global float* y) { int i = get_global_id(0); if (i < n / 2) y[i] = WG * x[i]; }\n";
    write(folder.path(), "halve.cl", program.as_bytes());
    let plain = program.replace("halve", "plain").replace("WG", "1");
    let made = |reference: Option<&str>, more: &[&str]| {
        for name in ["kernel.toml", "reference.cl"] {
            let _ = std::fs::remove_file(folder.path().join(name));
        }
        if let Some(text) = reference {
            write(folder.path(), "reference.cl", text.as_bytes());
        }
        let words = ["--source", "halve.cl", "--field", "n=2..1000000", "--parameter", "WG=32,[64]"];
        let words = [&words[..], &["--global", "cdiv(n, WG) * WG", "--local", "WG"], more].concat();
        let (out, err, code) = run(&[&["init", &place][..], &words].concat());
        assert_eq!(code, 0, "{out}{err}");
        let text = std::fs::read_to_string(folder.path().join("kernel.toml")).unwrap();
        text.lines().find(|line| line.starts_with("reference")).unwrap().to_string()
    };
    let copy = made(None, &[]);
    assert!(copy.contains(r#"global = ["cdiv(n, 64) * 64"], local = ["64"]"#), "{copy}");
    let own = made(Some(&plain), &["--argument", "y=n / 2"]);
    assert!(own.contains(r#"global = ["n / 2"], local = []"#), "{own}");
    // one whose work-items work together needs the group of the source
    let grouped = plain
        .replace("int i = ", "__local float t[64]; t[get_local_id(0)] = x[0]; barrier(CLK_LOCAL_MEM_FENCE); int i = ");
    let grouped = made(Some(&grouped), &[]);
    assert!(grouped.contains(r#"global = ["cdiv(n, 64) * 64"], local = ["64"]"#), "{grouped}");
    let told = made(Some(&plain), &["--reference-global", "n;2", "--reference-local", "1;2"]);
    assert!(told.contains(r#"global = ["n", "2"], local = ["1", "2"]"#), "{told}");
}

#[test]
fn groups_that_nobody_sizes_and_spaces_that_are_empty_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let program = "__kernel void f(const int n, __global const float* x, __global float* y) { __local float t[64]; t[get_local_id(0)] = WG; barrier(1); y[0] = t[0]; }\n";
    write(folder.path(), "f.cl", program.as_bytes());
    let words = ["init", &place, "--source", "f.cl", "--field", "n=2..1000", "--parameter", "WG=32,64"];
    let (_, err, code) = run(&words);
    assert!(code == 0 && err.contains("no --local says how large a group is"), "{err}");
    let file = folder.path().join("kernel.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let (_, err, code) = run(&[&words[..], &["--local", "WG", "--constraint", "WG > 1000"]].concat());
    let empty = "no described device has a config for";
    assert!(code == 2 && err.contains(empty) && err.contains("constraint 1") && !file.exists(), "{err}");
    let rule = "constraint = [{ expr = \"WG > 1000\", reason = \"none is\" }]\nparameter = [";
    std::fs::write(&file, text.replacen("parameter = [", rule, 1)).unwrap();
    let (_, err, code) = run(&["check", &place]);
    assert!(code == 0 && err.contains(empty) && err.contains("rules out every combination"), "{err}");
}

#[test]
fn a_source_that_defines_a_parameter_anew_or_lacks_its_kernel_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let program = "__kernel void f(const int n, __global const float* x, __global float* y) { y[0] = WG * x[0]; }\n";
    let words =
        ["init", &place, "--source", "f.cl", "--field", "n=2..1000", "--parameter", "WG=32,64", "--local", "WG"];
    write(folder.path(), "f.cl", format!("#define WG 64\n{program}").as_bytes());
    let (_, err, code) = run(&words);
    assert!(
        code == 2 && err.contains("line 1 of f.cl defines the parameter WG") && err.contains("#ifndef WG"),
        "{err}"
    );
    write(folder.path(), "f.cl", format!("#ifndef WG\n#define WG 64\n#endif\n{program}").as_bytes());
    let (_, err, code) = run(&words);
    assert_eq!(code, 0, "{err}");
    write(folder.path(), "f.cl", program.replace("const int n, ", "").as_bytes());
    let (_, err, code) = run(&["check", &place]);
    assert!(code == 2 && err.contains("f in f.cl takes 2 arguments, and kernel.toml lists 3"), "{err}");
    write(folder.path(), "f.cl", b"");
    let journal = folder.path().join("f.jsonl").display().to_string();
    let sweep = ["sweep", &place, "--device", "fake", "--problems", "n=64", "-o", &journal];
    for words in [&["check", &place][..], &sweep] {
        let (_, err, code) = run(words);
        assert!(code == 2 && err.contains("f.cl has no function `f`"), "{words:?}: {code} {err}");
    }
    assert!(!std::path::Path::new(&journal).exists());
}

#[test]
fn what_no_check_passes_is_not_written_and_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("new").display().to_string();
    let both = ["--field", "n=1..9", "--parameter", "A=1,2"];
    for (words, said) in [
        (&["--command", "a", "--time", "("][..], "is no regular expression"),
        (&["--command", "a", "--time", "(?P<x>a)(?P<x>b)"], "is no regular expression"),
        (&["--command", "a", "--time", "time"], "has no group"),
        (&["--command", "a", "--right", "(a{1000}){1000}"], "is no regular expression"),
        (&["--command", "a", "--right", "\\"], "is no regular expression"),
        (&["--command", "a", "--wrong", "[z-a]"], "is no regular expression"),
        (&["--command", "{build}/a"], "there is no `build` command"),
        (&["--command", "a", "--parameter", "n=1,2"], "a field and a parameter"),
        (&["--command", "a", "--field", "work=1..2"], "a place of [run]"),
        (&["--command", "a", "--field", "a\u{1b}[31mb=1..2"], "is no name"),
        (&["--command", "a", "--environment", "=x"], "write NAME="),
        (&["--source", "gone.cl"], "no such file"),
        (&["--command", "a", "--field", "k=1-9"], "a size is a range, as n=1..1000"),
        (&["--command", "a", "--parameter", "B=1..8"], "all values are listed"),
        (
            &["--command", "a", "--parameter", "B=1,x"],
            "`1` is a number and `x` is none; a label that is a number is written 1:1",
        ),
    ] {
        let (out, err, code) = run(&[&["init", &place][..], words, &both].concat());
        assert!(code == 2 && err.contains(said) && err.lines().count() == 1, "{words:?}: {code} {out}{err}");
        assert!(!err.contains('\u{1b}') && !std::path::Path::new(&place).exists(), "{words:?}");
    }
    let meaning = "one\n\u{1b}[31mtwo\u{7f} \"three\"";
    let (out, err, code) = run(&[&["init", &place, "--command", "a", "--meaning", meaning][..], &both].concat());
    assert!(code == 0, "{out}{err}");
    let (out, err, code) = run(&["check", &place]);
    assert!(code == 0, "what `init` writes passes `check`: {out}{err}");
}

#[test]
fn what_makes_no_kernel_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let both = ["--field", "n=1..9", "--parameter", "A=1,2"];
    for (words, said) in [
        (&["--command", "a 'b"][..], "a quote is not closed"),
        (&["--command", "a {q}"], "the name `q` is unknown"),
        (&["--command", "a", "--build", "make"], "name what it is built from"),
        (&["--source", "gone.cl"], "no such file"),
        (&["--command", "a", "--field", "k=1-9"], "a size is a range, as n=1..1000"),
        (&["--command", "a", "--parameter", "B=1..8"], "all values are listed"),
        (&["--command", "a", "--time", "x", "--unit", "h"], "invalid value 'h'"),
    ] {
        let (_, err, code) = run(&[&["init", &place][..], words, &both].concat());
        assert!(code == 2 && err.contains(said), "{words:?}: {code} {err}");
        assert!(!folder.path().join("kernel.toml").exists(), "{words:?}");
    }
    let (_, err, code) = run(&["init", &place, "--command", "a", "--field", "n=x..y", "--parameter", "A=1"]);
    assert!(code == 2 && err.contains("a range of whole numbers"), "{err}");
    let (_, err, code) = run(&["init", &place]);
    assert!(code == 2 && err.contains("name --command"), "{err}");
}
