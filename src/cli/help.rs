//! What `seqtune --help` shows: the verbs in groups, each with the first line of its own help.

use clap::Command;

/// Headings, each with its verbs.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Predict", &["predict", "validate", "select"]),
    ("Describe a kernel", &["init", "space", "check"]),
    ("Measure", &["sweep"]),
    ("Edit code", &["evolve"]),
    ("Learn", &["train", "distil", "calibrate", "evaluate"]),
    ("Exchange files", &["import", "export"]),
    ("Set up", &["doctor", "devices", "help"]),
];

/// Gives a command the help that lists its verbs by group.
pub fn group_verbs(command: Command) -> Command {
    let text = groups(&command);
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// The verbs, a line each below the heading of their group.
fn groups(command: &Command) -> String {
    let about = |name: &str| match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        None => "Prints this help, or that of a command".into(),
    };
    let width = GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, verbs) in GROUPS {
        text += &format!("{heading}:\n");
        verbs.iter().for_each(|verb| text += &format!("  {verb:width$}  {}\n", about(verb)));
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::GROUPS;

    #[test]
    fn each_verb_stands_once_in_the_help_with_its_own_words() {
        let command = crate::cli::command();
        let shown: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().filter(|v| *v != "help").collect();
        let mut verbs: Vec<&str> =
            command.get_subcommands().filter(|v| !v.is_hide_set()).map(|v| v.get_name()).collect();
        assert!(verbs.len() <= 16, "{verbs:?}");
        let mut sorted = shown.clone();
        sorted.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(sorted, verbs);
        let help = command.clone().render_help().to_string();
        for verb in verbs {
            let about = command.find_subcommand(verb).and_then(|verb| verb.get_about()).unwrap().to_string();
            let lines = help.lines().filter(|line| line.trim_start().starts_with(&format!("{verb} ")));
            let lines: Vec<&str> = lines.collect();
            assert!(lines.len() == 1 && lines[0].ends_with(&about), "{verb}: {help}");
        }
    }
}
