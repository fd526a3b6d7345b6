//! The forms in which CLBlast takes parameters: a C header that overrides them, and sections of its database.

use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::spelling::{c_comment, c_names, c_string};
use seqtune_kernel::{Config, Device, Kernel, Problem};
use serde_json::Value;

/// A predicted config of a problem, with its predicted time in microseconds where the model knows times.
pub struct PredictedConfig {
    /// Problem.
    pub problem: Problem,
    /// Config.
    pub config: Config,
    /// Predicted microseconds.
    pub time_us: Option<f64>,
}

/// Choices of one kernel, a row for each product.
pub struct ClblastTable<'a> {
    /// Kernel.
    pub kernel: &'a Kernel,
    /// Choices.
    pub choices: Vec<PredictedConfig>,
}

/// First line of a header, by which one is known again.
pub const MARK: &str = "/* Parameters of CLBlast, predicted by seqtune";

/// The product that a kernel computes for one that is asked for: the indirect kernel gets matrices that are padded to whole tiles, which its
/// tuner takes too. Sizes are rounded up to the largest tile.
pub fn whole_tiles(kernel: &Kernel, problem: &Problem) -> Problem {
    let mut padded = problem.clone();
    for (field, tile) in [("M", "MWG"), ("N", "NWG"), ("K", "KWG")] {
        let field = kernel.fields.iter().position(|f| f.name == field);
        let tile = kernel.parameters.iter().find(|p| p.name == tile).and_then(|p| p.values.iter().max());
        if let (Some(field), Some(tile)) = (field, tile) {
            let tile = *tile as f64;
            padded.values[field] = (problem.values[field] / tile).ceil() * tile;
        }
    }
    padded
}

/// Name of the kernel in calls of CLBlast's interface: `xgemm_direct` is `XgemmDirect` there.
fn call_name(kernel: &Kernel) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    kernel.name.split('_').filter(|part| !part.is_empty()).map(capital).collect()
}

/// Sizes of a problem, in the order M, N, K.
fn sizes(kernel: &Kernel, problem: &Problem) -> Result<[u64; 3]> {
    let at = |name: &str| match kernel.fields.iter().position(|f| f.name == name) {
        Some(at) => Ok(problem.values[at] as u64),
        None => {
            input(format!("kernel {} has no field {name}; a matrix product of CLBlast has M, N and K", kernel.name))
        }
    };
    Ok([at("M")?, at("N")?, at("K")?])
}

/// Precision of the choices, one of CLBlast's numbers.
fn precision(ClblastTable { kernel, choices }: &ClblastTable) -> Result<String> {
    let at = kernel.fields.iter().position(|f| f.name == "precision");
    let of = |choice: &PredictedConfig| at.map_or("32".into(), |at| kernel.fields[at].show(choice.problem.values[at]));
    let first = choices.first().map(of).unwrap_or_default();
    match choices.iter().all(|choice| of(choice) == first) {
        true if choices.is_empty() || first.parse::<u32>().is_ok() => Ok(first),
        true => input(format!("precision `{}` is none of CLBlast's, which are numbers", quote(&first))),
        false => input("the problems are of several precisions; write a file for each"),
    }
}

/// A C header with a table by size for each kernel, and a function that looks a product up in all of them and overrides the parameters of CLBlast.
///
/// # Errors
/// [`Error::Input`] where a kernel is no matrix product, or problems are of several precisions.
pub fn write_header(tables: &[ClblastTable], about: &str) -> Result<String> {
    // beside `seqtune_gemm_use`, which sets them all
    let names = c_names(tables.iter().map(|table| table.kernel.name.as_str()), &["gemm".into()]);
    let names: Vec<String> = names.iter().map(|name| format!("seqtune_{name}")).collect();
    let parts = tables.iter().zip(&names).map(|(table, name)| part(table, name)).collect::<Result<Vec<_>>>()?;
    let call = |name: &String| format!("    if (code == CLBlastSuccess) code = {name}_use(device, m, n, k);\n");
    let calls: Vec<String> = names.iter().map(call).collect();
    Ok(format!(
        "{MARK}: {about}.\n   New parameters make CLBlast compile its program at the next product; those of before cost next to nothing. */\n\
         #pragma once\n#include <clblast_c.h>\n\n{parts}\
         /* Makes CLBlast use all that is predicted for a product on a device, before the call that computes it. Products that the tables have\n\
         \x20  not keep the parameters of before. Not to be called while another thread computes. */\n\
         static inline CLBlastStatusCode seqtune_gemm_use(cl_device_id device, size_t m, size_t n, size_t k) {{\n\
         \x20   CLBlastStatusCode code = CLBlastSuccess;\n{calls}    return code;\n}}\n",
        about = c_comment(about),
        parts = parts.concat(),
        calls = calls.concat(),
    ))
}

/// Table, search and override of one kernel, whose names in C begin with `name`.
fn part(table: &ClblastTable, name: &str) -> Result<String> {
    let (kernel, choices) = (table.kernel, &table.choices);
    let precision = precision(table)?;
    let parameters = &kernel.parameters;
    let mut rows = String::new();
    for choice in choices {
        let [m, n, k] = sizes(kernel, &choice.problem)?;
        let values = parameters.iter().zip(&choice.config.0).map(|(p, c)| p.values[*c as usize].to_string());
        rows += &format!("    {{ {m}, {n}, {k}, {{ {} }} }},\n", values.collect::<Vec<_>>().join(", "));
    }
    let names = parameters.iter().map(|p| c_string(&p.name)).collect::<Vec<_>>().join(", ");
    Ok(format!(
        "typedef struct {{ size_t m, n, k; size_t values[{count}]; }} {name}_row;\n\n\
         static const char* const {name}_names[{count}] = {{ {names} }};\n\n\
         static const {name}_row {name}_rows[{rows_count}] = {{\n{rows}}};\n\n\
         /* Parameters of a product, or NULL where the table has not its sizes. */\n\
         static inline const size_t* {name}_find(size_t m, size_t n, size_t k) {{\n\
         \x20   for (size_t at = 0; at < {rows_count}; at++) {{\n\
         \x20       const {name}_row* row = &{name}_rows[at];\n\
         \x20       if (row->m == m && row->n == n && row->k == k) return row->values;\n    }}\n    return NULL;\n}}\n\n\
         /* Overrides the parameters of this kernel alone. */\n\
         static inline CLBlastStatusCode {name}_use(cl_device_id device, size_t m, size_t n, size_t k) {{\n\
         \x20   const size_t* values = {name}_find(m, n, k);\n    if (!values) return CLBlastSuccess;\n\
         \x20   return CLBlastOverrideParameters(device, {called}, (CLBlastPrecision){precision}, {count},\n\
         \x20                                    (const char**){name}_names, values);\n}}\n\n",
        called = c_string(&call_name(kernel)),
        count = parameters.len(),
        rows_count = choices.len(),
    ))
}

/// The choices as CLBlast's database script takes results of tuners: a list of sections, one for each kernel and size. What they are `about`
/// stands beside the list, where the script does not look.
///
/// # Errors
/// As [`write_header`].
pub fn write_database(tables: &[ClblastTable], device: &Device, about: &str) -> Result<String> {
    let mut sections = Vec::new();
    for table in tables {
        let precision = precision(table)?;
        for choice in &table.choices {
            sections.push(section(table.kernel, device, choice, &precision)?);
        }
    }
    let file = serde_json::json!({ "about": about, "sections": sections });
    serde_json::to_string_pretty(&file).map_err(|e| Error::Failed(format!("writing JSON: {e}")))
}

fn section(kernel: &Kernel, device: &Device, choice: &PredictedConfig, precision: &str) -> Result<Value> {
    let [m, n, k] = sizes(kernel, &choice.problem)?;
    let chosen = kernel.parameters.iter().zip(&choice.config.0);
    let mut parameters: serde_json::Map<String, Value> =
        chosen.map(|(p, c)| (p.name.clone(), p.json(*c as usize))).collect();
    parameters.insert("PRECISION".into(), precision.parse::<u64>().unwrap_or(32).into());
    let kind = if device.limits.is_cpu == Some(1.0) { "CPU" } else { "GPU" };
    Ok(serde_json::json!({
        "kernel_family": kernel.name, "precision": precision,
        "clblast_device_type": kind, "clblast_device_vendor": device.vendor,
        "clblast_device_architecture": if kind == "CPU" { "" } else { &device.architecture },
        "clblast_device_name": device.name, "device": device.name,
        "arg_m": m.to_string(), "arg_n": n.to_string(), "arg_k": k.to_string(),
        "results": [{ "kernel": call_name(kernel), "time": choice.time_us.map(|us| us / 1e3), "parameters": parameters }],
    }))
}
