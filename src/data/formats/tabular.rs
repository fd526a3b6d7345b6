//! Datasets as tables for other programs: comma-separated values, or Apache Parquet.

use crate::formats::kernel_tuner::name_of;
use crate::formats::names;
use crate::record::{Outcome, Record};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use seqtune_kernel::Kernel;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use std::sync::Arc;

/// Values of a column, one per record; `None` where unknown.
pub enum Values {
    /// Strings.
    Text(Vec<Option<String>>),
    /// Integers.
    Whole(Vec<Option<i64>>),
    /// Floating-point numbers.
    Real(Vec<Option<f64>>),
}

/// Named column of a table.
pub struct Column {
    name: String,
    values: Values,
}

/// Columns of results, whose names a field or a parameter does not take.
const RESULTS: [&str; 10] = [
    "outcome",
    "detail",
    "median_us",
    "quartile1_us",
    "quartile3_us",
    "samples",
    "joules",
    "registers",
    "local_bytes",
    "library_us",
];

/// Builds the columns of a kernel's records, no two of one name.
///
/// They are problem fields, parameters, outcome, median and quartiles in microseconds, number of samples, joules, registers, local memory
/// in bytes, and library time in microseconds. A field or parameter that is called like a column of results is written behind `field_` or
/// `parameter_`.
///
/// # Errors
/// [`Error::Problem`] or [`Error::Config`] where the kernel rejects a record.
pub fn columns(kernel: &Kernel, records: &[&Record]) -> Result<Vec<Column>> {
    let problems = records.iter().map(|r| kernel.problem(&r.problem)).collect::<Result<Vec<_>>>()?;
    let configs = records.iter().map(|r| kernel.config(&r.config)).collect::<Result<Vec<_>>>()?;
    let mut columns = Vec::new();
    let mut add = |name: &str, values: Values| columns.push(Column { name: name.into(), values });
    for ((i, field), name) in kernel.fields.iter().enumerate().zip(names::fields(kernel, &RESULTS)) {
        let of_problem = problems.iter().map(|p| p.values[i]);
        add(
            &name,
            match field.kind {
                FieldKind::Choice => Values::Text(of_problem.map(|v| field.labels.get(v as usize).cloned()).collect()),
                FieldKind::Size => Values::Whole(of_problem.map(|v| Some(v as i64)).collect()),
                FieldKind::Real => Values::Real(of_problem.map(Some).collect()),
            },
        );
    }
    for ((i, parameter), name) in kernel.parameters.iter().enumerate().zip(names::parameters(kernel, &RESULTS)) {
        let chosen = configs.iter().map(|c| c.0[i] as usize);
        let values = match parameter.labels.is_empty() {
            true => Values::Whole(chosen.map(|at| Some(parameter.values[at])).collect()),
            false => Values::Text(chosen.map(|at| Some(parameter.show(at))).collect()),
        };
        add(&name, values);
    }
    RESULTS.iter().zip(results(records)).for_each(|(name, values)| add(name, values));
    Ok(columns)
}

/// What came of each record, in the order of [`RESULTS`].
fn results(records: &[&Record]) -> [Values; RESULTS.len()] {
    let text = |of: &dyn Fn(&Record) -> Option<String>| Values::Text(records.iter().map(|r| of(r)).collect());
    let whole = |of: &dyn Fn(&Record) -> Option<i64>| Values::Whole(records.iter().map(|r| of(r)).collect());
    let real = |of: &dyn Fn(&Record) -> Option<f64>| Values::Real(records.iter().map(|r| of(r)).collect());
    let quantile = |q: f64| {
        move |r: &Record| match &r.outcome {
            Outcome::Measured(m) => Some(m.quantile_us(q)),
            Outcome::Tuned(tuned) if q == 0.5 => tuned.time_us.map(f64::from),
            Outcome::Tuned(_) | Outcome::Invalid(_) => None,
        }
    };
    let outcome = |r: &Record| match &r.outcome {
        Outcome::Measured(_) => "measured".to_string(),
        Outcome::Tuned(_) => "tuned".into(),
        Outcome::Invalid(invalid) => name_of(invalid.kind).into(),
    };
    let detail = |r: &Record| match &r.outcome {
        Outcome::Invalid(invalid) => Some(invalid.detail.clone()),
        Outcome::Measured(_) | Outcome::Tuned(_) => None,
    };
    let samples = |r: &Record| match &r.outcome {
        Outcome::Measured(m) => m.samples_us.len() as i64,
        Outcome::Tuned(_) | Outcome::Invalid(_) => 0,
    };
    let needs =
        |of: fn(&crate::Resources) -> u32| move |r: &Record| r.observed.resources.as_ref().map(|n| of(n) as i64);
    [
        text(&|r| Some(outcome(r))),
        text(&detail),
        real(&quantile(0.5)),
        real(&quantile(0.25)),
        real(&quantile(0.75)),
        whole(&|r| Some(samples(r))),
        real(&|r| r.outcome.joules()),
        whole(&needs(|n| n.registers)),
        whole(&needs(|n| n.local_bytes + n.dynamic_local_bytes)),
        real(&|r| r.observed.library_us.map(f64::from)),
    ]
}

/// Texts that pandas reads from comma-separated values as missing, of those that labels may be.
const MISSING: [&str; 8] = ["NA", "NULL", "NaN", "None", "nan", "null", "-NaN", "-nan"];

/// Labels of the kernel that pandas takes for missing values when it reads [`write_csv`]'s text.
pub fn read_as_missing(kernel: &Kernel) -> Vec<&str> {
    let labels = kernel.parameters.iter().flat_map(|p| &p.labels).chain(kernel.fields.iter().flat_map(|f| &f.labels));
    let mut found: Vec<&str> = labels.map(String::as_str).filter(|label| MISSING.contains(label)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Encodes columns as comma-separated values with a header row; line breaks within a cell become spaces.
///
/// # Errors
/// [`Error::Failed`] where the encoder fails.
pub fn write_csv(columns: &[Column]) -> Result<Vec<u8>> {
    csv_of(columns).map_err(|e| Error::Failed(format!("writing CSV: {e}")))
}

fn csv_of(columns: &[Column]) -> std::result::Result<Vec<u8>, csv::Error> {
    let cell = |column: &Column, row: usize| match &column.values {
        Values::Text(v) => v[row].as_ref().map(|text| text.replace(['\n', '\r'], " ")),
        Values::Whole(v) => v[row].map(|x| x.to_string()),
        Values::Real(v) => v[row].map(|x| x.to_string()),
    };
    let rows = columns.first().map_or(0, |c| c.values.len());
    let mut bytes = Vec::new();
    {
        let mut writer = csv::Writer::from_writer(&mut bytes);
        writer.write_record(columns.iter().map(|c| &c.name))?;
        for row in 0..rows {
            writer.write_record(columns.iter().map(|c| cell(c, row).unwrap_or_default()))?;
        }
        writer.flush()?;
    }
    Ok(bytes)
}

/// Encodes columns as Apache Parquet: one row group, Snappy compression, null for unknown values.
///
/// # Errors
/// [`Error::Failed`] where the Parquet encoder fails.
pub fn write_parquet(columns: &[Column]) -> Result<Vec<u8>> {
    parquet_of(columns).map_err(|e| Error::Failed(format!("writing Parquet: {e}")))
}

fn parquet_of(columns: &[Column]) -> parquet::errors::Result<Vec<u8>> {
    let field = |column: &Column| {
        let (physical, logical) = match &column.values {
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Whole(_) => (Physical::INT64, None),
            Values::Real(_) => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<parquet::errors::Result<_>>()?;
    let schema = Type::group_type_builder("records").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut rows = file.next_row_group()?;
    for column in columns {
        match &column.values {
            Values::Text(v) => {
                let bytes: Vec<Option<ByteArray>> = v.iter().map(|t| t.as_deref().map(ByteArray::from)).collect();
                write::<ByteArrayType>(&mut rows, &bytes)?;
            }
            Values::Whole(v) => write::<Int64Type>(&mut rows, v)?,
            Values::Real(v) => write::<DoubleType>(&mut rows, v)?,
        }
    }
    rows.close()?;
    file.close()?;
    Ok(bytes)
}

/// Writes the next column of a row group.
fn write<T: DataType>(
    rows: &mut SerializedRowGroupWriter<&mut Vec<u8>>,
    values: &[Option<T::T>],
) -> parquet::errors::Result<()> {
    let Some(mut column) = rows.next_column()? else { return Ok(()) };
    let known: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values.iter().map(|v| v.is_some() as i16).collect();
    column.typed::<T>().write_batch(&known, Some(&levels), None)?;
    column.close()
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Text(v) => v.len(),
            Values::Whole(v) => v.len(),
            Values::Real(v) => v.len(),
        }
    }
}
