//! `seqtune doctor`

use seqtune_console::siblings::{TRAINER, missing_libraries};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Api, Device, Kernel};
use seqtune_measure::compile::{Compiler, cache_folder};
use seqtune_measure::registry::{Devices, compiler_for, devices, obstacle};
use seqtune_predict::Model;
use std::path::Path;
use std::process::Command;

/// Shows what is installed here, what is missing, and how to get it
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Check only the compilers
    ///
    /// They need a process of their own: one that has loaded AMD's compiler cannot load the LLVM of a CPU's OpenCL.
    #[arg(long, hide = true)]
    compilers: bool,
}

/// Something that seqtune can use.
#[derive(serde::Serialize, serde::Deserialize)]
struct Check {
    name: String,
    /// What it is for.
    purpose: String,
    present: bool,
    /// What was found, or why nothing.
    found: String,
    /// The command that gets it; `None` where it is there, or where no command can.
    remedy: Option<String>,
}

/// The command that gets most of what is missing.
const SETUP: &str = "scripts/setup.sh";

impl Check {
    fn new((name, purpose): (&str, &str), found: std::result::Result<String, String>, remedy: Option<&str>) -> Check {
        let present = found.is_ok();
        let remedy = remedy.filter(|_| !present).map(String::from);
        Check {
            name: name.into(),
            purpose: purpose.into(),
            present,
            found: found.unwrap_or_else(|reason| reason),
            remedy,
        }
    }
}

pub fn run(args: Args) -> Result<()> {
    if args.compilers {
        return seqtune_console::answer::answer_json(&[compiler(COMPILERS[0]), compiler(COMPILERS[1])]);
    }
    let mut checks = compilers();
    checks.extend(apis());
    checks.extend([training(), lightgbm(), models(), cache()]);
    if args.json {
        return seqtune_console::answer::answer_json(&checks);
    }
    let (kernels, described) = (Kernel::all_shipped().len(), Device::all_shipped()?.len());
    let mut text = format!(
        "seqtune {}: {} and {} inside, {} here\n",
        env!("CARGO_PKG_VERSION"),
        count_noun(kernels, "kernel"),
        count_noun(described, "described device"),
        count_noun(seqtune_kernel::threads::cores(), "core")
    );
    for check in &checks {
        let mark = if check.present { "yes" } else { "no " };
        text += &format!("{mark}  {:<16} {:<46} {}\n", check.name, check.purpose, check.found);
        if let Some(remedy) = &check.remedy {
            text += &format!("     {:<16} get it: {remedy}\n", "");
        }
    }
    seqtune_console::answer::answer(text.trim_end());
    Ok(())
}

/// Compilers of each maker, what they are for, and a device that they compile for.
const COMPILERS: [(&str, &str, &str); 2] = [
    ("NVRTC", "programs for NVIDIA GPUs, also without one", "H100"),
    ("hipRTC or clang", "programs for AMD GPUs, also without one", "MI300X"),
];

/// The compilers, checked in a process of their own.
fn compilers() -> Vec<Check> {
    let program = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        seqtune_measure::end_with_parent(command.args(["doctor", "--compilers"]));
        command.output()
    });
    let found = program.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
    let lost = |(name, purpose, _): (&str, &str, &str)| {
        Check::new((name, purpose), Err("the process that opened it ended".into()), Some(SETUP))
    };
    found.unwrap_or_else(|| COMPILERS.into_iter().map(lost).collect())
}

fn compiler((name, purpose, device): (&str, &str, &str)) -> Check {
    let found = Device::find_described(device).and_then(|device| compiler_for(&device));
    let version = found.map(|compiler| compiler.identity().split(" -").next().unwrap_or_default().trim().to_string());
    Check::new((name, purpose), version.map_err(|e| e.to_string()), Some(SETUP))
}

/// Devices that open, an API each.
fn apis() -> Vec<Check> {
    let Devices { found, missing } = devices();
    let check = |api: Api, remedy: &str| {
        let own: Vec<String> = found
            .iter()
            .filter(|f| Api::of_id(&f.id) == Some(api))
            .map(|f| format!("{} {} ({})", f.id, f.device.name, f.device.driver))
            .collect();
        let reason = missing.iter().find(|missing| missing.api == api);
        let reason = || reason.map_or("no device".to_string(), |missing| missing.reason.clone());
        let what = (api.name(), "kernels are measured there");
        let obstacle = found.iter().filter(|f| Api::of_id(&f.id) == Some(api)).find_map(|f| obstacle(&f.device));
        match (own.is_empty(), obstacle) {
            (true, _) => Check::new(what, Err(reason()), Some(remedy)),
            (false, Some(why)) => Check::new(what, Err(format!("{}: {why}", own.join(", "))), None),
            (false, None) => Check::new(what, Ok(own.join(", ")), None),
        }
    };
    vec![
        check(Api::Cuda, "an NVIDIA GPU with its driver"),
        check(Api::Hip, "an AMD GPU with ROCm"),
        check(Api::OpenCl, "scripts/setup.sh (PoCL: the processor as a device)"),
    ]
}

fn training() -> Check {
    let found = TRAINER.find().map_err(|e| e.to_string()).and_then(|program| match &missing_libraries(&program)[..] {
        [] => Ok(program.display().to_string()),
        missing => Err(format!("{} does not find {}", program.display(), missing.join(", "))),
    });
    let remedy = "scripts/setup.sh && cargo build --release -p seqtune-train";
    Check::new(("libtorch", "train, distil, evaluate folds"), found, Some(remedy))
}

fn lightgbm() -> Check {
    let found = LightGbm::open().map(|_| "opens".to_string()).map_err(|e| e.to_string());
    Check::new(("LightGBM", "baseline of evaluate; --lightgbm=off goes without"), found, Some(SETUP))
}

/// Models in the folder where a clone of the project has them.
fn models() -> Check {
    let folder = Path::new("models");
    let mut inside: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let kernels = Model::kernels_in(&entry.path()).ok().filter(|kernels| !kernels.is_empty())?;
            let count = if kernels.len() == 1 { kernels[0].clone() } else { count_noun(kernels.len(), "kernel") };
            Some(format!("{} ({count})", entry.path().display()))
        })
        .collect();
    inside.sort();
    let found = if inside.is_empty() { Err("no folder ./models here".into()) } else { Ok(inside.join(", ")) };
    Check::new(("models", "predict"), found, Some("run in a clone of the project, or `seqtune train`"))
}

fn cache() -> Check {
    let found = cache_folder().map(|folder| {
        let (files, bytes) = size(&folder);
        format!("{}: {}, {:.1} MB", folder.display(), count_noun(files, "file"), bytes as f64 / 1e6)
    });
    let reason = "neither SEQTUNE_CACHE nor HOME is set: programs are compiled anew each time".to_string();
    Check::new(("cache", "compiled programs"), found.ok_or(reason), Some("export SEQTUNE_CACHE=FOLDER"))
}

/// Files in a folder and below it, and their bytes.
fn size(folder: &Path) -> (usize, u64) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.fold((0, 0), |(files, bytes), entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => {
            let (inner, more) = size(&entry.path());
            (files + inner, bytes + more)
        }
        Ok(meta) => (files + 1, bytes + meta.len()),
        Err(_) => (files, bytes),
    })
}
