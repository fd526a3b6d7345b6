//! Convolutions in every notation of MIOpen's: keys of both generations, command lines of its driver, pairs.

use seqtune_data::formats::miopen::{Convolution, convolutions_of_command, convolutions_of_lines};
use seqtune_predict::kernel::Kernel;

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
