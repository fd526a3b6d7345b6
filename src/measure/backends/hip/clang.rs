//! Compiler for AMD GPUs by clang alone, where hipRTC is missing or does not support the architecture.
//!
//! Neither headers nor libraries of ROCm are needed.

use crate::backends::hip::program::{OPTIONS, finish, option_of};
use crate::compile::prelude;
use crate::compile::reason::reason;
use crate::compile::{Binary, Compiler, Job};
use crate::processes::guard::end_with_parent;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Compiler clang for one architecture.
pub struct Clang {
    program: String,
    version: String,
    architecture: String,
}

/// Candidate paths and names of clang, with `$SEQTUNE_CLANG` first.
fn names() -> Vec<String> {
    let named = std::env::var("SEQTUNE_CLANG").ok();
    let versions = (17..=24).rev().map(|v| format!("clang-{v}"));
    named.into_iter().chain(["/opt/rocm/llvm/bin/clang".into()]).chain(versions).chain(["clang".into()]).collect()
}

impl Clang {
    /// Opens the first clang that compiles for the architecture.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where no clang is installed or none compiles for the architecture.
    pub fn open(architecture: &str) -> Result<Clang> {
        let mut message = None;
        for program in names() {
            let mut command = Command::new(&program);
            end_with_parent(command.arg("--version").stderr(Stdio::null()));
            let Ok(asked) = command.output() else { continue };
            let version = String::from_utf8_lossy(&asked.stdout).lines().next().unwrap_or_default().to_string();
            let clang = Clang { program, version, architecture: architecture.into() };
            let nothing = "extern \"C\" __attribute__((global)) void nothing() {}";
            match clang.make(nothing, &[]) {
                Ok(_) => return Ok(clang),
                Err(e) => {
                    message = message.or(Some(format!("{}: {}", clang.version, e.lines().next().unwrap_or_default())))
                }
            }
        }
        Err(Error::Unavailable(match message {
            Some(message) => format!("HIP: clang does not compile for {architecture}: {message}"),
            None => "HIP: clang is not installed (clang-19 and lld-19 make programs for AMD GPUs; $SEQTUNE_CLANG names another)".into(),
        }))
    }

    /// Compiles a source to a code object; the error is clang's message.
    fn make(&self, source: &str, options: &[String]) -> std::result::Result<Vec<u8>, String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let own = format!("seqtune-{}-{}.co", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(own);
        let mut command = Command::new(&self.program);
        command
            .args(["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"])
            .args(OPTIONS)
            .arg(format!("--offload-arch={}", self.architecture))
            .args(options)
            .arg("-o")
            .arg(&path)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        end_with_parent(&mut command);
        let mut process = command.spawn().map_err(|e| format!("starting {}: {e}", self.program))?;
        if let Some(mut stdin) = process.stdin.take() {
            // a compiler that ends early writes the reason itself
            let _ = stdin.write_all(source.as_bytes());
        }
        let done = process.wait_with_output().map_err(|e| format!("{}: {e}", self.program))?;
        let code = std::fs::read(&path);
        let _ = std::fs::remove_file(&path);
        match (done.status.success(), code) {
            (true, Ok(code)) => Ok(code),
            _ => Err(reason(&String::from_utf8_lossy(&done.stderr))),
        }
    }
}

impl Compiler for Clang {
    fn identity(&self) -> String {
        format!("{} {} {}", self.version, self.architecture, OPTIONS.join(" "))
    }

    fn compile(&self, job: &Job) -> Attempt<Binary> {
        let code = self
            .make(&prelude::as_cpp(job.file, job.source, job.defines), option_of(job).as_slice())
            .map_err(|message| Invalidity::new(InvalidityKind::Compile, message))?;
        finish(code, job, &self.architecture)
    }
}
