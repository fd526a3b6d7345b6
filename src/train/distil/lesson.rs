//! A problem as the small decoder learns it: the prefixes of some configs as a tree, with what may follow each.

use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Choices, Config, Objective};
use seqtune_predict::features::{Featurizer, Instance};
use seqtune_predict::search::PrefixScores;
use std::collections::HashMap;

/// A config of a lesson: the nodes on its way, with the choice at each, and the node where it is finished.
pub struct Path {
    /// Nodes where there was a choice, and which was made.
    pub steps: Vec<(u32, Choice)>,
    /// Node of the whole config.
    pub finished: u32,
}

/// Prefixes of the configs of one problem, each once, with their targets.
pub struct Lesson {
    /// Raw, see [`Featurizer::quantities`].
    pub quantities: Vec<f32>,
    /// By node, the choices before it: the position that is asked for is their number.
    pub prefixes: Vec<Vec<Choice>>,
    /// By node, what may follow; nothing of a finished config.
    pub legal: Vec<Choices>,
    /// By node, raw values of the kernel's late features, NaN where the prefix does not decide them: (nodes, F).
    pub known: Vec<f32>,
    /// By node, raw values of what each legal choice decides, see [`Featurizer::weigh`].
    pub weighed: Vec<Vec<f32>>,
    /// By node, the share of the target that takes each legal choice there; nothing of finished nodes, and where the target is of configs.
    pub shares: Vec<Vec<f32>>,
    /// By config, the heaviest first.
    pub paths: Vec<Path>,
    /// By config, its share of the target; sums to 1.
    pub target: Vec<f32>,
    /// By config, what the heads should say of time and energy; NaN where it is not known.
    pub costs: Vec<[f32; 2]>,
    /// Whether the target is among all legal configs, not only among these.
    pub among_legal: bool,
}

/// A config with its target and its encoded costs.
pub struct Wanted {
    /// Legal config.
    pub config: Config,
    /// Share of the target.
    pub target: f64,
    /// Encoded time and energy.
    pub costs: [f32; 2],
}

/// A config with its share of a target.
#[derive(Clone, Copy, Debug)]
pub struct ConfigShare<'c> {
    /// The config.
    pub config: &'c Config,
    /// Its share, 0 to 1.
    pub share: f64,
}

impl Lesson {
    /// The lesson of the configs of one problem; their shares are scaled to sum to 1.
    ///
    /// # Errors
    /// `Error::Config` where a config is illegal.
    pub fn new(
        featurizer: &Featurizer,
        instance: &Instance,
        objective: Objective,
        mut wanted: Vec<Wanted>,
    ) -> Result<Lesson> {
        wanted.sort_by(|a, b| b.target.total_cmp(&a.target));
        let total: f64 = wanted.iter().map(|w| w.target).sum();
        let mut lesson = Lesson {
            quantities: featurizer.quantities(instance, objective),
            prefixes: Vec::new(),
            legal: Vec::new(),
            known: Vec::new(),
            weighed: Vec::new(),
            shares: Vec::new(),
            paths: Vec::new(),
            target: wanted.iter().map(|w| (w.target / total) as f32).collect(),
            costs: wanted.iter().map(|w| w.costs).collect(),
            among_legal: true,
        };
        let mut nodes = HashMap::new();
        for Wanted { config, .. } in &wanted {
            let path = lesson.path(featurizer, instance, config, &mut nodes)?;
            lesson.paths.push(path);
        }
        Ok(lesson)
    }

    /// The lesson of what a network says behind each of its prefixes, with a config whose costs are known. What was tuned has the share `tuned` of
    /// the target at the prefixes on its way.
    ///
    /// # Errors
    /// `Error::Config` where a config is illegal.
    pub fn of_prefixes(
        featurizer: &Featurizer,
        instance: &Instance,
        asked: &[PrefixScores],
        finished: Wanted,
        tuned: Option<ConfigShare>,
    ) -> Result<Lesson> {
        let mut lesson = Lesson::new(featurizer, instance, Objective::Time, vec![finished])?;
        let mut nodes: HashMap<Vec<Choice>, u32> =
            lesson.prefixes.iter().enumerate().map(|(node, prefix)| (prefix.clone(), node as u32)).collect();
        let rest = 1.0 - tuned.map_or(0.0, |tuned| tuned.share);
        for PrefixScores { prefix, log_probability, choices, log } in asked {
            let node = match nodes.get(prefix) {
                Some(node) => *node,
                None => lesson.add(featurizer, instance, prefix, choices.iter().copied().collect(), &mut nodes),
            };
            lesson.shares[node as usize] =
                log.iter().map(|log| (rest * (log_probability + log).exp()) as f32).collect();
        }
        if let Some(ConfigShare { config, share }) = tuned {
            for (node, choice) in lesson.path(featurizer, instance, config, &mut nodes)?.steps {
                let legal = lesson.legal[node as usize];
                let shares = &mut lesson.shares[node as usize];
                shares.resize(legal.len(), 0.0);
                let at = legal.iter().position(|c| c == choice).unwrap_or(0);
                shares[at] += share as f32;
            }
        }
        Ok(lesson)
    }

    fn path(
        &mut self,
        featurizer: &Featurizer,
        instance: &Instance,
        config: &Config,
        nodes: &mut HashMap<Vec<Choice>, u32>,
    ) -> Result<Path> {
        let mut steps = Vec::new();
        for (at, choice) in config.0.iter().enumerate() {
            let prefix = &config.0[..at];
            let known = nodes.get(prefix).copied();
            let open = match known {
                Some(node) => self.legal[node as usize],
                None => instance.space.completions(prefix)?,
            };
            instance.allow(config, at, &open)?;
            // what is forced is no step
            if open.only().is_none() {
                let node = known.unwrap_or_else(|| self.add(featurizer, instance, prefix, open, nodes));
                steps.push((node, *choice));
            }
        }
        let finished = match nodes.get(&config.0) {
            Some(node) => *node,
            None => self.add(featurizer, instance, &config.0, Choices::default(), nodes),
        };
        Ok(Path { steps, finished })
    }

    fn add(
        &mut self,
        featurizer: &Featurizer,
        instance: &Instance,
        prefix: &[Choice],
        open: Choices,
        nodes: &mut HashMap<Vec<Choice>, u32>,
    ) -> u32 {
        let node = self.prefixes.len() as u32;
        nodes.insert(prefix.to_vec(), node);
        self.prefixes.push(prefix.to_vec());
        self.legal.push(open);
        featurizer.push_known(instance, prefix, &mut self.known);
        let mut weighed = Vec::new();
        if prefix.len() < featurizer.kernel.parameters.len() {
            featurizer.weigh(instance, prefix, open.iter(), &mut weighed);
        }
        self.weighed.push(weighed);
        self.shares.push(Vec::new());
        node
    }
}
