//! Headers compile without a warning and answer in C++ as they do here, with legal configs alone.

use crate::dispatch::other_languages::{self, compile_rust, expected_answer, output_of};
use crate::dispatch::{Dispatch, DispatchChoice, DispatchOptions, Source};
use crate::drawn::test_generator;
use crate::ranges::{Range, Ranges};
use crate::{Given, Point, Predicted};
use rand::Rng;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Choice, Config, ConfigSpace};
use seqtune_predict::{Device, Kernel, Model, Problem};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A program that reads problems as numbers, and writes where each choice came from and its values.
fn program(kernel: &Kernel) -> String {
    let mut reads = String::new();
    for field in &kernel.fields {
        let kind = match field.labels.is_empty() {
            true => format!("decltype(p.{})", field.name),
            false => format!("{}_label", field.name),
        };
        reads += &format!(
            "        {{ double x; if (!(std::cin >> x)) return 0; p.{} = static_cast<{kind}>(x); }}\n",
            field.name
        );
    }
    let values: Vec<String> = kernel.parameters.iter().map(|p| format!(" << ' ' << c->{}", p.name)).collect();
    format!(
        "#include \"table.h\"\n#include <iostream>\nusing namespace seqtune_{0};\nint main() {{\n    for (;;) {{\n        Problem p;\n{reads}\
         \x20       Source source = Source::table;\n        const auto c = choose(p, &source);\n\
         \x20       if (!c) {{ std::cout << \"none\\n\"; continue; }}\n\
         \x20       if (source != Source::table && !legal(p, *c)) return 1;\n\
         \x20       std::cout << static_cast<int>(source){1} << '\\n';\n    }}\n}}\n",
        kernel.name,
        values.concat()
    )
}

/// What the compiled header answers; `None` where there is no compiler.
fn compiled(folder: &Path, kernel: &Kernel, problems: &[Problem]) -> Option<Vec<String>> {
    std::fs::write(folder.join("main.cpp"), program(kernel)).unwrap();
    // as programs of this field are compiled; with the arithmetic of 32-bit x86
    let fast = ["-std=c++17", "-O2", "-ffast-math", "-funsigned-char"];
    let wide: &[&str] = if cfg!(target_arch = "x86_64") { &["-mfpmath=387"] } else { &[] };
    let flags = fast.into_iter().chain(wide.iter().copied()).chain([
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
    ]);
    let built = Command::new("g++").args(flags).args(["main.cpp", "-o", "main"]).current_dir(folder).output();
    let Ok(built) = built else {
        println!("skipped: no g++ is here; `apt-get install g++` brings it");
        return None;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut child = Command::new(folder.join("main")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| problem.values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.concat().as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "an illegal config");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect())
}

/// Holds the compiled header against what it answers here, on its fixed problems and others.
fn agrees(kernel: &Kernel, device: &Device, dispatch: &Dispatch, problems: &[Problem]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("table.h"), dispatch.text()).unwrap();
    // sizes that the kernel does not take
    let size = kernel.fields.iter().position(|field| field.kind == FieldKind::Size).unwrap();
    let refused = [-5.0, kernel.fields[size].min as f64 - 1.0, kernel.fields[size].max as f64 + 1.0].map(|value| {
        let mut problem = problems[0].clone();
        problem.values[size] = value;
        problem
    });
    let Some(lines) = compiled(folder.path(), kernel, &[problems, &refused].concat()) else { return };
    let (lines, of_refused) = lines.split_at(problems.len());
    assert_eq!(of_refused, ["none"; 3]);
    for (line, problem) in lines.iter().zip(problems) {
        if let Some(DispatchChoice { config, .. }) = dispatch.choose(problem) {
            assert!(ConfigSpace::new(kernel, problem, device).is_legal(&config));
        }
        assert_eq!(*line, expected_answer(kernel, dispatch, problem), "{}", kernel.show_problem(problem));
    }
    other_languages::agree(kernel, dispatch, problems);
}

fn range(field: &str, least: u64, greatest: u64) -> Range {
    Range { field: field.into(), least, greatest }
}

#[test]
fn a_header_of_gemm_answers_in_cpp_as_it_does_here() {
    let kernel = Kernel::open("gemm").unwrap();
    let model = Model::load(&root().join("models/gemm-cpu")).unwrap();
    let device = model.meta.devices[0].clone();
    let points = Predicted::new(&kernel, &model, &device).unwrap().with_width(3);
    let texts = ["M=8,N=8,K=16", "M=700,N=300,K=40", "M=64,N=1000,K=512,transB=T", "M=33,N=65,K=97,beta=0.5,dtype=f16"];
    let fixed: Vec<Problem> = texts.iter().map(|text| kernel.problem(text).unwrap()).collect();
    let ranges = Ranges::new(&kernel, &fixed, &[range("K", 1, 600)]).unwrap();
    let options = DispatchOptions { samples: 60, leaves: 8, configs: 12, threads: 2, ..DispatchOptions::default() };
    let header = Dispatch::new(&kernel, &device, &points, &fixed, &ranges, &options).unwrap();
    assert!(header.leaves() > 1 && header.sizes().fixed == 4);
    assert!(header.loss.mean < header.loss.one_config + 0.02, "{:?}", header.loss);
    assert!((0.0..1.0).contains(&header.loss.agreement) && header.loss.problems == 20, "{:?}", header.loss);
    let mut rng = test_generator(3);
    let mut problems = fixed.clone();
    // also sizes far beyond those that the tree was grown for
    let mut size = |most: u32| (2f64.powf(rng.random::<f64>() * most as f64)) as u64;
    for i in 0..200 {
        let text = format!("M={},N={},K={},transA={}", size(14), size(14), size(12), ["N", "T"][i % 2]);
        problems.push(kernel.problem(&text).unwrap());
    }
    let from =
        |source| problems.iter().filter(|p| header.choose(p).is_some_and(|choice| choice.source == source)).count();
    assert!(from(Source::Table) == 4 && from(Source::Tree) > 150);
    agrees(&kernel, &device, &header, &problems);
}

#[test]
fn a_header_of_a_kernel_with_entangled_constraints_is_legal_or_answers_nothing() {
    let name = "ConvAsmBwdWrW3x3";
    let kernel = Kernel::open(name).unwrap();
    let model = Model::load_for(&root().join("models/miopen"), name).unwrap();
    let device = model.meta.devices[0].clone();
    let points = Predicted::new(&kernel, &model, &device).unwrap().with_width(2);
    let lines = std::fs::read_to_string(root().join("tests/goldens/predict").join(format!("{name}.txt"))).unwrap();
    let found = lines.lines().filter_map(|line| kernel.problem(line.split_whitespace().next()?).ok());
    let fixed: Vec<Problem> = found.take(5).collect();
    assert!(!fixed.is_empty());
    let ranges = Ranges::new(&kernel, &fixed, &[]).unwrap();
    let options = DispatchOptions { samples: 30, leaves: 4, configs: 8, threads: 2, ..DispatchOptions::default() };
    let header = Dispatch::new(&kernel, &device, &points, &fixed, &ranges, &options).unwrap();
    agrees(&kernel, &device, &header, &fixed);
}

#[test]
fn a_header_that_is_compiled_with_fast_mathematics_knows_what_is_no_number() {
    let text = r#"
name = "odd"
meaning = "constraints that reach what is no number"
field = [{ name = "n", kind = "size", min = 1, max = 99, shape = true, meaning = "n" }]
parameter = [
    { name = "V", values = [0, 1, 2, 4], default = 4, meaning = "a" },
    { name = "W", values = [0, 1, 30], default = 0, meaning = "a" },
]
constraint = [
    { expr = "log2(n - 20 * V) != 3", reason = "of a negative number there is none" },
    { expr = "n % V <= 2 or min(n % W, 7) == 7", reason = "a division by zero is none" },
    { expr = "n / W >= 1 or W > n", reason = "infinity is large" },
    { expr = "floor(0.7 * n) % max(V, 1) == 0 or n < 5", reason = "in 80 bits 0.7 * 10 is below 7" },
]
work = { flops = "1", bytes = "1" }
"#;
    let kernel = Kernel::from_files([("kernel.toml".to_string(), text.to_string())].into(), "kernel.toml").unwrap();
    let device = Device::find_described("A100").unwrap();
    let (given, limits) = (kernel.clone(), device.clone());
    let points = Given::new("made up", move |problem: &Problem| {
        let mut points = Vec::new();
        let mut take = |config: &[Choice]| {
            let time_us = 1.0 + ((points.len() as f64 + problem.values[0]) * 7.0) % 5.0;
            points.push(Point { config: Config(config.into()), time_us: Some(time_us), joules: None });
            true
        };
        ConfigSpace::new(&given, problem, &limits).for_each(&mut take).unwrap();
        points
    });
    let all: Vec<Problem> = (1..100).map(|n| kernel.problem(&format!("n={n}")).unwrap()).collect();
    let ranges = Ranges::new(&kernel, &all[..1], &[range("n", 1, 99)]).unwrap();
    let options = DispatchOptions { samples: 60, leaves: 8, ..DispatchOptions::default() };
    let header = Dispatch::new(&kernel, &device, &points, &all[..1], &ranges, &options).unwrap();
    agrees(&kernel, &device, &header, &all);
}

/// A kernel whose fields, labels and parameters are called as words and macros of C and C++ are, and as the header's own names.
const HOSTILE: &str = r#"
name = "NULL-int"
meaning = "a comment that goes on \\"
field = [
    { name = "EOF", kind = "size", min = 1, max = 9, shape = true, meaning = "ends \\" },
    { name = "int", kind = "choice", labels = ["INFINITY", "linux", "1-2", "1.2", "new", "_"], default = "linux", meaning = "*/ int injected; /* ??/" },
    { name = "Problem", kind = "choice", labels = ["Source", "detail"], default = "detail", meaning = "\u202e" },
    { name = "x", kind = "choice", labels = ["a"], default = "a", meaning = "a" },
    { name = "x_label", kind = "real", default = "1", meaning = "a" },
    { name = "std", kind = "real", default = "1", meaning = "a" },
    { name = "_", kind = "real", default = "1", meaning = "a" },
]
parameter = [
    { name = "errno", values = [1, 2], default = 1, meaning = "a" },
    { name = "assert", values = [1, 2], default = 1, meaning = "a" },
    { name = "Config", values = [1, 2], default = 1, meaning = "a" },
    { name = "size_t", values = [1, 2], default = 1, meaning = "a" },
    { name = "I", values = [1, 2], default = 1, meaning = "a" },
    { name = "BUFSIZ", values = [1, 2], default = 1, meaning = "a" },
]
constraint = [{ expr = "errno <= EOF + size_t", reason = "it ends \\" }]
work = { flops = "1", bytes = "1" }
"#;

#[test]
fn a_header_compiles_whatever_words_and_macros_its_names_are_and_nothing_of_a_name_is_code() {
    let files = [("kernel.toml".to_string(), HOSTILE.to_string())].into();
    let kernel = Kernel::from_files(files, "kernel.toml").unwrap();
    let name = "A100 */ int injected; \u{1b}[2J\u{202e} ??/\n#error injected \\".into();
    let device = Device { name, ..Device::find_described("A100").unwrap() };
    let given = kernel.clone();
    let points = Given::new("made up \n#error injected", move |_: &Problem| {
        vec![Point { config: given.default_config(), time_us: Some(1.0), joules: None }]
    });
    let fixed = vec![kernel.problem("EOF=3,int=new").unwrap()];
    let ranges = Ranges::new(&kernel, &fixed, &[]).unwrap();
    let options = DispatchOptions { samples: 30, leaves: 2, ..DispatchOptions::default() };
    let dispatch = Dispatch::new(&kernel, &device, &points, &fixed, &ranges, &options).unwrap();
    hostile_in_other_languages(&dispatch);
    let text = dispatch.text();
    assert!(!text.chars().any(|c| seqtune_kernel::spelling::is_hidden(c) && c != '\n'), "{text}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("table.h"), text).unwrap();
    let headers = [
        "cassert",
        "cerrno",
        "cfloat",
        "ciso646",
        "climits",
        "cmath",
        "complex.h",
        "csignal",
        "cstdint",
        "cstdio",
        "unistd.h",
    ];
    let include: String = headers.iter().map(|name| format!("#include <{name}>\n")).collect();
    let program = format!(
        "{include}#include \"table.h\"\nint injected() {{ return 0; }}\nusing namespace seqtune_NULL_int;\n\
         int main() {{ Problem p; p.EOF_ = 3; p.int_ = int__label::new_; return choose(p)->errno_ == 1 ? injected() : 1; }}\n"
    );
    std::fs::write(folder.path().join("main.cpp"), program).unwrap();
    for standard in ["-std=c++17", "-std=gnu++17"] {
        let flags = [standard, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "main.cpp", "-o", "main"];
        let Ok(built) = Command::new("g++").args(flags).current_dir(folder.path()).output() else {
            println!("skipped: there is no g++ here; `apt-get install g++` brings it");
            return;
        };
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        assert!(Command::new(folder.path().join("main")).status().unwrap().success());
    }
}

/// Modules in Rust and Python of hostile names compile too.
fn hostile_in_other_languages(dispatch: &Dispatch) {
    let folder = tempfile::tempdir().unwrap();
    let hidden = |c: char| seqtune_kernel::spelling::is_hidden(c) && c != '\n';
    let [rust, python] = [dispatch.rust(), dispatch.python()];
    assert!(!rust.chars().chain(python.chars()).any(hidden), "{rust}{python}");
    std::fs::write(folder.path().join("choices.rs"), rust).unwrap();
    compile_rust(folder.path(), &["--crate-type", "lib", "--emit", "metadata", "choices.rs"]);
    std::fs::write(folder.path().join("choices.py"), python).unwrap();
    let mut command = Command::new("python3");
    let ask = "import choices; print(choices.choose({'EOF': 3, 'int': 'new'})['errno'])";
    command.args(["-c", ask]).current_dir(folder.path());
    assert_eq!(output_of(command, ""), ["1"]);
}

#[test]
fn two_headers_of_one_kernel_are_refused_in_one_namespace_and_answer_apart_in_two() {
    let toy = root().join("src/predict/toy");
    let kernel = Kernel::open(&toy.display().to_string()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = DispatchOptions { samples: 30, leaves: 2, ..DispatchOptions::default() };
    let fixed = vec![kernel.problem("M=64").unwrap()];
    let ranges = Ranges::new(&kernel, &fixed, &[range("M", 32, 64)]).unwrap();
    let made = |tile: &str| {
        let config = kernel.config(&format!("tile={tile},width=1")).unwrap();
        let points =
            Given::new("", move |_: &Problem| vec![Point { config: config.clone(), time_us: Some(1.0), joules: None }]);
        let device = Device::find_described("A100").unwrap();
        Dispatch::new(&kernel, &device, &points, &fixed, &ranges, &options).unwrap()
    };
    let [one, two] = ["8", "16"].map(made);
    let ends = |headers: &[(&str, String)], program: &str| {
        headers.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        let includes: String = headers.iter().map(|(name, _)| format!("#include \"{name}\"\n")).collect();
        std::fs::write(folder.path().join("main.cpp"), includes + program).unwrap();
        let built =
            Command::new("g++").args(["-std=c++17", "main.cpp", "-o", "main"]).current_dir(folder.path()).output();
        let built = built.ok()?;
        let ran = built.status.success() && Command::new(folder.path().join("main")).status().unwrap().success();
        Some((ran, String::from_utf8_lossy(&built.stderr).into_owned()))
    };
    let program = "int main() { seqtune_toy::Problem p; p.M = 64; return seqtune_toy::choose(p)->tile != 8; }\n";
    let Some((same, _)) = ends(&[("a.h", one.text()), ("b.h", one.text())], program) else {
        return println!("skipped: there is no g++ here; `apt-get install g++` brings it");
    };
    assert!(same, "a header may be included twice, also from two files");
    let (ran, told) = ends(&[("a.h", one.text()), ("b.h", two.text())], program).unwrap();
    assert!(!ran && told.contains("two headers of seqtune that differ are of namespace seqtune_toy"), "{told}");
    let program = "int main() { one::Problem p; p.M = 64; two::Problem q; q.M = 64; return one::choose(p)->tile != 8 || two::choose(q)->tile != 16; }\n";
    let (ran, told) = ends(&[("a.h", one.text_in("one")), ("b.h", two.text_in("two"))], program).unwrap();
    assert!(ran, "{told}");
}
