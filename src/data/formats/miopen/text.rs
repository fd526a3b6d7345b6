//! Databases in text form: performance databases (`key=solver:params;solver:params`) and find databases.

use crate::bad_rows::BadRows;
use crate::formats::miopen::convolution::Convolution;
use crate::formats::miopen::rows::{Row, Rows, Times};
use seqtune_predict::error::{Error, Result, input};

/// A line: its key, and its entries as name and rest.
type Line<'t> = (Convolution, Vec<(&'t str, &'t str)>);

/// Reads the lines that are not empty; those that cannot be read are counted in `bad`. Gives the number of entries.
fn lines<'t>(text: &'t str, bad: &mut BadRows, mut each: impl FnMut(Line<'t>, &mut BadRows, &str)) -> usize {
    let mut count = 0;
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("line {}", i + 1);
        match read_line(line) {
            Ok(line) => {
                count += line.1.len();
                each(line, bad, &place);
            }
            Err(e) => {
                count += 1;
                bad.add(&e.to_string(), &place);
            }
        }
    }
    count
}

fn read_line(line: &str) -> Result<Line<'_>> {
    let Some((key, entries)) = line.trim().split_once('=') else {
        return input("has no `=` after a key: not a database of MIOpen, or cut off");
    };
    let convolution = Convolution::parse(key)?;
    let entry = |e| match str::split_once(e, ':') {
        Some(entry) => Ok(entry),
        None => Err(Error::Input(format!("`{e}` is not written solver:params"))),
    };
    Ok((convolution, entries.split(';').filter(|e| !e.is_empty()).map(entry).collect::<Result<_>>()?))
}

/// Reads all rows of a performance database.
///
/// # Errors
/// [`Error::Input`] where there is no row.
pub fn read(text: &str) -> Result<Rows> {
    let mut found = Rows::default();
    let mut rows = Vec::new();
    lines(text, &mut found.bad, |(convolution, entries), _, _| {
        rows.extend(entries.into_iter().map(|(solver, params)| Row {
            convolution: convolution.clone(),
            solver: solver.into(),
            params: params.into(),
        }));
    });
    found.rows = rows;
    match found.rows.is_empty() && found.bad.rows() == 0 {
        true => input("holds no record"),
        false => Ok(found),
    }
}

/// Adds the times of a find database in milliseconds, of either generation: `algorithm:solver,ms,…` or `solver:ms,…`. Gives the number of
/// entries, and those that state no time.
pub fn read_times(text: &str, times: &mut Times) -> (usize, BadRows) {
    let mut bad = BadRows::default();
    let count = lines(text, &mut bad, |(convolution, entries), bad, place| {
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
                None => bad.add(&format!("`{name}:{rest}` states no time in ms"), place),
            }
        }
    });
    (count, bad)
}
