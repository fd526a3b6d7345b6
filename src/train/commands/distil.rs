//! `seqtune distil`, as the program that trains does it.

use crate::distil::{DistilOptions, Stage, distil};
use seqtune_console::answer::{answer, answer_json, tell};
use seqtune_console::arguments::distil::Args;
use seqtune_console::inputs::tables;
use seqtune_console::outputs::{Kind, Replace, claim, command_line};
use seqtune_console::progress::Bar;
use seqtune_console::signals::end_with;
use seqtune_data::KernelTable;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_predict::Model;
use std::path::{Path, PathBuf};

/// A kernel's whole model, and where its small decoder goes.
struct Task {
    corpus: [KernelTable; 1],
    model: PathBuf,
    output: PathBuf,
}

/// Runs `seqtune distil`.
///
/// # Errors
/// `Error::Mismatch` where the datasets are not the model's, `Error::Input` where there is nothing to do.
pub fn run(args: Args) -> Result<()> {
    let tasks = tasks(&args)?;
    let Args { synthetic: invented, steps, seed, .. } = args;
    let options = DistilOptions { invented, steps, seed, command: command_line(), ..DistilOptions::default() };
    let mut made = Vec::new();
    end_with(|| "decoders that are finished are kept, and the same command goes on".into())?;
    for task in &tasks {
        let name = &task.corpus[0].kernel.name;
        // an interrupted run goes on: what is finished is kept
        let existing = Model::small_file(&task.output);
        if tasks.len() > 1 && existing.is_file() && !args.overwrite {
            tell(&format!("{name}: {} is there already", existing.display()));
            made.push(Model::load(&existing)?);
            continue;
        }
        let whole = Model::load(&Model::file(&task.model))?;
        let refined = args.fine_tuned.as_ref().map(|refined| Model::load_for(refined, name)).transpose()?;
        let mut shown = Shown::default();
        let small =
            distil(&whole, refined.as_ref(), &task.corpus, &options, &task.output, &mut |stage| shown.show(stage));
        shown.end();
        made.push(small.map_err(|e| e.at_place(name))?);
    }
    show(&args, &tasks, &made)
}

/// What is to be distilled, checked before the work begins.
fn tasks(args: &Args) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for KernelTable { kernel, table } in tables(&args.datasets, None)? {
        let own = args.model.join(&kernel.name);
        let inner = Model::file(&own).is_file();
        let model = if inner { own } else { args.model.clone() };
        let output = match &args.output {
            Some(output) if inner => output.join(&kernel.name),
            Some(output) => output.clone(),
            None => model.clone(),
        };
        tasks.push(Task { corpus: [KernelTable { kernel, table }], model, output });
    }
    match &tasks[..] {
        [] => return input("the datasets hold no record"),
        [first, second, ..] if first.model == second.model => {
            return input("a small decoder serves one kernel; give the datasets of one");
        }
        [only] if Model::small_file(&only.output).is_file() && !args.overwrite => {
            let file = Model::small_file(&only.output);
            return input(format!("{} is there already; name another folder, or pass --overwrite", file.display()));
        }
        _ => {}
    }
    if let Some(task) = tasks.iter().find(|task| !Model::file(&task.model).is_file()) {
        return Err(Error::File(format!("{}: there is no such model", Model::file(&task.model).display())));
    }
    // of several, those that are there stay or are replaced
    let replace = Replace { overwrite: args.overwrite || tasks.len() > 1, ..Replace::default() };
    for task in &tasks {
        claim(&Model::small_file(&task.output), Kind::SmallModel, replace, &[Model::file(&task.model)])?;
    }
    Ok(tasks)
}

/// Shows how the small decoders compare.
fn show(args: &Args, tasks: &[Task], made: &[Model]) -> Result<()> {
    if args.json {
        let compared = made.iter().map(|model| {
            let level = model.meta.distilled;
            serde_json::json!({
                "kernel": model.meta.kernels(), "level": level, "is_level": level.map(|level| level.is_on_par()),
                "weights": model.size(), "scores": model.meta.scores,
            })
        });
        return answer_json(&compared.collect::<Vec<_>>());
    }
    for (task, model) in tasks.iter().zip(made) {
        let level = model.meta.distilled.map_or(String::new(), |level| {
            let taken =
                if level.is_on_par() { "level: predict takes it" } else { "behind: predict takes the whole model" };
            format!(
                "first choices lose {:+.2} ± {:.2} points beside the whole model's on {} validation problems; {taken}",
                100.0 * level.behind,
                100.0 * level.error,
                level.problems
            )
        });
        answer(&format!("{}: {}\n  {level}", path(&task.output).display(), count_noun(model.size(), "weight")));
    }
    Ok(())
}

fn path(folder: &Path) -> PathBuf {
    Model::small_file(folder)
}

/// Bars over the two stages.
#[derive(Default)]
struct Shown {
    asking: Option<Bar>,
    learning: Option<Bar>,
}

impl Shown {
    fn show(&mut self, stage: Stage) {
        match stage {
            Stage::Fitting(problems) => tell(&format!("boosted trees are fitted to {problems} tuned problems")),
            Stage::Asking(done, all) => {
                let bar = self.asking.get_or_insert_with(|| Bar::new("ask", all as u64));
                bar.move_to(done, "the whole model answers problems");
            }
            Stage::Learning(done, all, loss, nats) => {
                if let Some(bar) = self.asking.take() {
                    bar.end();
                }
                let bar = self.learning.get_or_insert_with(|| Bar::new("learn", all as u64));
                bar.move_to(done, &format!("loss {loss:.3}, validation nats {nats:.3}"));
            }
        }
    }

    fn end(self) {
        [self.asking, self.learning].into_iter().flatten().for_each(Bar::end);
    }
}
