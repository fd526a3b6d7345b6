//! AMD's run-time compiler (hipRTC), opened at run time, with or without a GPU.

use crate::backends::hip::library::LIBRARIES;
use crate::backends::hip::library::{find, open};
use crate::backends::hip::program::{OPTIONS, finish, option_of};
use crate::compile::prelude;
use crate::compile::reason::reason;
use crate::compile::{Binary, Compiler, Job};
use libloading::Library;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

/// Names of hipRTC's own library since ROCm 5.5; it was a part of HIP's before.
const RTC_LIBRARIES: [&str; 4] = ["libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"];
const COMGR_LIBRARIES: [&str; 4] = ["libamd_comgr.so.4", "libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"];

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> u32;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> u32;
type SizeOf = unsafe extern "C" fn(Program, *mut usize) -> u32;
type Fill = unsafe extern "C" fn(Program, *mut c_char) -> u32;
type Destroy = unsafe extern "C" fn(*mut Program) -> u32;
type ErrorString = unsafe extern "C" fn(u32) -> *const c_char;

/// Lock of compilations by hipRTC.
///
/// Its code object manager changes the process-wide options of LLVM without a lock, so that two threads that compile at once end the
/// process (three of ten runs on HIP 5.2). Processes do not disturb each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What gives a text of a program.
#[derive(Clone, Copy)]
struct TextOf {
    size: SizeOf,
    fill: Fill,
}

/// Compiler hipRTC for one architecture.
pub struct HipRtc {
    architecture: String,
    version: String,
    create: Create,
    compile: Compile,
    destroy: Destroy,
    error: ErrorString,
    log: TextOf,
    code: TextOf,
}

/// Architectures that the installed compiler supports.
///
/// The compiler ends the process where it gets another one, so that its code object manager is queried before.
///
/// # Errors
/// A message where ROCm's code object manager is missing or lacks a function.
pub fn architectures() -> std::result::Result<Vec<String>, String> {
    let comgr = open(&COMGR_LIBRARIES).ok_or("ROCm's code object manager (libamd_comgr.so) is not installed")?;
    // SAFETY: types of amd_comgr.h, the same in its versions 2 and 3; every call writes what it is given room for
    unsafe {
        let count: unsafe extern "C" fn(*mut usize) -> u32 = find(comgr, "amd_comgr_get_isa_count")?;
        let name: unsafe extern "C" fn(usize, *mut *const c_char) -> u32 = find(comgr, "amd_comgr_get_isa_name")?;
        let mut known = 0;
        count(&mut known);
        let mut all = Vec::new();
        for i in 0..known {
            let mut text = null();
            if name(i, &mut text) == 0 && !text.is_null() {
                let text = CStr::from_ptr(text).to_string_lossy();
                all.extend(text.strip_prefix("amdgcn-amd-amdhsa--").map(String::from));
            }
        }
        Ok(all)
    }
}

impl HipRtc {
    /// Opens the compiler for an architecture such as `gfx90a`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where hipRTC is not installed or does not support the architecture.
    pub fn open(architecture: &str) -> Result<HipRtc> {
        let unavailable = |e: String| Error::Unavailable(format!("HIP: {e}"));
        let Some(library) = open(&RTC_LIBRARIES).or_else(|| open(&LIBRARIES)) else {
            return Err(unavailable("hipRTC (libhiprtc.so, or in libamdhip64.so) is not installed".into()));
        };
        let known = architectures().map_err(unavailable)?;
        let base = architecture.split(':').next().unwrap_or_default();
        if !known.iter().any(|k| k == base) {
            let known = known.join(", ");
            return Err(unavailable(format!("the installed hipRTC does not compile for {base}, only for {known}")));
        }
        // SAFETY: types of hiprtc.h, the same since HIP 3
        unsafe {
            Ok(HipRtc {
                architecture: architecture.into(),
                version: version(library),
                create: find(library, "hiprtcCreateProgram").map_err(unavailable)?,
                compile: find(library, "hiprtcCompileProgram").map_err(unavailable)?,
                destroy: find(library, "hiprtcDestroyProgram").map_err(unavailable)?,
                error: find(library, "hiprtcGetErrorString").map_err(unavailable)?,
                log: TextOf {
                    size: find(library, "hiprtcGetProgramLogSize").map_err(unavailable)?,
                    fill: find(library, "hiprtcGetProgramLog").map_err(unavailable)?,
                },
                code: TextOf {
                    size: find(library, "hiprtcGetCodeSize").map_err(unavailable)?,
                    fill: find(library, "hiprtcGetCode").map_err(unavailable)?,
                },
            })
        }
    }

    fn text(&self, program: Program, of: TextOf) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: the buffer has the length that the library asked for
        unsafe {
            (of.size)(program, &mut size);
            let mut bytes = vec![0u8; size];
            if size > 0 {
                (of.fill)(program, bytes.as_mut_ptr().cast());
            }
            bytes
        }
    }
}

/// Versions of HIP, or else of hipRTC, and of the code object manager.
fn version(library: &Library) -> String {
    let mut versions = Vec::new();
    // SAFETY: types of hip_runtime_api.h, hiprtc.h and amd_comgr.h, the same in all versions; each call writes numbers
    unsafe {
        let mut number = 0;
        if let Some(hip) = open(&LIBRARIES)
            && let Ok(ask) = find::<unsafe extern "C" fn(*mut c_int) -> u32>(hip, "hipRuntimeGetVersion")
            && ask(&mut number) == 0
        {
            versions.push(format!("HIP {number}"));
        }
        let (mut major, mut minor) = (0, 0);
        if let Ok(ask) = find::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> u32>(library, "hiprtcVersion")
            && ask(&mut major, &mut minor) == 0
        {
            versions.push(format!("hipRTC {major}.{minor}"));
        }
        let (mut major, mut minor) = (0usize, 0usize);
        if let Some(comgr) = open(&COMGR_LIBRARIES)
            && let Ok(ask) = find::<unsafe extern "C" fn(*mut usize, *mut usize)>(comgr, "amd_comgr_get_version")
        {
            ask(&mut major, &mut minor);
            versions.push(format!("comgr {major}.{minor}"));
        }
    }
    versions.join(" ")
}

impl Compiler for HipRtc {
    fn identity(&self) -> String {
        format!("{} {} {}", self.version, self.architecture, OPTIONS.join(" "))
    }

    fn compile(&self, job: &Job) -> Attempt<Binary> {
        let bad = |what: &str| Invalidity::new(InvalidityKind::Compile, format!("hipRTC: {what}"));
        let text = CString::new(prelude::as_cpp(job.file, job.source, job.defines))
            .map_err(|_| bad("the source holds a zero byte"))?;
        let name = CString::new(job.file).map_err(|_| bad("the file's name holds a zero byte"))?;
        let options = OPTIONS.iter().map(|o| o.to_string()).chain([format!("--offload-arch={}", self.architecture)]);
        let options: Vec<CString> = options.chain(option_of(job)).filter_map(|o| CString::new(o).ok()).collect();
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program = null_mut();
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: all strings outlive the calls; the program is destroyed once
        unsafe {
            let check = |code: u32| match code {
                0 => Ok(()),
                code => Err(bad(&CStr::from_ptr((self.error)(code)).to_string_lossy())),
            };
            check((self.create)(&mut program, text.as_ptr(), name.as_ptr(), 0, null(), null()))?;
            let compiled = check((self.compile)(program, options.len() as c_int, options.as_ptr()));
            let log = self.text(program, self.log);
            let code = if compiled.is_ok() { self.text(program, self.code) } else { Vec::new() };
            (self.destroy)(&mut program);
            if let Err(error) = compiled {
                let log = reason(&String::from_utf8_lossy(&log));
                return Err(match log.is_empty() {
                    true => error,
                    false => Invalidity::new(InvalidityKind::Compile, log),
                });
            }
            finish(code, job, &self.architecture)
        }
    }
}
