//! What these tests share: an installed library, and the compilers of programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// A toy kernel that answers at once, and its model.
pub fn toy() -> [String; 2] {
    let toy = root().join("src/predict/toy");
    [toy.join("model").display().to_string(), toy.display().to_string()]
}

/// Runs `scripts/release/install.sh`; what it said, and its exit code.
pub fn install(words: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(root().join("scripts/release/install.sh")).args(words).output().unwrap();
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

/// The folder where cargo put the libraries that these tests belong to.
pub fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    let holds = |folder: &&Path| folder.join("libseqtune_c.so").is_file() && folder.join("libseqtune_c.a").is_file();
    folders.into_iter().find(holds).expect("cargo builds the libraries for these tests").to_path_buf()
}

/// The library as `scripts/release/install.sh` installs it; `None`, with a word, where there is no C compiler.
pub fn prefix() -> Option<&'static Path> {
    static PREFIX: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let prefix = PREFIX.get_or_init(|| {
        if Command::new("cc").arg("--version").output().is_err() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (said, code) = install(&[folder.path().to_str().unwrap(), built().to_str().unwrap()]);
        assert_eq!(code, Some(0), "{said}");
        Some(folder)
    });
    if prefix.is_none() {
        println!("skipped: no C compiler is here; `apt-get install gcc` brings one");
    }
    prefix.as_ref().map(|folder| folder.path())
}

/// What pkg-config says of the installed library; by hand where there is none.
fn flags(prefix: &Path) -> Vec<String> {
    let asked = Command::new("pkg-config")
        .args(["--cflags", "--libs", "seqtune"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output();
    match asked {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().split_whitespace().map(String::from).collect()
        }
        Err(_) => {
            println!("note: no pkg-config is here, the flags are written by hand");
            let place = prefix.display();
            vec![format!("-I{place}/include"), format!("-L{place}/lib"), "-lseqtune".into()]
        }
    }
}

/// Compiles a program of C11 or C++17, with every warning an error; false, with a word, where there is no compiler.
pub fn compile(source: &Path, program: &Path, more: &[&str]) -> bool {
    let Some(prefix) = prefix() else { return false };
    let is_c = source.extension().is_some_and(|e| e == "c");
    let (compiler, standard) = if is_c { ("cc", "-std=c11") } else { ("c++", "-std=c++17") };
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-D_POSIX_C_SOURCE=200809L", "-o"])
        .arg(program)
        .arg(source)
        .args(flags(prefix))
        .args(["-pthread", "-lm", "-ldl"])
        .args(more)
        .output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{}: {said}", source.display());
            true
        }
        Err(_) => {
            println!("skipped: no {compiler} is here; `apt-get install g++` brings it");
            false
        }
    }
}

/// The command of a program that finds the installed library, in the folder of the repository.
pub fn command(program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    let libraries = prefix().map(|prefix| prefix.join("lib"));
    command.args(words).current_dir(root()).env("LD_LIBRARY_PATH", libraries.unwrap_or_default());
    command
}

/// Standard output of a program, which must succeed and say nothing else.
pub fn out(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{:?}: {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}
