//! What `seqtune init` asks for at a terminal.

use crate::cli::init::asked::Args;
use seqtune_predict::error::{Error, Result, input};
use std::io::{BufRead, Write};

fn line(question: &str) -> Result<String> {
    let mut out = std::io::stderr().lock();
    write!(out, "{question}\n> ").and_then(|()| out.flush()).ok();
    let mut text = String::new();
    match std::io::stdin().lock().read_line(&mut text) {
        Ok(0) => input("the answers have ended; nothing was written"),
        Ok(_) => Ok(text.trim().to_string()),
        Err(e) => Err(Error::Failed(format!("standard input: {e}"))),
    }
}

/// An answer; `None` where it is empty.
fn optional(question: &str) -> Result<Option<String>> {
    Ok(Some(line(question)?).filter(|text| !text.is_empty()))
}

/// Answers until an empty one.
fn several(question: &str) -> Result<Vec<String>> {
    let mut all = Vec::new();
    while let Some(text) = optional(question)? {
        all.push(text);
    }
    Ok(all)
}

/// Fills what is not given.
///
/// # Errors
/// [`Error::Input`] where the answers end early.
pub fn ask(args: &mut Args) -> Result<()> {
    if args.meaning.is_none() {
        args.meaning = optional("What does it compute, in a line?")?;
    }
    if args.field.is_empty() {
        args.field = several("What is given? A size as n=1..1000, or a choice as kind=a,b; empty: no more")?;
    }
    if args.parameter.is_empty() {
        args.parameter = several("What may be chosen? As tile=8,[16],32 or flags=O2,O3; empty: no more")?;
    }
    if line("A program that prints a time, or an OpenCL C source? (program/source)")?.starts_with('s') {
        args.source = optional("Name of the source in the folder?")?;
        let list = |text: Option<String>| -> Vec<String> {
            text.map_or(Vec::new(), |text| text.split(';').map(|part| part.trim().to_string()).collect())
        };
        args.global = list(optional(
            "Work-items in all? Expressions, `;` between dimensions, as cdiv(n, WG) * WG; empty: the first size",
        )?);
        args.local = list(optional("Work-items of a work-group? As WG; empty: the driver chooses")?);
        return Ok(());
    }
    args.build = optional("How is it built? As gcc -O{level} {kernel}/x.c -o {build}/x; empty: not at all")?;
    args.command = optional("How is it started? As {build}/x {n} {tile}, or python3 {kernel}/bench.py {n}")?;
    args.time = optional("Where is the time? json, wall, or a pattern such as time: ([0-9.]+) ms; empty: json")?;
    if args.time.as_deref().is_some_and(|time| !["json", "wall"].contains(&time)) {
        args.unit = optional("In which unit? s, ms, us or ns; empty: s")?;
    }
    args.right = optional("What does its output hold where the result is right? A pattern; empty: it is believed")?;
    Ok(())
}
