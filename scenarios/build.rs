//! Tells the program where cards and claims lie, so that it finds them in a package, too.

fn main() {
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=dir={dir}");
}
