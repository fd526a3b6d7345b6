//! Which devices of this machine are among some that are known.

use crate::{cuda, hip, host, opencl};
use seqtune_kernel::Device;

/// Ordinals that are asked at most.
const MOST: i32 = 64;

/// The first device of this machine that is called like one of these, as it describes itself: its processors, which programs run on, then those
/// of CUDA, HIP and OpenCL. An API is opened where those before it have none. Drivers that fail have no device.
pub fn live_device(known: &[Device]) -> Option<Device> {
    let is_known = |device: &Device| device.is_among(known);
    let by_ordinal = |describe: fn(i32) -> seqtune_kernel::Result<Device>| {
        (0..MOST).map_while(|ordinal| describe(ordinal).ok()).find(is_known)
    };
    let host = || host::describe().ok().filter(is_known);
    host()
        .or_else(|| by_ordinal(cuda::describe))
        .or_else(|| by_ordinal(hip::describe))
        .or_else(|| opencl::devices().into_iter().find(is_known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_of_this_machine_are_found_among_those_that_are_known() {
        let host = host::describe().unwrap();
        let other = Device { name: "no such device".into(), aliases: Vec::new(), ..host.clone() };
        assert_eq!(live_device(&[other.clone(), host.clone()]).map(|found| found.name), Some(host.name));
        assert_eq!(live_device(&[other]), None);
    }
}
