//! `seqtune space`

use rand::SeedableRng;
use seqtune_console::answer::{answer, answer_json};
use seqtune_data::Resources;
use seqtune_kernel::Parameter;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::limits;
use seqtune_kernel::spelling::line;
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, ConfigSpace, Count, Device, Kernel, Problem, ruled_out};
use seqtune_measure::compile::{Cached, Compiler, compile_for};
use seqtune_measure::registry::compiler_for;
use std::cell::RefCell;

/// Shows a kernel's parameters and its legal configs for a problem on a device
///
/// Without --check, --list, --sample and --compile, the legal configs are counted.
#[derive(clap::Args)]
pub struct Args {
    /// Kernel name, or the path of its folder
    kernel: String,
    /// Problem: name=value pairs or JSON
    problem: String,
    /// Device: `live`, an id, the name of a described device, or a .toml file
    ///
    /// An id is for instance `cuda:0`, `hip:0` or `opencl:0`.
    #[arg(long, default_value = "live")]
    device: String,
    /// Config to check: prints whether it is legal, and if not, why
    #[arg(long, value_name = "CONFIG")]
    check: Option<String>,
    /// List every legal config
    #[arg(long, conflicts_with_all = ["sample", "check"])]
    list: bool,
    /// Number of different legal configs to draw uniformly, 1 to 1,000,000
    #[arg(long, value_name = "N", conflicts_with = "check", value_parser = seqtune_console::value_parsers::count(1..=limits::SAMPLE))]
    sample: Option<usize>,
    /// Compile configs and show the registers and memory that each needs
    ///
    /// The configs are those of --list, --sample or --check, else the default one. No GPU is needed. This works for NVIDIA and AMD
    /// GPUs.
    #[arg(long)]
    compile: bool,
    /// Seed of --sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object instead of text
    ///
    /// With --list, --sample and --compile, one object per config is printed.
    #[arg(long)]
    json: bool,
}

/// A count as JSON: whole where it is exact, null where it is not known.
fn number(count: Count) -> serde_json::Value {
    match count {
        Count::Exactly(n) => n.into(),
        known => known.known_number().into(),
    }
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
        let compiled = on_threads(configs, threads, |config| compile_for(compiler, kernel, problem, config, device))?;
        for (config, compiled) in configs.iter().zip(compiled) {
            let text = self.kernel.show_config(config);
            let compiled = compiled.map(|binary| binary.resources);
            match (&compiled, self.json) {
                (Ok(needs), true) => answer_json(&serde_json::json!({ "config": text, "resources": needs }))?,
                (Err(fault), true) => answer_json(&serde_json::json!({ "config": text, "failure": fault }))?,
                (Ok(needs), false) => answer(&format!("{text}  {}", describe(needs))),
                (Err(fault), false) => {
                    answer(&format!("{text}  {}", fault.detail.lines().next().unwrap_or_default()));
                }
            }
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
                let count = count_noun(*count, "config");
                Err(Error::Failed(format!("{count} cannot run on {}, first {first}", self.device.name)))
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
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    let problem = kernel.problem(&args.problem)?;
    let device = seqtune_console::inputs::device(&args.device)?;
    kernel.check_device(&device)?;
    let shown = Shown { kernel: &kernel, problem: &problem, device: &device, args: &args };
    if let Some(text) = &args.check {
        shown.check(&kernel.config(text)?)
    } else if args.list || args.sample.is_some() || args.compile {
        shown.configs()
    } else {
        shown.summary()
    }
}

/// A space, and what is shown of it.
struct Shown<'a> {
    kernel: &'a Kernel,
    problem: &'a Problem,
    device: &'a Device,
    args: &'a Args,
}

impl Shown<'_> {
    fn space(&self) -> ConfigSpace {
        ConfigSpace::new(self.kernel, self.problem, self.device)
    }

    fn compile_queue(&self) -> Result<CompileQueue<'_>> {
        CompileQueue::new(self.kernel, self.problem, self.device, self.args.json)
    }

    /// Whether a config is legal and, where that is asked for, what it needs when compiled.
    fn check(&self, config: &Config) -> Result<()> {
        let violation = self.space().violation(config);
        if self.args.json {
            answer_json(&serde_json::json!({ "legal": violation.is_none(), "violation": violation }))?;
        } else {
            answer(violation.as_ref().map_or("legal", |v| v));
        }
        if violation.is_some() {
            return input(format!("the config is illegal on {}", self.device.name));
        }
        if !self.args.compile {
            return Ok(());
        }
        let programs = self.compile_queue()?;
        programs.show(std::slice::from_ref(config))?;
        programs.verdict()
    }

    /// The sampled configs, the listed ones, or the default one.
    fn configs(&self) -> Result<()> {
        let space = self.space();
        if space.counter().total() == Count::Exactly(0) {
            let why = ruled_out(self.kernel, self.problem, self.device).unwrap_or_else(|| "no config is legal".into());
            return Err(Error::NoLegalConfig(format!("{} on {}: {why}", self.kernel.name, self.device.name)));
        }
        let programs = self.args.compile.then(|| self.compile_queue()).transpose()?;
        let show = |configs: &[Config]| match &programs {
            Some(programs) => programs.show(configs),
            None => configs.iter().try_for_each(|config| self.line(config)),
        };
        if let Some(n) = self.args.sample {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(self.args.seed);
            space.counter().sample_distinct(n, &mut rng)?.chunks(PORTION).try_for_each(show)?;
        } else if self.args.list {
            let (mut portion, mut shown) = (Vec::new(), Ok(()));
            space.for_each(&mut |config| {
                portion.push(Config(config.to_vec()));
                if portion.len() == PORTION {
                    shown = show(&std::mem::take(&mut portion));
                }
                shown.is_ok()
            })?;
            shown.and_then(|()| show(&portion))?;
        } else {
            let default = self.kernel.default_config();
            if let Some(why) = space.violation(&default) {
                return input(format!("the default config is illegal on {}: {why}", self.device.name));
            }
            show(&[default])?;
        }
        programs.as_ref().map_or(Ok(()), CompileQueue::verdict)
    }

    fn line(&self, config: &Config) -> Result<()> {
        let text = self.kernel.show_config(config);
        match self.args.json {
            true => answer_json(&serde_json::json!({ "config": text })),
            false => {
                answer(&text);
                Ok(())
            }
        }
    }

    /// The parameters with their values, and the number of legal configs.
    fn summary(&self) -> Result<()> {
        let Shown { kernel, problem, device, args } = self;
        let all: f64 = kernel.parameters.iter().map(|p| p.values.len() as f64).product();
        let all = if all < 2f64.powi(53) { Count::Exactly(all as u64) } else { Count::About(all) };
        let legal = self.space().counter().total();
        let why = (legal == Count::Exactly(0)).then(|| ruled_out(kernel, problem, device)).flatten();
        if args.json {
            let parameter = |p: &Parameter| serde_json::json!({ "name": p.name, "values": p.all_json(), "default": p.json(p.default), "meaning": p.meaning });
            let parameters: Vec<_> = kernel.parameters.iter().map(parameter).collect();
            let mut shown = serde_json::json!({
                "kernel": kernel.name, "problem": kernel.show_problem(problem), "device": device.name,
                "parameters": parameters, "combinations": number(all), "legal": number(legal),
            });
            if let Count::AtMost(most) = legal {
                shown["legal_at_most"] = most.into();
            }
            if let Some(why) = why {
                shown["ruled_out"] = why.into();
            }
            return answer_json(&shown);
        }
        let mut text = format!(
            "{}: {}\n{} on {}\n\n",
            kernel.name,
            line(&kernel.meaning),
            kernel.show_problem(problem),
            device.name
        );
        for p in &kernel.parameters {
            let value = |(i, v): (usize, String)| if i == p.default { format!("[{v}]") } else { v };
            let values: Vec<String> = p.value_texts().into_iter().enumerate().map(value).collect();
            text += &format!("  {:<6} {:<28} {}\n", p.name, values.join(" "), line(&p.meaning));
        }
        text += &format!("\n{legal} of {all} combinations are legal ([] marks the default)");
        if let Some(why) = why {
            text += &format!("\n{why}");
        }
        answer(&text);
        Ok(())
    }
}
