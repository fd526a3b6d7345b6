//! What is compiled, and what comes of it.

use seqtune_data::{Invalidity, Resources};
use seqtune_predict::error::Result;
use seqtune_predict::kernel::{Config, Device, Kernel, Launch, Problem};

/// A finished program for one architecture, and what it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    pub code: Vec<u8>,
    pub resources: Resources,
}

/// What is to be compiled.
pub struct Job<'a> {
    /// Name of the source's file: its ending says the language.
    pub file: &'a str,
    pub source: &'a str,
    /// The kernel's function.
    pub entry: &'a str,
    /// `-D` definitions.
    pub defines: &'a [(String, String)],
    /// Work-items of a work-group, and bytes of local memory that the launch adds.
    pub items: u32,
    pub dynamic_local_bytes: u32,
}

impl<'a> Job<'a> {
    /// A kernel's program or its reference; `env` is [`Kernel::env_of`] or, for the reference, [`Kernel::env`].
    pub fn new(kernel: &'a Kernel, launch: &'a Launch, defines: &'a [(String, String)], env: &[f64]) -> Job<'a> {
        Job {
            file: &launch.file,
            source: &kernel.files[&launch.file],
            entry: &launch.entry,
            defines,
            items: launch.local.iter().map(|e| e.eval(env)).product::<f64>() as u32,
            dynamic_local_bytes: launch.dynamic_local.as_ref().map_or(0, |e| e.eval(env) as u32),
        }
    }
}

/// A compiler for one architecture.
pub trait Compiler: Send + Sync {
    /// Name, version, architecture and options: what a program depends on beside its job.
    fn identity(&self) -> String;

    /// Compiles; what cannot be launched on the architecture is a fault, like what cannot be compiled.
    fn compile(&self, job: &Job) -> std::result::Result<Binary, Invalidity>;
}

/// A kernel's program for a problem and config, compiled for a device without it.
pub fn compile_for(
    compiler: &dyn Compiler,
    kernel: &Kernel,
    problem: &Problem,
    config: &Config,
    device: &Device,
) -> Result<std::result::Result<Binary, Invalidity>> {
    let launch = &kernel.source()?.program;
    let env = kernel.env_of(problem, Some(device), config);
    let defines = kernel.defines(problem, config);
    Ok(compiler.compile(&Job::new(kernel, launch, &defines, &env)))
}

impl Compiler for Box<dyn Compiler> {
    fn identity(&self) -> String {
        (**self).identity()
    }

    fn compile(&self, job: &Job) -> std::result::Result<Binary, Invalidity> {
        (**self).compile(job)
    }
}
