//! Lets the linked program find libtorch: beside where it was built, and beside itself when it was carried elsewhere.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(libtorch) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{libtorch}");
    }
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN");
}
