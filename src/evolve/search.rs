//! The search: a population of patches, crossed and mutated, of which those survive that are fast and right.

use crate::edit::Edit;
use crate::llvm::{Library, Program, Proposer};
use crate::nsga::{Point, ranks, survivors};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::Result;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Instant;

/// Chances of a child: to have two parents, to lose an edit, to gain a second one.
const CROSSED: f64 = 0.5;
const SHORTER: f64 = 0.15;
const LONGER: f64 = 0.25;

/// A ratio below that of the best found is measured again before it counts, with so many pairs.
const PROMOTION_PAIRS: usize = 31;

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// How it failed; none where it is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Its error, relative to the largest magnitude of an output.
    pub error: f64,
    /// Its time as a share of that of the unedited program; infinite where it was not timed.
    #[serde(default = "no_ratio", skip_serializing_if = "has_no_ratio")]
    pub ratio: f64,
}

fn no_ratio() -> f64 {
    f64::INFINITY
}

fn has_no_ratio(ratio: &f64) -> bool {
    !ratio.is_finite()
}

/// A program that is to be judged.
pub struct Candidate {
    /// Bitcode.
    pub bitcode: Vec<u8>,
    /// The same, with work-items in reversed order.
    pub reversed: Vec<u8>,
}

/// What judges programs.
pub trait Judge {
    /// Tries programs; those that are right are timed.
    ///
    /// # Errors
    /// The error of what tries them.
    fn judge(&mut self, candidates: &[&Candidate]) -> Result<Vec<Verdict>>;

    /// Times a program that is right once more, in so many pairs with the unedited one; none where it fails now.
    ///
    /// # Errors
    /// As above.
    fn time_again(&mut self, candidate: &Candidate, pairs: usize) -> Result<Option<f64>>;
}

/// A patch, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its edits.
    pub edits: Vec<Edit>,
    /// Verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Patches that survive a generation.
    pub population: usize,
    /// Share of edits at promising places.
    pub promising: f64,
    /// Seed of all draws.
    pub seed: u64,
    /// When no further generation is begun.
    pub until: Instant,
}

/// Counts of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Edits that were drawn and fit.
    pub proposed: usize,
    /// Of these, refused by LLVM's verifier.
    pub refused: usize,
    /// Of these, the same code as an earlier one.
    pub twins: usize,
    /// Programs that were run.
    pub tried: usize,
    /// Of these, right.
    pub right: usize,
}

/// A new program: its patch, and its normal form.
struct Child {
    edits: Vec<Edit>,
    candidate: Candidate,
    form: [u8; 32],
}

/// A search.
pub struct Search<'a> {
    library: &'a Library,
    prepared: &'a [u8],
    entry: &'a str,
    settings: Settings,
    rng: ChaCha8Rng,
    population: Vec<Variant>,
    /// Verdicts by normal form.
    known: HashMap<[u8; 32], Verdict>,
    /// What was found on the way.
    pub counts: Counts,
    /// The fastest that is right and was timed twice.
    pub best: Variant,
}

impl<'a> Search<'a> {
    /// A search for edits of prepared bitcode, which goes on from variants that an earlier one tried.
    pub fn new(
        library: &'a Library,
        prepared: &'a [u8],
        entry: &'a str,
        settings: Settings,
        earlier: &[Variant],
    ) -> Search<'a> {
        let unedited = Variant { edits: Vec::new(), verdict: Verdict { fault: None, error: 0.0, ratio: 1.0 } };
        let right = earlier.iter().filter(|variant| variant.verdict.fault.is_none()).cloned();
        let mut search = Search {
            library,
            prepared,
            entry,
            settings,
            rng: ChaCha8Rng::seed_from_u64(settings.seed ^ (earlier.len() as u64) << 32),
            population: std::iter::once(unedited.clone()).chain(right).collect(),
            known: HashMap::new(),
            counts: Counts::default(),
            best: unedited,
        };
        search.survive();
        search
    }

    /// Runs until time is over or `goes_on` says no; each variant that was tried is told to `report`.
    ///
    /// # Errors
    /// The error of the judge, or of `report`.
    pub fn run(
        &mut self,
        judge: &mut dyn Judge,
        goes_on: &dyn Fn() -> bool,
        report: &mut dyn FnMut(&Variant, &Counts, &Variant) -> Result<()>,
    ) -> Result<()> {
        self.remember_unedited()?;
        while goes_on() && Instant::now() < self.settings.until {
            let children = self.children()?;
            let verdicts = judge.judge(&children.iter().map(|child| &child.candidate).collect::<Vec<_>>())?;
            for (Child { edits, candidate, form }, mut verdict) in children.into_iter().zip(verdicts) {
                self.counts.tried += 1;
                self.counts.right += usize::from(verdict.fault.is_none());
                // the best of many noisy ratios is too good
                if verdict.fault.is_none() && verdict.ratio < self.best.verdict.ratio {
                    match judge.time_again(&candidate, PROMOTION_PAIRS)? {
                        Some(ratio) => verdict.ratio = verdict.ratio.max(ratio),
                        None => verdict.fault = Some("it failed when it was run again".into()),
                    }
                }
                self.known.insert(form, verdict.clone());
                let variant = Variant { edits, verdict };
                if variant.verdict.fault.is_none() {
                    if variant.verdict.ratio < self.best.verdict.ratio {
                        self.best = variant.clone();
                    }
                    self.population.push(variant.clone());
                }
                report(&variant, &self.counts, &self.best)?;
            }
            self.survive();
        }
        Ok(())
    }

    /// The variants that survived, the fastest first.
    pub fn fastest(&self) -> Vec<Variant> {
        let mut all = self.population.clone();
        all.sort_by(|a, b| a.verdict.ratio.total_cmp(&b.verdict.ratio));
        all
    }

    fn remember_unedited(&mut self) -> Result<()> {
        let form = Program::read(self.library, self.prepared, self.entry)?.normal_form()?;
        self.known.insert(form, self.population[0].verdict.clone());
        Ok(())
    }

    fn survive(&mut self) {
        let kept = survivors(&points(&self.population), self.settings.population);
        self.population = kept.into_iter().map(|at| self.population[at].clone()).collect();
    }

    /// New programs for a generation, none of which is a twin of a known one.
    fn children(&mut self) -> Result<Vec<Child>> {
        let proposer = Proposer { promising: self.settings.promising };
        let mut children: Vec<Child> = Vec::new();
        let wanted = self.settings.population.div_ceil(2);
        for _ in 0..20 * wanted {
            if children.len() == wanted {
                break;
            }
            let patch = self.patch();
            let mut program = Program::read(self.library, self.prepared, self.entry)?;
            let mut edits = program.apply_all(&patch);
            let more = 1 + usize::from(self.rng.random_bool(LONGER));
            for _ in 0..more {
                edits.extend(proposer.propose(&mut program, &mut self.rng));
            }
            self.counts.proposed += 1;
            if program.fault().is_some() {
                self.counts.refused += 1;
                continue;
            }
            let form = program.normal_form()?;
            if self.known.contains_key(&form) {
                self.counts.twins += 1;
                continue;
            }
            if children.iter().any(|child| child.form == form) {
                continue;
            }
            let candidate = Candidate { bitcode: program.bitcode(), reversed: program.reversed_bitcode()? };
            children.push(Child { edits, candidate, form });
        }
        Ok(children)
    }

    /// A patch of one or two parents: what both have, and of the rest, shuffled, a part.
    fn patch(&mut self) -> Vec<Edit> {
        let points = points(&self.population);
        let ranks = ranks(&points);
        let mut parent = || {
            let [a, b] = [0, 0].map(|_| self.rng.random_range(0..ranks.len()));
            if ranks[a].is_before(&ranks[b]) { a } else { b }
        };
        let [first, second] = [parent(), parent()].map(|at| self.population[at].edits.clone());
        let mut patch = match self.rng.random_bool(CROSSED) {
            false => first,
            true => {
                let (mut both, mut rest): (Vec<Edit>, Vec<Edit>) =
                    first.iter().cloned().partition(|edit| second.contains(edit));
                rest.extend(second.into_iter().filter(|edit| !both.contains(edit)));
                rest.shuffle(&mut self.rng);
                rest.truncate(self.rng.random_range(0..=rest.len()));
                both.extend(rest);
                both
            }
        };
        if !patch.is_empty() && self.rng.random_bool(SHORTER) {
            patch.remove(self.rng.random_range(0..patch.len()));
        }
        patch
    }
}

fn points(population: &[Variant]) -> Vec<Point> {
    population.iter().map(|variant| [variant.verdict.ratio, variant.verdict.error]).collect()
}
