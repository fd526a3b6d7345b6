//! What is read of Triton's autotuner and written for PyTorch Inductor. The real programs are met by scripts/integrations/triton.sh and scripts/integrations/inductor.sh.

use crate::common::{run, write};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{Dataset, Outcome};
use seqtune_predict::Model;
use serde_json::{Value, json};
use std::path::Path;

/// Written by Triton 3.6.0, shortened.
const KEPT: &str = "tests/goldens/inputs/matmul_kernel.autotune.json";

#[test]
fn what_tritons_autotuner_kept_becomes_a_dataset_of_ones_own_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matmul.sqt").display().to_string();
    let args = ["import", "triton", KEPT, "--kernel", "examples/triton", "--device", "A100", "-o", &path];
    // three data types of tensors stand behind the sizes; the first is the problem's
    let (out, err, code) = run(&args);
    assert!(
        code == 0 && out.contains("6 records of triton_matmul on A100 from 6 configs of 1 file, 1 of them"),
        "{out}{err}"
    );
    let dataset = Dataset::load(Path::new(&path)).unwrap();
    let failed = |outcome: &Outcome| matches!(outcome, Outcome::Invalid(_));
    assert_eq!(dataset.records.iter().filter(|r| failed(&r.outcome)).count(), 1);
    assert!(dataset.records.iter().all(|r| r.problem.ends_with("dtype=float16")), "{}", dataset.records[0].problem);
    let samples = |outcome: &Outcome| match outcome {
        Outcome::Measured(m) => m.samples_us.len(),
        _ => 3,
    };
    assert!(dataset.records.iter().all(|r| samples(&r.outcome) == 3));
}

#[test]
fn what_cannot_be_read_of_tritons_files_is_told_in_a_sentence_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.sqt").display().to_string();
    let file = |name: &str, text: &str| write(folder.path(), name, text.as_bytes());
    let kept = std::fs::read_to_string(crate::common::root().join(KEPT)).unwrap();
    let cut = file("cut.json", &kept[..kept.len() / 2]);
    let strange = file("strange.json", &kept.replace("\"BLOCK_M\": ", "\"BLOCK_M\": 7"));
    let one = file("one.json", &kept.replacen("\"BLOCK_M\": ", "\"TILE\": ", 1));
    let import = |file: &str, more: &[&str]| {
        let args = ["import", "triton", file, "--kernel", "examples/triton", "--device", "A100", "-o", &output];
        run(&[&args[..], more].concat())
    };
    for (file, more, expected) in [
        (&cut, &["--strict"][..], "--strict: 1 of "),
        (&strange, &[], "6 of 6 rows cannot be read"),
        (&one, &["--strict"], "--strict: 1 of 6 rows cannot be read"),
        (&one, &["--key", "M,N,rows"], "has no field `rows`"),
        (&one, &["--key", "M,N"], "is no tensor's data type; name them all with --key"),
        (&one, &["--set", "M=4", "--key", "M,N,K"], "field `M` is given twice"),
        (&one, &["--device", "nothing"], "cannot be used multiple times"),
    ] {
        let (out, err, code) = import(file, more);
        assert!(code == 2 && err.contains(expected) && err.lines().count() == 1, "{code} {out}{err}");
        assert!(!Path::new(&output).exists());
    }
    let (out, err, code) = import(&cut, &["--overwrite"]);
    assert!(code == 0 && out.contains("left out, 1 row: the file is cut off there"), "{out}{err}");
    let (out, err, code) = import(&one, &["--overwrite"]);
    assert!(code == 0 && out.contains("5 records") && out.contains("has no parameter"), "{out}{err}");
}

/// A kernel with the fields of Inductor's products, and a model of it with random weights.
fn model_of_products(folder: &Path) -> (String, String) {
    let parameters =
        [("BLOCK_M", "16, 64"), ("BLOCK_N", "16, 64"), ("BLOCK_K", "32, 64"), ("numstages", "2"), ("numwarps", "4")];
    let mut text = String::from("name = 'products'\nmeaning = 'x'\n");
    // what the invented model looks at, and Inductor does not tell
    text += "[[field]]\nname = 'M'\nkind = 'size'\nmin = 1\nmax = 4096\ndefault = '64'\nmeaning = 'x'\n";
    for name in ["m", "n", "k", "mat1_stride_0", "mat1_stride_1", "mat2_stride_0", "mat2_stride_1"] {
        text += &format!("[[field]]\nname = '{name}'\nkind = 'size'\nmin = 0\nmax = 1000000\nmeaning = 'x'\n");
    }
    for name in ["mat1_dtype", "mat2_dtype"] {
        text +=
            &format!("[[field]]\nname = '{name}'\nkind = 'choice'\nlabels = ['float16', 'float32']\nmeaning = 'x'\n");
    }
    for (name, values) in parameters {
        let first = values.split(',').next().unwrap();
        text += &format!("[[parameter]]\nname = '{name}'\nvalues = [{values}]\ndefault = {first}\nmeaning = 'x'\n");
    }
    text += "[[feature]]\nname = 'waste'\nexpr = '(M + BLOCK_M) % 7 / 7'\n[work]\nflops = '2 * m'\nbytes = 'm'\n";
    let kernel = folder.join("products");
    std::fs::create_dir(&kernel).unwrap();
    std::fs::write(kernel.join("kernel.toml"), &text).unwrap();
    let model = folder.join("model");
    crate::invented::model(&crate::invented::kernel(&text), &mut ChaCha8Rng::seed_from_u64(1)).save(&model).unwrap();
    (kernel.display().to_string(), model.display().to_string())
}

#[test]
fn a_lookup_table_has_inductors_keys_all_options_and_the_library_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, model) = model_of_products(folder.path());
    let output = folder.path().join("table.json").display().to_string();
    let export = |more: &[&str]| {
        let args =
            ["export", "inductor", &model, "--kernel", &kernel, "-o", &output, "--overwrite", "m=1152,n=1024,k=96"];
        let (out, err, code) = run(&[&args[..], more].concat());
        assert_eq!(code, 0, "{out}{err}");
        serde_json::from_str::<Value>(&std::fs::read_to_string(&output).unwrap()).unwrap()
    };
    let key = "((torch.float16, [1152, 96], [96, 1]), (torch.float16, [96, 1024], [1024, 1]))+mm";
    let table = export(&[]);
    let [entry, library] = &table[key].as_array().unwrap()[..] else { panic!("{table}") };
    let digest = Model::load(Path::new(&model)).unwrap().digest();
    let about = format!("seqtune {}, model {digest}: device A100; learned on A100 only", env!("CARGO_PKG_VERSION"));
    assert_eq!(table[&about], json!([]), "what it rests on stands under a key that no product has: {table}");
    assert_eq!(*library, json!({ "template_id": "aten::mm" }));
    let names = [
        "template_id",
        "BLOCK_M",
        "BLOCK_N",
        "BLOCK_K",
        "num_stages",
        "num_warps",
        "GROUP_M",
        "ACC_TYPE",
        "EVEN_K",
        "USE_FAST_ACCUM",
    ];
    assert!(
        names.iter().all(|name| entry.get(name).is_some()) && entry.as_object().unwrap().len() == names.len(),
        "{entry}"
    );
    assert_eq!((entry["num_stages"].as_u64(), entry["ACC_TYPE"].as_str()), (Some(2), Some("tl.float32")));
    let even = |entry: &Value| (entry["EVEN_K"].as_bool(), Some(96 % entry["BLOCK_K"].as_u64().unwrap() == 0));
    // a model that never saw the device is unsure of all: as many as were asked for, each with the EVEN_K of its own step
    let unsure = export(&["--device", "H100", "--top", "8", "--no-library-if-sure"]);
    let entries = unsure[key].as_array().unwrap();
    assert_eq!(entries.len(), 9, "{unsure}");
    assert!(entries[..8].iter().map(even).all(|(told, true_of_it)| told == true_of_it), "{unsure}");
    let steps: std::collections::BTreeSet<_> = entries[..8].iter().map(|e| e["BLOCK_K"].as_u64()).collect();
    assert_eq!(steps.len(), 2);
    assert_eq!(export(&["--no-library-if-sure"])[key].as_array().unwrap().len(), 1);
    let dynamic = export(&["--device", "H100", "--top", "8", "--dynamic"]);
    assert!(dynamic[key].as_array().unwrap()[..8].iter().all(|entry| entry["EVEN_K"] == false), "{dynamic}");
    let linear = export(&[
        "--op",
        "addmm",
        "--layout",
        "nt",
        "--dtype",
        "torch.float32",
        "--device-key",
        "NVIDIA A100-SXM4-40GB",
    ]);
    let inputs = "(torch.float32, [1152, 1024], [0, 1]), (torch.float32, [1152, 96], [96, 1]), (torch.float32, [96, 1024], [1, 96])";
    let key = format!("NVIDIA A100-SXM4-40GB+({inputs})+alpha=1&beta=1+addmm");
    assert_eq!(linear[key].as_array().unwrap().len(), 3, "{linear}");
}

#[test]
fn a_wrong_table_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, model) = model_of_products(folder.path());
    let output = folder.path().join("table.json").display().to_string();
    let list = write(folder.path(), "list.txt", b"# products\nm=1,n=2,k=3\nm=1,n=2\n");
    for (problem, more, expected) in [
        (list.as_str(), &[][..], "list.txt, line 3: `m=1,n=2`: k is missing"),
        ("m=1,n=2,k=3,q=4", &[], "has no field `q`"),
        ("m=1,n=2,k=3", &["--dtype", "int8"], "`int8` is not one of float16, float32"),
        ("m=1,n=2,k=3", &["--layout", "row"], "invalid value 'row'"),
        ("m=1,n=2,k=3", &["--device", "nothing"], "nothing"),
    ] {
        let args = ["export", "inductor", &model, problem, "--kernel", &kernel, "-o", &output];
        let (out, err, code) = run(&[&args[..], more].concat());
        assert!(code == 2 && err.contains(expected) && err.lines().count() == 1, "{code} {out}{err}");
        assert!(!Path::new(&output).exists());
    }
    let (_, err, code) = run(&["export", "inductor", &model, "m=1,n=2,k=3", "--kernel", "gemm", "-o", &output]);
    assert!(code == 2 && err.contains("kernel gemm has no field `m`"), "{err}");
}
