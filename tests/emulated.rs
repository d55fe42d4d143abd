//! The same binary on another CPU: an emulated Haswell, the oldest that has AVX2 and FMA, gives the same fingerprints for every small
//! card. Where the machine has AVX-512, the kernels for it are compared with those for AVX2; where not, those with an emulation of them.
//!
//! It takes `qemu-x86_64` from the package `qemu-user`; where that is missing, each test says so and compares nothing. A vector that
//! takes the CPU an instruction takes the emulator some hundred, so the cards are shortened, but no phase of any is left out;
//! `tests/bench/speed.py bits` runs them at their own lengths, with both kinds of kernels.

use crate::support::{TempDir, run_args};
use folkmoot_metrics::RunDir;
use std::process::{Command, Output};

const EMULATOR: &str = "qemu-x86_64";

/// Cards and what shortens them. FedWalk and DeepWalk keep skip-gram and the classifier of its vectors.
const CARDS: [(&str, &[&str]); 18] = [
    (
        "karate",
        &["strategy.walks_per_node=2", SHORT_VECTORS, ONE_RATIO, ONE_SHUFFLE],
    ),
    (
        "fedwalk/small",
        &[
            "dataset.n_nodes=100",
            "strategy.walks_per_node=1",
            SHORT_WALKS,
            SHORT_VECTORS,
            ONE_RATIO,
            ONE_SHUFFLE,
        ],
    ),
    (
        "deep-walk/output-layers",
        &[
            "dataset.n_nodes=100",
            "strategy.walks_per_node=1",
            SHORT_WALKS,
            ONE_RATIO,
            ONE_SHUFFLE,
        ],
    ),
    (
        "fed-avg/small",
        &["strategy.protocol.rounds=2", FEW_GRAPHS, "strategy.training.epochs=1"],
    ),
    (
        "federated/small",
        &[
            "strategy.protocol.rounds=2",
            FEW_GRAPHS,
            "partition.min_size=2",
            "strategy.training.epochs=2",
            "strategy.method=Moon()",
            "strategy.protocol.up=Qsgd(coding: Range)",
        ],
    ),
    (
        "fed-gcn/small",
        &[
            "strategy.protocol.rounds=3",
            "dataset.n_nodes=120",
            "strategy.between=Peers",
        ],
    ),
    (
        "ada-fgl/small",
        &[
            "strategy.protocol.rounds=2",
            "dataset.n_nodes=60",
            "partition.n_clients=3",
            "strategy.personal.epochs=3",
            "strategy.personal.branch=Mixed",
        ],
    ),
    (
        "fed-sage/small",
        &[
            "strategy.protocol.rounds=2",
            "dataset.n_nodes=60",
            "partition.n_clients=3",
            "strategy.generator.epochs=20",
            "strategy.generator.steps=1",
        ],
    ),
    (
        "scaffold/small",
        &["strategy.protocol.rounds=2", FEW_GRAPHS, "strategy.training.epochs=1"],
    ),
    (
        "gossip/small",
        &[
            "strategy.rounds=2",
            FEW_GRAPHS,
            "partition.n_clients=4",
            "partition.min_size=2",
            "strategy.topology=SmallWorld(neighbours: 2)",
        ],
    ),
    (
        "users/small",
        &[
            "dataset.n_nodes=60",
            "strategy.training.epochs=3",
            "strategy.features=MultiBitFeatures(epsilon: 2)",
            "strategy.feature_steps=1",
            "strategy.labels=LabelResponse()",
            "strategy.loss=Drop",
            "strategy.edges=Blink(graph: Soft)",
        ],
    ),
    (
        "walk-sgd/small",
        &[
            "strategy.steps=20",
            "strategy.report_every=10",
            FEW_GRAPHS,
            "partition.n_clients=4",
            "strategy.noise=()",
            "strategy.jumps=()",
        ],
    ),
    ("fgcl/small", &["strategy.protocol.rounds=1", FEW_GRAPHS]),
    (
        "gw-ldp/small",
        &[
            "dataset.n_graphs=24",
            "dataset.max_nodes=13",
            "partition.n_clients=2",
            "strategy.protocol.rounds=1",
            "strategy.evaluation.metrics=[Released, Hops]",
            "strategy.evaluation.svm=Grid(choose_by: Validation, grid: (c: [1.0], gamma: [1.0]))",
            // The smallest of these cards draws one.
            "strategy.evaluation.map=false",
        ],
    ),
    ("gw-ldp/average-small", &["strategy.protocol.rounds=2", FEW_CENTRES]),
    ("gw-ldp/clusters-small", &["strategy.protocol.rounds=2", FEW_CENTRES]),
    (
        "ppgm/small",
        &[
            "dataset.n_functions=20",
            "dataset.n_levels=1",
            "strategy.size.hidden=24",
            "strategy.training.epochs=1",
            "strategy.attack.epochs=2",
        ],
    ),
    (
        "ppgm/federated",
        &[
            "dataset.n_functions=20",
            "dataset.n_levels=1",
            "partition.n_clients=3",
            "strategy.size.hidden=8",
            "strategy.training.epochs=1",
            "strategy.protocol.rounds=1",
        ],
    ),
];
const FEW_CENTRES: &str = "partition.centres=Sample(15)";
const FEW_GRAPHS: &str = "dataset.n_graphs=60";
const ONE_RATIO: &str = "strategy.evaluation.classification.train_ratios=[0.5]";
const ONE_SHUFFLE: &str = "strategy.evaluation.classification.n_shuffles=1";
const SHORT_VECTORS: &str = "strategy.embedding=SkipGram(dim: 48)";
const SHORT_WALKS: &str = "strategy.walk_length=20";

/// Runs the program on the emulated CPU in this folder; `None` where there is no emulator.
#[allow(clippy::print_stdout, reason = "a test that compares nothing says so")]
fn emulated(temp: &TempDir, args: &[&str]) -> Option<Output> {
    if Command::new(EMULATOR).arg("--version").output().is_err() {
        println!("skipped: {EMULATOR} is not installed");
        return None;
    }
    let mut command = Command::new(EMULATOR);
    command.args(["-cpu", "Haswell", env!("CARGO_BIN_EXE_folkmoot")]);
    let output = command.args(args).current_dir(temp.path()).output();
    Some(output.expect("the emulator was found a moment ago"))
}

/// Runs the cards whose names begin so, and verifies on the emulated CPU what they gave. What differs first stands in the message.
#[track_caller]
fn an_emulated_haswell_verifies(system: &str) {
    let temp = TempDir::new();
    let mut n_verified = 0;
    for (card, settings) in CARDS.iter().filter(|(card, _)| card.starts_with(system)) {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
        temp.run(&run_args(
            &[card],
            card,
            &[&["--threads", "1"], settings.as_slice()].concat(),
        ))
        .done();
        if let Some(output) = emulated(&temp, &["verify", card, "--threads", "1"]) {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && said.trim_end() == format!("{card}: the same fingerprint again"),
                "{said}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        n_verified += 1;
    }
    assert!(n_verified > 0, "no card of {system} is compared");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_karate() {
    an_emulated_haswell_verifies("karate");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_fedwalk() {
    an_emulated_haswell_verifies("fedwalk/");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_deep_walk() {
    an_emulated_haswell_verifies("deep-walk/");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_federated_methods() {
    an_emulated_haswell_verifies("federated");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_methods_for_a_cut_graph() {
    for system in ["fed-gcn/", "ada-fgl/", "fed-sage/"] {
        an_emulated_haswell_verifies(system);
    }
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_federated_averaging() {
    an_emulated_haswell_verifies("fed-avg/");
    an_emulated_haswell_verifies("scaffold/");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_fgcl() {
    an_emulated_haswell_verifies("fgcl/");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_gw_ldp() {
    an_emulated_haswell_verifies("gw-ldp/");
}

#[test]
fn an_emulated_haswell_gives_the_fingerprints_of_ppgm() {
    an_emulated_haswell_verifies("ppgm/");
}

/// Nothing happens before a nanosecond has gone by, but the program has looked at its CPU.
#[test]
fn an_emulated_haswell_is_not_warned_of() {
    let temp = TempDir::new();
    let args = run_args(&["karate"], "out", &["--dry-run", "--set", "horizon_s=1e-9"]);
    if let Some(output) = emulated(&temp, &args) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let manifest = RunDir::open(&temp.join("out")).unwrap().manifest;
        assert!(manifest.warnings.is_empty(), "{:?}", manifest.warnings);
    }
}

#[test]
fn every_small_card_is_compared_on_an_emulated_cpu() {
    let listed = TempDir::new().run(&["list"]).done();
    let cards = listed.split("\n\n").next().unwrap().lines().skip(2);
    let small: Vec<&str> = cards
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.ends_with("small"))
        .collect();
    assert!(small.len() >= 8, "{small:?}");
    for name in small {
        assert!(
            CARDS.iter().any(|(card, _)| *card == name),
            "{name} is not among the cards"
        );
    }
}
