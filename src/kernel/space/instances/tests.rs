//! Spaces with a table of instances, against every combination tried.

use super::*;
use crate::drawn::test_generator;
use crate::error::Error;
use crate::{ConfigSpace, Count, Device, Kernel};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

const KERNEL: &str = "
    name = 'listed'
    meaning = 'l'
    instances = 'instances.tsv'
    [[field]]
    name = 'n'
    kind = 'size'
    min = 1
    max = 100
    meaning = 'n'
    [[field]]
    name = 'dtype'
    kind = 'choice'
    labels = ['f32', 'f16', 'bf16']
    meaning = 't'
    [[parameter]]
    name = 'family'
    values = [0, 1, 2]
    default = 0
    meaning = 'f'
    [[parameter]]
    name = 'tile'
    values = [8, 16, 32, 64]
    default = 8
    meaning = 't'
    [[parameter]]
    name = 'split'
    values = [1, 2, 4, 8]
    default = 1
    meaning = 'free'
    [[parameter]]
    name = 'width'
    values = [1, 2, 4]
    default = 1
    meaning = 'w'
    [[constraint]]
    expr = 'n % width == 0'
    reason = 'whole vectors are read'
    [[constraint]]
    expr = 'split * tile <= n or split == 1 and family == 0'
    reason = 'a part must have work'
    [work]
    flops = '1'
    bytes = '1'
";

fn kernel(table: &str) -> Result<Kernel> {
    let files = [("kernel.toml", KERNEL), ("instances.tsv", table)].map(|(name, text)| (name.into(), text.into()));
    Kernel::from_files(BTreeMap::from(files), "listed")
}

fn random(rng: &mut ChaCha8Rng) -> String {
    let mut table = String::from("width\tname\tdtype\tfamily\ttile\n");
    let mut seen = BTreeSet::new();
    for i in 0..rng.random_range(1..80) {
        let mut one = |values: &[i64]| values[rng.random_range(0..values.len())];
        let (family, tile, width) = (one(&[0, 1, 2]), one(&[8, 16, 32, 64]), one(&[1, 2, 4]));
        let labels = ["f32", "f16", "f32 bf16", "f16 bf16", "f32 f16 bf16"][one(&[0, 1, 2, 3, 4]) as usize];
        if seen.insert((family, tile, width)) {
            table += &format!("{width}\tinstance {i}, f\t{labels}\t{family}\t{tile}\n");
        }
    }
    table
}

#[test]
fn a_space_has_the_instances_that_serve_a_problem_with_every_value_of_what_is_free() {
    let mut rng = test_generator(5);
    let device = Device::find_described("A100").unwrap();
    let (mut legal_ones, mut none) = (0, 0);
    // 150 kernels, and as many more as it takes to have seen some without a legal config
    for _ in 0.. {
        if legal_ones + none >= 150 && none > 3 {
            break;
        }
        let kernel = kernel(&random(&mut rng)).unwrap();
        let problem = ["f32", "f16", "bf16"].map(|t| format!("n={},dtype={t}", rng.random_range(1..100)));
        let problem = kernel.problem(&problem[rng.random_range(0..3)]).unwrap();
        let space = ConfigSpace::new(&kernel, &problem, &device);
        let holds = |config: &Config| {
            let env = kernel.env_of(&problem, Some(&device), config);
            kernel.constraints.iter().all(|c| c.expr.eval(&env) == 1.0)
        };
        let all = |at: usize| 0..kernel.parameters[at].values.len() as Choice;
        let configs = all(0).flat_map(|a| all(1).flat_map(move |b| all(2).map(move |c| (a, b, c))));
        let configs = configs.flat_map(|(a, b, c)| all(3).map(move |d| Config(vec![a, b, c, d])));
        let (legal, illegal): (Vec<Config>, Vec<Config>) = configs.partition(holds);
        let mut walked = Vec::new();
        let mut visit = |c: &[Choice]| {
            walked.push(Config(c.to_vec()));
            true
        };
        space.for_each(&mut visit).unwrap();
        assert_eq!(walked, legal);
        assert!(legal.iter().all(|c| space.is_legal(c) && space.violation(c).is_none()));
        assert!(illegal.iter().all(|c| !space.is_legal(c) && space.violation(c).is_some()));
        assert_eq!(space.counter().total(), Count::Exactly(legal.len() as u64));
        let drawn = space.counter().sample_distinct(5, &mut rng).unwrap();
        assert!(drawn.iter().all(|c| space.is_legal(c)) && drawn.len() == legal.len().min(5));
        for config in legal.iter().take(20) {
            for at in 0..4 {
                let behind = |c: &&Config| c.0[..at] == config.0[..at];
                let expected: Choices = legal.iter().filter(behind).map(|c| c.0[at]).collect();
                assert_eq!(space.completions(&config.0[..at]).unwrap(), expected);
            }
        }
        if legal.is_empty() { none += 1 } else { legal_ones += 1 }
    }
    assert!(legal_ones > 50, "{legal_ones} {none}");
}

#[test]
fn an_instance_is_found_by_its_name_and_named_by_its_values() {
    let kernel = kernel("name\ttile\tfamily\twidth\na, 1\t8\t1\t2\nb\t16\t1\t2\n").unwrap();
    let table = kernel.instances.as_ref().unwrap();
    assert_eq!(
        table.choices_of("a, 1").unwrap().map(|stated| (stated.parameter, stated.choice)).collect::<Vec<_>>(),
        [(0, 1), (1, 0), (3, 1)]
    );
    assert!(table.choices_of("c").is_none());
    assert_eq!(table.name_of(&kernel.config("family=1,tile=16,split=8,width=2").unwrap()), Some("b"));
    assert_eq!(table.name_of(&kernel.config("family=0,tile=16,split=8,width=2").unwrap()), None);
}

#[test]
fn a_wrong_table_is_told_with_its_line() {
    for (table, fault) in [
        ("", "is empty"),
        ("name\n", "states no parameter"),
        ("tile\tn\n", "column `n` is neither"),
        ("tile\ttile\n", "column `tile` is there twice"),
        ("tile\n8\t3\n", "line 2: has 2 cells, and there are 1"),
        ("tile\n\n9\n", "line 3: `9` is not one of the values of tile"),
        ("tile\tdtype\n8\tf64\n", "line 2: field `dtype`: `f64` is not one of"),
        ("tile\tname\n8\ta\n16\ta\n", "`a` is there twice"),
        ("tile\tname\n8\ta\n8\tb\n", "instance 2 has the values of instance 1 (`a`)"),
    ] {
        let error = kernel(table).unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, Error::Kernel(_)) && told.contains("instances.tsv") && told.contains(fault), "{told}");
    }
    let files = BTreeMap::from([("kernel.toml".to_string(), KERNEL.to_string())]);
    let told = Kernel::from_files(files, "listed").unwrap_err().to_string();
    assert!(told.contains("`instances.tsv` are not in the kernel's folder"), "{told}");
}
