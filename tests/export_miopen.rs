//! `export miopen` by device: solvers that were trained on it, and others only where they are named.

mod common;

use common::run;

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
    let (_, err, code) = export("MI300X", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(solvers().contains("GroupFwdXdlops") && !solvers().contains("ConvOclDirectFwd"), "{}", solvers());
    let (_, err, code) = export("MI50", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(solvers().contains("ConvOclDirectFwd") && !solvers().contains("GroupFwdXdlops"), "no matrix cores there");
    let (_, err, code) = export("A100", &[]);
    assert!(code == 2 && err.lines().count() == 1 && err.contains("no solver was trained on A100"), "{err}");
    let (_, err, code) = export("MI300X", &["--solver", "ConvOclDirectFwd"]);
    assert!(code == 0 && err.contains("the model of ConvOclDirectFwd never saw MI300X"), "{err}");
    assert!(solvers().contains("ConvOclDirectFwd") && !solvers().contains("GroupFwdXdlops"));
}
