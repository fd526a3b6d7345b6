//! A decision tree that chooses among configs by a problem's quantities: each leaf takes the config that loses least over its problems.
//!
//! It grows as CART does (Breiman et al. 1984), the most gaining split first, on losses instead of classes; how many leaves it keeps is decided
//! by problems that it did not grow on.

/// Problems of a leaf at least.
const LEAST: usize = 4;
/// Configs that a leaf names: the next is taken where the one before is illegal.
pub(crate) const PER_LEAF: usize = 3;

/// A problem's quantities, and what each config loses on it; infinite where it is illegal.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) quantities: Vec<f64>,
    pub(crate) losses: Vec<f64>,
}

/// A split, or a leaf.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Goes to the first node where the quantity is at most the threshold, else to the second.
    Split { quantity: usize, threshold: f64, to: [usize; 2] },
    /// Configs in the order in which they are tried.
    Leaf(Vec<usize>),
}

/// A tree; the first node is its root.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree(pub(crate) Vec<Node>);

/// What an illegal config counts as: a third of the speed.
const ILLEGAL: f64 = 1.1;

fn countable_loss(loss: f64) -> f64 {
    if loss.is_finite() { loss } else { ILLEGAL }
}

/// A leaf that may be split.
struct Open {
    node: usize,
    members: Vec<usize>,
    split: Option<Split>,
}

struct Split {
    gain: f64,
    quantity: usize,
    threshold: f64,
}

/// A number between two of which the larger may just be equal: halfway, and whole numbers where they are.
pub(crate) fn cut_between(low: f64, high: f64) -> f64 {
    let middle = low + 0.5 * (high - low);
    if low.fract() == 0.0 && high.fract() == 0.0 { middle.floor() } else { middle }
}

impl Tree {
    /// The node that a problem ends at.
    pub(crate) fn leaf(&self, quantities: &[f64]) -> &[usize] {
        let mut at = 0;
        loop {
            match &self.0[at] {
                Node::Split { quantity, threshold, to } => {
                    at = if quantities[*quantity] <= *threshold { to[0] } else { to[1] };
                }
                Node::Leaf(configs) => return configs,
            }
        }
    }

    /// Leaves.
    pub(crate) fn leaves(&self) -> usize {
        self.0.iter().filter(|node| matches!(node, Node::Leaf(_))).count()
    }

    /// What the tree's choice loses on a sample; illegal where none of a leaf's configs is legal.
    pub(crate) fn loss(&self, sample: &Sample) -> f64 {
        let configs = self.leaf(&sample.quantities);
        configs.iter().map(|c| sample.losses[*c]).find(|loss| loss.is_finite()).unwrap_or(ILLEGAL)
    }

    /// Grows a tree on `samples` of at most `leaves` leaves, of which as many stay as lose least on `others`.
    pub(crate) fn grow(samples: &[Sample], others: &[Sample], leaves: usize) -> Tree {
        let all: Vec<usize> = (0..samples.len()).collect();
        let mut tree = Tree(vec![leaf(samples, &all)]);
        let mut open = vec![Open { node: 0, split: best_split(samples, &all), members: all }];
        let judge = |tree: &Tree| others.iter().map(|sample| tree.loss(sample)).sum::<f64>();
        let mut best = (judge(&tree), tree.clone());
        while open.len() < leaves {
            let gain = |o: &Open| o.split.as_ref().map_or(0.0, |split| split.gain);
            let Some(at) = (0..open.len()).max_by(|a, b| gain(&open[*a]).total_cmp(&gain(&open[*b]))) else { break };
            let Open { node, members, split } = open.swap_remove(at);
            let Some(Split { quantity, threshold, .. }) = split else { break };
            let (left, right): (Vec<usize>, Vec<usize>) =
                members.into_iter().partition(|m| samples[*m].quantities[quantity] <= threshold);
            let to = [tree.0.len(), tree.0.len() + 1];
            tree.0[node] = Node::Split { quantity, threshold, to };
            for (node, members) in to.into_iter().zip([left, right]) {
                tree.0.push(leaf(samples, &members));
                open.push(Open { node, split: best_split(samples, &members), members });
            }
            let loss = judge(&tree);
            if loss < best.0 {
                best = (loss, tree.clone());
            }
        }
        best.1
    }
}

/// The configs of a leaf: the one that loses least over all its problems, then of those on which it is illegal, and so on.
fn leaf(samples: &[Sample], members: &[usize]) -> Node {
    let (mut configs, mut left) = (Vec::new(), members.to_vec());
    while configs.len() < PER_LEAF && !left.is_empty() {
        let sums = sums(samples, &left);
        let Some(best) = least(&sums) else { break };
        left.retain(|m| !samples[*m].losses[best].is_finite());
        if configs.contains(&best) {
            break;
        }
        configs.push(best);
    }
    Node::Leaf(configs)
}

fn sums(samples: &[Sample], members: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; samples.first().map_or(0, |s| s.losses.len())];
    for member in members {
        sums.iter_mut().zip(&samples[*member].losses).for_each(|(sum, loss)| *sum += countable_loss(*loss));
    }
    sums
}

fn least(sums: &[f64]) -> Option<usize> {
    (0..sums.len()).min_by(|a, b| sums[*a].total_cmp(&sums[*b]))
}

/// The split whose parts lose least; `None` where none gains.
fn best_split(samples: &[Sample], members: &[usize]) -> Option<Split> {
    let total = sums(samples, members);
    let lowest = |sums: &[f64]| sums.iter().copied().fold(f64::INFINITY, f64::min);
    let whole = lowest(&total);
    let mut best: Option<Split> = None;
    for quantity in 0..samples.first()?.quantities.len() {
        let value = |m: &usize| samples[*m].quantities[quantity];
        let mut order = members.to_vec();
        order.retain(|m| value(m).is_finite());
        if order.len() < members.len() {
            continue;
        }
        order.sort_by(|a, b| value(a).total_cmp(&value(b)).then(a.cmp(b)));
        let (mut left, mut right) = (vec![0.0; total.len()], total.clone());
        for (count, pair) in order.windows(2).enumerate() {
            for ((left, right), loss) in left.iter_mut().zip(&mut right).zip(&samples[pair[0]].losses) {
                *left += countable_loss(*loss);
                *right -= countable_loss(*loss);
            }
            let (low, high) = (value(&pair[0]), value(&pair[1]));
            if low == high || count + 1 < LEAST || order.len() - count - 1 < LEAST {
                continue;
            }
            let gain = whole - lowest(&left) - lowest(&right);
            if gain > best.as_ref().map_or(1e-9, |b| b.gain) {
                best = Some(Split { gain, quantity, threshold: cut_between(low, high) });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Config 0 is good up to 100, config 1 beyond; config 2 is never best; config 1 is illegal for odd sizes.
    fn sample(size: u32) -> Sample {
        let is_small = size <= 100;
        let loss = |good: bool| if good { 0.0 } else { 0.5 };
        let second = if size % 2 == 1 { f64::INFINITY } else { loss(!is_small) };
        Sample { quantities: vec![7.0, size as f64], losses: vec![loss(is_small), second, 0.2] }
    }

    #[test]
    fn a_tree_finds_the_threshold_and_names_a_second_config_for_where_the_first_is_illegal() {
        let samples: Vec<Sample> = (1..200).map(sample).collect();
        let others: Vec<Sample> = (1..200).step_by(3).map(sample).collect();
        let tree = Tree::grow(&samples, &others, 8);
        assert_eq!(tree.0[0], Node::Split { quantity: 1, threshold: 100.0, to: [1, 2] });
        assert_eq!((tree.leaf(&[7.0, 50.0])[0], tree.loss(&sample(51))), (0, 0.0));
        assert_eq!(tree.loss(&sample(151)), 0.2, "legal, and the best of the others");
        assert!(tree.leaves() <= 8);
    }

    #[test]
    fn a_tree_of_noise_stays_small() {
        let noisy = |i: u32| Sample {
            quantities: vec![i as f64],
            losses: vec![(i * 7919 % 101) as f64 / 100.0, (i * 104_729 % 103) as f64 / 100.0],
        };
        let samples: Vec<Sample> = (1..200).map(noisy).collect();
        let others: Vec<Sample> = (1_000..1_200).map(noisy).collect();
        assert!(Tree::grow(&samples, &others, 64).leaves() < 20);
    }
}
