//! The sizes that a tree is grown for: what fixed problems span, or what is asked for, and random problems within.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Checker, ConfigSpace};
use seqtune_predict::{Device, Kernel, Problem};

/// What a field may be.
#[derive(Clone, Debug, PartialEq)]
enum Span {
    /// From the least to the greatest, evenly on a logarithmic scale.
    Sizes(f64, f64),
    /// One of these.
    Values(Vec<f64>),
}

/// Sizes that a tree is grown for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Name of the field.
    pub field: String,
    /// The least size.
    pub least: u64,
    /// The greatest size.
    pub greatest: u64,
}

impl Range {
    /// The place of its field, which is a size of the kernel that may be so small and so large.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where it is not.
    pub fn check(&self, kernel: &Kernel) -> Result<usize> {
        let Range { field: name, least, greatest } = self;
        let at = kernel.fields.iter().position(|f| f.name == *name && f.kind == FieldKind::Size);
        let Some(at) = at else {
            let sizes = kernel.fields.iter().filter(|f| f.kind == FieldKind::Size).map(|f| f.name.as_str());
            return input(format!(
                "`{name}` is no size of kernel {}: {}",
                kernel.name,
                Vec::from_iter(sizes).join(", ")
            ));
        };
        let field = &kernel.fields[at];
        match least > greatest || *least < field.min || *greatest > field.max {
            true => input(format!(
                "{name} from {least} to {greatest}: the first is at most the second, and both from {} to {}",
                field.min, field.max
            )),
            false => Ok(at),
        }
    }
}

/// What each field of a problem may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges(Vec<Span>);

/// Tries for one problem.
const TRIES: usize = 10_000;
/// Every other size is a multiple of this, where it is not smaller: sizes that people choose are no accident.
const ROUND: f64 = 16.0;

impl Ranges {
    /// What `problems` span; for sizes named in `wanted`, that instead.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where a name is no size field or is given twice, or its range is empty or beyond the kernel's.
    pub fn new(kernel: &Kernel, problems: &[Problem], wanted: &[Range]) -> Result<Ranges> {
        let mut spans = Vec::new();
        for (at, field) in kernel.fields.iter().enumerate() {
            let mut values: Vec<f64> = problems.iter().map(|p| p.values[at]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            let (Some(least), Some(greatest)) = (values.first().copied(), values.last().copied()) else {
                return input("no problem is given that ranges could come from");
            };
            spans.push(if field.kind == FieldKind::Size { Span::Sizes(least, greatest) } else { Span::Values(values) });
        }
        for (i, range) in wanted.iter().enumerate() {
            let Range { field: name, least, greatest } = range;
            if wanted[..i].iter().any(|other| other.field == *name) {
                return input(format!("the range of {name} is given twice"));
            }
            let at = range.check(kernel)?;
            spans[at] = Span::Sizes(*least as f64, *greatest as f64);
        }
        Ok(Ranges(spans))
    }

    /// Random problems that a config is legal for.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where none is found within the ranges.
    pub(crate) fn sample(
        &self,
        kernel: &Kernel,
        device: &Device,
        count: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Problem>> {
        let checker = Checker::new(kernel);
        let (mut problems, mut tries) = (Vec::with_capacity(count), 0);
        while problems.len() < count {
            let problem = self.draw(problems.len() % 2 == 1, rng);
            let serves = checker.broken_rule(&kernel.env(&problem, None)).is_none();
            if serves && !ConfigSpace::new(kernel, &problem, device).completions(&[])?.is_empty() {
                problems.push(problem);
                tries = 0;
            }
            tries += 1;
            if tries > TRIES {
                return input(format!("no config of kernel {} is legal for any size in the ranges", kernel.name));
            }
        }
        Ok(problems)
    }

    fn draw(&self, round: bool, rng: &mut ChaCha8Rng) -> Problem {
        let value = |span: &Span| match span {
            Span::Values(values) => values[rng.random_range(0..values.len())],
            Span::Sizes(least, greatest) => {
                // 0 is a size of some fields
                let (from, to) = ((least + 1.0).ln(), (greatest + 1.0).ln());
                let size = ((from + (to - from) * rng.random::<f64>()).exp() - 1.0).round();
                let size = if round && size >= ROUND { (size / ROUND).round() * ROUND } else { size };
                size.clamp(*least, *greatest)
            }
        };
        Problem { values: self.0.iter().map(value).collect() }
    }

    /// The ranges in words: `M 16 to 4096, transA N`.
    pub fn words(&self, kernel: &Kernel) -> String {
        let word = |(field, span): (&seqtune_kernel::kernel_toml::spec::Field, &Span)| match span {
            Span::Sizes(least, greatest) => format!("{} {least} to {greatest}", field.name),
            Span::Values(values) => {
                let shown: Vec<String> = values.iter().map(|v| field.show(*v)).collect();
                format!("{} {}", field.name, shown.join(" or "))
            }
        };
        kernel.fields.iter().zip(&self.0).map(word).collect::<Vec<_>>().join(", ")
    }
}
