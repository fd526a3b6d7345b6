//! KTT's own output in JSON (`Tuner::SaveResults`): a row for each config, with its status and its duration in the unit that the metadata name.

use crate::formats::documents::{Document, one_name, text_of};
use crate::formats::json::parts;
use crate::formats::sweep::{Sweep, Tried, failure, outcome_of_times};
use crate::formats::units::microseconds;
use crate::record::Outcome;
use seqtune_kernel::error::{Result, input, quote};
use serde_json::{Map, Value};

/// Parses KTT's output, also one that was cut off. It names its device and its kernel, not the problem.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::Error::Input) where the text is no such output, is of several kernels, or in a unit that is not known.
pub fn read_ktt(text: &str) -> Result<Sweep> {
    let file = Document::read(text, "Results").map_err(|e| e.at_place("is no output of KTT's"))?;
    let about = file.value("Metadata");
    let Some(unit) = text_of(&about["TimeUnit"]) else {
        return input("is no output of KTT's: its metadata have no TimeUnit");
    };
    let Some(us) = microseconds(&unit) else {
        return input(format!("its times are in `{}`, which is no unit that is known", quote(&unit)));
    };
    let rows: Vec<_> = parts(file.body)?.iter().map(Document::entry).collect();
    let names = rows.iter().flatten().filter_map(|row| row.get("KernelName")?.as_str());
    let mut sweep = Sweep {
        kernel: one_name("kernels", names)?,
        device: text_of(&about["Device"]),
        tool: "KTT, one run of each config",
        ..Sweep::default()
    };
    for (i, row) in rows.into_iter().enumerate() {
        sweep.add(&format!("result {}", i + 1), row.and_then(|row| read_row(&row, us)));
    }
    Ok(sweep)
}

fn read_row(row: &Map<String, Value>, us: f64) -> std::result::Result<Tried, String> {
    let null = Value::Null;
    let of = |name: &str| row.get(name).unwrap_or(&null);
    let pair = |pair: &Value| Some((pair["Name"].as_str()?.to_string(), pair["Value"].clone()));
    let config: Option<Vec<(String, Value)>> =
        of("Configuration").as_array().and_then(|all| all.iter().map(pair).collect());
    let outcome = match of("Status").as_str() {
        // a duration of 0 is that of a failure, whatever its status
        Some("Ok") => outcome_of_times(of("TotalDuration"), us, false)?,
        Some(status) => {
            let kind = failure(status).ok_or(format!("its status `{}` is not known", quote(status)))?;
            Outcome::invalid(kind, status)
        }
        None => return Err("has no Status".into()),
    };
    Ok(Tried { place: String::new(), config: config.ok_or("has no Configuration")?, outcome, energies: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::InvalidityKind;

    fn row(status: &str, duration: &str, kernel: &str) -> String {
        format!(
            r#"{{"Configuration": [{{"Name": "a", "Value": 32, "ValueType": "UnsignedInt"}}, {{"IsDouble": true, "Name": "b", "Value": 2.0}}],
                "KernelName": "{kernel}", "Status": "{status}", "TotalDuration": {duration}, "TotalOverhead": 9.0}}"#
        )
    }

    fn file(unit: &str, rows: &[String]) -> String {
        format!(r#"{{"Metadata": {{"Device": "NVIDIA T4", "TimeUnit": "{unit}"}}, "Results": [{}]}}"#, rows.join(","))
    }

    #[test]
    fn rows_are_times_in_the_files_unit_or_failures_by_their_status() {
        let rows = [
            row("Ok", "96.5", "vec"),
            row("ComputationFailed", "0.0", "vec"),
            row("ValidationFailed", "5.0", "vec"),
            row("CompilationFailed", "0.0", "vec"),
            row("DeviceLimitsExceeded", "0.0", "vec"),
            row("Ok", "0.0", "vec"),
            row("Odd", "1.0", "vec"),
        ];
        let sweep = read_ktt(&file("Microseconds", &rows)).unwrap();
        assert_eq!((sweep.device.as_deref(), sweep.kernel.as_deref()), (Some("NVIDIA T4"), Some("vec")));
        assert!(matches!(&sweep.tried[0].outcome, Outcome::Measured(m) if m.samples_us == [96.5]));
        assert_eq!(sweep.tried[0].config[1], ("b".into(), 2.0.into()));
        let kinds: Vec<_> = sweep.tried[1..]
            .iter()
            .map(|t| matches!(&t.outcome, Outcome::Invalid(i) if i.kind != InvalidityKind::Timeout))
            .collect();
        assert_eq!((kinds, sweep.bad.rows()), (vec![true; 4], 2));
        let kind = |at: usize| matches!(&sweep.tried[at].outcome, Outcome::Invalid(i) if i.kind == [InvalidityKind::Runtime, InvalidityKind::Correctness, InvalidityKind::Compile, InvalidityKind::Compile][at - 1]);
        assert!((1..5).all(kind), "{:?}", sweep.tried);
        let slow = read_ktt(&file("Seconds", &rows[..1])).unwrap();
        assert!(matches!(&slow.tried[0].outcome, Outcome::Measured(m) if m.samples_us == [96.5e6]));
    }

    #[test]
    fn files_of_two_kernels_of_unknown_units_or_of_another_kind_are_refused() {
        let error = |text: &str| read_ktt(text).unwrap_err().to_string();
        assert!(
            error(&file("Microseconds", &[row("Ok", "1", "a"), row("Ok", "1", "b")]))
                .contains("two kernels, `a` and `b`")
        );
        assert!(error(&file("Weeks", &[])).contains("`Weeks`, which is no unit"));
        assert!(error(r#"{"results": []}"#).contains("import t4"));
        assert!(error("<TuningResults>").contains("OutputFormat::JSON"));
        assert!(error(r#"{"Results": []}"#).contains("no TimeUnit"));
        // cut off in its second row
        let cut = file("Microseconds", &[row("Ok", "1", "a"), row("Ok", "1", "a")]);
        let sweep = read_ktt(&cut[..cut.len() - 30]).unwrap();
        assert_eq!((sweep.tried.len(), sweep.bad.0["is cut off"].rows), (1, 1));
    }
}
