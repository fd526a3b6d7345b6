//! AITER's tables of tuned products: comma-separated values, in which a row names the compiled kernel for a shape on GPUs with so many compute
//! units. Kernels are numbered anew in each release.
//!
//! Source of the form: `aiter/ops/gemm_op_a8w8.py`, `aiter_meta/csrc/ck_gemm_a8w8_blockscale/gen_instances.py` and the tables of
//! `aiter/configs` in amd-aiter 0.1.7.post2.dev18.

mod import;

pub use import::{ImportedGemms, import};

use crate::formats::opened::OpenedText;
use crate::formats::shape_lists::NamedField;
use crate::formats::triton_config::field_text;
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Choice, Config, Device, Instances, Kernel, Problem};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Columns that a table must have.
const NEEDED: [&str; 3] = ["cu_num", "kernelId", "kernelName"];

/// Columns that are no part of a shape.
const OTHERS: [&str; 11] =
    ["cu_num", "gfx", "kernelId", "kernelName", "splitK", "us", "tflops", "bw", "errRatio", "err_ratio", "libtype"];

/// The parameter that is a column: into how many parts the sum is split.
const SPLIT: &str = "splitK";

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct GemmTable {
    /// Path of its file.
    pub place: String,
    text: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row of a table.
#[derive(Clone, Copy)]
struct GemmRow<'t> {
    table: &'t GemmTable,
    cells: &'t [String],
}

impl<'t> GemmRow<'t> {
    fn cell(self, column: &str) -> Option<&'t str> {
        let at = self.table.columns.iter().position(|name| name == column)?;
        self.cells.get(at).map(String::as_str)
    }

    /// Whether it is for a device, by its compute units and, where the table has that column, its architecture.
    fn is_of(self, device: &Device) -> bool {
        let units = self.cell("cu_num").and_then(|cell| cell.parse::<f64>().ok());
        units.is_some()
            && units == device.limits.compute_units
            && self.cell("gfx").is_none_or(|own| own == device.architecture)
    }

    /// Its fields of the kernel.
    fn fields(self) -> Vec<NamedField> {
        let shape = self.table.columns.iter().zip(self.cells).filter(|(name, _)| !OTHERS.contains(&name.as_str()));
        shape.map(|(name, value)| NamedField { name: name.clone(), value: value.clone() }).collect()
    }
}

/// A kernel that a table names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedKernel {
    /// AITER's name.
    pub name: String,
    /// Its number in this release.
    pub id: String,
}

/// A row to write.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRow<'a> {
    /// The shape.
    pub problem: &'a Problem,
    /// Which kernel, and into how many parts it splits the sum.
    pub config: &'a Config,
    /// Predicted time in microseconds, 0 if unknown.
    pub us: f64,
}

impl GemmTable {
    /// Reads a table.
    ///
    /// # Errors
    /// [`Error::Input`] where it is no table of comma-separated values, or lacks a column.
    pub fn read(file: &OpenedText) -> Result<GemmTable> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file.text.as_bytes());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|e| Error::Input(format!("{}: is no table: {e}", file.place)))?;
            rows.push(row.iter().map(|cell| cell.trim().to_string()).collect());
        }
        let columns = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        match NEEDED.iter().find(|name| !columns.iter().any(|own| own == *name)) {
            Some(lacking) => input(format!("{}: is no tuned table of AITER: it has no column {lacking}", file.place)),
            None => Ok(GemmTable { place: file.place.clone(), text: file.text.clone(), columns, rows }),
        }
    }

    /// Name of its file.
    pub fn file_name(&self) -> &str {
        self.place.rsplit(['/', '\\']).next().unwrap_or(&self.place)
    }

    fn rows(&self) -> impl Iterator<Item = GemmRow<'_>> {
        self.rows.iter().map(|cells| GemmRow { table: self, cells })
    }

    /// Refuses a table with a row of another number of cells than its head, such as one that is cut off.
    ///
    /// # Errors
    /// [`Error::Input`] with the row.
    pub fn check_rows(&self) -> Result<()> {
        match self.rows.iter().position(|row| row.len() != self.columns.len()) {
            Some(at) => input(format!(
                "{}: row {} has {} cells, and there are {} columns",
                self.place,
                at + 1,
                self.rows[at].len(),
                self.columns.len()
            )),
            None => Ok(()),
        }
    }

    /// Adds the rows of another table, but those of shapes that it has for the same GPUs.
    ///
    /// # Errors
    /// [`Error::Input`] where the other one has other columns.
    pub fn add_table(&mut self, other: &GemmTable) -> Result<()> {
        if other.columns != self.columns {
            return input(format!("{}: has other columns than {}", other.place, self.place));
        }
        let key = |row: &[String]| {
            let told = self.columns.iter().zip(row);
            let own =
                told.filter(|(name, _)| ["cu_num", "gfx"].contains(&name.as_str()) || !OTHERS.contains(&name.as_str()));
            own.map(|(_, cell)| cell.clone()).collect::<Vec<String>>()
        };
        let mut known: HashSet<Vec<String>> = self.rows.iter().map(|row| key(row)).collect();
        let new: Vec<Vec<String>> = other.rows.iter().filter(|row| known.insert(key(row))).cloned().collect();
        if !new.is_empty() {
            self.text = format!("{}\n{}", self.text.trim_end(), lines(&new)?);
        }
        self.rows.extend(new);
        Ok(())
    }

    /// Kernels that it names, each once; of several numbers that of a row for the device.
    pub fn kernels(&self, device: &Device) -> Vec<NamedKernel> {
        let (own, others): (Vec<GemmRow>, Vec<GemmRow>) = self.rows().partition(|row| row.is_of(device));
        let mut found: Vec<NamedKernel> = Vec::new();
        for row in own.into_iter().chain(others) {
            let Some((name, id)) = row.cell("kernelName").zip(row.cell("kernelId")) else { continue };
            if !found.iter().any(|kernel| kernel.name == name) {
                found.push(NamedKernel { name: name.into(), id: id.into() });
            }
        }
        found
    }

    /// Shapes that it has rows for on a device, as problems.
    pub fn problems(&self, kernel: &Kernel, device: &Device) -> Vec<Problem> {
        self.rows().filter(|row| row.is_of(device)).filter_map(|row| problem(kernel, &row.fields()).ok()).collect()
    }

    /// Its text with rows for a device behind it.
    ///
    /// # Errors
    /// [`Error::Input`] where a config is none of the kernels that the table names; [`Error::Failed`] where it cannot be written.
    pub fn with_rows(&self, kernel: &Kernel, device: &Device, rows: &[NewRow]) -> Result<String> {
        let ids: HashMap<String, String> = self.kernels(device).into_iter().map(|own| (own.name, own.id)).collect();
        let mut added: Vec<Vec<String>> = Vec::new();
        for row in rows {
            let name = instances(kernel)?.name_of(row.config).unwrap_or_default();
            let Some(id) = ids.get(name) else {
                return input(format!("{}: names no kernel {}", self.place, quote(name)));
            };
            let cells = self.columns.iter().map(|column| match column.as_str() {
                "cu_num" => device.limits.compute_units.unwrap_or_default().to_string(),
                "gfx" => device.architecture.clone(),
                "kernelId" => id.clone(),
                "kernelName" => name.to_string(),
                "us" => format!("{:.4}", row.us),
                SPLIT => kernel.value(row.config, SPLIT).unwrap_or(0).to_string(),
                other => self.cell_of(kernel, row.problem, other),
            });
            added.push(cells.collect());
        }
        Ok(format!("{}\n{}", self.text.trim_end(), lines(&added)?))
    }

    /// The cell of a column that a field is, written as the table writes it; 0 of one that is none.
    fn cell_of(&self, kernel: &Kernel, problem: &Problem, column: &str) -> String {
        let Some(at) = kernel.fields.iter().position(|field| field.name == column) else { return "0".into() };
        let field = &kernel.fields[at];
        let shown = field.show(problem.values[at]);
        let is_same = |cell: &&str| field_text(field, &Value::String(cell.to_string())) == shown;
        let written = self.rows().filter_map(|row| row.cell(column)).find(|cell| is_same(cell));
        written.map_or(shown.clone(), String::from)
    }
}

/// Rows as lines of comma-separated values.
fn lines(rows: &[Vec<String>]) -> Result<String> {
    let failed = |e: &dyn std::fmt::Display| Error::Failed(format!("writing a table: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The compiled kernels of a kernel's description.
///
/// # Errors
/// [`Error::Input`] where it names none.
pub fn instances(kernel: &Kernel) -> Result<&Instances> {
    let named = kernel.instances.as_ref().filter(|own| own.are_named());
    named.ok_or_else(|| {
        Error::Input(format!("kernel {} names no instances, which AITER's tables call by name", kernel.name))
    })
}

/// The configs of a compiled kernel by its name, one for each number of parts that the sum may be split into; none of an unknown name.
///
/// # Errors
/// [`Error::Input`] where the kernel has other parameters.
pub fn configs_of(kernel: &Kernel, name: &str) -> Result<Vec<Config>> {
    let Some(stated) = instances(kernel)?.choices_of(name) else { return Ok(Vec::new()) };
    let mut choices: Vec<Option<Choice>> = vec![None; kernel.parameters.len()];
    stated.for_each(|own| choices[own.parameter] = Some(own.choice));
    let mut found = vec![Vec::new()];
    for (own, stated) in kernel.parameters.iter().zip(choices) {
        let open: Vec<Choice> = match stated {
            Some(choice) => vec![choice],
            None if own.name == SPLIT => (0..own.values.len() as Choice).collect(),
            None => {
                return input(format!(
                    "parameter {} of kernel {} is no column of AITER's tables",
                    own.name, kernel.name
                ));
            }
        };
        found =
            found.iter().flat_map(|before| open.iter().map(move |choice| [&before[..], &[*choice]].concat())).collect();
    }
    Ok(found.into_iter().map(Config).collect())
}

/// The problem of a shape.
///
/// # Errors
/// [`Error::Problem`] where the kernel has not these fields, or other values of them.
pub fn problem(kernel: &Kernel, shape: &[NamedField]) -> Result<Problem> {
    let text = |own: &NamedField| {
        let value = Value::String(own.value.clone());
        let field = kernel.fields.iter().find(|field| field.name == own.name);
        (own.name.clone(), field.map_or(value.clone(), |field| field_text(field, &value).into()))
    };
    let pairs: Map<String, Value> = shape.iter().filter(|own| !OTHERS.contains(&own.name.as_str())).map(text).collect();
    kernel.problem(&Value::Object(pairs).to_string())
}

/// A shape that a log says is in no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingShape {
    /// The shape.
    pub fields: Vec<NamedField>,
    /// Name of the table's file, or what the line calls the table.
    pub table: String,
}

/// The shape that a line of a log says is missing, such as `shape is M:1, N:2112, K:7168, not found tuned config in …/x.csv, will use …`.
pub fn missing_in(line: &str) -> Option<MissingShape> {
    let (before, behind) = line.split_once("not found tuned config in ")?;
    let (_, shape) = before.rsplit_once("shape ")?;
    let pairs = shape.trim_start_matches("is ").split(',').filter_map(|part| part.split_once(':'));
    let fields: Vec<NamedField> = pairs.map(|(name, value)| NamedField::new(name, value)).collect();
    let path = behind.split(", will").next().unwrap_or(behind).trim().trim_end_matches('!');
    let table = path.rsplit(['/', '\\']).next().unwrap_or(path).to_string();
    (!fields.is_empty()).then_some(MissingShape { fields, table })
}

#[cfg(test)]
mod tests;
