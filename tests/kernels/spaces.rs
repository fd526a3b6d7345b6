//! Spaces: exact look-ahead, counts and samples.

use crate::common::test_generator;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::{Checker, Choice, Config, ConfigSpace, Count, Device, Kernel, Problem};
use std::collections::{BTreeMap, HashSet};

/// Seconds after which a space counts as walked without look-ahead.
const PATIENCE: f64 = 120.0;

fn device(name: &str) -> Device {
    Device::find_described(name).unwrap()
}

/// A kernel with a random small space: 2-5 parameters of 1-4 values under up to 4 random constraints.
fn random_kernel(rng: &mut ChaCha8Rng) -> Kernel {
    let count = rng.random_range(2..=5);
    let mut toml = String::from(
        "name = 'random'\nmeaning = 'a random space'\n[[field]]\nname = 'M'\nkind = 'size'\nmin = 1\nmax = 99\nmeaning = 'size'\n",
    );
    for i in 0..count {
        let mut values: Vec<i64> = (0..rng.random_range(1..=4)).map(|k| k * rng.random_range(1..4) + k).collect();
        values.sort();
        values.dedup();
        toml += &format!("[[parameter]]\nname = 'p{i}'\nvalues = {values:?}\ndefault = {}\nmeaning = 'p'\n", values[0]);
    }
    for _ in 0..rng.random_range(0..=4) {
        let (a, b) = (rng.random_range(0..count), rng.random_range(0..count));
        let expr = match rng.random_range(0..5) {
            0 => format!("p{a} * 2 >= p{b}"),
            1 => format!("(p{a} + p{b}) % 2 == 0"),
            2 => format!("p{a} + p{b} <= M"),
            3 => format!("p{a} != p{b} or p{a} == 0"),
            _ => format!("p{a} * p{b} < max_group_items / 100"),
        };
        toml += &format!("[[constraint]]\nexpr = '{expr}'\nreason = 'because'\n");
    }
    toml += "[program]\nfile = 'k.cl'\nentry = 'k'\nglobal = ['1']\nlocal = ['1']\n[reference]\nfile = 'k.cl'\nentry = 'k'\nglobal = ['1']\nlocal = []\n";
    toml += "[[argument]]\nname = 'M'\nkind = 'int'\nvalue = 'M'\n[[argument]]\nname = 'y'\nkind = 'out'\nlength = 'M'\nelement = '4'\n[work]\nflops = '1'\nbytes = '1'\ntolerance = '0'\n";
    let files = BTreeMap::from([("kernel.toml".to_string(), toml), ("k.cl".to_string(), String::new())]);
    Kernel::from_files(files, "random/kernel.toml").unwrap()
}

/// Every combination of values, legal or not.
fn all_combinations(kernel: &Kernel) -> Vec<Config> {
    let mut all = vec![Vec::new()];
    for p in &kernel.parameters {
        all = all
            .into_iter()
            .flat_map(|prefix: Vec<Choice>| {
                (0..p.values.len() as Choice).map(move |c| [prefix.clone(), vec![c]].concat())
            })
            .collect();
    }
    all.into_iter().map(Config).collect()
}

#[test]
fn completions_counts_and_samples_agree_with_brute_force_on_random_spaces() {
    let mut rng = test_generator(1);
    let device = device("A100");
    for _ in 0..300 {
        let kernel = random_kernel(&mut rng);
        let problem = kernel.problem(&format!("M={}", rng.random_range(1..20))).unwrap();
        let space = ConfigSpace::new(&kernel, &problem, &device);
        let all = all_combinations(&kernel);
        let legal: Vec<Config> = all.iter().filter(|c| space.violation(c).is_none()).cloned().collect();
        let mut listed = Vec::new();
        space
            .for_each(&mut |c| {
                listed.push(Config(c.to_vec()));
                true
            })
            .unwrap();
        assert_eq!(listed, legal);
        let mut counter = space.counter();
        assert_eq!(counter.total(), Count::Exactly(legal.len() as u64));
        for config in all {
            for at in 0..config.0.len() {
                let prefix = &config.0[..at];
                let expected: HashSet<Choice> =
                    legal.iter().filter(|c| c.0.starts_with(prefix)).map(|c| c.0[at]).collect();
                if at > 0 && !legal.iter().any(|c| c.0.starts_with(prefix)) {
                    break;
                }
                let mask = space.completions(prefix).unwrap();
                let found: HashSet<Choice> = mask.iter().collect();
                assert_eq!(found, expected, "{prefix:?}");
            }
        }
        let drawn = counter.sample_distinct(5, &mut rng).unwrap();
        assert_eq!(drawn.len(), legal.len().min(5));
        assert!(drawn.iter().all(|c| space.is_legal(c)));
    }
}

#[test]
fn samples_are_uniform_over_the_legal_configs() {
    let kernel = Kernel::open("conv2d").unwrap();
    let problem = kernel.problem("N=1,C=1,H=8,W=8,K=1,R=1,S=1").unwrap();
    let mut limits = device("A100");
    limits.limits.max_group_items = Some(2.0);
    limits.limits.is_cpu = Some(1.0);
    let space = ConfigSpace::new(&kernel, &problem, &limits);
    let mut counter = space.counter();
    let Count::Exactly(total) = counter.total() else { panic!("a small space is counted") };
    assert!((10..2_000).contains(&total), "{total}");
    let mut rng = test_generator(2);
    let mut seen = BTreeMap::<Config, u64>::new();
    let each = 50;
    for _ in 0..total * each {
        *seen.entry(counter.sample(&mut rng).unwrap().unwrap()).or_default() += 1;
    }
    assert_eq!(seen.len() as u64, total, "every legal config is drawn");
    let chi2: f64 = seen.values().map(|n| (*n as f64 - each as f64).powi(2) / each as f64).sum();
    assert!(chi2 < total as f64 + 5.0 * (2.0 * total as f64).sqrt(), "chi2 {chi2} of {total}");
}

#[test]
fn legal_configs_of_the_shipped_kernels_number_what_they_did() {
    let mut counts = Vec::new();
    for (kernel, problem) in [
        ("gemm", "M=512,N=512,K=512"),
        ("gemm", "M=1,N=1,K=1,transA=T,transB=T,dtype=f16"),
        ("conv2d", "N=1,C=64,H=56,W=56,K=64,R=3,S=3,pad_h=1,pad_w=1"),
        ("conv2d", "N=4,C=32,H=17,W=19,K=32,R=3,S=3,groups=32"),
        ("gemm_tc", "M=4096,N=4096,K=4096"),
        ("gemm_tc", "M=77,N=55,K=33"),
    ] {
        let kernel = Kernel::open(kernel).unwrap();
        let problem = kernel.problem(problem).unwrap();
        for name in ["H200", "MI250X", "RX 7900 XTX"] {
            let space = ConfigSpace::new(&kernel, &problem, &device(name));
            counts.push(format!("{} {name}: {}", kernel.name, space.counter().total()));
        }
    }
    insta::assert_snapshot!(counts.join("\n"));
}

/// A problem that each shipped kernel serves, for the kernels of MIOpen one that is as awkward as they come.
fn problem_of(kernel: &Kernel) -> Vec<Problem> {
    let text = match kernel.name.as_str() {
        "gemm" => "M=37,N=512,K=64,transA=T".to_string(),
        "gemm_tc" | "gemm_wg" => "M=96,N=512,K=64,transA=T".to_string(),
        "attention" => "batch=2,heads=3,queries=45,keys=70,causal=yes".to_string(),
        "batched_gemm" => "batch=36,M=64,N=100,K=32,transB=T".to_string(),
        "depthwise" => "N=1,C=3,H=57,W=31,R=3,S=3,stride=2,pad_h=1,pad_w=1".to_string(),
        "gemv" => "M=1001,N=80,trans=T".to_string(),
        "histogram" => "n=8190,batch=83,bins=17".to_string(),
        "nbody" => "targets=109,sources=77,layout=soa".to_string(),
        "norm" | "softmax" => "rows=50,columns=65,dtype=f16".to_string(),
        "reduction" => "rows=819,columns=320,axis=rows".to_string(),
        "scan" => "rows=13,columns=560".to_string(),
        "spmv" => "rows=1019,columns=1981,nonzeros=16237,spread=51,band=255,run=4".to_string(),
        "stencil2d" => "H=31,W=200,points=box,dtype=f16".to_string(),
        "stencil3d" => "D=16,H=28,W=20,radius=2".to_string(),
        "transpose" => "batch=2,rows=44,columns=65".to_string(),
        "conv2d" => "N=2,C=6,H=31,W=17,K=6,R=5,S=3,groups=2".to_string(),
        "hpl" => "N=1000".to_string(),
        "clocks" => "f32=40,integer=20,load_global=8,us_top=100,watts_top=200,us_low=150,watts_low=90".to_string(),
        "gemm_routine" | "xgemm" | "xgemm_direct" => "M=300,N=200,K=100".to_string(),
        "hub_convolution" => "width=4096,height=4096".to_string(),
        "block_scaled_mm" | "gemm_a8w8_blockscale" | "gemm_a8w8" => "N=1536,K=7168,M=96".to_string(),
        "selective_state_update" => "headdim=64,dstate=128,M=96,cache_dtype=float16".to_string(),
        "fused_moe" => "E=48,N=1344,M=96,dtype=fp8_w8a8,block_n=128,block_k=128".to_string(),
        "triton_flex_attention" => {
            "b=2,h=8,m=1000,n=128,kv_seq_length=999,dtype=float32,q_stride_0=1,q_stride_1=1,q_stride_2=1,q_stride_3=1,\
             subgraph_num_nodes=8,subgraph_num_args_used=3"
                .to_string()
        }
        triton if triton.starts_with("triton_") => {
            "m=70,k=300,n=33,mat1_stride_0=300,mat1_stride_1=1,mat2_stride_0=1,mat2_stride_1=300".to_string()
        }
        _ => {
            let checker = Checker::new(kernel);
            let mut found = Vec::new();
            let argument = kernel.database.argument.as_ref().map_or(String::new(), |a| format!(",{a}=4"));
            // the other layout where the first is not served
            for (direction, layout) in ["", ",layout=NHWC"].into_iter().flat_map(|l| ["F", "B", "W"].map(|d| (d, l))) {
                if !layout.is_empty() && !found.is_empty() {
                    break;
                }
                for shape in [
                    "N=32,C=64,H=28,W=28,K=128,R=1,S=1",
                    "N=16,C=64,H=17,W=19,K=192,R=3,S=3,pad_h=1,pad_w=1",
                    "N=128,C=256,H=56,W=56,K=64,R=1,S=1,stride_h=2,stride_w=2",
                    "N=64,C=96,H=27,W=27,K=256,R=5,S=5,pad_h=2,pad_w=2",
                ] {
                    for dtype in ["FP32", "FP16"] {
                        let depth = if kernel.fields.iter().any(|f| f.name == "D") { ",D=8,T=1" } else { "" };
                        let text = format!("direction={direction},dtype={dtype},{shape}{argument}{depth}{layout}");
                        let Ok(problem) = kernel.problem(&text) else { continue };
                        assert!(checker.broken_rule(&kernel.env(&problem, None)).is_none());
                        found.push(problem);
                    }
                }
            }
            assert!(!found.is_empty(), "{} serves none of the problems", kernel.name);
            return found;
        }
    };
    vec![kernel.problem(&text).unwrap()]
}

#[test]
fn the_look_ahead_of_every_shipped_kernel_stays_far_within_its_budget() {
    let mut rng = test_generator(3);
    for name in Kernel::all_shipped() {
        let kernel = Kernel::open(&name).unwrap();
        let own = kernel.source.is_some();
        let devices = Device::all_shipped().unwrap();
        for problem in problem_of(&kernel) {
            for device in devices.iter().filter(|d| own || ["MI50", "MI100"].contains(&d.name.as_str())) {
                let space = ConfigSpace::new(&kernel, &problem, device);
                // cp.async came with compute capability 8.0
                let serves = !space.completions(&[]).unwrap().is_empty();
                if !serves
                    && (!own
                        || (name == "gemm_tc" && device.limits.local_memory_opt_in.unwrap_or(0.0) < 101_376.0)
                        || (name == "gemm_wg" && device.limits.local_memory_opt_in.unwrap_or(0.0) < 232_448.0))
                {
                    continue;
                }
                for _ in 0..if own { 50 } else { 5 } {
                    let mut prefix = Vec::new();
                    while prefix.len() < kernel.parameters.len() {
                        let nodes = space.look_ahead_nodes(&prefix);
                        assert!(nodes < 10_000, "{name} on {}: {nodes} nodes after {prefix:?}", device.name);
                        let open: Vec<Choice> = space.completions(&prefix).unwrap().iter().collect();
                        assert!(!open.is_empty(), "{name} on {}: dead end at {prefix:?}", device.name);
                        prefix.push(open[rng.random_range(0..open.len())]);
                    }
                    assert!(space.is_legal(&Config(prefix)));
                }
            }
        }
    }
}

#[test]
fn a_violation_names_the_reason_the_constraint_and_the_values() {
    let kernel = Kernel::open("gemm").unwrap();
    let problem = kernel.problem("M=64,N=64,K=64").unwrap();
    let mut config = kernel.default_config();
    let space = ConfigSpace::new(&kernel, &problem, &device("H200"));
    assert_eq!(space.violation(&config), None, "the default is legal");
    config.0[1] = 0;
    let text = space.violation(&config).unwrap();
    assert_eq!(
        text,
        "work-items and their vectors must divide the tile along N (NWG % (NDIM * VWN) == 0; NWG=8, NDIM=8, VWN=4)"
    );
}

#[test]
fn wrong_problems_and_configs_are_answered_with_the_field_and_what_is_allowed() {
    let gemm = Kernel::open("gemm").unwrap();
    let conv = Kernel::open("conv2d").unwrap();
    let texts = [
        gemm.problem("M=64,N=64").unwrap_err(),
        gemm.problem("M=64,N=64,K=64,Q=1").unwrap_err(),
        gemm.problem("M=0,N=64,K=64").unwrap_err(),
        gemm.problem("M=64,N=64,K=70000").unwrap_err(),
        gemm.problem("M=64,N=64,K=6.5").unwrap_err(),
        gemm.problem("M=64,N=64,K=64,dtype=f8").unwrap_err(),
        gemm.problem("M=64,N=64,K=64,M=2").unwrap_err(),
        gemm.problem("M64").unwrap_err(),
        gemm.problem("{\"M\": 64").unwrap_err(),
        conv.problem("N=1,C=3,H=8,W=8,K=4,R=3,S=3,groups=2").unwrap_err(),
        conv.problem("N=1,C=3,H=2,W=2,K=4,R=3,S=3").unwrap_err(),
        gemm.config("MWG=63").unwrap_err(),
        gemm.config("MWG=64").unwrap_err(),
        Kernel::open("gem").unwrap_err(),
    ];
    insta::assert_snapshot!(texts.map(|e| e.to_string()).join("\n"));
}

#[test]
fn a_problem_reads_the_same_from_pairs_and_json_and_its_own_text() {
    let gemm = Kernel::open("gemm").unwrap();
    let a = gemm.problem("M=64, N=32,K=16,dtype=f16,alpha=0.5").unwrap();
    let b = gemm.problem(r#"{"M": 64, "N": 32, "K": 16, "dtype": "f16", "alpha": 0.5}"#).unwrap();
    assert_eq!(a, b);
    assert_eq!(gemm.problem(&gemm.show_problem(&a)).unwrap(), a);
    assert_eq!(gemm.shape(&a), "M=64,N=32,K=16");
}

/// A kernel of so many parameters, each with the given values, and one constraint.
fn wide(count: usize, values: &[i64], constraint: &str) -> Kernel {
    let mut toml = String::from("name = 'wide'\nmeaning = 'many parameters'\n[work]\nflops = '1'\nbytes = '1'\n");
    toml += "[[field]]\nname = 'n'\nkind = 'size'\nmin = 1\nmax = 9\nmeaning = 'size'\n";
    for i in 0..count {
        toml += &format!("[[parameter]]\nname = 'p{i}'\nvalues = {values:?}\ndefault = {}\nmeaning = 'p'\n", values[0]);
    }
    let all = |of: &str| (0..count).map(|i| of.replace('#', &i.to_string())).collect::<Vec<_>>().join(" + ");
    let constraint = constraint
        .replace("SUM", &all("p#"))
        .replace("MIX", &all("p# * (7 + 3 * #)"))
        .replace("EVEN", &all("2 * p# * p0"));
    if !constraint.is_empty() {
        toml += &format!("[[constraint]]\nexpr = '{constraint}'\nreason = 'of all of them'\n");
    }
    Kernel::from_files(BTreeMap::from([("kernel.toml".into(), toml)]), "wide/kernel.toml").unwrap()
}

#[test]
fn spaces_as_large_as_people_write_them_are_counted_or_bounded_sampled_and_walked_in_seconds() {
    let device = Device::find_described("A100").unwrap();
    let many: Vec<i64> = (1..=64).collect();
    let few: Vec<i64> = (1..=16).collect();
    let powers: Vec<i64> = (0..12).map(|i| 1 << i).collect();
    let most = 64f64.powi(60);
    // parameters, values, constraint, the count where it is known, the largest that may be said where it is not
    type Case<'a> = (usize, &'a [i64], &'a str, Option<f64>, f64);
    let cases: [Case; 9] = [
        (60, &many, "", Some(most), most),
        (60, &many, "p0 % p1 == 0 and p58 <= p59", None, most),
        (60, &many, "SUM <= 1000", None, most),
        (60, &many, "SUM == 1000", None, most),
        (60, &many, "(SUM) % 64 == p59", None, most),
        (60, &many, "(MIX) % 61 == 7", None, most),
        (12, &few, "SUM == 999", Some(0.0), 0.0),
        (12, &few, "SUM == 192", None, 1.0),
        (20, &powers, "p0 * p1 * p2 * p3 * p4 * p5 * p6 * p7 * p8 * p9 == 4096", None, 12f64.powi(20)),
    ];
    for (count, values, constraint, known, bound) in cases {
        let kernel = wide(count, values, constraint);
        let problem = kernel.problem("n=1").unwrap();
        let began = std::time::Instant::now();
        let space = ConfigSpace::new(&kernel, &problem, &device);
        let mut counter = space.counter();
        let total = counter.total();
        match (known, total) {
            (Some(known), total) => assert_eq!(total.known_number(), Some(known), "{constraint}"),
            (None, Count::AtMost(most)) => assert!(most <= bound, "{constraint}: {total}"),
            (None, total) => {
                assert!(total.known_number().is_some_and(|n| n > 0.0 && n <= bound), "{constraint}: {total}")
            }
        }
        let mut rng = test_generator(3);
        let drawn = counter.sample_distinct(5, &mut rng).unwrap();
        assert_eq!(drawn.is_empty(), known == Some(0.0), "{constraint}");
        assert!(drawn.iter().all(|config| space.is_legal(config)), "{constraint}");
        let mut prefix = Vec::new();
        while prefix.len() < count {
            let open: Vec<Choice> = space.completions(&prefix).unwrap().iter().collect();
            let Some(choice) = open.get(rng.random_range(0..open.len().max(1))) else { break };
            prefix.push(*choice);
        }
        assert_eq!(prefix.len() == count, known != Some(0.0), "{constraint}");
        assert!(prefix.len() < count || space.is_legal(&Config(prefix)));
        // a walk over all configs would never end; a loaded machine may be several times slower than a quiet one
        let seconds = began.elapsed().as_secs_f64();
        assert!(seconds < PATIENCE, "{constraint}: {seconds:.1} s");
        println!("{count} parameters, `{constraint}`: {total} in {seconds:.2} s");
    }
}

#[test]
fn a_space_that_look_ahead_cannot_decide_is_named_with_its_constraint() {
    let device = Device::find_described("A100").unwrap();
    let kernel = wide(20, &(1..=16).collect::<Vec<_>>(), "(EVEN) % 2 == 1");
    let space = ConfigSpace::new(&kernel, &kernel.problem("n=1").unwrap(), &device);
    let began = std::time::Instant::now();
    let sentence = space.completions(&[]).unwrap_err().to_string();
    assert!(
        sentence.starts_with("kernel wide: after 0 parameters") && sentence.contains("of all of them"),
        "{sentence}"
    );
    assert!(matches!(space.counter().total(), Count::AtMost(_)));
    let mut rng = test_generator(3);
    assert!(space.counter().sample(&mut rng).is_err());
    assert!(space.for_each(&mut |_| true).is_err());
    assert!(began.elapsed().as_secs_f64() < PATIENCE, "{:?}", began.elapsed());
}
