//! Programs in C and C++: compiled without a warning, run, run by several threads, and looked over by valgrind.

use crate::kit::{command, compile, install, out, prefix, root, toy};
use std::path::Path;
use std::process::Command;

fn example(name: &str) -> std::path::PathBuf {
    root().join("examples").join(name)
}

#[test]
fn the_c_example_predicts_each_problem_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("launch_cache");
    if !compile(&example("c/launch_cache.c"), &program, &[]) {
        return;
    }
    let said = out(command(&program, &["models/gemm-cpu", "epyc"]).output().unwrap());
    assert!(said.contains("64 x 256 x 512: ") && said.contains("-DMWG="), "{said}");
    assert!(said.ends_with("100 launches, 4 predictions\n"), "{said}");
    let output = command(&program, &["models/none", "epyc"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let sentence = String::from_utf8(output.stderr).unwrap();
    assert_eq!(sentence, "opening the model: models/none: no such file or folder\n");
}

#[test]
fn the_cpp_example_shares_its_predictions_among_threads() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("launch_cache");
    if !compile(&example("cpp/launch_cache.cpp"), &program, &[]) {
        return;
    }
    let said = out(command(&program, &["models/gemm-cpu", "epyc"]).output().unwrap());
    assert!(said.starts_with("160 launches of 4 problems on ") && said.contains("MWG="), "{said}");
    let output = command(&program, &["models/none", "epyc"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "models/none: no such file or folder\n");
}

#[test]
fn a_session_of_more_candidates_than_there_are_throws_an_error_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("session.cpp"), folder.path().join("session"));
    let text = "#include <seqtune.hpp>\n#include <iostream>\n\
        int main(int, char **words) {\n    seqtune::predictor predictor(words[1], words[2], \"A100\");\n\
        \x20   for (const std::size_t top : {std::size_t(-1), std::size_t(1) << 60, std::size_t(10001)}) {\n\
        \x20       try { seqtune::session session(predictor, top); return 1; }\n\
        \x20       catch (const seqtune::error &e) { std::cout << e.status() << ' ' << e.what() << '\\n'; }\n    }\n}\n";
    std::fs::write(&source, text).unwrap();
    if compile(&source, &program, &[]) {
        let [model, kernel] = toy();
        let said = out(command(&program, &[&model, &kernel]).output().unwrap());
        assert_eq!(said.matches("ask for 1 to 10000").count(), 3, "{said}");
        assert!(said.lines().all(|line| line.starts_with("2 top is ")), "{said}");
    }
}

#[test]
fn threads_on_one_predictor_answer_as_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("threads");
    if compile(&root().join("tests/c/threads.c"), &program, &[]) {
        let [model, kernel] = toy();
        assert_eq!(out(command(&program, &[&model, &kernel]).output().unwrap()), "8 threads: 0 differences\n");
    }
}

#[test]
fn a_program_that_uses_every_function_leaves_valgrind_or_a_sanitizer_nothing_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("every_call");
    let [model, kernel] = toy();
    let file = Path::new(&model).join("model.safetensors").display().to_string();
    let words = [model.as_str(), &kernel, &file];
    let source = root().join("tests/c/every_call.c");
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let more: &[&str] = if has_valgrind { &[] } else { &["-fsanitize=address,undefined"] };
    if !compile(&source, &program, more) {
        return;
    }
    let mut run = command(&program, &words);
    if has_valgrind {
        let libraries = prefix().unwrap().join("lib");
        run = Command::new("valgrind");
        // threads that wait for work until the program ends are "possibly lost"
        let kinds = ["--show-leak-kinds=definite,indirect", "--errors-for-leak-kinds=definite,indirect"];
        run.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]).args(kinds);
        run.arg(&program).args(words).current_dir(root()).env("LD_LIBRARY_PATH", libraries);
    }
    assert_eq!(out(run.output().unwrap()), "every call was made\n");
}

#[test]
fn the_static_library_makes_a_program_that_needs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(prefix), program) = (prefix(), folder.path().join("static")) else { return };
    let pc = std::fs::read_to_string(prefix.join("lib/pkgconfig/seqtune.pc")).unwrap();
    let private = pc.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap().to_string();
    let cc = Command::new("cc")
        .args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-o"])
        .arg(&program)
        .arg(root().join("tests/c/threads.c"))
        .args([format!("-I{}/include", prefix.display()), format!("-L{}/lib", prefix.display())])
        .arg("-l:libseqtune.a")
        .args(private.split(' '))
        .output()
        .unwrap();
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    let [model, kernel] = toy();
    let said = out(Command::new(&program).args([&model, &kernel]).output().unwrap());
    assert_eq!(said, "8 threads: 0 differences\n");
}

#[test]
fn a_cmake_project_finds_the_installed_package() {
    if Command::new("cmake").arg("--version").output().is_err() {
        println!("skipped: no cmake is here; `apt-get install cmake` brings it");
        return;
    }
    let (Some(prefix), folder) = (prefix(), tempfile::tempdir().unwrap()) else { return };
    std::fs::copy(example("c/launch_cache.c"), folder.path().join("program.c")).unwrap();
    let project = "cmake_minimum_required(VERSION 3.13)\nproject(program C)\nfind_package(seqtune 0.1 REQUIRED)\n\
        add_executable(program program.c)\ntarget_link_libraries(program PRIVATE seqtune::seqtune)\n\
        add_executable(alone program.c)\ntarget_link_libraries(alone PRIVATE seqtune::static)\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), project).unwrap();
    let cmake = |words: &[&str]| {
        let output = Command::new("cmake").args(words).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    cmake(&["-S", ".", "-B", "build", &format!("-DCMAKE_PREFIX_PATH={}", prefix.display())]);
    cmake(&["--build", "build"]);
    for program in ["build/program", "build/alone"] {
        let said = out(command(&folder.path().join(program), &["models/gemm-cpu", "epyc"]).output().unwrap());
        assert!(said.ends_with("100 launches, 4 predictions\n"), "{said}");
    }
}

#[test]
fn the_installer_says_what_is_wrong_with_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("file").display().to_string();
    std::fs::write(&place, "").unwrap();
    for (words, sentence) in [
        (&[] as &[&str], "usage: scripts/release/install.sh PREFIX [BUILT]"),
        (&["a", "b", "c"], "usage: scripts/release/install.sh PREFIX [BUILT]"),
        (&["--prefix=/x"], "`--prefix=/x` is no folder; usage: "),
        (&[place.as_str()], "is no folder; usage: "),
        (&[folder.path().to_str().unwrap(), "/none"], "/none holds no libseqtune_c.so; build it by: cargo build"),
    ] {
        let (said, code) = install(words);
        assert!(code == Some(2) && said.contains(sentence) && said.lines().count() == 1, "{words:?}: {said}");
    }
}
