//! Sweeps of other tuners: configs of one problem with what came of them, which become records of a kernel.

use crate::bad_rows::{BadRows, Twice};
use crate::dataset::{Dataset, Header};
use crate::formats::names;
use crate::formats::values::{self, NamedValue};
use crate::recipe::Provenance;
use crate::record::{Energy, InvalidityKind, Measurement, Outcome, Record};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::limits::{SAMPLE_US, ZERO_BESIDE_US};
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Config with its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    /// Where it stands in its file.
    pub place: String,
    /// Names and values as the file writes them.
    pub config: Vec<(String, Value)>,
    pub outcome: Outcome,
    pub energies: Vec<ReadEnergy>,
}

/// An energy as a file tells it.
#[derive(Clone, Debug)]
pub(crate) struct ReadEnergy {
    /// Name of its meter.
    pub meter: String,
    /// Joules of a launch; `None` where what stands there is no number.
    pub joules: Option<f64>,
}

/// Content of a file.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// Name of the kernel, where the file has one.
    pub kernel: Option<String>,
    /// Name of the device, where the file has one.
    pub device: Option<String>,
    /// Problem in full, as our own exports tell it.
    pub problem: Option<String>,
    /// Sizes of the problem; empty where the file has none.
    pub sizes: Vec<u64>,
    /// What measured, and what was left out of it.
    pub(crate) tool: &'static str,
    /// Names that parameters do not have in such a file, see [`names`].
    pub(crate) reserved: &'static [&'static str],
    pub(crate) tried: Vec<Tried>,
    /// Entries that cannot be read.
    pub(crate) bad: BadRows,
}

impl Sweep {
    /// Adds an entry that was read, or counts one that cannot be. A time that a dataset cannot hold is none.
    pub(crate) fn add(&mut self, place: &str, read: std::result::Result<Tried, String>) {
        match read.and_then(|tried| plausible(&tried.outcome).map(|()| tried)) {
            Ok(tried) => self.tried.push(Tried { place: place.into(), ..tried }),
            Err(reason) => self.bad.add(&reason, place),
        }
    }

    /// Problem of the kernel with the file's sizes, in the order of its size fields.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where the file and the kernel differ in their number of sizes, or have none.
    pub fn problem(&self, kernel: &Kernel) -> Result<String> {
        if let Some(problem) = &self.problem {
            return Ok(problem.clone());
        }
        let fields: Vec<&str> =
            kernel.fields.iter().filter(|f| f.kind == FieldKind::Size).map(|f| f.name.as_str()).collect();
        match fields.len() == self.sizes.len() && !fields.is_empty() {
            true => Ok(fields.iter().zip(&self.sizes).map(|(f, s)| format!("{f}={s}")).collect::<Vec<_>>().join(",")),
            false => input(format!(
                "tells {} sizes, kernel {} has {} ({}); say with --problem what was measured",
                self.sizes.len(),
                kernel.name,
                fields.len(),
                fields.join(", ")
            )),
        }
    }
}

/// Refuses a time that no launch takes.
fn plausible(outcome: &Outcome) -> std::result::Result<(), String> {
    if let Outcome::Measured(m) = outcome {
        let beside = m.samples_us.iter().copied().filter(|us| *us > 0.0).fold(f32::INFINITY, f32::min);
        if m.samples_us.contains(&0.0) && f64::from(beside) > ZERO_BESIDE_US && beside.is_finite() {
            return Err(format!("a time is 0 beside others such as `{beside}` us"));
        }
    }
    outcome.fault().map_or(Ok(()), |fault| Err(fault.into()))
}

/// Outcome of times, each of so many microseconds, without the first of several, which is `cold`.
pub(crate) fn outcome_of_times(times: &Value, us: f64, cold: bool) -> std::result::Result<Outcome, String> {
    let list = times.as_array().map_or(std::slice::from_ref(times), Vec::as_slice);
    let sample = |time: &Value| number(time).map(|time| time * us);
    let samples: Option<Vec<f64>> = list.iter().map(sample).collect();
    let samples = match samples {
        Some(samples) if !samples.is_empty() => samples,
        None if !times.is_null() => return Err("a time is no number".into()),
        _ => return Err("has no times".into()),
    };
    if let Some(us) = samples.iter().find(|us| **us > SAMPLE_US) {
        return Err(format!("a time is `{us:e}` us, over thirty days"));
    }
    let from = (cold && samples.len() > 1) as usize;
    let samples_us = samples[from..].iter().map(|us| *us as f32).collect();
    Ok(Outcome::Measured(Measurement { samples_us, energy: None }))
}

/// A number, also one that is written as a text; not NaN.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number)
}

/// Category of a failure by the name that a tool gives it; `None` of a word that names none.
pub(crate) fn failure(name: &str) -> Option<InvalidityKind> {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match () {
        _ if has(&["compil", "devicelimits"]) => Some(InvalidityKind::Compile),
        _ if has(&["correct", "verif", "validation"]) => Some(InvalidityKind::Correctness),
        _ if has(&["timeout", "time out", "timed out"]) => Some(InvalidityKind::Timeout),
        _ if has(&["constraint", "invalid"]) => Some(InvalidityKind::Constraints),
        _ if has(&["fail", "error", "runtime"]) => Some(InvalidityKind::Runtime),
        _ => None,
    }
}

/// Meters of a device's energy, the most exact first. Those behind `rapl` are of the processor, and count on one alone.
const METERS: [&str; 10] = [
    "ps_energy",
    "powersensor3_energy",
    "powersensor2_energy",
    "nvml_energy",
    "nvidia_energy",
    "amdsmi_energy",
    "rocm_energy",
    "energy",
    "rapl_energy",
    "likwid_energy",
];

/// Whether a name is that of a meter.
pub(crate) fn is_energy(name: &str) -> bool {
    name == "energy" || name.ends_with("_energy")
}

/// Watts that no device draws: an energy of more is one of another unit, or of more than a launch.
const MOST_WATTS: f64 = 1e6;

/// The energy of a config by its best meter, or why it has none.
fn energy(energies: &[ReadEnergy], us: f64, is_cpu: bool) -> (Option<Energy>, Option<String>) {
    let of_processor = |name: &str| METERS[8..].contains(&name);
    let rank = |name: &str| METERS.iter().position(|meter| *meter == name).unwrap_or(METERS.len());
    let own = energies.iter().filter(|read| is_cpu || !of_processor(&read.meter));
    let Some(ReadEnergy { meter: name, joules }) = own.min_by_key(|read| rank(&read.meter)) else {
        return (None, None);
    };
    match joules {
        Some(joules) if *joules > 0.0 && joules / (us / 1e6) <= MOST_WATTS => {
            // neither the interval nor the idle power is told
            (Some(Energy { joules: *joules, half_width: 0.0, idle_watts: 0.0 }), None)
        }
        _ => (None, Some(format!("{name} is no number of joules that a launch takes"))),
    }
}

/// Result of an import.
pub struct ImportedSweep {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of failed configs.
    pub failed: usize,
    /// Entries of a config that an earlier one has.
    pub twice: Twice,
    /// Number of configs with an energy.
    pub metered: usize,
    /// Number of configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Entries that cannot be read, or whose config is none of the kernel's.
    pub bad: BadRows,
    /// Entries in all.
    pub entries: usize,
}

/// An import of files of one kernel on one device.
pub struct SweepImport<'k> {
    kernel: &'k Kernel,
    /// Where in the records a problem and config stand.
    known: HashMap<(Arc<str>, Arc<str>), usize>,
    imported: ImportedSweep,
}

impl<'k> SweepImport<'k> {
    /// Begins an import.
    pub fn new(kernel: &'k Kernel, device: &Device, command: String) -> SweepImport<'k> {
        let provenance = Provenance::Imported { tool: String::new(), files: Vec::new() };
        let header = Header::new(kernel, device, 0, provenance, command);
        let imported = ImportedSweep {
            dataset: Dataset { header, records: Vec::new() },
            failed: 0,
            twice: Twice::default(),
            metered: 0,
            left_out: BTreeMap::new(),
            bad: BadRows::default(),
            entries: 0,
        };
        SweepImport { kernel, known: HashMap::new(), imported }
    }

    /// Adds what a file holds, of `problem`.
    ///
    /// # Errors
    /// [`Error::Problem`](seqtune_predict::Error::Problem) where the kernel rejects the problem.
    pub fn add(&mut self, place: &str, sweep: Sweep, problem: &str) -> Result<()> {
        let problem = self.kernel.problem(problem)?;
        let imported = &mut self.imported;
        if let Provenance::Imported { tool, files } = &mut imported.dataset.header.provenance {
            if !tool.contains(sweep.tool) {
                *tool += &format!("{}{}", if tool.is_empty() { "" } else { "; " }, sweep.tool);
            }
            files.push(place.into());
        }
        imported.entries += sweep.tried.len() + sweep.bad.rows();
        let mut bad = sweep.bad;
        bad.0.values_mut().for_each(|counts| counts.example.insert_str(0, &format!("{place}, ")));
        imported.bad.extend(bad);
        let space = ConfigSpace::new(self.kernel, &problem, &imported.dataset.header.device);
        let shown: Arc<str> = self.kernel.show_problem(&problem).into();
        let written = names::parameters(self.kernel, sweep.reserved);
        let kernel = self.kernel;
        let own = |name: &String| written.iter().position(|w| w == name).map(|at| kernel.parameters[at].name.as_str());
        for tried in sweep.tried {
            let named = tried.config.iter().map(|(name, value)| NamedValue { name: own(name).unwrap_or(name), value });
            match values::config(self.kernel, named) {
                Err(e) => self.imported.bad.add(&e.to_string(), &format!("{place}, {}", tried.place)),
                Ok(config) => match space.broken(&config) {
                    Some(rule) => *self.imported.left_out.entry(rule.to_string()).or_insert(0) += 1,
                    None => self.book(&shown, &config, tried),
                },
            }
        }
        Ok(())
    }

    /// Books what came of a legal config.
    fn book(&mut self, problem: &Arc<str>, config: &Config, tried: Tried) {
        let Tried { mut outcome, energies, .. } = tried;
        let mut observed = crate::Observed::default();
        if let Outcome::Measured(measurement) = &mut outcome {
            let is_cpu = self.imported.dataset.header.device.limits.is_cpu == Some(1.0);
            let us = measurement.median_us();
            (measurement.energy, observed.unmetered) = energy(&energies, us, is_cpu);
        }
        let config: Arc<str> = self.kernel.show_config(config).into();
        let records = &mut self.imported.dataset.records;
        let at = *self.known.entry((problem.clone(), config.clone())).or_insert(records.len());
        let Some(known) = records.get_mut(at) else {
            self.imported.failed += matches!(outcome, Outcome::Invalid(_)) as usize;
            self.imported.metered += outcome.joules().is_some() as usize;
            return records.push(Record { problem: problem.clone(), config, outcome, observed });
        };
        match (&mut known.outcome, outcome) {
            (known, outcome) if *known == outcome => self.imported.twice.same += 1,
            (Outcome::Measured(known), Outcome::Measured(more)) => {
                known.samples_us.extend(more.samples_us);
                self.imported.twice.again += 1;
            }
            _ => {
                let reason = "an earlier entry says otherwise whether the config fails";
                *self.imported.left_out.entry(reason.into()).or_insert(0) += 1;
            }
        }
    }

    /// What was imported.
    pub fn finish(self) -> ImportedSweep {
        self.imported
    }
}
