//! How a library would use it: predict once for each problem size, remember the config, and serve any number of threads.
//!
//!     cargo run --release -p seqtune-predict --example launch_cache -- models/gemm-cpu gemm epyc

use seqtune_predict::{Config, Device, Error, Kernel, Model, Predictor, Quality, Query, device_for};
use std::collections::HashMap;
use std::path::Path;
use std::sync::RwLock;
use std::time::Instant;

/// Configs by the text of their problem.
struct LaunchCache {
    kernel: Kernel,
    device: Device,
    predictor: Predictor,
    known: RwLock<HashMap<String, Config>>,
}

impl LaunchCache {
    fn new(model: &Path, kernel: &str, device: &str) -> seqtune_predict::Result<LaunchCache> {
        let kernel = Kernel::open(kernel)?;
        let model = Model::load_as(model, &kernel.name, Quality::Auto)?;
        let device = device_for(&model.meta.devices, Some(device), |_| None)?;
        Ok(LaunchCache { predictor: Predictor::new(&kernel, &model)?, kernel, device, known: RwLock::default() })
    }

    /// The config for a problem: predicted the first time, looked up from then on.
    fn config(&self, problem: &str) -> seqtune_predict::Result<Config> {
        let poisoned = |_| Error::Failed("a thread panicked while it wrote".into());
        if let Some(config) = self.known.read().map_err(|e| poisoned(e.to_string()))?.get(problem) {
            return Ok(config.clone());
        }
        let asked = self.kernel.problem(problem)?;
        let found = self.predictor.predict_one(&asked, &Query { width: 5, ..Query::new(&self.device) })?;
        let first = found.candidates.into_iter().next();
        let config = first.ok_or_else(|| Error::NoLegalConfig(format!("{problem} has no config")))?.config;
        self.known.write().map_err(|e| poisoned(e.to_string()))?.insert(problem.into(), config.clone());
        Ok(config)
    }
}

fn main() -> seqtune_predict::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, kernel, device] = &words[..] else {
        return Err(Error::Input("name a model's folder, a kernel and a device".into()));
    };
    let cache = LaunchCache::new(Path::new(model), kernel, device)?;
    let problems: Vec<String> = (1..=8).map(|i| format!("M={},N=256,K=512", 64 * i)).collect();
    for round in ["predicted", "looked up"] {
        let began = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = problems.iter().map(|p| scope.spawn(|| cache.config(p))).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(config) => config.map(drop),
                Err(_) => Err(Error::Failed("a thread panicked".into())),
            })
        })?;
        println!("{} problems {round} in {:.2} ms", problems.len(), began.elapsed().as_secs_f64() * 1e3);
    }
    let (first, config) = (&problems[0], cache.config(&problems[0])?);
    println!("{first}: {}", cache.kernel.show_config(&config));
    // what a launch needs: a value by its name, and the sizes
    let parameter = &cache.kernel.parameters[0].name;
    println!("{parameter} is {}", cache.kernel.value(&config, parameter).unwrap_or_default());
    let (kernel, problem) = (&cache.kernel, cache.kernel.problem(first)?);
    let [global, local] = kernel.launch_sizes(&kernel.source()?.program, &problem, Some(&config), &cache.device);
    println!("launched with {global:?} work-items, {local:?} a group");
    Ok(())
}
