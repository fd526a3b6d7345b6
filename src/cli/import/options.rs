//! What imports share: options, and what they tell.

use seqtune_data::BadRows;
use std::collections::BTreeMap;

/// What becomes of rows that cannot be read.
#[derive(clap::Args)]
pub struct Strictness {
    /// Refuses the whole import where a row cannot be read, instead of leaving such rows out and telling how many
    #[arg(long)]
    pub strict: bool,
}

/// `NAME=VALUE`.
pub fn pair(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write FIELD=COLUMN or FIELD=VALUE")?;
    Ok((name.trim().into(), value.trim().into()))
}

/// What an import left out, in lines behind its summary; `what` are rows or configs.
pub fn left_behind(repeated: usize, left_out: &BTreeMap<String, usize>, what: &str, bad: &BadRows) -> String {
    let mut text = String::new();
    if repeated > 0 {
        text += &format!("\nrepeat an earlier one: {repeated} {what}");
    }
    for (reason, count) in left_out {
        text += &format!("\nleft out, because {reason}: {count} {what}");
    }
    text + &bad.text()
}
