//! What is read of AITER's tables and logs, and what is written.

use super::*;
use crate::bad_rows::Twice;
use crate::record::{Outcome, Tuned};

const HEAD: &str = "cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
const SMALL: &str = "a8w8_blockscale_1x128x128_256x16x64x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_4_1x1_intrawave_v1";
const LARGE: &str = "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3";

fn opened(rows: &[String]) -> OpenedText {
    let text = format!("{HEAD}\n{}\n", rows.join("\n"));
    OpenedText { place: "x/a8w8_blockscale_tuned_gemm.csv".into(), text }
}

fn row(units: u32, m: u32, id: u32, name: &str) -> String {
    format!("{units},{m},1536,7168,{id},0,19.5,{name},18.25,578.88,0.0")
}

fn kernel() -> Kernel {
    Kernel::open("gemm_a8w8_blockscale").unwrap()
}

fn device() -> Device {
    Device::find_described("MI300X").unwrap()
}

#[test]
fn rows_of_the_device_are_records_and_all_others_are_counted() {
    let rows = [
        row(304, 16, 8, SMALL),
        row(304, 4096, 0, LARGE),
        row(304, 16, 8, SMALL),
        row(304, 16, 0, LARGE),
        row(80, 16, 8, SMALL),
        row(304, 32, 9, "a8w8_of_tomorrow"),
        row(304, 0, 8, SMALL),
        row(304, 64, 8, SMALL).replace(",0,19.5", ",2,19.5"),
        "304,1".into(),
    ];
    let found = import(&kernel(), &[opened(&rows)], &device(), "").unwrap();
    let records: Vec<String> =
        found.dataset.records.iter().map(|record| format!("{} {}", record.problem, record.config)).collect();
    assert_eq!(
        records,
        [
            "M=16,N=1536,K=7168 pipeline=1,tile_m=16,tile_n=64,tile_k=256",
            "M=4096,N=1536,K=7168 pipeline=3,tile_m=128,tile_n=128,tile_k=128"
        ]
    );
    assert_eq!(found.dataset.records[0].outcome, Outcome::Tuned(Tuned { time_us: Some(19.5) }));
    assert_eq!((found.rows, found.twice), (9, Twice { same: 1, again: 1 }));
    let reasons: Vec<&String> = found.left_out.keys().collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert_eq!(found.bad.rows(), 2, "{:?}", found.bad);
}

#[test]
fn rows_are_added_with_the_release_s_number_and_the_text_before_stays() {
    let file = opened(&[row(80, 16, 7, SMALL), row(304, 4096, 3, LARGE), row(304, 8192, 11, SMALL)]);
    let (kernel, device, table) = (kernel(), device(), GemmTable::read(&file).unwrap());
    let names = table.kernels(&device);
    assert_eq!(names.iter().map(|own| own.id.as_str()).collect::<Vec<_>>(), ["3", "11"]);
    let shape = missing_in(
        "[aiter] shape is M:1, N:2112, K:7168, not found tuned config in /a b/a8w8_blockscale_tuned_gemm.csv, will use default config!",
    )
    .unwrap();
    assert_eq!(shape.table, table.file_name());
    let problem = problem(&kernel, &shape.fields).unwrap();
    let config = &configs_of(&kernel, SMALL).unwrap()[0];
    let text = table.with_rows(&kernel, &device, &[NewRow { problem: &problem, config, us: 12.25 }]).unwrap();
    assert_eq!(text, format!("{}304,1,2112,7168,11,0,12.2500,{SMALL},0,0,0\n", file.text));
    let again = import(&kernel, &[OpenedText { text, ..file }], &device, "").unwrap();
    assert_eq!((again.dataset.records.len(), again.bad.rows()), (3, 0));
    let other = &configs_of(&kernel, &SMALL.replace("16x64x256", "16x128x256").replace("_4_1x1", "_8_1x2")).unwrap()[0];
    let refused = table.with_rows(&kernel, &device, &[NewRow { problem: &problem, config: other, us: 0.0 }]);
    assert!(refused.unwrap_err().to_string().contains("names no kernel"));
}

#[test]
fn tables_become_one_with_the_rows_of_all_gpus_and_the_first_row_of_a_shape() {
    let mut table = GemmTable::read(&opened(&[row(304, 16, 8, SMALL), row(80, 16, 8, SMALL)])).unwrap();
    let other = [row(304, 16, 0, LARGE), row(256, 16, 0, LARGE), row(304, 32, 0, LARGE)];
    table.add_table(&GemmTable::read(&opened(&other)).unwrap()).unwrap();
    let whole = opened(&[row(304, 16, 8, SMALL), row(80, 16, 8, SMALL), other[1].clone(), other[2].clone()]);
    assert_eq!((table.text.clone(), table.rows.len()), (whole.text, 4));
    let cut = OpenedText { text: table.text.trim_end()[..table.text.len() - 40].into(), ..opened(&[]) };
    let cut = GemmTable::read(&cut).unwrap();
    assert!(cut.check_rows().unwrap_err().to_string().contains("row 4 has 8 cells"), "{:?}", cut.check_rows());
    let columns = OpenedText { text: format!("{HEAD},x\n"), ..opened(&[]) };
    assert!(table.add_table(&GemmTable::read(&columns).unwrap()).is_err());
    let h200 = Device::find_described("H200").unwrap();
    assert!(import(&kernel(), &[opened(&[])], &h200, "").is_err(), "a GPU that AITER is not for");
}

#[test]
fn a_table_of_architectures_tells_them_apart_and_one_without_names_is_refused() {
    let text = format!("gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName\ngfx950,304,16,1536,7168,8,0,9.5,{SMALL}\n");
    let file = OpenedText { place: "x.csv".into(), text };
    let found = import(&kernel(), std::slice::from_ref(&file), &device(), "").unwrap();
    assert_eq!((found.dataset.records.len(), found.left_out.len()), (0, 1));
    let own = OpenedText { text: file.text.replace("gfx950", "gfx942"), ..file };
    assert_eq!(import(&kernel(), &[own], &device(), "").unwrap().dataset.records.len(), 1);
    let lacking = OpenedText { place: "u.csv".into(), text: "M,N,K\n1,2,3\n".into() };
    assert!(GemmTable::read(&lacking).unwrap_err().to_string().contains("has no column cu_num"));
    assert!(import(&Kernel::open("gemm").unwrap(), &[], &device(), "").is_err());
}

#[test]
fn lines_of_logs_tell_shapes_with_and_without_the_table() {
    let fields = |line: &str| {
        missing_in(line).map(|own| own.fields.iter().map(|f| format!("{}={}", f.name, f.value)).collect::<Vec<_>>())
    };
    let typed = "shape is M:1, N:9216, K:4096, q_dtype_w:torch.int8, not found tuned config in /x/t.csv, will use default config!";
    assert_eq!(fields(typed).unwrap(), ["M=1", "N=9216", "K=4096", "q_dtype_w=torch.int8"]);
    let batched = "shape is B:16, M:1, N:1280, K:8192, not found tuned config in CKGEMM, will use default config!";
    assert_eq!(missing_in(batched).unwrap().table, "CKGEMM");
    for other in ["not found tuned config in x.csv", "shape M:1, N:2, K:3 is tuned, in x.csv!", ""] {
        assert_eq!(missing_in(other), None, "{other}");
    }
}
