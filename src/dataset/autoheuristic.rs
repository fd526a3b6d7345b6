//! Measurements of PyTorch's AutoHeuristic: a line of JSON that says what was measured on what, then CSV with a row per config and run.
//!
//! The columns before `choice` are the problem, `choice` is a config of Triton's (`type=triton_BLOCK-M=64_…`) or a kernel of a vendor's
//! library (`extern_…`), `feedback` is milliseconds.

use super::{Dataset, FORMAT, Header, Invalidity, InvalidityKind, Measurement, Observed, Outcome, Record, today};
use crate::error::{Error, Result, input};
use crate::kernel::{Device, Kernel};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// First line of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Head {
    /// Bytes of shared memory that a work-group may ask for.
    shared_memory: f64,
    /// Compute capability.
    device_capa: (u32, u32),
    name: String,
}

/// What came of an import.
pub struct Imported {
    pub kernel: Kernel,
    pub dataset: Dataset,
    /// Rows read, and those that an earlier row repeats to the letter.
    pub rows: usize,
    pub repeated: usize,
    /// Configs that failed, and problems with a time of the vendor's library.
    pub failed: usize,
    pub references: usize,
    /// Rows of configs outside the kernel's space, by the reason.
    pub left_out: BTreeMap<String, usize>,
}

/// Everything measured for one problem.
#[derive(Default)]
struct Measured {
    /// Configs as the kernel writes them, in the order met, with milliseconds.
    configs: Vec<(String, Vec<f64>)>,
    library: Vec<f64>,
}

/// Reads files of one kernel, `(place, text)` each. `device`: the one that they were measured on, where the head does not tell it by its
/// limits.
pub fn import(files: &[(String, String)], device: Option<Device>, command: String) -> Result<Imported> {
    let mut heads: Vec<Head> = Vec::new();
    let mut seen = HashSet::new();
    let mut order: Vec<String> = Vec::new();
    let mut measured: HashMap<String, Measured> = HashMap::new();
    let (mut rows, mut repeated) = (0, 0);
    let mut columns_before: Option<String> = None;
    for (place, text) in files {
        let mut lines = text.lines();
        let head: Head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(|e| {
            Error::Input(format!(
                "{place}: is no file of AutoHeuristic: its first line is not the JSON it begins with ({e})"
            ))
        })?;
        if let Some(first) = heads.first()
            && *first != head
        {
            return input(format!("{place}: holds {} of another device or kernel than the files before", head.name));
        }
        heads.push(head);
        let columns = lines.next().unwrap_or_default();
        if !columns.ends_with(",choice,feedback") {
            return input(format!("{place}, line 2: the last columns are not choice and feedback"));
        }
        if columns_before.get_or_insert(columns.to_string()) != columns {
            return input(format!("{place}, line 2: the columns are not those of the files before"));
        }
        let fields: Vec<&str> = columns.split(',').collect();
        for (i, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            rows += 1;
            if !seen.insert(line) {
                repeated += 1;
                continue;
            }
            let at = || format!("{place}, line {}", i + 3);
            let cells: Vec<&str> = line.split(',').collect();
            let [problem @ .., choice, feedback] = &cells[..] else {
                return input(format!("{}: has too few columns", at()));
            };
            if cells.len() != fields.len() {
                return input(format!("{}: has {} columns, not {}", at(), cells.len(), fields.len()));
            }
            let milliseconds: f64 =
                feedback.parse().map_err(|_| Error::Input(format!("{}: `{feedback}` is no time", at())))?;
            let pair = |(field, value): (&&str, &&str)| format!("{field}={}", value.trim_start_matches("torch."));
            let problem = fields.iter().zip(problem).map(pair).collect::<Vec<_>>().join(",");
            let entry = measured.entry(problem.clone()).or_insert_with(|| {
                order.push(problem);
                Measured::default()
            });
            if choice.starts_with("extern_") {
                entry.library.push(milliseconds);
                continue;
            }
            let config = config(choice).ok_or_else(|| Error::Input(format!("{}: `{choice}` is no config", at())))?;
            match entry.configs.iter_mut().find(|(c, _)| *c == config) {
                Some((_, times)) => times.push(milliseconds),
                None => entry.configs.push((config, vec![milliseconds])),
            }
        }
    }
    let Some(head) = heads.into_iter().next() else { return input("there is no file to import") };
    let kernel = Kernel::find(&format!("triton_{}", head.name))?.ok_or_else(|| {
        Error::Input(format!("there is no kernel triton_{}: write a kernel.toml of its space", head.name))
    })?;
    let device = match device {
        Some(device) => device,
        None => device_of(&head)?,
    };
    let (mut records, mut failed, mut references) = (Vec::new(), 0, 0);
    let mut left_out = BTreeMap::new();
    for problem in &order {
        let Measured { configs, library } = &measured[problem];
        let problem = kernel.problem(problem)?;
        let space = crate::kernel::ConfigSpace::new(&kernel, &problem, &device);
        let library_us = least(library).map(|ms| (ms * 1e3) as f32);
        references += library_us.is_some() as usize;
        for (config, times) in configs {
            let config = kernel.config(config)?;
            let samples_us: Vec<f32> =
                times.iter().filter(|t| t.is_finite()).map(|milliseconds| (milliseconds * 1e3) as f32).collect();
            let outcome = match (samples_us.is_empty(), space.violation(&config)) {
                (_, Some(violation)) => {
                    // which values break the rule differs from row to row
                    let rule = violation.split("; ").next().unwrap_or_default().trim_end_matches(')').to_string() + ")";
                    *left_out.entry(rule).or_insert(0) += times.len();
                    continue;
                }
                (true, None) => {
                    failed += 1;
                    let detail = "recorded as taking for ever".to_string();
                    Outcome::Invalid(Invalidity { kind: InvalidityKind::Runtime, detail })
                }
                (false, None) => Outcome::Measured(Measurement { samples_us, energy: None }),
            };
            let observed = Observed { library_us, ..Observed::default() };
            let (problem, config) = (kernel.show_problem(&problem), kernel.show_config(&config));
            records.push(Record { problem, config, outcome, observed });
        }
    }
    let places: Vec<&str> = files.iter().map(|(place, _)| place.as_str()).collect();
    let header = Header {
        format: FORMAT.into(),
        kernel: kernel.name.clone(),
        space: kernel.space_hash(),
        device,
        tool: env!("CARGO_PKG_VERSION").into(),
        seed: 0,
        policy: format!("measured by PyTorch's AutoHeuristic, which says no more; {}", places.join(", ")),
        command,
        date: today(),
    };
    let dataset = Dataset { header, records };
    Ok(Imported { kernel, dataset, rows, repeated, failed, references, left_out })
}

/// `type=triton_BLOCK-M=16_BLOCK-K=-1_numwarps=2` as pairs; what is -1 is no parameter of the kernel.
fn config(choice: &str) -> Option<String> {
    let pairs = choice.strip_prefix("type=triton_")?.split('_').map(|pair| pair.split_once('='));
    let pairs: Vec<(&str, &str)> = pairs.collect::<Option<_>>()?;
    let own = pairs.into_iter().filter(|(_, value)| *value != "-1");
    Some(own.map(|(name, value)| format!("{}={value}", name.replace('-', "_"))).collect::<Vec<_>>().join(","))
}

/// The described device with the limits that a head tells.
fn device_of(head: &Head) -> Result<Device> {
    let architecture = format!("sm_{}{}", head.device_capa.0, head.device_capa.1);
    let fits = |d: &Device| d.architecture == architecture && d.limits.local_memory_opt_in == Some(head.shared_memory);
    let mut fitting: Vec<Device> = Device::shipped()?.into_iter().filter(fits).collect();
    match (fitting.pop(), fitting.is_empty()) {
        (Some(device), true) => Ok(device),
        (None, _) => input(format!(
            "no described device is {architecture} with {} bytes; name it with --device",
            head.shared_memory
        )),
        (Some(_), false) => {
            input(format!("several devices are {architecture}; say with --device which it was measured on"))
        }
    }
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|v| v.is_finite()).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"shared_memory": 166912, "device_capa": [8, 0], "name": "mm", "numerical_features": []}
m,k,n,mat1_dtype,mat2_dtype,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_iscontig,mat2_iscontig,using_tf32,choice,feedback
"#;
    const PROBLEM: &str = "64,32,48,torch.float16,torch.float16,32,1,48,1,True,True,not_float_32";

    fn read(rows: &[&str]) -> Result<Imported> {
        let rows: String = rows.iter().map(|row| format!("{PROBLEM},{row}\n")).collect();
        import(&[("a.txt".into(), format!("{HEAD}{rows}"))], None, "test".into())
    }

    #[test]
    fn rows_become_records_with_their_repeats_and_the_librarys_time_beside() {
        let config = "type=triton_BLOCK-M=16_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2";
        let other = "type=triton_BLOCK-M=64_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2";
        let big = "type=triton_BLOCK-M=128_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2";
        let rows = [
            "extern_mm,0.01".to_string(),
            format!("{config},0.02"),
            format!("{config},0.02"),
            format!("{config},0.03"),
            format!("{other},inf"),
            format!("{big},0.5"),
        ];
        let imported = read(&rows.each_ref().map(String::as_str)).unwrap();
        assert_eq!((imported.rows, imported.repeated, imported.failed, imported.references), (6, 1, 1, 1));
        assert_eq!(imported.left_out.values().sum::<usize>(), 1, "{:?}", imported.left_out);
        assert_eq!(imported.dataset.header.device.name, "A100");
        let records = &imported.dataset.records;
        assert_eq!(records.len(), 2);
        let Outcome::Measured(m) = &records[0].outcome else { panic!("{:?}", records[0]) };
        assert_eq!((m.samples_us.as_slice(), records[0].observed.library_us), (&[20.0, 30.0][..], Some(10.0)));
        assert!(records[0].config.starts_with("BLOCK_M=16,BLOCK_N=32,BLOCK_K=32,numstages=2,numwarps=2"));
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        let wrong = |text: &str| match import(&[("a.txt".into(), text.into())], None, "test".into()) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("{text} was imported"),
        };
        assert!(wrong("m,k\n1,2\n").contains("a.txt: is no file of AutoHeuristic"));
        assert!(wrong(&format!("{HEAD}1,2,3\n")).contains("a.txt, line 3: has 3 columns, not 14"));
        let row = |tail: &str| format!("{HEAD}{PROBLEM},{tail}\n");
        assert!(wrong(&row("extern_mm,soon")).contains("`soon` is no time"));
        assert!(wrong(&row("whatever,0.1")).contains("`whatever` is no config"));
        assert!(wrong(&HEAD.replace("[8, 0]", "[5, 0]")).contains("no described device is sm_50"));
        assert!(wrong(&HEAD.replace("\"mm\"", "\"pad_mm\"")).contains("no kernel triton_pad_mm"));
    }
}
