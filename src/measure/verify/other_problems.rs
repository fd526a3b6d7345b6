//! Problems beside one that was measured: mistakes at the edges of tiles show at odd sizes only, and a number that never varies may be left out.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Kernel, Problem};

/// Sizes up to this one are structure, such as filters and strides, and stay as they are.
const SMALL: f64 = 7.0;

/// Largest odd size: a few tiles, and a reference takes little time.
pub const LARGE: f64 = 160.0;

/// What a number is multiplied by; a zero becomes the first of them.
const FACTORS: [f64; 3] = [0.5, 1.5, 2.0];

/// Draws before there are held to be no further problems.
const DRAWS: usize = 200;

/// Up to `count` problems in which some of the sizes are replaced by smaller odd ones up to `largest`, and some numbers by others. The same arguments
/// give the same problems.
pub fn other_problems(kernel: &Kernel, problem: &Problem, count: usize, largest: f64) -> Vec<Problem> {
    let mut rng = ChaCha8Rng::seed_from_u64(0x0dd);
    let mut found: Vec<Problem> = Vec::new();
    for _ in 0..DRAWS {
        let mut odd = problem.clone();
        for (field, value) in kernel.fields.iter().zip(&mut odd.values) {
            if field.kind == FieldKind::Size && *value > SMALL && rng.random_bool(0.75) {
                let most = value.min(largest) as u64;
                let least = field.min.max(1);
                // rules of the problem may leave few sizes, such as multiples of a number of groups
                let drawn = if least <= most { rng.random_range(least..=most) } else { most };
                *value = if drawn % 2 == 0 && drawn > least { drawn - 1 } else { drawn } as f64;
            }
        }
        for (field, value) in kernel.fields.iter().zip(&mut odd.values) {
            if field.kind == FieldKind::Real && rng.random_bool(0.75) {
                let factor = FACTORS[rng.random_range(0..FACTORS.len())];
                *value = if *value == 0.0 { FACTORS[0] } else { *value * factor };
            }
        }
        let is_new = odd != *problem && !found.contains(&odd);
        if is_new && kernel.problem(&kernel.show_problem(&odd)).is_ok() {
            found.push(odd);
        }
        if found.len() == count {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of values of fields of a kind, of problems drawn beside one.
    fn drawn(name: &str, text: &str, kind: FieldKind) -> Vec<Vec<[f64; 2]>> {
        let kernel = Kernel::open(name).unwrap();
        let problem = kernel.problem(text).unwrap();
        let others = other_problems(&kernel, &problem, 3, LARGE);
        let pairs = |other: &Problem| {
            let all = std::iter::zip(&other.values, &problem.values).zip(&kernel.fields);
            all.filter(|(_, field)| field.kind == kind).map(|((new, old), _)| [*new, *old]).collect()
        };
        others.iter().map(pairs).collect()
    }

    #[test]
    fn other_problems_are_legal_odd_and_smaller() {
        for (name, text) in [
            ("gemm", "M=512,N=256,K=1024,dtype=f16"),
            ("conv2d", "N=4,C=64,H=56,W=56,K=64,R=3,S=3,pad_h=1,pad_w=1,groups=2"),
        ] {
            let others = drawn(name, text, FieldKind::Size);
            assert_eq!(others.len(), 3, "{name}");
            for other in &others {
                let changed = other.iter().filter(|[new, old]| new != old);
                assert!(changed.clone().count() > 0 && changed.clone().all(|[new, old]| new < old), "{other:?}");
                assert!(changed.clone().any(|[new, _]| new % 2.0 == 1.0), "{other:?}");
            }
        }
    }

    #[test]
    fn numbers_vary_and_keep_their_sign() {
        let others = drawn("gemm", "M=64,N=64,K=64,alpha=1,beta=0", FieldKind::Real);
        let all: Vec<[f64; 2]> = others.into_iter().flatten().collect();
        assert!(all.iter().filter(|[new, old]| new != old).count() >= 3, "{all:?}");
        assert!(all.iter().all(|[new, _]| *new >= 0.0 && new.is_finite()), "{all:?}");
    }
}
