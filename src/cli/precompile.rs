//! `seqtune sweep --compile-only`: the programs of a sweep, in the cache on disk before there is a device.

use seqtune_console::answer::{answer, tell};
use seqtune_console::progress::Bar;
use seqtune_data::Invalidity;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, Device, Kernel, Problem};
use seqtune_measure::batch::ProgramKey;
use seqtune_measure::compile::{Compiler, compile_for, for_reference};
use seqtune_measure::registry::compiler_for;
use seqtune_measure::sweep::plan::Planned;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Programs between two looks at the clock, for each core.
const PORTION: usize = 8;

/// Compiles each program of a plan once, on all cores, until the time is over or `stop` is set.
///
/// # Errors
/// `Error::Input` for a program ([run]), [`Error::Unavailable`] where the compiler is missing, [`Error::Failed`] where no program compiles.
pub fn run(
    kernel: &Kernel,
    device: &Device,
    plan: &[Planned],
    until: Option<Instant>,
    stop: &AtomicBool,
) -> Result<()> {
    if kernel.run.is_some() {
        return input(format!(
            "--compile-only is for kernels; {} is a program, which a sweep builds as it goes",
            kernel.name
        ));
    }
    let compiler = compiler_for(device)?;
    compile_references(&compiler, kernel, device, plan.iter().map(|planned| &planned.problem))?;
    let mut met = HashSet::new();
    let all = plan.iter().flat_map(|planned| planned.configs.iter().map(move |config| (&planned.problem, config)));
    let jobs: Vec<(&Problem, &Config)> = all.filter(|(p, c)| met.insert(ProgramKey::new(kernel, p, c))).collect();
    let configs: usize = plan.iter().map(|planned| planned.configs.len()).sum();
    let (mut bar, began) = (Bar::new("compile", jobs.len() as u64), Instant::now());
    let (mut done, mut failed): (usize, Vec<(String, Invalidity)>) = (0, Vec::new());
    for part in jobs.chunks(PORTION * cores()) {
        if stop.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() > until) {
            break;
        }
        let made = on_threads(part, cores(), |(p, c)| {
            compile_for(&compiler, kernel, p, c, device).map(|made| made.map(drop))
        })?;
        let faults = part.iter().zip(made).filter_map(|((_, c), made)| Some((kernel.show_config(c), made.err()?)));
        failed.extend(faults);
        done += part.len();
        bar.move_to(done, &kernel.name);
    }
    bar.end();
    let compiled = done - failed.len();
    answer(&format!(
        "{compiled} of {} programs for {configs} measurements on {} are in the cache, after {:.1} s",
        jobs.len(),
        device.name,
        began.elapsed().as_secs_f64()
    ));
    if let Some((config, fault)) = failed.first() {
        let why = fault.detail.lines().next().unwrap_or_default();
        answer(&format!("{} do not run there, first {config}: {why}", failed.len()));
    }
    let ended = |sentence: String| Err(Error::Failed(sentence));
    match () {
        () if compiled == 0 && done > 0 => ended(format!("no program of {} compiles for {}", kernel.name, device.name)),
        () if done < jobs.len() && stop.load(Ordering::Relaxed) => {
            ended(format!("stopped by a signal at {done} of {}; the same command goes on", jobs.len()))
        }
        () if done < jobs.len() => {
            tell(&format!("seqtune: out of time at {done} of {}; the same command goes on", jobs.len()));
            Ok(())
        }
        () => Ok(()),
    }
}

/// Compiles the reference of each data type and layout, without which nothing of them is measured.
fn compile_references<'p>(
    compiler: &dyn Compiler,
    kernel: &Kernel,
    device: &Device,
    problems: impl Iterator<Item = &'p Problem>,
) -> Result<()> {
    let mut met = HashSet::new();
    let first: Vec<&Problem> = problems.filter(|problem| met.insert(ProgramKey::variant(kernel, problem))).collect();
    on_threads(&first, cores(), |problem| for_reference(kernel, problem, device, |job| compiler.compile(job).map(drop)))
        .map(drop)
}
