//! NVIDIA GPUs that are set up otherwise, on a double of the driver: slices, old drivers, machines without a compiler, and GPUs that a kernel
//! does not exist for.

use crate::common::{build_double, root, run, seqtune, text};
use seqtune_data::{Dataset, Outcome};
use seqtune_measure::backends::cuda::nvrtc::architectures;
use std::path::Path;

/// A folder with the doubles; `None`, with a word, where a compiler is missing.
fn doubles() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    for (source, library) in [("libcuda.c", "libcuda.so.1"), ("libnvidia-ml.c", "libnvidia-ml.so.1")] {
        if !build_double(source, &folder.path().join(library)) {
            return None;
        }
    }
    if architectures().is_empty() {
        println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
        return None;
    }
    Some(folder)
}

fn with_double(folder: &Path, args: &[&str], mode: &str) -> (String, String, i32) {
    text(seqtune(args).env("LD_LIBRARY_PATH", folder).env("DOUBLE_GPU", mode).output().unwrap())
}

#[test]
fn a_slice_of_a_gpu_is_measured_without_the_joules_of_the_others() {
    let Some(folder) = doubles() else { return };
    let path = folder.path().join("sweep.jsonl");
    let args = ["sweep", "gemm", "--device", "cuda:0", "--sample", "2", "--energy", "--energy-window", "0.3", "-o"];
    let args = [&args[..], &[path.to_str().unwrap(), "--problems", "M=40,N=30,K=20"]].concat();
    let (out, err, code) = with_double(folder.path(), &args, "slice");
    assert!(code == 0 && err.contains("a slice of a GPU (MIG) has no energy counter"), "{out}{err}");
    let dataset = Dataset::load(&path).unwrap();
    assert_eq!(dataset.header.device.name, "Double 1 MIG 1g.5gb");
    for record in &dataset.records {
        assert!(matches!(&record.outcome, Outcome::Measured(m) if m.energy.is_none()), "{record:?}");
        // the temperature and the throttling of the whole GPU are not its own either
        assert!(record.observed.conditions.is_none(), "{record:?}");
    }
}

#[test]
fn a_driver_that_is_older_than_the_compiler_is_told_before_anything_is_compiled() {
    let Some(folder) = doubles() else { return };
    let path = folder.path().join("sweep.jsonl");
    let said = "is newer than the driver, which is of CUDA 12.0: update it, or name the folder of an older NVRTC";
    // of the second one no reference is launched
    for problem in ["M=8,N=8,K=8", "M=16000,N=16000,K=16000"] {
        let args = ["sweep", "gemm", "--problems", problem, "--device", "cuda:0", "-o", path.to_str().unwrap()];
        let (out, err, code) = with_double(folder.path(), &args, "old");
        assert!(code == 3 && err.contains(said) && err.lines().count() == 1, "{code} {out}{err}");
        assert!(!path.exists());
    }
    let (out, _, code) = with_double(folder.path(), &["doctor"], "old");
    let cuda = out.lines().find(|line| line.contains("cuda:0 Double 1")).unwrap();
    assert!(code == 0 && cuda.starts_with("no ") && cuda.contains(said), "{cuda}");
}

#[test]
fn predicting_for_a_live_gpu_takes_no_compiler() {
    let Some(folder) = doubles() else { return };
    let model = root().join("models/gemm-h200");
    let args = ["predict", model.to_str().unwrap(), "gemm", "M=300,N=200,K=100", "--device", "cuda:0"];
    let mut predict = seqtune(&args);
    // not where .nvrtc is
    predict
        .current_dir(&folder)
        .env("LD_LIBRARY_PATH", folder.path())
        .env_remove("SEQTUNE_NVRTC")
        .env_remove("CUDA_HOME");
    let (out, err, code) = text(predict.output().unwrap());
    assert!(code == 0 && out.contains("MWG="), "{out}{err}");
    assert!(err.contains("the model never saw Double 1"), "{err}");
}

#[test]
fn warpgroups_are_hoppers_and_no_later_gpu_has_a_legal_config_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = std::fs::read_to_string(root().join("kernels/devices.toml")).unwrap();
    let hopper = shipped.split("[[device]]").find(|part| part.contains("name = \"H200\"")).unwrap();
    let later = hopper.replace("\"H200\"", "\"Later\"").replace("sm_90", "sm_100");
    let path = folder.path().join("later.toml");
    std::fs::write(&path, format!("[[device]]{later}")).unwrap();
    let device = path.to_str().unwrap();
    let (out, err, code) = run(&["space", "gemm_wg", "M=512,N=512,K=512", "--device", device]);
    assert!(code == 2 && err.contains("kernel gemm_wg exists for sm_90, not for Later (sm_100)"), "{out}{err}");
    let (_, err, code) = run(&["predict", "models/gemm_wg-h200", "gemm_wg", "M=512,N=512,K=512", "--device", device]);
    assert!(code == 2 && err.contains("exists for sm_90"), "{err}");
    // mma.sync is on all of them
    let (out, _, code) = run(&["space", "gemm_tc", "M=512,N=512,K=512", "--device", device]);
    assert!(code == 0 && !out.contains("# 0 of"), "{out}");
}

#[test]
fn a_device_that_is_lost_at_any_launch_costs_one_config() {
    let Some(folder) = doubles() else { return };
    let [path, once] = ["sweep.jsonl", "failed"].map(|name| folder.path().join(name));
    let args = ["sweep", "gemm", "--device", "cuda:0", "--sample", "3", "--problems", "M=40,N=30,K=20", "-o"];
    let args = [&args[..], &[path.to_str().unwrap()]].concat();
    // in checks, in warm-ups, in timed launches, and among those that end a config beside one that was timed in the same round
    for launch in (4..24).step_by(5).chain((60..240).step_by(9)) {
        let mut sweep = seqtune(&args);
        sweep.env("LD_LIBRARY_PATH", folder.path()).env("DOUBLE_GPU", format!("lost={launch}"));
        let (out, err, code) = text(sweep.env("DOUBLE_GPU_ONCE", &once).output().unwrap());
        // on a fast machine the last of these launches is not reached
        let least = if once.exists() { "2 measured now" } else { "3 measured now" };
        assert!(code == 0 && out.contains(least) && err.is_empty(), "launch {launch}: {code} {out}{err}");
        std::fs::remove_file(&path).unwrap();
        let _ = std::fs::remove_file(&once);
    }
}
