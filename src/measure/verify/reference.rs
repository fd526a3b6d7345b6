//! The reference of a kernel, launched for what is right.

use crate::compile::for_reference;
use crate::executor::{Executor, KernelArg, Timing};
use crate::launch::LaunchDims;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Kernel, Problem, Source};

/// Work-items of a group that a reference gets on a CPU where it states none, in the first dimension that is a multiple of one of them.
const SIZES: [usize; 2] = [64, 8];

/// The work-groups of a reference that states none, on a CPU: PoCL would choose a divisor of the sizes, and compile the kernel anew for each that it
/// has not met, for nearly every problem. These are five in all.
fn groups_of_cpu(global: &[usize]) -> Vec<usize> {
    let mut own = vec![1; global.len()];
    let found = global.iter().enumerate().take(2).find_map(|(at, global)| {
        let size = SIZES.into_iter().find(|size| global.is_multiple_of(*size))?;
        Some((at, size))
    });
    if let Some((at, size)) = found {
        own[at] = size;
    }
    own
}

/// Launches the reference on the buffers of `values`.
///
/// # Errors
/// [`Error::Failed`](seqtune_kernel::Error::Failed) where it does not compile, or the launch fails.
pub fn refer(
    executor: &mut dyn Executor,
    kernel: &Kernel,
    source: &Source,
    problem: &Problem,
    values: &[KernelArg],
) -> Result<()> {
    let device = executor.device().clone();
    let mut geometry = LaunchDims::new(kernel, &device, &source.reference, problem, None);
    if geometry.local.is_empty() && executor.finishes_at_launch() && device.limits.is_cpu == Some(1.0) {
        geometry.local = groups_of_cpu(&geometry.global);
    }
    for_reference(kernel, problem, &device, |job| {
        let program = executor.compile(job)?;
        executor.launch(program, values, &geometry, 1, Timing::Warm)?;
        executor.release(program);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_on_a_cpu_has_five_groups_whatever_the_sizes_are() {
        let own = groups_of_cpu;
        assert_eq!([own(&[128, 7]), own(&[24, 64]), own(&[7, 640]), own(&[7, 8])], [[64, 1], [8, 1], [1, 64], [1, 8]]);
        assert_eq!((own(&[1_009, 31, 64]), own(&[64])), (vec![1, 1, 1], vec![64]));
    }
}
