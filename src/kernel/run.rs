//! `[run]`: how a program of the user's own is built, started and understood.

use crate::canonical::Canonical;
use crate::error::{Result, input, quote};
use crate::kernel_toml::run_spec::{RunSpec, TimeSpec, Unit};
use crate::kernel_toml::template::{Scope, Template, variable};
use crate::plain::plain;
use std::collections::{BTreeMap, BTreeSet};

/// Where the time of a run comes from.
#[derive(Clone, Debug)]
pub enum TimeSource {
    /// The last line of JSON in the output.
    Json,
    /// Each number that a regular expression finds in the output.
    Pattern(String, Unit),
    /// From start to end of the process.
    Wall,
}

/// A program of the user's own.
#[derive(Clone, Debug)]
pub struct Run {
    /// As written.
    pub spec: RunSpec,
    /// Program with its words.
    pub command: Vec<Template>,
    /// Variables of the environment.
    pub environment: Vec<(String, Template)>,
    /// Processor cores.
    pub cores: Option<Template>,
    /// Files to write, with their texts.
    pub input: Vec<(String, Template)>,
    /// Command that builds what a config needs; empty where nothing is built.
    pub build: Vec<Template>,
    /// Command before the first config of a problem.
    pub setup: Vec<Template>,
    /// Command after the last config of a problem.
    pub teardown: Vec<Template>,
    /// Where the time comes from.
    pub time: TimeSource,
}

/// Seconds that the steps of a run may take, unless stated.
const TIMEOUT: f64 = 20.0;
const STEP_TIMEOUT: f64 = 600.0;
const LONGEST: f64 = 1e6;

/// Runs of a config, unless stated, and at most.
const SAMPLES: usize = 8;
const MOST_SAMPLES: usize = 1_000;

/// Refuses a command of no words, and numbers out of their range.
fn check_spec(spec: &RunSpec) -> Result<()> {
    if spec.command.is_empty() {
        return input("[run] has no command: write the program and its words");
    }
    let seconds =
        [("timeout", spec.timeout), ("build_timeout", spec.build_timeout), ("setup_timeout", spec.setup_timeout)];
    for (name, given) in seconds {
        if given.is_some_and(|s| !(s > 0.0 && s <= LONGEST)) {
            return input(format!("[run] {name} is not a number of seconds above 0 and up to {LONGEST}"));
        }
    }
    if let Some(name) = spec.environment.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return input(format!("[run] environment: `{}` is no name of a variable", quote(name)));
    }
    if spec.samples.is_some_and(|n| !(1..=MOST_SAMPLES).contains(&n)) {
        return input(format!("[run] samples is not from 1 to {MOST_SAMPLES}"));
    }
    Ok(())
}

/// Where the time of a run comes from.
fn time_source(spec: &RunSpec) -> Result<TimeSource> {
    match &spec.time {
        None => Ok(TimeSource::Json),
        Some(TimeSpec::Pattern(found)) => Ok(TimeSource::Pattern(found.pattern.clone(), found.unit)),
        Some(TimeSpec::Named(name)) if name == "wall" => Ok(TimeSource::Wall),
        Some(TimeSpec::Named(name)) => {
            input(format!("[run] time = \"{}\": write \"wall\", or {{ pattern = …, unit = … }}", quote(name)))
        }
    }
}

/// Whether one of these names the folder of a build.
fn name_build<'a>(mut templates: impl Iterator<Item = &'a Template>) -> bool {
    templates.any(|template| template.names_place("build"))
}

/// What a process of a program is started with.
pub struct Surroundings<'r> {
    /// Variables of its environment.
    pub environment: Vec<&'r (String, Template)>,
    /// Cores that it may use; all where `None`.
    pub cores: Option<&'r Template>,
}

impl Run {
    /// Templates of all that is started or written for a config.
    fn templates(&self) -> impl Iterator<Item = &Template> {
        let named = self.environment.iter().chain(&self.input).map(|(_, text)| text);
        self.command.iter().chain(named).chain(&self.cores).chain(&self.build).chain(&self.setup)
    }

    /// Whether runs are told the seed of their data.
    pub fn is_seeded(&self) -> bool {
        self.spec.serve || self.templates().any(|template| template.names_place("seed"))
    }

    /// Indices, below `count`, of the parameters that no template names, so that all of their values do the same. A program that is started
    /// once is told all of them.
    pub fn unnamed_parameters(&self, count: usize) -> Vec<usize> {
        let mut named = vec![self.spec.serve; count];
        self.templates().for_each(|template| {
            template.slots(&mut |slot| {
                if let Some(named) = named.get_mut(slot) {
                    *named = true;
                }
            });
        });
        (0..count).filter(|at| !named[*at]).collect()
    }

    pub(crate) fn load(spec: RunSpec, scope: &Scope, files: &BTreeMap<String, String>, has_flops: bool) -> Result<Run> {
        let parse = |text: &str| match text.contains('\0') {
            true => input(format!("`{}`: a word cannot hold the character 0", quote(text))),
            false => Template::parse(text, scope),
        };
        let list = |what: &str, words: &[String]| -> Result<Vec<Template>> {
            let words: Result<Vec<Template>> = words.iter().map(|word| parse(word)).collect();
            words.map_err(|e| e.at_place(format!("[run] {what}")))
        };
        check_spec(&spec)?;
        let of_kernel = |name: &String| match files.contains_key(name) {
            true => Ok(&files[name]),
            false => input(format!("[run] names `{}`, which is not in the kernel's folder", quote(name))),
        };
        spec.files.iter().try_for_each(|name| of_kernel(name).map(drop))?;
        let one = |what: &str, text: &str| parse(text).map_err(|e| e.at_place(format!("[run] {what}")));
        let mut written = BTreeSet::new();
        let inputs = spec.input.iter().map(|file| {
            let name = &file.file;
            if name.contains('/') || name.is_empty() || name.starts_with('.') || name.chars().any(char::is_control) {
                return input(format!("[run] input `{}` is no name of a file", quote(name)));
            }
            if !written.insert(name) {
                return input(format!("[run] input `{}` is there twice", quote(name)));
            }
            Ok((file.file.clone(), one("input", of_kernel(&file.template)?)?))
        });
        let time = time_source(&spec)?;
        if spec.serve && (spec.time.is_some() || !spec.input.is_empty()) {
            return input(
                "[run] serve = true: such a program answers in JSON and is given its config in JSON; leave out `time` and `input`",
            );
        }
        if matches!(time, TimeSource::Pattern(_, Unit::Gflops)) && !has_flops {
            return input("[run] time: a rate in GFLOP/s needs the `flops` of [work]");
        }
        let run = Run {
            command: list("command", &spec.command)?,
            environment: spec
                .environment
                .iter()
                .map(|(k, v)| Ok((k.clone(), one("environment", v)?)))
                .collect::<Result<_>>()?,
            cores: spec.cores.as_ref().map(|text| one("cores", text)).transpose()?,
            input: inputs.collect::<Result<_>>()?,
            build: list("build", &spec.build)?,
            setup: list("setup", &spec.setup)?,
            teardown: list("teardown", &spec.teardown)?,
            time,
            spec,
        };
        run.check(scope.parameters.len())
    }

    /// Refuses steps that depend on what is not decided when they run.
    fn check(self, parameters: usize) -> Result<Run> {
        let once = self.setup.iter().chain(&self.teardown).map(|t| ("setup or teardown", t));
        let served = self.command.iter().chain(self.environment.iter().map(|(_, t)| t)).chain(&self.cores);
        let served = served.filter(|_| self.spec.serve).map(|t| ("command, environment or cores with serve = true", t));
        for (what, template) in once.chain(served) {
            if template.depends_on_config(parameters) {
                return input(format!("[run] {what}: it names a parameter, which has no value there"));
            }
        }
        if !self.build.is_empty() && self.spec.files.is_empty() {
            return input("[run] build: list in `files` what it is built from, so that a change of it is noticed");
        }
        let started = || self.command.iter().chain(self.environment.iter().map(|(_, text)| text)).chain(&self.cores);
        let is_built_once = !self.build.iter().any(|template| template.depends_on_config(parameters));
        match () {
            () if name_build(self.setup.iter().chain(&self.teardown)) => input(
                "[run] setup or teardown: it names {build}, which is built for a config, and no config is chosen there",
            ),
            () if self.build.is_empty() && name_build(started().chain(self.input.iter().map(|(_, text)| text))) => {
                input("[run] names {build}, but there is no `build` command")
            }
            () if self.spec.serve && !is_built_once && name_build(started()) => input(
                "[run] serve = true: such a program is started once for all configs, whose builds differ; leave {build} out, each request tells its folder",
            ),
            () => Ok(self),
        }
    }

    /// What is known where no config is chosen: of set-up and teardown.
    pub fn around(&self, parameters: usize) -> Surroundings<'_> {
        let is_known = |text: &Template| !text.depends_on_config(parameters) && !text.names_place("build");
        let environment = self.environment.iter().filter(|(_, text)| is_known(text)).collect();
        Surroundings { environment, cores: self.cores.as_ref().filter(|text| is_known(text)) }
    }

    /// Names of the variables of the environment of this process that its texts name.
    pub fn variables(&self) -> BTreeSet<&str> {
        self.templates().chain(&self.teardown).flat_map(Template::places).filter_map(variable).collect()
    }

    /// Everything on which a recorded result depends, by the name of the part.
    pub(crate) fn identity(&self, files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let keys = self.keys().map(|(key, text)| (format!("key `{key}` of [run]"), text));
        let text = |name: &String| files.get(name).map(|text| plain(name, text)).unwrap_or_default();
        keys.into_iter().chain(self.files().map(|name| (format!("file {name}"), text(name)))).collect()
    }

    /// [`Run::identity`] as digests of before took it.
    pub(crate) fn older_identity(&self, files: &BTreeMap<String, String>) -> String {
        let texts: Vec<(&String, Option<&String>)> = self.files().map(|name| (name, files.get(name))).collect();
        let keys = self.keys().map(|(_, text)| text + " ").concat();
        format!("{keys}{}\n", texts.canonical())
    }

    /// The keys on which a recorded result depends, encoded.
    fn keys(&self) -> [(&'static str, String); 10] {
        let RunSpec { command, serve, environment, cores, input, build, setup, time, right, wrong, .. } = &self.spec;
        [
            ("command", command.canonical()),
            ("serve", serve.canonical()),
            ("environment", environment.canonical()),
            ("cores", cores.canonical()),
            ("input", input.canonical()),
            ("build", build.canonical()),
            ("setup", setup.canonical()),
            ("time", time.canonical()),
            ("right", right.canonical()),
            ("wrong", wrong.canonical()),
        ]
    }

    /// Files of the kernel's folder on which results depend.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.spec.files.iter().chain(self.spec.input.iter().map(|input| &input.template))
    }

    /// Runs of a config at most, about.
    pub fn samples(&self) -> usize {
        self.spec.samples.unwrap_or(SAMPLES)
    }

    /// Seconds after which a run counts as hanging.
    pub fn timeout(&self) -> f64 {
        self.spec.timeout.unwrap_or(TIMEOUT)
    }

    /// Seconds after which a build has failed.
    pub fn build_timeout(&self) -> f64 {
        self.spec.build_timeout.unwrap_or(STEP_TIMEOUT)
    }

    /// Seconds after which set-up or teardown has failed.
    pub fn setup_timeout(&self) -> f64 {
        self.spec.setup_timeout.unwrap_or(STEP_TIMEOUT)
    }
}
