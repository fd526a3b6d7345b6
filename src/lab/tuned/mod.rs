//! Evaluation by what tuners chose, beside baselines of the literature.

pub mod against_ktn;
pub mod report;
pub mod retuned;
pub mod whole_configs;

use crate::tuned::against_ktn::{AgainstKtn, against_ktn};
use crate::tuned::retuned::{Retuned, judge_by_retuned};
use crate::tuned::whole_configs::WholeConfigs;
use seqtune_data::{KernelTable, Table};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_eval::baselines::method::Method;
use seqtune_eval::tuned::answers::TestSet;
use seqtune_eval::tuned::{self, Evaluation, TunedRow, judge};
use seqtune_kernel::Kernel;
use seqtune_kernel::error::Result;
use seqtune_predict::Model;
use seqtune_predict::features::Featurizer;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// An evaluation of one kernel.
#[derive(Serialize)]
pub struct ComparedReport {
    /// What users get too, with rows of further classifiers.
    #[serde(flatten)]
    pub report: tuned::TunedReport,
    /// The model beside KernelTuningNet, where its networks were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_ktn: Option<AgainstKtn>,
    /// The model beside other tunings of the same problems, where they were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retuned: Option<Retuned>,
}

/// What to judge, and with what means.
pub struct Options<'a> {
    /// As for users.
    pub plain: tuned::TunedSettings<'a>,
    /// Whether classifiers of whole configs are judged too, where the boosted trees' library is there.
    pub config_classifiers: bool,
    /// Folder of the networks of MIOpen's KernelTuningNet; `None` leaves them out.
    pub ktn: Option<&'a Path>,
    /// Other tunings of the same problems, by kernel.
    pub retuned: &'a [KernelTable],
}

/// Judges a model on one kernel's test problems, `beside` another model and baselines; `None` where there is no test problem.
///
/// # Errors
/// Those of [`tuned::evaluate`]; `Error::Input` where a network of KernelTuningNet is damaged.
pub fn evaluate(
    kernel: &Kernel,
    table: &Table,
    model: &Model,
    beside: Option<&Model>,
    ask: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<ComparedReport>> {
    let Some(evaluation) = tuned::evaluate(kernel, table, model, beside, &ask.plain, progress)? else {
        return Ok(None);
    };
    let Evaluation { mut report, test_set, predictor, answers } = evaluation;
    let threads = ask.plain.threads;
    if let (true, Some(library)) = (ask.config_classifiers, ask.plain.library) {
        progress("classifiers of whole configs");
        let classified = config_classifiers(&test_set, model, library, &ask.plain)?;
        let trees = report.rows.iter().position(|row| row.method == Method::LightGbmChain);
        let behind = trees.map_or(report.rows.len(), |at| at + 1);
        report.rows.splice(behind..behind, classified);
    }
    let against_ktn = ask.ktn.map(|folder| against_ktn(&test_set, folder, &answers, threads)).transpose()?.flatten();
    let other = ask.retuned.iter().find(|other| other.kernel.name == kernel.name);
    let again =
        other.map(|data| judge_by_retuned(&test_set, &data.table, &predictor, &answers, threads)).transpose()?;
    Ok(Some(ComparedReport { report, against_ktn, retuned: again.flatten() }))
}

/// Judges LightGBM and extremely randomised trees that classify whole configs.
fn config_classifiers(
    asked: &TestSet,
    model: &Model,
    library: &LightGbm,
    ask: &tuned::TunedSettings,
) -> Result<[TunedRow; 2]> {
    let featurizer = Featurizer::new(&Arc::new(model.meta.vocab.clone()), asked.kernel)?;
    let classes = WholeConfigs::new(asked, &featurizer, ask.threads)?;
    let by_lightgbm = judge(asked, Method::LightGbmConfigs, &classes.by_lightgbm(library, ask.seed)?);
    let by_extra_trees = judge(asked, Method::ExtraTrees, &classes.by_extra_trees(ask.seed)?);
    Ok([by_lightgbm, by_extra_trees])
}
