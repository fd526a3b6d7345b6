//! `seqtune train`, as the program that trains does it.

use crate::ensemble::checkpoint;
use crate::ensemble::member::Epoch;
use crate::few::{self, LeftOutResult};
use crate::fit::{Existing, refine, train};
use crate::progress::Progress;
use crate::training_data::groups::{ModelGroup, groups};
use seqtune_console::answer::{answer, answer_json, tell, warn};
use seqtune_console::arguments::train::Args;
use seqtune_console::inputs::tables;
use seqtune_console::outputs::{Kind, Replace, claim, command_line};
use seqtune_console::progress::Bar;
use seqtune_console::signals::end_with;
use seqtune_data::KernelTable;
use seqtune_eval::measures::left_out::LeftOutInTurn;
use seqtune_fit::parts::{divide, part_of};
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input, io};
use seqtune_predict::model::{Part, Split, Target};
use seqtune_predict::{Hparams, Meta, Model, Quality, Settings};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Runs `seqtune train`.
///
/// # Errors
/// `Error::Input` where the options or the datasets allow no training, `Error::Failed` where it diverges.
pub fn run(args: Args) -> Result<()> {
    if args.output.is_file() {
        return input(format!("-o {}: is a file; name a folder for the model", args.output.display()));
    }
    let corpus = tables(&args.datasets, args.kernel.as_deref())?;
    let tuned = is_tuned(&corpus)?;
    let from = match (&args.fine_tune, &corpus[..]) {
        (Some(from), [KernelTable { kernel, .. }, ..]) => Some(whole(from, &kernel.name)?),
        _ => None,
    };
    let settings = settings(&args, from.as_ref(), tuned)?;
    let problems: usize = corpus.iter().map(|data| data.table.problems.len()).sum();
    let records: usize = corpus.iter().map(|data| data.table.records()).sum();
    let kernels = corpus.len();
    let groups = learning(groups(corpus, &args.output, args.together), &settings.split, tuned)?;
    let stale = stale(&args, &groups)?;
    let existing = existing(&args, &groups, &stale)?;
    let models = if groups.len() > 1 { format!(", {}", count_noun(groups.len(), "model")) } else { String::new() };
    let [learned, validation, test] = part_sizes(&groups, &settings.split, tuned);
    let [kernels, problems, records] = [(kernels, "kernel"), (problems, "problem"), (records, "record")]
        .map(|(number, noun)| count_noun(number, noun));
    let learned = count_noun(learned, "problem");
    tell(&format!("{kernels}, {problems}, {records}{models}"));
    tell(&format!("{learned} to learn from, {validation} to choose weights by, {test} held out, by shape"));
    let place = args.output.clone();
    end_with(move || match checkpoint::keeps(&place) {
        true => format!("{} keeps what was trained so far, and the same command goes on", place.display()),
        false => "nothing was kept yet; the same command begins anew".into(),
    })?;
    let models = train_all(&args, &groups, from.as_ref(), &settings, existing, tuned)?;
    for file in &stale {
        std::fs::remove_file(file).map_err(io(file))?;
    }
    show(&args, &groups, &models)
}

/// The model to go on from.
///
/// # Errors
/// `Error::Input` where the folder holds a small decoder alone, else as loading.
fn whole(from: &Path, kernel: &str) -> Result<Model> {
    let small = Model::file_for(from, Some(kernel), Quality::Auto)?;
    match Model::file_for(from, Some(kernel), Quality::Best) {
        Err(_) if small.is_file() => input(format!(
            "--fine-tune {}: holds the small decoder alone; training goes on from the networks that it was distilled from",
            from.display()
        )),
        whole => Model::load(&whole?),
    }
}

/// Numbers of problems in the training, validation and test parts.
fn part_sizes(groups: &[ModelGroup], split: &Split, tuned: bool) -> [usize; 3] {
    let mut counts = [0; 3];
    for corpus in groups.iter().map(|group| &group.corpus) {
        for problems in divide(corpus, split, tuned) {
            counts[0] += problems.train.len();
            counts[1] += problems.validation.len();
        }
        counts[2] += corpus
            .iter()
            .map(|KernelTable { kernel: k, table: t }| part_of(k, t, split, Part::Test, tuned).len())
            .sum::<usize>();
    }
    counts
}

/// Whether tables hold what tuners chose; an error where they hold that and sweeps.
fn is_tuned(corpus: &[KernelTable]) -> Result<bool> {
    let tuned = corpus.iter().all(|data| data.table.is_tuned());
    if !tuned && corpus.iter().any(|data| data.table.problems.iter().any(|t| t.tuned_config().is_some())) {
        return input("sweeps and databases of tuned configs are learned apart; give one kind of them");
    }
    Ok(tuned)
}

/// The settings that the options ask for; what they leave open is as in the model that is gone on from, or as usual for the data.
fn settings(args: &Args, from: Option<&Model>, tuned: bool) -> Result<Settings> {
    let default = match from {
        Some(model) => Settings {
            split: model.meta.split,
            ..if tuned { Settings::refining_tuned() } else { Settings::refining() }
        },
        None if tuned => Settings::for_tuned(),
        None => Settings::default(),
    };
    if args.target_temperature.is_some() && args.target == Some(Target::Best) {
        return input("--target-temperature is the temperature of the soft target; leave it out with --target best");
    }
    let width = args.width.unwrap_or(default.hparams.width);
    let settings = Settings {
        hparams: Hparams {
            width,
            feed_forward: 2 * width,
            encoder_layers: args.layers,
            decoder_layers: args.layers,
            ..default.hparams
        },
        members: args.members.unwrap_or(default.members),
        target: args.target.unwrap_or(default.target),
        tau: args.target_temperature.or(default.tau),
        epochs: args.epochs.or(default.epochs),
        batch: args.batch_size.or(default.batch),
        dropout: args.dropout.unwrap_or(default.dropout),
        smoothing: args.label_smoothing.unwrap_or(default.smoothing),
        pseudo_labels: args.pseudo_labels.unwrap_or(default.pseudo_labels),
        rate: args.learning_rate.unwrap_or(default.rate),
        split: split(args, default.split, from.is_some())?,
        seed: args.seed,
        command: command_line(),
        ..default
    };
    check(&settings)?;
    Ok(settings)
}

/// The split that the options ask for. Going on from a model, nothing that it learned may be held out.
fn split(args: &Args, default: Split, goes_on: bool) -> Result<Split> {
    let split = Split {
        seed: args.split_seed.unwrap_or(default.seed),
        test: args.test.unwrap_or(default.test),
        validation: args.validation.unwrap_or(default.validation),
        from: default.from,
    };
    if goes_on && (split.seed != default.seed || split.test > default.test) {
        return input(format!(
            "--fine-tune: what the model learned would be judged as held out; leave out --split-seed, and --test or give at most {}",
            default.test
        ));
    }
    Ok(split)
}

/// The groups that have anything to learn; of several, the others are left out with a warning.
fn learning(mut groups: Vec<ModelGroup>, split: &Split, tuned: bool) -> Result<Vec<ModelGroup>> {
    if groups.len() > 1 {
        groups.retain(|group| {
            let learns = divide(&group.corpus, split, tuned).iter().any(|problems| !problems.train.is_empty());
            if !learns {
                let name = group.name();
                warn(&format!("{name}: no problem shape falls into the training part; left out"));
            }
            learns
        });
    }
    if groups.is_empty() {
        return input("no problem shape falls into the training part of any kernel; give more shapes");
    }
    Ok(groups)
}

/// A model that was trained.
struct Trained {
    model: Model,
    /// What came of leaving its sizes out in turn, where they are few.
    left_out: Option<LeftOutInTurn>,
}

/// Trains a model for each group.
fn train_all(
    args: &Args,
    groups: &[ModelGroup],
    from: Option<&Model>,
    settings: &Settings,
    existing: Existing,
    tuned: bool,
) -> Result<Vec<Trained>> {
    let mut reporter = ProgressReporter::new(groups, tuned);
    let mut models = Vec::new();
    for group in groups {
        let (corpus, folder) = (&group.corpus, &group.folder);
        let is_few = from.is_none() && few::is_few(corpus, settings, tuned);
        let judged = if is_few && !args.no_cross_validation { left_out(group, settings)? } else { None };
        let settings = match &judged {
            Some(judged) => &Settings { epochs: judged.epochs.or(settings.epochs), ..settings.clone() },
            None => settings,
        };
        reporter.by_heart = is_few;
        let model = match from {
            Some(from) => refine(from, corpus, settings, folder, existing, &mut |p| reporter.report(group, p)),
            None => train(corpus, settings, folder, existing, &mut |p| reporter.report(group, p)),
        };
        let mut model = model.map_err(|e| e.at_place(group.name()))?;
        if let Some(judged) = &judged {
            model = with_figures(model, judged, folder)?;
        }
        models.push(Trained { model, left_out: judged.map(|judged| judged.figures) });
        reporter.next(group);
    }
    reporter.end();
    Ok(models)
}

/// Leaves the sizes of a group out in turn, with a bar.
fn left_out(group: &ModelGroup, settings: &Settings) -> Result<Option<LeftOutResult>> {
    let [KernelTable { kernel, table }] = &group.corpus[..] else { return Ok(None) };
    let bar: Mutex<Option<Bar>> = Mutex::new(None);
    let show = |done: usize, all: usize| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = bar.get_or_insert_with(|| {
            tell(
                "too few sizes to choose weights by: they are left out in turn, before a model learns from all (--no-cross-validation goes without)",
            );
            Bar::new("leave out", all as u64)
        });
        bar.move_to(done, "models without some sizes are trained");
    };
    let judged = few::leave_out(kernel, table, settings, &group.folder, &show).map_err(|e| e.at_place(group.name()))?;
    if let Some(bar) = bar.into_inner().unwrap_or_else(PoisonError::into_inner) {
        bar.end();
    }
    if judged.is_none() {
        warn("so few sizes that none can be left out: what the model is worth is not known; measure more");
    }
    Ok(judged)
}

/// A model that says what it is worth on sizes that were left out, in the place of scores on what it learned.
fn with_figures(mut model: Model, judged: &LeftOutResult, folder: &Path) -> Result<Model> {
    model.meta.scores.extend(judged.figures.scores());
    model.meta.held_out.extend(judged.shown.iter().cloned());
    model.rewrite(&Model::file(folder))?;
    std::fs::remove_dir_all(few::place(folder)).or_else(|e| match e.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(io(folder)(e)),
    })?;
    Ok(model)
}

/// Shows where the models are, and their validation scores.
fn show(args: &Args, groups: &[ModelGroup], models: &[Trained]) -> Result<()> {
    if args.json {
        return match models {
            [trained] => answer_json(&trained.model.meta),
            _ => answer_json(&models.iter().map(|trained| &trained.model.meta).collect::<Vec<_>>()),
        };
    }
    for (group, Trained { model, left_out }) in groups.iter().zip(models) {
        let own = || model.meta.scores.iter().map(|(name, score)| format!("{name}: {score:.4}")).collect::<Vec<_>>();
        let scores = left_out.as_ref().map_or_else(|| own().join("\n"), LeftOutInTurn::text);
        let file = Model::file(&group.folder);
        let weights = count_noun(model.size(), "weight");
        answer(&format!("{}: {weights}\n  {}", file.display(), scores.replace('\n', "\n  ")));
    }
    Ok(())
}

/// Files of models in the folder whose kernels all get another model now.
fn stale(args: &Args, groups: &[ModelGroup]) -> Result<Vec<PathBuf>> {
    let trained: Vec<&str> = groups.iter().flat_map(|g| &g.corpus).map(|data| data.kernel.name.as_str()).collect();
    let mut stale = Vec::new();
    for folder in Model::folders(&args.output)? {
        let replaced = groups.iter().any(|g| g.folder == folder);
        if !replaced && Meta::load(&folder)?.kernels().iter().all(|k| trained.contains(k)) {
            let files = [(Model::file(&folder), Kind::Model), (Model::small_file(&folder), Kind::SmallModel)];
            for (file, kind) in files.into_iter().filter(|(file, _)| file.is_file()) {
                claim(&file, kind, Replace::OWN, &[])?;
                stale.push(file);
            }
        }
    }
    Ok(stale)
}

/// What becomes of models that are already there: unless some are missing, which is how an interrupted run leaves the folder, they
/// are replaced only when asked.
fn existing(args: &Args, groups: &[ModelGroup], stale: &[PathBuf]) -> Result<Existing> {
    for folder in groups.iter().map(|group| &group.folder) {
        // the small decoder of a model that is replaced goes with it
        let files = [(Model::file(folder), Kind::Model), (Model::small_file(folder), Kind::SmallModel)];
        for (file, kind) in files.into_iter().filter(|(file, _)| file.symlink_metadata().is_ok()) {
            claim(&file, kind, Replace::OWN, &[])?;
        }
    }
    let complete = groups.iter().all(|g| Model::file(&g.folder).exists());
    match (complete || !stale.is_empty(), args.overwrite) {
        (true, false) => {
            input(format!("{} already holds a model; name another folder, or pass --overwrite", args.output.display()))
        }
        (_, true) => Ok(Existing::Replace),
        (false, false) => Ok(Existing::Keep),
    }
}

/// Shows how training goes on.
struct ProgressReporter {
    tuned: bool,
    /// Whether nothing is held out of the group at hand.
    by_heart: bool,
    groups: usize,
    preparing: Option<Bar>,
    /// Over passes through problems, of all groups and networks.
    passes: Option<Bar>,
    all_problems: usize,
    /// Groups that are done, and their problems.
    done: (usize, usize),
    /// Epochs of the group's networks.
    trained: Vec<usize>,
}

impl ProgressReporter {
    fn new(groups: &[ModelGroup], tuned: bool) -> ProgressReporter {
        ProgressReporter {
            tuned,
            by_heart: false,
            groups: groups.len(),
            preparing: None,
            passes: None,
            all_problems: groups.iter().map(ModelGroup::problems).sum(),
            done: (0, 0),
            trained: Vec::new(),
        }
    }

    fn report(&mut self, group: &ModelGroup, progress: Progress) {
        match progress {
            // the bar over the whole training is there: no second one
            Progress::Preparing(..) if self.passes.is_some() => (),
            Progress::Preparing(done, all) => {
                let what =
                    if self.tuned { "problems are encoded" } else { "boosted trees are fitted, and label problems" };
                self.preparing.get_or_insert_with(|| Bar::new("prepare", all as u64)).move_to(done, what);
            }
            Progress::Epoch(e) => self.epoch(group, e),
        }
    }

    fn epoch(&mut self, group: &ModelGroup, e: Epoch) {
        if let Some(bar) = self.preparing.take() {
            bar.end();
        }
        let Epoch { member, members, epoch, epochs, loss, validation: v, best } = e;
        self.trained.resize(members, 0);
        self.trained[member] = epoch;
        let of_group = match self.groups {
            1 => String::new(),
            n => format!("{} ({} of {n}), ", group.name(), self.done.0 + 1),
        };
        let of = if members > 1 { format!("network {} of {members}, ", member + 1) } else { String::new() };
        let (nats, share) = if self.tuned { ("nats", "greedy exact") } else { ("divergence", "share of best") };
        let by = if self.by_heart { "on what is learned:" } else { "validation" };
        let message = format!(
            "{of_group}{of}epoch {epoch} of {epochs}: loss {loss:.3}, {by} {nats} {:.3} (best {best:.3}), {share} {:.3}",
            v.divergence, v.share
        );
        let all = self.all_problems * members * epochs;
        let at = self.done.1 * members * epochs + group.problems() * self.trained.iter().sum::<usize>();
        self.passes.get_or_insert_with(|| Bar::new("train", all as u64)).move_to(at, &message);
    }

    /// A group is done.
    fn next(&mut self, group: &ModelGroup) {
        self.done = (self.done.0 + 1, self.done.1 + group.problems());
        self.trained.clear();
    }

    fn end(self) {
        [self.preparing, self.passes].into_iter().flatten().for_each(Bar::end);
    }
}

/// Refuses settings that cannot work together; each alone is within the range of its option.
fn check(settings: &Settings) -> Result<()> {
    let Settings { split, hparams, .. } = settings;
    if split.test + split.validation >= 1.0 {
        return input("--test and --validation leave nothing to train on");
    }
    hparams.check()
}
