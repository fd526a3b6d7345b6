//! Jobs and results of compilers.

use crate::launch::LaunchDims;
use seqtune_data::{Attempt, Resources};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Define, Device, Kernel, Launch, Problem};

/// Compiled program for one architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// Bytes of the cubin, PTX or AMD code object.
    pub code: Vec<u8>,
    /// Resources and occupancy of the program.
    pub resources: Resources,
}

/// Source of a program with its definitions.
#[derive(Clone)]
pub struct Job<'a> {
    /// Name of the source file, whose extension selects the language.
    pub file: &'a str,
    /// Text of the source.
    pub source: &'a str,
    /// Name of the kernel function.
    pub entry: &'a str,
    /// Preprocessor definitions.
    pub defines: &'a [Define],
    /// Work-items of a work-group in each dimension; empty where the driver chooses them.
    pub group: Vec<u32>,
    /// Dynamic local memory that the launch adds, in bytes per work-group.
    pub dynamic_local_bytes: u32,
}

impl<'a> Job<'a> {
    /// Creates the job of a kernel's program, with `env` of [`Kernel::env_of`], or of its reference, with `env` of [`Kernel::env`].
    pub fn new(kernel: &'a Kernel, launch: &'a Launch, defines: &'a [Define], env: &[f64]) -> Job<'a> {
        Job {
            file: &launch.file,
            source: &kernel.files[&launch.file],
            entry: &launch.entry,
            defines,
            group: launch.local.iter().map(|e| e.eval(env) as u32).collect(),
            dynamic_local_bytes: launch.dynamic_local.as_ref().map_or(0, |e| e.eval(env) as u32),
        }
    }

    /// Work-items of a work-group in all.
    pub fn items(&self) -> u32 {
        self.group.iter().product()
    }
}

/// Compiler for one architecture.
pub trait Compiler: Send + Sync {
    /// Name, version, architecture and options of the compiler, on which programs depend.
    fn identity(&self) -> String;

    /// Compiles a job.
    ///
    /// # Errors
    /// [`Invalidity`](seqtune_data::Invalidity) where the source does not compile, or the architecture cannot launch the program.
    fn compile(&self, job: &Job) -> Attempt<Binary>;
}

/// Compiles a kernel's program for a problem and config, without the device. The inner result holds a failure to compile.
///
/// # Errors
/// `Error::Input` where the kernel has no source.
pub fn compile_for(
    compiler: &dyn Compiler,
    kernel: &Kernel,
    problem: &Problem,
    config: &Config,
    device: &Device,
) -> Result<Attempt<Binary>> {
    let launch = &kernel.source()?.program;
    let env = kernel.env_of(problem, Some(device), config);
    let defines = kernel.defines(problem, config);
    if let Err(wrong) = LaunchDims::new(kernel, device, launch, problem, Some(config)).check() {
        return Ok(Err(wrong));
    }
    Ok(compiler.compile(&Job::new(kernel, launch, &defines, &env)))
}

/// Does something with the job of a kernel's reference for a problem, such as compiling it; a failure names the reference.
///
/// # Errors
/// `Error::Input` where the kernel has no source, [`Error::Failed`] where `work` fails.
pub fn for_reference<T>(
    kernel: &Kernel,
    problem: &Problem,
    device: &Device,
    work: impl FnOnce(&Job) -> Attempt<T>,
) -> Result<T> {
    let launch = &kernel.source()?.reference;
    let (env, defines) = (kernel.env(problem, Some(device)), kernel.field_defines(problem));
    work(&Job::new(kernel, launch, &defines, &env)).map_err(|fault| {
        Error::Failed(format!("the reference of kernel {}: {}", kernel.name, fault.detail.replace('\n', " ")))
    })
}

impl Compiler for Box<dyn Compiler> {
    fn identity(&self) -> String {
        (**self).identity()
    }

    fn compile(&self, job: &Job) -> Attempt<Binary> {
        (**self).compile(job)
    }
}
