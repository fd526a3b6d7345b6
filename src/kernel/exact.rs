//! What an element of a kernel's output is, as data, so that the host can compute some of them in double precision.

use crate::error::{Result, input};
use crate::expressions::Expr;
use crate::kernel_toml::spec::{ArgumentKind, ExactSpec};
use std::collections::BTreeMap;

/// An element of an output as `factor * sum(product) + old * what was there`. Slots of its expressions: those of the kernel's, then
/// the indices `over` which there are elements, then the indices of the `sum`.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Which argument.
    pub output: usize,
    /// Number of values of each index of the output.
    pub over: Vec<Expr>,
    /// Number of values of each index of the sum.
    pub sum: Vec<Expr>,
    /// The element's place in the output.
    pub at: Expr,
    /// Arguments whose elements are multiplied, and the places of these. Along the last index of the sum places are equally far apart.
    pub product: Vec<(usize, Expr)>,
    /// Where this is 0 a product is left out of the sum; it does not depend on the sum's last index.
    pub within: Expr,
    /// Factor of the sum.
    pub factor: Expr,
    /// Factor of the output's old content.
    pub old: Expr,
}

/// Finds an argument by name and kind.
pub(crate) type Find<'a> = dyn Fn(&str, ArgumentKind) -> Result<usize> + 'a;

/// Reads an expression that may use more names than the kernel's.
pub(crate) type Parse<'a> = dyn Fn(&str, &BTreeMap<String, Expr>) -> Result<Expr> + 'a;

impl Exact {
    /// Resolves an `[exact]` table; `parse` knows the names of the kernel and those given; slots from `first` on are
    /// free.
    pub(crate) fn load(spec: ExactSpec, find: &Find, first: usize, parse: &Parse) -> Result<Exact> {
        let at = |e: crate::error::Error| e.at_place("[exact]");
        let indices: Vec<&String> = spec.over.iter().chain(&spec.sum).map(|(name, _)| name).collect();
        let mut names: BTreeMap<String, Expr> = BTreeMap::new();
        let whole = |text: &str| parse(text, &BTreeMap::new()).map_err(at);
        for (i, name) in indices.iter().enumerate() {
            names.insert(name.to_string(), Expr::slot(first + i));
        }
        for (name, text) in &spec.define {
            let meaning = parse(text, &names).map_err(at)?;
            names.insert(name.clone(), meaning);
        }
        let indexed = |text: &str| parse(text, &names).map_err(at);
        let buffer = |name: &str, kind| find(name, kind).map_err(at);
        if spec.over.is_empty() || spec.sum.is_empty() || spec.product.is_empty() {
            return input("[exact]: `over`, `sum` and `product` need an entry each");
        }
        let within = indexed(&spec.within)?;
        let (last, mut depends) = (first + indices.len() - 1, false);
        within.slots(&mut |slot| depends |= slot == last);
        if depends {
            return input(format!(
                "[exact]: `within` may not depend on `{}`, the last index of the sum",
                indices.last().map_or("", |s| s)
            ));
        }
        let counts = |list: &[(String, String)]| list.iter().map(|(_, count)| whole(count)).collect::<Result<Vec<_>>>();
        let product = |(name, place): &(String, String)| Ok((buffer(name, ArgumentKind::In)?, indexed(place)?));
        Ok(Exact {
            output: buffer(&spec.output, ArgumentKind::Out)?,
            over: counts(&spec.over)?,
            sum: counts(&spec.sum)?,
            at: indexed(&spec.at)?,
            product: spec.product.iter().map(product).collect::<Result<_>>()?,
            within,
            factor: whole(&spec.factor)?,
            old: whole(&spec.old)?,
        })
    }
}
