//! `export table --for TARGET` for targets that have options of their own: the words of the subcommand that writes them.

use std::ffi::{OsStr, OsString};

/// Targets with a subcommand of `export` each.
pub const TARGETS: [&str; 7] = ["header", "inductor", "miopen", "clblast", "kernel-tuner", "megatron", "aiter"];

/// The words of `export TARGET` for those of `export table … --for TARGET … --from FILE…`; `None` of other command lines.
pub fn words_of_target(words: &[OsString]) -> Option<Vec<OsString>> {
    // before the verb there are but flags, such as `-v`
    let at = 1 + words.get(1..)?.iter().position(|word| !word.as_encoded_bytes().starts_with(b"-"))?;
    if words.get(at)? != "export" || words.get(at + 1)? != "table" {
        return None;
    }
    let rest = &words[at + 2..];
    let for_at =
        rest.iter().position(|word| word == "--for" || word.to_str().is_some_and(|w| w.starts_with("--for=")))?;
    let (target, behind): (&OsStr, usize) = match rest[for_at].to_str()?.strip_prefix("--for=") {
        Some(target) => (OsStr::new(target), for_at + 1),
        None => (rest.get(for_at + 1)?, for_at + 2),
    };
    let target = TARGETS.into_iter().find(|known| target == *known)?;
    let mut found = words[..=at].to_vec();
    found.push(target.into());
    // the sources are the subcommand's own problems, which stand behind the model
    for word in rest[..for_at].iter().chain(&rest[behind..]).filter(|word| *word != "--from") {
        match word.to_str().and_then(|word| word.strip_prefix("--from=")) {
            Some(source) => found.push(source.into()),
            None => found.push(word.clone()),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Option<String> {
        let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
        let found = words_of_target(&words)?;
        Some(found.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_table_for_a_target_with_options_of_its_own_is_its_subcommand() {
        let found = target("seqtune -v export table m --for header --from sizes.txt -o t.hpp --leaves 8");
        assert_eq!(found.unwrap(), "seqtune -v export header m sizes.txt -o t.hpp --leaves 8");
        let found = target("seqtune export table m --from=a --for=inductor -o t.json");
        assert_eq!(found.unwrap(), "seqtune export inductor m a -o t.json");
        for other in [
            "export table m --for vllm --from log",
            "export header m sizes",
            "export table m",
            "predict m --for header",
        ] {
            assert_eq!(target(&format!("seqtune {other}")), None);
        }
        assert_eq!(target("seqtune"), None);
        assert_eq!(target("seqtune export table m --for"), None);
    }
}
