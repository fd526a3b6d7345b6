//! Work-groups: what a compiler is told of them, and what a driver would refuse.

use crate::compile::Job;
use crate::executor::LaunchDims;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_predict::kernel::without_comments;

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

/// Refuses sizes that the driver would refuse without saying which.
pub fn check_sizes(LaunchDims { global, local }: &LaunchDims) -> Attempt<()> {
    let divides = |(global, local): (&usize, &usize)| *local > 0 && global.is_multiple_of(*local);
    match local.is_empty() || global.iter().zip(local).all(divides) {
        true => Ok(()),
        false => {
            let detail = format!(
                "global sizes {global:?} are no multiples of the local ones {local:?}; `global` counts work-items, not work-groups"
            );
            Err(Invalidity::new(InvalidityKind::Compile, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
