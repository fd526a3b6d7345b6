//! Energy of processors, by the counters that Linux offers under powercap (RAPL).

use crate::measuring::energy::EnergyMeter;
use std::path::{Path, PathBuf};

/// Folder of the counters, and the variable that names another one.
const FOLDER: &str = "/sys/class/powercap";
const VARIABLE: &str = "SEQTUNE_POWERCAP";

/// Counters of all processor packages.
struct Packages(Vec<Package>);

struct Package {
    file: PathBuf,
    /// Microjoules after which the counter begins anew.
    range: f64,
    last: f64,
    /// Microjoules of the turns before.
    before: f64,
}

impl EnergyMeter for Packages {
    fn joules(&mut self) -> Result<f64, String> {
        let mut sum = 0.0;
        for package in &mut self.0 {
            let now = number(&package.file)?;
            if now < package.last {
                package.before += package.range;
            }
            package.last = now;
            sum += (package.before + now) / 1e6;
        }
        Ok(sum)
    }
}

fn number(file: &Path) -> Result<f64, String> {
    let text = std::fs::read_to_string(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::PermissionDenied => {
            format!("{} may be read by root alone; `chmod a+r` it, or run as root", file.display())
        }
        _ => format!("{}: {e}", file.display()),
    })?;
    text.trim().parse().map_err(|_| format!("{} holds no number", file.display()))
}

/// Opens the counters of the processor packages.
///
/// # Errors
/// A message where this machine has none, or they cannot be read.
pub fn open() -> Result<Box<dyn EnergyMeter>, String> {
    let folder = std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    // `intel-rapl:0` is a package, of AMD's processors too; `intel-rapl:0:1` is a part of it
    let is_package = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.strip_prefix("intel-rapl:").is_some_and(|rest| !rest.contains(':'))
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_package).collect();
    folders.sort();
    let mut packages = Vec::new();
    for folder in folders {
        let file = folder.join("energy_uj");
        let range = number(&folder.join("max_energy_range_uj"))?;
        packages.push(Package { last: number(&file)?, file, range, before: 0.0 });
    }
    match packages.is_empty() {
        true => Err(format!("{} has no counter of a processor's energy (RAPL)", folder.display())),
        false => Ok(Box::new(Packages(packages))),
    }
}
