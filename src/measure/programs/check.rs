//! What is known of a program before it is started: its patterns, and whether it is there.

use crate::programs::patterns::Patterns;
use crate::programs::step::cores;
use seqtune_kernel::error::{Result, input, quote};
use seqtune_kernel::{Kernel, Run, Template};
use std::path::Path;

/// Compiles all that `[run]` of a kernel says and that is read when it runs: patterns, and the cores where they are stated. A kernel without
/// `[run]` is passed.
///
/// # Errors
/// `Error::Input` that names what is wrong.
pub fn check(kernel: &Kernel) -> Result<()> {
    let Some(run) = &kernel.run else { return Ok(()) };
    Patterns::new(run)?;
    run.cores.iter().filter_map(Template::constant).try_for_each(|text| cores(&text).map(drop))
}

/// Looks for what `[run]` of a kernel needs of this machine: the variables and programs that it names. A kernel without `[run]` is passed.
///
/// # Errors
/// `Error::Input` that names what is not there.
pub fn check_machine(kernel: &Kernel) -> Result<()> {
    let Some(run) = &kernel.run else { return Ok(()) };
    if let Some(name) = run.variables().into_iter().find(|name| std::env::var_os(name).is_none()) {
        return input(format!("[run] names {{env.{name}}}, but the variable {name} is not set; set it"));
    }
    [&run.build, &run.setup, &run.command, &run.teardown].into_iter().filter_map(|words| words.first()).try_for_each(
        |word| match word.constant() {
            Some(program) if !is_there(&program, run) => input(format!(
                "[run]: there is no program `{}`; write {{kernel}}/NAME for a file of the kernel's folder",
                quote(&program)
            )),
            _ => Ok(()),
        },
    )
}

/// Whether a program is found; one that is looked for elsewhere than here is taken to be there.
fn is_there(program: &str, run: &Run) -> bool {
    let is_elsewhere = program.contains('/') && !program.starts_with('/') || run.spec.environment.contains_key("PATH");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    match program.starts_with('/') {
        _ if is_elsewhere => true,
        true => Path::new(program).exists(),
        false => std::env::split_paths(&paths).any(|folder| folder.join(program).is_file()),
    }
}
