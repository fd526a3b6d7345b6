//! Which kernels share a model: none by default, because each is learned better alone (docs/log).

use seqtune_data::KernelTable;
use seqtune_kernel::count_noun;
use std::path::{Path, PathBuf};

/// Kernels that share a model, and the model's folder.
pub struct ModelGroup {
    /// Folder of the model.
    pub folder: PathBuf,
    /// Kernels that it is to serve, with what they learn from.
    pub corpus: Vec<KernelTable>,
}

impl ModelGroup {
    /// Problems of all kernels.
    pub fn problems(&self) -> usize {
        self.corpus.iter().map(|data| data.table.problems.len()).sum()
    }

    /// Name for people.
    pub fn name(&self) -> String {
        match &self.corpus[..] {
            [KernelTable { kernel, .. }] => kernel.name.clone(),
            several => count_noun(several.len(), "kernel"),
        }
    }
}

/// One model for each kernel, in `folder/<kernel>`, or one for all kernels, in `folder`. A single kernel's model is in `folder`.
pub fn groups(corpus: Vec<KernelTable>, folder: &Path, together: bool) -> Vec<ModelGroup> {
    if together || corpus.len() == 1 {
        return vec![ModelGroup { folder: folder.into(), corpus }];
    }
    corpus.into_iter().map(|item| ModelGroup { folder: folder.join(&item.kernel.name), corpus: vec![item] }).collect()
}
