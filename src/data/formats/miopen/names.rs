//! What MIOpen calls a device in the names of its databases: its architecture, its features, and how many compute units it has.

use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};

/// A device as the name of a database tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Architecture, such as `gfx90a`.
    pub architecture: String,
    /// Compute units; of `gfx10` and later pairs of them, as drivers count.
    pub units: u32,
}

/// GPUs that no description is shipped of, by architecture and units.
const OTHERS: [(&str, u32, &str); 8] = [
    ("gfx803", 36, "RX 480 or RX 580"),
    ("gfx803", 64, "R9 Fury X or R9 Nano"),
    ("gfx942", 228, "MI300A"),
    ("gfx942", 80, "MI308X"),
    ("gfx950", 256, "MI350X or MI355X"),
    ("gfx1101", 27, "RX 7700 XT"),
    ("gfx1151", 20, "Radeon 8060S"),
    ("gfx1200", 16, "RX 9060 XT"),
];

/// Reads the name of a database, without its endings: `gfx906_60`, `gfx90a6e`, `gfx906_nosramecc_60`, also with a date behind it. Units are decimal
/// behind `_` up to 64, else hexadecimal; databases of `gfx11` and later that come with MIOpen count single units, in hexadecimal.
pub fn read_name(stem: &str) -> Option<Named> {
    let mut parts = stem.split('_');
    let (first, mut behind) = (parts.next()?, parts.peekable());
    while behind
        .next_if(|part| ["nosramecc", "sramecc", "xnack"].iter().any(|feature| part.starts_with(feature)))
        .is_some()
    {}
    let digits =
        first.strip_prefix("gfx").filter(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_hexdigit()))?;
    // of three digits, or from gfx10 on of four
    let length = if digits.starts_with('1') { 4 } else { 3 };
    let (own, hexadecimal) = digits.split_at_checked(length)?;
    let paired = |units: u32| if length == 4 { units / 2 } else { units };
    let units = match (hexadecimal.is_empty(), behind.next()) {
        (true, Some(decimal)) => decimal.parse().ok().filter(|units| (1..=64).contains(units))?,
        // a feature stands between both
        (true, None) => {
            let last = stem.rsplit('_').next()?;
            let hexadecimal =
                ["nosramecc", "sramecc", "xnack"].iter().find_map(|feature| last.strip_prefix(feature))?;
            paired(u32::from_str_radix(hexadecimal, 16).ok()?)
        }
        (false, _) => paired(u32::from_str_radix(hexadecimal, 16).ok()?),
    };
    Some(Named { architecture: format!("gfx{own}"), units })
}

impl Named {
    /// Whether a device may be the one that is meant: what it does not state says nothing.
    pub fn is(&self, device: &Device) -> bool {
        device.architecture == self.architecture
            && device.limits.compute_units.is_none_or(|units| units == f64::from(self.units))
    }

    /// The described device that is meant.
    ///
    /// # Errors
    /// [`Error::DeviceNotFound`] where none is described, with what the name tells.
    pub fn described_device(&self, stem: &str) -> Result<Device> {
        let Named { architecture, units } = self;
        let known = Device::all_shipped()?.into_iter().find(|device| self.is(device));
        known.ok_or_else(|| {
            let other = OTHERS.iter().find(|(own, count, _)| own == architecture && count == units);
            let called = other.map_or(String::new(), |(.., name)| format!(", such as {name}"));
            Error::DeviceNotFound(format!(
                "`{stem}` is MIOpen's name of a device of architecture {architecture} with {units} compute units{called}, which is not described; \
                 describe it in a .toml file, and name that with --device"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_databases_tell_the_device_with_its_features_and_a_date() {
        for (stem, expected) in [
            ("gfx906_60", Some("MI50")),
            ("gfx906_64", Some("MI60")),
            ("gfx900_56", Some("RX Vega 56")),
            ("gfx900_64", Some("RX Vega 64")),
            ("gfx90878", Some("MI100")),
            ("gfx90a68", Some("MI210")),
            ("gfx90a6e", Some("MI250X")),
            ("gfx942130", Some("MI300X")),
            ("gfx1030_36", Some("RX 6800 XT")),
            ("gfx1030_40", Some("RX 6900 XT")),
            ("gfx1100_48", Some("RX 7900 XTX")),
            ("gfx110060", Some("RX 7900 XTX")),
            ("gfx906_nosramecc_60", Some("MI50")),
            ("gfx90a_sramecc_xnack68", Some("MI210")),
            ("gfx906_60_2024-10", Some("MI50")),
            ("gfx942130_2024-12", Some("MI300X")),
            ("gfx942e4", None),
            ("gfx94250", None),
            ("gfx950100", Some("MI355X")),
            ("gfx803_36", None),
            ("gfx803_64", None),
            ("gfx110136", None),
            ("gfx115128", None),
            ("gfx120020", None),
        ] {
            let found = read_name(stem).unwrap_or_else(|| panic!("{stem}"));
            match (found.described_device(stem), expected) {
                (Ok(device), Some(name)) => assert_eq!(device.name, name, "{stem}"),
                (Err(e), None) => assert!(e.to_string().contains(", such as "), "{stem}: {e}"),
                (other, _) => panic!("{stem}: {other:?}"),
            }
        }
        for other in
            ["", "gfx", "gfx906", "gfx906_", "gfx906_x", "gfx906_65", "mystery", "Fiji", "gfx90", "gfx9zz_60", "906_60"]
        {
            assert_eq!(read_name(other), None, "{other}");
        }
    }
}
