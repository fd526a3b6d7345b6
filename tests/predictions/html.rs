//! Reports as pages, made by the program and shown by a real browser where there is one.

use crate::common::{root, run};
use std::process::Command;

#[test]
fn an_evaluation_is_one_page_that_a_browser_shows_with_its_plots_and_every_problem() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html").display().to_string();
    let (_, err, code) =
        run(&["evaluate", "model", "models/gemm-cpu", "datasets/gemm/cpu-epyc-2c.sqt", "--html", &page, "--json"]);
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(&page).unwrap();
    // the names of XML's vocabularies are no addresses
    let addresses = text.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "href=", "<script", "@import"] {
        assert!(!addresses.contains(outside), "the page needs {outside}");
    }
    assert_eq!((text.matches("<svg").count(), text.matches("<tr>").count()), (3, 71), "a head and 70 problems");
    assert!(
        text.contains("calibration") && text.contains("models/gemm-cpu") && text.contains("The first choice reaches")
    );
    let Some(browser) = browser() else {
        println!("skipped: no Chromium is here to show a page; `scripts/setup.sh chromium` installs it");
        return;
    };
    let profile = folder.path().join("profile").display().to_string();
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
        .args([&format!("--user-data-dir={profile}"), "--dump-dom", &format!("file://{page}")])
        .current_dir(root())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&shown.stdout);
    assert_eq!((dom.matches("<svg").count(), dom.matches("<tr>").count()), (3, 71), "{dom:.300}");
}

/// The name of a Chromium that starts.
fn browser() -> Option<&'static str> {
    let starts = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(starts)
}

#[test]
fn an_evaluation_on_tuned_configs_is_a_page_with_a_row_for_each_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let (tuned, page) = (folder.path().join("tuned"), folder.path().join("report.html"));
    let (tuned, page) = (tuned.display().to_string(), page.display().to_string());
    let (_, err, code) = run(&["import", "miopen", "tests/goldens/inputs/gfx906_60.tuned.db.txt", "-o", &tuned]);
    assert_eq!(code, 0, "{err}");
    let (_, err, code) = run(&["evaluate", "model", "models/miopen", &tuned, "--lightgbm=off", "--html", &page]);
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!((text.matches("<svg").count(), text.matches("<tr>").count()), (2, 3), "a head and two kernels");
    assert!(text.contains("ConvAsm1x1U") && text.contains("The first choice is the tuned config for"));
}
