//! `seqtune space`

use rand::SeedableRng;
use seqtune_data::Resources;
use seqtune_measure::compile::{Cached, Compiler, compile_for};
use seqtune_measure::registry::compiler_for;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use seqtune_predict::threads::{cores, on_threads};
use std::cell::RefCell;

/// Shows a kernel's parameters and what is legal for a problem on a device
#[derive(clap::Args)]
pub struct Args {
    /// Kernel name, or the path of its folder
    kernel: String,
    /// Problem: name=value pairs or JSON
    problem: String,
    /// Device: `live`, `cuda:0`, `opencl:0`, a described device's name, or a .toml file
    #[arg(long, default_value = "live")]
    device: String,
    /// Says whether this config is legal, and if not, why
    #[arg(long, value_name = "CONFIG")]
    check: Option<String>,
    /// Lists every legal config
    #[arg(long, conflicts_with_all = ["sample", "check"])]
    list: bool,
    /// Lists so many different legal configs, drawn uniformly
    #[arg(long, value_name = "N", conflicts_with = "check")]
    sample: Option<usize>,
    /// Compiles what is listed, sampled or checked, else the default config, and shows what each needs of the device; no GPU is needed
    #[arg(long)]
    compile: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object (with --list and --sample: one per config) instead of text
    #[arg(long)]
    json: bool,
}

/// Configs that are compiled before any of them is shown.
const PORTION: usize = 64;

/// Compiles a kernel for a problem and a device.
struct CompileQueue<'a> {
    kernel: &'a Kernel,
    problem: &'a Problem,
    device: &'a Device,
    compiler: Cached<Box<dyn Compiler>>,
    json: bool,
    /// The first config that failed, and how many did.
    failed: RefCell<(Option<String>, usize)>,
}

impl<'a> CompileQueue<'a> {
    fn new(kernel: &'a Kernel, problem: &'a Problem, device: &'a Device, json: bool) -> Result<CompileQueue<'a>> {
        kernel.source()?;
        Ok(CompileQueue { kernel, problem, device, compiler: compiler_for(device)?, json, failed: Default::default() })
    }

    /// Compiles the configs on all cores and shows each with what it needs.
    fn show(&self, configs: &[Config]) -> Result<()> {
        let threads = cores();
        let CompileQueue { kernel, problem, device, compiler, .. } = self;
        let compiled = on_threads(configs, threads, |config| compile_for(compiler, (kernel, problem, config), device))?;
        for (config, compiled) in configs.iter().zip(compiled) {
            let text = self.kernel.show_config(config);
            let compiled = compiled.map(|binary| binary.resources);
            crate::cli::answer::answer(&match (&compiled, self.json) {
                (Ok(needs), true) => serde_json::json!({ "config": text, "resources": needs }).to_string(),
                (Err(fault), true) => serde_json::json!({ "config": text, "failure": fault }).to_string(),
                (Ok(needs), false) => format!("{text}  {}", describe(needs)),
                (Err(fault), false) => format!("{text}  {}", fault.detail.lines().next().unwrap_or_default()),
            });
            if let Err(fault) = compiled {
                let (first, count) = &mut *self.failed.borrow_mut();
                first.get_or_insert(format!("{text}: {}", fault.detail.lines().next().unwrap_or_default()));
                *count += 1;
            }
        }
        Ok(())
    }

    /// An error where a config failed.
    fn verdict(&self) -> Result<()> {
        match &*self.failed.borrow() {
            (None, _) => Ok(()),
            (Some(first), count) => {
                Err(Error::Failed(format!("{count} configs do not run on {}, first {first}", self.device.name)))
            }
        }
    }
}

fn describe(needs: &Resources) -> String {
    let scalar = match needs.scalar_registers {
        0 => String::new(),
        scalar => format!(" and {scalar} scalar"),
    };
    format!(
        "{}{scalar} registers, {} bytes of local memory, {} of stack, {} spilled, {} work-groups per unit ({} % occupied)",
        needs.registers,
        needs.local_bytes + needs.dynamic_local_bytes,
        needs.stack_bytes,
        needs.spill_bytes,
        needs.groups_per_unit,
        needs.occupancy
    )
}

pub fn run(args: Args) -> Result<()> {
    let kernel = Kernel::open(&args.kernel)?;
    let problem = kernel.problem(&args.problem)?;
    let device = crate::cli::inputs::device(&args.device)?;
    let space = ConfigSpace::new(&kernel, &problem, &device);
    if let Some(text) = &args.check {
        let config = kernel.config(text)?;
        let violation = space.violation(&config);
        if args.json {
            crate::cli::answer::answer_json(
                &serde_json::json!({ "legal": violation.is_none(), "violation": violation }),
            )?;
        } else {
            crate::cli::answer::answer(violation.as_ref().map_or("legal", |v| v));
        }
        return match violation {
            None if args.compile => {
                let programs = CompileQueue::new(&kernel, &problem, &device, args.json)?;
                programs.show(&[config])?;
                programs.verdict()
            }
            None => Ok(()),
            Some(_) => input(format!("the config is illegal on {}", device.name)),
        };
    }
    let mut counter = space.counter();
    if args.list || args.sample.is_some() || args.compile {
        let programs = args.compile.then(|| CompileQueue::new(&kernel, &problem, &device, args.json)).transpose()?;
        let show = |configs: &[Config]| match &programs {
            Some(programs) => programs.show(configs),
            None => {
                for config in configs {
                    let text = kernel.show_config(config);
                    crate::cli::answer::answer(&if args.json {
                        serde_json::json!({ "config": text }).to_string()
                    } else {
                        text
                    });
                }
                Ok(())
            }
        };
        let mut shown = Ok(());
        if let Some(n) = args.sample {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(args.seed);
            shown = counter.sample_distinct(n, &mut rng).chunks(PORTION).try_for_each(show);
        } else if args.list {
            let mut portion = Vec::new();
            space.for_each(&mut |config| {
                portion.push(Config(config.to_vec()));
                if portion.len() == PORTION {
                    shown = show(&std::mem::take(&mut portion));
                }
                shown.is_ok()
            });
            shown = shown.and_then(|()| show(&portion));
        } else {
            let default = kernel.default_config();
            if let Some(why) = space.violation(&default) {
                return input(format!("the default config is illegal on {}: {why}", device.name));
            }
            shown = show(&[default]);
        }
        shown?;
        return programs.as_ref().map_or(Ok(()), CompileQueue::verdict);
    }
    let all: u64 = kernel.parameters.iter().map(|p| p.values.len() as u64).product();
    let legal = counter.total();
    if args.json {
        let parameters: Vec<_> = kernel
            .parameters
            .iter()
            .map(|p| serde_json::json!({ "name": p.name, "values": p.values, "default": p.values[p.default], "meaning": p.meaning }))
            .collect();
        return crate::cli::answer::answer_json(&serde_json::json!({
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
    crate::cli::answer::answer(&text);
    Ok(())
}
