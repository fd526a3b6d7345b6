//! Options that had other names before: accepted for one release, with a warning.

use std::ffi::{OsStr, OsString};

/// An option by its name of before, among the words that follow these verbs.
#[derive(Clone, Copy, Debug)]
pub struct Renamed {
    /// Verbs that have the option, each the first word of a command line.
    pub verbs: &'static [&'static str],
    /// Name of before, with its hyphens.
    pub old: &'static str,
    /// Today's name, with a value where the old name stood for one.
    pub now: &'static str,
}

const fn row(verbs: &'static [&'static str], old: &'static str, now: &'static str) -> Renamed {
    Renamed { verbs, old, now }
}

/// All names of before.
pub const RENAMED: [Renamed; 27] = [
    row(&["sweep"], "--fresh", "--private-share"),
    row(&["validate"], "--search", "--random"),
    row(&["validate"], "--beside", "--also"),
    row(&["validate"], "--learn", "--record"),
    row(&["evaluate", "curve"], "--whole", "--all-problems"),
    row(&["evaluate"], "--light-gbm", "--lightgbm=on"),
    row(&["evaluate", "tuned"], "--no-trees", "--lightgbm=off"),
    row(&["evaluate", "tuned"], "--beside", "--baseline-model"),
    row(&["evaluate", "tuned"], "--as-stated", "--raw-probabilities"),
    row(&["evaluate"], "--judged", "--scored"),
    row(&["tuned"], "--whole-configs", "--config-classifiers"),
    row(&["tuned"], "--ktn", "--kernel-tuning-net"),
    row(&["tuned"], "--retuned", "--second-tuning"),
    row(&["curve"], "--curve", "--output"),
    row(&["tuners"], "--compile", "--compile-time"),
    row(&["tuners"], "--each", "--overhead"),
    row(&["train"], "--from", "--fine-tune"),
    row(&["train"], "--tau", "--target-temperature"),
    row(&["train"], "--batch", "--batch-size"),
    row(&["train"], "--smoothing", "--label-smoothing"),
    row(&["train"], "--rate", "--learning-rate"),
    row(&["train"], "--quick", "--no-cross-validation"),
    row(&["distil"], "--refined", "--fine-tuned"),
    row(&["distil"], "--invented", "--synthetic"),
    row(&["calibrate"], "--shown", "--held-out-results"),
    row(&["import"], "--again", "--second-tuning"),
    row(&["export"], "--sure-alone", "--no-library-if-sure"),
];

impl Renamed {
    /// The word with today's name; `None` where it is another option.
    fn modern(&self, word: &OsStr) -> Option<OsString> {
        match word.to_str()?.strip_prefix(self.old)? {
            "" => Some(self.now.into()),
            value if value.starts_with('=') => Some(format!("{}{value}", self.now).into()),
            _ => None,
        }
    }

    /// What the user is told.
    pub fn warning(&self) -> String {
        format!("{} is {} now; the older name ends with the next release", self.old, self.now)
    }
}

/// Gives the options of a command line today's names. Returns the words, and each row that was met.
pub fn modern(words: Vec<OsString>) -> (Vec<OsString>, Vec<Renamed>) {
    // before the verb there are but flags, such as `-v`
    let verb = words.iter().skip(1).find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let verb = verb.and_then(|verb| verb.to_str()).unwrap_or_default().to_string();
    let rows: Vec<Renamed> = RENAMED.into_iter().filter(|row| row.verbs.contains(&verb.as_str())).collect();
    let (mut met, mut are_options): (Vec<Renamed>, bool) = (Vec::new(), true);
    let mut modern = |word: OsString| {
        are_options &= word != "--";
        let found = rows.iter().filter(|_| are_options).find_map(|row| Some((row, row.modern(&word)?)));
        let Some((row, now)) = found else { return word };
        if met.iter().all(|other| other.old != row.old) {
            met.push(*row);
        }
        now
    };
    (words.into_iter().map(&mut modern).collect(), met)
}

/// Lists the names of before that verbs of a program still have.
pub fn stale(command: &clap::Command) -> Vec<String> {
    unlike(command, |row, verb| if has(verb, row.old) { Some(row.old) } else { None })
}

/// Lists today's names that verbs of a program lack.
pub fn missing(command: &clap::Command) -> Vec<String> {
    unlike(command, |row, verb| {
        let name = row.now.split('=').next().unwrap_or_default();
        if has(verb, name) { None } else { Some(row.now) }
    })
}

/// Names that are at fault, each behind its verb.
fn unlike(command: &clap::Command, fault: fn(&Renamed, &clap::Command) -> Option<&'static str>) -> Vec<String> {
    let mut faults = Vec::new();
    for row in RENAMED {
        let verbs = row.verbs.iter().filter_map(|verb| command.find_subcommand(verb));
        faults.extend(verbs.filter_map(|verb| Some(format!("{} {}", verb.get_name(), fault(&row, verb)?))));
    }
    faults
}

/// Whether a verb or one of its subcommands has an option.
fn has(command: &clap::Command, option: &str) -> bool {
    let name = option.trim_start_matches("--");
    command.get_arguments().any(|arg| arg.get_long() == Some(name))
        || command.get_subcommands().any(|inner| has(inner, option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn each_renamed_option_gets_todays_name_and_one_warning() {
        for row in RENAMED {
            let Renamed { verbs, old, now } = row;
            for verb in verbs {
                let (found, met) = modern(words(&format!("seqtune -v {verb} x {old} 3 {old}=4 -- {old}")));
                assert_eq!(found, words(&format!("seqtune -v {verb} x {now} 3 {now}=4 -- {old}")), "{verb}");
                assert_eq!(met.iter().map(|row| row.old).collect::<Vec<_>>(), [old], "{verb}");
            }
            let other = format!("seqtune space x {old} {old}er 3");
            assert_eq!(modern(words(&other)).0, words(&other));
            assert!(row.warning().contains(now) && !row.warning().contains('\n'));
        }
    }
}
