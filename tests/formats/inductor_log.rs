//! `scripts/integrations/inductor_log.py`: what Inductor prints, in the forms that logs have, as `import autoheuristic` reads it.

use crate::common::{root, run, write};
use std::io::Write;
use std::path::Path;
use std::process::Command;

const HEAD: &str =
    "AUTOTUNE mm(1024x512, 512x256)\nstrides: [512, 1], [256, 1]\ndtypes: torch.float16, torch.float16\n";
const END: &str =
    "SingleProcess AUTOTUNE benchmarking takes 0.3201 seconds and 3.5530 seconds precompiling for 18 choices\n";

/// A line of a choice.
fn choice(name: &str, time: &str, tile: usize, more: &str) -> String {
    format!(
        "  {name} {time} ms 100.0% ACC_TYPE='tl.float32', ALLOW_TF32=False, BLOCK_K=32, BLOCK_M={tile}, BLOCK_N=64, {more}EVEN_K=True, \
         GROUP_M=8, USE_FAST_ACCUM=False, num_stages=5, num_warps=4\n"
    )
}

/// A product as Inductor prints it: two of its templates and the library.
fn product() -> String {
    let lines =
        [&choice("triton_mm_19", "0.0411", 64, ""), "  mm 0.0420 ms 97.9%\n", &choice("triton_mm_8", "0.0430", 16, "")];
    format!("{HEAD}{}{END}", lines.concat())
}

/// The rows that are made of logs, what is said beside them and the exit code; `None` without Python.
fn made(files: &[&str], folder: &Path) -> Option<(Vec<String>, String, i32)> {
    let Ok(done) = Command::new("python3")
        .arg(root().join("scripts/integrations/inductor_log.py"))
        .args(files)
        .current_dir(folder)
        .output()
    else {
        println!("skipped: python3 is missing; `apt-get install python3` brings it");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let rows = text(&done.stdout).lines().skip(2).map(String::from).collect();
    Some((rows, text(&done.stderr), done.status.code().unwrap()))
}

#[test]
fn logs_of_every_form_give_the_rows_of_the_plain_one() {
    let folder = tempfile::tempdir().unwrap();
    let good = product();
    let tagged = |tag: &str| good.lines().map(|line| format!("{tag}{line}\n")).collect::<String>();
    let warning =
        "W0103 07:39:55.109000 353787 torch/_inductor/select_algorithm.py:1517] out of resource: shared memory\n";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(good.as_bytes()).unwrap();
    let utf16: Vec<u8> = "\u{feff}".chars().chain(good.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
    // two processes write the lines of two products in turns
    let other = good.replace("1024x512", "2048x512");
    let turns = |(a, b): (&str, &str)| format!("[rank0]: {a}\n[rank1]: {b}\n");
    let both: String = good.lines().zip(other.lines()).map(turns).collect();
    let forms: [(&str, Vec<u8>, usize); 9] = [
        ("good.log", good.clone().into(), 3),
        ("ranks.log", tagged("[rank0]: ").into(), 3),
        ("torchrun.log", tagged("[default0]:").into(), 3),
        ("between.log", good.replace("float16\n", &format!("float16\n{warning}loss 0.1 3.2 ms\n")).into(), 3),
        ("crlf.log", good.replace('\n', "\r\n").into(), 3),
        ("behind.log", format!("step 3: {good}").into(), 3),
        ("good.log.gz", packed.finish().unwrap(), 3),
        ("utf16.log", utf16, 3),
        ("turns.log", both.into(), 6),
    ];
    let mut first = None;
    for (name, bytes, expected) in &forms {
        write(folder.path(), name, bytes);
        let Some((rows, said, code)) = made(&[name], folder.path()) else { return };
        assert_eq!((rows.len(), said.as_str(), code), (*expected, "", 0), "{name}: {rows:?}");
        let plain = first.get_or_insert_with(|| rows.clone());
        assert!(plain.iter().all(|row| rows.contains(row)), "{name}: {rows:#?}");
    }
}

#[test]
fn what_a_log_does_not_hold_whole_is_left_out_counted_and_refused_where_nothing_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let lines = product();
    let cut = choice("triton_mm_18", "0.0430", 16, "").split(", BLOCK_K").next().unwrap().to_string();
    let with = |more: &str| lines.replace("  mm", &format!("{more}  mm"));
    for (name, text, rows, said) in [
        ("cut.log", with(&format!("{cut}\n")), 3, "left out, 1 choice: its line is cut off, first: cut.log, line 5"),
        (
            "zero.log",
            with(&choice("triton_mm_1", "0.0000", 32, "")),
            3,
            "left out, 1 choice: its time is no number above 0",
        ),
        ("nan.log", with(&choice("triton_mm_1", "nan", 32, "")), 3, "its time is no number above 0"),
        (
            "tma.log",
            with(&choice("triton_mm_persistent_tma_3", "0.01", 32, "")),
            3,
            "another template, `triton_mm_persistent_tma`",
        ),
        (
            "decompose.log",
            with("  decompose_k_mm_32_split_4 0.01 ms 100.0%\n"),
            3,
            "another template, `decompose_k_mm_32_split`",
        ),
        (
            "groups.log",
            with(&choice("triton_mm_1", "0.01", 32, "num_consumer_groups=2, ")),
            3,
            "another num_consumer_groups than 0",
        ),
        ("twice.log", with(&choice("triton_mm_1", "0.05", 64, "kpack=2, ")), 3, "differs from a quicker one"),
        (
            "addmm.log",
            lines.clone() + &lines.replace("mm(1024x512", "addmm(256, 1024x512"),
            3,
            "left out, 1 product: it is no `mm`, the only product that is read, but `addmm`",
        ),
        ("again.log", lines.clone() + &lines, 3, "it is printed again later"),
        ("inf.log", with(&choice("triton_mm_1", "inf", 32, "")), 4, ""),
        ("exponent.log", with(&choice("triton_mm_1", "1.2e-02", 32, "")), 4, ""),
    ] {
        write(folder.path(), name, text.as_bytes());
        let Some((found, told, code)) = made(&[name], folder.path()) else { return };
        assert!(found.len() == rows && code == 0 && told.contains(said), "{name}: {found:#?} {told} {code}");
        assert_eq!(told.is_empty(), said.is_empty(), "{name}: {told}");
        let Some((found, told, code)) = made(&["--strict", name], folder.path()) else { return };
        let strict = if said.is_empty() { (rows, 0) } else { (0, 2) };
        assert!((found.len().max(2) == strict.0.max(2)) && code == strict.1, "{name}: {found:#?} {told} {code}");
    }
}

#[test]
fn a_log_without_a_product_is_refused_in_sentences_that_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let older =
        product().lines().filter(|line| !line.contains("s: ")).map(|line| format!("{line}\n")).collect::<String>();
    let collected = "{\"shared_memory\": 1}\nm,k,n,choice,feedback\n";
    write(folder.path(), "good.log", product().as_bytes());
    for (name, bytes, said) in [
        ("older.log", older.as_bytes(), "no strides and dtypes, which an older PyTorch does not print"),
        ("empty.log", b"", "no log holds `AUTOTUNE mm("),
        ("binary.log", &[0, 159, 146, 150], "no log holds `AUTOTUNE mm("),
        ("half.log.gz", b"\x1f\x8b\x08\x00", "cut off"),
        ("logs.zip", b"PK\x03\x04....", "is a zip archive; unpack it first"),
        ("other.txt", collected.as_bytes(), "its second line is not m,k,n"),
    ] {
        write(folder.path(), name, bytes);
        let Some((rows, told, code)) = made(&[name], folder.path()) else { return };
        assert!(
            rows.is_empty() && code == 2 && told.contains(said) && !told.contains("Traceback"),
            "{name}: {told} {code}"
        );
    }
    for files in [&["missing.log"][..], &["."], &[], &["--fast", "good.log"]] {
        let Some((_, told, code)) = made(files, folder.path()) else { return };
        assert!(code == 2 && !told.is_empty() && !told.contains("Traceback"), "{files:?}: {told} {code}");
    }
}

#[test]
fn what_is_made_of_a_log_is_imported_with_its_failures() {
    let folder = tempfile::tempdir().unwrap();
    let failed = choice("triton_mm_1", "inf", 128, "");
    write(folder.path(), "mm.log", product().replace("  mm", &format!("{failed}  mm")).as_bytes());
    let Some((rows, _, _)) = made(&["mm.log"], folder.path()) else { return };
    let done = Command::new("python3")
        .arg(root().join("scripts/integrations/inductor_log.py"))
        .arg(folder.path().join("mm.log"))
        .output()
        .unwrap();
    assert_eq!(rows.len(), 4);
    let text = write(folder.path(), "mm.txt", &done.stdout);
    let output = folder.path().join("mm.sqt").display().to_string();
    let (out, err, code) = run(&["import", "autoheuristic", &text, "--device", "H200", "-o", &output]);
    assert!(code == 0 && out.contains("3 records of triton_mm on H200 from 4 rows, 1 of them"), "{out}{err}");
}
