//! What imports share: options, and what they tell.

use seqtune_console::answer::warn;
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_data::formats::opened::{self, OpenedText};
use seqtune_data::{BadRows, Dataset, Twice};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What becomes of rows that cannot be read.
#[derive(clap::Args)]
pub struct Strictness {
    /// Refuse the import if any row cannot be read
    ///
    /// By default such rows are left out and counted. An import with more than half of its rows unreadable is always refused. For CLBlast
    /// and Triton, the option also refuses configs that the kernel cannot express.
    #[arg(long)]
    pub strict: bool,
}

/// The dataset of an import of one kernel.
#[derive(clap::Args)]
pub struct Target {
    /// Dataset to write: packed if it ends in .sqt, else a journal
    #[arg(short, long, value_name = "DATASET")]
    pub output: PathBuf,
    #[command(flatten)]
    pub strictness: Strictness,
    #[command(flatten)]
    replace: Replace,
}

impl Target {
    /// Refuses an output that would take the place of something else, before the work.
    pub fn claim(&self, files: &[PathBuf]) -> Result<()> {
        claim(&self.output, Kind::Dataset, self.replace, files)
    }

    /// Refuses what could be read and is left out all the same, where nothing may be.
    ///
    /// # Errors
    /// `Error::Input` with the commonest reason and its example.
    pub fn refuse(&self, rows: usize, left_out: &BadRows) -> Result<()> {
        if self.strictness.strict { left_out.refuse(rows) } else { Ok(()) }
    }

    /// Saves what was imported; `what` are rows or configs, `left_out` those that could be read, by reason.
    ///
    /// # Errors
    /// `Error::Input` where rows that cannot be read refuse the import, or nothing is left.
    pub fn save(
        &self,
        dataset: &Dataset,
        (rows, bad): (usize, &BadRows),
        (what, left_out): (&str, &str),
    ) -> Result<()> {
        bad.check(rows, self.strictness.strict)?;
        let why: Vec<&str> = left_out.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
        match dataset.records.is_empty() {
            true if why.is_empty() => input(format!("no {what} could be imported: the files hold none")),
            true => input(format!("no {what} could be imported; {}", why.join("; "))),
            false => dataset.save(&self.output),
        }
    }
}

/// What each file gives. One that cannot be read is left out with a warning, unless none may be (`strict`) or no other is there.
///
/// # Errors
/// The error of the first file that cannot be read, where it refuses the import.
pub fn readable<F, T>(files: &[F], strict: bool, read: &dyn Fn(&F) -> Result<T>) -> Result<Vec<T>> {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for file in files {
        match read(file) {
            Ok(one) => found.push(one),
            Err(e) if strict => return Err(e.at_place("--strict")),
            Err(e) => unread.push(e),
        }
    }
    if found.is_empty() && !unread.is_empty() {
        return Err(unread.remove(0));
    }
    unread.iter().for_each(|e| warn(&format!("1 of {} files is left out: {e}", files.len())));
    Ok(found)
}

/// Files, unpacked, as text; see [`readable`].
///
/// # Errors
/// As [`readable`].
pub fn texts(files: &[PathBuf], strict: bool) -> Result<Vec<OpenedText>> {
    Ok(readable(files, strict, &|path| opened::texts(path))?.concat())
}

/// What an import left out, in lines behind its summary; `what` is a row or a config.
pub fn left_behind(twice: &Twice, left_out: &BTreeMap<String, usize>, what: &str, bad: &BadRows) -> String {
    let mut text = String::new();
    if twice.again > 0 {
        text += &format!(
            "\nmeasured again, {}: the times stand beside those of an earlier one",
            count_noun(twice.again, what)
        );
    }
    if twice.same > 0 {
        text += &format!("\nleft out, {}: the same as an earlier one", count_noun(twice.same, what));
    }
    for (reason, count) in left_out {
        text += &format!("\nleft out, {}: {reason}", count_noun(*count, what));
    }
    text + &bad.text()
}
