//! Prints a model's answers to the last bit, for `scripts/checks/hosts.sh`, which compares them between processors.
//!
//! `answers MODEL QUALITY DEVICE FILE`: for each problem of the file its three first configs, each with the bits of its likelihood, its probability
//! and its predicted costs. It needs no libraries in C, so that it is built for other processors too.

use seqtune_predict::{Kernel, Model, Predictor, Quality, Query};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, quality, device, file] = &words[..] else {
        return Err("write: answers MODEL auto|best|fast DEVICE FILE".into());
    };
    let quality = match quality.as_str() {
        "best" => Quality::Best,
        "fast" => Quality::Fast,
        _ => Quality::Auto,
    };
    let model = Model::load(&Model::file_for(path.as_ref(), None, quality)?)?;
    let device = seqtune_predict::device_for(&model.meta.devices, Some(device), |_| None)?;
    let kernel = Kernel::open(&Model::kernels_in(path.as_ref())?[0])?;
    let lines = std::fs::read_to_string(file)?;
    let problems = lines.lines().map(|line| kernel.problem(line)).collect::<Result<Vec<_>, _>>()?;
    let query = Query { top: 3, ..Query::new(&device) };
    for (line, answer) in lines.lines().zip(Predictor::new(&kernel, &model)?.predict(&problems, &query)?) {
        println!("{line}");
        for one in answer.candidates {
            let bits = |value: Option<f64>| value.map_or("-".into(), |value| format!("{:016x}", value.to_bits()));
            let numbers = [Some(one.log_probability), one.probability, one.time_us, one.joules].map(bits);
            println!("  {} {}", kernel.show_config(&one.config), numbers.join(" "));
        }
    }
    Ok(())
}
