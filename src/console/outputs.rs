//! Files that are written: what is refused before the work.

use seqtune_choose::dispatch::MARK;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::files::{folder_of, target, temporary_beside};
use seqtune_predict::model::file_format::is_of_ours;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What may be replaced.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Replace {
    /// Replace an existing file of the same kind
    #[arg(long)]
    pub overwrite: bool,
    /// Replace any existing file
    #[arg(long)]
    pub force: bool,
    /// Whether the verb has the option.
    #[arg(skip = true)]
    pub has_force: bool,
}

impl Replace {
    /// Files of the same kind alone, whatever is asked.
    pub const OWN: Replace = Replace { overwrite: true, force: false, has_force: false };
}

/// A kind of file, to know one again before it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packed dataset or a journal.
    Dataset,
    /// A whole model.
    Model,
    /// A small decoder that a whole model was distilled into.
    SmallModel,
    /// A plot or a page of ours.
    Drawing,
    /// Comma-separated values with our columns.
    Csv,
    /// A Parquet file.
    Parquet,
    /// Results in the T4 format.
    T4,
    /// A cache file of Kernel Tuner.
    Cache,
    /// A user database of MIOpen.
    MiopenText,
    /// A lookup table of PyTorch Inductor.
    Inductor,
    /// A C++ header of choices.
    Header,
    /// Choices as a header, a module or a table.
    Choices,
    /// A C header for CLBlast.
    ClblastHeader,
    /// Sections for CLBlast's database.
    ClblastJson,
    /// Rows that are certified to be never slower than the default.
    CertifiedRows,
    /// A table of vLLM, SGLang or Megatron-Core, or what stands beside such tables.
    EngineTable,
    /// A tuned table of AITER.
    AiterTable,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Dataset => "dataset",
            Kind::Model => "whole model",
            Kind::SmallModel => "small decoder",
            Kind::Drawing => "plot or page of seqtune",
            Kind::Csv => "table of seqtune",
            Kind::Parquet => "Parquet file",
            Kind::T4 => "file of T4 results",
            Kind::Cache => "cache file of Kernel Tuner",
            Kind::MiopenText => "database of MIOpen",
            Kind::Inductor => "lookup table of Inductor",
            Kind::Header => "header of seqtune",
            Kind::Choices => "file of choices of seqtune",
            Kind::ClblastHeader => "header for CLBlast",
            Kind::ClblastJson => "file of sections for CLBlast",
            Kind::CertifiedRows => "file of certified rows",
            Kind::EngineTable => "table of an engine",
            Kind::AiterTable => "tuned table of AITER",
        }
    }

    /// Refuses a name whose end says another kind of file.
    fn check_ending(self, output: &Path) -> Result<()> {
        let ending = output.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let known = ENDINGS.iter().find(|(known, ..)| *known == ending);
        let Some((_, kinds, verb)) = known.filter(|(_, kinds, _)| !kinds.contains(&self)) else { return Ok(()) };
        // a page or a note may be called as it likes
        if matches!(self, Kind::Model | Kind::Drawing) || kinds.is_empty() && self != Kind::Dataset {
            return Ok(());
        }
        let own = match self {
            Kind::Dataset => "a dataset ends in .sqt or .jsonl".to_string(),
            other => format!("another name is for a {}", other.name()),
        };
        input(format!("{}: {verb} writes such a file; {own}", output.display()))
    }

    /// Whether a regular file is of the kind, by its first bytes.
    fn is(self, path: &Path) -> bool {
        let mut head = Vec::new();
        if std::fs::File::open(path).and_then(|file| file.take(1_024).read_to_end(&mut head)).is_err() {
            return false;
        }
        let text = String::from_utf8_lossy(&head);
        match self {
            Kind::Dataset => seqtune_data::packed::is_packed(&head) || seqtune_data::journal::is_journal(&head),
            Kind::Model => is_of_ours(path, false),
            Kind::SmallModel => is_of_ours(path, true),
            Kind::Drawing => text.contains(seqtune_eval::pages::plot::MARK),
            Kind::Csv => text.lines().next().is_some_and(|line| line.contains(",outcome,")),
            Kind::Parquet => head.starts_with(b"PAR1"),
            Kind::T4 => text.starts_with("{\"schema_version\""),
            Kind::Cache => text.starts_with("{\"device_name\"") && text.contains("\"tune_params_keys\""),
            Kind::Inductor => text.starts_with('{') && text.contains("(torch."),
            Kind::Header => is_of_choices(&text, &["// "]),
            Kind::Choices => is_of_choices(&text, &["// ", "# ", "{\n  \"made_by\": \""]),
            Kind::ClblastHeader => text.starts_with(seqtune_data::formats::clblast::MARK),
            Kind::ClblastJson => text.starts_with('{') && text.contains("\"kernel_family\""),
            Kind::CertifiedRows => text.starts_with("{\n  \"certified_by\": \"seqtune "),
            Kind::EngineTable => {
                text.starts_with('{') && (text.contains("\"num_warps\"") || text.contains("\"seqtune\""))
            }
            Kind::AiterTable => text.lines().next().is_some_and(|line| line.contains("kernelId")),
            Kind::MiopenText => text.lines().next().is_some_and(|line| line.contains('=') && line.contains(':')),
        }
    }
}

/// Whether a text begins with the mark of choices, behind one of some signs.
fn is_of_choices(text: &str, signs: &[&str]) -> bool {
    let is_marked = |sign: &&str| text.strip_prefix(*sign).is_some_and(|text| text.starts_with(MARK));
    signs.iter().any(is_marked)
}

/// Ends of names that decide what a file is: the kinds that have it, and the verb that writes it.
const ENDINGS: [(&str, &[Kind], &str); 5] = [
    ("sqt", &[Kind::Dataset], "`seqtune export dataset`"),
    ("jsonl", &[Kind::Dataset], "`seqtune export dataset`"),
    ("csv", &[Kind::Csv, Kind::Choices, Kind::AiterTable], "`seqtune export csv`"),
    ("parquet", &[Kind::Parquet], "`seqtune export parquet`"),
    // of many kinds, none of which is a dataset
    ("json", &[], "`seqtune export kernel-tuner` or `export t4`"),
];

/// Refuses to write where that would take the place of something else, or cannot work: before the work is done.
///
/// # Errors
/// `Error::Input` where the file is there and not to be replaced, is of another kind, or is one of those that are read;
/// `Error::File` or `Error::Failed` where its folder cannot be written to.
pub fn claim(output: &Path, kind: Kind, replace: Replace, read: &[PathBuf]) -> Result<()> {
    let place = output.display();
    let led = target(output)?;
    kind.check_ending(output)?;
    if read.iter().any(|path| is_same(path, output)) {
        return input(format!("{place} is what is read; name another file to write"));
    }
    if led.exists() && !replace.force {
        if !replace.overwrite {
            return input(format!("{place} exists; name another file, or pass --overwrite"));
        }
        if !kind.is(&led) {
            let force = if replace.has_force { ", or pass --force" } else { "" };
            return input(format!("{place} is there and no {}; name another file{force}", kind.name()));
        }
    }
    // the folder takes files; nothing stays in it
    temporary_beside(&led).map(drop)
}

/// Refuses a name for a journal whose end says another kind of file.
///
/// # Errors
/// `Error::Input` with what the end stands for.
pub fn check_journal(output: &Path) -> Result<()> {
    match output.extension().is_some_and(|e| e == "sqt") {
        true => input(format!("{}: a sweep goes on in a journal, .jsonl; --pack writes .sqt", output.display())),
        false => Kind::Dataset.check_ending(output),
    }
}

/// Claims several files of one kind, before the first of them is written.
///
/// # Errors
/// As [`claim`]; `Error::Input` where two of them are one file, also where capitals do not tell files apart.
pub fn claim_all(outputs: &[PathBuf], kind: Kind, replace: Replace, read: &[PathBuf]) -> Result<()> {
    let mut seen: HashMap<String, &PathBuf> = HashMap::new();
    for output in outputs {
        claim(output, kind, replace, read)?;
        let led = target(output)?;
        let whole = led.canonicalize().unwrap_or(led);
        if let Some(other) = seen.insert(whole.to_string_lossy().to_lowercase(), output) {
            return input(format!(
                "{} and {} would be one file; nothing is written",
                other.display(),
                output.display()
            ));
        }
    }
    Ok(())
}

/// Names that are no two the same, whatever the size of their letters: a later one that is gets a number.
pub fn distinct(names: Vec<String>) -> Vec<String> {
    let mut taken: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let mut written: Vec<String> = Vec::new();
    for (i, name) in names.into_iter().enumerate() {
        let mut own = name.clone();
        let mut number = 1;
        while taken[..i].contains(&own.to_lowercase()) {
            number += 1;
            own = format!("{name}-{number}");
        }
        taken[i] = own.to_lowercase();
        written.push(own);
    }
    written
}

/// Claims the plots and pages of a verb: those of before are replaced, other files only by force.
///
/// # Errors
/// As [`claim`]; `Error::Input` where two of them are one file.
pub fn claim_drawings(outputs: &[Option<&PathBuf>], force: bool, read: &[PathBuf]) -> Result<()> {
    let outputs: Vec<&PathBuf> = outputs.iter().copied().flatten().collect();
    for (i, output) in outputs.iter().enumerate() {
        claim(output, Kind::Drawing, Replace { overwrite: true, force, has_force: true }, read)?;
        if outputs[..i].iter().any(|other| is_same(other, output)) {
            return input(format!("{} is named for two files; name another", output.display()));
        }
    }
    Ok(())
}

/// Whether two paths name one file, be it there or not.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| -> Option<PathBuf> {
        path.canonicalize().ok().or_else(|| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?)))
    };
    a == b || matches!((whole(a), whole(b)), (Some(a), Some(b)) if a == b)
}

/// What a name from data becomes as a part of a path: letters, digits, `-`, `_` and `.`, never a folder.
///
/// # Errors
/// `Error::Input` of a name of which nothing is left.
pub fn file_name(name: &str) -> Result<String> {
    let part = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = name.chars().map(part).collect();
    match name.trim_matches('.').is_empty() {
        true => Err(Error::Input(format!("`{name}` is no name that a file can have"))),
        false => Ok(name),
    }
}

/// The command line, for provenance.
pub fn command_line() -> String {
    let mut words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(first) = words.first_mut() {
        *first = "seqtune".into();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_data_stay_in_the_folder() {
        assert_eq!(file_name("../../x y/z").unwrap(), ".._.._x_y_z");
        assert_eq!(file_name("gfx906 (60)").unwrap(), "gfx906__60_");
        assert!(file_name("..").is_err() && file_name("").is_err());
    }

    #[test]
    fn no_two_names_of_a_set_are_the_same_and_a_name_keeps_to_its_place() {
        let names = |names: &[&str]| distinct(names.iter().map(|name| name.to_string()).collect());
        assert_eq!(names(&["A-1", "B", "a-1", "A-1", "A-1-2"]), ["A-1", "B", "a-1-2", "A-1-3", "A-1-2-2"]);
    }

    #[test]
    fn the_end_of_a_name_decides_what_is_written_under_it() {
        let folder = tempfile::tempdir().unwrap();
        let claim = |name: &str, kind| {
            claim(&folder.path().join(name), kind, Replace::default(), &[]).map_err(|e| e.to_string())
        };
        for (name, kind) in [
            ("x.sqt", Kind::Dataset),
            ("x", Kind::Dataset),
            ("x.csv", Kind::Csv),
            ("x.json", Kind::T4),
            ("x.txt", Kind::Csv),
        ] {
            assert!(claim(name, kind).is_ok(), "{name}");
        }
        for (name, kind, verb) in [
            ("x.csv", Kind::Dataset, "export csv"),
            ("x.PARQUET", Kind::Dataset, "export parquet"),
            ("x.json", Kind::Dataset, "export kernel-tuner"),
            ("x.parquet", Kind::Csv, "export parquet"),
            ("x.sqt", Kind::T4, "export dataset"),
            ("x.jsonl", Kind::Cache, "export dataset"),
        ] {
            assert!(claim(name, kind).unwrap_err().contains(verb), "{name}");
        }
    }

    #[test]
    fn only_a_file_of_the_same_kind_is_replaced_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("note.svg");
        std::fs::write(&note, "remember the milk").unwrap();
        let own = Replace::OWN;
        let sentence = |replace| claim(&note, Kind::Drawing, replace, &[]).map_err(|e| e.to_string());
        assert!(sentence(Replace::default()).unwrap_err().contains("exists"));
        assert!(sentence(own).unwrap_err().contains("is there and no plot"));
        assert!(sentence(Replace { force: true, ..Replace::default() }).is_ok());
        std::fs::write(&note, format!("{}\n<svg/>", seqtune_eval::pages::plot::MARK)).unwrap();
        assert!(sentence(own).is_ok());
        let read = [folder.path().join("./note.svg")];
        assert!(claim(&note, Kind::Drawing, Replace { force: true, ..own }, &read).is_err());
    }
}
