//! What the texts of all languages are made of.

use crate::dispatch::Dispatch;
use crate::dispatch::languages::{Language, Written, expression};
use crate::dispatch::tree::Node;
use seqtune_kernel::kernel_toml::spec::Field;
use seqtune_kernel::spelling::c_names;
use seqtune_kernel::{Constraint, LIMIT_NAMES};
use seqtune_predict::{Kernel, Problem};

/// What the types of choices end with.
const LABEL: &str = "_label";

/// Names of a kernel's parts in C++ and Rust.
pub(crate) struct Named {
    pub(crate) fields: Vec<String>,
    /// Types of choices.
    pub(crate) types: Vec<String>,
    /// Labels of choices.
    pub(crate) labels: Vec<Vec<String>>,
    pub(crate) parameters: Vec<String>,
}

impl Named {
    /// Names of members that are none of `taken`, and labels that are no `words` of the language.
    pub(crate) fn new(kernel: &Kernel, taken: &[&str], words: &[&str]) -> Named {
        // types of choices end with `_label`, and no member does: it would hide the type of another
        let field = |f: &Field| f.name.clone() + if f.name.ends_with(LABEL) { "_" } else { "" };
        let texts: Vec<String> = kernel.fields.iter().map(field).collect();
        let texts_of = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<String>>();
        let (taken, words) = (texts_of(taken), texts_of(words));
        let fields = c_names(texts.iter().map(String::as_str), &taken);
        Named {
            types: fields.iter().map(|field| format!("{field}{LABEL}")).collect(),
            labels: kernel.fields.iter().map(|f| c_names(f.labels.iter().map(String::as_str), &words)).collect(),
            parameters: c_names(kernel.parameters.iter().map(|p| p.name.as_str()), &taken),
            fields,
        }
    }
}

impl Dispatch {
    /// The quantities that the tree splits, in rising order.
    pub(crate) fn split_quantities(&self) -> Vec<usize> {
        let split = |node: &Node| if let Node::Split { quantity, .. } = node { Some(*quantity) } else { None };
        let mut used: Vec<usize> = self.tree.0.iter().filter_map(split).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Fields are slots behind the parameters, limits behind them.
    pub(crate) fn fold(&self, expr: &seqtune_kernel::expressions::Expr) -> seqtune_kernel::expressions::Expr {
        let kernel = &self.kernel;
        let nothing = Problem { values: vec![0.0; kernel.fields.len()] };
        let env = kernel.env(&nothing, Some(&self.device));
        expr.specialise(&env, env.len() - LIMIT_NAMES.len())
    }

    /// The constraints whose limits are all known of the device.
    pub(crate) fn checked_constraints(&self) -> impl Iterator<Item = &Constraint> {
        let limits = self.kernel.parameters.len() + self.kernel.fields.len();
        let known = self.device.limits.values();
        self.kernel.constraints.iter().filter(move |constraint| {
            let mut all = true;
            constraint.expr.slots(&mut |s| all &= s < limits || known[s - limits].is_some());
            all
        })
    }

    /// A quantity that the tree splits: a field, or a feature of problem and device alone.
    pub(crate) fn quantity(
        &self,
        language: &dyn Language,
        quantity: usize,
        slot: &dyn Fn(usize) -> String,
        parts: &mut usize,
    ) -> Written {
        let kernel = &self.kernel;
        match quantity.checked_sub(kernel.fields.len()) {
            None => Written { statements: String::new(), value: slot(kernel.parameters.len() + quantity) },
            Some(at) => match kernel.features.iter().filter(|f| f.known_after == 0).nth(at) {
                Some(feature) => expression(language, &self.fold(&feature.expr), slot, parts),
                None => Written { statements: String::new(), value: language.number(f64::NAN) },
            },
        }
    }
}
