//! What files of one import say of themselves: files of two kernels or two devices are never put together.

use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result, input, quote};

/// Names that files tell, each with the first place that told it.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    kernel: Option<(String, String)>,
    device: Option<(String, String)>,
}

impl Origins {
    /// Adds what a file tells of its kernel and its device; `None` where it does not.
    ///
    /// # Errors
    /// [`Error::Input`] where a file before told another one.
    pub fn add(&mut self, place: &str, kernel: Option<&str>, device: Option<&str>) -> Result<()> {
        let told = [("of kernel", &mut self.kernel, kernel), ("measured on", &mut self.device, device)];
        for (what, known, told) in told {
            let Some(told) = told else { continue };
            match known {
                Some((name, first)) if name != told => {
                    return input(format!(
                        "{place} is {what} `{}`, {first} {what} `{}`; import them one by one, each into a dataset of its own",
                        quote(told),
                        quote(name)
                    ));
                }
                Some(_) => {}
                None => *known = Some((told.into(), place.into())),
            }
        }
        Ok(())
    }

    /// The kernel that the files tell.
    pub fn kernel(&self) -> Option<&str> {
        self.kernel.as_ref().map(|(name, _)| name.as_str())
    }

    /// The device that the files tell.
    pub fn device(&self) -> Option<&str> {
        self.device.as_ref().map(|(name, _)| name.as_str())
    }
}

/// Names of vendors that tools write before a device's.
const VENDORS: [&str; 3] = ["NVIDIA ", "AMD ", "Intel "];

/// The described device that a file tells by this name, with or without its vendor's.
///
/// # Errors
/// [`Error::DeviceNotFound`] where none is called so.
pub fn described_device(told: &str) -> Result<Device> {
    let bare = VENDORS.iter().find_map(|vendor| told.strip_prefix(vendor)).unwrap_or(told);
    // a file's words are no path
    let shipped = Device::all_shipped()?;
    let known = |name: &str| shipped.iter().find(|device| device.is_called(name)).cloned();
    known(told).or_else(|| known(bare)).ok_or_else(|| {
        Error::DeviceNotFound(format!(
            "was measured on {}, which is not described; name a device or a .toml file with --device",
            quote(told)
        ))
    })
}

/// Holds the device that a user names against the one that a file tells. The answer is a warning where the file's name is not known at all.
///
/// # Errors
/// [`Error::Input`] where the file tells another one that is described.
pub fn agree(named: &Device, told: &str) -> Result<Option<String>> {
    let bare = VENDORS.iter().find_map(|vendor| told.strip_prefix(vendor)).unwrap_or(told);
    if named.is_called(told) || named.is_called(bare) {
        return Ok(None);
    }
    match described_device(told) {
        Ok(other) if other.is_among(std::slice::from_ref(named)) => Ok(None),
        Ok(other) => input(format!(
            "was measured on {}, and --device names {}; name {}, or leave --device out",
            quote(told),
            named.name,
            other.name
        )),
        Err(_) => {
            Ok(Some(format!("was measured on {}; its records are booked as those of {}", quote(told), named.name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_two_kernels_or_two_devices_are_refused_with_both_names_and_places() {
        let mut origins = Origins::default();
        origins.add("a.json", Some("fwd"), Some("NVIDIA T4")).unwrap();
        origins.add("b.json", None, None).unwrap();
        let error = origins.add("c.json", Some("bwd"), Some("NVIDIA T4")).unwrap_err().to_string();
        assert!(error.starts_with("c.json is of kernel `bwd`, a.json of kernel `fwd`;"), "{error}");
        let error = origins.add("d.json", Some("fwd"), Some("NVIDIA H100")).unwrap_err().to_string();
        assert!(error.starts_with("d.json is measured on `NVIDIA H100`, a.json measured on `NVIDIA T4`;"), "{error}");
        assert_eq!((origins.kernel(), origins.device()), (Some("fwd"), Some("NVIDIA T4")));
    }

    #[test]
    fn a_device_that_is_named_has_to_be_the_one_that_the_file_tells() {
        let named = |name: &str| Device::find_described(name).unwrap();
        for told in ["RTX 3090", "NVIDIA GeForce RTX 3090", "GeForce RTX 3090", "NVIDIA RTX 3090"] {
            assert_eq!(agree(&named("RTX 3090"), told).unwrap(), None);
            assert_eq!(described_device(told).unwrap().name, "RTX 3090");
        }
        let error = agree(&named("H100"), "NVIDIA GeForce RTX 3090").unwrap_err().to_string();
        assert!(error.contains("--device names H100; name RTX 3090"), "{error}");
        assert!(
            agree(&named("H100"), "NVIDIA Nothing")
                .unwrap()
                .is_some_and(|text| text.contains("booked as those of H100"))
        );
        assert!(described_device("NVIDIA Nothing").is_err() && described_device("kernels/devices.toml").is_err());
    }
}
