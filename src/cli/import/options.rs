//! Options that imports share.

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
