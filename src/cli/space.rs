//! `seqtune space`

use crate::error::{Result, input};
use crate::kernel::{ConfigSpace, Kernel};
use rand::SeedableRng;

/// Shows a kernel's parameters and what is legal for a problem on a device
#[derive(clap::Args)]
pub struct Args {
    /// Kernel name, or the path of its folder
    kernel: String,
    /// Problem: name=value pairs or JSON
    problem: String,
    /// Device: `live`, `opencl:0`, a described device's name, or a .toml file
    #[arg(long, default_value = "live")]
    device: String,
    /// Says whether this config is legal, and if not, why
    #[arg(long, value_name = "CONFIG")]
    check: Option<String>,
    /// Lists every legal config
    #[arg(long, conflicts_with = "sample")]
    list: bool,
    /// Lists so many different legal configs, drawn uniformly
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object (with --list and --sample: one per config) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    let kernel = Kernel::open(&args.kernel)?;
    let problem = kernel.problem(&args.problem)?;
    let device = super::device(&args.device)?;
    let space = ConfigSpace::new(&kernel, &problem, &device);
    if let Some(text) = &args.check {
        let violation = space.violation(&kernel.config(text)?);
        if args.json {
            super::answer_json(&serde_json::json!({ "legal": violation.is_none(), "violation": violation }))?;
        } else {
            super::answer(violation.as_ref().map_or("legal", |v| v));
        }
        return match violation {
            None => Ok(()),
            Some(_) => input(format!("the config is illegal on {}", device.name)),
        };
    }
    let show = |config: &[crate::kernel::Choice]| {
        let text = kernel.show_config(&crate::kernel::Config(config.to_vec()));
        super::answer(&if args.json { serde_json::json!({ "config": text }).to_string() } else { text });
    };
    if args.list {
        space.for_each(&mut |config| {
            show(config);
            true
        });
        return Ok(());
    }
    let mut counter = space.counter();
    if let Some(n) = args.sample {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(args.seed);
        counter.sample_distinct(n, &mut rng).iter().for_each(|c| show(&c.0));
        return Ok(());
    }
    let all: u64 = kernel.parameters.iter().map(|p| p.values.len() as u64).product();
    let legal = counter.total();
    if args.json {
        let parameters: Vec<_> = kernel
            .parameters
            .iter()
            .map(|p| serde_json::json!({ "name": p.name, "values": p.values, "default": p.values[p.default], "meaning": p.meaning }))
            .collect();
        return super::answer_json(&serde_json::json!({
            "kernel": kernel.name, "problem": kernel.show_problem(&problem), "device": device.name,
            "parameters": parameters, "combinations": all, "legal": legal,
        }));
    }
    let mut text =
        format!("{}: {}\n{} on {}\n\n", kernel.name, kernel.meaning, kernel.show_problem(&problem), device.name);
    for p in &kernel.parameters {
        let values: Vec<String> = p
            .values
            .iter()
            .enumerate()
            .map(|(i, v)| if i == p.default { format!("[{v}]") } else { v.to_string() })
            .collect();
        text += &format!("  {:<6} {:<28} {}\n", p.name, values.join(" "), p.meaning);
    }
    text += &format!("\n{legal} of {all} combinations are legal ([] marks the default)");
    super::answer(&text);
    Ok(())
}
