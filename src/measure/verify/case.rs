//! What a config is checked on beside the data that it is measured with.

use crate::verify::input_kind::InputKind;
use seqtune_kernel::{Device, Kernel, without_comments};
use serde::{Deserialize, Serialize};

/// Data and order of work-items of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Seed of the data. Where buffers have protected pages, odd seeds end data at one, even seeds begin there.
    pub seed: u64,
    /// Kind of input.
    pub kind: InputKind,
    /// Order of work-items.
    pub order: Order,
}

/// Order in which a processor, which has few threads, runs work-items: what leans on it is a race elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// As the driver likes.
    #[default]
    Usual,
    /// The last work-item of the last work-group first.
    Reversed,
}

/// Words of sources whose work-items know their places in other ways than by the functions that are reversed.
const OTHER_PLACES: [&str; 3] = ["sub_group", "linear_id", "work_group_"];

/// Definitions that reverse work-items and work-groups. A macro is not expanded within itself.
const REVERSED: &str = "\
#define get_local_id(d) (get_local_size(d) - 1 - get_local_id(d))
#define get_group_id(d) (get_num_groups(d) - 1 - get_group_id(d))
#define get_global_id(d) (get_global_size(d) + 2 * get_global_offset(d) - 1 - get_global_id(d))
#line 1
";

impl Case {
    /// Uniform input of a seed, in the usual order.
    pub fn of_seed(seed: u64) -> Case {
        Case { seed, ..Case::default() }
    }

    /// Uniform input of two seeds and all other kinds of input, in the usual order. Seeds count up from the first, so that the sides of protected
    /// pages alternate.
    pub fn of_all_kinds(first_seed: u64) -> Vec<Case> {
        let kinds = [InputKind::Uniform; 2].into_iter().chain(InputKind::OTHERS);
        (first_seed..).zip(kinds).map(|(seed, kind)| Case { seed, kind, ..Case::default() }).collect()
    }

    /// The case in words, behind "right at first, but"; `usual` is the seed that goes without saying.
    pub fn words(&self) -> String {
        match (self.order, self.kind) {
            (Order::Reversed, _) => "with work-items in reversed order".into(),
            (Order::Usual, InputKind::Uniform) => format!("with data of seed {}", self.seed),
            (Order::Usual, kind) => format!("with {}", kind.words()),
        }
    }
}

/// The source with its work-items in reversed order; `None` where that cannot be done: on GPUs, which run many at once, and where work-items know
/// their places otherwise.
pub fn reversed_source(kernel: &Kernel, device: &Device) -> Option<String> {
    let file = &kernel.source.as_ref()?.program.file;
    let source = kernel.files.get(file).filter(|_| file.ends_with(".cl") && device.limits.is_cpu == Some(1.0))?;
    let code = without_comments(source);
    (!OTHER_PLACES.iter().any(|word| code.contains(word))).then(|| format!("{REVERSED}{source}"))
}
