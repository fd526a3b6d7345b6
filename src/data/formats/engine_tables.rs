//! Tables of tuned Triton configs as vLLM and SGLang keep them: a file for a shape, a data type and a GPU, whose name tells these, with a row
//! for each number of tokens. An engine takes the row whose number is nearest.
//!
//! Sources of the form: `get_config_file_name` and `get_moe_configs` of `fused_moe.py` in vLLM 0.33.0 and of `fused_moe_triton_config.py`
//! in SGLang 0.5.9; `get_w8a8_block_fp8_configs` of `fp8_utils.py` and `get_ssm_configs` of `mamba_ssm.py` in vLLM 0.33.0.

use crate::bad_rows::{BadRows, Twice};
use crate::dataset::{Dataset, Header};
use crate::formats::opened::OpenedText;
use crate::formats::origins::described_device;
use crate::formats::shape_lists::NamedField;
use crate::formats::values::{self, NamedValue};
use crate::recipe::Provenance;
use crate::record::{Outcome, Record, Tuned};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// The field whose values are the rows of a table.
pub const ROW: &str = "M";

/// Fields that stand behind the GPU in a name.
const BEHIND: [&str; 5] = ["cache_dtype", "dtype", "block_n", "block_k", "per_channel_quant"];

/// An engine, by how it writes names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// vLLM, and Hugging Face's `kernels`, which takes its layout.
    Vllm,
    /// SGLang: a list in a name has a blank behind its comma.
    Sglang,
}

/// What the name of a table tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// Fields of the kernel, in the order of the name.
    pub fields: Vec<NamedField>,
    /// The GPU as the engine calls it, with `_` for blanks.
    pub device: String,
}

impl TableName {
    /// Reads a name such as `E=8,N=14336,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json`, in either engine's form.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow the name.
    pub fn read(name: &str) -> std::result::Result<TableName, String> {
        let stem = name.strip_suffix(".json").ok_or("does not end in .json")?;
        let (mut fields, mut device) = (Vec::new(), None);
        let mut add =
            |name: &str, value: &str| fields.push(NamedField { name: name.into(), value: value.trim().into() });
        for part in parts(stem) {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("has the part `{}`", quote(part)))?;
            if value.ends_with("_down") {
                return Err("is of the second product alone".into());
            }
            match key {
                "device_name" => device = Some(value.to_string()),
                "block_shape" => {
                    let sizes =
                        value.strip_prefix('[').and_then(|v| v.strip_suffix(']')).and_then(|v| v.split_once(','));
                    let (n, k) = sizes.ok_or_else(|| format!("has the block `{}`, not [N,K]", quote(value)))?;
                    add("block_n", n);
                    add("block_k", k);
                }
                _ => add(key, value),
            }
        }
        let device = device.filter(|name| is_device_name(name)).ok_or("names no device")?;
        Ok(TableName { fields, device })
    }

    /// The name as an engine looks for it.
    pub fn write(&self, engine: Engine) -> String {
        let value = |name: &str| self.fields.iter().find(|field| field.name == name).map(|field| field.value.as_str());
        let is_behind = |name: &str| BEHIND.contains(&name);
        let shape = self.fields.iter().filter(|field| !is_behind(&field.name));
        let shape = shape.map(|NamedField { name, value }| format!("{name}={value}"));
        let mut text = shape.collect::<Vec<_>>().join(",") + &format!(",device_name={}", self.device);
        if let Some(dtype) = value("cache_dtype") {
            text += &format!(",cache_dtype={dtype}");
        }
        if let Some(dtype) = value("dtype").filter(|dtype| *dtype != "auto") {
            text += &format!(",dtype={dtype}");
        }
        if let (Some(n), Some(k)) = (value("block_n").filter(|n| *n != "0"), value("block_k").filter(|k| *k != "0")) {
            let blank = if engine == Engine::Sglang { " " } else { "" };
            text += &format!(",block_shape=[{n},{blank}{k}]");
        }
        if value("per_channel_quant") == Some("True") {
            text += ",per_channel_quant=True";
        }
        text + ".json"
    }

    /// The problem of a row.
    ///
    /// # Errors
    /// [`Error::Problem`] where the kernel has not these fields, or other values of them.
    pub fn problem(&self, kernel: &Kernel, row: u64) -> Result<seqtune_kernel::Problem> {
        let mut pairs: Map<String, Value> =
            self.fields.iter().map(|field| (field.name.clone(), Value::String(field.value.clone()))).collect();
        pairs.insert(ROW.into(), Value::String(row.to_string()));
        kernel.problem(&Value::Object(pairs).to_string())
    }
}

/// Whether a text may be a GPU's name within a file's name: it leads to no other folder.
pub fn is_device_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ',']) && !name.contains(char::is_control)
}

/// The parts of a name, between commas outside of brackets.
fn parts(stem: &str) -> Vec<&str> {
    let (mut found, mut begin, mut open) = (Vec::new(), 0, 0i32);
    for (at, c) in stem.char_indices() {
        match c {
            '[' => open += 1,
            ']' => open -= 1,
            ',' if open == 0 => {
                found.push(&stem[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&stem[begin..]);
    found
}

/// The name of a table within a line, such as that of a log which says that it is missing; `None` of a line without one.
pub fn name_in(line: &str) -> Option<&str> {
    let device = line.find("device_name=")?;
    let begin = line[..device].rfind(['/', '\\', '\'', '"', '`', '(', ' ', '\t']).map_or(0, |at| at + 1);
    let end = device + line[device..].find(".json")? + ".json".len();
    Some(&line[begin..end])
}

/// Result of an import.
#[derive(Default)]
pub struct ImportedTables {
    /// By the device's name.
    pub datasets: BTreeMap<String, Dataset>,
    /// Rows of all tables.
    pub rows: usize,
    /// Rows of a problem that an earlier table has, with the same config and with another one.
    pub twice: Twice,
    /// Rows with configs outside the kernel's space, by violated rule, and of devices that are not described.
    pub left_out: BTreeMap<String, usize>,
    /// Rows that cannot be read, or whose problem or config is none of the kernel's.
    pub bad: BadRows,
}

/// Imports tables of one kernel. `named` is the device of all of them; without it each is of the one that its name tells.
///
/// # Errors
/// [`Error::Input`] where the kernel has no field [`ROW`].
pub fn import(kernel: &Kernel, files: &[OpenedText], named: Option<&Device>, command: &str) -> Result<ImportedTables> {
    if !kernel.fields.iter().any(|field| field.name == ROW) {
        return input(format!("kernel {} has no field {ROW}, which is a table's row", kernel.name));
    }
    let mut found = ImportedTables::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    for OpenedText { place, text } in files {
        let rows = match rows_of(place, text) {
            Ok(rows) => rows,
            Err(reason) => {
                found.rows += 1;
                found.bad.add(&reason, place);
                continue;
            }
        };
        found.rows += rows.configs.len();
        let device = match named.cloned().map_or_else(|| described_device(&rows.name.device.replace('_', " ")), Ok) {
            Ok(device) => device,
            Err(_) => {
                let reason = format!("no described device is called {}", quote(&rows.name.device));
                *found.left_out.entry(reason).or_insert(0) += rows.configs.len();
                continue;
            }
        };
        for (number, config) in &rows.configs {
            let place = format!("{place}, row {number}");
            add(kernel, &device, &TableRow { name: &rows.name, number, config, place }, &mut known, &mut found);
        }
    }
    let places: Vec<String> = files.iter().map(|file| file.place.clone()).collect();
    for dataset in found.datasets.values_mut() {
        let tool = "tuned tables of vLLM or SGLang".into();
        dataset.header.provenance = Provenance::Imported { tool, files: places.clone() };
        dataset.header.command = command.into();
    }
    Ok(found)
}

/// A table as its file has it.
struct TableFile {
    name: TableName,
    /// Configs by their rows.
    configs: Map<String, Value>,
}

fn rows_of(place: &str, text: &str) -> std::result::Result<TableFile, String> {
    let file = place.rsplit(['/', '\\']).next().unwrap_or(place);
    let name = TableName::read(file).map_err(|e| format!("the file's name {e}"))?;
    let mut configs: Map<String, Value> = serde_json::from_str(text).map_err(|_| "is no object of JSON".to_string())?;
    // vLLM writes there which Triton it tuned
    configs.remove("triton_version");
    if configs.is_empty() { Err("has no row".into()) } else { Ok(TableFile { name, configs }) }
}

/// A row of a table.
struct TableRow<'a> {
    name: &'a TableName,
    number: &'a str,
    config: &'a Value,
    place: String,
}

/// Adds a row.
fn add(
    kernel: &Kernel,
    device: &Device,
    row: &TableRow,
    known: &mut HashMap<String, usize>,
    found: &mut ImportedTables,
) {
    let TableRow { name, number, config, place } = row;
    let read = || {
        let row = number.parse::<u64>().map_err(|_| Error::Input("its number is none".into()))?;
        Ok((name.problem(kernel, row)?, config_of(kernel, config)?))
    };
    let (problem, config) = match read() {
        Ok(read) => read,
        Err(e) => return found.bad.add(&Error::to_string(&e), place),
    };
    if let Some(rule) = ConfigSpace::new(kernel, &problem, device).broken(&config) {
        *found.left_out.entry(rule.to_string()).or_insert(0) += 1;
        return;
    }
    let record = Record {
        problem: kernel.show_problem(&problem).into(),
        config: kernel.show_config(&config).into(),
        outcome: Outcome::Tuned(Tuned { time_us: None }),
        observed: Default::default(),
    };
    let dataset = found.datasets.entry(device.name.clone()).or_insert_with(|| {
        let provenance = Provenance::Imported { tool: String::new(), files: Vec::new() };
        Dataset { header: Header::new(kernel, device, 0, provenance, String::new()), records: Vec::new() }
    });
    let key = format!("{} {}", device.name, record.problem);
    match known.get(&key) {
        Some(at) if dataset.records[*at].config == record.config => found.twice.same += 1,
        Some(_) => found.twice.again += 1,
        None => {
            known.insert(key, dataset.records.len());
            dataset.records.push(record);
        }
    }
}

/// A config of a table. What it does not name is 0 where the kernel has that value; what the kernel lacks may only leave things as they are.
fn config_of(kernel: &Kernel, config: &Value) -> Result<Config> {
    let Some(pairs) = config.as_object() else { return input("its config is no object") };
    let has = |name: &str| kernel.parameters.iter().any(|parameter| parameter.name == name);
    let is_usual = |name: &str, value: &Value| match name {
        "num_ctas" => value.as_u64() == Some(1),
        _ => value.is_null() || value.as_bool() == Some(false),
    };
    if let Some((name, value)) = pairs.iter().find(|(name, value)| !has(name) && !is_usual(name, value)) {
        return input(format!(
            "{} is `{}`, and the kernel has no parameter for it",
            quote(name),
            quote(&value.to_string())
        ));
    }
    let none = Value::from(0);
    let unset = kernel.parameters.iter().filter(|p| !pairs.contains_key(&p.name) && p.values.contains(&0));
    let own = pairs.iter().filter(|(name, _)| has(name)).map(|(name, value)| NamedValue { name, value });
    values::config(kernel, own.chain(unset.map(|p| NamedValue { name: &p.name, value: &none })))
}

/// The text of a table, its rows in rising order. A parameter of 0 is left out: the compiler decides.
pub fn write(kernel: &Kernel, rows: &BTreeMap<u64, Config>) -> String {
    let row = |(row, config): (&u64, &Config)| {
        let values = kernel.parameters.iter().zip(&config.0).map(|(p, choice)| (&p.name, p.values[*choice as usize]));
        let lines: Vec<String> = values
            .filter(|(_, value)| *value != 0)
            .map(|(name, value)| format!("        \"{name}\": {value}"))
            .collect();
        format!("    \"{row}\": {{\n{}\n    }}", lines.join(",\n"))
    };
    format!("{{\n{}\n}}\n", rows.iter().map(row).collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = [
        "headdim=64,dstate=128,device_name=NVIDIA_H200,cache_dtype=float32.json",
        "E=8,N=14336,device_name=NVIDIA_H100_80GB_HBM3.json",
        "E=16,N=1536,device_name=NVIDIA_L40S,dtype=fp8_w8a8,block_shape=[128,128].json",
        "N=4096,K=1024,device_name=NVIDIA_L40S,dtype=fp8_w8a8,block_shape=[64,128].json",
        "E=64,N=512,device_name=AMD_Instinct_MI300X,dtype=int8_w8a8,per_channel_quant=True.json",
    ];

    #[test]
    fn names_are_read_in_both_forms_and_written_as_each_engine_looks_for_them() {
        for name in NAMES {
            let blank = name.replace("8,128]", "8, 128]").replace("4,128]", "4, 128]");
            let read = TableName::read(name).unwrap();
            assert_eq!(TableName::read(&blank).unwrap(), read);
            assert_eq!((read.write(Engine::Vllm), read.write(Engine::Sglang)), (name.to_string(), blank));
        }
        for (name, why) in [
            ("E=8,N=4.json", "names no device"),
            ("E=8,N=4,device_name=a/../b.json", "names no device"),
            ("E=8,N=4,device_name=X", "does not end in .json"),
            ("E=8,device_name=X,block_shape=[1].json", "has the block"),
            ("E=8,device_name=X,fast.json", "has the part `fast`"),
            ("E=8,N=4,device_name=X,dtype=fp8_w8a8_down.json", "second product"),
        ] {
            assert!(TableName::read(name).unwrap_err().contains(why), "{name}");
        }
    }

    #[test]
    fn a_line_of_a_log_tells_the_name_that_is_missing_wherever_it_stands() {
        for before in [
            "",
            "WARNING 09-24 20:53:33 [x.py:1] Config file not found at /a b/configs/",
            "at ['/srv/configs/",
            "not found at ",
        ] {
            let name = "E=16,N=1536,device_name=NVIDIA_L40S,dtype=fp8_w8a8,block_shape=[128, 128].json";
            assert_eq!(name_in(&format!("{before}{name}'], you can create them")), Some(name), "{before}");
        }
        assert_eq!(name_in("INFO Using MoE kernel config"), None);
        assert_eq!(name_in("device_name=NVIDIA_L40S"), None);
    }

    fn table(rows: &str) -> OpenedText {
        OpenedText { place: "t/E=8,N=128,device_name=NVIDIA_H100_80GB_HBM3.json".into(), text: rows.into() }
    }

    const ROW_OF_ONE: &str = r#""BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1, "num_warps": 4, "num_stages": 3"#;

    #[test]
    fn rows_become_tuned_configs_and_what_cannot_be_is_counted() {
        let kernel = Kernel::open("fused_moe").unwrap();
        let text = format!(
            r#"{{"triton_version": "3.4.0", "1": {{{ROW_OF_ONE}, "num_ctas": 1, "USE_TMA": false}}, "2": {{{ROW_OF_ONE}, "kpack": 1}},
            "4": {{{ROW_OF_ONE}, "USE_TMA": true}}, "x": {{{ROW_OF_ONE}}}, "8": 3}}"#
        );
        let unknown = OpenedText { place: "E=8,N=128,device_name=ACME_9.json".into(), text: text.clone() };
        let cut = OpenedText { place: "E=8,N=256,device_name=NVIDIA_H200.json".into(), text: "{".into() };
        let files = [table(&text), table(&text), unknown, cut];
        let found = import(&kernel, &files, None, "").unwrap();
        let records: Vec<String> =
            found.datasets["H100"].records.iter().map(|r| format!("{} {}", r.problem, r.config)).collect();
        assert_eq!(records.len(), 1, "{records:?}");
        assert!(
            records[0].starts_with("E=8,N=128,M=1,dtype=auto") && records[0].contains("num_stages=3,waves_per_eu=0")
        );
        assert_eq!((found.rows, found.twice), (16, Twice { same: 1, again: 0 }));
        // an option of AMD's compiler on an NVIDIA GPU
        assert_eq!(found.left_out.values().sum::<usize>(), 2 + 5, "{:?}", found.left_out);
        assert_eq!(found.bad.rows(), 2 * 3 + 1, "{:?}", found.bad);
    }

    #[test]
    fn a_table_is_written_in_the_order_of_its_rows_and_read_back_as_it_was() {
        let kernel = Kernel::open("fused_moe").unwrap();
        let config = |warps: &str| {
            let text = format!("{{{}}}", ROW_OF_ONE.replace("\"num_warps\": 4", &format!("\"num_warps\": {warps}")));
            config_of(&kernel, &serde_json::from_str(&text).unwrap()).unwrap()
        };
        let text = write(&kernel, &BTreeMap::from([(1024, config("8")), (2, config("4"))]));
        assert!(
            text.starts_with("{\n    \"2\": {\n        \"BLOCK_SIZE_M\": 16,") && !text.contains("kpack"),
            "{text}"
        );
        let found = import(&kernel, &[table(&text)], None, "").unwrap();
        let records = &found.datasets["H100"].records;
        let of_row = |row: &str| records.iter().find(|record| record.problem.contains(row)).unwrap().config.to_string();
        for (row, warps) in [("M=2,", "4"), ("M=1024,", "8")] {
            assert_eq!(of_row(row), kernel.show_config(&config(warps)));
        }
    }
}
