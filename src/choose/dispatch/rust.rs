//! The text of a Rust module.

use crate::dispatch::Dispatch;
use crate::dispatch::code::Named;
use crate::dispatch::languages::rust::{FUNCTIONS, Rust};
use crate::dispatch::languages::{Language, Written, expression};
use crate::dispatch::tree::Node;
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::spelling::c_comment;
use seqtune_predict::Problem;

/// Words of Rust that C and C++ do not have, and `self` in its two forms.
const WORDS: [&str; 32] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "crate", "dyn", "final", "fn", "gen", "impl", "in",
    "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "self", "super", "trait",
    "type", "unsized", "use", "where",
];

/// What the text allows: names are the kernel's, and brackets are those of the expressions.
const HEAD: &str = "#![allow(dead_code, non_camel_case_types, non_snake_case, unused_mut, unused_parens, unused_variables, clippy::all)]\n\n";

const CHOOSE: &str =
    "/// A legal config for a problem and where it came from, nothing where none that is known here is legal.
pub fn choose(p: &Problem) -> Option<(Config, Source)> {
    let order = |known: &Problem| known.partial_cmp(p).unwrap_or(std::cmp::Ordering::Less);
    if let Ok(at) = TABLE.binary_search_by(|(known, _)| order(known)) {
        return Some((CONFIGS[TABLE[at].1], Source::Table));
    }
    let found = |configs: &[usize]| configs.iter().map(|at| CONFIGS[*at]).find(|config| legal(p, config));
    let by_tree = found(leaf(p)).map(|config| (config, Source::Tree));
    by_tree.or_else(|| found(&LAST_RESORT).map(|config| (config, Source::LastResort)))
}
";

/// A slot of an expression; limits were folded away.
fn slot(named: &Named, slot: usize) -> String {
    match named.parameters.get(slot) {
        Some(name) => format!("(c.{name} as f64)"),
        None => match &named.fields[slot - named.parameters.len()] {
            name if named.labels[slot - named.parameters.len()].is_empty() => format!("(p.{name} as f64)"),
            name => format!("f64::from(p.{name} as u32)"),
        },
    }
}

/// A field's value.
fn value_of(named: &Named, at: usize, field: &Field, value: f64) -> String {
    match field.kind {
        FieldKind::Size => format!("{value}"),
        FieldKind::Real => Rust.number(value),
        FieldKind::Choice => format!("{}::{}", named.types[at], named.labels[at][value as usize]),
    }
}

impl Dispatch {
    /// A Rust module, which needs the standard library alone.
    pub fn rust(&self) -> String {
        let named = Named::new(&self.kernel, &WORDS, &WORDS);
        let head: String = self.head().iter().map(|line| format!("// {}\n", c_comment(line))).collect();
        let parts = [
            HEAD.to_string(),
            self.rust_types(&named),
            self.rust_arrays(&named),
            FUNCTIONS.to_string(),
            self.rust_legality(&named),
            self.rust_leaf(&named),
            CHOOSE.to_string(),
        ];
        head + &parts.concat()
    }

    /// The types of a problem, its choices, a config, and where it came from.
    fn rust_types(&self, named: &Named) -> String {
        let kernel = &self.kernel;
        let mut out = String::new();
        for (at, field) in kernel.fields.iter().enumerate().filter(|(_, field)| field.kind == FieldKind::Choice) {
            out +=
                &format!("/// {}\n#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]\n", c_comment(&field.meaning));
            out += &format!("pub enum {} {{\n", named.types[at]);
            named.labels[at].iter().for_each(|label| out += &format!("    {label},\n"));
            out += "}\n\n";
        }
        out += "/// A problem of the kernel.\n#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]\npub struct Problem {\n";
        let mut defaults = String::new();
        for (at, field) in kernel.fields.iter().enumerate() {
            let (kind, least) = match field.kind {
                FieldKind::Size => ("i64", field.min as f64),
                FieldKind::Real => ("f64", 0.0),
                FieldKind::Choice => (named.types[at].as_str(), 0.0),
            };
            let name = &named.fields[at];
            out += &format!("    /// {}\n    pub {name}: {kind},\n", c_comment(&field.meaning));
            let default = field.default.as_ref().and_then(|text| field.value(text).ok()).unwrap_or(least);
            defaults += &format!("            {name}: {},\n", value_of(named, at, field, default));
        }
        out += "}\n\nimpl Default for Problem {\n    fn default() -> Problem {\n        Problem {\n";
        out += &defaults;
        out += "        }\n    }\n}\n\n/// Values of the tuning parameters.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub struct Config {\n";
        for (parameter, name) in kernel.parameters.iter().zip(&named.parameters) {
            out += &format!("    /// {}\n    pub {name}: i64,\n", c_comment(&parameter.meaning));
        }
        out += "}\n\n/// Where a config came from.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum Source {\n    /// The table of fixed problems.\n    Table,\n    /// The tree.\n    Tree,\n    /// Configs of last resort.\n    LastResort,\n}\n\n";
        out
    }

    /// Configs, table and configs of last resort.
    fn rust_arrays(&self, named: &Named) -> String {
        let kernel = &self.kernel;
        let mut out = format!("const CONFIGS: [Config; {}] = [\n", self.configs.len());
        for config in &self.configs {
            let values = config.0.iter().zip(&kernel.parameters).map(|(choice, own)| own.values[*choice as usize]);
            let members = named.parameters.iter().zip(values).map(|(name, value)| format!("{name}: {value}"));
            out += &format!("    Config {{ {} }},\n", members.collect::<Vec<_>>().join(", "));
        }
        out += &format!(
            "];\n\n/// In the order of the problems' values.\nconst TABLE: [(Problem, usize); {}] = [\n",
            self.table.len()
        );
        for (problem, at) in &self.table {
            out += &format!("    ({}, {at}),\n", self.rust_problem(named, problem));
        }
        let last: Vec<String> = self.last_resort.iter().map(usize::to_string).collect();
        out + &format!("];\n\nconst LAST_RESORT: [usize; {}] = [{}];\n", last.len(), last.join(", "))
    }

    fn rust_problem(&self, named: &Named, problem: &Problem) -> String {
        let member = |(at, (field, value)): (usize, (&Field, &f64))| {
            format!("{}: {}", named.fields[at], value_of(named, at, field, *value))
        };
        let members = self.kernel.fields.iter().zip(&problem.values).enumerate().map(member);
        format!("Problem {{ {} }}", members.collect::<Vec<_>>().join(", "))
    }

    fn rust_legality(&self, named: &Named) -> String {
        let kernel = &self.kernel;
        let mut out = format!(
            "\n/// Whether a config is legal for a problem on {}: constraints that need a limit which is not known of it are not checked.\n",
            c_comment(&self.device.name)
        );
        out += "pub fn legal(p: &Problem, c: &Config) -> bool {\n";
        let sizes = kernel.fields.iter().zip(&named.fields).filter(|(field, _)| field.kind == FieldKind::Size);
        for (field, name) in sizes {
            out += &format!("    if !({}..={}).contains(&p.{name}) {{ return false; }}\n", field.min, field.max);
        }
        let mut parts = 0;
        for constraint in self.checked_constraints() {
            let slot = |s: usize| slot(named, s);
            let Written { statements, value } = expression(&Rust, &self.fold(&constraint.expr), &slot, &mut parts);
            out += &format!("    // {}\n{statements}", c_comment(&constraint.reason));
            out += &format!("    if !({value} == 1.0) {{ return false; }}\n");
        }
        out + "    true\n}\n\n"
    }

    /// The function that walks the tree.
    fn rust_leaf(&self, named: &Named) -> String {
        let mut out = String::from(
            "/// Places of the configs of the leaf that a problem ends at.\nfn leaf(p: &Problem) -> &'static [usize] {\n",
        );
        let mut values = Vec::new();
        let used = self.split_quantities();
        let mut parts = 0;
        for quantity in &used {
            let slot = |s: usize| slot(named, s);
            let Written { statements, value } = self.quantity(&Rust, *quantity, &slot, &mut parts);
            out += &statements;
            values.push(value);
        }
        out += &format!(
            "    let q: [f64; {}] = [{}];\n    let mut at = 0;\n    loop {{\n        match at {{\n",
            values.len(),
            values.join(", ")
        );
        for (at, node) in self.tree.0.iter().enumerate() {
            out += &match node {
                Node::Split { quantity, threshold, to: [low, high] } => {
                    let quantity = used.iter().position(|q| q == quantity).unwrap_or_default();
                    format!(
                        "            {at} => at = if q[{quantity}] <= {} {{ {low} }} else {{ {high} }},\n",
                        Rust.number(*threshold)
                    )
                }
                Node::Leaf(configs) => format!("            {at} => return &{configs:?},\n"),
            };
        }
        out + "            _ => return &[],\n        }\n    }\n}\n\n"
    }
}
