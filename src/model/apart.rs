//! Which kernels share a model: those with much to learn from do better alone (LOG.md), the others in company.

use crate::dataset::Table;
use crate::kernel::Kernel;
use std::path::{Path, PathBuf};

/// Kernels that share a model, and the model's folder.
pub struct Group {
    pub folder: PathBuf,
    pub corpus: Vec<(Kernel, Table)>,
}

impl Group {
    /// Problems of all kernels.
    pub fn problems(&self) -> usize {
        self.corpus.iter().map(|(_, table)| table.tried.len()).sum()
    }

    /// Name for people.
    pub fn name(&self) -> String {
        match &self.corpus[..] {
            [(kernel, _)] => kernel.name.clone(),
            several => format!("{} kernels", several.len()),
        }
    }
}

/// A model of its own, in `folder/<kernel>`, for each kernel with at least `least` problems; the others share the one in
/// `folder`. A single kernel's model is in `folder`.
pub fn groups(corpus: Vec<(Kernel, Table)>, folder: &Path, least: usize) -> Vec<Group> {
    if corpus.len() == 1 {
        return vec![Group { folder: folder.into(), corpus }];
    }
    let (alone, together): (Vec<_>, Vec<_>) = corpus.into_iter().partition(|(_, table)| table.tried.len() >= least);
    let own = |item: (Kernel, Table)| Group { folder: folder.join(&item.0.name), corpus: vec![item] };
    let mut groups: Vec<Group> = alone.into_iter().map(own).collect();
    if !together.is_empty() {
        groups.push(Group { folder: folder.into(), corpus: together });
    }
    groups
}
