//! What is fuzzed: one function for each reader of foreign bytes. A target may refuse its input, and must not panic, hang or take much memory.
//!
//! `tests/fuzz.rs` runs them on stable Rust, `tests/fuzz/fuzz_targets` under cargo-fuzz.

use seqtune_data::formats::opened::OpenedText;
use seqtune_data::formats::sweep::{Sweep, SweepImport};
use seqtune_data::formats::{autoheuristic, kernel_tuner, ktt, miopen, t4, triton};
use seqtune_data::{journal, packed};
use seqtune_kernel::ConfigSpace;
use seqtune_kernel::expressions::Expr;
use seqtune_predict::{Device, Kernel, Model, Predictor, Query};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A target: its name and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 17] = [
    ("kernel_toml", kernel_toml),
    ("expression", expression),
    ("problem", problem),
    ("config", config),
    ("devices", devices),
    ("journal", journal),
    ("packed", packed),
    ("packed_contents", packed_contents),
    ("model", model),
    ("miopen_database", miopen_database),
    ("miopen_convolutions", miopen_convolutions),
    ("autoheuristic", autoheuristic),
    ("kernel_tuner", kernel_tuner),
    ("t4", t4),
    ("ktt", ktt),
    ("triton", triton),
    ("stream", stream),
];

static GEMM: LazyLock<Kernel> = LazyLock::new(|| Kernel::open("gemm").unwrap());
static TOY: LazyLock<Kernel> = LazyLock::new(|| Kernel::open("src/predict/toy").unwrap());
static A100: LazyLock<Device> = LazyLock::new(|| Device::find_described("A100").unwrap());

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// A kernel that loads has a problem or not, and a space that answers or refuses.
fn kernel_toml(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let source = || "__kernel void k() {}".to_string();
    let files = [("kernel.toml", text.to_string()), ("k.cl", source()), ("toy.cl", source())];
    let files: BTreeMap<String, String> = files.into_iter().map(|(name, text)| (name.to_string(), text)).collect();
    let Ok(kernel) = Kernel::from_files(files, "fuzz/kernel.toml") else { return };
    let sizes: Vec<String> =
        kernel.fields.iter().filter(|f| f.default.is_none()).map(|f| format!("{}={}", f.name, f.max.min(64))).collect();
    let Ok(problem) = kernel.problem(&sizes.join(",")) else { return };
    let space = ConfigSpace::new(&kernel, &problem, &A100);
    if let Ok(open) = space.completions(&[]) {
        assert!(open.len() <= kernel.parameters[0].values.len());
    }
    space.is_legal(&kernel.default_config());
    kernel.shape(&problem);
}

fn expression(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(expr) = Expr::parse(text, &|name| (name.len() < 3).then(|| Expr::slot(name.len() % 2))) else { return };
    let env = [7.0, f64::NAN];
    let (value, folded) = (expr.eval(&env), expr.specialise(&env, 1).eval(&env));
    assert!(value == folded || value.is_nan() && folded.is_nan(), "{text}: {value} {folded}");
}

fn problem(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(problem) = GEMM.problem(text) {
        assert_eq!(GEMM.problem(&GEMM.show_problem(&problem)).unwrap(), problem);
    }
    GEMM.problems_from_lines(text, "fuzz").ok();
}

fn config(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(config) = GEMM.config(text) {
        assert_eq!(GEMM.config(&GEMM.show_config(&config)).unwrap(), config);
    }
}

fn devices(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for device in Device::parse_file(text, "fuzz").unwrap_or_default() {
        let problem = TOY.problem("M=1000").unwrap();
        ConfigSpace::new(&TOY, &problem, &device).completions(&[]).ok();
    }
}

fn journal(data: &[u8]) {
    if let Ok(dataset) = journal::decode(data) {
        assert_eq!(journal::decode(&journal::encode(&dataset)).unwrap().records.len(), dataset.records.len());
    }
}

fn packed(data: &[u8]) {
    if let Ok(dataset) = packed::decode(data) {
        dataset.hash();
    }
}

/// The contents of a packed dataset, packed.
fn packed_contents(data: &[u8]) {
    let mut bytes = b"SEQTUNE2".to_vec();
    let mut encoder = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, data).unwrap();
    encoder.finish().unwrap();
    packed(&bytes);
}

/// From the bytes of a model's file to a prediction.
fn model(data: &[u8]) {
    // with the right checksum the description and the shapes are what is in the way
    let mut data = data.to_vec();
    seqtune_predict::model::file_format::seal(&mut data);
    let Ok(model) = Model::from_bytes(&data) else { return };
    let Ok(predictor) = Predictor::new(&TOY, &model) else { return };
    let problem = TOY.problem("M=1000").unwrap();
    predictor.predict_one(&problem, &Query { width: 3, ..Query::new(&A100) }).ok();
}

fn miopen_database(data: &[u8]) {
    miopen::parse(data).ok();
}

fn miopen_convolutions(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let all = miopen::readable_lines(text, &miopen::Unsaid::default()).unwrap_or_default().convolutions;
    let range = text.lines().find_map(|line| line.parse::<miopen::SizeRange>().ok());
    let all = miopen::stretch(&all, range.as_slice()).map_or(all, |made| made.convolutions);
    for convolution in all {
        convolution.key();
    }
}

fn opened(text: &str) -> OpenedText {
    OpenedText { place: "fuzz".into(), text: text.into() }
}

fn autoheuristic(data: &[u8]) {
    let Some(text) = text(data) else { return };
    autoheuristic::import(&[opened(text)], autoheuristic::AutoHeuristicOptions::default()).ok();
}

fn kernel_tuner(data: &[u8]) {
    let Some(text) = text(data) else { return };
    imported(kernel_tuner::read_cache(text));
}

/// What another tuner's file holds becomes a dataset that can be written and read again.
fn imported(sweep: seqtune_predict::Result<Sweep>) {
    let Ok(sweep) = sweep else { return };
    sweep.problem(&TOY).ok();
    let mut import = SweepImport::new(&TOY, &A100, String::new());
    import.add("fuzz", sweep, "M=1000").unwrap();
    import.finish().dataset.check().unwrap();
}

fn ktt(data: &[u8]) {
    let Some(text) = text(data) else { return };
    imported(ktt::read_ktt(text));
}

fn t4(data: &[u8]) {
    let Some(text) = text(data) else { return };
    imported(t4::read_t4(text));
}

fn triton(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let key = ["M", "N", "K"].map(String::from).to_vec();
    let ask = triton::TritonOptions { device: A100.clone(), key, set: Vec::new(), command: String::new() };
    triton::import(&GEMM, &[opened(text)], ask).ok();
}

/// Sentences that quote input are one printable line.
fn stream(data: &[u8]) {
    let Ok(text) = seqtune_kernel::files::text(data.to_vec()) else { return };
    let Err(error) = GEMM.problems_from_lines(&text, "fuzz") else { return };
    let sentence = seqtune_kernel::error::printable(&error.to_string());
    assert!(sentence.chars().count() < 9_000 && !sentence.contains(char::is_control), "{sentence:?}");
}
