//! What a kernel's source does with its entry and its parameters, as far as no compiler is needed to tell.

use crate::c_tokens::{directive, words_and_marks};
use crate::definition::Kernel;
use crate::error::{Result, input};
use crate::plain::{code_alone, without_comments};
use std::collections::BTreeSet;

impl Kernel {
    /// Refuses a kernel that cannot be measured.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) of a kernel that describes a space alone; [`Error::Input`](crate::Error::Input) as
    /// [`Kernel::check_source`].
    pub fn check_runs(&self) -> Result<()> {
        if self.run.is_some() { Ok(()) } else { self.source().map(drop).and_then(|()| self.check_source()) }
    }

    /// Refuses a source without the function that it is to have, or that defines a parameter anew, so that its values take no effect.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) with the file and what to do.
    pub fn check_source(&self) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        for (file, entry) in
            [(&source.program.file, &source.program.entry), (&source.reference.file, &source.reference.entry)]
        {
            let Some(text) = self.files.get(file) else { continue };
            let code = without_comments(text);
            // a macro may make the name of parts
            let makes_names = code.contains("##");
            if !makes_names && !words_and_marks(&code).any(|word| word == entry) {
                return input(format!(
                    "{}: {file} has no function `{entry}`, which kernel.toml names as its entry",
                    self.place
                ));
            }
        }
        let file = &source.program.file;
        for (at, name) in definitions(self.files.get(file).map_or("", String::as_str)) {
            if self.parameters.iter().any(|parameter| parameter.name == name) {
                return input(format!(
                    "{}: line {at} of {file} defines the parameter {name}, so that all of its values would do the same; leave that line \
                     out, or write `#ifndef {name}` before it and `#endif` behind it",
                    self.place
                ));
            }
        }
        Ok(())
    }

    /// Parameters of a kernel with a source that neither its files nor the launch name, so that all of their values do the same.
    pub fn unread_parameters(&self) -> Vec<&str> {
        let Some(source) = &self.source else { return Vec::new() };
        let is_source = |name: &str| !name.ends_with(".toml") && name != source.reference.file;
        let sources = self.files.iter().filter(|(name, _)| is_source(name) || **name == source.program.file);
        let plain: Vec<String> = sources.map(|(_, text)| without_comments(text)).collect();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = plain.iter().flat_map(|text| text.split(|c| !is_part(c))).collect();
        let launch = &source.program;
        let mut launched = BTreeSet::new();
        let expressions = launch.global.iter().chain(&launch.local).chain(&launch.dynamic_local);
        expressions.for_each(|expr| {
            expr.slots(&mut |slot| {
                launched.insert(slot);
            });
        });
        // a label of a parameter has a macro of its own, NAME_label
        let is_read = |name: &str| {
            let mut found = words.range(name..).map_while(|word| word.strip_prefix(name));
            found.any(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let of_clocks = |at: usize| self.clocks.as_ref().is_some_and(|clocks| clocks.reads(at));
        let all = self.parameters.iter().enumerate();
        let unread = all.filter(|(at, p)| !launched.contains(at) && !of_clocks(*at) && !is_read(&p.name));
        unread.map(|(_, p)| p.name.as_str()).collect()
    }
}

/// The macros that a source defines whatever was defined before, each with its line, counted from 1: a conditional that names the macro
/// spares what was defined.
fn definitions(source: &str) -> Vec<(usize, String)> {
    let (mut open, mut found): (Vec<Vec<String>>, Vec<(usize, String)>) = (Vec::new(), Vec::new());
    for (at, line) in code_alone(source).lines().enumerate() {
        let Some(text) = directive(line) else { continue };
        let words: Vec<String> = words_and_marks(text).map(String::from).collect();
        match words.first().map_or("", String::as_str) {
            "if" | "ifdef" | "ifndef" => open.push(words),
            "elif" | "elifdef" | "elifndef" => {
                open.last_mut().into_iter().for_each(|names| names.extend(words.clone()))
            }
            "endif" => drop(open.pop()),
            "define" => {
                if let Some(name) = words.get(1).filter(|name| !open.iter().flatten().any(|word| word == *name)) {
                    found.push((at + 1, name.clone()));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_counts_where_no_conditional_names_its_macro() {
        let source = "// #define A 1\n#define B 2\n#ifndef C\n#define C 3\n#endif\n#if !defined(D) && 1\n  # define D 4\n\
            #elif E\n#define E 5\n#define F(x) x\n#endif\n/*\n#define G 6\n*/\n#define H \\\n 7\n";
        let found = definitions(source);
        assert_eq!(found, [(2, "B".to_string()), (10, "F".into()), (15, "H".into())]);
    }
}
