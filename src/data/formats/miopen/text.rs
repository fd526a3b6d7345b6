//! Databases in text form: performance databases (`key=solver:params;solver:params`) and find databases.

use crate::bad_rows::BadRows;
use crate::formats::miopen::convolution::Convolution;
use crate::formats::miopen::rows::{ReadTimes, Row, Rows, Times, check_solver};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::limits::SAMPLE_US;
use std::collections::HashSet;

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

/// An entry of a find database, of either generation: `algorithm:solver,ms,bytes,…` or `solver:ms,bytes,algorithm`.
fn time_of<'e>(name: &'e str, rest: &'e str) -> Option<(&'e str, f64)> {
    let parts: Vec<&str> = rest.split(',').collect();
    let number = |at: usize| parts.get(at).and_then(|part: &&str| part.trim().parse::<f64>().ok());
    let bytes = |at: usize| parts.get(at).is_some_and(|part| part.trim().parse::<u64>().is_ok());
    let is_word = |at: usize| parts.get(at).is_some_and(|part| part.contains(|c: char| c.is_ascii_alphabetic()));
    match (number(0), number(1)) {
        (Some(ms), _) if bytes(1) && is_word(2) => Some((name, ms)),
        (None, Some(ms)) if bytes(2) && is_word(0) => Some((parts[0], ms)),
        _ => None,
    }
}

/// Counts of entries by what they are.
#[derive(Default)]
struct Kinds {
    times: usize,
    params: usize,
}

impl Kinds {
    fn add(&mut self, is_time: bool) {
        *(if is_time { &mut self.times } else { &mut self.params }) += 1;
    }
}

/// Reads all rows of a performance database. Of the lines of a key MIOpen takes the first, and of a line the first entry of a solver
/// (`ReadonlyRamDb::Prefetch` and `DbRecord::ParseContents`, in `src/readonlyramdb.cpp` and `src/db_record.cpp` of ROCm/MIOpen).
///
/// # Errors
/// [`Error::Input`] where there is no row, or where it is a find database.
pub fn read(text: &str) -> Result<Rows> {
    let mut found = Rows::default();
    let (mut rows, mut kinds, mut keys) = (Vec::new(), Kinds::default(), HashSet::new());
    lines(text, &mut found.bad, |(convolution, entries), bad, place| {
        let (is_again, mut solvers) = (!keys.insert(convolution.clone()), HashSet::new());
        for (solver, params) in entries {
            kinds.add(time_of(solver, params).is_some());
            let is_hidden = !solvers.insert(solver) || is_again;
            match check_solver(solver) {
                Ok(()) => rows.push(Row {
                    convolution: convolution.clone(),
                    solver: solver.into(),
                    params: params.into(),
                    of: None,
                    is_hidden,
                }),
                Err(reason) => bad.add(&reason, place),
            }
        }
    });
    found.rows = rows;
    if kinds.times > kinds.params {
        return input(format!(
            "is a find database: {} of its {} entries state times, not parameters; give it with --find-db",
            kinds.times,
            kinds.times + kinds.params
        ));
    }
    match found.rows.is_empty() && found.bad.rows() == 0 {
        true => input("holds no record"),
        false => Ok(found),
    }
}

/// Adds the times of a find database in milliseconds.
///
/// # Errors
/// [`Error::Input`] where it is a performance database.
pub fn read_times(text: &str, times: &mut Times) -> Result<ReadTimes> {
    let (mut bad, mut kinds, mut found) = (BadRows::default(), Kinds::default(), Vec::new());
    let count = lines(text, &mut bad, |(convolution, entries), bad, place| {
        for (name, rest) in entries {
            let time = time_of(name, rest);
            kinds.add(time.is_some());
            match time.filter(|(_, ms)| *ms > 0.0 && ms * 1e3 <= SAMPLE_US) {
                Some((solver, ms)) => found.push((convolution.clone(), solver.to_string(), ms)),
                None => bad.add(&format!("`{name}:{rest}` states no time in ms"), place),
            }
        }
    });
    if kinds.params > kinds.times {
        return input(format!(
            "is no find database: {} of its {} entries state parameters, not times; a performance database is imported without --find-db",
            kinds.params,
            kinds.times + kinds.params
        ));
    }
    for (convolution, solver, ms) in found {
        let best = times.entry((convolution, solver)).or_insert(ms);
        *best = best.min(ms);
    }
    Ok(ReadTimes { entries: count, bad })
}
