//! Lookup tables of PyTorch Inductor (`torch._inductor.config.lookup_table.table`): for each matrix product the configs that it chooses
//! among instead of its own.
//!
//! A key is what Inductor makes of a product's inputs: their types, sizes and strides as Python writes them, its scalars, the operation.
//! An entry is a template with all its options, since PyTorch 2.11 fills in none. A hit takes the place of every other choice, the
//! vendor's library too, which is therefore an entry of its own.

use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Config, Kernel, Problem};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The operation that a table is looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `a @ b`.
    Mm,
    /// `a @ b + bias`, as of a linear layer: the bias of n elements is broadcast, both factors are 1.
    Addmm,
}

/// What is taken of problems that do not say it.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// Data type of both matrices, as PyTorch calls it.
    pub dtype: String,
    /// Whether a matrix is stored with its columns one behind the other, as the weights of a linear layer are.
    pub transposed: [bool; 2],
    /// Whether products of float32 are shortened to TF32.
    pub tf32: bool,
}

/// What the entries of a table are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style<'a> {
    /// Operation of the table.
    pub op: Op,
    /// Device that the entries are for, as `torch.cuda.get_device_properties().gcnArchName` tells it; `None` for all.
    pub device_key: Option<&'a str>,
    /// Whether sizes may differ at run time from those that the key has: then no step over the sum is taken as whole.
    pub dynamic: bool,
}

/// Names of the fields that a product is described by, in the order of AutoHeuristic's columns.
const FIELDS: [&str; 9] =
    ["m", "k", "n", "mat1_dtype", "mat2_dtype", "mat1_stride_0", "mat1_stride_1", "mat2_stride_0", "mat2_stride_1"];

/// Parameters that Triton calls otherwise than AutoHeuristic.
const RENAMED: [(&str, &str); 2] = [("numstages", "num_stages"), ("numwarps", "num_warps")];

/// Rows of tiles that follow each other, where the kernel has no parameter of it: what Inductor's own configs have.
const GROUP_M: i64 = 8;

/// Refuses a kernel that is no matrix product as Inductor tells of it.
///
/// # Errors
/// [`Error::Input`] that names the missing field or parameter.
pub fn check(kernel: &Kernel) -> Result<()> {
    let parameters = ["BLOCK_M", "BLOCK_N", "BLOCK_K", "numstages", "numwarps"];
    let has = |name: &&str| kernel.fields.iter().any(|f| f.name == **name);
    let tunes = |name: &&str| kernel.parameters.iter().any(|p| p.name == **name);
    let missing = FIELDS.iter().find(|name| !has(name)).map(|name| ("field", *name));
    match missing.or_else(|| parameters.iter().find(|name| !tunes(name)).map(|name| ("parameter", *name))) {
        None => Ok(()),
        Some((what, name)) => input(format!(
            "kernel {} has no {what} `{name}`: a lookup table of Inductor is of a kernel like triton_mm",
            kernel.name
        )),
    }
}

/// A problem of a line such as `m=512,n=256,k=64`, with what it does not say filled in.
///
/// # Errors
/// [`Error::Problem`] where a size is missing or a value is none of the field's.
pub fn problem(kernel: &Kernel, line: &str, usual: &Usual) -> Result<Problem> {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    for part in line.split(',') {
        let Some((name, value)) = part.split_once('=') else {
            return Err(Error::Problem(format!("`{}` is not written name=value", quote(part))));
        };
        let (name, value) = (name.trim(), value.trim().trim_start_matches("torch."));
        let is_known = kernel.fields.iter().any(|f| f.name == name);
        let name = if is_known { name.to_string() } else { name.to_lowercase() };
        if pairs.insert(name.clone(), value.into()).is_some() {
            return Err(Error::Problem(format!("`{}`: {name} is given twice", quote(line))));
        }
    }
    let size = |name: &str| match pairs.get(name) {
        Some(text) => text.parse::<u64>().map_err(|_| Error::Problem(format!("{name}: `{}` is no size", quote(text)))),
        None => Err(Error::Problem(format!("`{}`: {name} is missing: write m=512,n=256,k=64", quote(line)))),
    };
    let (m, n, k) = (size("m")?, size("n")?, size("k")?);
    let strides = |transposed: bool, rows: u64, columns: u64| if transposed { (1, rows) } else { (columns, 1) };
    let (a, b) = (strides(usual.transposed[0], m, k), strides(usual.transposed[1], k, n));
    for (name, value) in [
        ("mat1_dtype", usual.dtype.clone()),
        ("mat2_dtype", usual.dtype.clone()),
        ("mat1_stride_0", a.0.to_string()),
        ("mat1_stride_1", a.1.to_string()),
        ("mat2_stride_0", b.0.to_string()),
        ("mat2_stride_1", b.1.to_string()),
    ] {
        pairs.entry(name.into()).or_insert(value);
    }
    let is = |name: &str, text: String| pairs.get(name) == Some(&text);
    let label = |yes: bool| if yes { "True" } else { "False" }.to_string();
    let more = [
        ("mat1_iscontig", label(is("mat1_stride_0", k.to_string()) && is("mat1_stride_1", "1".into()))),
        ("mat2_iscontig", label(is("mat2_stride_0", n.to_string()) && is("mat2_stride_1", "1".into()))),
        ("using_tf32", if is("mat1_dtype", "float32".into()) { label(usual.tf32) } else { "not_float_32".into() }),
    ];
    for (name, value) in more {
        if kernel.fields.iter().any(|f| f.name == name) {
            pairs.entry(name.into()).or_insert(value);
        }
    }
    let object: Map<String, Value> = pairs.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
    kernel.problem(&Value::Object(object).to_string())
}

/// A field's value as it is written.
fn field_text(kernel: &Kernel, problem: &Problem, name: &str) -> Result<String> {
    let at = kernel.fields.iter().position(|f| f.name == name);
    let text = at.and_then(|at| Some(kernel.fields.get(at)?.show(*problem.values.get(at)?)));
    text.ok_or_else(|| Error::Input(format!("kernel {} has no field `{name}`", kernel.name)))
}

/// The key of a problem.
///
/// # Errors
/// [`Error::Input`] where the kernel lacks a field, see [`check`].
pub fn key(kernel: &Kernel, problem: &Problem, style: &Style) -> Result<String> {
    let text = |name: &str| field_text(kernel, problem, name);
    let (m, k, n, a, b) = (text("m")?, text("k")?, text("n")?, text("mat1_dtype")?, text("mat2_dtype")?);
    let (a0, a1, b0, b1) =
        (text("mat1_stride_0")?, text("mat1_stride_1")?, text("mat2_stride_0")?, text("mat2_stride_1")?);
    let first = format!("(torch.{a}, [{m}, {k}], [{a0}, {a1}])");
    let second = format!("(torch.{b}, [{k}, {n}], [{b0}, {b1}])");
    let inputs = match style.op {
        Op::Mm => format!("({first}, {second})+mm"),
        Op::Addmm => format!("((torch.{a}, [{m}, {n}], [0, 1]), {first}, {second})+alpha=1&beta=1+addmm"),
    };
    Ok(style.device_key.map_or(inputs.clone(), |device| format!("{device}+{inputs}")))
}

/// The entries of a problem: a template with each config, and, where `with_library`, the vendor's library.
///
/// # Errors
/// [`Error::Input`] where the kernel lacks a field or parameter, see [`check`].
pub fn entries(
    kernel: &Kernel,
    problem: &Problem,
    configs: &[&Config],
    with_library: bool,
    style: &Style,
) -> Result<Vec<Value>> {
    let k: u64 = field_text(kernel, problem, "k")?.parse().map_err(|_| Error::Input("k is no size".into()))?;
    let mut entries = Vec::new();
    for config in configs {
        let mut entry = Map::from_iter([
            ("template_id".to_string(), json!("triton::mm")),
            ("GROUP_M".into(), json!(GROUP_M)),
            // sums of shorter types are float32 too
            ("ACC_TYPE".into(), json!("tl.float32")),
            ("USE_FAST_ACCUM".into(), json!(false)),
        ]);
        for parameter in &kernel.parameters {
            let value = kernel.value(config, &parameter.name);
            let name = RENAMED.iter().find(|(ours, _)| *ours == parameter.name);
            entry.insert(name.map_or(parameter.name.as_str(), |(_, theirs)| theirs).into(), json!(value));
        }
        let step = kernel.value(config, "BLOCK_K").and_then(|step| u64::try_from(step).ok()).filter(|step| *step > 0);
        // of another step's it would be wrong results; masked sums are right whatever the size
        let even = step.is_some_and(|step| k.is_multiple_of(step)) && !style.dynamic;
        entry.insert("EVEN_K".into(), json!(even));
        entries.push(Value::Object(entry));
    }
    if with_library {
        let library: &[&str] = match style.op {
            Op::Mm => &["aten::mm"],
            Op::Addmm => &["aten::addmm", "aten::bias_addmm"],
        };
        entries.extend(library.iter().map(|template| json!({ "template_id": template })));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MM: Style = Style { op: Op::Mm, device_key: None, dynamic: false };

    fn usual() -> Usual {
        Usual { dtype: "float16".into(), transposed: [false, true], tf32: false }
    }

    fn kernel() -> Kernel {
        Kernel::open("triton_mm").unwrap()
    }

    fn asked(line: &str) -> Problem {
        problem(&kernel(), line, &usual()).unwrap()
    }

    #[test]
    fn keys_are_what_python_writes_of_the_inputs() {
        let kernel = kernel();
        let key = |line: &str, style: &Style| key(&kernel, &asked(line), style).unwrap();
        let inputs = "(torch.float16, [1152, 2048], [2048, 1]), (torch.float16, [2048, 1024], [1, 2048])";
        assert_eq!(key("M=1152,N=1024,K=2048", &MM), format!("({inputs})+mm"));
        let device = Style { device_key: Some("NVIDIA A100-SXM4-40GB"), ..MM };
        assert_eq!(key("m=1152,n=1024,k=2048", &device), format!("NVIDIA A100-SXM4-40GB+({inputs})+mm"));
        let bias = "(torch.float16, [1152, 1024], [0, 1])";
        let addmm = format!("({bias}, {inputs})+alpha=1&beta=1+addmm");
        assert_eq!(key("m=1152,n=1024,k=2048", &Style { op: Op::Addmm, ..MM }), addmm);
    }

    #[test]
    fn what_a_line_does_not_say_is_filled_in_and_what_it_says_is_kept() {
        let show = |line: &str| kernel().show_problem(&asked(line));
        assert_eq!(
            show("m=4,n=8,k=16"),
            "m=4,k=16,n=8,mat1_stride_0=16,mat1_stride_1=1,mat2_stride_0=1,mat2_stride_1=16,mat1_iscontig=True,\
             mat2_iscontig=False,mat1_dtype=float16,mat2_dtype=float16,using_tf32=not_float_32"
        );
        let stated = "m=4,n=8,k=16,mat2_stride_0=8,mat2_stride_1=1,mat1_dtype=torch.float32,mat2_dtype=float32";
        assert!(show(stated).contains("mat2_iscontig=True") && show(stated).ends_with("using_tf32=False"));
        let wrong = |line: &str| problem(&kernel(), line, &usual()).unwrap_err().to_string();
        assert!(wrong("m=4,n=8").contains("k is missing"));
        assert!(wrong("m=4,n=8,k=x").contains("`x` is no size"));
        assert!(wrong("m=4,n=8,k=1,m=5").contains("given twice") && wrong("4").contains("not written name=value"));
        assert!(wrong("m=4,n=8,k=1,dtype=f16").contains("no field `dtype`"));
    }

    #[test]
    fn entries_have_every_option_and_a_step_is_even_only_where_it_divides_the_sum() {
        let kernel = kernel();
        let config = |step: u32| {
            kernel.config(&format!("BLOCK_M=64,BLOCK_N=128,BLOCK_K={step},numstages=3,numwarps=4")).unwrap()
        };
        let (problem, steps) = (asked("m=64,n=256,k=96"), [config(32), config(64)]);
        let steps: Vec<&Config> = steps.iter().collect();
        let entries = |style: &Style| entries(&kernel, &problem, &steps, true, style).unwrap();
        let entry = |step: u32, even: bool| {
            json!({
                "template_id": "triton::mm", "BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": step, "GROUP_M": 8, "num_stages": 3, "num_warps": 4,
                "EVEN_K": even, "ACC_TYPE": "tl.float32", "USE_FAST_ACCUM": false,
            })
        };
        assert_eq!(entries(&MM), [entry(32, true), entry(64, false), json!({ "template_id": "aten::mm" })]);
        let dynamic = entries(&Style { dynamic: true, ..MM });
        assert_eq!(dynamic[..2], [entry(32, false), entry(64, false)]);
        assert_eq!(entries(&Style { op: Op::Addmm, ..MM }).len(), 4);
        assert!(check(&kernel).is_ok() && check(&Kernel::open("gemm").unwrap()).is_err());
    }
}
