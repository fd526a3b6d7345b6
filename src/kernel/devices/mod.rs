//! Hardware as plain data: what a config may use and how fast the parts are.
//!
//! A `Device` is either live (an executor filled it in) or a description from a file. Expressions name
//! its limits; a limit that is not known (`None`) makes the constraints that need it vacuous.

pub(crate) mod names;

use crate::api::Api;
use crate::devices::names::{is_near, is_so_called, keys, list_names};
use crate::error::{Error, Result, input, quote};
use crate::files::read_text;
use crate::limits;
use crate::limits::DEVICE_NAME;
use crate::spelling::is_hidden;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Descriptions that ship with the program, each with the source of its numbers.
const SHIPPED: &str = include_str!("../kernels/devices.toml");

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Short unique name, as `--device` takes it.
    pub name: String,
    /// Other names of the same, such as those that databases are called by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Manufacturer.
    #[serde(default)]
    pub vendor: String,
    /// Architecture as the compiler names it: `sm_90`, `gfx942`, `cpu`.
    #[serde(default)]
    pub architecture: String,
    /// API and driver that opened it; empty for a description.
    #[serde(default)]
    pub driver: String,
    /// Where the numbers come from.
    #[serde(default)]
    pub source: String,
    /// What expressions and the model see.
    pub limits: Limits,
}

/// Hard limits and rates of a device. Units are in each field's line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Work-items per work-group.
    pub max_group_items: Option<f64>,
    /// Work-items per work-group in dimension 0.
    pub max_items_0: Option<f64>,
    /// Work-items per work-group in dimension 1.
    pub max_items_1: Option<f64>,
    /// Work-items per work-group in dimension 2.
    pub max_items_2: Option<f64>,
    /// Bytes of local (shared) memory that one work-group may declare.
    pub local_memory: Option<f64>,
    /// 32-bit registers that one work-group may use.
    pub group_registers: Option<f64>,
    /// 32-bit registers that one work-item may use.
    pub item_registers: Option<f64>,
    /// Work-items that run in lock step (warp, wave, sub-group).
    pub sub_group: Option<f64>,
    /// Compute units (multiprocessors, CPU cores).
    pub compute_units: Option<f64>,
    /// Highest clock in MHz.
    pub clock_mhz: Option<f64>,
    /// Bytes of the last-level cache.
    pub cache_bytes: Option<f64>,
    /// Bytes of global memory.
    pub memory_bytes: Option<f64>,
    /// Peak memory bandwidth in GB/s.
    pub bandwidth_gbs: Option<f64>,
    /// Peak f32 rate in GFLOP/s (a fused multiply-add is two).
    pub f32_gflops: Option<f64>,
    /// 1 for a CPU, where a work-item is an iteration of a loop.
    pub is_cpu: Option<f64>,
    /// Bytes of local memory that one work-group may ask for at launch, where that is more than it may declare.
    pub local_memory_opt_in: Option<f64>,
}

/// The limit that came after the first models: it is encoded where a device states it, so that other models stay what they are.
pub const LATER_LIMIT: &str = "local_memory_opt_in";

/// Names of the limits in expressions, in the order of [`Limits::values`].
pub const LIMIT_NAMES: [&str; 16] = [
    "max_group_items",
    "max_items_0",
    "max_items_1",
    "max_items_2",
    "local_memory",
    "group_registers",
    "item_registers",
    "sub_group",
    "compute_units",
    "clock_mhz",
    "cache_bytes",
    "memory_bytes",
    "bandwidth_gbs",
    "f32_gflops",
    "is_cpu",
    LATER_LIMIT,
];

impl Limits {
    /// The limits in the order of [`LIMIT_NAMES`].
    pub fn values(&self) -> [Option<f64>; LIMIT_NAMES.len()] {
        [
            self.max_group_items,
            self.max_items_0,
            self.max_items_1,
            self.max_items_2,
            self.local_memory,
            self.group_registers,
            self.item_registers,
            self.sub_group,
            self.compute_units,
            self.clock_mhz,
            self.cache_bytes,
            self.memory_bytes,
            self.bandwidth_gbs,
            self.f32_gflops,
            self.is_cpu,
            self.local_memory_opt_in,
        ]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    device: Vec<Device>,
}

impl Device {
    /// Whether it compiles kernels as C++, behind the prelude: by CUDA and HIP.
    pub fn compiles_cpp(&self) -> bool {
        Api::of_driver(&self.driver).is_some_and(Api::compiles_cpp)
    }

    /// The driver, as far as measurements by two of them are not put together: of a processor that programs run on the system without its
    /// release, which is mended while a sweep goes on.
    pub fn api(&self) -> String {
        match self.driver.split_once(' ') {
            Some((system @ "Linux", _)) => system.into(),
            _ => self.driver.clone(),
        }
    }

    /// Whether `name` is its name or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// Whether one of these is called as it is, by whichever name of either.
    pub fn is_among(&self, devices: &[Device]) -> bool {
        devices.iter().any(|d| d.is_called(&self.name) || self.is_called(&d.name))
    }

    /// What it is called but for case, spaces, signs and the maker's words.
    pub(crate) fn keys(&self) -> Vec<String> {
        let names = std::iter::once(&self.name).chain(&self.aliases).map(String::as_str);
        keys(names, self.limits.is_cpu == Some(1.0))
    }

    /// The device of these that somebody calls `name`: as it is called, or so but for case, spaces, signs and the maker's words before it
    /// (`RTX4090`, `NVIDIA GeForce RTX 4090`); of a processor also without what PoCL puts before its name.
    ///
    /// # Errors
    /// [`Error::DeviceNotFound`] where several of them are called so.
    pub fn find_called<'d>(name: &str, devices: &'d [Device]) -> Result<Option<&'d Device>> {
        if let Some(exact) = devices.iter().find(|device| device.is_called(name)) {
            return Ok(Some(exact));
        }
        match devices.iter().filter(|device| is_so_called(name, &device.keys())).collect::<Vec<_>>()[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            ref several => Err(Error::DeviceNotFound(format!(
                "device `{}` may be {}: name one of them",
                quote(name),
                list_names(several.iter().map(|device| device.name.as_str()), "or")
            ))),
        }
    }

    /// What the shipped description of a device of that name calls it else: drivers say `GeForce RTX 4090`, datasets `RTX 4090`.
    pub fn other_names(name: &str) -> Vec<String> {
        let shipped = Device::all_shipped().unwrap_or_default();
        let known = Device::find_called(name, &shipped).unwrap_or_default().cloned();
        let names = known.into_iter().flat_map(|d| [vec![d.name], d.aliases].concat());
        names.filter(|known| known != name).collect()
    }

    /// Every description in a file of `[[device]]` tables.
    ///
    /// # Errors
    /// [`Error::Input`] where the text is no list of devices.
    pub fn parse_file(text: &str, place: &str) -> Result<Vec<Device>> {
        let devices = || {
            let file: DeviceFile = toml_of(text)?;
            file.device.iter().try_for_each(Device::check)?;
            let mut seen = BTreeSet::new();
            for device in &file.device {
                let names = std::iter::once(&device.name).chain(&device.aliases).map(|name| name.to_lowercase());
                if let Some(name) = names.collect::<BTreeSet<_>>().into_iter().find(|name| !seen.insert(name.clone())) {
                    return input(format!("device `{}` is there twice; rename or delete one", quote(&name)));
                }
            }
            match file.device.is_empty() {
                false => Ok(file.device),
                true => input("holds no [[device]]"),
            }
        };
        devices().map_err(|e: Error| e.at_place(place))
    }

    /// Refuses a name that cannot be shown, and limits that no device has.
    ///
    /// # Errors
    /// [`Error::Input`] that names the limit.
    pub fn check(&self) -> Result<()> {
        for name in std::iter::once(&self.name).chain(&self.aliases) {
            if name.trim().is_empty() || name.chars().count() > DEVICE_NAME || name.chars().any(is_hidden) {
                return input(format!(
                    "device `{}`: a name has 1 to {DEVICE_NAME} characters, each to be seen, in one line",
                    quote(name)
                ));
            }
        }
        for (limit, value) in LIMIT_NAMES.iter().zip(self.limits.values()) {
            // of work-items every config has one at least
            let least = limit.starts_with("max_") as u8 as f64;
            if let Some(value) = value.filter(|v| !v.is_finite() || *v < least) {
                let name = quote(&self.name);
                return input(format!("device `{name}`: {limit} is {value}, not a number of {least} or more"));
            }
        }
        Ok(())
    }

    /// The descriptions that ship with the program.
    ///
    /// # Errors
    /// [`Error::Input`] where the shipped file cannot be read, which a test excludes.
    pub fn all_shipped() -> Result<Vec<Device>> {
        Device::parse_file(SHIPPED, "kernels/devices.toml")
    }

    /// A description by name ([`Device::find_called`]), or the first of a file by its path.
    ///
    /// # Errors
    /// [`Error::DeviceNotFound`] where no description has the name or several may be meant, [`Error::File`] where the file cannot be read.
    pub fn find_described(name_or_path: &str) -> Result<Device> {
        let shipped = Device::all_shipped()?;
        if let Some(found) = Device::find_called(name_or_path, &shipped)? {
            return Ok(found.clone());
        }
        let path = Path::new(name_or_path);
        if path.extension().is_some_and(|e| e == "toml") {
            let text = read_text(path, limits::TEXT)?;
            return Ok(Device::parse_file(&text, name_or_path)?.remove(0));
        }
        let known: Vec<&str> = shipped.iter().map(|d| d.name.as_str()).collect();
        let near = shipped.iter().filter(|device| is_near(name_or_path, &device.keys()));
        let meant = match near.map(|device| device.name.as_str()).collect::<Vec<_>>() {
            names if names.is_empty() => String::new(),
            names => format!("did you mean {}? Else ", list_names(names, "or")),
        };
        Err(Error::DeviceNotFound(format!(
            "no device `{}`: {meant}use `live`, the id of a live one such as cuda:0, a .toml file, or one of {}",
            quote(name_or_path),
            known.join(", ")
        )))
    }
}

/// Reads TOML; its errors span lines, users get one with the line's number.
pub(crate) fn toml_of<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|e| {
        let line = e.span().and_then(|span| Some(text.get(..span.start)?.matches('\n').count()));
        let of_c = line.and_then(|at| text.lines().nth(at)).is_some_and(|line| line.trim_start().starts_with("//"));
        let hint = if of_c { "; a comment begins with #" } else { "" };
        let line = line.map_or(String::new(), |at| format!("line {}: ", at + 1));
        Error::Input(format!("{line}{}{hint}", e.message().replace('\n', "; ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_description_names_its_source_and_the_limits_that_constraints_need() {
        let devices = Device::all_shipped().unwrap();
        assert!(devices.len() >= 12, "a dozen real GPUs");
        for d in &devices {
            assert!(!d.source.is_empty(), "{} has no source", d.name);
            for (name, value) in LIMIT_NAMES.iter().zip(d.limits.values()).take(9) {
                assert!(value.is_some_and(|v| v > 0.0), "{}: {name}", d.name);
            }
        }
        let mut names: Vec<_> = devices.iter().map(|d| d.name.to_lowercase()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), devices.len(), "names are unique");
    }

    #[test]
    fn an_unknown_device_is_answered_with_the_known_ones() {
        let error = Device::find_described("H2OO").unwrap_err().to_string();
        assert!(error.contains("no device `H2OO`") && error.contains("H200"), "{error}");
    }

    #[test]
    fn a_live_device_is_the_one_that_data_call_by_another_name() {
        let said = "GeForce RTX 4090";
        let live =
            Device { name: said.into(), aliases: Device::other_names(said), ..Device::find_described("H200").unwrap() };
        // as models of earlier versions describe it
        let learned = Device { aliases: Vec::new(), ..Device::find_described("RTX 4090").unwrap() };
        assert!(
            live.is_among(std::slice::from_ref(&learned))
                && !live.is_among(&[Device::find_described("RTX 3090").unwrap()])
        );
        assert!(learned.is_among(&[live]));
        assert_eq!(Device::other_names("Double 1"), [""; 0]);
        let mut names: Vec<String> = Device::all_shipped()
            .unwrap()
            .iter()
            .flat_map(|d| [vec![d.name.clone()], d.aliases.clone()].concat())
            .collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "a name is of one device");
    }
}
