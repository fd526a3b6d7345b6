//! Clocks of an AMD GPU through sysfs (Linux, "GPU Power/Thermal Controls and Monitoring", amdgpu): what ROCm SMI writes too, under names
//! that do not depend on its version.

use crate::clocks::setter::{ClockSetter, Refusal};
use seqtune_predict::kernel::Clocks;
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
    pub fn at(bus: &str) -> Dpm {
        Dpm::in_folder(&Path::new("/sys/bus/pci/devices").join(bus))
    }

    /// The GPU whose files are in a folder.
    pub fn in_folder(folder: &Path) -> Dpm {
        Dpm { folder: folder.into(), before: None }
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        // the driver's files are there; none is made
        let opened = std::fs::OpenOptions::new().write(true).truncate(true).open(self.folder.join(file));
        opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(|e| match e.kind() {
            ErrorKind::PermissionDenied => format!("{}: only root may write it", self.folder.join(file).display()),
            _ => format!("{}: {e}", self.folder.join(file).display()),
        })
    }

    fn read(&self, file: &str) -> Result<String, Refusal> {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).map_err(|e| Refusal::Denied(format!("{}: {e}", path.display())))
    }

    /// The line of the state that runs at a clock, of lines such as `1: 1700Mhz *`.
    fn state(&self, file: &str, mhz: u32) -> Result<String, Refusal> {
        let text = self.read(file)?;
        let states = text.lines().filter_map(|line| {
            let (state, clock) = line.split_once(':')?;
            let digits: String = clock.trim().chars().take_while(char::is_ascii_digit).collect();
            Some((state.trim().to_string(), digits.parse::<u32>().ok()?))
        });
        let states: Vec<(String, u32)> = states.collect();
        match states.iter().find(|(_, clock)| *clock == mhz) {
            Some((state, _)) => Ok(state.clone()),
            None => {
                let known: Vec<String> = states.iter().map(|(_, clock)| clock.to_string()).collect();
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
        all.into_iter().chain(states).try_for_each(|(file, text)| self.write(file, &text).map_err(Refusal::Denied))
    }

    fn restore(&mut self) -> Result<(), String> {
        self.write(LEVEL, self.before.as_deref().unwrap_or("auto"))
    }

    fn address(&self) -> [String; 2] {
        [ADDRESS.into(), self.folder.display().to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
