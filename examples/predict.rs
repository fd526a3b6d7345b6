//! Predicts configs for problems given on the command line.
//!
//!     cargo run --release -p seqtune-predict --example predict -- models/gemm-cpu gemm epyc M=300,N=200,K=100

use seqtune_predict::{Error, Kernel, Model, Predictor, Quality, Query, device_for};
use std::path::Path;

fn main() -> seqtune_predict::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, kernel, device, problems @ ..] = &words[..] else {
        return Err(Error::Input("name a model's folder, a kernel, a device and problems".into()));
    };
    let kernel = Kernel::open(kernel)?;
    let model = Model::load_as(Path::new(model), &kernel.name, Quality::Auto)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let problems = problems.iter().map(|text| kernel.problem(text)).collect::<Result<Vec<_>, _>>()?;
    // one that the model learned, or one that is described
    let device = &device_for(&model.meta.devices, Some(device), |_| None)?;
    if let Some(note) = predictor.grounds(device).note() {
        eprintln!("{note}");
    }
    let (top, width, threads) = (3, 20, std::thread::available_parallelism().map_or(1, usize::from));
    let query = Query { top, width, threads, ..Query::new(device) };
    for (problem, prediction) in problems.iter().zip(predictor.predict(&problems, &query)?) {
        let unsure = if prediction.unsure { " (unsure: measure the first few)" } else { "" };
        println!("{} on {}{unsure}", kernel.show_problem(problem), device.name);
        for candidate in prediction.candidates {
            let percent = candidate.probability.map_or(String::new(), |p| format!("{:.1} %", 100.0 * p));
            let time = candidate.time_us.map_or(String::new(), |us| format!("{us:.1} us"));
            println!("  {percent:>7}  {time:>11}  {}", kernel.show_config(&candidate.config));
        }
    }
    Ok(())
}
