//! Modules in Rust and Python answer as the dispatch does here.

use crate::dispatch::{Dispatch, DispatchChoice};
use seqtune_predict::{Kernel, Problem};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a dispatch answers: where from, then the values; `none` where nothing is legal.
pub(super) fn expected_answer(kernel: &Kernel, dispatch: &Dispatch, problem: &Problem) -> String {
    match dispatch.choose(problem) {
        None => "none".to_string(),
        Some(DispatchChoice { config, source }) => {
            let values = kernel.parameters.iter().zip(&config.0).map(|(p, c)| p.values[*c as usize].to_string());
            [(source as i32).to_string()].into_iter().chain(values).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Numbers of problems, a line each.
fn lines(problems: &[Problem]) -> String {
    let line = |problem: &Problem| problem.values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ") + "\n";
    problems.iter().map(line).collect()
}

/// What a program prints that reads `input`.
pub(super) fn output_of(mut command: Command, input: &str) -> Vec<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

fn rust_program(kernel: &Kernel) -> String {
    let member = |(at, field): (usize, &seqtune_kernel::kernel_toml::spec::Field)| {
        let value = match (field.kind, field.labels.len()) {
            (seqtune_kernel::kernel_toml::spec::FieldKind::Size, _) => format!("v[{at}] as i64"),
            (_, 0) => format!("v[{at}]"),
            (_, count) => {
                let arm = |label: usize| {
                    let name = &field.labels[label];
                    format!("{label} => choices::{}_label::{name}", field.name)
                };
                let arms = (0..count).map(arm).collect::<Vec<_>>().join(", ");
                format!("match v[{at}] as i64 {{ {arms}, _ => panic!() }}")
            }
        };
        format!("{}: {value}", field.name)
    };
    let members: Vec<String> = kernel.fields.iter().enumerate().map(member).collect();
    let values: Vec<String> = kernel.parameters.iter().map(|own| format!("c.{}", own.name)).collect();
    format!(
        "mod choices;\nfn main() {{\n    for line in std::io::stdin().lines() {{\n        let line = line.unwrap();\n        \
         let v: Vec<f64> = line.split(' ').map(|x| x.parse().unwrap()).collect();\n        let p = choices::Problem {{ {} }};\n        \
         match choices::choose(&p) {{\n            None => println!(\"none\"),\n            \
         Some((c, source)) => println!(\"{}{}\", source as i32, {}),\n        }}\n    }}\n}}\n",
        members.join(", "),
        "{}",
        " {}".repeat(values.len()),
        values.join(", ")
    )
}

/// Compiles a file of Rust in a folder; the name of the program is `main`.
pub(super) fn compile_rust(folder: &Path, arguments: &[&str]) {
    let built = Command::new("rustc")
        .args(["--edition", "2021", "-D", "warnings"])
        .args(arguments)
        .current_dir(folder)
        .output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

const PYTHON_PROGRAM: &str = "
import sys
import choices

for line in sys.stdin:
    problem = {}
    for name, value in zip(choices._FIELDS, line.split()):
        labels = choices._LABELS.get(name)
        problem[name] = float(value) if labels is None else labels[int(value)]
    found = choices.choose(problem)
    print('none' if found is None else ' '.join(str(value) for value in found.values()))
    assert found is None or choices.legal(problem, found) or choices._values(problem) in choices._TABLE
";

/// Holds the modules in Rust and in Python against what is answered here.
pub(super) fn agree(kernel: &Kernel, dispatch: &Dispatch, problems: &[Problem]) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let wanted: Vec<String> = problems.iter().map(|problem| expected_answer(kernel, dispatch, problem)).collect();
    write("choices.rs", &dispatch.rust());
    write("main.rs", &rust_program(kernel));
    compile_rust(folder.path(), &["main.rs"]);
    let found = output_of(Command::new(folder.path().join("main")), &lines(problems));
    for ((found, wanted), problem) in found.iter().zip(&wanted).zip(problems) {
        assert_eq!(found, wanted, "Rust, {}", kernel.show_problem(problem));
    }
    assert_eq!(found.len(), wanted.len());
    write("choices.py", &dispatch.python());
    write("main.py", PYTHON_PROGRAM);
    let mut python = Command::new("python3");
    python.arg("main.py").current_dir(folder.path());
    let found = output_of(python, &lines(problems));
    assert_eq!(found.len(), wanted.len());
    for ((found, wanted), problem) in found.iter().zip(&wanted).zip(problems) {
        let values = wanted.split_once(' ').map_or(wanted.as_str(), |(_, values)| values);
        assert_eq!(found, values, "Python, {}", kernel.show_problem(problem));
    }
}
