//! `docs/reference/kernel-toml.md` against the program: its examples load, its expressions have the values it states, and every
//! key of the format has a row in its table.

use seqtune_kernel::{Device, Kernel, LIMIT_NAMES};
use std::collections::BTreeMap;

const DOCUMENT: &str = "docs/reference/kernel-toml.md";
/// Where the keys of the format are declared.
const SPECS: [&str; 2] = ["src/kernel/kernel_toml/spec.rs", "src/kernel/kernel_toml/run_spec.rs"];

/// The section that documents a struct of the format.
const SECTIONS: [(&str, &str); 17] = [
    ("KernelSpec", "## Top level"),
    ("Field", "## `[[field]]`"),
    ("RuleSpec", "## `[[rule]]` and `[[constraint]]`"),
    ("ParameterSpec", "## `[[parameter]]`"),
    ("FeatureSpec", "## `[[feature]]`"),
    ("WorkSpec", "## `[work]`"),
    ("ProgramSpec", "## `[program]` and `[reference]`"),
    ("ArgumentSpec", "## `[[argument]]`"),
    ("ExactSpec", "## `[exact]`"),
    ("LibrarySpec", "## `[library]`"),
    ("GemmSpec", "## `[library]`"),
    ("ClocksSpec", "## `[clocks]`"),
    ("DatabaseSpec", "## `[database]`"),
    ("RunSpec", "## `[run]`"),
    ("InputSpec", "## `[run]`"),
    ("PatternSpec", "## `[run]`"),
    ("BaseSpec", "## Base files"),
];

/// A fenced block: what stands behind its fence, its text, and the line it begins at.
struct Block {
    info: String,
    text: String,
    line: usize,
}

fn blocks(document: &str) -> Vec<Block> {
    let (mut blocks, mut open) = (Vec::new(), None::<Block>);
    for (at, line) in document.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some(Block { info: info.into(), text: String::new(), line: at + 1 }),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

/// What a document holds, and what its examples rest on.
struct Examples {
    blocks: Vec<Block>,
    /// The file that fragments are appended to.
    minimal: String,
    /// Base files, and a source of each name that any example gives.
    files: BTreeMap<String, String>,
    device: Device,
    problem: String,
    config: String,
}

impl Examples {
    fn read(document: &str) -> Result<Examples, String> {
        let blocks = blocks(document);
        let first = |info: &str| {
            let found = blocks.iter().find(|b| b.info == info).ok_or(format!("there is no block of `{info}`"))?;
            Ok::<_, String>(found.text.clone())
        };
        let stated = first("text example")?;
        let after = |word: &str| {
            let line = stated.lines().find_map(|l| l.strip_prefix(word)).map(|rest| rest.trim().to_string());
            line.ok_or(format!("the example states no {word}"))
        };
        let mut files: BTreeMap<String, String> = blocks
            .iter()
            .filter_map(|b| Some((b.info.strip_prefix("toml base ")?.to_string(), b.text.clone())))
            .collect();
        for line in blocks.iter().flat_map(|b| b.text.lines()) {
            if let Some(name) = line.strip_prefix("file = \"").and_then(|rest| rest.strip_suffix('"')) {
                files.insert(name.into(), "// a source\n".into());
            }
        }
        let device = Device::parse_file(&first("toml device")?, "the example's device").map_err(|e| e.to_string())?;
        Ok(Examples {
            minimal: first("toml kernel")?,
            files,
            device: device.into_iter().next().ok_or("there is no device")?,
            problem: after("problem")?,
            config: after("config")?,
            blocks,
        })
    }

    fn load(&self, text: &str) -> Result<Kernel, String> {
        let mut files = self.files.clone();
        files.insert("kernel.toml".into(), text.into());
        Kernel::from_files(files, "kernel.toml").map_err(|e| e.to_string())
    }

    /// Value of an expression for the stated problem, config and device: of a feature appended to the smallest kernel.
    fn value(&self, expr: &str) -> Result<f64, String> {
        let kernel = self.load(&format!("{}\n[[feature]]\nname = \"value\"\nexpr = '''{expr}'''\n", self.minimal))?;
        let problem = kernel.problem(&self.problem).map_err(|e| e.to_string())?;
        let config = kernel.config(&self.config).map_err(|e| e.to_string())?;
        let feature = kernel.features.last().ok_or("there is no feature")?;
        Ok(feature.expr.eval(&kernel.env_of(&problem, Some(&self.device), &config)))
    }

    /// A line of a block of expressions: `EXPR # = VALUE`, or `EXPR # ! FAULT`.
    fn check_expr(&self, line: &str) -> Result<(), String> {
        let Some((expr, stated)) = line.split_once('#') else { return Err(format!("{line}: states no value")) };
        let (expr, stated) = (expr.trim(), stated.trim());
        let found = self.value(expr);
        match (stated.strip_prefix('='), stated.strip_prefix('!').map(str::trim), found) {
            (Some(value), _, Ok(found)) => {
                let value: f64 = value.trim().parse().map_err(|_| format!("{expr}: `{value}` is not a number"))?;
                let same = (found - value).abs() <= 1e-12 * value.abs() || found == value;
                if same || found.is_nan() && value.is_nan() { Ok(()) } else { Err(format!("{expr} is {found}")) }
            }
            (_, Some(fault), Err(e)) if e.contains(fault) => Ok(()),
            (_, _, Err(e)) => Err(format!("{expr}: {e}")),
            (_, _, Ok(found)) => Err(format!("{expr}: is {found} and not refused")),
        }
    }

    fn check_block(&self, block: &Block) -> Result<(), String> {
        let appended = || self.load(&format!("{}\n{}", self.minimal, block.text));
        match block.info.split(' ').collect::<Vec<_>>()[..] {
            ["toml", "kernel"] => self.load(&block.text).map(drop),
            ["toml", "fragment"] => appended().map(drop),
            ["toml", "refused"] => {
                let fault = block.text.lines().next().and_then(|l| l.strip_prefix("# refused: "));
                let fault = fault.ok_or("does not say what is refused")?;
                match appended() {
                    Ok(_) => Err(format!("is not refused: {fault}")),
                    Err(e) if e.contains(fault) => Ok(()),
                    Err(e) => Err(format!("is refused otherwise: {e}")),
                }
            }
            ["expr"] => block.text.lines().filter(|l| !l.trim().is_empty()).try_for_each(|l| self.check_expr(l)),
            // loaded with the kernel that names it, and read above
            ["toml", "base", _] | ["toml", "device"] | ["text", "example"] => Ok(()),
            _ => Err(format!("`{}` is no kind of example", block.info)),
        }
    }
}

/// Checks every block of a document; the number of blocks, or the first fault with its line.
fn check(document: &str) -> Result<usize, String> {
    let examples = Examples::read(document)?;
    for block in &examples.blocks {
        examples.check_block(block).map_err(|e| format!("line {}: {e}", block.line))?;
    }
    Ok(examples.blocks.len())
}

/// Public fields of each struct of a source, and variants of each enum as `"variant"`.
fn declared(source: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let (mut is_enum, mut before) = (None, "");
    for line in source.lines() {
        let name = |rest: &str| rest.split([' ', '<', '{']).next().unwrap_or_default().to_string();
        if let Some(rest) = line.strip_prefix("pub struct ") {
            is_enum = Some(false);
            found.push((name(rest), Vec::new()));
        } else if let Some(rest) = line.strip_prefix("pub enum ") {
            is_enum = Some(true);
            found.push((name(rest), Vec::new()));
        } else if line.starts_with('}') {
            is_enum = None;
        } else if let (Some(is_enum), Some((_, members))) = (is_enum, found.last_mut()) {
            let line = line.trim();
            match line.strip_prefix("pub ").and_then(|rest| rest.split_once(':')) {
                Some((field, _)) if !is_enum => members.push(field.into()),
                // what a variant holds, a table or a value, is named by the key that has it
                None if is_enum && line.starts_with(|c: char| c.is_ascii_uppercase()) && !line.contains('(') => {
                    let renamed = before.strip_prefix("#[serde(rename = \"").and_then(|rest| rest.strip_suffix("\")]"));
                    let name = renamed.map_or(line.trim_end_matches(',').to_lowercase(), String::from);
                    members.push(format!("\"{name}\""));
                }
                _ => {}
            }
        }
        before = line.trim();
    }
    // an enum of values alone has no keys
    found.retain(|(name, members)| !members.is_empty() || !["DefaultSpec", "TimeSpec"].contains(&name.as_str()));
    found
}

/// What the document does not mention of what a source declares.
fn missing(document: &str, source: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, members) in declared(source) {
        let is_enum = members.first().is_some_and(|m| m.starts_with('"'));
        let section = match SECTIONS.iter().find(|(of, _)| *of == name) {
            _ if is_enum => document,
            Some((_, heading)) => {
                let behind = document.split_once(&format!("\n{heading}\n")).map_or("", |(_, behind)| behind);
                behind.split("\n## ").next().unwrap_or_default()
            }
            None => {
                missing.push(format!("{name}: no section is named for it in this test"));
                continue;
            }
        };
        for member in members {
            let wanted = if is_enum { format!("`{member}`") } else { format!("\n| `{member}` |") };
            if !section.contains(&wanted) {
                missing.push(format!("{name}: {member}"));
            }
        }
    }
    missing
}

fn document() -> String {
    std::fs::read_to_string(DOCUMENT).unwrap()
}

fn spec() -> String {
    SPECS.map(|path| std::fs::read_to_string(path).unwrap()).concat()
}

#[test]
fn every_example_of_the_reference_is_what_the_program_makes_of_it() {
    let checked = check(&document()).unwrap();
    assert!(checked > 20, "{checked} examples");
}

#[test]
fn every_key_and_every_kind_has_its_row() {
    let declared = declared(&spec());
    assert!(declared.len() >= SECTIONS.len(), "{declared:?}");
    assert!(declared.iter().all(|(_, members)| !members.is_empty()), "{declared:?}");
    assert_eq!(missing(&document(), &spec()), [""; 0]);
}

#[test]
fn every_limit_of_a_device_is_listed() {
    let document = document();
    let (_, behind) = document.split_once("\n## Device limits\n").unwrap();
    let section = behind.split("\n## ").next().unwrap();
    for name in LIMIT_NAMES {
        assert!(section.contains(&format!("`{name}`")), "{name}");
    }
}

/// The document with a part of it replaced.
fn changed(from: &str, to: &str) -> String {
    let document = document();
    assert!(document.contains(from), "`{from}` is not in the document");
    document.replacen(from, to, 1)
}

#[test]
fn a_broken_example_is_found() {
    for (from, to, fault) in [
        ("1 + 2 * 3           # = 7", "1 + 2 * 3           # = 8", "1 + 2 * 3 is 7"),
        ("1 % 0               # = NaN", "1 % 0               # = 0", "1 % 0 is NaN"),
        ("sin(1) ", "sqrt(1) ", "is 1 and not refused"),
        ("1 = 1               # !", "1 = 1               # =", "1 = 1: "),
        ("cdiv(n, WG * V)             # = 4", "cdiv(n, WG * V)", "states no value"),
        ("tile = \"WG * V\"", "tile = \"WG * U\"", "the name `U` is unknown"),
        ("old = \"beta\"", "older = \"beta\"", "unknown field `older`"),
        ("default = 3", "default = 4", "is not refused"),
        ("# refused: the default 3", "# refused: the default 9", "is refused otherwise"),
        ("base = \"../family.toml\"\n\n[[parameter]]", "\n[[parameter]]", "there is no [work] table"),
        ("```toml fragment", "```toml", "is no kind of example"),
    ] {
        let found = check(&changed(from, to)).expect_err(&format!("`{to}` passes"));
        assert!(found.contains(fault) && found.starts_with("line "), "{to}: {found}");
    }
    for info in ["toml device", "text example"] {
        let found = check(&changed(&format!("```{info}\n"), "```text other\n")).unwrap_err();
        assert_eq!(found, format!("there is no block of `{info}`"));
    }
}

#[test]
fn profiles_are_for_as_many_configs_as_a_problem_measures_whole() {
    let wide = |values: &str| {
        let text = "name = 'wide'\nmeaning = 'w'\nprofiles = true\nwork = { flops = '1', bytes = '1' }\nparameter = ["
            .to_string();
        let parameter = |name: &str| format!("{{ name = '{name}', values = {values}, default = 1, meaning = 'p' }}");
        let text = format!("{text}{}, {}]\n", parameter("A"), parameter("B"));
        Kernel::from_files(BTreeMap::from([("kernel.toml".into(), text)]), "kernel.toml").map_err(|e| e.to_string())
    };
    assert!(wide("[1, 2, 3, 4, 5, 6, 7, 8]").unwrap().profiles);
    let refused = wide("[1, 2, 3, 4, 5, 6, 7, 8, 9]").unwrap_err();
    assert!(refused.contains("profiles: ") && refused.contains("more than 64 combinations"), "{refused}");
}

#[test]
fn a_key_without_a_row_and_a_struct_without_a_section_are_found() {
    let without = changed("| `within` | expression |", "| within | expression |");
    assert_eq!(missing(&without, &spec()), ["ExactSpec: within"]);
    let without = document().replace("`\"matrix\"`", "matrix");
    assert_eq!(missing(&without, &spec()), ["Units: \"matrix\""]);
    let more = format!("{}\npub struct MoreSpec {{\n    pub what: String,\n}}\n", spec());
    assert_eq!(missing(&document(), &more), ["MoreSpec: no section is named for it in this test"]);
    let more = spec().replacen("pub min: u64,", "pub sense: u64,", 1);
    assert!(missing(&document(), &more).contains(&"Field: sense".to_string()));
}
