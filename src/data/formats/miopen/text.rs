//! Databases in text form: performance databases (`key=solver:params;solver:params`) and find databases.

use crate::formats::miopen::convolution::Convolution;
use crate::formats::miopen::rows::{Row, Times};
use seqtune_predict::error::{Error, Result, input};

/// Line of a database: its number, its key, and its entries as name and rest.
type Line<'t> = (usize, Convolution, Vec<(&'t str, &'t str)>);

fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>>> {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered.map(|(i, line)| {
        let at = |e: Error| e.at(format!("line {}", i + 1));
        let Some((key, entries)) = line.trim().split_once('=') else {
            return Err(at(Error::Input("has no `=` after a key: not a database of MIOpen, or cut off".into())));
        };
        let convolution = Convolution::parse(key).map_err(at)?;
        let entry = |e| match str::split_once(e, ':') {
            Some(entry) => Ok(entry),
            None => Err(at(Error::Input(format!("`{e}` is not written solver:params")))),
        };
        let entries = entries.split(';').filter(|e| !e.is_empty()).map(entry).collect::<Result<Vec<_>>>()?;
        Ok((i + 1, convolution, entries))
    })
}

/// Reads all rows of a performance database.
///
/// # Errors
/// [`Error::Input`] where a line is malformed or there is no row.
pub fn read(text: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in lines(text) {
        let (_, convolution, entries) = line?;
        rows.extend(entries.into_iter().map(|(solver, params)| Row {
            convolution: convolution.clone(),
            solver: solver.into(),
            params: params.into(),
        }));
    }
    match rows.is_empty() {
        true => input("holds no record"),
        false => Ok(rows),
    }
}

/// Adds the times of a find database in milliseconds, of either generation: `algorithm:solver,ms,…` or `solver:ms,…`.
///
/// # Errors
/// [`Error::Input`] where a line is malformed or an entry has no time.
pub fn read_times(text: &str, times: &mut Times) -> Result<()> {
    for line in lines(text) {
        let (number, convolution, entries) = line?;
        for (name, rest) in entries {
            let mut parts = rest.split(',');
            let first = parts.next().unwrap_or_default();
            let (solver, ms) = match first.parse::<f64>() {
                Ok(ms) => (name, Some(ms)),
                Err(_) => (first, parts.next().and_then(|ms| ms.parse().ok())),
            };
            match ms.filter(|ms| ms.is_finite() && *ms > 0.0) {
                Some(ms) => {
                    let best = times.entry((convolution.clone(), solver.into())).or_insert(ms);
                    *best = best.min(ms);
                }
                None => return input(format!("line {number}: `{name}:{rest}` states no time in ms")),
            }
        }
    }
    Ok(())
}
