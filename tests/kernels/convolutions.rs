//! Convolutions in every notation of MIOpen's: keys of both generations, command lines of its driver, pairs.

use seqtune_data::formats::miopen::{Convolution, SizeRange, Stretched, Unsaid, convolutions_of_command, stretch};
use seqtune_kernel::Kernel;
use seqtune_kernel::error::Result;

fn convolutions_of_lines(text: &str) -> Result<Vec<Convolution>> {
    seqtune_data::formats::miopen::convolutions_of_lines(text, &Unsaid::default())
}

#[test]
fn a_driver_command_a_key_and_pairs_name_the_same_convolution() {
    let command = "./bin/MIOpenDriver convfp16 -n 32 -c 64 -H 55 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -l 1 -j 1 -m conv -g 1 -F 3 -t 1";
    let both = convolutions_of_command(command).unwrap();
    let keys: Vec<String> = both.iter().map(Convolution::key).collect();
    assert_eq!(
        keys,
        [
            "2x64x55x56x1x3x3x1x128x32x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xF",
            "2x128x28x28x1x3x3x1x64x32x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xB"
        ]
    );
    let pairs = "direction=F,dtype=FP16,N=32,C=64,H=55,W=56,K=128,R=3,S=3,pad_h=1,pad_w=1,stride_h=2,stride_w=2";
    let dashed = "64-55-56-3x3-128-28-28-32-1x1-2x2-1x1-0-NCHW-FP16-F";
    let lines = format!("# a network\n{command}\n\n{dashed}\n{pairs}\n");
    let all = convolutions_of_lines(&lines).unwrap();
    assert_eq!(all, [both[0].clone(), both[1].clone(), both[0].clone(), both[0].clone()]);
    for (line, expected) in [
        ("MIOpenDriver pool -n 1", "`pool` is not conv"),
        ("MIOpenDriver conv -H x", "-H `x` is not a number"),
        ("MIOpenDriver conv -m trans", "-m trans is not described, only conv"),
        ("MIOpenDriver conv -z same", "-z same is not described, only default"),
        ("MIOpenDriver conv --in_layout NHWC --fil_layout NCHW", "layouts NHWC and NCHW in one convolution"),
        ("MIOpenDriver conv -wombat 3", "`-wombat` is not an option of MIOpenDriver"),
        ("MIOpenDriver conv -n 1 -t", "-t has no value"),
        ("MIOpenDriver conv -F 8", "-F 8 names no direction"),
        ("MIOpenDriver conv -c 64 -k 64 -g 3", "3 groups do not divide 64 and 64 channels"),
        ("MIOpenDriver conv -u 0", "stride_h is 0"),
        ("direction=F,N=1,C=8,H=8,W=8,K=8,R=99,S=1", "the filter does not fit"),
        ("direction=B,N=1,C=8,H=1,W=8,K=8,R=1,S=1,pad_h=4", "the filter does not fit"),
        ("hello world", "is no MIOpenDriver command, no name=value pairs and no key"),
        ("2x64x8x8x1x1x1x1x64x2x0x0x0x1x1x0x1x1x0xNCHWxFP32xF", "has 22 parts between x, not 24"),
        ("MIOpenDriver conv -H 2 -W 2 -y 5 -x 5", "does not fit"),
        ("direction=F,N=1", "C= is missing"),
        ("64-56-56-1x1-64", "has 5 parts"),
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
fn keys_of_either_generation_are_read_and_written_in_the_second() {
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
        assert_eq!((a.key().as_str(), b.key().as_str()), (crossed, crossed));
        assert_eq!(a.without_output(), b);
    }
    let command = "MIOpenDriver convfp16 -_ 3 -n 2 -c 64 -! 8 -H 56 -W 48 -k 128 -@ 3 -y 5 -x 1 -$ 1 -p 2 -q 0 -# 2 -u 2 -v 1 -F 2";
    let backward = &convolutions_of_command(command).unwrap()[0];
    assert_eq!(backward.key(), "3x128x28x48x4x5x1x3x64x2x2x0x1x2x1x2x1x1x1x0x1xNCDHWxFP16xB");
    assert_eq!(backward.output, Some([8, 56, 48]));
}

#[test]
fn a_table_of_layers_means_the_same_as_commands() {
    let deep_bench = "w,h,c,n,k,filter_w,filter_h,pad_w,pad_h,wstride,hstride\n79,341,1,4,32,10,5,0,0,2,2\n";
    let command = "MIOpenDriver conv -n 4 -c 1 -H 341 -W 79 -k 32 -y 5 -x 10 -p 0 -q 0 -u 2 -v 2";
    assert_eq!(convolutions_of_lines(deep_bench).unwrap(), convolutions_of_command(command).unwrap());
    let models = "# of models\nop,n,c,h,w,k,fh,fw,ph,pw,sh,sw,dh,dw,g,dtype\n\
                  conv,8,64,28,28,64,3,3,2,2,1,1,2,2,64,FP16\ntrans,8,64,28,28,64,3,3,2,2,1,1,2,2,64,FP16\n";
    let command = "MIOpenDriver convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 2 -q 2 -l 2 -j 2 -g 64";
    assert_eq!(convolutions_of_lines(models).unwrap(), convolutions_of_command(command).unwrap());
    let square =
        "layer,batch,in_channels,height,width,out_channels,kernel_size,stride,padding\nconv1,8,64,28,28,64,3,2,1\n";
    let command = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2";
    assert_eq!(convolutions_of_lines(square).unwrap(), convolutions_of_command(command).unwrap());
    for (table, expected) in [
        (
            "n,c,h,w,k,fh,ph,pw\n1,1,1,1,1,1,0,0\n",
            "the table has no column for S; its first line names n,c,h,w,k,fh,ph,pw",
        ),
        ("n,c,h,w,k,fh,fw,strride\n1,8,8,8,8,1,1,2\n", "the table's column `strride` is unknown"),
        ("n,c,h,w,k,kernel,fw\n1,8,8,8,8,1,1\n", "the table has two columns for S"),
        ("n,c,h,w,k,fh,fw\n1,8,8,8,8,1\n", "line 2: has 6 cells, not 7 as the first line"),
        ("n,c,h,w,k,fh,fw\n\n1,8,8,-8,8,1,1\n", "line 3: W `-8` is not a number up to 1048576"),
        ("n,c,h,w,k,fh,fw\n1,8,8,8,8,9,1\n", "line 2: the filter does not fit into the padded image"),
        ("n,c,h,w,k,fh,fw,dtype\n1,8,8,8,8,1,1,fp8\n", "line 2: data type `fp8` is not one of FP32"),
    ] {
        let error = convolutions_of_lines(table).unwrap_err().to_string();
        assert!(error.contains(expected), "{table}: {error}");
    }
}

#[test]
fn ranges_change_the_layer_in_all_directions_alike() {
    let command = |batch: u32, edge: u32| {
        let line = format!("MIOpenDriver conv -n {batch} -c 64 -H {edge} -W {edge} -k 128 -y 3 -x 3 -u 2 -v 2");
        convolutions_of_command(&line).unwrap()
    };
    let ranges: Vec<SizeRange> = ["N=1..4*2", "H,W=1..17+8"].map(|text| text.parse().unwrap()).to_vec();
    let Stretched { convolutions: mut made, impossible: too_small } = stretch(&command(16, 50), &ranges).unwrap();
    let mut expected: Vec<Convolution> =
        [1, 2, 4].iter().flat_map(|n| [9, 17].map(|edge| command(*n, edge))).flatten().collect();
    made.sort_by_key(Convolution::key);
    expected.sort_by_key(Convolution::key);
    assert_eq!(made, expected);
    assert_eq!(too_small, 9, "no filter of 3 x 3 fits into an image of 1 x 1: three batches in three directions");
    // what is not changed stays, where a key does not tell the image's size as well
    let key = Convolution::parse("2x128x28x28x1x3x3x1x64x32x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xB").unwrap();
    let same = stretch(std::slice::from_ref(&key), &["N=32".parse().unwrap()]).unwrap().convolutions;
    assert_eq!(same[0].key(), key.key());
    for text in ["N", "N=", "N=1..8*1", "N=1..8+0", "N=8..1", "N=1...4", "N=-1", "Q=1", "=1"] {
        let error = text.parse::<SizeRange>().unwrap_err().to_string();
        assert!(error.contains("N=1..64*2") || error.contains("there is no size `"), "{text}: {error}");
    }
    let refused = |range: &str| stretch(&command(1, 50), &[range.parse().unwrap()]).unwrap_err().to_string();
    assert_eq!(refused("N=1..4000000"), "the ranges make more than 1000000 convolutions; use wider steps");
    assert_eq!(refused("N=0"), "N is 0, not 1 to 1048576");
    assert_eq!(refused("D=1..8"), "D is a size of three dimensions, and a convolution has two");
}
