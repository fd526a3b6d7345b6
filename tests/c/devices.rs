//! Limits of live devices: of CUDA's and HIP's doubles, and of whatever OpenCL finds here.

use crate::kit::{command, compile, out, prefix, root, toy};
use std::path::Path;
use std::process::Command;

/// Compiles the double of a driver's library, as tests/gpus/gpu_doubles.rs does.
fn double(source: &str, library: &Path) {
    let options = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-Wno-unused-parameter", "-o"];
    let source = root().join("tests/doubles").join(source);
    let built = Command::new("cc").args(options).arg(library).arg(source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// What a program prints that sets a live device, where only the libraries of a folder are found first.
fn asked(program: &Path, libraries: &Path, api: &str, ordinal: &str) -> String {
    let [model, kernel] = toy();
    let path = std::env::join_paths([libraries.to_path_buf(), prefix().unwrap().join("lib")]).unwrap();
    out(command(program, &[&model, &kernel, api, ordinal]).env("LD_LIBRARY_PATH", path).output().unwrap())
}

#[test]
fn limits_are_taken_from_live_devices() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("device");
    if !compile(&root().join("tests/c/device.c"), &program, &[]) {
        return;
    }
    double("libcuda.c", &folder.path().join("libcuda.so.1"));
    double("libamdhip64.c", &folder.path().join("libamdhip64.so.7"));
    let ask = |api, ordinal| asked(&program, folder.path(), api, ordinal);
    assert_eq!(
        ask("cuda", "0"),
        "Double 1: 1024 work-items, 49152 bytes, 2 units, sub-groups of 32, 16 GB/s, 32 registers unknown: 0\n"
    );
    assert_eq!(ask("cuda", "3"), "status 3: CUDA device 3: CUDA: invalid argument\n");
    assert_eq!(
        ask("hip", "0"),
        "AMD Double 1: 1024 work-items, 65536 bytes, 4 units, sub-groups of 64, 16 GB/s, 32 registers unknown: 0\n"
    );
    assert!(ask("hip", "3").starts_with("status 3: device 3: HIP: "));
    let said = ask("opencl", "0");
    match said.starts_with("skipped: ") {
        true => println!("{}", said.trim()),
        false => assert!(said.ends_with(" registers unknown: 1\n") && said.contains(" work-items, "), "{said}"),
    }
}
