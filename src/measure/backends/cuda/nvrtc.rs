//! NVIDIA's run-time compiler (NVRTC), opened at run time, with or without a GPU.

use crate::backends::cuda::device::CudaVersion;
use crate::backends::cuda::occupancy::Multiprocessor;
use crate::compile::prelude;
use crate::compile::reason::{missing, reason};
use crate::compile::{Binary, Compiler, Job};
use cudarc::nvrtc::sys;
use seqtune_data::{Attempt, Invalidity, InvalidityKind, Resources};
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::fetched::fetched_places;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// NVRTC for one architecture.
///
/// A GPU that is newer than the library gets PTX of the newest architecture that the library supports, which the driver compiles at
/// load time. Resources of such a program are those of the older architecture.
pub struct Nvrtc {
    /// Architecture of the programs.
    target: String,
    /// Whether the device has a newer architecture, which takes PTX only.
    as_ptx: bool,
    version: CudaVersion,
    /// Multiprocessor of the device.
    unit: Option<Multiprocessor>,
}

/// Folders searched for the library before the system's, the first of them named by the user.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("SEQTUNE_NVRTC").map(PathBuf::from);
    let toolkit = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("lib64"));
    named.into_iter().chain(fetched_places(".nvrtc")).chain(toolkit).chain(["/usr/local/cuda/lib64".into()]).collect()
}

/// Folder of CUDA's own headers, `cuda_fp16.h` among them: beside the library as `setup.sh` puts it, or as a toolkit does.
fn headers() -> Option<PathBuf> {
    let beside = folders().into_iter().flat_map(|folder| [folder.join("include"), folder.join("../include")]);
    beside.into_iter().find(|folder| folder.join("cuda_fp16.h").is_file())
}

/// Opens the library and its built-ins by path from the first folder that has both, for the whole process.
///
/// cudarc then finds the library by name.
fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        for folder in folders() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let mut libraries: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
            let is_of = |path: &Path, name: &str| {
                path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(name))
                    && !path.to_string_lossy().contains(".alt.")
            };
            libraries.sort();
            let mut all = true;
            for name in ["libnvrtc-builtins.so", "libnvrtc.so"] {
                all &= libraries.iter().filter(|p| is_of(p, name)).any(|p| open_for_ever(p));
            }
            // two versions would be at odds: cudarc would take the newer one, whichever the user named
            if all {
                break;
            }
        }
        // SAFETY: opens a library of NVIDIA's, whose initialisers are those of any user of it
        unsafe { sys::is_culib_present() }
    })
}

fn open_for_ever(path: &Path) -> bool {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: as in `is_there`; never closed, because cudarc keeps what it finds in it
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map(std::mem::forget).is_ok()
}

impl Nvrtc {
    /// Opens the compiler for an architecture such as `sm_90`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where NVRTC is not installed, or supports newer architectures only.
    pub fn open(architecture: &str) -> Result<Nvrtc> {
        if !is_there() {
            let looked: Vec<String> = folders().iter().map(|folder| folder.display().to_string()).collect();
            return Err(Error::Unavailable(format!(
                "CUDA: libnvrtc.so is not installed: scripts/setup.sh fetches it into .nvrtc of its clone, and $SEQTUNE_NVRTC names its \
                 folder elsewhere; looked in {} and the system's folders",
                looked.join(", ")
            )));
        }
        let version = version();
        let known = architectures();
        let capability = architecture.strip_prefix("sm_").and_then(|c| c.trim_end_matches(['a', 'f']).parse().ok());
        let newest = capability.and_then(|wanted: i32| known.iter().copied().filter(|c| *c <= wanted).max());
        let Some(newest) = newest else {
            let known: Vec<String> = known.iter().map(|c| format!("sm_{c}")).collect();
            return Err(Error::Unavailable(format!(
                "CUDA: NVRTC {}.{} does not compile for {architecture}, only for {} and newer",
                version.major,
                version.minor,
                known.join(", ")
            )));
        };
        let as_ptx = capability != Some(newest);
        // machine code is for its own architecture alone, and may use what others lack: sm_90a has Hopper's warpgroup instructions
        let has_own = !as_ptx && newest >= 90 && version.major >= 12;
        let target = format!("sm_{newest}{}", if has_own { "a" } else { "" });
        Ok(Nvrtc { target, as_ptx, version, unit: Multiprocessor::from_architecture(architecture) })
    }

    /// The same with PTX for machine code, which needs no GPU to be run.
    pub fn into_ptx(self) -> Nvrtc {
        Nvrtc { as_ptx: true, ..self }
    }

    /// Compiler options without definitions.
    fn options(&self) -> Vec<String> {
        vec![
            format!("--gpu-architecture={}", self.target),
            "--std=c++17".into(),
            "--device-as-default-execution-space".into(),
            "--use_fast_math".into(),
            "--ptxas-options=-v".into(),
            "-w".into(),
        ]
    }
}

/// Version of the library, which has to be open.
fn version() -> CudaVersion {
    let mut version = CudaVersion { major: 0, minor: 0 };
    // SAFETY: the library is there; both arguments outlive the call
    unsafe { sys::nvrtcVersion(&mut version.major, &mut version.minor) };
    version
}

/// Why a driver of the given CUDA version takes no programs for an architecture; `None` where it does.
///
/// Machine code is taken by every driver of the same major version (CUDA's minor version compatibility), PTX by none that is older.
pub fn newer_than(driver: CudaVersion, architecture: &str) -> Option<String> {
    let compiler = Nvrtc::open(architecture).ok()?;
    let CudaVersion { major, minor } = compiler.version;
    let is_newer = if compiler.as_ptx { compiler.version > driver } else { major > driver.major };
    is_newer.then(|| {
        format!(
            "NVRTC {major}.{minor} is newer than the driver, which is of CUDA {}.{}: update it, or name the folder of an older NVRTC in SEQTUNE_NVRTC",
            driver.major, driver.minor
        )
    })
}

/// Compute capabilities that the installed version supports, such as 90 for 9.0; empty where it is not installed.
pub fn architectures() -> Vec<i32> {
    if !is_there() {
        return Vec::new();
    }
    let mut count = 0;
    // SAFETY: the library is there; it writes one number, then as many as that
    unsafe {
        sys::nvrtcGetNumSupportedArchs(&mut count);
        let mut known = vec![0; count.max(0) as usize];
        sys::nvrtcGetSupportedArchs(known.as_mut_ptr());
        known
    }
}

impl Compiler for Nvrtc {
    fn identity(&self) -> String {
        // what fits is judged by the device's own multiprocessor
        let form = if self.as_ptx { format!("PTX {}", self.unit.canonical()) } else { "cubin".into() };
        format!("NVRTC {}.{} {form} {}", self.version.major, self.version.minor, self.options().join(" "))
    }

    fn compile(&self, job: &Job) -> Attempt<Binary> {
        let bad = |what: &str| Invalidity::new(InvalidityKind::Compile, format!("NVRTC: {what}"));
        let text = CString::new(prelude::as_cpp(job.file, job.source, job.defines))
            .map_err(|_| bad("the source holds a zero byte"))?;
        let name = CString::new(job.file).map_err(|_| bad("the file's name holds a zero byte"))?;
        // programs from its own cache come without the assembler's log; versions that keep none do not know the option, which comes last
        let include = headers().into_iter().flat_map(|folder| [folder.join("cccl"), folder]);
        let include = include.map(|folder| format!("--include-path={}", folder.display()));
        let options = self.options().into_iter().chain(include).chain(["--no-cache".into()]);
        let options: Vec<CString> = options.filter_map(|o| CString::new(o).ok()).collect();
        let mut options: Vec<&CStr> = options.iter().map(CString::as_c_str).collect();
        let mut program = NvrtcProgram(null_mut());
        // SAFETY: both strings outlive the call; the program is destroyed when `program` is dropped
        check(unsafe { sys::nvrtcCreateProgram(&mut program.0, text.as_ptr(), name.as_ptr(), 0, null(), null()) })?;
        let mut compiled = program.compile(&options);
        if compiled == sys::nvrtcResult::NVRTC_ERROR_INVALID_OPTION {
            options.pop();
            compiled = program.compile(&options);
        }
        let log = program.log();
        if let Err(error) = check(compiled) {
            let log = reason(&log);
            return Err(if log.is_empty() { error } else { Invalidity::new(InvalidityKind::Compile, log) });
        }
        // SAFETY: the program is there, and compiled
        unsafe {
            // PTX ends with the zero byte that the driver asks for
            let code = match self.as_ptx {
                true => program.text(sys::nvrtcGetPTXSize, sys::nvrtcGetPTX),
                false => program.text(sys::nvrtcGetCUBINSize, sys::nvrtcGetCUBIN),
            };
            let mut resources = read_log(&log, job.entry).ok_or_else(|| bad(&without_entry(&log, job)))?;
            resources.dynamic_local_bytes = job.dynamic_local_bytes;
            if let Some(unit) = &self.unit {
                unit.fit(&mut resources, job.items())
                    .map_err(|why| Invalidity::new(InvalidityKind::Compile, format!("cannot launch: {why}")))?;
            }
            Ok(Binary { code, resources })
        }
    }
}

struct NvrtcProgram(sys::nvrtcProgram);

impl Drop for NvrtcProgram {
    fn drop(&mut self) {
        // SAFETY: made by nvrtcCreateProgram, or null, which is refused without harm
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

type SizeOf = unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult;
type Fill = unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult;

impl NvrtcProgram {
    fn compile(&self, options: &[&CStr]) -> sys::nvrtcResult {
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: all strings outlive the call
        unsafe { sys::nvrtcCompileProgram(self.0, options.len() as i32, options.as_ptr()) }
    }

    fn log(&self) -> String {
        // SAFETY: the program is there
        let log = unsafe { self.text(sys::nvrtcGetProgramLogSize, sys::nvrtcGetProgramLog) };
        String::from_utf8_lossy(&log).trim_matches(['\0', '\n']).to_string()
    }

    /// Result of a pair of calls, the first of which returns its length.
    unsafe fn text(&self, size_of: SizeOf, fill: Fill) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: the buffer has the length that the library asked for
        unsafe {
            size_of(self.0, &mut size);
            let mut bytes = vec![0u8; size];
            fill(self.0, bytes.as_mut_ptr().cast());
            bytes
        }
    }
}

fn check(code: sys::nvrtcResult) -> Attempt<()> {
    if code == sys::nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    // SAFETY: gives a constant of the library
    let message = unsafe { CStr::from_ptr(sys::nvrtcGetErrorString(code)) };
    Err(Invalidity::new(InvalidityKind::Compile, format!("NVRTC: {}", message.to_string_lossy())))
}

/// Why the assembler's log tells nothing of the entry.
fn without_entry(log: &str, job: &Job) -> String {
    let names = log.split("Compiling entry function '").skip(1).filter_map(|rest| rest.split('\'').next());
    missing(&names.collect::<Vec<_>>(), job)
}

/// Parses the resources of an entry from the assembler's log: `Used 80 registers, used 1 barriers, 5632 bytes smem`.
fn read_log(log: &str, entry: &str) -> Option<Resources> {
    let (_, own) = log.split_once(&format!("Compiling entry function '{entry}'"))?;
    let own = own.split("Compiling entry function").next()?;
    let before = |what: &str| -> u32 {
        let number = own.split(what).next().filter(|head| head.len() < own.len());
        number.and_then(|head| head.split_whitespace().last()?.parse().ok()).unwrap_or(0)
    };
    Some(Resources {
        registers: own.split_once("Used ")?.1.split_whitespace().next()?.parse().ok()?,
        local_bytes: before(" bytes smem"),
        spill_bytes: before(" bytes spill stores"),
        stack_bytes: before(" bytes stack frame"),
        ..Resources::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assemblers_log_is_read() {
        let log = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'gemm' for 'sm_90'\n\
                   ptxas info    : Function properties for gemm\n    24 bytes stack frame, 20 bytes spill stores, 28 bytes spill loads\n\
                   ptxas info    : Used 80 registers, used 1 barriers, 24 bytes cumulative stack size, 5632 bytes smem\n\
                   ptxas info    : Compile time = 50.123 ms";
        let read = read_log(log, "gemm").unwrap();
        assert_eq!((read.registers, read.local_bytes, read.spill_bytes, read.stack_bytes), (80, 5632, 20, 24));
        assert_eq!(read_log(log, "other"), None);
        let job = Job { file: "k.cu", source: "", entry: "other", defines: &[], group: vec![], dynamic_local_bytes: 0 };
        assert_eq!(without_entry(log, &job), "k.cu has no kernel other, which `entry` names; it has gemm");
    }
}
