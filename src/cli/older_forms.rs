//! Verbs and forms of before: accepted for one release, with a warning.

use std::ffi::OsString;
use std::path::Path;

/// The program that carries out a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The running one.
    Own,
    /// `seqtune-lab`.
    Lab,
}

/// A verb as it was called before, with an option that tells which of its forms is meant.
struct OlderForm {
    verb: &'static str,
    /// `None` where every call of the verb is meant.
    option: Option<&'static str>,
    /// Whether the option says nothing beyond the form, so that it is left out.
    is_spent: bool,
    program: Program,
    /// Words that take the verb's place.
    now: &'static [&'static str],
}

const fn verb(verb: &'static str, program: Program, now: &'static [&'static str]) -> OlderForm {
    OlderForm { verb, option: None, is_spent: false, program, now }
}

const fn evaluation(option: &'static str, program: Program, now: &'static [&'static str]) -> OlderForm {
    OlderForm { verb: "evaluate", option: Some(option), is_spent: false, program, now }
}

/// Subcommands of `evaluate`: a call with one of them has today's form.
const EVALUATIONS: [&str; 6] = ["model", "measured", "folds", "devices", "speed", "help"];

/// The forms of before; of several that fit, the first one counts.
const FORMS: [OlderForm; 13] = [
    verb("merge", Program::Own, &["sweep", "merge"]),
    verb("status", Program::Own, &["sweep", "status"]),
    verb("convert", Program::Own, &["export", "dataset"]),
    verb("bench", Program::Own, &["evaluate", "speed"]),
    verb("rivals", Program::Lab, &["tuners"]),
    OlderForm { is_spent: true, ..evaluation("--leave-kernel-out", Program::Lab, &["kernels"]) },
    evaluation("--ktn", Program::Lab, &["tuned"]),
    evaluation("--whole-configs", Program::Lab, &["tuned"]),
    evaluation("--retuned", Program::Lab, &["tuned"]),
    evaluation("--curve", Program::Lab, &["curve"]),
    evaluation("--folds", Program::Own, &["evaluate", "folds"]),
    OlderForm { is_spent: true, ..evaluation("--leave-device-out", Program::Own, &["evaluate", "devices"]) },
    evaluation("--measured", Program::Own, &["evaluate", "measured"]),
];

/// What an evaluation of before is that has none of the options above.
const EVALUATION: OlderForm = verb("evaluate", Program::Own, &["evaluate", "model"]);

/// A command line in today's form.
#[derive(Debug, PartialEq, Eq)]
pub struct Modern {
    /// The words, the program's name first.
    pub words: Vec<OsString>,
    /// Which program reads them.
    pub program: Program,
    /// What the user is told.
    pub warning: String,
}

impl OlderForm {
    /// The words with the verb at `at` in today's form.
    fn modern(&self, words: &[OsString], at: usize) -> Modern {
        let name = match self.program {
            Program::Own => "seqtune",
            Program::Lab => "seqtune-lab",
        };
        let older = [Some(self.verb), self.option].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let rest =
            words[at + 1..].iter().filter(|word| !self.is_spent || self.option.is_none_or(|option| *word != option));
        let verb = self.now.iter().map(OsString::from);
        Modern {
            words: words[..at].iter().cloned().chain(verb).chain(rest.cloned()).collect(),
            program: self.program,
            warning: format!(
                "`seqtune {older}` is `{name} {}` now; the older form ends with the next release",
                self.now.join(" ")
            ),
        }
    }
}

/// Finds an older form in a command line; `None` where it has today's.
pub fn modern(words: &[OsString]) -> Option<Modern> {
    // before the verb there are but flags, such as `-v`
    let at = 1 + words.get(1..)?.iter().position(|word| !word.as_encoded_bytes().starts_with(b"-"))?;
    let (called, rest) = (words[at].to_str()?, &words[at + 1..]);
    let fits = |form: &&OlderForm| form.verb == called && form.option.is_none_or(|option| holds(rest, option));
    match called {
        "evaluate" => {
            let has_paths = rest.iter().any(|word| !word.as_encoded_bytes().starts_with(b"-"));
            let is_modern = rest.first().and_then(|word| word.to_str()).is_some_and(|word| EVALUATIONS.contains(&word))
                && !rest.get(1).is_some_and(is_dataset);
            let form = FORMS.iter().find(fits).unwrap_or(&EVALUATION);
            (has_paths && !is_modern).then(|| form.modern(words, at))
        }
        _ => FORMS.iter().find(fits).map(|form| form.modern(words, at)),
    }
}

/// Whether a word names a dataset, which is no model: before it stands a folder that has the name of a subcommand.
fn is_dataset(word: &OsString) -> bool {
    Path::new(word).extension().is_some_and(|ending| ending == "sqt" || ending == "jsonl")
}

/// Whether an option is among words, with its value in the same word or not.
fn holds(words: &[OsString], option: &str) -> bool {
    let bare = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    bare.map(|word| word.split('=').next().unwrap_or_default()).any(|word| word == option)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// What each row of the table is tried by: a line of before, and the same in today's form.
    const LINES: [(&str, &str); 14] = [
        ("seqtune merge a.jsonl b.jsonl -o x.sqt", "seqtune sweep merge a.jsonl b.jsonl -o x.sqt"),
        ("seqtune status", "seqtune sweep status"),
        ("seqtune convert x.jsonl -o x.sqt", "seqtune export dataset x.jsonl -o x.sqt"),
        ("seqtune bench model gemm --json", "seqtune evaluate speed model gemm --json"),
        ("seqtune -v rivals x.sqt --seeds 1", "seqtune -v tuners x.sqt --seeds 1"),
        ("seqtune evaluate --leave-kernel-out a.sqt b.sqt c.sqt", "seqtune kernels a.sqt b.sqt c.sqt"),
        ("seqtune evaluate model x.sqt --ktn=networks", "seqtune tuned model x.sqt --ktn=networks"),
        ("seqtune evaluate m x.sqt --whole-configs --json", "seqtune tuned m x.sqt --whole-configs --json"),
        ("seqtune evaluate m x.sqt --retuned y.sqt", "seqtune tuned m x.sqt --retuned y.sqt"),
        ("seqtune evaluate m x.sqt --curve c.svg", "seqtune curve m x.sqt --curve c.svg"),
        ("seqtune evaluate x.sqt --folds 3", "seqtune evaluate folds x.sqt --folds 3"),
        ("seqtune evaluate --leave-device-out x.sqt y.sqt", "seqtune evaluate devices x.sqt y.sqt"),
        ("seqtune evaluate m x.sqt --measured 1 2", "seqtune evaluate measured m x.sqt --measured 1 2"),
        ("seqtune evaluate model x.sqt --json", "seqtune evaluate model model x.sqt --json"),
    ];

    #[test]
    fn each_older_form_becomes_todays() {
        assert_eq!(LINES.len(), FORMS.len() + 1, "a line for each row");
        for (form, (older, now)) in FORMS.iter().chain([&EVALUATION]).zip(LINES) {
            let found = modern(&words(older)).unwrap();
            assert_eq!((found.words, found.program), (words(now), form.program), "{older}");
            assert!(found.warning.contains(form.now[0]) && !found.warning.contains('\n'), "{}", found.warning);
        }
    }

    #[test]
    fn todays_forms_stay_as_they_are() {
        for line in [
            "seqtune",
            "seqtune --help",
            "seqtune -v predict bench gemm M=1",
            "seqtune evaluate",
            "seqtune evaluate --help",
            "seqtune evaluate help folds",
            "seqtune evaluate model m x.sqt --json",
            "seqtune evaluate folds tuned --folds 3",
            "seqtune evaluate measured m x.sqt --measured 1",
        ] {
            assert_eq!(modern(&words(line)), None, "{line}");
        }
    }
}
