//! Each kernel's share of the training: its examples, its boosted trees, and the problems that these label.

use crate::plan::{Plan, SHARP};
use crate::progress::Progress;
use crate::training_data::{Example, KernelData, PseudoLabels, contenders, examples, oversample_new, tuned_examples};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{KernelTable, Table};
use seqtune_fit::gbdt::TreeFit;
use seqtune_fit::parts::Problems;
use seqtune_kernel::error::Result;
use seqtune_predict::Settings;
use seqtune_predict::features::Featurizer;
use seqtune_predict::trees::Trees;

/// Updates of an epoch that a kernel of tuned configs gets, if its problems are enough for batches of [`SMALLEST_BATCH`].
const UPDATES: usize = 100;
const SMALLEST_BATCH: usize = 16;

/// What networks learn from, and the trees that stand beside them.
pub struct Prepared {
    /// By kernel, its examples.
    pub kernels: Vec<KernelData>,
    /// By kernel and objective, its boosted trees.
    pub trees: Vec<Trees>,
}

/// Featurizes the examples of all kernels, and fits the trees.
///
/// # Errors
/// `Error::Config` where a config is illegal, `Error::Failed` where a thread panics.
pub fn prepare(plan: &Plan, progress: &mut dyn FnMut(Progress)) -> Result<Prepared> {
    let mut prepared = Prepared { kernels: Vec::new(), trees: Vec::new() };
    let steps = |problems: &Problems| match plan.tuned {
        true => problems.train.len() + problems.validation.len(),
        false => plan.objectives.len() * plan.settings.made_up_count(problems.train.len()),
    };
    let (mut done, all) = (0, plan.problems.iter().map(steps).sum());
    let mut add = |count: usize| {
        done += count;
        if all > 0 {
            progress(Progress::Preparing(done, all));
        }
    };
    add(0);
    for (KernelTable { kernel, table }, problems) in plan.corpus.iter().zip(&plan.problems) {
        let featurizer = Featurizer::new(&plan.vocab, kernel)?;
        if plan.tuned {
            prepared.kernels.push(tuned_data(plan, featurizer, table, problems)?);
            add(steps(problems));
        } else {
            let (kernel_data, trees) = swept_data(plan, featurizer, table, problems, &mut add)?;
            prepared.kernels.push(kernel_data);
            prepared.trees.extend(trees);
        }
    }
    Ok(prepared)
}

fn tuned_data(plan: &Plan, featurizer: Featurizer, table: &Table, problems: &Problems) -> Result<KernelData> {
    let most = plan.settings.batch.unwrap_or(SMALLEST_BATCH);
    let training = tuned_examples(&featurizer, table, &problems.train)?;
    let validation = tuned_examples(&featurizer, table, &problems.validation)?;
    // a kernel of few problems in smaller batches, or it would hardly be updated
    let batch = (training.len() / UPDATES).clamp(SMALLEST_BATCH.min(most), most);
    Ok(KernelData { featurizer, training, validation, rows: 1, batch })
}

fn swept_data(
    plan: &Plan,
    featurizer: Featurizer,
    table: &Table,
    problems: &Problems,
    add: &mut dyn FnMut(usize),
) -> Result<(KernelData, Vec<Trees>)> {
    let (settings, tau) = (&plan.settings, plan.temperature());
    let train = match plan.from {
        None => problems.train.clone(),
        Some(model) => oversample_new(table, &problems.train, &model.meta.data),
    };
    let mut training = examples(&featurizer, table, &train, &plan.objectives, tau)?;
    // judged by one target, whatever is trained towards, so that scores compare
    let validation = examples(&featurizer, table, &problems.validation, &plan.objectives, Some(SHARP))?;
    let mut trees = Vec::new();
    for objective in &plan.objectives {
        let known = |i: &usize| table.problems[*i].costs(*objective).len() >= 2;
        let wanted = settings.made_up_count(problems.train.len());
        if settings.rank == 0.0 || !problems.train.iter().any(known) {
            add(wanted);
            continue;
        }
        let fit = TreeFit {
            kernel: &featurizer.kernel,
            table,
            objective: *objective,
            tau: tau.unwrap_or(SHARP),
            seed: settings.seed,
            threads: tch::get_num_threads().max(1) as usize,
        };
        // trees that are judged by what they are fitted to would never stop
        let held: &[usize] = if plan.nothing_held_out { &[] } else { &problems.validation };
        let fitted = fit.fit(&train, held)?;
        if wanted > 0 && problems.train.len() >= 2 {
            let labels = PseudoLabels {
                featurizer: &featurizer,
                table,
                indices: &problems.train,
                objective: *objective,
                trees: &fitted.in_step(None),
                contenders: &contenders(table, &problems.train, *objective),
            };
            training.extend(pseudo_labelled(&labels, wanted, settings, tau, add)?);
        }
        trees.push(fitted);
    }
    // no more than a problem has
    let longest = training.iter().map(|e| e.sequences.len()).max().unwrap_or(2).max(2);
    let rows = settings.configs.min(longest);
    let batch = settings.batch.unwrap_or(SMALLEST_BATCH);
    Ok((KernelData { featurizer, training, validation, rows, batch }, trees))
}

/// Examples of `wanted` unmeasured problems that the trees label.
fn pseudo_labelled(
    labels: &PseudoLabels,
    wanted: usize,
    settings: &Settings,
    tau: Option<f64>,
    add: &mut dyn FnMut(usize),
) -> Result<Vec<Example>> {
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut labelled = Vec::new();
    // in portions, so that progress shows
    for done in (0..wanted).step_by(50) {
        let count = (wanted - done).min(50);
        labelled.extend(labels.examples(count, settings.configs, tau, &mut rng)?);
        add(count);
    }
    Ok(labelled)
}
