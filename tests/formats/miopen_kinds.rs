//! MIOpen's databases and command lines of other kinds than the usual: told apart, read, or counted by reason.

use crate::common::{run, write};
use rusqlite::Connection;
use seqtune_data::Dataset;
use seqtune_data::formats::miopen::{Lines, Unsaid, readable_lines};
use std::path::Path;

const ONE: &str = "64-56-56-1x1-64-56-56-32-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:1,16,1,64,2,1,1,2\n";
const SIZES: &str = "batchsize in_channels in_h in_w out_channels fil_h fil_w pad_h pad_w conv_stride_h conv_stride_w \
                     dilation_h dilation_w group_count in_d fil_d pad_d conv_stride_d dilation_d";
const INSERT: &str = "INSERT INTO config VALUES (1, 'NCHW', 'FP32', 'F', 2, 0, 32, 64, 56, 56, 64, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1);
                      INSERT INTO perf_db (solver, config, params) VALUES ('ConvAsm1x1U', 1, '1,16,1,64,2,1,1,2');";

fn schema(more: &str) -> String {
    let columns: Vec<String> = SIZES.split_whitespace().map(|c| format!("{c} INT")).collect();
    format!(
        "CREATE TABLE config (id INTEGER PRIMARY KEY, layout TEXT, data_type TEXT, direction TEXT, spatial_dim INT, bias INT, {});
         CREATE TABLE perf_db (id INTEGER PRIMARY KEY, solver TEXT, config INTEGER, params TEXT{more});",
        columns.join(", ")
    )
}

/// A database of these statements.
fn database(path: &Path, statements: &[&str]) -> Connection {
    let connection = Connection::open(path).unwrap();
    statements.iter().for_each(|statement| connection.execute_batch(statement).unwrap());
    connection
}

/// What an import says.
fn import(words: &[&str], output: &Path) -> (String, String, i32) {
    run(&[&["import", "miopen"], words, &["-o", &output.display().to_string(), "--overwrite"]].concat())
}

/// Records of a folder of datasets.
fn records(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder).into_iter().flatten();
    files.map(|entry| Dataset::load(&entry.unwrap().path()).unwrap().records.len()).sum()
}

#[test]
fn a_database_that_is_written_through_a_log_is_read_with_it_and_nothing_is_written_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("gfx906_60.db"), folder.path().join("out"));
    let words = [path.display().to_string()];
    let words = words.each_ref().map(String::as_str);
    // closed, so that the log is in the database: its header still says that there is one
    database(&path, &["PRAGMA journal_mode=WAL", &schema(""), INSERT]).close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap()[18..20], [2, 2]);
    let (_, err, code) = import(&words, &output);
    assert_eq!((code, err.as_str(), records(&output)), (0, "", 1));
    // a program that still writes has its newest rows in the log
    let open = database(
        &path,
        &[
            "PRAGMA wal_autocheckpoint=0",
            "INSERT INTO config SELECT 2, layout, data_type, direction, 2, 0, 16, 64, 56, 56, \
                        64, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1 FROM config",
            "INSERT INTO perf_db SELECT 2, solver, 2, params FROM perf_db",
        ],
    );
    let before: Vec<_> =
        ["gfx906_60.db", "gfx906_60.db-wal"].map(|name| std::fs::read(folder.path().join(name)).unwrap()).into();
    let (_, err, code) = import(&words, &output);
    assert_eq!((code, err.as_str(), records(&output)), (0, "", 2));
    let after: Vec<_> =
        ["gfx906_60.db", "gfx906_60.db-wal"].map(|name| std::fs::read(folder.path().join(name)).unwrap()).into();
    assert!(before == after, "the user's files stay as they are");
    drop(open);
}

#[test]
fn views_and_other_tables_are_refused_before_a_row_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let endless = "CREATE VIEW perf_db AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'ConvAsm1x1U' AS solver, 1 AS config, '1' AS params FROM n";
    let configs = "CREATE VIEW config AS SELECT * FROM configs";
    let twice = "DROP TABLE config; CREATE TABLE config (id INT); INSERT INTO config VALUES (1), (1), (1)";
    for (name, statements, expected) in [
        ("a.db", vec![schema("").as_str(), "DROP TABLE perf_db", endless], "its perf_db is no table, but a view"),
        (
            "b.db",
            vec![&schema(""), "ALTER TABLE config RENAME TO configs", configs],
            "its config is no table, but a view",
        ),
        ("c.db", vec!["CREATE TABLE kern_db (id INTEGER PRIMARY KEY, kernel_blob BLOB)"], "it has no table perf_db"),
        (
            "d.db",
            vec!["CREATE VIRTUAL TABLE perf_db USING fts5(x)", "CREATE TABLE config (id INT)"],
            "no table, but a view or of a module",
        ),
        ("e.db", vec![&schema(""), INSERT, twice], "no such column"),
    ] {
        let path = folder.path().join(format!("gfx906_60.{name}"));
        let made = std::panic::catch_unwind(|| database(&path, &statements));
        // an SQLite without this module makes no such table
        let Ok(connection) = made else { continue };
        connection.close().unwrap();
        let (_, err, code) = import(&[&path.display().to_string()], &output);
        assert!(code == 2 && err.contains(expected) && err.lines().count() == 1, "{name}: {err}");
    }
    let path = folder.path().join("gfx906_60.f.db");
    let several = schema("").replace("config (id INTEGER PRIMARY KEY", "config (id INTEGER");
    let again = INSERT.split(';').next().unwrap();
    database(&path, &[&several, INSERT, again, again]).close().unwrap();
    let (_, err, code) = import(&[&path.display().to_string()], &output);
    assert!(code == 2 && err.contains("several configs of one id"), "{err}");
}

#[test]
fn rows_of_other_architectures_in_one_database_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("gfx906_60.db"), folder.path().join("out"));
    let of = |id: u32, arch: &str, units: u32| {
        format!("INSERT INTO perf_db VALUES ({id}, 'ConvAsm1x1U', 1, '1,16,1,64,2,1,1,2', '{arch}', {units})")
    };
    let config = INSERT.split(';').next().unwrap();
    let rows = [of(1, "gfx906", 60), of(2, "gfx906", 64), of(3, "gfx908", 120)];
    database(&path, &[&schema(", arch TEXT, num_cu INT"), config, &rows[0], &rows[1], &rows[2]]).close().unwrap();
    let (out, err, code) = import(&[&path.display().to_string()], &output);
    assert!(code == 0 && records(&output) == 1, "{out}{err}");
    for counted in ["another device, gfx906 with 64 compute units", "another device, gfx908 with 120 compute units"] {
        assert!(out.contains(counted), "{counted}: {out}");
    }
}

#[test]
fn each_kind_of_database_is_known_where_the_other_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let file = |name: &str, text: &str| write(folder.path(), name, text.as_bytes());
    let key = ONE.split('=').next().unwrap();
    let tuned = file("gfx906_60.db.txt", ONE);
    let newer = file("gfx906_60.HIP.fdb.txt", &format!("{key}=ConvAsm1x1U:0.5,0,miopenConvolutionFwdAlgoDirect\n"));
    let older =
        file("gfx906_60.cd.fdb.txt", &format!("{key}=miopenConvolutionFwdAlgoDirect:ConvAsm1x1U,0.5,0,x,<unused>\n"));
    let base = folder.path().join("gfx906_60.b.db");
    database(&base, &[&schema(""), INSERT]).close().unwrap();
    let base = base.display().to_string();
    for (words, expected) in [
        (vec![&*newer], "is a find database: 1 of its 1 entries state times, not parameters; give it with --find-db"),
        (vec![&older], "is a find database"),
        (vec![&tuned, "--find-db", &tuned], "is no find database: 1 of its 1 entries state parameters, not times"),
        (vec![&tuned, "--find-db", &base], "is no find database, but one of SQLite"),
    ] {
        let (_, err, code) = import(&words, &output);
        assert!(code == 2 && err.contains(expected) && err.lines().count() == 1, "{words:?}: {err}");
        assert!(!output.exists());
    }
    for times in [&newer, &older] {
        let (out, err, code) = import(&[&tuned, "--find-db", times], &output);
        assert!(code == 0 && out.contains("1 record of 1 row, 1 with a time"), "{out}{err}");
    }
}

#[test]
fn names_of_solvers_are_no_paths_a_file_counts_once_and_its_name_is_held_against_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let file = |name: &str, text: &str| write(folder.path(), name, text.as_bytes());
    for solver in
        ["miopen/ConvAsm1x1U", "ConvAsm1x1U/", "../ConvAsm1x1U", "./kernels/miopen/ConvAsm1x1U", "Conv Asm", ""]
    {
        let path = file("gfx906_60.db.txt", &ONE.replace("ConvAsm1x1U", solver));
        let (_, err, code) = import(&[&path], &output);
        assert!(code == 2 && err.contains("is no name of a solver") && !output.exists(), "{solver}: {err}");
        let path = folder.path().join("gfx906_60.db");
        std::fs::remove_file(&path).ok();
        database(&path, &[&schema(""), &INSERT.replace("ConvAsm1x1U", solver)]).close().unwrap();
        let (_, err, code) = import(&[&path.display().to_string()], &output);
        assert!(code == 2 && err.contains("is no name of a solver"), "{solver}: {err}");
    }
    let (tuned, again) = (file("gfx906_60.db.txt", ONE), file("gfx906_60.again.db.txt", ONE));
    let (out, err, code) = import(&[&tuned, &again], &output);
    assert!(
        code == 0 && out.contains("left out, 1 row: the same as an earlier one\n") && !out.contains("replaced"),
        "{out}{err}"
    );
    for (name, device, expected) in [
        ("gfx906_60.db.txt", "MI300X", "is named after another device than MI300X"),
        ("gfx942e4.db.txt", "MI300X", "is named after another device than MI300X"),
        ("gfx906_60.db.txt", "MI50", ""),
        ("gfx906_nosramecc_60.db.txt", "MI50", ""),
        ("tuned.db.txt", "MI50", ""),
    ] {
        let path = file(name, ONE);
        let (_, err, code) = import(&[&path, "--device", device], &output);
        assert_eq!(code == 0, expected.is_empty(), "{name}: {err}");
        assert!(err.contains(expected), "{name}: {err}");
    }
    let (_, err, code) = import(&[&file("gfx942e4.db.txt", ONE)], &output);
    assert!(code == 2 && err.contains("architecture gfx942 with 228 compute units, such as MI300A"), "{err}");
}

fn read(text: &str) -> Lines {
    readable_lines(text, &Unsaid::default()).unwrap()
}

#[test]
fn commands_are_read_as_logs_scripts_and_windows_write_them() {
    let plain = "MIOpenDriver conv -n 32 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1";
    let expected = read(plain).convolutions;
    for line in [
        format!("MIOpen(HIP): Command [LogCmdConvolution] {}", plain.replace("Driver", "Driver.exe")),
        format!("[rank3]:MIOpen(HIP): Command [LogCmdConvolution] ./bin/{plain}"),
        format!("\"./bin/{plain}\""),
        format!("  '{plain}',"),
        format!("MIOPEN_FIND_MODE=1 /opt/rocm/bin/{plain} 2>&1 | tee log"),
        plain.replace("MIOpenDriver", "C:\\rocm\\bin\\MIOpenDriver.exe"),
        plain.replace(" -", " \"-").replace(" 1", "\" 1"),
        plain.replace("conv ", "convfp32 "),
        format!("{plain} --tuning_policy 1 --gpubuffer_check 0 -V 0 -M 1"),
        plain.replace("-n 32", "--batchsize=32"),
        format!("{plain}\r"),
    ] {
        assert_eq!(read(&line).convolutions, expected, "{line}");
    }
}

#[test]
fn lines_that_are_not_described_are_left_out_by_reason_and_the_others_kept() {
    let good = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -F 1";
    for (line, reason) in [
        ("MIOpenDriver conv -n 4 -c 32 -H 80 -W 80 -k 1 -y 5 -x 5 -m trans -F 1", "-m trans is not described"),
        ("MIOpenDriver conv -n 1 -c 2 -H 1 -W 1323000 -k 48 -y 1 -x 8 -F 1", "is not a number up to 1048576"),
        ("MIOpenDriver convfp8 -n 16 -c 64 -H 28 -W 28 -k 128 -F 1", "is not conv, convfp16, convbfp16 or convint8"),
        ("MIOpenDriver CBAInfer -F 4 -n 16 -c 8 -H 96 -W 96 -k 64", "is not conv"),
        ("MIOpenDriver conv -n 1 -n 2 -F 1", "-n is given twice"),
        ("MIOpenDriver conv -n 1 --batchsize 2 -F 1", "--batchsize is given twice"),
        ("MIOpenDriver conv -L 4 -F 1", "-L 4 is not described"),
        ("MIOpenDriver conv -M 0 -F 1", "-M 0 is not described"),
        ("direction=F,N=1,C=64,H=56,W=56,K=64,R=1,S=1,direction=B", "direction is given twice"),
        ("some other words of a log", "is no MIOpenDriver command"),
    ] {
        let found = read(&format!("{line}\n{good}\n{line}\n"));
        assert_eq!((found.convolutions.len(), found.lines, found.left_out.rows()), (1, 3, 2), "{line}");
        let (told, counts) = found.left_out.0.iter().next().unwrap();
        assert!(told.contains(reason) && counts.example.starts_with("line 1: "), "{line}: {told}");
        let alone = readable_lines(line, &Unsaid::default()).unwrap_err().to_string();
        assert!(alone.starts_with("line 1: ") && alone.contains(reason), "{alone}");
    }
    let table = read("n,c,h,w,k,fh,fw\n8,64,28,28,64,1,1\n8,64,2,2,64,9,9\n");
    assert_eq!((table.convolutions.len(), table.left_out.rows()), (3, 1));
}

#[test]
fn an_export_leaves_lines_out_with_a_warning_and_refuses_them_where_none_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let good = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1";
    let lines =
        write(folder.path(), "network.txt", format!("{good}\n{}\n", good.replace("conv ", "CBAInfer ")).as_bytes());
    let output = folder.path().join("out.udb.txt").display().to_string();
    let words =
        ["export", "miopen", "models/miopen", &lines, "-o", &output, "--device", "MI50", "--solver", "ConvAsm1x1U"];
    let (_, err, code) = run(&[&words[..], &["--strict"]].concat());
    assert!(code == 2 && err.contains("line 2: ") && !Path::new(&output).exists(), "{err}");
    let (out, err, code) = run(&words);
    assert!(code == 0 && out.contains("1 config for 1 convolution "), "{out}{err}");
    assert!(err.contains("1 of 2 lines are left out: ") && err.contains("such as line 2: "), "{err}");
}

#[test]
fn sizes_that_a_copy_has_as_texts_or_fractions_are_read_and_a_row_without_its_config_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, name) in [("TEXT", "texts"), ("REAL", "fractions")] {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        let (path, output) = (place.join("gfx906_60.db"), place.join("out"));
        let orphan = "INSERT INTO perf_db (solver, config, params) VALUES ('ConvAsm1x1U', 9, '1,16,1,64,2,1,1,2');";
        database(
            &path,
            &[
                &schema("").replace(" INT,", &format!(" {kind},")).replace(" INT)", &format!(" {kind})")),
                INSERT,
                orphan,
            ],
        )
        .close()
        .unwrap();
        let (out, err, code) = import(&[&path.display().to_string()], &output);
        assert_eq!((code, records(&output)), (0, 1), "{kind}: {out}{err}");
        assert!((out + &err).contains("the row of config that it names is missing"), "{kind}");
    }
}
