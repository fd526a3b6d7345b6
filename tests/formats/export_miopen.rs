//! `export miopen` by device: solvers that were trained on it, and others only where they are named.

use crate::common::run;

#[test]
fn solvers_that_were_trained_on_the_device_are_asked_and_others_only_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let layers = folder.path().join("layers.csv").display().to_string();
    std::fs::write(&layers, "n,c,h,w,k,fh,fw,ph,pw\n32,64,56,56,128,3,3,1,1\n").unwrap();
    let output = folder.path().join("out.udb.txt").display().to_string();
    let export = |device: &str, more: &[&str]| {
        let words = ["export", "miopen", "models/miopen", &layers, "-o", &output, "--device", device, "--overwrite"];
        run(&[&words, more].concat())
    };
    let solvers = || std::fs::read_to_string(&output).unwrap();
    let (out, err, code) = export("MI300X", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains(" convolutions on MI300X, which MIOpen reads") && out.contains("; learned on MI300X"),
        "{out}"
    );
    assert!(solvers().contains("GroupFwdXdlops") && !solvers().contains("ConvOclDirectFwd"), "{}", solvers());
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{output}.seqtune.json")).unwrap()).unwrap();
    let digest = told["models"]["ConvHipImplicitGemmGroupFwdXdlops"].as_str().unwrap();
    assert!(digest.len() == 16 && told["seqtune"] == env!("CARGO_PKG_VERSION"), "{told}");
    let (_, err, code) = export("MI50", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(solvers().contains("ConvOclDirectFwd") && !solvers().contains("GroupFwdXdlops"), "no matrix cores there");
    let (_, err, code) = export("A100", &[]);
    assert!(code == 2 && err.lines().count() == 1 && err.contains("no solver was trained on A100"), "{err}");
    let (_, err, code) = export("MI50", &["--solver", "ConvHipImplicitGemmGroupFwdXdlops"]);
    assert!(code == 2 && err.contains("exists for gfx908") && err.contains("not for MI50 (gfx906)"), "{err}");
    let (_, err, code) = export("MI300X", &["--solver", "ConvOclDirectFwd"]);
    assert!(
        code == 0
            && err.contains(
                "ConvOclDirectFwd: the model never saw MI300X (learned on MI50, RX 6800 XT and RX Vega 56 only)"
            ),
        "{err}"
    );
    assert!(solvers().contains("ConvOclDirectFwd") && !solvers().contains("GroupFwdXdlops"));
}

#[test]
fn a_file_that_is_named_after_another_device_and_what_no_solver_serves_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let lines = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -F 1\nMIOpenDriver convint8 -n 8 -c 64 -H 28 -W 28 -k 64 -F 4\n";
    std::fs::write(path("network.txt"), lines).unwrap();
    let named = path("gfx942130.udb.txt");
    let words = ["export", "miopen", "models/miopen", &path("network.txt"), "-o", &named, "--overwrite"];
    let (out, err, code) = run(&words);
    assert!(code == 0 && out.contains("on MI300X"), "a file's name names the device: {out}{err}");
    let (_, err, code) = run(&[&words[..], &["--device", "MI50"]].concat());
    assert!(
        code == 0 && err.contains("1 of 2 convolutions are served by no solver of the model on MI50, first 2x64"),
        "{err}"
    );
    assert!(err.contains("is named after MI300X, but its rows are for MI50 (gfx906_60)"), "{err}");
}

#[test]
fn times_are_told_of_devices_that_had_times_to_learn_from() {
    let problem = "direction=F,N=64,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1";
    for (device, told) in [("MI50", true), ("MI300X", false), ("RX 6800 XT", false), ("MI60", false)] {
        let (out, err, code) =
            run(&["predict", "models/miopen", "ConvBinWinogradRxSf3x2", problem, "--device", device]);
        assert!(code == 0 && out.contains(" us ") == told, "{device}: {out}{err}");
    }
}
