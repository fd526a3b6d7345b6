//! Results in the T4 format ("Towards a Benchmarking Suite for Kernel Tuners", Torring et al. 2023), as Kernel Tuner and KTT write them.

use crate::formats::documents::{Document, Mark, WrittenFile, mark, text_of};
use crate::formats::json::parts;
use crate::formats::kernel_tuner::{milliseconds, name_of};
use crate::formats::sweep::{ReadEnergy, Sweep, Tried, failure, is_energy, number, outcome_of_times};
use crate::formats::units::{joules, microseconds};
use crate::record::{Outcome, Record};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Device, Kernel};
use serde_json::{Map, Value, json};

/// Parses results, also those that were cut off. Few files name their device, none but ours the problem.
///
/// # Errors
/// [`Error::Input`] where the text is not a T4 file, or tells a unit that is not known.
pub fn read_t4(text: &str) -> Result<Sweep> {
    let file = Document::read(text, "results").map_err(|e| e.at_place("is no file of T4 results"))?;
    let about = file.value("metadata");
    let unit = text_of(&about["timeunit"]).or_else(|| text_of(&about["time_unit"]));
    if let Some(unknown) = unit.as_ref().filter(|unit| microseconds(unit).is_none()) {
        return input(format!("its times are in `{}`, which is no unit that is known", quote(unknown)));
    }
    let Mark { problem, cold_runs } = mark(&about["seqtune"]);
    let mut sweep = Sweep {
        kernel: text_of(&about["kernel"]).or_else(|| text_of(&about["kernel_name"])),
        device: text_of(&about["device"]).or_else(|| text_of(&about["device_name"])),
        problem,
        tool: if cold_runs {
            "T4 results, the first run of each config left out"
        } else {
            "seqtune, through T4 results"
        },
        ..Sweep::default()
    };
    for (i, part) in parts(file.body)?.iter().enumerate() {
        let result = Document::entry(part).and_then(|result| read_result(&result, unit.as_deref(), cold_runs));
        sweep.add(&format!("result {}", i + 1), result);
    }
    Ok(sweep)
}

/// A result; `unit` is that of the file.
fn read_result(result: &Map<String, Value>, unit: Option<&str>, cold_runs: bool) -> std::result::Result<Tried, String> {
    let null = Value::Null;
    let of = |name: &str| result.get(name).unwrap_or(&null);
    let config = of("configuration").as_object().ok_or("has no configuration")?;
    let config = config.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let measurements = of("measurements").as_array().map_or(&[][..], Vec::as_slice);
    let outcome = match of("invalidity").as_str() {
        Some("correct") if number(of("correctness")) == Some(0.0) => {
            return Err("is called correct with a correctness of 0".into());
        }
        Some("correct") => {
            let (time, us) = time(measurements, of("objectives"), unit)?;
            match &of("times")["runtimes"] {
                Value::Null => outcome_of_times(time, us, false)?,
                Value::Array(runs) if runs.is_empty() => outcome_of_times(time, us, false)?,
                runs => outcome_of_times(runs, us, cold_runs)?,
            }
        }
        Some(word) => {
            let kind = failure(word).ok_or(format!("its invalidity `{}` is not known", quote(word)))?;
            Outcome::invalid(kind, of("detail").as_str().unwrap_or(word))
        }
        None => return Err("has no invalidity".into()),
    };
    let energies = measurements.iter().filter_map(|m| {
        let name = m["name"].as_str().filter(|name| is_energy(name))?;
        let scale = text_of(&m["unit"]).map_or(Some(1.0), |unit| joules(&unit));
        let joules = number(&m["value"]).zip(scale).map(|(value, scale)| value * scale);
        Some(ReadEnergy { meter: name.to_string(), joules })
    });
    Ok(Tried { place: String::new(), config, outcome, energies: energies.collect() })
}

/// Whether a measurement is a time by its name.
fn is_time(name: &str) -> bool {
    let name = name.to_lowercase();
    name.starts_with("time")
        || ["totalduration", "duration", "runtime", "kernel_time", "execution_time"].contains(&&*name)
}

/// The measured time, null where none is, and the microseconds of its unit: the measurement's own, that of the file, or milliseconds.
fn time<'v>(
    measurements: &'v [Value],
    objectives: &Value,
    unit: Option<&str>,
) -> std::result::Result<(&'v Value, f64), String> {
    let is_objective =
        |name: &str| objectives.as_array().is_some_and(|all| all.iter().any(|o| o.as_str() == Some(name)));
    let own = |m: &Value| text_of(&m["unit"]);
    // an objective in a unit of time is one, whatever it is called
    let by_unit = |m: &Value| own(m).is_some_and(|unit| microseconds(&unit).is_some());
    let named = |m: &&Value| m["name"].as_str().is_some_and(|name| is_time(name) || is_objective(name) && by_unit(m));
    let chosen = |m: &&Value| named(m) && m["name"].as_str().is_some_and(is_objective);
    let found = measurements.iter().find(chosen).or_else(|| measurements.iter().find(named));
    let file = unit.and_then(microseconds);
    let Some(found) = found else { return Ok((&Value::Null, file.unwrap_or(1e3))) };
    let us = match (own(found), file) {
        (None, file) => file.unwrap_or(1e3),
        (Some(unit), file) => match (microseconds(&unit), file) {
            (None, _) => return Err(format!("its time is in `{}`, which is no unit that is known", quote(&unit))),
            (Some(own), Some(file)) if own != file => {
                return Err(format!("its time is in `{}`, and the file's are in another unit", quote(&unit)));
            }
            (Some(own), _) => own,
        },
    };
    Ok((&found["value"], us))
}

/// Encodes records of one problem in the T4 format. Configs of which no time is known are left out and not counted.
///
/// `seqtune` in the metadata marks the file as ours, for the way back: the problem in full, and that no run in it is cold.
///
/// # Errors
/// [`Error::Config`] where the kernel rejects a config, [`Error::Failed`] where serialisation fails.
pub fn write_t4(kernel: &Kernel, device: &Device, records: &[&Record]) -> Result<WrittenFile> {
    let result = |record: &&&Record| {
        let config = kernel.config(&record.config)?;
        let values = kernel.parameters.iter().zip(&config.0).map(|(p, c)| (p.name.clone(), p.json(*c as usize)));
        let configuration: Map<String, Value> = values.collect();
        let time = record.outcome.time_us().map(|us| json!({ "name": "time", "value": us / 1e3, "unit": "ms" }));
        let energy = record.outcome.joules().map(|joules| json!({ "name": "energy", "value": joules, "unit": "J" }));
        let (invalidity, detail) = match &record.outcome {
            Outcome::Invalid(invalid) => (name_of(invalid.kind), Some(invalid.detail.as_str())),
            _ => ("correct", None),
        };
        let mut result = json!({
            "configuration": configuration,
            "times": { "runtimes": milliseconds(&record.outcome) },
            "invalidity": invalidity,
            "correctness": (invalidity == "correct") as u8,
            "measurements": time.into_iter().chain(energy).collect::<Vec<_>>(),
            "objectives": ["time"],
        });
        if let Some(detail) = detail {
            result["detail"] = detail.into();
        }
        Ok(result)
    };
    let is_known =
        |record: &&&Record| matches!(record.outcome, Outcome::Invalid(_)) || record.outcome.time_us().is_some();
    let results: Vec<Value> = records.iter().filter(is_known).map(|record| result(&record)).collect::<Result<_>>()?;
    let entries = results.len();
    let metadata = json!({
        "timeunit": "milliseconds", "device": device.name, "kernel": kernel.name, "seqtune": Mark::from_records(records),
    });
    let file = json!({ "schema_version": "1.0.0", "metadata": metadata, "results": results });
    let text = serde_json::to_string(&file).map_err(|e| Error::Failed(format!("writing T4: {e}")))?;
    Ok(WrittenFile { text, entries })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::InvalidityKind;

    /// A result with times, a measurement and its unit.
    fn result(runtimes: &str, name: &str, unit: &str) -> String {
        format!(
            r#"{{"configuration": {{"a": 1}}, "times": {{"runtimes": {runtimes}}}, "invalidity": "correct", "objectives": ["{name}"],
                "measurements": [{{"name": "{name}", "value": 7.0, "unit": "{unit}"}}]}}"#
        )
    }

    fn read(timeunit: Option<&str>, results: &[String]) -> Result<Sweep> {
        let about = timeunit.map_or(String::new(), |unit| format!(r#""metadata": {{"timeunit": "{unit}"}}, "#));
        read_t4(&format!(r#"{{{about}"results": [{}]}}"#, results.join(", ")))
    }

    fn samples(sweep: &Sweep) -> Vec<Vec<f32>> {
        let samples = |tried: &Tried| match &tried.outcome {
            Outcome::Measured(m) => m.samples_us.clone(),
            other => panic!("{other:?}"),
        };
        sweep.tried.iter().map(samples).collect()
    }

    #[test]
    fn times_are_read_in_the_unit_of_the_measurement_or_of_the_file_and_in_milliseconds_without() {
        for (file, own, expected) in [
            (None, "", 3_000.0),
            (None, "Microseconds", 3.0),
            (None, "ns", 0.003),
            (Some("seconds"), "", 3e6),
            (Some("miliseconds"), "", 3_000.0),
            (Some("microseconds"), "us", 3.0),
        ] {
            let sweep = read(file, &[result("[9.0, 3.0]", "TotalDuration", own)]).unwrap();
            assert_eq!(samples(&sweep), [[expected]], "{file:?} {own}");
        }
        // the objective is no time, the runs are
        assert_eq!(samples(&read(None, &[result("[3.0]", "GFLOP/s", "GFLOP/s")]).unwrap()), [[3_000.0]]);
        assert_eq!(samples(&read(None, &[result("[]", "time", "us")]).unwrap()), [[7.0]]);
        assert_eq!(samples(&read(None, &[result("4.5", "time", "us")]).unwrap()), [[4.5]]);
    }

    #[test]
    fn unknown_units_two_units_and_results_without_a_time_are_counted_or_refused() {
        assert!(read(Some("fortnights"), &[]).unwrap_err().to_string().contains("`fortnights`, which is no unit"));
        let rows = [
            result("[1.0]", "time", "fortnights"),
            result("[]", "GFLOP/s", "GFLOP/s"),
            result("[1.0, NaN]", "time", "ms"),
            result("[1e18]", "time", "ms"),
            result("[-1.0]", "time", "ms"),
            result("[0.0]", "time", "ms"),
            result("[1.0]", "time", "s"),
            "{}".into(),
        ];
        let bad = read(Some("ms"), &rows).unwrap().bad;
        assert_eq!(bad.rows(), 8, "{bad:?}");
        for reason in [
            "its time is in `…`, which is no unit",
            "has no times",
            "a time is no number",
            "a time is `…` us, over thirty days",
            "a time is not above 0",
            "another unit",
            "has no configuration",
        ] {
            assert!(bad.0.keys().any(|key| key.contains(reason)), "{reason}: {bad:?}");
        }
    }

    #[test]
    fn results_are_read_by_their_invalidity_and_as_far_as_they_go() {
        let result = |invalidity: &str| {
            format!(
                r#"{{"configuration": {{"a": "1"}}, "times": {{"runtimes": [3.0, 1.0]}}, "invalidity": "{invalidity}"}}"#
            )
        };
        let file = format!(
            r#"{{"results": [{}, {}, {}, {}, {{"config"#,
            result("correct"),
            result("compile"),
            result("timeout"),
            result("odd")
        );
        let sweep = read_t4(&file).unwrap();
        let outcomes: Vec<Outcome> = sweep.tried.into_iter().map(|t| t.outcome).collect();
        assert!(matches!(&outcomes[0], Outcome::Measured(m) if m.samples_us == [1_000.0]));
        assert_eq!(outcomes[1], Outcome::invalid(InvalidityKind::Compile, "compile"));
        assert_eq!(outcomes[2], Outcome::invalid(InvalidityKind::Timeout, "timeout"));
        assert_eq!((outcomes.len(), sweep.bad.0["is cut off"].rows, sweep.bad.rows()), (3, 1, 2));
        for other in ["{", "[1]", "a,b", "<?xml?>", r#"{"Metadata": {}, "Results": []}"#, r#"{"results": 1}"#] {
            assert!(read_t4(other).is_err(), "{other}");
        }
    }
}
