//! The rules of the source tree that ARCHITECTURE.md states.

use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for path in sources(Path::new("src")).into_iter().chain(sources(Path::new("tests"))) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not open with //!", path.display());
        let lines = text.lines().count();
        assert!(lines <= 400, "{} has {lines} lines", path.display());
    }
}

#[test]
fn only_the_command_line_prints() {
    let prints = [
        "src/cli",
        "src/console",
        "src/train/commands",
        "src/lab/commands",
        "src/train/build.rs",
        "src/c/build.rs",
        "src/predict/benches",
        "src/train/benches",
        "src/choose/simulation.rs", // a test, whose table is a figure of docs/integrations/chooser.md
        "src/choose/dispatch/compiled.rs", // a test that is skipped without a compiler
        "src/choose/dispatch/other_languages.rs", // a test, whose programs print
    ];
    for path in sources(Path::new("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let may = prints.iter().any(|place| path.starts_with(place));
        assert!(may || !code.contains("print!(") && !code.contains("println!("), "{} prints", path.display());
    }
}

#[test]
fn unsafe_code_stands_in_drivers_and_in_a_few_files_that_need_it() {
    let may = [
        "src/main.rs",                    // one signal is ignored
        "src/devices",                    // the same, where devices are described
        "src/c",                          // pointers of C programs
        "src/measure/backends",           // APIs of drivers and compilers
        "src/hip-runtime-sys",            // prototypes of one of them
        "src/evolve/llvm/library",        // calls of libLLVM
        "src/measure/processes/guard.rs", // signals, groups of processes, standard streams
        "src/eval/baselines/lightgbm.rs", // a library of C
        "src/predict/network/simd.rs",    // code for processors of wider vectors
        "src/train/ensemble/memory.rs",   // malloc's options
        "src/train/network/tensors.rs",   // numbers of tensors as slices, for the optimizer and the decoder
    ];
    for path in sources(Path::new("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let holds = text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains("unsafe "));
        assert!(!holds || may.iter().any(|place| path.starts_with(place)), "{} has unsafe code", path.display());
    }
}

#[test]
fn verbs_open_kernels_in_one_place_where_all_that_they_say_is_compiled() {
    for path in sources(Path::new("src/cli")).into_iter().chain(sources(Path::new("src/console"))) {
        let text = std::fs::read_to_string(&path).unwrap();
        let may = ["src/console/inputs.rs", "src/cli/check.rs"].iter().any(|place| path == Path::new(place));
        assert!(may || !text.contains("Kernel::open("), "{} opens a kernel by itself", path.display());
    }
}

#[test]
fn what_a_user_names_is_opened_in_one_place_within_limits_and_without_waiting() {
    let may = [
        "src/kernel/files.rs",                // that place
        "src/console/outputs.rs",             // the first bytes of a file that was found regular
        "src/data/journal.rs",                // to write, behind a look by that place
        "src/devices/host.rs",                // the system's own files, as the next ones
        "src/measure/backends/hip",           // and what a compiler has written
        "src/measure/backends/opencl/mod.rs", // the system's memory
        "src/measure/processes",              // the system's processes
        "src/measure/programs/places.rs",     // a note of ours in a folder of ours
        "src/measure/programs/powercap.rs",   // the system's counters
        "src/choose/dispatch/compiled.rs",    // tests, as the next ones
        "src/choose/dispatch/other_languages.rs",
        "src/choose/scenarios.rs",
        "src/train/benches",
    ];
    for path in sources(Path::new("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let opens = ["fs::read(", "fs::read_to_string(", "File::open(", "OpenOptions::new()"]
            .iter()
            .any(|call| code.contains(call));
        let listed = may.iter().any(|place| path.starts_with(place));
        assert!(!opens || listed, "{} opens files by itself; see src/kernel/files.rs", path.display());
    }
}

#[test]
fn every_parameter_of_a_kernel_has_a_documented_default_in_its_source() {
    for name in seqtune_kernel::Kernel::all_shipped() {
        let kernel = seqtune_kernel::Kernel::open(&name).unwrap();
        let Some(source) = kernel.source.as_ref() else { continue };
        let source = &kernel.files[&source.program.file];
        for p in &kernel.parameters {
            let guard = format!("#ifndef {}\n#define {} ", p.name, p.name);
            let at = source.find(&guard).unwrap_or_else(|| panic!("{name}: no default for {}", p.name));
            let line = source[at + guard.len()..].lines().next().unwrap();
            assert!(line.contains("//"), "{name}: {} is not explained", p.name);
        }
        let readme = Path::new("kernels").join(&name).join("README.md");
        assert!(readme.is_file(), "{name} has no README.md");
    }
}

/// The code of tests: the files of `tests`, and what stands behind `#[cfg(test)]`.
fn test_code() -> Vec<(PathBuf, String)> {
    let own = sources(Path::new("tests")).into_iter().filter(|path| !path.ends_with("tidy.rs"));
    let of_tests = own.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
    let inner = sources(Path::new("src")).into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_whole =
            ["tests.rs", "scenarios.rs", "simulation.rs", "compiled.rs"].iter().any(|name| path.ends_with(name));
        let code = if is_whole { text } else { text.split_once("#[cfg(test)]")?.1.to_string() };
        Some((path, code))
    });
    of_tests.chain(inner).collect()
}

#[test]
fn what_is_skipped_says_what_would_run_it() {
    for (path, text) in test_code() {
        for line in text.lines().filter(|line| line.contains("\"skipped: ") && !line.contains("starts_with")) {
            let says =
                ["`scripts/setup.sh ", "`apt-get install ", "it takes "].iter().any(|words| line.contains(words));
            assert!(says, "{} does not say what would run the test: {}", path.display(), line.trim());
        }
    }
}

#[test]
fn tests_start_what_a_new_machine_has_and_lean_on_no_process_id_port_clock_or_environment_of_all() {
    // Debian's smallest system, and what README names; then what a test looks for, and says where it is not
    let there = ["cc", "c++", "sh", "bash", "python3", "mkfifo", "chmod", "unshare", "taskset", "/sbin/ldconfig"];
    let looked_for = ["g++", "strace", "cmake", "valgrind", "pkg-config"];
    let never = [
        "process::id()",
        "SystemTime::now",
        "TcpListener::bind",
        "UdpSocket::bind",
        "env::set_var",
        "env::remove_var",
        "temp_dir()",
    ];
    for (path, text) in test_code() {
        for program in text.split("Command::new(\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()) {
            assert!(
                there.iter().chain(&looked_for).any(|name| *name == program),
                "{} starts {program}",
                path.display()
            );
        }
        for name in never {
            assert!(!text.contains(name), "{}: {name}", path.display());
        }
    }
}
