//! What choosing at run time is worth, live on the first OpenCL device: 2,000 products of matrices of 60 sizes under six strategies, and a
//! limit that drops in the middle. Prints tables, and draws the times into FOLDER.
//!
//!     cargo run --release --example chooser -- FOLDER [stream|limit]
//!
//! What compiling cost is kept in FOLDER, so that a second run, of which the compiled programs come from the driver's cache, counts the same.

mod bench;
mod limit;
mod plot;
mod strategies;
mod stream;

use bench::Bench;
use seqtune_kernel::error::{Error, Result};
use seqtune_predict::{Kernel, Model, Quality};
use std::path::{Path, PathBuf};

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, part) = match &words[..] {
        [folder] => (PathBuf::from(folder), ""),
        [folder, part] if ["stream", "limit"].contains(&part.as_str()) => (PathBuf::from(folder), part.as_str()),
        _ => return Err(Error::Input("name a folder for the figures, and a part (stream or limit) or both".into())),
    };
    let kernel = Kernel::open("gemm")?;
    let model = Model::load_as(Path::new("models/gemm-cpu"), "gemm", Quality::Auto)?;
    let mut bench = Bench::open(&kernel, &folder)?;
    if part != "limit" {
        stream::run(&mut bench, &kernel, &model, &folder)?;
        println!();
    }
    if part != "stream" {
        limit::run(&mut bench, &kernel, &model)?;
    }
    bench.keep_costs()
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("chooser: {e}");
            std::process::ExitCode::from(e.exit_code() as u8)
        }
    }
}
