//! The same binary on another CPU: an emulated Haswell, the oldest that has AVX2 and FMA, gives the same fingerprint.
//!
//! It takes `qemu-x86_64` from the package `qemu-user`; where that is missing, the test says so and compares nothing.

use crate::support::TempDir;
use folkmoot_metrics::RunDir;
use std::process::Command;

#[test]
fn an_emulated_haswell_gives_the_same_fingerprint() {
    let emulator = "qemu-x86_64";
    if Command::new(emulator).arg("--version").output().is_err() {
        println!("skipped: {emulator} is not installed");
        return;
    }
    let temp = TempDir::new();
    // All of phase A, B and C, with vectors that are soon learned.
    let args = [
        "run",
        "karate",
        "--quiet",
        "--threads",
        "1",
        "--set",
        "strategy.walks_per_node=2",
        "--set",
        "strategy.evaluation.classification.n_shuffles=2",
    ];
    temp.run(&[args.as_slice(), &["--out", "native"]].concat()).done();
    let emulated = Command::new(emulator)
        .args(["-cpu", "Haswell", env!("CARGO_BIN_EXE_folkmoot")])
        .args(args)
        .args(["--out", "emulated"])
        .current_dir(temp.join(""))
        .output()
        .expect("the emulator was found a moment ago");
    assert!(
        emulated.status.success(),
        "{}",
        String::from_utf8_lossy(&emulated.stderr)
    );
    let manifest = |dir: &str| RunDir::open(&temp.join(dir)).unwrap().manifest;
    let (native, emulated) = (manifest("native"), manifest("emulated"));
    assert_eq!(native.result_fingerprint, emulated.result_fingerprint);
    assert!(emulated.warnings.is_empty(), "{:?}", emulated.warnings);
}
