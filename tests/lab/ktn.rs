//! MIOpen's own predictor, run from the files that it ships, on the problems of the MI300X.

use crate::common::public;
use seqtune_data::formats::miopen::{self, MiopenOptions, NamedRows, Row};
use seqtune_kernel::{ConfigSpace, Device, Kernel};
use seqtune_lab::ktn::Ktn;
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn the_networks_of_kernel_tuning_net_give_what_their_files_say_and_choose_as_often_right_as_others_found() {
    let Some(folder) = public("miopen", "the history of github.com/ROCm/MIOpen") else { return };
    let folder = Path::new(&folder);
    let device = Device::find_described("MI300X").unwrap();
    let rows = miopen::read(&folder.join("gfx942130_2024-12.db.txt.bz2")).unwrap().rows;
    // exact in percent on random problems of this database, found by another program
    for (solver, found_elsewhere) in [
        ("ConvHipImplicitGemmGroupFwdXdlops", 14.4),
        ("ConvHipImplicitGemmGroupBwdXdlops", 40.1),
        ("ConvHipImplicitGemmGroupWrwXdlops", 28.0),
    ] {
        let kernel = Kernel::open(solver).unwrap();
        // opening holds each network against the test in its file
        let ktn = Ktn::open(&folder.join("ktn"), &kernel, &device.architecture).unwrap().unwrap();
        let own: Vec<Row> = rows.iter().filter(|row| row.is_of(solver)).step_by(46).cloned().collect();
        let ask = MiopenOptions { solvers: &[], times: &BTreeMap::new(), rules: false, command: String::new() };
        let imported =
            miopen::import(&[NamedRows { place: "rows".into(), device: device.clone(), rows: own }], &ask, &mut |_| {})
                .unwrap();
        let dataset = imported.datasets.into_values().next().unwrap();
        let (mut served, mut right) = (0.0, 0.0);
        for record in &dataset.records {
            let problem = kernel.problem(&record.problem).unwrap();
            let Some(config) = ktn.choose(&kernel, &problem, &device).unwrap() else {
                assert!(record.problem.contains("BF16"), "{}", record.problem);
                continue;
            };
            assert!(ConfigSpace::new(&kernel, &problem, &device).is_legal(&config), "{}", record.problem);
            served += 1.0;
            right += f64::from(u8::from(kernel.show_config(&config) == *record.config));
        }
        let exact = 100.0 * right / served;
        println!("{solver}: {exact:.1} % of {served}");
        assert!(served > 500.0 && (exact - found_elsewhere).abs() < 5.0, "{solver}: {exact:.1} % of {served}");
    }
    let other = Kernel::open("ConvAsm1x1U").unwrap();
    assert!(Ktn::open(&folder.join("ktn"), &other, "gfx942").unwrap().is_none());
}
