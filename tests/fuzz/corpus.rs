//! Inputs that fuzzing begins with: files in the tree, and small ones made here.

use std::path::Path;

/// The corpus of a target: files in the tree.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let read = |path: &str| std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let lines = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    match target {
        "kernel_toml" => vec![
            read("src/predict/toy/kernel.toml"), read("kernels/gemm/kernel.toml"), read("kernels/conv2d/kernel.toml"),
            lines(&["name = 'k'\nmeaning = 'k'\n[define]\na = 'b + 1'\nb = '2 * p'\n[[parameter]]\nname = 'p'\nvalues = [1, 2, 4]\ndefault = 1\nmeaning = 'p'\n[[constraint]]\nexpr = 'a <= 8 and p % 2 == 0'\nreason = 'r'\n[work]\nflops = '1'\nbytes = '1'\n"]).remove(0),
        ],
        "expression" => lines(&["a + b * 3 // 2", "if(a > 2, min(a, b), cdiv(b, 4)) == 1 and not b", "pow(2, log2(sqrt(a))) % 7 != -1"]),
        "problem" | "stream" => lines(&["M=64,N=64,K=64,transA=T,dtype=f16", "{\"M\": 64, \"N\": 3, \"K\": \"9\"}", "# a list\nM=1,N=2,K=3\n\nM=4,N=5,K=6\n"]),
        "config" => lines(&["MWG=64,NWG=64,MDIM=8,NDIM=8,VWN=4,STRM=0,STRN=0,KWG=16,KWI=2,SA=1,SB=1,PAD=0,VWA=1,VWB=1,GROUP=1"]),
        "devices" => vec![read("src/kernel/kernels/devices.toml")[..3_000].to_vec(), lines(&["[[device]]\nname = 'x'\naliases = ['y']\nlimits = { local_memory = 65536, max_group_items = 1024 }\n"]).remove(0)],
        "journal" => vec![of_dataset(false)],
        "packed" => vec![of_dataset(true)],
        "packed_contents" => {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&of_dataset(true)[8..]), &mut plain).unwrap();
            vec![plain]
        }
        "model" => vec![read("src/predict/toy/model/model.safetensors")],
        "miopen_database" | "miopen_convolutions" => {
            let mut texts = if target == "miopen_database" { vec![sqlite()] } else { Vec::new() };
            texts.extend([read("tests/goldens/inputs/gfx906_60.db.txt"), read("tests/goldens/inputs/gfx906_60.HIP.fdb.txt")]);
            texts.extend(lines(&["MIOpenDriver convfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 0", "direction=F,N=1,C=2,H=3,W=4,K=5,R=1,S=1"]));
            texts
        }
        "autoheuristic" => vec![read("tests/goldens/inputs/mm.txt")],
        "kernel_tuner" => lines(&[r#"{"device_name": "T4", "kernel_name": "toy", "problem_size": [64, 32], "tune_params_keys": ["tile", "width"], "objective": "time", "cache": {"1": {"tile": 1, "width": 1, "time": 2.0, "times": [5.0, 2.0, 2.5], "nvml_energy": 0.25, "nvml_power": NaN}, "2": {"tile": "2", "width": true, "time": "RuntimeFailedConfig"}, "4": {"tile": 4.0, "width": 2, "time": 0.5}}}"#]),
        "ktt" => lines(&[r#"{"Metadata": {"Device": "T4", "TimeUnit": "Microseconds"}, "Results": [{"Configuration": [{"Name": "tile", "Value": 2, "ValueType": "Int"}, {"Name": "width", "Value": 1.0}], "KernelName": "toy", "Status": "Ok", "TotalDuration": 96.5}, {"Configuration": [{"Name": "tile", "Value": 1}, {"Name": "width", "Value": 1}], "KernelName": "toy", "Status": "ComputationFailed", "TotalDuration": 0.0}]}"#]),
        "t4" => lines(&[r#"{"schema_version": "1.0.0", "metadata": {"timeunit": "microseconds", "device": "T4"}, "results": [{"configuration": {"tile": "4", "width": 1}, "times": {"runtimes": [3.0, 1.0]}, "invalidity": "correct", "measurements": [{"name": "time", "value": 1.0, "unit": "us"}, {"name": "energy", "value": 3, "unit": "mJ"}], "objectives": ["time"]}, {"configuration": {"tile": 1, "width": 1}, "invalidity": "compile"}]}"#]),
        "triton" => lines(&[r#"{"key": [64, 32, 16, "torch.float32"], "configs_timings": [[{"kwargs": {"MWG": 64, "NWG": 64, "MDIM": 8, "NDIM": 8, "VWN": 4, "STRM": 0, "STRN": 0, "KWG": 16, "KWI": 2, "SA": true, "SB": 1, "PAD": 0, "VWA": 1, "VWB": 1, "GROUP": 1}, "num_warps": 4, "num_ctas": 1, "num_stages": 3, "maxnreg": null}, [0.5, 0.4, Infinity]]]}"#]),
        other => panic!("no corpus for {other}"),
    }
}

/// The first records of a shipped dataset, as a journal or packed.
fn of_dataset(is_packed: bool) -> Vec<u8> {
    let mut dataset = seqtune_data::Dataset::load(Path::new("datasets/gemm/cpu-epyc-2c.sqt")).unwrap();
    dataset.records.truncate(20);
    if is_packed { seqtune_data::packed::encode(&dataset).unwrap() } else { seqtune_data::journal::encode(&dataset) }
}

/// A database of MIOpen with one convolution.
fn sqlite() -> Vec<u8> {
    let sizes = "in_channels in_h in_w fil_h fil_w out_channels batchsize pad_h pad_w conv_stride_h conv_stride_w dilation_h dilation_w group_count";
    let columns: Vec<String> = sizes.split_whitespace().map(|name| format!("{name} INT")).collect();
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let text = format!(
        "CREATE TABLE config (id INTEGER PRIMARY KEY, layout TEXT, data_type TEXT, direction TEXT, spatial_dim INT, bias INT, {});
         CREATE TABLE perf_db (id INTEGER PRIMARY KEY, solver TEXT, config INTEGER, params TEXT);
         INSERT INTO config VALUES (1, 'NCHW', 'FP32', 'F', 2, 0, 64, 28, 28, 3, 3, 64, 4, 1, 1, 1, 1, 1, 1, 1);
         INSERT INTO perf_db VALUES (1, 'ConvAsm3x3U', 1, '4,4,64,1');",
        columns.join(", ")
    );
    connection.execute_batch(&text).unwrap();
    connection.serialize(rusqlite::MAIN_DB).unwrap().to_vec()
}
