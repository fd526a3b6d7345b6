//! Files that a source includes from its own folder: they are put in its place, so that every compiler finds them and the space's hash covers them.

use crate::c_tokens::directive;
use crate::error::{Result, input, quote};
use crate::plain::code_alone;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most files within one another.
const DEPTH: usize = 32;

/// A source into which files are put.
pub struct Included<'a> {
    /// Reads a file; `None` where it is not there.
    pub read: &'a dyn Fn(&Path) -> Result<Option<String>>,
    /// Bytes of the whole at most.
    pub most: usize,
}

impl Included<'_> {
    /// The text of the file `name` in `folder` with the text of each `#include "other"` in its place. What is in angle brackets, or not there,
    /// is left to the compiler. `#line` tells compilers where they are.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where files include one another without end, or are too large together; those of reading.
    pub fn whole(&self, folder: &Path, name: &str, text: String) -> Result<String> {
        if !text.contains("include") {
            return Ok(text);
        }
        let mut whole = String::with_capacity(text.len());
        self.put(&mut whole, &mut BTreeSet::new(), &folder.join(name), &text, 0)
            .map_err(|e| e.at_place(quote(name)))?;
        Ok(whole)
    }

    fn put(
        &self,
        whole: &mut String,
        once: &mut BTreeSet<PathBuf>,
        path: &Path,
        text: &str,
        depth: usize,
    ) -> Result<()> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for (at, (line, code)) in text.lines().zip(code_alone(text).lines()).enumerate() {
            let directive = directive(code);
            let other = directive.and_then(|rest| rest.strip_prefix("include")).and_then(|_| in_quotes(line));
            match other.map(|other| (other, folder.join(other))) {
                Some((other, path)) => match self.file(once, &path, depth)? {
                    File::Missing => whole.push_str(line),
                    File::Once => {}
                    File::There(text) => {
                        *whole += &format!("#line 1 \"{other}\"\n");
                        self.put(whole, once, &path, &text, depth + 1)?;
                        *whole += &format!("#line {} \"{name}\"\n", at + 2);
                        continue;
                    }
                },
                None if depth > 0 && directive.is_some_and(|rest| rest.split_whitespace().eq(["pragma", "once"])) => {
                    once.insert(path.into());
                }
                None => whole.push_str(line),
            }
            whole.push('\n');
            if whole.len() > self.most {
                return input(format!("its includes have more than {} MB together", self.most / 1_000_000));
            }
        }
        Ok(())
    }

    fn file(&self, once: &BTreeSet<PathBuf>, path: &Path, depth: usize) -> Result<File> {
        if once.contains(path) {
            return Ok(File::Once);
        }
        match (self.read)(path)? {
            None => Ok(File::Missing),
            Some(_) if depth == DEPTH => input(format!(
                "files include one another more than {DEPTH} deep, `{}` among them; write `#pragma once` into each",
                quote(&path.file_name().unwrap_or_default().to_string_lossy())
            )),
            Some(text) => Ok(File::There(text)),
        }
    }
}

/// What an `#include` leads to.
enum File {
    Missing,
    /// It said `#pragma once`, and was there before.
    Once,
    There(String),
}

/// The name in the quotes of an `#include`; no path from the root.
fn in_quotes(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('"')?;
    let (name, _) = rest.split_once('"')?;
    (!name.is_empty() && !name.starts_with('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(files: &[(&str, &str)]) -> Result<String> {
        let read =
            |path: &Path| Ok(files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string()));
        Included { read: &read, most: 10_000 }.whole(Path::new(""), files[0].0, files[0].1.into())
    }

    #[test]
    fn files_stand_in_place_of_their_includes_and_lines_are_told() {
        let main = "a\n#include \"t.h\" // tiles\n#include <t.h>\n  # include \"none.h\"\n// #include \"t.h\"\n/*\n#include \"t.h\"\n*/ b\n";
        let found =
            whole(&[("k.cl", main), ("t.h", "c\n#include \"d/u.h\"\n"), ("d/u.h", "d"), ("u.h", "wrong")]).unwrap();
        let expected = "a\n#line 1 \"t.h\"\nc\n#line 1 \"d/u.h\"\nd\n#line 3 \"t.h\"\n#line 3 \"k.cl\"\n#include <t.h>\n  # include \"none.h\"\n\
                        // #include \"t.h\"\n/*\n#include \"t.h\"\n*/ b\n";
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_that_says_so_is_there_once_and_one_that_includes_itself_is_refused() {
        let main = "#include \"t.h\"\n#include \"t.h\"\n";
        let found = whole(&[("k.cl", main), ("t.h", "#pragma once\nc\n")]).unwrap();
        assert_eq!(found, "#line 1 \"t.h\"\n\nc\n#line 2 \"k.cl\"\n\n");
        let endless = whole(&[("k.cl", main), ("t.h", "c\n#include \"t.h\"\n")]).unwrap_err().to_string();
        assert!(endless.contains("k.cl") && endless.contains("more than 32 deep, `t.h` among them"), "{endless}");
        let large = whole(&[("k.cl", &main.repeat(100)), ("t.h", &"c\n".repeat(1_000))]).unwrap_err().to_string();
        assert!(large.contains("more than 0 MB"), "{large}");
    }
}
