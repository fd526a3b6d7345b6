//! Kernels that nobody wrote, with models of random weights.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use seqtune_predict::features::Vocab;
use seqtune_predict::network::shapes::shapes;
use seqtune_predict::network::weights::{Array, Weights};
use seqtune_predict::{Kernel, Meta, Model};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// The description of the toy's model.
static TOY: LazyLock<Meta> = LazyLock::new(|| Meta::load(Path::new("src/predict/toy/model")).unwrap());

/// A random expression over parameters, a size, a limit and a definition. Divisors are positive, or 0.
fn expression(rng: &mut ChaCha8Rng, parameters: usize, depth: usize) -> String {
    let inner = |rng: &mut ChaCha8Rng| expression(rng, parameters, depth - 1);
    if depth == 0 || rng.random_bool(0.2) {
        return match rng.random_range(0..8) {
            0 => rng.random_range(0..9).to_string(),
            1 => "M".into(),
            2 => "max_group_items".into(),
            3 => "half".into(),
            _ => format!("p{}", rng.random_range(0..parameters)),
        };
    }
    match rng.random_range(0..11) {
        0 | 1 => format!("({} + {})", inner(rng), inner(rng)),
        2 => format!("({} - {})", inner(rng), inner(rng)),
        3 => format!("({} * {})", inner(rng), inner(rng)),
        4 => format!("({} // abs({}))", inner(rng), inner(rng)),
        5 => format!("({} % {})", inner(rng), rng.random_range(1..7)),
        6 => format!("cdiv({}, {})", inner(rng), rng.random_range(1..7)),
        7 => format!("min({}, {})", inner(rng), inner(rng)),
        8 => format!("max({}, -{})", inner(rng), inner(rng)),
        9 => format!("if({}, {}, {})", condition(rng, parameters, depth - 1), inner(rng), inner(rng)),
        _ => format!("floor({} / 2)", inner(rng)),
    }
}

/// A random condition.
fn condition(rng: &mut ChaCha8Rng, parameters: usize, depth: usize) -> String {
    let compared = ["<=", "<=", ">=", ">=", "!=", "!=", "<", "=="][rng.random_range(0..8)];
    let simple = format!("{} {compared} {}", expression(rng, parameters, depth), expression(rng, parameters, depth));
    match rng.random_range(0..6) {
        0 if depth > 0 => format!("({simple} or {})", condition(rng, parameters, depth - 1)),
        1 if depth > 0 => format!("({simple} and {})", condition(rng, parameters, depth - 1)),
        2 if depth > 0 => format!("not ({})", condition(rng, parameters, depth - 1)),
        _ => simple,
    }
}

/// The text of a kernel of these parameters under these constraints, with the fields and features of the toy.
pub fn text(parameters: &[Vec<i64>], constraints: &[String]) -> String {
    let mut text = String::from(
        "name = 'invented'\nmeaning = 'x'\n[[field]]\nname = 'M'\nkind = 'size'\nmin = 1\nmax = 4096\nshape = true\nmeaning = 'x'\n\
         [[feature]]\nname = 'waste'\nexpr = '(M + p0) % 7 / 7'\n[define]\nhalf = 'floor(p0 / 2)'\n[work]\nflops = '1000 * M'\nbytes = '4 * M'\n",
    );
    for (at, values) in parameters.iter().enumerate() {
        text +=
            &format!("[[parameter]]\nname = 'p{at}'\nvalues = {values:?}\ndefault = {}\nmeaning = 'x'\n", values[0]);
    }
    for constraint in constraints {
        text += &format!("[[constraint]]\nexpr = '{constraint}'\nreason = 'x'\n");
    }
    text
}

/// The text of a kernel of 1 to 5 parameters of 1 to 6 values under up to 5 constraints.
pub fn random_text(rng: &mut ChaCha8Rng) -> String {
    let count = rng.random_range(1..=5);
    let parameters: Vec<Vec<i64>> = (0..count).map(|_| values(rng)).collect();
    let constraints: Vec<String> = (0..rng.random_range(0..=5)).map(|_| condition(rng, count, 2)).collect();
    text(&parameters, &constraints)
}

/// 1 to 6 different values.
fn values(rng: &mut ChaCha8Rng) -> Vec<i64> {
    let mut values: Vec<i64> = (0..rng.random_range(1..=6)).map(|_| rng.random_range(-3..20)).collect();
    values.sort();
    values.dedup();
    values
}

/// The kernel of a text.
pub fn kernel(text: &str) -> Kernel {
    let files = BTreeMap::from([("kernel.toml".to_string(), text.to_string())]);
    Kernel::from_files(files, "invented/kernel.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A model for an invented kernel: the toy's with another vocabulary, and random weights.
pub fn model(kernel: &Kernel, rng: &mut ChaCha8Rng) -> Model {
    let mut vocab = serde_json::to_value(&TOY.vocab).unwrap();
    let parameters: Vec<_> = kernel.parameters.iter().map(|p| serde_json::json!([p.name, p.values])).collect();
    let ends = kernel.parameters.iter().scan(0, |end, p| {
        *end += p.values.len();
        Some(*end)
    });
    vocab["offsets"] = std::iter::once(0).chain(ends).collect();
    vocab["kernels"][0]["kernel"] = kernel.name.clone().into();
    vocab["kernels"][0]["space"] = kernel.space_hash().into();
    vocab["kernels"][0]["parameters"] = (0..parameters.len()).collect();
    vocab["parameters"] = parameters.into();
    let vocab: Vocab = serde_json::from_value(vocab).unwrap();
    let array = |(name, shape): (String, Vec<usize>)| {
        let values = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
        (format!("0.{name}"), Array { shape, values })
    };
    let weights: Weights = shapes(&TOY.hparams, &vocab, false).into_iter().map(array).collect();
    let meta = Meta { vocab, calibration: None, ..TOY.clone() };
    Model { meta, weights, trees: Vec::new(), neighbours: Vec::new(), checksum: None }
}
