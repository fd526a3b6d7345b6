//! The text of a new kernel.toml.

use crate::cli::init::asked::Args;
use crate::cli::signature::{Kind, Signature};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::files::read_text;
use seqtune_kernel::limits;
use seqtune_kernel::spelling::toml;
use seqtune_kernel::without_comments;

/// Units of a time that a pattern finds.
const UNITS: [&str; 4] = ["s", "ms", "us", "ns"];

fn list(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| toml(word.as_ref())).collect();
    format!("[{}]", words.join(", "))
}

/// Words as a shell splits them.
fn words(what: &str, text: &str) -> Result<Vec<String>> {
    match shlex::split(text).filter(|words| !words.is_empty()) {
        Some(words) => Ok(words),
        None => input(format!("{what} `{}`: a quote is not closed, or there is no word", quote(text))),
    }
}

fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok((name.trim(), value.trim())),
        _ => input(format!("{option} {}: write NAME=…", quote(text))),
    }
}

fn field(text: &str) -> Result<String> {
    let (name, range) = pair("--field", text)?;
    let head = format!("{{ name = {}", toml(name));
    if let Some((min, max)) = range.split_once("..") {
        let number = |text: &str| text.trim().parse::<u64>();
        return match (number(min), number(max)) {
            (Ok(min), Ok(max)) => {
                Ok(format!("{head}, kind = \"size\", min = {min}, max = {max}, shape = true, meaning = \"size\" }}"))
            }
            _ => input(format!("--field {}: write a range of whole numbers, as n=1..1000", quote(text))),
        };
    }
    let labels: Vec<&str> = range.split(',').map(str::trim).collect();
    if labels.len() == 1 {
        return input(format!(
            "--field {}: a choice has several labels, as layout=row,column, and a size is a range, as n=1..1000",
            quote(text)
        ));
    }
    let default = toml(labels[0]);
    Ok(format!("{head}, kind = \"choice\", labels = {}, default = {default}, meaning = \"choice\" }}", list(labels)))
}

/// Name, values and default of a parameter, `tile=8,[16],32`.
fn values(text: &str) -> Result<(&str, Vec<&str>, &str)> {
    let (name, values) = pair("--parameter", text)?;
    let (mut all, mut default) = (Vec::new(), None);
    for value in values.split(',').map(str::trim) {
        let bare = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
        default = bare.or(default);
        all.push(bare.unwrap_or(value));
    }
    let default = default.unwrap_or(all[0]);
    Ok((name, all, default))
}

fn parameter(text: &str) -> Result<String> {
    let (name, all, default) = values(text)?;
    if let Some(range) = all.iter().find(|value| value.contains("..")) {
        return input(format!(
            "--parameter {}: `{range}` is no value; all values are listed, as tile=8,[16],32",
            quote(text)
        ));
    }
    let (numbers, words): (Vec<&str>, Vec<&str>) = all.iter().partition(|value| value.parse::<i64>().is_ok());
    if let ([number, ..], [word, ..]) = (&numbers[..], &words[..]) {
        return input(format!(
            "--parameter {}: `{number}` is a number and `{word}` is none; a label that is a number is written {number}:{number}",
            quote(text)
        ));
    }
    let values = match words.is_empty() {
        true => format!("values = [{}], default = {default}", all.join(", ")),
        false => labels(&all, default),
    };
    Ok(format!("{{ name = {}, {values}, meaning = \"what may be chosen\" }}", toml(name)))
}

/// Labels of a parameter with the texts that templates write for them: `o3:-O3` is the text -O3 under the label o3.
fn labels(all: &[&str], default: &str) -> String {
    let apart = |value| -> (&str, &str) { str::split_once(value, ':').unwrap_or((value, value)) };
    let (labels, texts): (Vec<&str>, Vec<&str>) = all.iter().map(|value| apart(value)).unzip();
    let texts = if labels == texts { String::new() } else { format!("texts = {}, ", list(&texts)) };
    format!("labels = {}, {texts}default = {}", list(&labels), toml(apart(default).0))
}

/// Name, meaning, fields, parameters and constraints, which both kinds have.
fn head(args: &Args, more: &[(String, &str)]) -> Result<String> {
    let name = args.folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut name: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name = format!("kernel-{name}");
    }
    let meaning = args.meaning.clone().unwrap_or_else(|| "what it computes, in a line".into());
    let lines = |made: Vec<String>| made.iter().map(|line| format!("    {line},\n")).collect::<String>();
    let fields = lines(args.field.iter().map(|text| field(text)).collect::<Result<_>>()?);
    let parameters = lines(args.parameter.iter().map(|text| parameter(text)).collect::<Result<_>>()?);
    let rule = |expr: &str, reason: &str| format!("{{ expr = {}, reason = {} }}", toml(expr), toml(reason));
    let stated = args.constraint.iter().map(|expr| rule(expr, &format!("{expr} must hold")));
    let rules: Vec<String> = stated.chain(more.iter().map(|(expr, reason)| rule(expr, reason))).collect();
    let constraints = match rules.is_empty() {
        true => String::new(),
        false => format!("constraint = [\n{}]\n", lines(rules)),
    };
    Ok(format!(
        "# All keys: docs/reference/kernel-toml.md of seqtune.\nname = {}\nmeaning = {}\n\n\
         # a problem: what is given, for which the best config is wanted\nfield = [\n{fields}]\n\
         # a config: what may be chosen\nparameter = [\n{parameters}]\n{constraints}",
        toml(&name),
        toml(&meaning)
    ))
}

/// The file of a program.
pub fn of_program(args: &Args) -> Result<String> {
    let command = words("--command", args.command.as_deref().unwrap_or_default())?;
    let build = args.build.as_deref().map(|text| words("--build", text)).transpose()?;
    let mut text = head(args, &[])?;
    text += "\n[run]\n";
    let of_kernel = |word: &String| {
        let name = word.strip_prefix("{kernel}/")?;
        (!name.contains('{') && args.folder.join(name).is_file()).then(|| name.to_string())
    };
    let mut files: Vec<String> = command.iter().chain(build.iter().flatten()).filter_map(of_kernel).collect();
    files.sort();
    files.dedup();
    if !files.is_empty() {
        text += &format!(
            "# a change of these makes another space, whose data are not mixed with those of before\nfiles = {}\n",
            list(&files)
        );
    } else if build.is_some() {
        return input("--build: name what it is built from as {kernel}/FILE, files that lie in the folder");
    }
    if let Some(build) = &build {
        text += &format!("build = {}\n", list(build));
    }
    text += &format!("command = {}\n", list(&command));
    if !args.environment.is_empty() {
        let variables = args.environment.iter().map(|text| pair("--environment", text)).collect::<Result<Vec<_>>>()?;
        let variables: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name} = {}", toml(value))).collect();
        text += &format!("environment = {{ {} }}\n", variables.join(", "));
    }
    text += &match args.time.as_deref() {
        None | Some("json") => {
            "# the last line of the output is JSON, such as {\"time_ms\": 1.5}; or state `time`: a pattern, or \"wall\"\n".into()
        }
        Some("wall") => "time = \"wall\"\n".to_string(),
        Some(pattern) => {
            let unit = args.unit.as_deref().unwrap_or("s");
            if !UNITS.contains(&unit) {
                return input(format!("--unit `{}`: write one of {}", quote(unit), UNITS.join(", ")));
            }
            format!("time = {{ pattern = {}, unit = {} }}\n", toml(pattern), toml(unit))
        }
    };
    for (key, pattern) in [("right", &args.right), ("wrong", &args.wrong)] {
        text += &pattern.as_ref().map_or(String::new(), |pattern| format!("{key} = {}\n", toml(pattern)));
    }
    Ok(text)
}

/// File of the reference: of the source's language, or in OpenCL C where that is there.
pub fn reference(args: &Args) -> &'static str {
    const OPENCL: &str = "reference.cl";
    let is_cuda = args.source.as_deref().is_some_and(|source| source.ends_with(".cu"));
    if is_cuda && !args.folder.join(OPENCL).exists() { "reference.cu" } else { OPENCL }
}

/// The file of a source, with the text of a reference made of the source where none is there.
pub fn of_source(args: &Args, code: &str) -> Result<(String, Option<String>)> {
    let source = args.source.as_deref().unwrap_or_default();
    if !source.ends_with(".cl") && !source.ends_with(".cu") {
        return input("is called neither .cl, as OpenCL C is, nor .cu, as CUDA C++ is; rename it");
    }
    let signature = Signature::find(code, args.entry.as_deref())?;
    if source.ends_with(".cu") && !code.contains("extern \"C\"") {
        return input(format!(
            "declare {} as extern \"C\" __global__ void, so that C++ leaves its name as it is",
            signature.entry
        ));
    }
    let size = args.field.iter().find(|text| text.contains("..")).and_then(|text| text.split('=').next());
    let Some(size) = size.map(str::trim) else { return input("name a --field that is a size, as n=1..1000") };
    let given = args.argument.iter().map(|text| pair("--argument", text)).collect::<Result<Vec<_>>>()?;
    if let Some((name, _)) = given.iter().find(|(name, _)| !signature.arguments.iter().any(|a| a.name == *name)) {
        return input(format!("--argument {name}: {} has no argument of that name", signature.entry));
    }
    let (arguments, bytes) = arguments(args, &signature, &given, size)?;
    let output = signature.arguments.iter().find(|argument| matches!(argument.kind, Kind::Out(_)));
    let length_of_output =
        output.and_then(|out| given.iter().find(|(name, _)| *name == out.name)).map(|(_, length)| length.to_string());
    let global = if args.global.is_empty() { vec![size.to_string()] } else { args.global.clone() };
    let reference_file = reference(args);
    let reference = args.folder.join(reference_file);
    let reference_text = reference.exists().then(|| read_text(&reference, limits::TEXT)).transpose()?;
    let of_reference =
        reference_text.as_deref().map(|text| entry_of_reference(reference_file, text, &signature)).transpose()?;
    let (entry, plain_entry) = (toml(&signature.entry), toml(of_reference.as_ref().unwrap_or(&signature.entry)));
    let (items, group) = match (args.reference_global.is_empty(), of_reference.is_some()) {
        (false, _) => (args.reference_global.clone(), args.reference_local.clone()),
        // one whose work-items work together is launched as the source is
        (true, true) if reference_text.as_deref().is_some_and(works_together) => {
            (with_defaults(args, &global)?, with_defaults(args, &args.local)?)
        }
        // another one that is there is plain, as a rule: a work-item for each element of the output
        (true, true) => (vec![length_of_output.unwrap_or_else(|| size.to_string())], Vec::new()),
        (true, false) => (with_defaults(args, &global)?, with_defaults(args, &args.local)?),
    };
    let text = format!(
        "{}# the arguments in their order; outputs are compared with the reference\nargument = [\n{arguments}]\n\
         program = {{ file = {}, entry = {entry}, global = {}, local = {} }}\n\
         reference = {{ file = \"{reference_file}\", entry = {plain_entry}, global = {}, local = {} }}\n\
         # floating-point operations and bytes of a problem, for GFLOP/s and GB/s; the error that is allowed\n\
         work = {{ flops = {}, bytes = {}, tolerance = \"1e-5\" }}\n",
        head(args, &group_rule(args))?,
        toml(source),
        list(&global),
        list(&args.local),
        list(items),
        list(group),
        toml(size),
        toml(&bytes.join(" + ")),
    );
    if of_reference.is_some() {
        return Ok((text, None));
    }
    let mut plain = String::from("// The source with its default values; replace it by a plain one that you trust.\n");
    for line in &args.parameter {
        let (name, default) = default_of(line)?;
        plain += &format!("#define {name} {default}\n");
    }
    Ok((text, Some(plain + code)))
}

/// The limit on a work-group's size, where parameters decide that and no constraint names it.
fn group_rule(args: &Args) -> Vec<(String, &'static str)> {
    const LIMIT: &str = "max_group_items";
    let is_named = args.constraint.iter().any(|expr| expr.contains(LIMIT));
    let is_chosen = args.local.iter().any(|expr| expr.parse::<u64>().is_err());
    let items: Vec<String> = args.local.iter().map(|expr| format!("({expr})")).collect();
    match is_chosen && !is_named {
        true => vec![(format!("{} <= {LIMIT}", items.join(" * ")), "the device limits a work-group")],
        false => Vec::new(),
    }
}

/// Whether work-items of a group share something, so that the size of the group matters.
pub fn works_together(code: &str) -> bool {
    let code = without_comments(code);
    ["barrier(", "get_local_id", "get_local_size", "__local", "work_group_", "__syncthreads", "__shared__"]
        .iter()
        .any(|word| code.contains(word))
}

/// The lines of the arguments, and how many bytes each buffer has.
fn arguments(args: &Args, signature: &Signature, given: &[(&str, &str)], size: &str) -> Result<(String, Vec<String>)> {
    let is_field = |name: &str| args.field.iter().any(|text| text.split('=').next().map(str::trim) == Some(name));
    let (mut arguments, mut bytes) = (String::new(), Vec::new());
    for argument in &signature.arguments {
        let stated = given.iter().find(|(name, _)| *name == argument.name).map(|(_, expr)| *expr);
        let name = toml(&argument.name);
        arguments += &match argument.kind {
            Kind::In(element) | Kind::Out(element) => {
                let length = stated.unwrap_or(size);
                let kind = if matches!(argument.kind, Kind::In(_)) { "in" } else { "out" };
                bytes.push(format!("{element} * ({length})"));
                format!(
                    "    {{ name = {name}, kind = \"{kind}\", length = {}, element = \"{element}\" }},\n",
                    toml(length)
                )
            }
            Kind::Int | Kind::Float => {
                let value = stated.or(Some(argument.name.as_str()).filter(|name| is_field(name)));
                let Some(value) = value else {
                    return input(format!("say what the argument `{0}` is: --argument {0}=EXPRESSION", argument.name));
                };
                let kind = if matches!(argument.kind, Kind::Int) { "int" } else { "float" };
                format!("    {{ name = {name}, kind = \"{kind}\", value = {} }},\n", toml(value))
            }
        };
    }
    Ok((arguments, bytes))
}

/// The function of a reference that is there: the one called as the program's is, or the only one; both take the same arguments.
fn entry_of_reference(file: &str, code: &str, program: &Signature) -> Result<String> {
    let found = Signature::find(code, Some(&program.entry)).or_else(|_| Signature::find(code, None));
    let found = found.map_err(|e| e.at_place(file))?;
    let kinds = |of: &Signature| of.arguments.iter().map(|argument| argument.kind).collect::<Vec<_>>();
    match kinds(&found) == kinds(program) {
        true => Ok(found.entry),
        false => input(format!(
            "{file}: {} does not take the arguments of {}, in their order and of their kinds; the reference gets the same ones",
            found.entry, program.entry
        )),
    }
}

/// Expressions in which parameters have their default values.
fn with_defaults(args: &Args, expressions: &[String]) -> Result<Vec<String>> {
    let defaults = args.parameter.iter().map(|text| default_of(text)).collect::<Result<Vec<_>>>()?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let replaced = |text: &String| {
        let mut made = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let word = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let take = word.max(rest.chars().next().map_or(1, char::len_utf8));
            let (part, behind) = rest.split_at(if word == 0 { take } else { word });
            made += defaults.iter().find(|(name, _)| name == part).map_or(part, |(_, value)| value);
            rest = behind;
        }
        made
    };
    Ok(expressions.iter().map(replaced).collect())
}

fn default_of(text: &str) -> Result<(String, String)> {
    let (name, _, default) = values(text)?;
    match default.parse::<i64>() {
        Ok(_) => Ok((name.into(), default.into())),
        Err(_) => Err(Error::Input(format!("--parameter {}: a source takes whole numbers", quote(text)))),
    }
}
