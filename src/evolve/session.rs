//! An evolution from a config to edits that a person can read: search, what matters of the best, and a judgement on data that no search saw.

use crate::bench::{Bench, Trial, unseen_cases};
use crate::edit::Edit;
use crate::llvm::{Library, Place, Program};
use crate::minimise::{minimise, ratio_of};
use crate::search::{Counts, Search, Settings, Variant};
use seqtune_data::stats::{geometric_mean, median, median_interval};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem, hex, limits};
use seqtune_measure::backends::opencl::pocl_llvm;
use seqtune_measure::verify::other_problems::{LARGE, other_problems};
use seqtune_measure::worker::setup::Setup;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Pairs of the judgement, problems of odd sizes beside, and workers.
const PAIRS: usize = 101;
const OTHERS: usize = 4;
const SEARCHED: usize = 1;
const WORKERS: usize = 2;

/// The form of a file of edits.
pub const FORMAT: &str = "seqtune-edits-1";

/// What is evolved.
pub struct Subject<'a> {
    /// Kernel.
    pub kernel: &'a Kernel,
    /// Device, which is PoCL's.
    pub device: &'a Device,
    /// Config whose program is edited.
    pub config: &'a Config,
    /// Problems that it is tried on and timed for; the geometric mean counts.
    pub problems: &'a [Problem],
    /// Largest error; the kernel's tolerance where none is given.
    pub most_error: Option<f64>,
}

/// Time of the edited program as a share of that of the unedited one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Problem as text.
    pub problem: String,
    /// Median of the pairs.
    pub ratio: f64,
    /// Lower end of its interval of 95 %.
    pub low: f64,
    /// Upper end of that.
    pub high: f64,
}

/// The program that is edited, and what it is tried on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Kernel's name.
    pub kernel: String,
    /// Digest of its space.
    pub space: String,
    /// Config as text.
    pub config: String,
    /// Problems as text.
    pub problems: Vec<String>,
    /// Device's name.
    pub device: String,
    /// Major version of LLVM.
    pub llvm: u32,
    /// SHA-256 of the bitcode before any edit.
    pub base: String,
}

/// Edits with the program that they are of, and what was found of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edits {
    /// [`FORMAT`].
    pub format: String,
    /// What is edited.
    #[serde(flatten)]
    pub origin: Origin,
    /// SHA-256 of the bitcode after the edits.
    pub result: String,
    /// The edits, in order.
    pub edits: Vec<Edit>,
    /// What they gain on each problem, with data that the search never saw.
    #[serde(default)]
    pub gains: Vec<Gain>,
    /// Largest error on all data.
    #[serde(default)]
    pub error: f64,
    /// Problems of other sizes that they were found right on.
    #[serde(default)]
    pub right_on: Vec<String>,
}

/// An edit that matters, for a reader.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The edit.
    pub edit: Edit,
    /// The instruction that it is about.
    pub instruction: String,
    /// What the instruction does.
    pub class: &'static str,
    /// Loops that it stands in.
    pub depth: u32,
    /// Time without this edit, as a share of that with all.
    pub without: Option<f64>,
}

/// A device, and the code that is edited on it.
pub struct Session<'a> {
    subject: Subject<'a>,
    library: Library,
    bench: Bench,
    prepared: Vec<u8>,
    entry: String,
}

impl<'a> Session<'a> {
    /// Compiles the config on the device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where its code cannot be edited, [`Error::Input`] where the config is not legal for a problem.
    pub fn new(subject: Subject<'a>, setup: &Setup) -> Result<Session<'a>> {
        let Subject { kernel, device, config, problems, most_error } = subject;
        for problem in problems {
            if let Some(why) = ConfigSpace::new(kernel, problem, device).violation(config) {
                let (config, problem) = (kernel.show_config(config), kernel.brief_problem(problem));
                return Err(Error::Input(format!("{config} is not legal for {problem}: {why}")));
            }
        }
        let version = pocl_llvm().ok_or_else(|| {
            Error::Unavailable(
                "code is edited on PoCL alone, which is not here: scripts/setup.sh opencl installs it".into(),
            )
        })?;
        let library = Library::open(version)?;
        let trial = Trial {
            config: kernel.show_config(config),
            problems: problems.iter().map(|problem| kernel.show_problem(problem)).collect(),
            odd: Vec::new(),
            most_error,
        };
        let first = problems.first().ok_or_else(|| Error::Input("no problem was given".into()))?;
        let others =
            problems.iter().flat_map(|problem| others(kernel, device, config, problem).into_iter().take(SEARCHED));
        let odd = others.map(|other| kernel.show_problem(&other)).collect();
        let trial = Trial { odd, ..trial };
        let bench = Bench::new(setup, WORKERS, kernel, first, config, trial)?;
        let prepared = library.prepare(&bench.bitcode()?)?;
        let entry = kernel.source()?.program.entry.clone();
        Ok(Session { subject, library, bench, prepared, entry })
    }

    /// The unedited program.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be read.
    pub fn program(&self) -> Result<Program<'_>> {
        Program::read(&self.library, &self.prepared, &self.entry)
    }

    /// What is edited.
    pub fn origin(&self) -> Origin {
        let Subject { kernel, device, config, problems, .. } = self.subject;
        Origin {
            kernel: kernel.name.clone(),
            space: kernel.space_hash(),
            config: kernel.show_config(config),
            problems: problems.iter().map(|problem| kernel.show_problem(problem)).collect(),
            device: device.name.clone(),
            llvm: self.library.version,
            base: digest(&self.prepared),
        }
    }

    /// Searches; each variant that was tried is told to `report`.
    ///
    /// # Errors
    /// The error of the workers, or of `report`.
    pub fn search(
        &mut self,
        settings: Settings,
        earlier: &[Variant],
        goes_on: &dyn Fn() -> bool,
        report: &mut dyn FnMut(&Variant, &Counts, &Variant) -> Result<()>,
    ) -> Result<Found> {
        let mut search = Search::new(&self.library, &self.prepared, &self.entry, settings, earlier);
        search.run(&mut self.bench, goes_on, report)?;
        Ok(Found { best: search.best.clone(), fastest: search.fastest(), counts: search.counts })
    }

    /// Keeps the edits that matter.
    ///
    /// # Errors
    /// The error of the workers.
    pub fn minimise(&mut self, edits: &[Edit]) -> Result<Vec<Edit>> {
        minimise(&self.library, &self.prepared, &self.entry, edits, &mut self.bench)
    }

    /// What each edit does, and what the program loses without it.
    ///
    /// # Errors
    /// The error of the workers.
    pub fn explain(&mut self, edits: &[Edit]) -> Result<Vec<Explained>> {
        let places = self.program()?.places();
        let all = ratio_of(&self.library, &self.prepared, &self.entry, edits, &mut self.bench)?;
        let mut explained = Vec::new();
        for at in 0..edits.len() {
            let mut fewer = edits.to_vec();
            let edit = fewer.remove(at);
            let without = ratio_of(&self.library, &self.prepared, &self.entry, &fewer, &mut self.bench)?;
            let place: Option<&Place> = places.iter().find(|place| place.id == edit.place());
            explained.push(Explained {
                instruction: place.map_or_else(String::new, |place| place.text.clone()),
                class: place.map_or("inserted", |place| place.class.name()),
                depth: place.map_or(0, |place| place.depth),
                without: without.zip(all).map(|(without, all)| without / all),
                edit,
            });
        }
        Ok(explained)
    }

    /// Judges edits on data and sizes that no search saw.
    ///
    /// # Errors
    /// [`Error::Failed`] where they are wrong.
    pub fn judge(&mut self, edits: &[Edit]) -> Result<Edits> {
        let Subject { kernel, device, config, problems, .. } = self.subject;
        let mut program = self.program()?;
        if program.apply_all(edits).len() < edits.len() {
            return Err(Error::Failed("an edit does not fit the program".into()));
        }
        let (bitcode, reversed) = (program.bitcode(), program.reversed_bitcode()?);
        drop(program);
        let wrong = |what: &str, detail: &str| Error::Failed(format!("{what}: {detail}"));
        let mut gains = Vec::new();
        let found = self.bench.try_one(&bitcode, &unseen_cases(), PAIRS)?;
        if let Some(fault) = &found.fault {
            return Err(wrong("on data that the search never saw", &fault.detail));
        }
        for (problem, ratios) in problems.iter().zip(&found.ratios) {
            gains.push(gain(kernel.show_problem(problem), ratios));
        }
        let turned = self.bench.try_one(&reversed, &unseen_cases()[..1], 0)?;
        if let Some(fault) = &turned.fault {
            return Err(wrong("with work-items in reversed order", &fault.detail));
        }
        let mut right_on = Vec::new();
        for problem in problems {
            for other in others(kernel, device, config, problem).into_iter().skip(SEARCHED) {
                let text = kernel.show_problem(&other);
                let tried = self.bench.try_on(&bitcode, std::slice::from_ref(&text))?;
                if let Some(fault) = &tried.fault {
                    return Err(wrong(&format!("for {}", kernel.brief_problem(&other)), &fault.detail));
                }
                if !right_on.contains(&text) {
                    right_on.push(text);
                }
            }
        }
        Ok(Edits {
            format: FORMAT.into(),
            origin: self.origin(),
            result: digest(&bitcode),
            edits: edits.to_vec(),
            gains,
            error: found.error,
            right_on,
        })
    }

    /// Refuses edits of another program, and those that make another one here than they did.
    ///
    /// # Errors
    /// [`Error::Input`] with what differs.
    pub fn check(&self, edits: &Edits) -> Result<()> {
        if digest(&self.prepared) != edits.origin.base {
            return Err(Error::Input(
                "the config compiles to another program here than it did for these edits: another PoCL, processor or source".into(),
            ));
        }
        let mut program = self.program()?;
        let applied = program.apply_all(&edits.edits);
        if applied.len() < edits.edits.len() || digest(&program.bitcode()) != edits.result {
            return Err(Error::Input("these edits make another program here than they did".into()));
        }
        Ok(())
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Problems of odd sizes like one, for which a config is legal.
fn others(kernel: &Kernel, device: &Device, config: &Config, problem: &Problem) -> Vec<Problem> {
    let drawn = other_problems(kernel, problem, OTHERS, LARGE).into_iter();
    drawn.filter(|other| ConfigSpace::new(kernel, other, device).is_legal(config)).collect()
}

/// What a search found.
pub struct Found {
    /// The fastest that is right.
    pub best: Variant,
    /// Those that survived, the fastest first.
    pub fastest: Vec<Variant>,
    /// Counts.
    pub counts: Counts,
}

/// The median of ratios with its interval.
fn gain(problem: String, ratios: &[f32]) -> Gain {
    let mut sorted: Vec<f32> = ratios.to_vec();
    sorted.sort_by(f32::total_cmp);
    let [low, high] = median_interval(&sorted);
    Gain { problem, ratio: median(ratios), low, high }
}

/// Reads a file of edits.
///
/// # Errors
/// [`Error::Input`] where it is none.
pub fn read_edits(path: &Path) -> Result<Edits> {
    let text = seqtune_kernel::files::read_text(path, limits::TEXT)?;
    let edits: Edits = serde_json::from_str(&text)
        .map_err(|e| Error::Input(format!("{}: is no file of edits: {e}", path.display())))?;
    match edits.format.as_str() {
        FORMAT => Ok(edits),
        other => Err(Error::Input(format!("{}: is of format {other:?}; {FORMAT} is read", path.display()))),
    }
}

/// Geometric mean of gains.
pub fn mean(gains: &[Gain]) -> f64 {
    geometric_mean(&gains.iter().map(|gain| gain.ratio).collect::<Vec<f64>>())
}
