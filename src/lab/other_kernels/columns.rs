//! What configs of different kernels have in common, as numbers: the launch, and the features that kernels share by name.

use seqtune_kernel::expressions::Expr;
use seqtune_kernel::{Config, Device, Kernel, Launch, Problem};
use seqtune_predict::features::Instance;
use std::collections::BTreeMap;

/// Columns that configs of all kernels are described by.
pub struct Columns {
    /// Names of the features that several kernels have.
    shared: Vec<String>,
}

/// What is said of every launch, whatever a kernel's features are.
const LAUNCH: usize = 7;

impl Columns {
    /// Columns for these kernels: features of one kernel alone say nothing of another.
    pub fn new<'a>(kernels: impl Iterator<Item = &'a Kernel>) -> Columns {
        let mut kernels_of: BTreeMap<&str, usize> = BTreeMap::new();
        for feature in kernels.flat_map(|kernel| &kernel.features) {
            *kernels_of.entry(&feature.name).or_default() += 1;
        }
        Columns { shared: kernels_of.into_iter().filter(|(_, n)| *n > 1).map(|(name, _)| name.into()).collect() }
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        2 * (LAUNCH + self.shared.len())
    }

    /// A row for each of the configs: each quantity, and how far it is from its mean over these configs. What a kernel does not have, such as
    /// the launch of a program that is only started, is lower than any number.
    pub fn rows(
        &self,
        kernel: &Kernel,
        launch: Option<&Launch>,
        problem: &Problem,
        device: &Device,
        configs: &[&Config],
    ) -> Vec<Vec<f32>> {
        let instance = Instance::new(kernel, problem, device);
        let places: Vec<Option<usize>> =
            self.shared.iter().map(|name| kernel.features.iter().position(|f| f.name == *name)).collect();
        let units = device.limits.compute_units.unwrap_or(f64::NAN);
        let (flops, bytes) = (kernel.flops.eval(&instance.env), kernel.bytes.eval(&instance.env));
        let quantities = |config: &&Config| -> Vec<f64> {
            let env = kernel.env_of(problem, Some(device), config);
            let items = |sizes: fn(&Launch) -> &[Expr]| {
                launch.map_or(f64::NAN, |launch| sizes(launch).iter().map(|e| e.eval(&env)).product())
            };
            let (all, group) = (items(|launch| &launch.global), items(|launch| &launch.local));
            let groups = all / group;
            let mut row = vec![
                group.log2(),
                groups.log2(),
                (groups / units).log2(),
                (groups / units).ceil() * units / groups - 1.0,
                (flops / all).log2(),
                (bytes / all).log2(),
                (all / units).log2(),
            ];
            row.extend(places.iter().map(|place| place.map_or(f64::NAN, |at| instance.codes[at].eval(&env))));
            row
        };
        let rows: Vec<Vec<f64>> = configs.iter().map(quantities).collect();
        let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
        let means: Vec<f64> = (0..self.count() / 2).map(mean).collect();
        // lower than any number, as the trees of a kernel's own model know what is not known
        let known = |x: f64| if x.is_finite() { x as f32 } else { f32::MIN };
        let both = |row: &Vec<f64>| {
            row.iter().copied().chain(row.iter().zip(&means).map(|(x, mean)| x - mean)).map(known).collect()
        };
        rows.iter().map(both).collect()
    }
}
