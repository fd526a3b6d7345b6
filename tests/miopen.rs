//! MIOpen's databases: read, checked, counted and written, on hand-written rows and, where they are there, on real ones.

mod common;

use common::{run, seqtune, write};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::formats::miopen::{self, Convolution, Import, Row, convolutions_of_command, convolutions_of_lines};
use seqtune_data::{Dataset, Outcome};
use seqtune_eval::speed::random_problem;
use seqtune_predict::kernel::{Config, ConfigSpace, Count, Definition, Device, Kernel};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Convolutions and configs that we wrote ourselves; the last ones each break something.
const ROWS: &str = "\
64-56-56-1x1-64-56-56-32-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:1,16,1,64,2,1,1,2;ConvMlirIgemmFwd:128,64,64,8,4,4
128-28-28-1x1-512-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:2,16,4,16,1,1,2,4
128-28-28-1x1-512-28-28-32-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:2,16,4,16,1,1,2,4
128-28-28-1x1-512-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-B=ConvAsm1x1U:2,16,4,16,1,1,2,4;ConvMlirIgemmBwd:256,128,64,8,4,2
64-56-56-5x5-64-56-56-16-2x2-1x1-1x1-0-NCHW-FP32-W=ConvOclBwdWrW2<4>:8,6,1,1,5;ConvMlirIgemmWrW:64,32,32,4,2,2
64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F=ConvBinWinogradRxSf2x3:17
64-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-F=ConvBinWinogradRxSf2x3:61
64-56-56-1x1-64-56-56-8-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:1,16,1,64,2,1,1
64-56-56-1x1-64-56-56-4-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:9,16,1,64,2,1,1,2
64-8-56-56-3x3x3-64-8-56-56-4-0x0x0-1x1x1-1x1x1-0-NCDHW-FP32-F=ConvMlirIgemmFwd:128,64,64,8,4,4
64-56-56-1x1-64-56-56-4-0x0-1x1-1x1-0-NCHW-FP32-W=ConvAsm1x1U:1,16,1,64,2,1,1,2;NoSuchSolver:1
";

const TIMES: &str = "\
64-56-56-1x1-64-56-56-32-0x0-1x1-1x1-0-NCHW-FP32-F=algo:ConvMlirIgemmFwd,0.25,0,algo,<unused>;other:ConvAsm1x1U,0.125,0,other,<unused>
128-28-28-1x1-512-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:0.5,0,algo
";

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The same rows as an SQLite database, which does not tell the output's size.
fn sqlite(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sizes = "batchsize in_channels in_h in_w out_channels fil_h fil_w pad_h pad_w conv_stride_h conv_stride_w \
                 dilation_h dilation_w group_count in_d fil_d pad_d conv_stride_d dilation_d";
    let columns: Vec<String> = sizes.split_whitespace().map(|c| format!("{c} INT")).collect();
    let schema = format!(
        "CREATE TABLE config (id INTEGER PRIMARY KEY, layout TEXT, data_type TEXT, direction TEXT, spatial_dim INT, bias INT, {});
         CREATE TABLE perf_db (id INTEGER PRIMARY KEY, solver TEXT, config INTEGER, params TEXT);",
        columns.join(", ")
    );
    connection.execute_batch(&schema).unwrap();
    for (i, line) in ROWS.lines().enumerate() {
        let (key, entries) = line.split_once('=').unwrap();
        let c = Convolution::parse(key).unwrap();
        let values: Vec<String> = c.sizes.iter().map(u32::to_string).collect();
        let insert = format!(
            "INSERT INTO config VALUES ({i}, '{}', '{}', '{}', {}, 0, {})",
            c.layout,
            c.dtype,
            c.direction,
            c.dimensions,
            values.join(", ")
        );
        connection.execute(&insert, []).unwrap();
        for entry in entries.split(';') {
            let (solver, params) = entry.split_once(':').unwrap();
            let insert = format!("INSERT INTO perf_db (solver, config, params) VALUES ('{solver}', {i}, '{params}')");
            connection.execute(&insert, []).unwrap();
        }
    }
}

/// Problem, config and time of all records of a folder of datasets.
fn records(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        for r in Dataset::load(&entry.unwrap().path()).unwrap().records {
            let Outcome::Tuned(tuned) = r.outcome else { panic!("not a tuned record") };
            all.push(format!("{} {} {:?}", r.problem, r.config, tuned.time_us));
        }
    }
    all.sort();
    all
}

#[test]
fn text_sqlite_and_their_compressed_forms_give_the_same_records_and_the_same_counts_of_broken_rules() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "gfx906_60.db.txt", ROWS.as_bytes());
    let packed = write(folder.path(), "gfx906_60.db.txt.bz2", &bzip2(ROWS.as_bytes()));
    let times = write(folder.path(), "gfx906_60.HIP.fdb.txt", TIMES.as_bytes());
    let base = folder.path().join("gfx906_60.db");
    sqlite(&base);
    let base_packed = write(folder.path(), "gfx906_60.db.bz2", &bzip2(&std::fs::read(&base).unwrap()));
    let mut seen = Vec::new();
    for (i, database) in [text, packed, base.display().to_string(), base_packed].iter().enumerate() {
        let output = folder.path().join(format!("out{i}"));
        let (out, err, code) =
            run(&["import", "miopen", database, "--find-db", &times, "-o", &output.display().to_string(), "--json"]);
        assert_eq!(code, 0, "{err}");
        let mut counts: serde_json::Value = serde_json::from_str(&out).unwrap();
        for left in counts["left_out"].as_array_mut().unwrap() {
            left["example"].take();
        }
        seen.push((records(&output), counts));
    }
    assert!(seen.iter().all(|s| *s == seen[0]), "{seen:#?}");
    let (records, counts) = &seen[0];
    assert_eq!(counts["timed"], 3, "two solvers of one convolution, and one of the older form");
    // times are of the device that they were measured on
    let elsewhere = write(folder.path(), "gfx900_56.HIP.fdb.txt", TIMES.as_bytes());
    let (database, output) = (base.display().to_string(), folder.path().join("other").display().to_string());
    let import = ["import", "miopen", &database, "--find-db", &elsewhere, "-o", &output, "--json"];
    let (out, err, code) = run(&import);
    assert!(code == 0 && out.contains("\"timed\":0"), "{out} {err}");
    let (_, err, code) = run(&import);
    assert!(code == 2 && err.contains("--overwrite"), "what is there is not replaced unasked: {err}");
    insta::assert_snapshot!(format!("{}\n{:#}", records.join("\n"), counts["left_out"]));
}

#[test]
fn a_damaged_or_foreign_file_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("gfx906_60.db");
    sqlite(&base);
    let whole = std::fs::read(&base).unwrap();
    let packed = bzip2(ROWS.as_bytes());
    for (name, bytes, expected) in [
        ("gfx906_60.a.db", &whole[..whole.len() / 2], "SQLite"),
        ("gfx906_60.b.db.bz2", &packed[..packed.len() / 2], "packed data are truncated or damaged"),
        ("gfx906_60.c.db.txt", b"64-56-56-1x1-64-56-56-32".as_slice(), "line 1: has no `=` after a key"),
        ("gfx906_60.d.db.txt", b"64-56-x-1x1-64-56-56-32-0x0-1x1-1x1-0-NCHW-FP32-F=A:1", "line 1: key"),
        ("gfx906_60.e.db.txt", &[0xff, 0xfe, 0x00], "neither SQLite nor text"),
        ("gfx906_60.f.db.txt", b"", "holds no record"),
        ("mystery.db.txt", ROWS.as_bytes(), "no described device is called `mystery`"),
    ] {
        let path = write(folder.path(), name, bytes);
        let output = folder.path().join("out").display().to_string();
        let (_, err, code) = run(&["import", "miopen", &path, "-o", &output]);
        assert!(code == 2 && err.contains(expected) && err.contains(name), "{name}: {code} {err}");
        assert!(!Path::new(&output).exists(), "nothing is written");
    }
}

#[test]
fn a_users_kernel_toml_with_a_mistake_is_named_not_taken_for_an_unknown_solver() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("kernels/ConvAsm1x1U")).unwrap();
    write(&folder.path().join("kernels/ConvAsm1x1U"), "kernel.toml", b"name = ");
    let rows = write(folder.path(), "gfx906_60.db.txt", ROWS.as_bytes());
    let import = seqtune(&["import", "miopen", &rows, "-o", "out"]).current_dir(&folder).output().unwrap();
    let (_, err, code) = common::text(import);
    assert!(code == 2 && err.contains("ConvAsm1x1U/kernel.toml"), "{code} {err}");
}

#[test]
fn random_problems_keep_the_rules_of_every_solver() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for name in Kernel::shipped() {
        let kernel = Kernel::open(&name).unwrap();
        let texts: HashSet<String> = (0..10)
            .map(|_| kernel.show_problem(&random_problem(&kernel, 4_096.0, &mut rng).unwrap()))
            .inspect(|text| drop(kernel.problem(text).unwrap_or_else(|e| panic!("{name}: {e}"))))
            .collect();
        assert_eq!(texts.len(), 10, "{name}: they differ");
    }
}

#[test]
fn a_driver_command_a_key_and_pairs_name_the_same_convolution() {
    let command = "./bin/MIOpenDriver convfp16 -n 32 -c 64 -H 55 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -l 1 -j 1 -m conv -g 1 -F 3 -t 1";
    let both = convolutions_of_command(command).unwrap();
    let keys: Vec<String> = both.iter().map(Convolution::key).collect();
    assert_eq!(
        keys,
        ["64-55-56-3x3-128-28-28-32-1x1-2x2-1x1-0-NCHW-FP16-F", "128-28-28-3x3-64-55-56-32-1x1-2x2-1x1-0-NCHW-FP16-B"]
    );
    let pairs = "direction=F,dtype=FP16,N=32,C=64,H=55,W=56,K=128,R=3,S=3,pad_h=1,pad_w=1,stride_h=2,stride_w=2";
    let lines = format!("# a network\n{command}\n\n{}\n{pairs}\n", keys[0]);
    let all = convolutions_of_lines(&lines).unwrap();
    assert_eq!(all, [both[0].clone(), both[1].clone(), both[0].clone(), both[0].clone()]);
    for (line, expected) in [
        ("MIOpenDriver pool -n 1", "`pool` is not conv"),
        ("MIOpenDriver conv -H x", "-H `x` is not a number"),
        ("MIOpenDriver conv -m trans", "only the mode conv"),
        ("MIOpenDriver conv -H 2 -W 2 -y 5 -x 5", "does not fit"),
        ("direction=F,N=1", "C= is missing"),
        ("64-56", "has 2 parts"),
    ] {
        let error = convolutions_of_lines(line).unwrap_err().to_string();
        assert!(error.starts_with("line 1: ") && error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn a_convolution_has_the_same_shape_in_every_direction_batch_type_and_solver() {
    let command = "MIOpenDriver conv -n 32 -c 64 -H 56 -W 56 -k 128 -y 1 -x 1 -u 2 -v 2";
    let other = "MIOpenDriver convfp16 -n 8 -c 64 -H 56 -W 56 -k 128 -y 1 -x 1 -u 2 -v 2";
    let mut shapes = Vec::new();
    for convolution in [command, other].iter().flat_map(|c| convolutions_of_command(c).unwrap()) {
        for name in ["ConvMlirIgemmFwd", "ConvMlirIgemmBwd", "ConvAsm1x1U"] {
            let kernel = Kernel::open(name).unwrap();
            shapes.push(kernel.shape(&convolution.problem(&kernel, None).unwrap()));
        }
    }
    shapes.dedup();
    assert_eq!(shapes, ["64,128,28,28,1,1,2,2,0,0,1,1,1"]);
}

#[test]
fn lines_that_are_no_convolution_are_refused_with_their_reason() {
    for (line, expected) in [
        ("direction=F,N=1,C=8,H=8,W=8,K=8,R=1,S=1,stride_h=0", "stride_h is 0, not 1 to 1048576"),
        ("direction=F,dtype=fp16,N=1,C=8,H=8,W=8,K=8,R=1,S=1", "data type `fp16` is not one of FP32"),
        ("MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 8 -p 4294967295", "is not a number up to 1048576"),
        ("64-56-56-1x1-64-56-56-32-0x0-1x1-1x1-1-NCHW-FP32-F", "a convolution with a bias is not described"),
        ("64-8-56-56-3x3x3-64-8-56-56-4-0x0x0-1x1x1-1x1x1-0-NCHW-FP32-F", "layout `NCHW` is not one of NCDHW, NDHWC"),
        ("4x64x8x8x1x1x1x1x64x2x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", "4 dimensions; they are 2 or 3"),
        ("2x64x8x8x5x1x1x1x64x2x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", "two dimensions have no depth"),
        ("2x64x8x8x1x1x1x1xKx2x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", "`K` is not a number"),
        ("MIOpenDriver conv -_ 4", "only 2 or 3 dimensions are described"),
    ] {
        let error = convolutions_of_lines(line).err().map_or(String::new(), |e| e.to_string());
        assert!(error.contains(expected) && error.contains("line 1"), "{line}: {error}");
    }
}

#[test]
fn keys_of_either_generation_are_read_and_written_back() {
    for (dashed, crossed) in [
        (
            "64-56-48-3x1-128-56-48-32-1x0-1x1-1x1-0-NHWC-FP16-F_g2",
            "2x64x56x48x1x3x1x1x128x32x1x0x0x1x1x0x1x1x0x0x2xNHWCxFP16xF",
        ),
        (
            "64-8-56-48-3x5x1-128-4-28-48-32-1x2x0-2x2x1-1x1x1-0-NCDHW-BF16-B",
            "3x64x56x48x8x5x1x3x128x32x2x0x1x2x1x2x1x1x1x0x1xNCDHWxBF16xB",
        ),
    ] {
        let (a, b) = (Convolution::parse(dashed).unwrap(), Convolution::parse(crossed).unwrap());
        assert_eq!((a.key().as_str(), b.crossed_key().as_str()), (dashed, crossed));
        assert_eq!((a.without_output(), a.crossed_key().as_str()), (b, crossed));
    }
    let command = "MIOpenDriver convfp16 -_ 3 -n 2 -c 64 -! 8 -H 56 -W 48 -k 128 -@ 3 -y 5 -x 1 -$ 1 -p 2 -q 0 -# 2 -u 2 -v 1 -F 2";
    let backward = &convolutions_of_command(command).unwrap()[0];
    assert_eq!(backward.key(), "128-4-28-48-3x5x1-64-8-56-48-2-1x2x0-2x2x1-1x1x1-0-NCDHW-FP16-B");
}

#[test]
fn configs_that_are_names_of_instances_are_read_and_written_back() {
    let kernel = Kernel::open("ConvHipImplicitGemmGroupWrwXdlops").unwrap();
    let device = Device::described("MI300X").unwrap();
    let pairs = "direction=W,dtype=FP16,N=64,C=256,H=14,W=14,K=512,R=3,S=3,pad_h=1,pad_w=1";
    let convolution = &convolutions_of_lines(pairs).unwrap()[0];
    let problem = convolution.problem(&kernel, None).unwrap();
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let drawn = space.counter().sample_distinct(40, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    assert_eq!(drawn.len(), 40);
    let import = |params: &str| {
        let solver = kernel.name.clone();
        let rows = vec![Row { convolution: convolution.clone(), solver, params: params.into() }];
        let ask = Import { solvers: &[], times: &BTreeMap::new(), command: String::new() };
        miopen::import(&[("rows".into(), device.clone(), rows)], &ask, &mut |_| {}).unwrap()
    };
    for config in drawn {
        let mut export = miopen::Export::default();
        export.add(convolution, &kernel, &problem, &config).unwrap();
        let text = export.text();
        let (_, params) = text.trim_end().split_once(':').unwrap();
        assert!(params.starts_with("DeviceGroupedConv") && params.contains(">+"), "{params}");
        let dataset = import(params).datasets.into_values().next().unwrap();
        assert_eq!(dataset.records[0].config.to_string(), kernel.show_config(&config));
    }
    for (params, reason) in [
        ("DeviceGroupedConvBwdWeight_Xdl_CShuffle<1, 2>+4", "its instance is not in the table"),
        (
            "DeviceGroupedConvBwdWeight_Xdl_CShuffle<256, 128, 256, 4, Default, 8, 2, 4, 8, 2, 8, 4, 1, 1, 8>+3",
            "the value of SPLIT is not in the space",
        ),
        (
            "DeviceGroupedConvBwdWeight_Xdl_CShuffle<256, 128, 256, 4, Filter1x1Stride1Pad0, 8, 2, 4, 8, 2, 8, 4, 1, 1, 8>+4",
            "pointwise filters without stride and padding",
        ),
    ] {
        let left_out = import(params).left_out.into_keys().next().unwrap();
        assert!(left_out.1.contains(reason), "{left_out:?}");
    }
}

#[test]
fn what_a_database_writes_of_the_gtc_family_is_read_and_written_back() {
    let kernel = Kernel::open("ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC").unwrap();
    let device = Device::described("MI210").unwrap();
    let pairs = "direction=F,dtype=FP16,layout=NHWC,N=64,C=256,H=14,W=14,K=512,R=1,S=1";
    let convolution = convolutions_of_lines(pairs).unwrap().remove(0);
    let problem = convolution.problem(&kernel, None).unwrap();
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let mut first = None;
    space
        .for_each(&mut |c| {
            first = Some(Config(c.to_vec()));
            false
        })
        .unwrap();
    let config = first.unwrap();
    let mut export = miopen::Export::default();
    export.add(&convolution, &kernel, &problem, &config).unwrap();
    let (_, params) = export.text().trim().split_once(':').map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
    // whatever index the table had
    let row = |index: &str| Row {
        convolution: convolution.clone(),
        solver: kernel.name.clone(),
        params: format!("{},{index}", params.rsplit_once(',').unwrap().0),
    };
    let ask = Import { solvers: &[], times: &BTreeMap::new(), command: String::new() };
    for index in ["0", "57"] {
        let database = [("test".to_string(), device.clone(), vec![row(index)])];
        let imported = miopen::import(&database, &ask, &mut |_| {}).unwrap();
        let dataset = imported.datasets.values().next().unwrap_or_else(|| panic!("{:?}", imported.left_out));
        assert_eq!(*dataset.records[0].config, *kernel.show_config(&config));
    }
}

/// The real databases, where they are.
fn real() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/miopen");
    match folder.is_dir() {
        true => Some(folder),
        false => {
            println!("skipped: the databases of MIOpen are not here");
            None
        }
    }
}

#[test]
fn the_records_of_the_real_databases_are_legal_but_for_nine_that_break_their_own_solvers_rules() {
    let Some(folder) = real() else { return };
    let mut databases = Vec::new();
    for (file, device) in [("gfx906_60.db.bz2", "gfx906_60"), ("gfx900_56.db.bz2", "gfx900_56")] {
        databases.push((
            file.to_string(),
            Device::described(device).unwrap(),
            miopen::read(&folder.join(file)).unwrap().rows,
        ));
    }
    let ask = Import { solvers: &[], times: &BTreeMap::new(), command: String::new() };
    let imported = miopen::import(&databases, &ask, &mut |_| {}).unwrap();
    assert_eq!(imported.rows, 288_605);
    assert_eq!(imported.datasets.values().map(|d| d.records.len()).sum::<usize>(), 288_560);
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for ((_, reason), counts) in &imported.left_out {
        *left.entry(reason.as_str()).or_default() += counts.rows;
    }
    let three_dimensions = left.remove("a convolution with 3 dimensions");
    assert_eq!(three_dimensions, Some(36));
    assert_eq!(left.values().sum::<usize>(), 9, "{left:#?}");
}

/// Median number of legal configs over problems of the real database, every parameter restricted to `main` where it has values.
fn median_legal(folder: &Path, solver: &str, main: &[&[i64]]) -> u64 {
    let mut kernel: Definition = (*Kernel::open(solver).unwrap()).clone();
    for (parameter, values) in kernel.parameters.iter_mut().zip(main) {
        if !values.is_empty() {
            parameter.values = values.to_vec();
        }
    }
    let kernel = Kernel::from(kernel);
    let device = Device::described("gfx906_60").unwrap();
    let rows = miopen::read(&folder.join("gfx906_60.db.bz2")).unwrap().rows;
    let rows: Vec<&Row> = rows.iter().filter(|r| r.is_of(solver) && r.convolution.beyond.is_empty()).collect();
    let step = (rows.len() / if solver.contains("Hip") { 1_000 } else { 120 }).max(1);
    let mut counts = Vec::new();
    for row in rows.iter().step_by(step) {
        let argument = row.solver.split_once('<').map(|(_, a)| a.trim_end_matches('>'));
        let problem = row.convolution.problem(&kernel, argument).unwrap();
        let Count::Exactly(count) = ConfigSpace::new(&kernel, &problem, &device).counter().total() else { panic!() };
        counts.push(count);
    }
    counts.sort_unstable();
    counts[counts.len() / 2]
}

#[test]
fn legal_configs_of_the_real_problems_number_what_the_facts_say() {
    let Some(folder) = real() else { return };
    let main_1x1: [&[i64]; 8] = [
        &[1, 2, 3, 4],
        &[8, 16, 32],
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &[16, 32, 64],
        &[1, 2, 3, 4],
        &[1, 2, 4],
        &[1, 2, 4],
        &[],
    ];
    let main_wrw: [&[i64]; 10] = [
        &[1, 2, 4],
        &[2, 4, 8, 16],
        &[2, 4, 8],
        &[1, 2, 4, 8],
        &[2, 4, 8],
        &[1, 2],
        &[1, 2, 4],
        &[2, 4],
        &[0],
        &[0, 1, 2, 3],
    ];
    // the tuner's main set of V4R1, by parameter
    let main_v4r1: [&[i64]; 16] =
        [&[16], &[], &[], &[], &[], &[], &[], &[4], &[], &[4], &[], &[], &[16], &[], &[], &[]];
    let mut report = Vec::new();
    for (solver, main, facts) in [
        ("ConvAsm1x1U", &main_1x1[..], 1_971),
        ("ConvAsmBwdWrW1x1", &main_wrw[..], 3_872),
        ("ConvAsmBwdWrW3x3", &[&[0i64][..]][..], 784),
        ("ConvAsm3x3U", &[][..], 640),
        ("ConvHipImplicitGemmV4R4Fwd", &[][..], 30),
        ("ConvHipImplicitGemmV4R4WrW", &[][..], 12),
        ("ConvHipImplicitGemmBwdDataV1R1", &[][..], 24),
        ("ConvHipImplicitGemmV4R1WrW", &main_v4r1[..], 31),
        ("ConvHipImplicitGemmV4R1Fwd", &main_v4r1[..], 31),
    ] {
        let median = median_legal(&folder, solver, main);
        report.push(format!("{solver}: {median}, facts {facts}"));
        assert!((median as f64 / facts as f64 - 1.0).abs() < 0.15, "{}", report.join("\n"));
    }
}
