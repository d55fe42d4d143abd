//! The same binary on another CPU: an emulated Haswell, the oldest that has AVX2 and FMA, gives the
//! same fingerprints for every small card. Where the machine has AVX-512, the kernels for it are
//! compared with those for AVX2; where not, those with an emulation of them.
//!
//! It takes `qemu-x86_64` from the package `qemu-user`; where that is missing, each test says so
//! and compares nothing. A vector that takes the CPU an instruction takes the emulator some
//! hundred, so the cards are shortened, but no phase of any is left out;
//! `tests/bench/speed.py bits` runs them at their own lengths, with both kinds of kernels.

use crate::support::{TINY, TempDir, not_run, run_args};
use crate::trials::{Trial, on_all_cores, trials};
use folkmoot_metrics::RunDir;
use std::process::{Command, Output};

const EMULATOR: &str = "qemu-x86_64";

/// Runs the program on the emulated CPU in this folder; `None` where there is no emulator.
fn emulated(temp: &TempDir, args: &[&str]) -> Option<Output> {
    if Command::new(EMULATOR).arg("--version").output().is_err() {
        not_run(&format!("{EMULATOR} is not installed"));
        return None;
    }
    let mut command = Command::new(EMULATOR);
    command.args(["-cpu", "Haswell", env!("CARGO_BIN_EXE_folkmoot")]);
    let output = command.args(args).current_dir(temp.path()).output();
    Some(output.expect("the emulator was found a moment ago"))
}

/// Runs a shortened card, and verifies on the emulated CPU what it gave. What differs first stands
/// in the message.
#[track_caller]
fn an_emulated_haswell_verifies(trial: &Trial) {
    let temp = TempDir::new();
    temp.run(&run_args(&trial.args(), "out", &["--threads", "1"])).done();
    if let Some(output) = emulated(&temp, &["verify", "out", "--threads", "1"]) {
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.trim_end() == "out: the same result hash",
            "{}: {said}{}",
            trial.name(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_every_algorithm() {
    on_all_cores(&trials(|file| &file.emulated), an_emulated_haswell_verifies);
}

/// Nothing happens before a nanosecond has gone by, but the program has looked at its CPU.
#[test]
fn an_emulated_haswell_is_not_warned_of() {
    let temp = TempDir::new();
    let args = run_args(&[TINY], "out", &["--dry-run", "--set", "horizon_s=1e-9"]);
    if let Some(output) = emulated(&temp, &args) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let manifest = RunDir::open(&temp.join("out")).unwrap().manifest;
        let warnings: Vec<&String> = (manifest.warnings.iter())
            .filter(|warning| !warning.starts_with("no round was finished before horizon_s"))
            .collect();
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn every_small_card_is_compared_on_an_emulated_cpu() {
    let listed = TempDir::new().run(&["list"]).done();
    let cards = listed.split("\n\n").find(|block| block.starts_with("cards ("));
    let cards = cards.unwrap().lines().skip(2);
    let small: Vec<&str> = cards
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.ends_with("small"))
        .collect();
    assert!(small.len() >= 4, "{small:?}");
    let rows = trials(|file| &file.emulated);
    for name in small {
        assert!(
            rows.iter().any(|trial| trial.card == name),
            "{name} is not among the cards"
        );
    }
}
