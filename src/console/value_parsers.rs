//! Values of options: words for the library's enumerations, which know nothing of a command line, and numbers within a range.

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use seqtune_choose::ranges::Range;
use seqtune_data::formats::inductor::Op;
use seqtune_data::formats::values::FieldSource;
use seqtune_data::recipe::Cache;
use seqtune_predict::model::{Part, Target};
use seqtune_predict::{Objective, Quality};
use std::ops::RangeInclusive;

/// A whole number of a range, which the option's help states.
pub fn count(range: RangeInclusive<usize>) -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(*range.start() as u64..=*range.end() as u64)
}

/// A number of a range, which the option's help states.
pub fn real(range: RangeInclusive<f64>) -> impl TypedValueParser<Value = f64> {
    move |text: &str| match text.parse::<f64>() {
        Ok(x) if range.contains(&x) => Ok(x),
        _ => Err(format!("it is no number from {} to {}", range.start(), range.end())),
    }
}

/// A share of the speed, written in percent: `2%` is 0.02.
pub fn share() -> impl TypedValueParser<Value = f64> {
    |text: &str| match text.trim().strip_suffix('%').map(|number| number.trim().parse::<f64>()) {
        Some(Ok(percent)) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write it in percent, from 0% to below 100%, such as 2%".to_string()),
    }
}

/// `M=16..4096`: a size field with its least and greatest value.
///
/// # Errors
/// How it is written.
pub fn range(text: &str) -> Result<Range, String> {
    let parts = || {
        let (field, range) = text.split_once('=')?;
        let (least, greatest) = range.split_once("..")?;
        Some(Range { field: field.to_string(), least: least.parse().ok()?, greatest: greatest.parse().ok()? })
    };
    parts().ok_or_else(|| "write it as M=16..4096".into())
}

/// `FIELD=COLUMN` or `FIELD=VALUE`.
///
/// # Errors
/// How it is written.
pub fn field_source(text: &str) -> Result<FieldSource, String> {
    let (name, value) = text.split_once('=').ok_or("write FIELD=VALUE, or FIELD=COLUMN of a file with columns")?;
    Ok(FieldSource { field: name.trim().into(), from: value.trim().into() })
}

/// A word, what `--help` says of it, and what it stands for.
type Word<T> = (&'static str, &'static str, T);

fn parser<T: Copy + Send + Sync + 'static>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    let value = |(word, help, _): &Word<T>| match help.is_empty() {
        true => PossibleValue::new(*word),
        false => PossibleValue::new(*word).help(*help),
    };
    let first = words[0].2;
    PossibleValuesParser::new(words.iter().map(value))
        .map(move |given| words.iter().find(|(word, _, _)| *word == given).map_or(first, |(_, _, value)| *value))
}

/// `time`, `energy` or `edp`.
pub fn objective() -> impl TypedValueParser<Value = Objective> {
    parser(&[
        ("time", "", Objective::Time),
        ("energy", "", Objective::Energy),
        ("edp", "Energy times time", Objective::Edp),
    ])
}

/// `mm` or `addmm`.
pub fn matrix_op() -> impl TypedValueParser<Value = Op> {
    parser(&[("mm", "A product", Op::Mm), ("addmm", "A product and a bias of each column", Op::Addmm)])
}

/// `warm` or `cold`.
pub fn cache() -> impl TypedValueParser<Value = Cache> {
    parser(&[
        ("warm", "As the launch before left them", Cache::Warm),
        ("cold", "Twice the last-level cache is overwritten before each launch", Cache::Cold),
    ])
}

/// `train`, `validation` or `test`.
pub fn part() -> impl TypedValueParser<Value = Part> {
    parser(&[("train", "", Part::Train), ("validation", "", Part::Validation), ("test", "", Part::Test)])
}

/// `on` or `off`.
pub fn on_off() -> impl TypedValueParser<Value = bool> {
    parser(&[("on", "", true), ("off", "", false)])
}

/// `auto`, `best` or `fast`.
pub fn quality() -> impl TypedValueParser<Value = Quality> {
    parser(&[
        ("auto", "The distilled decoder where it was found level with the whole model, else that", Quality::Auto),
        ("best", "The whole model", Quality::Best),
        ("fast", "The distilled decoder", Quality::Fast),
    ])
}

/// `best` or `soft`.
pub fn target() -> impl TypedValueParser<Value = Target> {
    parser(&[
        ("best", "The best measured config", Target::Best),
        ("soft", "A distribution over all measured configs by how close each comes to the best", Target::Soft),
    ])
}
