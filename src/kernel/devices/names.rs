//! Devices by the names that people give them: `RTX4090`, `nvidia geforce rtx 4090` and `RTX 4090` are one.

/// Words of makers and of their series, which names begin with or lack.
const MAKERS: [&str; 8] = ["nvidia", "amd", "intel", "ati", "geforce", "radeon", "tesla", "instinct"];

/// A name without case, spaces, signs and the maker's words before it; empty of a maker alone.
fn key(name: &str) -> String {
    let plain = name.to_lowercase().replace("(r)", "").replace("(tm)", "");
    let plain: String = plain.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut rest = plain.as_str();
    while let Some(behind) = MAKERS.iter().find_map(|maker| rest.strip_prefix(maker)) {
        rest = behind;
    }
    rest.into()
}

/// What a device of these names is called besides as they stand. PoCL puts the instructions before a processor's name
/// (`pthread-haswell-AMD EPYC`), which may be left out.
pub(crate) fn keys<'n>(names: impl IntoIterator<Item = &'n str>, is_cpu: bool) -> Vec<String> {
    let parts = |name: &'n str| name.match_indices('-').filter(move |_| is_cpu).map(|(at, _)| key(&name[at + 1..]));
    names.into_iter().flat_map(|name| std::iter::once(key(name)).chain(parts(name))).collect()
}

/// Whether a device of these keys is the one that somebody calls `name`.
pub(crate) fn is_so_called(name: &str, keys: &[String]) -> bool {
    let wanted = key(name);
    !wanted.is_empty() && keys.contains(&wanted)
}

/// Whether a device of these keys may have been meant by `name`: it is a part of theirs, or theirs of it.
pub(crate) fn is_near(name: &str, keys: &[String]) -> bool {
    let wanted = key(name);
    keys.iter().any(|known| {
        let (short, long) = if known.len() < wanted.len() { (known, &wanted) } else { (&wanted, known) };
        // one sign is a part of nearly all
        short.len() > 1 && long.contains(short.as_str())
    })
}

/// Names in a sentence: `A, B and C`.
pub fn list_names<'n>(names: impl IntoIterator<Item = &'n str>, word: &str) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match &names[..] {
        [] => "none".into(),
        [only] => (*only).to_string(),
        [before @ .., last] => format!("{} {word} {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::list_names;
    use crate::{Device, Limits};

    fn name_of(name: &str) -> String {
        Device::find_described(name).map_or_else(|e| e.to_string(), |device| device.name)
    }

    #[test]
    fn a_device_is_found_without_spaces_and_with_its_makers_words_in_any_case() {
        for (name, found) in [
            ("RTX4090", "RTX 4090"),
            ("rtx-4090", "RTX 4090"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("geforcertx3090", "RTX 3090"),
            ("nvidia h200", "H200"),
            ("NVIDIA A100-SXM4-40GB", "A100"),
            ("nvidia_h100_80gb_hbm3", "H100"),
            ("Tesla V100", "V100"),
            ("tesla t4", "T4"),
            ("amd instinct mi300x", "MI300X"),
            ("Radeon Instinct MI50", "MI50"),
            ("RX7900XTX", "RX 7900 XTX"),
            ("Radeon RX Vega 56", "RX Vega 56"),
            ("GFX906_60", "MI50"),
            ("GTX TITAN X", "GTX Titan X"),
        ] {
            assert_eq!(name_of(name), found, "{name}");
        }
    }

    #[test]
    fn a_part_of_a_name_is_no_name_and_those_that_it_may_be_meant_for_are_told() {
        for (name, near) in [
            ("4090", "did you mean RTX 4090?"),
            ("RTX 4090 Laptop GPU", "did you mean RTX 4090?"),
            ("vega", "did you mean RX Vega 56 or RX Vega 64?"),
            ("MI250", "did you mean MI250X?"),
            ("A100-SXM4-80GB", "did you mean A100?"),
        ] {
            let told = name_of(name);
            assert!(told.starts_with(&format!("no device `{name}`: {near}")), "{told}");
        }
        for name in ["NVIDIA", "amd", "x", "RTX 5090"] {
            assert!(name_of(name).starts_with(&format!("no device `{name}`: use `live`")), "{}", name_of(name));
        }
    }

    #[test]
    fn a_processor_is_found_without_what_pocl_puts_before_it_and_not_where_two_are_called_so() {
        let cpu = |name: &str| Device {
            name: name.into(),
            aliases: Vec::new(),
            limits: Limits { is_cpu: Some(1.0), ..Limits::default() },
            ..Device::find_described("H200").unwrap()
        };
        let known = [
            cpu("pthread-skylake-avx512-AMD EPYC"),
            cpu("pthread-skylake-avx512-Intel(R) Xeon(R) Processor @ 2.50GHz"),
            cpu("pthread-skylake-avx512-Intel(R) Xeon(R) Processor"),
        ];
        let found = |name: &str| Device::find_called(name, &known).unwrap().map(|device| device.name.as_str());
        assert_eq!(found("epyc"), Some(known[0].name.as_str()));
        assert_eq!(found("AMD EPYC"), Some(known[0].name.as_str()));
        assert_eq!(found("Intel Xeon Processor @ 2.50GHz"), Some(known[1].name.as_str()));
        assert_eq!(found("xeon processor"), Some(known[2].name.as_str()));
        assert_eq!((found("xeon"), found("skylake"), found("")), (None, None, None));
        let two = [cpu("pthread-haswell-AMD EPYC"), known[0].clone()];
        let error = Device::find_called("EPYC", &two).unwrap_err().to_string();
        let both = "device `EPYC` may be pthread-haswell-AMD EPYC or pthread-skylake-avx512-AMD EPYC: name one of them";
        assert_eq!(error, both);
        // as it stands it is told apart
        assert_eq!(Device::find_called("pthread-haswell-AMD EPYC", &two).unwrap(), Some(&two[0]));
    }

    #[test]
    fn no_two_shipped_descriptions_are_called_alike() {
        let devices = Device::all_shipped().unwrap();
        let mut all: Vec<String> = Vec::new();
        for device in &devices {
            let mut own = device.keys();
            own.sort();
            own.dedup();
            all.extend(own);
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count, "{all:?}");
    }

    #[test]
    fn names_are_listed_as_in_a_sentence() {
        assert_eq!(list_names([], "and"), "none");
        assert_eq!(list_names(["A"], "and"), "A");
        assert_eq!(list_names(["A", "B", "C"], "and"), "A, B and C");
    }
}
