//! MIOpen's databases: read, checked, counted and written, on hand-written rows and, where they are there, on real ones.

use crate::common::{public, root, run, seqtune, test_generator, write};
use seqtune_data::formats::miopen::{self, Convolution, MiopenOptions, NamedRows, Row, Unsaid, convolutions_of_lines};
use seqtune_data::{Dataset, Outcome};
use seqtune_eval::measures::speed::random_problem;
use seqtune_kernel::{Config, ConfigSpace, Count, Definition, Device, Kernel};
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
    let (_, err, code) = crate::common::text(import);
    assert!(code == 2 && err.contains("ConvAsm1x1U/kernel.toml"), "{code} {err}");
}

#[test]
fn random_problems_keep_the_rules_of_every_solver() {
    let mut rng = test_generator(3);
    for name in Kernel::all_shipped() {
        let kernel = Kernel::open(&name).unwrap();
        let texts: HashSet<String> = (0..10)
            .map(|_| kernel.show_problem(&random_problem(&kernel, 4_096.0, &mut rng).unwrap()))
            .inspect(|text| drop(kernel.problem(text).unwrap_or_else(|e| panic!("{name}: {e}"))))
            .collect();
        // of one small number two may be the same
        assert!(texts.len() >= 8, "{name}: they differ, {texts:?}");
    }
}

#[test]
fn configs_that_are_names_of_instances_are_read_and_written_back() {
    let kernel = Kernel::open("ConvHipImplicitGemmGroupWrwXdlops").unwrap();
    let device = Device::find_described("MI300X").unwrap();
    let pairs = "direction=W,dtype=FP16,N=64,C=256,H=14,W=14,K=512,R=3,S=3,pad_h=1,pad_w=1";
    let convolution = &convolutions_of_lines(pairs, &Unsaid::default()).unwrap()[0];
    let problem = convolution.problem(&kernel, None).unwrap();
    let space = ConfigSpace::new(&kernel, &problem, &device);
    let drawn = space.counter().sample_distinct(40, &mut test_generator(3)).unwrap();
    assert_eq!(drawn.len(), 40);
    let import = |params: &str| {
        let solver = kernel.name.clone();
        let rows =
            vec![Row { convolution: convolution.clone(), solver, params: params.into(), of: None, is_hidden: false }];
        let ask = MiopenOptions { solvers: &[], times: &BTreeMap::new(), rules: false, command: String::new() };
        miopen::import(&[NamedRows { place: "rows".into(), device: device.clone(), rows }], &ask, &mut |_| {}).unwrap()
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
    let device = Device::find_described("MI210").unwrap();
    let pairs = "direction=F,dtype=FP16,layout=NHWC,N=64,C=256,H=14,W=14,K=512,R=1,S=1";
    let convolution = convolutions_of_lines(pairs, &Unsaid::default()).unwrap().remove(0);
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
        of: None,
        is_hidden: false,
    };
    let ask = MiopenOptions { solvers: &[], times: &BTreeMap::new(), rules: false, command: String::new() };
    for index in ["0", "57"] {
        let database = [NamedRows { place: "test".into(), device: device.clone(), rows: vec![row(index)] }];
        let imported = miopen::import(&database, &ask, &mut |_| {}).unwrap();
        let dataset = imported.datasets.values().next().unwrap_or_else(|| panic!("{:?}", imported.left_out));
        assert_eq!(*dataset.records[0].config, *kernel.show_config(&config));
    }
}

/// The real databases, where they are.
fn real() -> Option<PathBuf> {
    public("miopen", "the history of github.com/ROCm/MIOpen").map(|folder| root().join(folder))
}

#[test]
fn the_records_of_the_real_databases_are_legal_but_for_nine_that_break_their_own_solvers_rules() {
    let Some(folder) = real() else { return };
    let mut databases = Vec::new();
    for (file, device) in [("gfx906_60.db.bz2", "gfx906_60"), ("gfx900_56.db.bz2", "gfx900_56")] {
        databases.push(NamedRows {
            place: file.to_string(),
            device: Device::find_described(device).unwrap(),
            rows: miopen::read(&folder.join(file)).unwrap().rows,
        });
    }
    let ask = MiopenOptions { solvers: &[], times: &BTreeMap::new(), rules: false, command: String::new() };
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

#[test]
fn amds_own_database_is_written_back_byte_by_byte_but_for_the_index_of_a_table() {
    let Some(folder) = real() else { return };
    let bytes = seqtune_data::formats::opened::contents(&folder.join("gfx942130_2024-12.db.txt.bz2")).unwrap();
    let text = std::str::from_utf8(&bytes).unwrap();
    let device = Device::find_described("gfx942130").unwrap();
    assert_eq!(miopen::device_name(&device).unwrap(), "gfx942130");
    let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
    let mut written = 0;
    for line in text.lines().step_by(397) {
        let (key, entries) = line.split_once('=').unwrap();
        let convolution = Convolution::parse(key).unwrap();
        let mut export = miopen::Export::default();
        let mut expected = Vec::new();
        for (solver, params) in entries.split(';').map(|entry| entry.split_once(':').unwrap()) {
            let kernel = kernels.entry(solver.into()).or_insert_with(|| Kernel::open(solver).unwrap());
            let row = Row {
                convolution: convolution.clone(),
                solver: solver.into(),
                params: params.into(),
                of: None,
                is_hidden: false,
            };
            let ask = MiopenOptions { solvers: &[], times: &BTreeMap::new(), rules: false, command: String::new() };
            let imported = miopen::import(
                &[NamedRows { place: "test".into(), device: device.clone(), rows: vec![row] }],
                &ask,
                &mut |_| {},
            )
            .unwrap();
            let record = &imported.datasets.values().next().unwrap_or_else(|| panic!("{line}")).records[0];
            let (problem, config) = (kernel.problem(&record.problem).unwrap(), kernel.config(&record.config).unwrap());
            export.add(&convolution, kernel, &problem, &config).unwrap();
            // a record of the GTC family carries an index that differs between versions, and that MIOpen does not compare
            let (numbers, split) = params.split_at(params.find('[').unwrap_or(params.len()));
            let shown = match solver.contains("GTCDynamic") {
                true => format!("{},0{split}", numbers.rsplit_once(',').unwrap().0),
                false => params.into(),
            };
            expected.push(format!("{solver}:{shown}"));
        }
        written += expected.len();
        assert_eq!(export.text(), format!("{key}={}\n", expected.join(";")));
    }
    assert_eq!(written, 1_090);
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
    let device = Device::find_described("gfx906_60").unwrap();
    let rows = miopen::read(&folder.join("gfx906_60.db.bz2")).unwrap().rows;
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|r| r.is_of(solver) && r.convolution.beyond.is_empty() && r.convolution.dimensions == 2)
        .collect();
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
