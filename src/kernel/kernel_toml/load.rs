//! Kernels from their folders: the shipped ones, inside the program, and the user's.

use crate::clocks::ClockExprs;
use crate::definition::{Constraint, Definition, Feature, Kernel, Source};
use crate::devices;
use crate::devices::LIMIT_NAMES;
use crate::devices::names::list_names;
use crate::error::{Error, Result, input, quote};
use crate::files::read_text;
use crate::identity::{Described, Told};
use crate::kernel_toml::check::check;
use crate::kernel_toml::include::Included;
use crate::kernel_toml::names::{Names, decided_after};
use crate::kernel_toml::run_spec::RunSpec;
use crate::kernel_toml::source::{ProgramSpecs, source};
use crate::kernel_toml::spec::{BaseSpec, FeatureSpec, Field, KernelSpec, ParameterSpec, RuleSpec, WorkSpec};
use crate::kernel_toml::template::Scope;
use crate::limits;
use crate::parameter::Parameter;
use crate::run::Run;
use crate::space::instances::Instances;
use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

static SHIPPED: Dir = include_dir!("$CARGO_MANIFEST_DIR/kernels");

/// The names that a mistyped one is most like, three at most; none where they differ in more than a third.
fn alike<'n>(mistyped: &str, names: &'n [String]) -> Vec<&'n str> {
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&mistyped.to_lowercase(), &name.to_lowercase());
    let most = names.iter().map(|name| likeness(name)).fold(0.66, f64::max);
    names.iter().map(String::as_str).filter(|name| likeness(name) >= most).take(3).collect()
}

impl Kernel {
    /// Opens a kernel: a folder's path, or a name looked up in `./kernels` and then among the shipped ones.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`] where there is none, [`Error::Kernel`] where its `kernel.toml` is wrong.
    pub fn open(name_or_path: &str) -> Result<Kernel> {
        if let Some(kernel) = Kernel::find(name_or_path)? {
            return Ok(kernel);
        }
        // who writes a path wants no list of what is shipped
        if name_or_path.contains('/') {
            let why = match Path::new(name_or_path).is_dir() {
                true => "the folder holds no kernel.toml; `seqtune init` writes one",
                false => "there is no such folder",
            };
            return Err(Error::KernelNotFound(format!("no kernel `{}`: {why}", quote(name_or_path))));
        }
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_string());
        let folders: Vec<&Path> = shipped_folders().into_iter().map(Dir::path).collect();
        let all: Vec<String> = folders.iter().filter_map(|path| name(path)).collect();
        let own = folders.iter().filter(|path| !path.starts_with("miopen"));
        let own: Vec<String> = own.filter_map(|path| name(path)).collect();
        let meant = match alike(name_or_path, &all)[..] {
            [] => String::new(),
            ref names => format!("did you mean {}? Else ", list_names(names.iter().copied(), "or")),
        };
        Err(Error::KernelNotFound(format!(
            "no kernel `{}`: {meant}name one of {}, a solver of MIOpen such as ConvAsm1x1U, or the path of a folder with a kernel.toml",
            quote(name_or_path),
            own.join(", ")
        )))
    }

    /// [`Kernel::open`], `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Kernel`] where its `kernel.toml` is wrong, [`Error::File`] where a file cannot be read.
    pub fn find(name_or_path: &str) -> Result<Option<Kernel>> {
        let mut candidates = vec![PathBuf::from(name_or_path), Path::new("kernels").join(name_or_path)];
        // families are one folder deeper
        let families = std::fs::read_dir("kernels").into_iter().flatten().flatten();
        candidates.extend(families.map(|family| family.path().join(name_or_path)));
        if let Some(folder) = candidates.iter().find(|p| p.join("kernel.toml").is_file()) {
            return Kernel::from_folder(folder).map(Some);
        }
        let found = shipped_folders().into_iter().find(|d| d.path().ends_with(name_or_path));
        let Some(dir) = found.filter(|_| !name_or_path.is_empty()) else { return Ok(None) };
        let text =
            |f: &include_dir::File| Some((f.path().file_name()?.to_str()?.to_string(), f.contents_utf8()?.to_string()));
        let mut files: BTreeMap<String, String> = dir.files().filter_map(text).collect();
        if let Some(base) = named_files(&files).into_iter().find(|name| name.ends_with(".toml"))
            && let Some(family) = dir.path().parent()
            && let Some(file) = SHIPPED.get_file(family.join(base.trim_start_matches("../")))
        {
            files.insert(base, file.contents_utf8().unwrap_or_default().to_string());
        }
        Kernel::from_files(files, &format!("kernels/{}/kernel.toml", dir.path().display())).map(Some)
    }

    /// Names of the kernels that ship with the program.
    pub fn all_shipped() -> Vec<String> {
        let name = |d: &Dir| d.path().file_name().map(|n| n.to_string_lossy().into_owned());
        shipped_folders().into_iter().filter_map(name).collect()
    }

    /// Reads `kernel.toml` and what it names; whatever else lies in the folder is left alone.
    fn from_folder(folder: &Path) -> Result<Kernel> {
        Kernel::in_folder(folder, BTreeMap::from([(MAIN.to_string(), read_text(&folder.join(MAIN), limits::TEXT)?)]))
    }

    /// The kernel that a folder will hold once `files` are in it, one of them `kernel.toml`; what they name beside themselves is read there.
    ///
    /// # Errors
    /// As [`Kernel::from_files`]; [`Error::File`] where a file cannot be read.
    pub fn in_folder(folder: &Path, mut files: BTreeMap<String, String>) -> Result<Kernel> {
        let main = folder.join(MAIN);
        let read = |path: &Path| path.is_file().then(|| read_text(path, limits::TEXT)).transpose();
        let included = Included { read: &read, most: limits::TEXT.bytes as usize };
        let sources = sources(&files);
        for name in named_files(&files) {
            let path = folder.join(&name);
            // what is missing is told with its place in kernel.toml
            if !files.contains_key(&name) && path.exists() {
                let text = read_text(&path, limits::TEXT)?;
                let text = if sources.contains(&name) { included.whole(folder, &name, text)? } else { text };
                files.insert(name, text);
            }
        }
        Kernel::from_files(files, &main.display().to_string())
    }

    /// Builds a kernel from the texts of its folder, that of its base under the name it is called by; `place` names
    /// `kernel.toml` in errors.
    ///
    /// # Errors
    /// [`Error::Kernel`] with the place and what is wrong.
    pub fn from_files(files: BTreeMap<String, String>, place: &str) -> Result<Kernel> {
        let at = |e: Error| e.or_kind(Error::Kernel).at_place(place);
        let text = files.get(MAIN).map_or("", String::as_str);
        let spec: KernelSpec = devices::toml_of(text).map_err(at)?;
        let base: BaseSpec = match &spec.base {
            None => BaseSpec::default(),
            Some(name) => match files.get(name) {
                Some(text) => {
                    devices::toml_of(text).map_err(|e| at(e.at_place(format!("its base `{}`", quote(name)))))?
                }
                None => return input(format!("its base `{}` is not there", quote(name))).map_err(at),
            },
        };
        let kernel = build(spec, base, files, place).map_err(at)?;
        tracing::debug!("{place}: kernel {}, {} parameters", kernel.name, kernel.parameters.len());
        Ok(kernel)
    }
}

/// Folders of the shipped kernels, those in families included.
fn shipped_folders() -> Vec<&'static Dir<'static>> {
    let is_kernel = |d: &&Dir| d.get_file(d.path().join("kernel.toml")).is_some();
    let (mut kernels, families): (Vec<&Dir>, Vec<&Dir>) = SHIPPED.dirs().partition(is_kernel);
    kernels.extend(families.iter().flat_map(|family| family.dirs()).filter(is_kernel));
    kernels
}

/// The file of a kernel's folder that describes it.
const MAIN: &str = "kernel.toml";

/// The table of a kernel's file; none where the file is wrong, which is said when the kernel is built.
fn table(files: &BTreeMap<String, String>) -> toml::Table {
    files.get(MAIN).and_then(|text| toml::from_str(text).ok()).unwrap_or_default()
}

/// The sources that a kernel names, those of its own folder.
fn sources(files: &BTreeMap<String, String>) -> Vec<String> {
    let table = table(files);
    let file = |program: &str| table.get(program)?.get("file")?.as_str();
    let sources = [file("program"), file("reference")].into_iter().flatten();
    sources.filter(|name| !name.contains('/')).map(String::from).collect()
}

/// The files that a kernel names: its base and its sources. Whatever else is wrong is said when it is built.
fn named_files(files: &BTreeMap<String, String>) -> Vec<String> {
    let table = table(files);
    let instances = table.get("instances").and_then(toml::Value::as_str).filter(|name| !name.contains('/'));
    let bases = table.get("base").and_then(toml::Value::as_str).filter(|name| name.ends_with(".toml"));
    // a program's files may stand in folders beneath
    let inside = |name: &&str| !name.starts_with('/') && !name.split('/').any(|part| part == "..");
    let run = table.get("run").and_then(toml::Value::as_table);
    let list = |key: &str| run.and_then(|run| run.get(key)?.as_array()).into_iter().flatten();
    let templates = list("input").filter_map(|input| input.get("template")?.as_str());
    let of_run = list("files").filter_map(toml::Value::as_str).chain(templates).filter(inside);
    bases.into_iter().chain(instances).chain(of_run).map(String::from).chain(sources(files)).collect()
}

/// The definitions of a base and of the kernel itself.
fn merge_definitions(
    mut base: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    for (name, text) in own {
        if base.insert(name.clone(), text).is_some() {
            return input(format!("definition `{name}` is already made by the base"));
        }
    }
    Ok(base)
}

/// Features of a kernel of so many parameters.
fn features(names: &Names, parameters: usize, specs: impl Iterator<Item = FeatureSpec>) -> Result<Vec<Feature>> {
    let feature = |spec: FeatureSpec| {
        let expr = names.expr(&spec.expr)?;
        Ok(Feature { known_after: decided_after(&expr, parameters), name: spec.name, group: spec.group, expr })
    };
    specs.map(feature).collect()
}

fn build(spec: KernelSpec, base: BaseSpec, files: BTreeMap<String, String>, place: &str) -> Result<Kernel> {
    check(&spec, &base)?;
    let define = merge_definitions(base.define.clone(), spec.define.clone())?;
    let told = Told::from_spec(&spec, &base, &define, &files)?;
    let fields: Vec<Field> = base.field.into_iter().chain(spec.field).collect();
    let unstated = spec.run.as_ref().map(|_| WorkSpec::default());
    let Some(work) = spec.work.or(base.work).or(unstated) else { return input("there is no [work] table") };
    let parameters = spec.parameter.into_iter().map(parameter).collect::<Vec<_>>();
    let names = Names::new(&parameters, &fields, &define)?;
    let programs = ProgramSpecs {
        program: spec.program,
        reference: spec.reference,
        argument: spec.argument,
        exact: spec.exact,
        library: spec.library,
    };
    let source = source(programs, &work, &names, parameters.len() + fields.len() + LIMIT_NAMES.len(), &files)?;
    let scope = Scope { names: &names, parameters: &parameters, fields: &fields };
    let run = load_run(spec.run, scope, &files, &source, &work)?;
    let clocks = spec.clocks.map(|clocks| ClockExprs::load(clocks, &names, source.is_some())).transpose()?;
    let mut constraints = load_constraints(&names, spec.constraint)?;
    let instances =
        spec.instances.map(|file| instances(&file, &files, &parameters, &fields, &mut constraints)).transpose()?;
    let older = run.as_ref().map(|run| run.older_identity(&files)).unwrap_or_default()
        + clocks.as_ref().map_or("", |clocks| &clocks.older_identity);
    let steps = run.as_ref().map(|run| run.identity(&files)).unwrap_or_default();
    let table = instances.as_ref().map_or("", |(_, text)| text);
    let texts: Vec<&str> = constraints.iter().map(|c| c.text.as_str()).collect();
    let described = Described {
        parameters: &parameters,
        fields: &fields,
        constraints: &texts,
        files: &files,
        steps,
        steps_older: &older,
        table,
    };
    let identities = told.identities(described);
    Ok(Kernel::from(Definition {
        identities,
        name: spec.name,
        meaning: spec.meaning,
        architectures: spec.architectures,
        rules: load_constraints(&names, base.rule.into_iter().chain(spec.rule).collect())?,
        constraints,
        instances: instances.map(|(instances, _)| instances),
        features: features(&names, parameters.len(), base.feature.into_iter().chain(spec.feature))?,
        profiles: spec.profiles,
        shape: names.exprs(if spec.shape.is_empty() { base.shape } else { spec.shape })?,
        flops: names.of_problem(&work.flops, "flops")?,
        bytes: names.of_problem(&work.bytes, "bytes")?,
        source,
        clocks,
        run,
        database: spec.database,
        place: place.into(),
        fields,
        parameters,
        files,
    }))
}

/// The program of the user's own, in place of a source.
fn load_run(
    spec: Option<RunSpec>,
    scope: Scope,
    files: &BTreeMap<String, String>,
    source: &Option<Source>,
    work: &WorkSpec,
) -> Result<Option<Run>> {
    let has_flops = work.flops != WorkSpec::default().flops;
    match (&spec, source) {
        (Some(_), Some(_)) => {
            input("[run] and [program] exclude each other: a program of your own measures, or a source is launched")
        }
        _ => spec.map(|run| Run::load(run, &scope, files, has_flops)).transpose(),
    }
}

/// The table of the configs that there are, and its text; that a config is among them becomes the last constraint.
fn instances(
    file: &str,
    files: &BTreeMap<String, String>,
    parameters: &[Parameter],
    fields: &[Field],
    constraints: &mut Vec<Constraint>,
) -> Result<(Instances, String)> {
    let Some(text) = files.get(file) else {
        return input(format!("the instances `{}` are not in the kernel's folder", quote(file)));
    };
    let table = Instances::read(text, parameters, fields).map_err(|e| e.at_place(quote(file)))?;
    let text_of_it = format!("is in {file}");
    let reason = "there is no such instance".into();
    constraints.push(Constraint { expr: table.expr(parameters), text: text_of_it, reason });
    Ok((table, text.clone()))
}

fn parameter(p: ParameterSpec) -> Parameter {
    let default = p.default_at().unwrap_or_default();
    let before = p.before.as_ref().and_then(|before| p.index_of(before));
    let values = if p.labels.is_empty() { p.values } else { (0..p.labels.len() as i64).collect() };
    Parameter { name: p.name, values, labels: p.labels, texts: p.texts, default, before, meaning: p.meaning }
}

fn load_constraints(names: &Names, rules: Vec<RuleSpec>) -> Result<Vec<Constraint>> {
    rules.into_iter().map(|r| Ok(Constraint { expr: names.expr(&r.expr)?, text: r.expr, reason: r.reason })).collect()
}
