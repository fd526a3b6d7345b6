//! Why nothing is legal: the constraints that rule out every combination.

use crate::definition::{Constraint, Definition, Kernel};
use crate::devices::{Device, LIMIT_NAMES};
use crate::problem::Problem;
use crate::space::ConfigSpace;

/// Constraints beyond which none is looked for.
const MAX_CONSTRAINTS: usize = 64;

/// In a sentence, the constraints that together leave no config of `kernel` for `problem` on `device`, with what they read; `None` where a
/// config is legal, or where that cannot be told within the budget of looking ahead.
///
/// They are one where one alone rules out all; else the smallest set that is left when constraints are taken away one after the other as
/// long as nothing becomes legal (a deletion filter: Chinneck and Dravnieks 1991), so that each of them is needed.
pub fn ruled_out(kernel: &Kernel, problem: &Problem, device: &Device) -> Option<String> {
    let written = kernel.constraints.len() - usize::from(kernel.instances.is_some());
    let is_empty = |kept: &[usize]| nothing_is_legal(kernel, problem, device, kept);
    let all: Vec<usize> = (0..written.min(MAX_CONSTRAINTS)).collect();
    if !is_empty(&all) {
        return None;
    }
    let mut guilty = match all.iter().find(|at| is_empty(&[**at])) {
        Some(one) => vec![*one],
        None => all,
    };
    if guilty.len() > 1 {
        for at in guilty.clone() {
            let without: Vec<usize> = guilty.iter().copied().filter(|other| *other != at).collect();
            if is_empty(&without) {
                guilty = without;
            }
        }
    }
    let env = kernel.env(problem, Some(device));
    let told: Vec<String> = guilty.iter().map(|at| constraint_text(kernel, &env, *at)).collect();
    Some(match &told[..] {
        [] => "no instance of the kernel's table is of this problem".into(),
        [one] => format!("constraint {one} rules out every combination"),
        several => format!("constraints {} together rule out every combination", several.join(" and ")),
    })
}

/// Whether no config is legal under some of a kernel's constraints; false where that cannot be told.
fn nothing_is_legal(kernel: &Kernel, problem: &Problem, device: &Device, kept: &[usize]) -> bool {
    let of_instances = kernel.instances.is_some().then(|| kernel.constraints.len() - 1);
    let constraints = kept.iter().copied().chain(of_instances).map(|at| kernel.constraints[at].clone()).collect();
    let fewer = Kernel::from(Definition { constraints, ..(**kernel).clone() });
    ConfigSpace::new(&fewer, problem, device).completions(&[]).is_ok_and(|open| open.is_empty())
}

/// A constraint by its number, with its reason, its text, the numbers that it reads and the ranges of the parameters.
fn constraint_text(kernel: &Kernel, env: &[f64], at: usize) -> String {
    let Constraint { text, reason, expr } = &kernel.constraints[at];
    let (parameters, fields) = (&kernel.parameters, &kernel.fields);
    let mut read = Vec::new();
    expr.slots(&mut |slot| {
        let shown = match (parameters.get(slot), slot.checked_sub(parameters.len()).map(|at| (at, fields.get(at)))) {
            (Some(p), _) => match (p.values.iter().min(), p.values.iter().max()) {
                (Some(least), Some(most)) if p.labels.is_empty() && least != most => {
                    format!("{} from {least} to {most}", p.name)
                }
                _ => format!("{}={}", p.name, p.value_texts().join("|")),
            },
            (None, Some((_, Some(field)))) => format!("{}={}", field.name, field.show(env[slot])),
            (None, Some((at, None))) => {
                let name = LIMIT_NAMES.get(at - fields.len()).copied().unwrap_or_default();
                format!("{name}={}", env[slot])
            }
            (None, None) => return,
        };
        if !read.contains(&shown) {
            read.push(shown);
        }
    });
    format!("{} ({reason}: {text}; {})", at + 1, read.join(", "))
}
