//! Roofline model: measured peaks of a device, and the bound of a kernel (Williams, Waterman and Patterson 2009).

use crate::compile::Job;
use crate::executor::{Executor, KernelArg, Timing};
use crate::launch::LaunchDims;
use seqtune_data::recipe::Cache;
use seqtune_data::{Attempt, Invalidity, InvalidityKind, Resources};
use seqtune_kernel::Define;
use seqtune_kernel::kernel_toml::spec::Units;
use serde::{Deserialize, Serialize};

const SOURCE: &str = include_str!("roofline.cl");
const MATRIX_SOURCE: &str = include_str!("roofline_matrix.cu");
/// Operations of a work-item in a round of `peak_matrix`: 8 products of 16 x 8 x 16 by 32 work-items.
const MATRIX_FLOPS: f64 = 8.0 * 2.0 * 16.0 * 8.0 * 16.0 / 32.0;
const GROUP: usize = 256;
const CHAINS: f64 = 8.0;
/// Launches per benchmark kernel, of which the fastest counts.
const TRIES: usize = 10;

/// Measured peaks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Peak of f32 multiply-adds in GFLOP/s, of two operations each.
    pub f32_gflops: f64,
    /// Peak of f16 on tensor cores by `mma.sync` in GFLOP/s; `None` where there are none or it was not requested.
    pub matrix_gflops: Option<f64>,
    /// Bandwidth of the memory beyond the caches in GB/s, read and written.
    pub bandwidth_gbs: f64,
    /// Bandwidth of the last-level cache in GB/s, read and written, where its size is known.
    pub cache_gbs: Option<f64>,
    /// Largest size in bytes of a problem that stays in that cache.
    pub cache_bytes: f64,
}

/// Where a launch stands between the peaks of its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Share of the compute peak, 0 to 1.
    pub compute: f64,
    /// Share of the memory peak, 0 to 1.
    pub memory: f64,
    /// What bounds it.
    pub bound: Bound,
}

/// Work of a launch and the time it took.
#[derive(Clone, Copy, Debug)]
pub struct TimedWork {
    /// Floating-point operations.
    pub flops: f64,
    /// Least bytes that are moved.
    pub bytes: f64,
    /// Time in microseconds.
    pub time_us: f64,
}

/// Bound of a kernel's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Arithmetic throughput.
    Compute,
    /// Memory or cache bandwidth.
    Memory,
    /// Latency: both are far from their peak, because work-items wait or are too few.
    Latency,
}

/// Share of both peaks below which a kernel is bound by latency.
const NEAR: f64 = 0.4;
/// Fill of a device below which [`NEAR_IF_SPARSE`] applies, because few work-items are left to hide latency.
const SPARSE: f64 = 0.25;
/// Share of both peaks below which a kernel on a sparsely filled device is bound by latency.
const NEAR_IF_SPARSE: f64 = 0.6;

/// Share of a device's places for work-items that a launch of `groups` work-groups fills at most.
///
/// It is the occupancy, reduced where there are too few work-groups for `units` compute units.
pub fn device_fill(needs: &Resources, groups: usize, units: f64) -> f64 {
    let places = (needs.groups_per_unit as f64 * units).max(1.0);
    needs.occupancy as f64 / 100.0 * (groups as f64 / places).min(1.0)
}

impl Peaks {
    /// Combines two measurements into the higher of each peak, because a busy machine lowers peaks.
    pub fn higher(self, other: Peaks) -> Peaks {
        let of = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        Peaks {
            f32_gflops: self.f32_gflops.max(other.f32_gflops),
            matrix_gflops: of(self.matrix_gflops, other.matrix_gflops),
            bandwidth_gbs: self.bandwidth_gbs.max(other.bandwidth_gbs),
            cache_gbs: of(self.cache_gbs, other.cache_gbs),
            cache_bytes: self.cache_bytes,
        }
    }

    /// Bandwidth in GB/s for a problem of `bytes` bytes: that of the cache where it is warm and holds the problem.
    fn bandwidth(&self, bytes: f64, cache: Cache) -> f64 {
        match self.cache_gbs {
            Some(gbs) if cache == Cache::Warm && bytes <= self.cache_bytes => gbs.max(self.bandwidth_gbs),
            _ => self.bandwidth_gbs,
        }
    }

    /// Computes the shares of the compute and memory peaks that a launch reaches, and its bound.
    ///
    /// The fill of the device is that of [`device_fill`], where it is known. `None` where the peak of `units` is unknown.
    pub fn place(
        &self,
        units: Units,
        TimedWork { flops, bytes, time_us }: TimedWork,
        device_fill: Option<f64>,
        cache: Cache,
    ) -> Option<Placement> {
        let peak = match units {
            Units::Vector => self.f32_gflops,
            Units::Matrix => self.matrix_gflops?,
        };
        let (compute, memory) = (flops / time_us / 1e3 / peak, bytes / time_us / 1e3 / self.bandwidth(bytes, cache));
        let near = if device_fill.is_some_and(|device_fill| device_fill < SPARSE) { NEAR_IF_SPARSE } else { NEAR };
        let bound = match () {
            _ if compute.max(memory) < near => Bound::Latency,
            _ if compute >= memory => Bound::Compute,
            _ => Bound::Memory,
        };
        Some(Placement { compute, memory, bound })
    }
}

/// Measures the peaks of a device for kernels that compute on `units`; all buffers of the executor are freed.
///
/// # Errors
/// [`Invalidity`] where memory is short, or a benchmark kernel does not compile or run.
pub fn measure(executor: &mut dyn Executor, units: Units) -> Attempt<Peaks> {
    let limits = executor.device().limits.clone();
    let (compute_units, is_cpu) = (limits.compute_units.unwrap_or(1.0) as usize, limits.is_cpu == Some(1.0));
    let vectors = [Define::new("VECTORS", "1")];
    let lanes = if is_cpu { 16.0 } else { 1.0 };
    let job = |entry: &'static str| Job {
        file: "roofline.cl",
        source: SOURCE,
        entry,
        defines: &vectors[..is_cpu as usize],
        group: vec![GROUP as u32],
        dynamic_local_bytes: 0,
    };
    let failed = |e: seqtune_kernel::error::Error| Invalidity::new(InvalidityKind::Runtime, e.to_string());
    let geometry = |items: usize| LaunchDims { global: vec![items], local: vec![GROUP] };
    executor.free_all();

    // a GPU holds some 2,048 work-items a unit: several times as many, so that the tail is short
    let items = compute_units * GROUP * if is_cpu { 4 } else { 64 };
    let rounds = if is_cpu { 4_096 } else { 2_048 };
    let out = executor.alloc(4 * items).map_err(failed)?;
    let program = executor.compile(&job("peak_f32"))?;
    let values = [KernelArg::Int(rounds), KernelArg::Float(0.999), KernelArg::Float(1e-3), KernelArg::Buffer(out)];
    let f32_us = fastest(executor.launch(program, &values, &geometry(items), TRIES, Timing::Warm)?);
    executor.release(program);

    let matrix_us = match units {
        Units::Vector => None,
        Units::Matrix => {
            let job = Job { file: "roofline_matrix.cu", source: MATRIX_SOURCE, entry: "peak_matrix", ..job("") };
            // it does not compile for a device without such units
            match executor.compile(&job) {
                Ok(program) => {
                    let values = [KernelArg::Int(rounds), KernelArg::Buffer(out)];
                    let times = executor.launch(program, &values, &geometry(items), TRIES, Timing::Warm)?;
                    executor.release(program);
                    Some(fastest(times))
                }
                Err(_) => None,
            }
        }
    };

    let most = limits.memory_bytes.unwrap_or(4e9) / 8.0;
    // well beyond the caches, but a server's CPU says hundreds of megabytes of them: eight times that only takes longer
    let beyond = (8.0 * limits.cache_bytes.unwrap_or(32e6)).clamp(256e6, 1.1e9).min(most);
    let bandwidth_gbs = copy(executor, &job("peak_copy"), beyond)?;
    // both buffers in half of the cache, so that neighbours and prefetchers leave them there
    let cache_bytes = limits.cache_bytes.unwrap_or(0.0) / 2.0;
    let cache_gbs = (cache_bytes >= 1e6).then(|| copy(executor, &job("peak_copy"), cache_bytes / 2.0)).transpose()?;
    executor.free_all();
    let launched = rounds as f64 * items as f64;
    Ok(Peaks {
        f32_gflops: 2.0 * CHAINS * lanes * launched / f32_us / 1e3,
        matrix_gflops: matrix_us.map(|us| MATRIX_FLOPS * launched / us / 1e3),
        bandwidth_gbs,
        cache_gbs,
        cache_bytes,
    })
}

/// Bandwidth in GB/s, read and written, of a copy of about `wanted` bytes; all buffers of the executor are freed.
fn copy(executor: &mut dyn Executor, job: &Job, wanted: f64) -> Attempt<f64> {
    let failed = |e: seqtune_kernel::error::Error| Invalidity::new(InvalidityKind::Runtime, e.to_string());
    let bytes = (wanted as usize / (16 * GROUP)).max(1) * (16 * GROUP);
    let (from, to) = (executor.alloc(bytes).map_err(failed)?, executor.alloc(bytes).map_err(failed)?);
    executor.write(from, &vec![0x3f; bytes]).map_err(failed)?;
    let program = executor.compile(job)?;
    let values = [KernelArg::Buffer(from), KernelArg::Buffer(to)];
    let launch = LaunchDims { global: vec![bytes / 16], local: vec![GROUP] };
    let us = fastest(executor.launch(program, &values, &launch, TRIES, Timing::Warm)?);
    executor.release(program);
    executor.free_all();
    Ok(2.0 * bytes as f64 / us / 1e3)
}

fn fastest(times_us: Vec<f32>) -> f64 {
    times_us.into_iter().fold(f32::INFINITY, f32::min) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Compiler;

    #[test]
    fn what_measures_peaks_compiles_for_nvidia_gpus() {
        let device = seqtune_kernel::Device::find_described("H100").unwrap();
        let Ok(compiler) = crate::registry::compiler_for(&device) else {
            println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
            return;
        };
        let sources = [("roofline.cl", SOURCE, "peak_f32"), ("roofline.cl", SOURCE, "peak_copy")];
        for (file, source, entry) in sources.into_iter().chain([("roofline_matrix.cu", MATRIX_SOURCE, "peak_matrix")]) {
            let job = Job { file, source, entry, defines: &[], group: vec![GROUP as u32], dynamic_local_bytes: 0 };
            let resources = compiler.inner().compile(&job).unwrap().resources;
            assert!(resources.occupancy >= 50 && resources.spill_bytes == 0, "{entry}: {resources:?}");
        }
    }

    #[test]
    fn the_larger_share_of_a_peak_is_the_bound_and_none_is_latency() {
        let peaks = Peaks {
            f32_gflops: 1_000.0,
            matrix_gflops: None,
            bandwidth_gbs: 100.0,
            cache_gbs: Some(400.0),
            cache_bytes: 1e6,
        };
        let judge = |flops, bytes, us| {
            peaks.place(Units::Vector, TimedWork { flops, bytes, time_us: us }, None, Cache::Cold).unwrap()
        };
        // 1e9 operations and 1e6 bytes in 2 ms: half of one peak, little of the other
        let Placement { compute, memory, bound } = judge(1e9, 1e6, 2e3);
        assert!((compute - 0.5).abs() < 1e-9 && (memory - 0.005).abs() < 1e-9);
        assert_eq!(bound, Bound::Compute);
        assert_eq!(judge(1e6, 1e8, 1.5e3).bound, Bound::Memory);
        assert_eq!(judge(1e6, 1e6, 1e3).bound, Bound::Latency);
        assert_eq!(
            peaks.place(Units::Matrix, TimedWork { flops: 1e9, bytes: 1e6, time_us: 2e3 }, None, Cache::Cold),
            None
        );
        // at half of a peak it depends on whether there were others to work
        let half = |device_fill| {
            peaks
                .place(
                    Units::Vector,
                    TimedWork { flops: 1e9, bytes: 1e6, time_us: 2e3 },
                    Some(device_fill),
                    Cache::Cold,
                )
                .unwrap()
                .bound
        };
        assert_eq!((half(0.2), half(0.3)), (Bound::Latency, Bound::Compute));
        assert_eq!(
            peaks
                .place(Units::Vector, TimedWork { flops: 1e9, bytes: 1e6, time_us: 1.5e3 }, Some(0.125), Cache::Cold)
                .unwrap()
                .bound,
            Bound::Compute
        );
    }

    #[test]
    fn what_fits_a_warm_cache_is_held_against_the_cache_and_the_faster_of_two_measurements_counts() {
        let slow = Peaks {
            f32_gflops: 500.0,
            matrix_gflops: None,
            bandwidth_gbs: 100.0,
            cache_gbs: Some(200.0),
            cache_bytes: 1e6,
        };
        let fast = Peaks { f32_gflops: 1_000.0, bandwidth_gbs: 90.0, cache_gbs: Some(400.0), ..slow };
        let peaks = slow.higher(fast);
        assert_eq!((peaks.f32_gflops, peaks.bandwidth_gbs, peaks.cache_gbs), (1_000.0, 100.0, Some(400.0)));
        let memory = |bytes: f64, cache| {
            peaks.place(Units::Vector, TimedWork { flops: 1e6, bytes, time_us: 10.0 }, None, cache).unwrap().memory
        };
        assert!((memory(1e6, Cache::Warm) - 0.25).abs() < 1e-9, "100 GB/s of 400");
        assert!((memory(1e6, Cache::Cold) - 1.0).abs() < 1e-9 && (memory(2e6, Cache::Warm) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_device_is_filled_by_what_a_unit_holds_and_by_as_many_groups_as_there_are() {
        let needs = Resources { groups_per_unit: 2, occupancy: 50, ..Resources::default() };
        assert_eq!([400, 200, 50, 1].map(|groups| device_fill(&needs, groups, 100.0)), [0.5, 0.5, 0.125, 0.0025]);
    }
}
