//! Work-groups and their memory: what a compiler is told, and what a driver would refuse or run all the same.

use crate::compile::Job;
use crate::launch::LaunchDims;
use opencl3::kernel::Kernel;
use opencl3::types::cl_device_id;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::without_comments;

/// The source with the work-group that the program is launched with, as an attribute of its kernels, for compilers that share registers out by it;
/// `None` where the driver chooses the group, or the source states one itself.
pub fn with_group(job: &Job) -> Option<String> {
    if job.group.is_empty() || without_comments(job.source).contains("work_group_size") {
        return None;
    }
    let size = |at: usize| job.group.get(at).copied().unwrap_or(1);
    let attribute = format!("__attribute__((reqd_work_group_size({}, {}, {})))", size(0), size(1), size(2));
    // messages count lines of the source
    Some(format!("#define __kernel __kernel {attribute}\n#define kernel __kernel\n#line 1\n{}", job.source))
}

/// Refuses a work-group that is not the one that the source states, or has more work-items than the compiled kernel takes.
pub fn check_group(kernel: &Kernel, device: cl_device_id, LaunchDims { local, .. }: &LaunchDims) -> Attempt<()> {
    let stated = kernel.get_compile_work_group_size(device).unwrap_or_default();
    let most = kernel.get_work_group_size(device).unwrap_or(usize::MAX);
    wrong_group(&stated, most, local).map_or(Ok(()), |why| Err(Invalidity::new(InvalidityKind::Compile, why)))
}

/// Refuses a kernel that declares more local memory than the device gives to a work-group: PoCL runs it all the same.
pub fn check_local_memory(kernel: &Kernel, device: cl_device_id, most: Option<f64>) -> Attempt<()> {
    let declared = kernel.get_local_mem_size(device).unwrap_or(0) as f64;
    most.filter(|most| declared > *most).map_or(Ok(()), |most| {
        let detail =
            format!("cannot launch: needs {declared} bytes of local memory, the device gives {most} to a work-group");
        Err(Invalidity::new(InvalidityKind::Compile, detail))
    })
}

fn wrong_group(stated: &[usize], most: usize, local: &[usize]) -> Option<String> {
    let is_stated = stated.iter().any(|size| *size > 0);
    let differs = (0..3).any(|at| stated.get(at).copied().unwrap_or(1) != local.get(at).copied().unwrap_or(1));
    let items: usize = local.iter().product();
    if is_stated && (local.is_empty() || differs) {
        return Some(format!(
            "the source states work-groups of {stated:?} by reqd_work_group_size, and `local` of kernel.toml is {local:?}"
        ));
    }
    (items > most).then(|| format!("a work-group has {items} work-items, and the compiled kernel takes {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_group_is_the_one_that_the_source_states_and_no_larger_than_the_kernel_takes() {
        assert_eq!([wrong_group(&[0, 0, 0], 64, &[64]), wrong_group(&[16, 4, 1], 64, &[16, 4])], [None, None]);
        let why = wrong_group(&[16, 1, 1], 64, &[64]).unwrap();
        assert!(why.contains("states work-groups of [16, 1, 1]") && why.contains("is [64]"), "{why}");
        assert!(wrong_group(&[16, 1, 1], 64, &[]).is_some());
        assert_eq!(
            wrong_group(&[], 128, &[16, 16]).unwrap(),
            "a work-group has 256 work-items, and the compiled kernel takes 128"
        );
    }

    fn job<'a>(source: &'a str, group: &[u32]) -> Job<'a> {
        Job { file: "k.cl", source, entry: "k", defines: &[], group: group.into(), dynamic_local_bytes: 0 }
    }

    #[test]
    fn a_source_that_states_no_group_is_given_that_of_its_launch() {
        let plain = "kernel void k() {} // a work_group_size would stand here";
        let text = with_group(&job(plain, &[64, 2])).unwrap();
        assert!(text.starts_with("#define __kernel __kernel __attribute__((reqd_work_group_size(64, 2, 1)))\n"));
        assert!(text.ends_with(&format!("#line 1\n{plain}")));
        assert_eq!(with_group(&job(plain, &[])), None, "the driver chooses");
        assert_eq!(with_group(&job("__attribute__((reqd_work_group_size(8, 8, 1))) kernel void k() {}", &[64])), None);
        assert_eq!(with_group(&job("__attribute__((work_group_size_hint(8, 8, 1))) kernel void k() {}", &[64])), None);
    }
}
