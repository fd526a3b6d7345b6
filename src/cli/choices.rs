//! Choices in the form that the end of a file's name says: source code, or a table.

use seqtune_choose::dispatch::{Dispatch, MARK};
use seqtune_choose::losses::speed_lost;
use seqtune_data::formats::names;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::{Config, Kernel, Problem};
use seqtune_predict::Model;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Refuses a model that knows no losses.
///
/// # Errors
/// `Error::Input` of a model that learned tuned configs alone.
pub fn check_losses(model: &Model) -> Result<()> {
    match model.meta.device_calibration.is_of_tuned() {
        true => input("the model learned tuned configs alone, so that it does not know what other configs lose"),
        false => Ok(()),
    }
}

/// Columns of losses, whose names a field or a parameter does not take.
const LOSSES: [&str; 2] = ["loss_percent", "loss_percent_of_95"];

/// Forms of a file of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Cpp,
    Rust,
    Python,
    Csv,
    Json,
}

impl Form {
    /// The form that the end of a file's name says.
    ///
    /// # Errors
    /// `Error::Input` for other ends.
    pub fn from_name(output: &Path) -> Result<Form> {
        let ending = output.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "h" | "hh" | "hpp" | "hxx" => Ok(Form::Cpp),
            "rs" => Ok(Form::Rust),
            "py" => Ok(Form::Python),
            "csv" => Ok(Form::Csv),
            "json" => Ok(Form::Json),
            _ => input(format!(
                "{}: the end of the name says the form: .hpp or .h (C++), .rs (Rust), .py (Python), .csv, .json",
                output.display()
            )),
        }
    }

    /// The source code of a dispatch; `None` of a table.
    pub fn code(self, dispatch: &Dispatch) -> Option<String> {
        match self {
            Form::Cpp => Some(dispatch.text()),
            Form::Rust => Some(dispatch.rust()),
            Form::Python => Some(dispatch.python()),
            Form::Csv | Form::Json => None,
        }
    }
}

/// Where choices come from: what stands in each file.
pub struct Origin<'a> {
    /// Kernel that they are of.
    pub kernel: &'a Kernel,
    /// Name of the device.
    pub device: &'a str,
    /// Digest of the model.
    pub digest: String,
    /// What it learned from, in words.
    pub grounds: String,
}

/// A line of a table: sizes that a config serves.
pub struct ServedSizes<'a> {
    pub problem: &'a Problem,
    /// Name and values of a field that varies, if one does: its least and its greatest.
    pub varied: Option<VariedField<'a>>,
    pub config: &'a Config,
    /// The largest share of the speed that is lost, as a logarithm.
    pub loss: f64,
    /// What is lost at most in 95 % of the problems, as a logarithm, where measured problems told how far predictions are off.
    pub stated: Option<f64>,
}

/// Values of the field that varies.
#[derive(Clone, Copy)]
pub struct VariedField<'a> {
    pub name: &'a str,
    pub least: u64,
    pub greatest: u64,
}

/// A field's value in JSON.
fn value_of(field: &Field, value: f64) -> Value {
    match field.kind {
        FieldKind::Size => json!(value as u64),
        FieldKind::Real => json!(value),
        FieldKind::Choice => json!(field.show(value)),
    }
}

impl Origin<'_> {
    fn made_by() -> String {
        format!("{MARK} {}", env!("CARGO_PKG_VERSION"))
    }

    /// Comma-separated values, below a comment that says where they come from. pandas reads them with `comment="#"`.
    ///
    /// # Errors
    /// `Error::Failed` where they cannot be written.
    pub fn csv(&self, rows: &[ServedSizes]) -> Result<String> {
        let grounds = seqtune_kernel::spelling::c_comment(&self.grounds);
        let about = format!("# {}: kernel {}, model {}; {grounds}\n", Origin::made_by(), self.kernel.name, self.digest);
        let table = self.cells(rows).map_err(|e| Error::Failed(format!("writing CSV: {e}")))?;
        Ok(about + &String::from_utf8_lossy(&table))
    }

    fn cells(&self, rows: &[ServedSizes]) -> std::result::Result<Vec<u8>, csv::Error> {
        let kernel = self.kernel;
        let varied = rows.first().and_then(|row| row.varied);
        let mut columns: Vec<String> = Vec::new();
        for (field, name) in kernel.fields.iter().zip(names::fields(kernel, &LOSSES)) {
            match varied.filter(|varied| varied.name == field.name) {
                Some(_) => columns.extend(["first", "last"].map(|end| format!("{name}_{end}"))),
                None => columns.push(name),
            }
        }
        columns.extend(names::parameters(kernel, &LOSSES));
        let losses = if rows.iter().any(|row| row.stated.is_some()) { &LOSSES[..] } else { &LOSSES[..1] };
        columns.extend(losses.iter().map(|name| name.to_string()));
        let mut bytes = Vec::new();
        {
            let mut writer = csv::Writer::from_writer(&mut bytes);
            writer.write_record(columns)?;
            for row in rows {
                let mut cells: Vec<String> = Vec::new();
                for (field, value) in kernel.fields.iter().zip(&row.problem.values) {
                    match row.varied.filter(|varied| varied.name == field.name) {
                        Some(varied) => cells.extend([varied.least, varied.greatest].map(|size| size.to_string())),
                        None => cells.push(field.show(*value)),
                    }
                }
                let values = row.config.0.iter().zip(&kernel.parameters);
                cells.extend(values.map(|(choice, own)| own.show(*choice as usize)));
                let losses = std::iter::once(row.loss).chain(row.stated);
                cells.extend(losses.map(|loss| format!("{:.3}", 100.0 * speed_lost(loss))));
                writer.write_record(cells)?;
            }
            writer.flush()?;
        }
        Ok(bytes)
    }

    /// The same as JSON: an object with where it comes from, and a list.
    ///
    /// # Errors
    /// `Error::Failed` where it cannot be written.
    pub fn json(&self, rows: &[ServedSizes]) -> Result<String> {
        let kernel = self.kernel;
        let row = |row: &ServedSizes| {
            let mut problem = Map::new();
            for (field, value) in kernel.fields.iter().zip(&row.problem.values) {
                match row.varied.filter(|varied| varied.name == field.name) {
                    Some(varied) => drop(problem.insert(field.name.clone(), json!([varied.least, varied.greatest]))),
                    None => drop(problem.insert(field.name.clone(), value_of(field, *value))),
                }
            }
            let config = row.config.0.iter().zip(&kernel.parameters);
            let config: Map<String, Value> =
                config.map(|(choice, own)| (own.name.clone(), own.json(*choice as usize))).collect();
            let mut row_text = json!({ "problem": problem, "config": config, "loss": speed_lost(row.loss) });
            if let Some(stated) = row.stated {
                row_text["loss_of_95_percent"] = json!(speed_lost(stated));
            }
            row_text
        };
        let body = json!({
            "kernel": kernel.name, "device": self.device, "model": self.digest, "grounds": self.grounds,
            "choices": rows.iter().map(row).collect::<Vec<_>>(),
        });
        let failed = |e: serde_json::Error| Error::Failed(format!("writing JSON: {e}"));
        let text = serde_json::to_string_pretty(&body).map_err(failed)?;
        // what says that the file is ours stands first
        let first = serde_json::to_string(&Origin::made_by()).map_err(failed)?;
        Ok(format!("{{\n  \"made_by\": {first},{}\n", text.trim_start_matches('{')))
    }
}
