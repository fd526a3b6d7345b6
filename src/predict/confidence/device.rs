//! Which device a model is asked about, and what its answers for that device rest on.

use crate::confidence::device_calibration::DeviceCalibration;
use crate::model::trained::Meta;
use seqtune_kernel::error::{Error, Result, quote};
use seqtune_kernel::kernel_toml::spec::{FieldKind, Units};
use seqtune_kernel::{Device, Kernel, Problem, list_names};

/// What first choices lose where a device was left out: figures of docs/results/tables, which a test holds against it.
const TUNED_NOTE: &str = "with each of four GPUs left out of such models, first choices were the tuned config in 2 to 29 % of the problems; in 45 % on the MI50 where it was learned";
const SWEPT_NOTE: &str = "for comparison, on three CPUs that were left out first choices of gemm lost 5.2, 10.9 and 13.7 % of the best speed, on learned ones 3.7 %";

/// A device that a model learned, or one that is described, by a name that people give it.
///
/// # Errors
/// [`Error::DeviceNotFound`] where neither is called so, or several are; [`Error::File`] where the name is a file's that cannot be read.
pub fn find_device(learned: &[Device], name: &str) -> Result<Device> {
    if let Some(own) = Device::find_called(name, learned)? {
        return Ok(own.clone());
    }
    let described = match Device::find_described(name) {
        Err(Error::DeviceNotFound(sentence)) if !learned.is_empty() => {
            Err(Error::DeviceNotFound(format!("{sentence}; the model learned {}", names(learned, "and"))))
        }
        found => found,
    }?;
    // a file is what it says; a name is that of the device that was learned
    let is_file = std::path::Path::new(name).extension().is_some_and(|e| e == "toml");
    let own = learned.iter().find(|own| !is_file && described.is_among(std::slice::from_ref(own)));
    Ok(own.cloned().unwrap_or(described))
}

/// The device that a model is asked about: the one that is named, by [`find_device`]; else the only one that it learned; else a live one that it
/// learned, which `live` finds among those. `live` is called where several were learned and none is named, because it opens drivers.
///
/// # Errors
/// As [`find_device`]; [`Error::DeviceNotFound`], with a list, where the model learned several devices and none of them is live.
pub fn device_for(
    learned: &[Device],
    name: Option<&str>,
    live: impl FnOnce(&[Device]) -> Option<Device>,
) -> Result<Device> {
    match (name, learned) {
        (Some(name), _) => find_device(learned, name),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Error::DeviceNotFound("the model names no device that it learned: name one".into())),
        (None, several) => live(several).ok_or_else(|| {
            Error::DeviceNotFound(format!(
                "the model learned {} devices, and none of them is live here: name the device that is asked about, {}",
                several.len(),
                names(several, "or")
            ))
        }),
    }
}

fn names(devices: &[Device], word: &str) -> String {
    let names: Vec<String> = devices.iter().map(|device| format!("`{}`", quote(&device.name))).collect();
    list_names(names.iter().map(String::as_str), word)
}

/// Whether a predicted time is the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBasis {
    /// There is none: the model learned no times of the device, or none nearly so short.
    Absent,
    /// It was learned of times of the device.
    Learned,
    /// The model's was below what the device can do at all ([`least_us`]), which stands in its place.
    Bounded,
}

impl TimeBasis {
    /// Of a time that was predicted for a problem that takes `least` at least.
    pub fn new(time_us: Option<f64>, least: f64) -> TimeBasis {
        match time_us.filter(|us| us.is_finite()) {
            None => TimeBasis::Absent,
            Some(us) if us <= least => TimeBasis::Bounded,
            Some(_) => TimeBasis::Learned,
        }
    }

    /// The word for it: `absent`, `learned` or `bounded`.
    pub fn word(self) -> &'static str {
        match self {
            TimeBasis::Absent => "absent",
            TimeBasis::Learned => "learned",
            TimeBasis::Bounded => "bounded",
        }
    }
}

/// Microseconds that a problem takes at least: its operations by the device's peak, or its bytes by the bandwidth of the memory, where both are
/// known (Williams, Waterman and Patterson 2009). Peaks are those of f32 on vector units, so that nothing is said of operations of shorter types,
/// of matrix units, and of kernels whose source is not here; what fits into the last-level cache may never come from memory. 0 where nothing is
/// known.
pub fn least_us(kernel: &Kernel, problem: &Problem, device: &Device) -> f64 {
    let known = |limit: Option<f64>| limit.filter(|rate| *rate > 0.0);
    let (flops, bytes) = (kernel.flops(problem), kernel.bytes(problem));
    let is_vector = kernel.source.as_ref().is_some_and(|source| source.units == Units::Vector);
    let is_plain = is_vector && !is_short(kernel, problem);
    let by_peak = known(device.limits.f32_gflops).filter(|_| is_plain).map(|peak| flops / peak / 1e3);
    let is_beyond = bytes > device.limits.cache_bytes.unwrap_or(0.0);
    let by_memory = known(device.limits.bandwidth_gbs).filter(|_| is_beyond).map(|rate| bytes / rate / 1e3);
    let least = by_peak.into_iter().chain(by_memory).filter(|us| us.is_finite());
    least.fold(0.0, f64::max)
}

/// Whether a choice of the problem is a data type of less than 32 bits.
fn is_short(kernel: &Kernel, problem: &Problem) -> bool {
    let fields = kernel.fields.iter().zip(&problem.values).filter(|(field, _)| field.kind == FieldKind::Choice);
    fields.map(|(field, value)| (field, field.show(*value).to_lowercase())).any(|(field, label)| {
        let is_type = field.name.contains("type") || field.name == "precision";
        let bits = label.trim_start_matches(|c: char| !c.is_ascii_digit());
        let bits: String = bits.chars().take_while(char::is_ascii_digit).collect();
        is_type && (label == "half" || bits.parse::<u32>().is_ok_and(|bits| bits < 32))
    })
}

/// What a model's answers for a device rest on.
#[derive(Clone, Debug)]
pub struct Grounds {
    /// Name of the device.
    pub device: String,
    /// Whether the model learned from data of the device.
    pub is_learned: bool,
    /// Names of the devices that it learned from.
    pub learned_on: Vec<String>,
    /// What a device that was not learned costs, in words.
    cost: String,
}

impl Grounds {
    /// Those of a model for a device.
    pub fn from_meta(meta: &Meta, device: &Device) -> Grounds {
        Grounds::new(&meta.devices, &meta.device_calibration, device)
    }

    /// Those of what learned from these devices.
    pub(crate) fn new(devices: &[Device], calibration: &DeviceCalibration, device: &Device) -> Grounds {
        let is_tuned = calibration.is_of_tuned();
        let is_cpu = device.limits.is_cpu == Some(1.0);
        let cost = match calibration.measured.iter().find(|measured| measured.device == device.name) {
            Some(measured) => format!("its probabilities were set by {} problems measured there", measured.problems),
            None if is_tuned => TUNED_NOTE.into(),
            None if is_cpu => SWEPT_NOTE.into(),
            None => format!("what that costs on a GPU was not measured; {SWEPT_NOTE}"),
        };
        Grounds {
            device: device.name.clone(),
            is_learned: device.is_among(devices),
            learned_on: devices.iter().map(|device| device.name.clone()).collect(),
            cost,
        }
    }

    /// `learned on H200 only`: what every file of choices says.
    pub fn learned_words(&self) -> String {
        format!("learned on {} only", list_names(self.learned_on.iter().map(String::as_str), "and"))
    }

    /// `device H200; learned on H200 only`, or that the model never saw it: for files that others read.
    pub fn words(&self) -> String {
        let unseen = if self.is_learned { "" } else { ", which the model never saw" };
        format!("device {}{unseen}; {}", self.device, self.learned_words())
    }

    /// A sentence for a device that the model never saw, with what that costs; `None` of one that it learned.
    pub fn note(&self) -> Option<String> {
        let sentence = || {
            format!(
                "the model never saw {} ({}): configs are legal there, their order is a guess, and no time is told; {}",
                self.device,
                self.learned_words(),
                self.cost
            )
        };
        (!self.is_learned).then(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trained::Model;
    use std::path::Path;

    fn devices(names: &[&str]) -> Vec<Device> {
        names.iter().map(|name| Device::find_described(name).unwrap()).collect()
    }

    fn never(_: &[Device]) -> Option<Device> {
        panic!("drivers are opened where several devices were learned and none is named")
    }

    #[test]
    fn of_several_devices_a_live_one_is_taken_or_all_are_listed() {
        let several = devices(&["MI50", "RX Vega 56", "MI300X"]);
        let vega = Device { driver: "HIP 6".into(), ..several[1].clone() };
        let live = |learned: &[Device]| vega.is_among(learned).then(|| vega.clone());
        assert_eq!(device_for(&several, None, live).unwrap(), vega);
        let refused = device_for(&several, None, |_| None).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert_eq!(
            refused.to_string(),
            "the model learned 3 devices, and none of them is live here: name the device that is asked about, `MI50`, `RX Vega 56` or `MI300X`"
        );
        assert_eq!(device_for(&several[..1], None, never).unwrap(), several[0], "of one device as ever");
        assert!(device_for(&[], None, never).is_err());
        assert_eq!(device_for(&several, Some("gfx900-56"), never).unwrap(), several[1]);
    }

    #[test]
    fn a_name_is_that_of_the_device_that_was_learned_before_the_one_that_is_described() {
        let mut own = devices(&["MI50"]);
        own[0].limits.clock_mhz = Some(1_234.0);
        own[0].aliases.clear();
        for name in ["mi50", "gfx906_60", "Radeon Instinct MI50"] {
            assert_eq!(find_device(&own, name).unwrap(), own[0], "{name}");
        }
        assert_eq!(find_device(&own, "RTX4090").unwrap().name, "RTX 4090");
        let unknown = find_device(&own, "MI55").unwrap_err().to_string();
        assert!(unknown.ends_with("; the model learned `MI50`"), "{unknown}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml").display().to_string();
        std::fs::write(&file, "[[device]]\nname = \"MI50\"\n[device.limits]\nclock_mhz = 7\n").unwrap();
        assert_eq!(find_device(&own, &file).unwrap().limits.clock_mhz, Some(7.0), "a file is what it says");
    }

    #[test]
    fn a_device_never_seen_is_said_to_be_so_with_what_that_costs() {
        let [h200, t4] = ["H200", "T4"].map(|name| Device::find_described(name).unwrap());
        let learned = std::slice::from_ref(&h200);
        let seen = Grounds::new(learned, &DeviceCalibration::default(), &h200);
        assert_eq!((seen.note(), seen.words().as_str()), (None, "device H200; learned on H200 only"));
        let other = Grounds::new(learned, &DeviceCalibration::default(), &t4);
        assert_eq!(other.words(), "device T4, which the model never saw; learned on H200 only");
        let note = other.note().unwrap();
        assert!(note.starts_with("the model never saw T4 (learned on H200 only): ") && note.contains("not measured"));
        let mut calibration = DeviceCalibration { timed: Some([].into()), ..DeviceCalibration::default() };
        assert!(Grounds::new(learned, &calibration, &t4).note().unwrap().ends_with(TUNED_NOTE));
        calibration.measure(&t4, learned, &[]);
        assert!(Grounds::new(learned, &calibration, &t4).note().unwrap().ends_with("set by 0 problems measured there"));
        let cpu = Device { limits: seqtune_kernel::Limits { is_cpu: Some(1.0), ..t4.limits.clone() }, ..t4 };
        assert!(Grounds::new(learned, &DeviceCalibration::default(), &cpu).note().unwrap().ends_with(SWEPT_NOTE));
    }

    #[test]
    fn figures_of_devices_left_out_are_those_of_the_results() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
        let row = |text: &str, begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap().to_string();
        let table = |name: &str| text(&format!("docs/results/tables/{name}.md"));
        let left_out = table("unseen-cpus");
        let by_device = left_out.split("By the device that was left out").nth(1).unwrap();
        let found = row(by_device, "| seqtune, as predict |");
        let shown: Vec<f64> =
            found.split('|').skip(2).filter_map(|cell| cell.split('±').next()?.trim().parse().ok()).collect();
        assert_eq!(shown.iter().map(|loss| format!("{loss:.1}")).collect::<Vec<_>>(), ["5.2", "10.9", "13.7"]);
        let learned = row(&table("folds"), "| **seqtune, as `predict`** |");
        let learned: Vec<&str> = learned.split('|').collect();
        assert!(learned[5].trim().starts_with("3.72"), "{learned:?}");
        let right = table("unseen-gpus");
        let rates: Vec<f64> = ["MI50", "RX Vega 56", "RX 6800 XT", "MI300X"]
            .map(|device| row(&right, &format!("| {device} |")).split('|').nth(3).unwrap().trim().parse().unwrap())
            .into();
        assert_eq!((rates.iter().copied().fold(f64::INFINITY, f64::min).round(), rates[1].round()), (2.0, 29.0));
        assert!(table("miopen-mi50").contains("right in 45."));
        for figure in ["5.2, 10.9 and 13.7 %", "3.7 %"] {
            assert!(SWEPT_NOTE.contains(figure));
        }
        assert!(TUNED_NOTE.contains("in 2 to 29 %") && TUNED_NOTE.contains("45 % on the MI50"));
    }

    #[test]
    fn no_time_is_below_what_the_device_can_do() {
        let h200 = Device::find_described("H200").unwrap();
        let gemm = Kernel::open("gemm").unwrap();
        let least = |text: &str| least_us(&gemm, &gemm.problem(text).unwrap(), &h200);
        let cube = 2.0 * 4096f64.powi(3) / 66_900e3;
        assert!((least("M=4096,N=4096,K=4096") - cube).abs() < 1e-6 * cube);
        // a product of a shorter type may be faster than f32; what is moved is not
        let moved = 2.0 * 3.0 * 8192f64.powi(2) / 4_800e3;
        assert!((least("M=8192,N=8192,K=8192,dtype=f16") - moved).abs() < 1e-6 * moved);
        assert_eq!(least("M=64,N=64,K=64,dtype=f16"), 0.0, "what fits into the cache");
        let unknown = Device { limits: Default::default(), ..h200.clone() };
        assert_eq!(least_us(&gemm, &gemm.problem("M=64,N=64,K=64").unwrap(), &unknown), 0.0);
        let matrix = Kernel::open("gemm_tc").unwrap();
        let problem = matrix.problem("M=512,N=512,K=512").unwrap();
        assert_eq!(least_us(&matrix, &problem, &h200), 0.0, "matrix units have another peak");
        assert_eq!(
            [None, Some(1.0), Some(1.1)].map(|us| TimeBasis::new(us, 1.0).word()),
            ["absent", "bounded", "learned"]
        );
    }

    #[test]
    fn times_are_told_of_devices_that_were_learned_and_of_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/gemm-h200");
        let kernel = Kernel::open("gemm").unwrap();
        let model = Model::load(&root).unwrap();
        let predictor = crate::Predictor::new(&kernel, &model).unwrap();
        let problem = kernel.problem("M=1024,N=512,K=256").unwrap();
        let ask = |device: &Device| {
            let query = crate::Query { top: 3, ..crate::Query::new(device) };
            predictor.predict_one(&problem, &query).unwrap().candidates
        };
        let own = ask(&model.meta.devices[0]);
        assert!(own.iter().all(|c| c.time_us > Some(0.0) && c.joules > Some(0.0)));
        let mut slow = model.meta.devices[0].clone();
        slow.limits.f32_gflops = Some(1.0);
        let least = least_us(&kernel, &problem, &slow);
        assert!(ask(&slow).iter().all(|c| c.time_us == Some(least)), "raised to what it can do");
        for name in ["T4", "RTX 4090", "MI300X"] {
            let other = ask(&Device::find_described(name).unwrap());
            assert!(!other.is_empty() && other.iter().all(|c| c.time_us.is_none() && c.joules.is_none()), "{name}");
        }
    }
}
