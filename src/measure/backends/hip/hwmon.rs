//! State of an AMD GPU from sysfs (Linux, "GPU Power/Thermal Controls and Monitoring", amdgpu), whose names do not depend on ROCm.
//! There are no throttling reasons.

use crate::backends::hip::dpm::sysfs;
use seqtune_data::Conditions;
use std::path::Path;

/// Clocks and temperature of the GPU at a PCI bus address such as `0000:c3:00.0`; `None` where there are no sensors.
pub fn conditions(bus: &str) -> Option<Conditions> {
    conditions_in(&sysfs(bus))
}

fn conditions_in(device: &Path) -> Option<Conditions> {
    let sensors = std::fs::read_dir(device.join("hwmon")).ok()?.flatten().next()?.path();
    let number = |file: &str| std::fs::read_to_string(sensors.join(file)).ok()?.trim().parse::<u64>().ok();
    Some(Conditions {
        // Hz; the memory of some GPUs has no sensor
        clock_mhz: (number("freq1_input")? / 1_000_000) as u32,
        memory_clock_mhz: (number("freq2_input").unwrap_or(0) / 1_000_000) as u32,
        // thousandths of a degree, of the hottest place where there are several
        temperature: (number("temp2_input").or_else(|| number("temp1_input"))? / 1_000) as u32,
        throttled: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_temperature_are_read_where_there_are_sensors() {
        let device = tempfile::tempdir().unwrap();
        assert_eq!(conditions_in(device.path()), None);
        let sensors = device.path().join("hwmon/hwmon3");
        std::fs::create_dir_all(&sensors).unwrap();
        for (file, text) in
            [("freq1_input", "1725000000\n"), ("freq2_input", "1600000000\n"), ("temp1_input", "43000\n")]
        {
            std::fs::write(sensors.join(file), text).unwrap();
        }
        let conditions = conditions_in(device.path()).unwrap();
        assert_eq!((conditions.clock_mhz, conditions.memory_clock_mhz, conditions.temperature), (1_725, 1_600, 43));
        std::fs::write(sensors.join("temp2_input"), "51000\n").unwrap();
        assert_eq!(conditions_in(device.path()).unwrap().temperature, 51);
    }
}
