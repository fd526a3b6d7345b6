//! The header that is checked in is the one that cbindgen makes.

use std::path::Path;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_functions() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    let made = cbindgen::Builder::new().with_crate(package).with_config(config).generate().unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let (text, place) = (String::from_utf8(text).unwrap(), package.join("include/seqtune.h"));
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&place, &text).unwrap();
    }
    let checked_in = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(checked_in == text, "include/seqtune.h is not that of src/c: UPDATE_HEADER=1 cargo test -p seqtune-c");
}
