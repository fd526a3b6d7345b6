//! CLBlast: results of its tuners, and parameters in the forms that it takes.

use crate::common::{run, write};
use seqtune_data::Dataset;
use seqtune_data::formats::clblast::{ClblastTable, MARK, PredictedConfig, whole_tiles, write_database, write_header};
use seqtune_kernel::{ConfigSpace, Device, Kernel, Limits};
use std::path::Path;
use std::process::Command;

/// A result of the tuner, as CLBlast writes it.
fn result(m: u32, rows: &[(&str, f64)]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|(config, ms)| {
            let pairs: Vec<String> = config
                .split(',')
                .map(|pair| pair.split_once('=').map(|(name, value)| format!("\"{name}\": {value}")).unwrap())
                .collect();
            format!(
                "{{\"kernel\": \"XgemmDirectTN\", \"time\": {ms}, \"parameters\": {{{}, \"PRECISION\": 32}}}}",
                pairs.join(", ")
            )
        })
        .collect();
    format!(
        r#"{{"kernel_family": "xgemm_direct_1", "precision": "32", "arg_m": "{m}", "arg_n": "96", "arg_k": "64", "arg_alpha": "2.00",
        "device": "A processor", "device_vendor": "A maker", "device_type": "CPU", "device_core_clock": "2500",
        "device_compute_units": "4", "platform_version": "OpenCL 3.0, and more", "results": [{}]}}"#,
        rows.join(", ")
    )
}

const ONE: &str = "WGD=8,MDIMCD=8,NDIMCD=8,MDIMAD=8,NDIMBD=8,KWID=2,VWMD=1,VWND=1,PADA=1,PADB=1";
const TWO: &str = "WGD=32,MDIMCD=16,NDIMCD=8,MDIMAD=16,NDIMBD=8,KWID=2,VWMD=2,VWND=4,PADA=1,PADB=1";

#[test]
fn the_spaces_are_what_the_first_parts_of_the_tuners_try() {
    let limits = Limits {
        max_group_items: Some(4_096.0),
        local_memory: Some(262_144.0),
        compute_units: Some(2.0),
        ..Limits::default()
    };
    let device = Device { limits, ..Device::find_described("H200").unwrap() };
    // as many as CLBlast 1.5.3 tells: "Found 46 configuration(s)"
    for (name, count) in [("xgemm_direct", "46"), ("xgemm", "578")] {
        let kernel = Kernel::open(name).unwrap();
        let problem = kernel.problem("M=64,N=96,K=128").unwrap();
        let space = ConfigSpace::new(&kernel, &problem, &device);
        assert_eq!(space.counter().total().to_string(), count);
        let is_legal = |config: &&str| space.is_legal(&kernel.config(config).unwrap());
        assert!(name != "xgemm_direct" || [ONE, TWO].iter().all(is_legal));
    }
}

#[test]
fn results_of_a_tuner_are_records_and_what_is_none_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let outside = ONE.replace("MDIMAD=8", "MDIMAD=16").replace("WGD=8", "WGD=32");
    let strange = ONE.replace("KWID=2", "KWID=8");
    let rows = [(ONE, 0.39), (TWO, 0.41), (outside.as_str(), 0.5), (strange.as_str(), 0.5)];
    let first = write(folder.path(), "a.json", result(64, &rows).as_bytes());
    let second = write(folder.path(), "b.json", result(65, &[(ONE, 0.4)]).as_bytes());
    let again = write(folder.path(), "c.json", result(65, &[(ONE, 0.4)]).as_bytes());
    let output = folder.path().join("a.sqt").display().to_string();
    let later = write(folder.path(), "d.json", result(65, &[(ONE, 0.5)]).as_bytes());
    let (out, err, code) = run(&["import", "clblast", &second, &later, "-o", &output]);
    assert!(code == 0 && out.contains("1 record of xgemm_direct"), "{out}{err}");
    assert!(out.contains("measured again, 1 config: the times stand beside those of an earlier one"), "{out}");
    std::fs::remove_file(&output).unwrap();
    let (out, err, code) = run(&["import", "clblast", &first, &second, &again, "-o", &output]);
    assert!(
        code == 0 && out.contains("3 records of xgemm_direct on A processor from 6 configs of 3 files"),
        "{out}{err}"
    );
    assert!(
        out.contains("left out, 1 config: the same as an earlier one")
            && out.contains("tiles are loaded as they are computed"),
        "{out}"
    );
    assert!(out.contains("KWID"), "{out}");
    let dataset = Dataset::load(Path::new(&output)).unwrap();
    let times: Vec<f64> = dataset.records.iter().filter_map(|r| r.outcome.time_us()).map(|us| us.round()).collect();
    assert_eq!(times, [390.0, 410.0, 400.0]);
    assert_eq!(dataset.header.device.limits.compute_units, Some(4.0));
    let other =
        write(folder.path(), "d.json", result(64, &[(ONE, 0.4)]).replace("xgemm_direct_1", "xdot_1").as_bytes());
    let (_, err, code) = run(&["import", "clblast", &first, &other, "-o", &output, "--overwrite"]);
    assert!(
        code == 2 && err.contains("d.json is of kernel `xdot`") && err.contains("a.json of kernel `xgemm_direct`"),
        "{err}"
    );
    let (_, err, code) = run(&["import", "clblast", &other, "--kernel", "xgemm_direct", "-o", &output, "--overwrite"]);
    assert!(code == 2 && err.contains("d.json: is of the tuner xdot, not of xgemm_direct"), "{err}");
    let none = write(folder.path(), "e.json", b"{}");
    let (_, err, code) = run(&["import", "clblast", &none, "-o", &output, "--overwrite"]);
    assert!(code == 2 && err.contains("is no result of a tuner of CLBlast"), "{err}");
}

#[test]
fn a_time_of_0_is_below_the_clocks_step_only_beside_times_of_a_few_steps() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("a.sqt").display().to_string();
    let import = |text: String, more: &[&str]| {
        let file = write(folder.path(), "a.json", text.as_bytes());
        let said = run(&[&["import", "clblast", &file, "-o", &output, "--overwrite"], more].concat());
        let dataset = Dataset::load(Path::new(&output)).ok();
        let times: Vec<f64> = dataset.iter().flat_map(|d| &d.records).filter_map(|r| r.outcome.time_us()).collect();
        (said, times)
    };
    let ((out, _, code), times) = import(result(64, &[(ONE, 0.004), (TWO, 0.0)]), &[]);
    assert!(code == 0 && times == [4.0, 0.5] && !out.contains("left out"), "{out} {times:?}");
    let ((out, err, code), times) = import(result(64, &[(ONE, 0.412), (TWO, 0.0)]), &[]);
    assert!(code == 0 && times == [412.0], "{out}{err} {times:?}");
    assert!(
        out.contains("left out, 1 row: its time is 0 beside others of many steps of the clock\n  first: "),
        "{out}"
    );
    let ((_, err, code), _) = import(result(64, &[(ONE, 0.412), (TWO, 0.0)]), &["--strict"]);
    assert!(code == 2 && err.contains("--strict: 1 of 2 rows"), "{err}");
    for wrong in ["-1", "null", "\"soon\"", "1e12", "0.0"] {
        let ((_, err, code), _) =
            import(result(64, &[(ONE, 7.0)]).replace("\"time\": 7", &format!("\"time\": {wrong}")), &[]);
        assert!(code == 2 && err.contains("its time is"), "{wrong}: {err}");
    }
}

#[test]
fn files_of_two_devices_texts_with_other_fields_and_cut_files_are_refused_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("a.sqt").display().to_string();
    let file = |name: &str, text: String| write(folder.path(), name, text.as_bytes());
    let good = result(64, &[(ONE, 0.39), (TWO, 0.41)]);
    let first = file("a.json", good.clone());
    let import = |files: &[&str]| run(&[&["import", "clblast"], files, &["-o", &output, "--overwrite"]].concat());
    let described = file("described.json", good.replace("A processor", "NVIDIA GeForce RTX 3090"));
    for (files, expected) in [
        (vec![&*first, &described], "described.json measured on `NVIDIA GeForce RTX 3090`"),
        (vec![&described, "--device", "H100"], "--device names H100; name RTX 3090"),
        (
            vec![&file("b.json", good.replace("\"arg_m\": \"64\"", "\"arg_m\": \"64,c=a\""))],
            "2 of 2 rows cannot be read",
        ),
        (vec![&file("c.json", good.replace("\"64\"", "\"64,precision=16\""))], "2 of 2 rows cannot be read"),
        (vec![&file("d.json", "{".into()), &first, "--strict"], "--strict: 1 of 3 rows"),
        (vec![&file("e.json", "{}".into())], "is no result of a tuner of CLBlast"),
    ] {
        let (out, err, code) = import(&files);
        assert!(
            code == 2 && err.replace(" is measured", " measured").contains(expected) && err.lines().count() == 1,
            "{files:?}: {out}{err}"
        );
        assert!(!Path::new(&output).exists());
    }
    let cut = file("cut.json", good[..good.rfind("\"time\"").unwrap()].to_string());
    let batch = file("batch.json", good.replace("\"2.00\"", "\"3.00\"").replace("\"64\"", "\"65\""));
    let program = file("program.json", good.replace("XgemmDirectTN", "XgemmDirectNN").replace("\"64\"", "\"66\""));
    let (out, err, code) = import(&[&first, &first, &cut, &batch, &program, "--device", "H200"]);
    assert!(code == 0 && err.contains("was measured on A processor; its records are booked as those of H200"), "{err}");
    for (counted, rows) in [
        ("the same as an earlier one", "3 configs"),
        ("the file is cut off there", "1 row"),
        ("arg_alpha is `…` and not \"2.00\" as in the first file, and the kernel has no field for it", "2 rows"),
        ("it is of the program `…`, not of XgemmDirectTN", "2 rows"),
    ] {
        assert!(out.contains(&format!("left out, {rows}: {counted}")), "{counted}: {out}");
    }
    assert!(out.contains("2 records of xgemm_direct on H200 from 10 configs of 5 files"), "{out}");
}

/// A double of CLBlast's interface, and a program that asks for three products, one of which no table has.
const DOUBLE: &str = "#include <stddef.h>\ntypedef void* cl_device_id; typedef int CLBlastStatusCode; typedef int CLBlastPrecision;\nenum { CLBlastSuccess = 0 };\nCLBlastStatusCode CLBlastOverrideParameters(cl_device_id, const char*, CLBlastPrecision, size_t, const char**, const size_t*);\n";
const PROGRAM: &str = "#include \"table.h\"\n#include <stdio.h>\n\
    CLBlastStatusCode CLBlastOverrideParameters(cl_device_id d, const char* name, CLBlastPrecision p, size_t n, const char** names, const size_t* values) {\n\
    (void)d; printf(\"%s %d\", name, p); for (size_t i = 0; i < n; i++) printf(\" %s=%zu\", names[i], values[i]); printf(\"\\n\"); return 0; }\n\
    int main(void) { return seqtune_gemm_use(0, 64, 96, 128) || seqtune_gemm_use(0, 300, 200, 100) || seqtune_gemm_use(0, 1, 2, 3); }\n";

/// What the program prints with a header, a line for each call of CLBlast's.
fn said_with(header: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "table.h", header.as_bytes());
    write(folder.path(), "clblast_c.h", DOUBLE.as_bytes());
    write(folder.path(), "main.c", PROGRAM.as_bytes());
    let built = Command::new("cc")
        // the double stands for `<clblast_c.h>`, whether CLBlast is installed or not
        .args(["-Wall", "-Wextra", "-Werror", "-I.", "main.c", "-o", "main"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = Command::new(folder.path().join("main")).output().unwrap();
    String::from_utf8(said.stdout).unwrap().lines().map(String::from).collect()
}

fn table<'a>(kernel: &'a Kernel, rows: &[(&str, &str)]) -> ClblastTable<'a> {
    let choice = |(problem, config): &(&str, &str)| PredictedConfig {
        problem: kernel.problem(problem).unwrap(),
        config: kernel.config(config).unwrap(),
        time_us: Some(120.0),
    };
    ClblastTable { kernel, choices: rows.iter().map(choice).collect() }
}

#[test]
fn the_exported_header_overrides_the_parameters_of_the_sizes_that_it_has() {
    let kernel = Kernel::open("xgemm_direct").unwrap();
    let choices = table(&kernel, &[("M=64,N=96,K=128", ONE), ("M=300,N=200,K=100", TWO)]);
    let header = write_header(std::slice::from_ref(&choices), "for a test").unwrap();
    assert!(header.starts_with(MARK));
    let expected = [ONE, TWO].map(|config| format!("XgemmDirect 32 {}", config.replace(',', " ")));
    assert_eq!(said_with(&header), expected);
    let sections =
        write_database(&[choices], &Device::find_described("H200").unwrap(), "device H200; learned on H200 only")
            .unwrap();
    let file: serde_json::Value = serde_json::from_str(&sections).unwrap();
    assert_eq!(file["about"], "device H200; learned on H200 only");
    assert_eq!(file["sections"][1]["arg_m"], "300");
    assert_eq!(file["sections"][0]["results"][0]["parameters"]["PRECISION"], 32);
    let mixed = table(&kernel, &[("M=64,N=96,K=128,precision=16", ONE), ("M=300,N=200,K=100", TWO)]);
    assert!(write_header(&[mixed], "").unwrap_err().to_string().contains("several precisions"));
}

#[test]
fn a_header_of_both_kernels_sets_them_and_the_way_between_them() {
    let [direct, indirect, way] = ["xgemm_direct", "xgemm", "gemm_routine"].map(|name| Kernel::open(name).unwrap());
    let tiles =
        "GEMMK=0,MWG=32,NWG=64,KWG=32,MDIMC=8,NDIMC=8,MDIMA=8,NDIMB=8,KWI=2,VWM=1,VWN=1,STRM=0,STRN=0,SA=1,SB=1,KREG=1";
    let tables = [
        table(&direct, &[("M=64,N=96,K=128", ONE)]),
        table(&indirect, &[("M=64,N=96,K=128", tiles), ("M=300,N=200,K=100", tiles)]),
        table(&way, &[("M=300,N=200,K=100", "XGEMM_MIN_INDIRECT_SIZE=0")]),
    ];
    let said = said_with(&write_header(&tables, "for a test").unwrap());
    let called: Vec<&str> = said.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(called, ["XgemmDirect", "Xgemm", "Xgemm", "GemmRoutine"]);
    assert!(said[1].contains(" MWG=32 NWG=64 ") && said[3] == "GemmRoutine 32 XGEMM_MIN_INDIRECT_SIZE=0", "{said:?}");
    let file: serde_json::Value =
        serde_json::from_str(&write_database(&tables, &Device::find_described("H200").unwrap(), "").unwrap()).unwrap();
    assert_eq!(file["sections"].as_array().unwrap().len(), 4);
    assert_eq!(file["sections"][3]["kernel_family"], "gemm_routine");
}

#[test]
fn whatever_kernels_and_devices_are_called_the_header_compiles_and_nothing_of_a_name_is_code() {
    let kernel = |name: &str| {
        let text = format!(
            "name = \"{name}\"\nmeaning = \"a\"\n\
             field = [\"M\", \"N\", \"K\"]\n\
             parameter = [{{ name = \"int\", values = [1, 2], default = 1, meaning = \"a\" }}]\nwork = {{ flops = \"1\", bytes = \"1\" }}\n"
        );
        let size = |name: &str| {
            format!("{{ name = \"{name}\", kind = \"size\", min = 1, max = 99, shape = true, meaning = \"a\" }}")
        };
        let text =
            ["M", "N", "K"].iter().fold(text, |text, name| text.replacen(&format!("\"{name}\""), &size(name), 1));
        Kernel::from_files([("kernel.toml".to_string(), text)].into(), "kernel.toml").unwrap()
    };
    // `-` and `_` are one name in C, as are those of the function for all kernels and of one called gemm
    let kernels = ["gemm", "_", "a-b", "a_b", "gemm2"].map(kernel);
    let tables: Vec<ClblastTable> =
        kernels.iter().map(|kernel| table(kernel, &[("M=64,N=96,K=12", "int=2")])).collect();
    let about = "a device */ int injected; /* \u{1b}[2J \\\n#error injected\n ??/\n";
    let header = write_header(&tables, about).unwrap();
    assert!(!header.contains('\u{1b}') && !header.contains("\n#error"), "{header}");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "table.h", header.as_bytes());
    write(folder.path(), "clblast_c.h", DOUBLE.as_bytes());
    let main = "#include <stdio.h>\n#include \"table.h\"\nint injected;\nint main(void) { (void)seqtune_gemm_use; return injected; }\n";
    write(folder.path(), "main.c", main.as_bytes());
    for (compiler, language, standard) in [("cc", "c", "-std=c11"), ("c++", "c++", "-std=c++17")] {
        let flags = [standard, "-I.", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", language, "main.c"];
        let Ok(built) = Command::new(compiler).args(flags).current_dir(folder.path()).output() else {
            println!("skipped: there is no {compiler} here; `apt-get install g++` brings it");
            continue;
        };
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
}

#[test]
fn a_model_of_other_kernels_is_exported_where_they_are_named_alone() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("table.h").display().to_string();
    let export = ["export", "clblast", "models/gemm-cpu", "M=64,N=96,K=12", "--device", "epyc", "-o", &header];
    let (_, err, code) = run(&export);
    assert!(
        code == 2 && err.contains("has no model of a kernel of CLBlast (xgemm_direct, xgemm, gemm_routine)"),
        "{err}"
    );
    assert!(!std::path::Path::new(&header).exists());
    let (out, err, code) = run(&[&export[..], &["--kernel", "gemm"]].concat());
    assert!(code == 0 && out.contains("1 product of gemm"), "{out}{err}");
}

#[test]
fn the_indirect_kernel_is_asked_for_the_product_of_whole_tiles() {
    let padded = |name: &str| {
        let kernel = Kernel::open(name).unwrap();
        let problem = kernel.problem("M=65,N=64,K=1").unwrap();
        kernel.brief_problem(&whole_tiles(&kernel, &problem))
    };
    assert_eq!(padded("xgemm"), "M=128,N=64,K=32");
    assert_eq!(padded("xgemm_direct"), "M=65,N=64,K=1");
    assert_eq!(padded("gemm_routine"), "M=65,N=64,K=1");
}
