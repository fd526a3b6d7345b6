//! Clocks of an AMD GPU through sysfs (Linux, "GPU Power/Thermal Controls and Monitoring", amdgpu): what ROCm SMI writes too, under names
//! that do not depend on its version.

use crate::clocks::setter::{ClockSetter, Refusal};
use seqtune_kernel::Clocks;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Level that holds the clocks, and the files of levels and of states of the clocks.
const LEVEL: &str = "power_dpm_force_performance_level";
const CORE: &str = "pp_dpm_sclk";
const MEMORY: &str = "pp_dpm_mclk";

/// First word of the address of a GPU's clocks.
pub const ADDRESS: &str = "amdgpu";

/// Clocks of one GPU.
#[derive(Clone)]
pub struct Dpm {
    folder: PathBuf,
    /// Level before the first change; without it the driver's own choice is given back.
    before: Option<String>,
}

impl Dpm {
    /// The GPU at a PCI bus address such as `0000:c3:00.0`.
    pub fn open(bus: &str) -> Dpm {
        Dpm::in_folder(&sysfs(bus))
    }

    /// The GPU whose files are in a folder.
    pub fn in_folder(folder: &Path) -> Dpm {
        Dpm { folder: folder.into(), before: None }
    }

    fn write(&self, file: &str, text: &str) -> Result<(), Refusal> {
        // the driver's files are there; none is made
        let opened = std::fs::OpenOptions::new().write(true).truncate(true).open(self.folder.join(file));
        let place = self.folder.join(file);
        opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(|e| match e.kind() {
            ErrorKind::PermissionDenied => Refusal::Denied(format!("{}: only root may write it", place.display())),
            // so the driver says that a state cannot be chosen
            ErrorKind::InvalidInput if file != LEVEL => {
                Refusal::NoSuchClock(format!("{}: it takes no state {text}", place.display()))
            }
            _ => Refusal::Denied(format!("{}: {e}", place.display())),
        })
    }

    fn read(&self, file: &str) -> Result<String, Refusal> {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).map_err(|e| Refusal::Denied(format!("{}: {e}", path.display())))
    }

    /// The line of the state that runs at a clock, of lines such as `1: 1700Mhz *`.
    fn state(&self, file: &str, mhz: u32) -> Result<String, Refusal> {
        let text = self.read(file)?;
        // beside the states there may be one that cannot be chosen, such as `S: 132Mhz *` of deep sleep
        let states = text.lines().filter_map(|line| {
            let (state, clock) = line.split_once(':')?;
            let digits: String = clock.trim().chars().take_while(char::is_ascii_digit).collect();
            Some((state.trim().parse::<u32>().ok()?, digits.parse::<u32>().ok()?, clock.ends_with('*')))
        });
        let mut states: Vec<(u32, u32, bool)> = states.collect();
        // cores that run at any clock between two list these, 0 and 1, and the one of now between them
        if let (CORE, [_, (_, _, true), (2, _, _)]) = (file, &states[..]) {
            states.remove(1);
            states[1].0 = 1;
        }
        match states.iter().find(|(_, clock, _)| *clock == mhz) {
            Some((state, ..)) => Ok(state.to_string()),
            None => {
                let known: Vec<String> = states.iter().map(|(_, clock, _)| clock.to_string()).collect();
                Err(Refusal::NoSuchClock(format!("{mhz} MHz is none of {} ({file})", known.join(", "))))
            }
        }
    }
}

impl ClockSetter for Dpm {
    fn set(&mut self, clocks: Clocks) -> Result<(), Refusal> {
        if self.before.is_none() {
            self.before = Some(self.read(LEVEL)?.trim().to_string());
        }
        let wanted = [(CORE, clocks.core_mhz), (MEMORY, clocks.memory_mhz)];
        let states: Vec<(&str, String)> = wanted
            .into_iter()
            .filter_map(|(file, mhz)| Some(mhz.map(|mhz| self.state(file, mhz))?.map(|state| (file, state))))
            .collect::<Result<_, _>>()?;
        // a clock that is not named is the driver's: `auto` frees what was held before
        let all = [(LEVEL, "auto".to_string()), (LEVEL, "manual".to_string())];
        all.into_iter().chain(states).try_for_each(|(file, text)| self.write(file, &text))
    }

    fn restore(&mut self) -> Result<(), String> {
        let level = match &self.before {
            Some(before) => before.as_str(),
            // of a process that changed nothing: what another one holds is freed, what an administrator chose stays
            None if self.read(LEVEL).is_ok_and(|level| level.trim() != "manual") => return Ok(()),
            None => "auto",
        };
        self.write(LEVEL, level).map_err(|(Refusal::NoSuchClock(why) | Refusal::Denied(why))| why)
    }

    fn address(&self) -> [String; 2] {
        [ADDRESS.into(), self.folder.display().to_string()]
    }
}

/// Folder of the GPU at a PCI bus address. Those of a partitioned one may differ in their functions, of which sysfs knows the first.
pub fn sysfs(bus: &str) -> PathBuf {
    let devices = Path::new("/sys/bus/pci/devices");
    let whole = bus.rsplit_once('.').map(|(device, _)| devices.join(format!("{device}.0")));
    let own = devices.join(bus);
    if own.exists() { own } else { whole.unwrap_or(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_states_that_can_be_chosen_are_states() {
        let folder = tempfile::tempdir().unwrap();
        let dpm = Dpm::in_folder(folder.path());
        let state = |file: &str, text: &str, mhz| {
            std::fs::write(folder.path().join(file), text).unwrap();
            dpm.state(file, mhz)
        };
        let between = "0: 500Mhz\n1: 1320Mhz *\n2: 2575Mhz\n";
        assert_eq!(state(CORE, between, 2_575), Ok("1".into()));
        assert!(matches!(state(CORE, between, 1_320), Err(Refusal::NoSuchClock(_))));
        assert_eq!(state(CORE, "0: 500Mhz *\n1: 800Mhz\n2: 2575Mhz\n", 2_575), Ok("2".into()));
        assert_eq!(state(MEMORY, "0: 350Mhz\n1: 800Mhz *\n2: 1000Mhz\n", 1_000), Ok("2".into()));
        assert!(matches!(state(CORE, "S: 132Mhz *\n0: 500Mhz\n1: 2575Mhz\n", 132), Err(Refusal::NoSuchClock(_))));
    }

    #[test]
    fn who_changed_nothing_frees_what_is_held_and_leaves_what_was_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(LEVEL);
        for (before, after) in
            [("high\n", "high\n"), ("perf_determinism\n", "perf_determinism\n"), ("manual\n", "auto")]
        {
            std::fs::write(&file, before).unwrap();
            Dpm::in_folder(folder.path()).restore().unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
        }
    }

    #[test]
    fn states_are_chosen_by_their_clocks_and_the_level_before_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
        let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
        write(LEVEL, "high\n");
        write(CORE, "0: 500Mhz\n1: 1700Mhz *\n");
        write(MEMORY, "0: 400Mhz\n1: 1200Mhz *\n");
        let mut dpm = Dpm::in_folder(folder.path());
        let missing = dpm.set(Clocks { core_mhz: Some(600), memory_mhz: None });
        assert_eq!(missing, Err(Refusal::NoSuchClock("600 MHz is none of 500, 1700 (pp_dpm_sclk)".into())));
        assert_eq!(read(LEVEL), "high\n", "nothing is changed for a clock that is not there");
        dpm.set(Clocks { core_mhz: Some(500), memory_mhz: Some(1200) }).unwrap();
        assert_eq!((read(LEVEL), read(CORE), read(MEMORY)), ("manual".into(), "0".into(), "1".into()));
        dpm.restore().unwrap();
        assert_eq!(read(LEVEL), "high");
        std::fs::remove_file(folder.path().join(CORE)).unwrap();
        assert!(matches!(dpm.set(Clocks { core_mhz: Some(500), memory_mhz: None }), Err(Refusal::Denied(_))));
    }
}
