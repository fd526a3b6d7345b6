//! Counts, samples and checks the configs of a kernel's space; no model is needed.
//!
//!     cargo run --release -p seqtune-predict --example space -- gemm M=512,N=512,K=512 A100

use rand::SeedableRng;
use seqtune_kernel::ConfigSpace;
use seqtune_predict::{Device, Error, Kernel};

fn main() -> seqtune_predict::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, problem, device] = &words[..] else {
        return Err(Error::Input("name a kernel (or its folder), a problem and a device".into()));
    };
    let kernel = Kernel::open(kernel)?;
    let (problem, device) = (kernel.problem(problem)?, Device::find_described(device)?);
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let mut counter = space.counter();
    println!("{} legal configs", counter.total());

    // a walk that never ends in a dead end: each value is one that some legal config has
    let mut prefix = Vec::new();
    for parameter in &kernel.parameters {
        let open = space.completions(&prefix)?;
        let Some(choice) = open.iter().last() else { return Err(Error::NoLegalConfig("nothing is legal".into())) };
        println!("{:>6} may be one of {}; take {}", parameter.name, open.len(), parameter.values[choice as usize]);
        prefix.push(choice);
    }

    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    for config in counter.sample_distinct(3, &mut rng)? {
        assert!(space.is_legal(&config));
        println!("sampled: {}", kernel.show_config(&config));
    }
    match space.violation(&kernel.default_config()) {
        None => println!("the default is legal"),
        Some(reason) => println!("the default is not legal: {reason}"),
    }
    Ok(())
}
