//! The processors of this machine, for programs that run on them.

use seqtune_kernel::error::Result;
use seqtune_kernel::{Device, Limits};
use std::path::Path;
use std::sync::OnceLock;

/// Id of the device.
pub const ID: &str = "host";

/// The core that is asked for its clock and caches.
const CORE: &str = "/sys/devices/system/cpu/cpu0";

/// Describes the processors of this machine, as Linux tells of them.
///
/// # Errors
/// The error of [`Device::check`], where the system tells nonsense.
pub fn describe() -> Result<Device> {
    // a container may have fewer than the machine
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let clock = number(&format!("{CORE}/cpufreq/cpuinfo_max_freq")).map(|khz| khz / 1e3);
    let limits = Limits {
        compute_units: Some(cores as f64),
        clock_mhz: clock,
        cache_bytes: cache(),
        memory_bytes: memory(),
        is_cpu: Some(1.0),
        ..Limits::default()
    };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let device = Device {
        aliases: Vec::new(),
        name: processor_info("model name").or_else(|| processor_info("Model")).unwrap_or_else(|| "processor".into()),
        vendor: processor_info("vendor_id").unwrap_or_default(),
        architecture: "cpu".into(),
        driver: format!("Linux {}", release.trim()),
        source: "told by Linux".into(),
        limits,
    };
    device.check()?;
    Ok(device)
}

/// What Linux tells of the first processor under a name such as `flags`.
pub fn processor_info(name: &str) -> Option<String> {
    static TOLD: OnceLock<String> = OnceLock::new();
    let text = TOLD.get_or_init(|| std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default());
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_string()).filter(|value| !value.is_empty())
}

fn number(path: &str) -> Option<f64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Bytes of the last-level cache of the first core.
fn cache() -> Option<f64> {
    let bytes = |index: usize| {
        let text = std::fs::read_to_string(Path::new(CORE).join(format!("cache/index{index}/size"))).ok()?;
        Some(1024.0 * text.trim().strip_suffix('K')?.parse::<f64>().ok()?)
    };
    (0..8).filter_map(bytes).reduce(f64::max)
}

/// Memory of the machine in bytes, where the system tells it.
pub fn memory() -> Option<f64> {
    // SAFETY: asks for two numbers
    let [pages, size] = unsafe { [libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)] };
    (pages > 0 && size > 0).then_some(pages as f64 * size as f64)
}

/// Memory in bytes that the control groups of this process leave it, as batch systems and containers set them; infinite where none does.
pub fn job_memory() -> f64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    least_of(Path::new("/sys/fs/cgroup"), &groups)
}

/// The least limit of the groups that lines such as `0::/job/step` name, and of those above them.
fn least_of(root: &Path, groups: &str) -> f64 {
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (folder, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            one if one.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return Vec::new(),
        };
        let group = Path::new(group.trim_start_matches('/')).to_path_buf();
        group.ancestors().filter_map(|group| number(folder.join(group).join(file).to_str()?)).collect()
    });
    limits.reduce(f64::min).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_processor_with_a_name_cores_and_memory() {
        let device = describe().unwrap();
        assert!(!device.name.is_empty() && device.limits.is_cpu == Some(1.0), "{device:?}");
        assert!(device.limits.compute_units.unwrap() >= 1.0 && device.limits.memory_bytes.unwrap() > 1e6);
        assert!(job_memory() > 1e6);
    }

    #[test]
    fn the_least_limit_of_the_groups_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |group: &str, file: &str, text: &str| {
            std::fs::create_dir_all(root.path().join(group)).unwrap();
            std::fs::write(root.path().join(group).join(file), text).unwrap();
        };
        write("job/step", "memory.max", "max\n");
        write("job", "memory.max", "16000000000\n");
        write("memory/old", "memory.limit_in_bytes", "8000000000\n");
        assert_eq!(least_of(root.path(), "0::/job/step\n"), 16e9);
        assert_eq!(least_of(root.path(), "5:cpu:/old\n4:memory:/old\n0::/job/step\n"), 8e9);
        assert_eq!(least_of(root.path(), "0::/elsewhere\n"), f64::INFINITY);
    }
}
