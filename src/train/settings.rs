//! What the data decide of how a model is trained.

use seqtune_data::KernelTable;
use seqtune_predict::Settings;

/// Updates that the default number of epochs makes.
pub const STEPS: usize = 1_500;

/// Updates that go on from the weights of another model.
pub const REFINING_STEPS: usize = 300;

/// With what the data decide: a temperature of eight times the spread of a config's median, between 0.05 and 0.2 (what suits the A100
/// data and a noisy virtual machine, docs/log; 0.2 where no config was measured often enough), and batches of a seventieth of the problems, 16 to 48.
pub fn fit_settings(settings: &Settings, corpus: &[KernelTable], problems: usize) -> Settings {
    let spread = corpus.iter().filter_map(|data| data.table.spread()).max_by(f64::total_cmp);
    Settings {
        tau: settings.tau.or(Some(spread.map_or(0.2, |spread| (8.0 * spread).clamp(0.05, 0.2)))),
        batch: settings.batch.or(Some((problems / 70).clamp(16, 48))),
        ..settings.clone()
    }
}
