//! A kernel that is asked for, before it is written.

use crate::cli::init::asked::Args;
use crate::cli::init::text;
use seqtune_kernel::Kernel;
use seqtune_kernel::error::Result;
use seqtune_kernel::files::read_text;
use seqtune_kernel::limits;
use std::collections::BTreeMap;

/// File that is written.
pub const FILE: &str = "kernel.toml";

/// A kernel that is not written yet.
pub struct Draft {
    /// The kernel, sound as a whole.
    pub kernel: Kernel,
    /// Texts of its files by their names.
    pub texts: BTreeMap<String, String>,
}

/// The kernel that is asked for, checked as `check` does: what is none is never written.
///
/// # Errors
/// The error of what is wrong with it.
pub fn draft(args: &Args) -> Result<Draft> {
    let mut texts = BTreeMap::new();
    let text = match &args.source {
        Some(source) => {
            let path = args.folder.join(source);
            let (text, reference) = text::of_source(args, &source_of(args)?).map_err(|e| e.at_place(path.display()))?;
            texts.extend(reference.map(|code| (text::reference(args).to_string(), code)));
            text
        }
        None => text::of_program(args)?,
    };
    texts.insert(FILE.into(), text);
    let kernel = Kernel::in_folder(&args.folder, texts.clone())?;
    crate::cli::check::check_kernel(&kernel)?;
    Ok(Draft { kernel, texts })
}

/// The text of the source that is named.
///
/// # Errors
/// `Error::File` where it cannot be read.
pub fn source_of(args: &Args) -> Result<String> {
    read_text(&args.folder.join(args.source.as_deref().unwrap_or_default()), limits::TEXT)
}
