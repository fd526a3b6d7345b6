//! Few sizes, of which the split by hash would leave too few to choose weights by: they are left out in turn instead.
//!
//! Models of one network are trained without a part of the shapes and judged on it, so that every figure is of sizes that the model had not
//! learned. How many passes are made is chosen by the same models: for each part by what is best for the other parts, so that no figure
//! is of a choice that it made itself. Models of half of the shapes tell what the second half brought.

use crate::fit::{Existing, train};
use seqtune_data::{KernelTable, MeasuredProblem, Table};
use seqtune_eval::measures::left_out::LeftOutInTurn;
use seqtune_eval::measures::shown::{Answered, AnsweredProblem, answer, in_turn};
use seqtune_fit::parts::divide;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Kernel, Objective};
use seqtune_predict::confidence::HeldOutResult;
use seqtune_predict::model::Split;
use seqtune_predict::{Predictor, Settings};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shapes up to which each is left out alone.
const ALONE: usize = 12;

/// Parts of more shapes than that.
const FOLDS: usize = 6;

/// Shapes to learn from, at least.
const LEAST: usize = 2;

/// Part of the passes that is tried beside all of them.
const FEWER: usize = 3;

/// Whether a corpus is one kernel's sweeps of which too few would choose weights.
pub fn is_few(corpus: &[KernelTable], settings: &Settings, tuned: bool) -> bool {
    !tuned && corpus.len() == 1 && divide(corpus, &settings.split, tuned).iter().all(|p| p.validation.is_empty())
}

/// What came of leaving sizes out in turn.
pub struct LeftOutResult {
    /// Figures on the sizes that were left out.
    pub figures: LeftOutInTurn,
    /// The same as a model's file tells them, for each device.
    pub shown: Vec<HeldOutResult>,
    /// Passes over the problems that served these best; `None` for the usual number.
    pub epochs: Option<usize>,
}

/// One part of the problems.
pub struct FewPart<'a> {
    /// Problems of the other shapes.
    pub learned: Vec<&'a MeasuredProblem>,
    /// Of every second of these shapes.
    pub half: Vec<&'a MeasuredProblem>,
    /// Problems that are left out.
    pub tests: Vec<&'a MeasuredProblem>,
}

impl<'a> FewPart<'a> {
    /// Problems that are left out and of which enough was measured to judge a choice.
    fn asked_problems(&self) -> impl Iterator<Item = &'a MeasuredProblem> {
        self.tests.iter().copied().filter(|tried| tried.costs(Objective::Time).len() > 1)
    }
}

/// What is trained and judged.
struct Few<'a> {
    kernel: &'a Kernel,
    table: &'a Table,
    settings: Settings,
    folder: PathBuf,
    parts: Vec<FewPart<'a>>,
    done: AtomicUsize,
    tell: &'a (dyn Fn(usize, usize) + Sync),
    all: usize,
}

/// Folder of the models of parts, in the model's.
pub fn place(folder: &Path) -> PathBuf {
    folder.join("left-out")
}

/// Leaves shapes out in turn, each of few or a sixth of more; `None` where too few are there to learn from. Models of parts are kept in
/// [`place`] until they are removed, so that what was interrupted goes on. `tell` hears of trainings done, and of how many there are.
///
/// # Errors
/// The error of training.
pub fn leave_out(
    kernel: &Kernel,
    table: &Table,
    settings: &Settings,
    folder: &Path,
    tell: &(dyn Fn(usize, usize) + Sync),
) -> Result<Option<LeftOutResult>> {
    let corpus = [KernelTable::new(kernel.clone(), table.clone())];
    let problems: Vec<&MeasuredProblem> =
        divide(&corpus, &settings.split, false).iter().flat_map(|p| &p.train).map(|at| &table.problems[*at]).collect();
    let shapes = by_place(kernel, &problems, settings.split.seed);
    if shapes.len() <= LEAST {
        return Ok(None);
    }
    let folds = if shapes.len() <= ALONE { shapes.len() } else { FOLDS };
    let parts = parts(kernel, &problems, settings.split.seed, folds);
    let halves = parts.iter().all(|part| by_place(kernel, &part.half, settings.split.seed).len() >= LEAST);
    let whole = Split { test: 0.0, validation: 0.0, from: 0.0, ..settings.split };
    // of other shapes or another order nothing is taken for what was trained
    let key = format!("{:016x}", settings.split.place(&shapes.join("\n")).to_bits());
    let few = Few {
        kernel,
        table,
        settings: Settings { split: whole, members: 1, ..settings.clone() },
        folder: place(folder).join(key),
        parts,
        done: AtomicUsize::new(0),
        tell,
        all: folds * (1 + usize::from(settings.epochs.is_none()) + usize::from(halves)),
    };
    few.judge(halves, shapes.len()).map(Some)
}

/// Shapes in an order that is the same everywhere, and says nothing of their sizes.
fn by_place(kernel: &Kernel, problems: &[&MeasuredProblem], seed: u64) -> Vec<String> {
    let mut shapes: Vec<String> = problems.iter().map(|t| kernel.shape(&t.problem)).collect();
    let split = Split { seed, ..Split::default() };
    shapes.sort_by(|a, b| split.place(a).total_cmp(&split.place(b)).then_with(|| a.cmp(b)));
    shapes.dedup();
    shapes
}

/// Problems in parts by shape, as many as are asked for or, where they are fewer, as there are shapes; each of as many shapes as can be.
pub fn parts<'a>(kernel: &Kernel, problems: &[&'a MeasuredProblem], seed: u64, folds: usize) -> Vec<FewPart<'a>> {
    let shapes = by_place(kernel, problems, seed);
    let folds = folds.min(shapes.len());
    (0..folds).map(|fold| part(kernel, problems, &shapes, fold, folds)).collect()
}

fn part<'a>(
    kernel: &Kernel,
    problems: &[&'a MeasuredProblem],
    shapes: &[String],
    fold: usize,
    folds: usize,
) -> FewPart<'a> {
    let at =
        |t: &MeasuredProblem| shapes.iter().position(|shape| *shape == kernel.shape(&t.problem)).unwrap_or_default();
    let (tests, learned): (Vec<_>, Vec<_>) = problems.iter().copied().partition(|t| at(t) % folds == fold);
    // every second of those that are left
    let left: Vec<usize> = (0..shapes.len()).filter(|at| at % folds != fold).collect();
    let is_half = |t: &&MeasuredProblem| left.binary_search(&at(t)).is_ok_and(|place| place % 2 == 0);
    FewPart { half: learned.iter().copied().filter(is_half).collect(), learned, tests }
}

/// What came of training one part in one way.
struct Outcome {
    /// Answers to its problems.
    answers: Vec<Answered>,
    /// Passes that were made.
    epochs: usize,
}

/// Shares of the best measured cost that first choices among the measured configs reach.
fn shares(answered: &[Answered]) -> impl Iterator<Item = f64> {
    answered.iter().filter_map(|answered| answered.shares[1])
}

impl Few<'_> {
    fn judge(&self, halves: bool, shapes: usize) -> Result<LeftOutResult> {
        let usual = self.train_all("all", self.settings.epochs, false)?;
        let passes = usual.iter().map(|outcome| outcome.epochs).sum::<usize>() / usual.len();
        let fewer = (passes / FEWER).max(1);
        let ways = match self.settings.epochs {
            Some(_) => vec![usual],
            None => vec![usual, self.train_all("fewer", Some(fewer), false)?],
        };
        let epochs = |way: usize| if way == 0 { self.settings.epochs } else { Some(fewer) };
        // each part by what is best for the others
        let chosen: Vec<usize> = (0..self.parts.len()).map(|part| best(&ways, Some(part))).collect();
        let of_part = |(part, way): (usize, &usize)| {
            let answers = self.parts[part].asked_problems().zip(ways[*way][part].answers.clone());
            answers.map(|(tried, answered)| AnsweredProblem { tried, answered }).collect::<Vec<_>>()
        };
        let asked: Vec<AnsweredProblem> = chosen.iter().enumerate().flat_map(of_part).collect();
        let last = best(&ways, None);
        let halved = match halves {
            true => {
                let half = self.train_all("half", epochs(last), true)?;
                half.iter().flat_map(|outcome| shares(&outcome.answers)).collect()
            }
            false => Vec::new(),
        };
        let shares = asked.iter().flat_map(|asked| asked.answered.shares[1]).collect();
        let figures = LeftOutInTurn { folds: self.parts.len(), shapes, shares, halved };
        Ok(LeftOutResult { figures, shown: in_turn(self.kernel, self.table, &asked), epochs: epochs(last) })
    }

    /// Trains a model without each part, from the other shapes or half of them, and judges it on the part.
    fn train_all(&self, name: &str, epochs: Option<usize>, half: bool) -> Result<Vec<Outcome>> {
        let each: Vec<usize> = (0..self.parts.len()).collect();
        let work = |at: &usize, threads: usize| {
            tch::set_num_threads(threads as i32);
            let part = &self.parts[*at];
            let learned = if half { &part.half } else { &part.learned };
            let corpus = [KernelTable::new(self.kernel.clone(), self.table.with_problems(learned.clone()))];
            let settings = Settings { epochs, ..self.settings.clone() };
            let folder = self.folder.join(format!("{name}-{}-of-{}", at + 1, self.parts.len()));
            let model = train(&corpus, &settings, &folder, Existing::Replace, &mut |_| {
                // a training takes minutes, in which the clock goes on
                (self.tell)(self.done.load(Ordering::Relaxed), self.all);
            })?;
            let predictor = Predictor::new(self.kernel, &model)?.without_correction();
            let answer = |t: &MeasuredProblem| answer(&predictor, &self.table.devices[t.device], Objective::Time, t);
            let answers = part.asked_problems().map(answer).collect::<Result<Vec<Answered>>>()?;
            (self.tell)(self.done.fetch_add(1, Ordering::Relaxed) + 1, self.all);
            Ok(Outcome { answers, epochs: model.meta.settings.epochs.unwrap_or_default() })
        };
        on_cores(&each, work)
    }
}

/// The way whose mean share is the largest, without a part's where one is left out; of equal ones the first.
fn best(ways: &[Vec<Outcome>], without: Option<usize>) -> usize {
    let mean = |way: &[Outcome]| {
        let parts = way.iter().enumerate().filter(|(at, _)| Some(*at) != without);
        let shares: Vec<f64> = parts.flat_map(|(_, outcome)| shares(&outcome.answers)).collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    };
    let (first, rest) = (mean(&ways[0]), ways.iter().enumerate().skip(1));
    rest.fold((0, first), |(at, most), (way, outcomes)| match mean(outcomes) > most {
        true => (way, mean(outcomes)),
        false => (at, most),
    })
    .0
}

/// Does work on a core each: networks that share cores wait for each other. The last few, if they are fewer than the cores, share those.
///
/// # Errors
/// The first error of the work.
pub fn on_cores<T: Sync, R: Send>(all: &[T], work: impl Fn(&T, usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    let (full, rest) = all.split_at(all.len() / cores() * cores());
    let mut done = on_threads(full, cores(), |one| work(one, 1))?;
    done.extend(on_threads(rest, rest.len(), |one| work(one, cores() / rest.len()))?);
    Ok(done)
}
