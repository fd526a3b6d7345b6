//! `seqtune devices`

use seqtune_kernel::error::Result;
use seqtune_kernel::{Device, LIMIT_NAMES};
use seqtune_measure::registry::{Devices, HOST, devices, live_device};

/// Lists the devices that open here, why others do not, and described devices
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct DeviceListing {
    live: Vec<Live>,
    /// The processors of this machine, for programs.
    host: Device,
    missing: Vec<String>,
    described: Vec<Device>,
}

#[derive(serde::Serialize)]
struct Live {
    id: String,
    /// Address on the bus, and the id under which the same device is listed before.
    bus: Option<String>,
    same_as: Option<String>,
    #[serde(flatten)]
    device: Device,
}

pub fn run(args: Args) -> Result<()> {
    let Devices { found, missing } = devices();
    let live = found.into_iter().map(|f| Live { id: f.id, bus: f.bus, same_as: f.same_as, device: f.device }).collect();
    let missing = missing.into_iter().map(|missing| missing.reason).collect();
    let answer = DeviceListing { live, host: live_device(HOST)?, missing, described: Device::all_shipped()? };
    if args.json {
        return seqtune_console::answer::answer_json(&answer);
    }
    let mut text = String::from("Devices that open here:\n");
    for live in &answer.live {
        let same = live.same_as.as_ref().map_or(String::new(), |id| format!(", the same device as {id}"));
        text += &format!("  {}  {} ({}){same}\n", live.id, live.device.name, live.device.driver);
        text += &format!("      {}\n", limits(&live.device));
    }
    if answer.live.is_empty() {
        text += "  none\n";
    }
    text += &format!("For programs ([run]):\n  {HOST}  {} ({})\n", answer.host.name, answer.host.driver);
    text += &format!("      {}\n", limits(&answer.host));
    for reason in &answer.missing {
        text += &format!("Not available: {reason}\n");
    }
    text += "Devices known as descriptions (for space and predict):\n";
    for device in &answer.described {
        text += &format!("  {:<12} {}, {}\n", device.name, device.vendor, device.architecture);
    }
    seqtune_console::answer::answer(text.trim_end());
    Ok(())
}

fn limits(device: &Device) -> String {
    let known = LIMIT_NAMES.iter().zip(device.limits.values());
    known.filter_map(|(name, value)| Some(format!("{name}={}", value?))).collect::<Vec<_>>().join(" ")
}
