//! Every strategy, stopped and gone on with.

use super::stopping_changes_nothing;
use crate::support::ROUGH;

#[test]
fn stopping_changes_nothing_of_fedwalk() {
    stopping_changes_nothing("karate", &[], false);
    let settings: Vec<&str> = ROUGH[1..].iter().copied().filter(|word| *word != "--set").collect();
    stopping_changes_nothing(ROUGH[0], &settings, false);
    let rows = [
        "dataset.n_nodes=200",
        "strategy.walks_per_node=2",
        "strategy.walk_length=8",
    ];
    stopping_changes_nothing("fedwalk/rows", &rows, true);
    stopping_changes_nothing("fedwalk/curious", &rows, true);
}

/// Clients come and go, updates are lost or late, and the model is sent to more than are waited for.
const COMING_AND_GOING: [&str; 3] = [
    "cohort=Size(n: 6, over_select: 1.5)",
    "availability=Bernoulli(online_prob: 0.8)",
    "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 0)",
];

#[test]
fn stopping_changes_nothing_of_gossip() {
    let rough = |more: &[&'static str]| {
        let world = [
            "strategy.rounds=4",
            "strategy.timeout_s=2",
            "availability=Bernoulli(online_prob: 0.8)",
            "network=Links(peer: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 0)",
        ];
        [&world, more].concat()
    };
    stopping_changes_nothing("gossip/small", &rough(&[]), false);
    let others = [
        "strategy.method=Dpsgd",
        "strategy.topology=Changing(neighbours: 2)",
        "strategy.start=Own",
    ];
    stopping_changes_nothing("gossip/small", &rough(&others), false);
    stopping_changes_nothing("gossip/small", &rough(&["strategy.method=Pairwise()"]), false);
    stopping_changes_nothing("gossip/small", &rough(&["strategy.method=Dpsgd"]), true);
    // What a codec has left out waits at its client.
    for method in ["Averaging", "Pairwise()"] {
        let method = format!("strategy.method={method}");
        let packed = [
            "strategy.codec=TopK(share: 0.1)",
            "strategy.mixing=0.1",
            method.as_str(),
        ];
        let settings = [&rough(&[])[..], &packed].concat();
        stopping_changes_nothing("gossip/small", &settings, method.contains("Pairwise"));
    }
}

#[test]
fn stopping_changes_nothing_of_users_of_one_node() {
    let rough = |more: &[&'static str]| {
        let world = [
            "dataset.n_nodes=60",
            "strategy.training.epochs=4",
            "strategy.controls=false",
            "availability=Bernoulli(online_prob: 0.8)",
            "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 0)",
            "deadline_ms=150",
        ];
        [&world, more].concat()
    };
    let private = [
        "strategy.features=MultiBitFeatures()",
        "strategy.labels=LabelResponse()",
        "strategy.edges=Blink(graph: Soft)",
    ];
    stopping_changes_nothing("users/small", &rough(&private), false);
    stopping_changes_nothing("users/small", &rough(&["strategy.edges=Dprr()"]), true);
}

#[test]
fn stopping_changes_nothing_of_walks() {
    let rough = |more: &[&'static str]| {
        let world = [
            "strategy.steps=60",
            "strategy.report_every=20",
            "strategy.tokens=3",
            "availability=Bernoulli(online_prob: 0.8)",
            "network=Links(peer: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 0)",
        ];
        [&world, more].concat()
    };
    stopping_changes_nothing("walk-sgd/small", &rough(&["strategy.noise=()"]), false);
    stopping_changes_nothing("walk-sgd/small", &rough(&["strategy.jumps=(prob: 0.5)"]), true);
    let packed = ["strategy.jumps=(prob: 0.5)", "strategy.codec=Qsgd(levels: 15)"];
    stopping_changes_nothing("walk-sgd/small", &rough(&packed), false);
}

#[test]
fn stopping_changes_nothing_of_rounds() {
    let rough = |more: &[&'static str]| [&["strategy.protocol.rounds=4"], &COMING_AND_GOING[..], more].concat();
    stopping_changes_nothing("fed-avg/small", &rough(&[]), false);
    stopping_changes_nothing("fed-avg/small", &rough(&["strategy.protocol.secure=Pairwise()"]), false);
    // What a codec has left out waits at its client.
    let packed = ["strategy.protocol.up=TopK(share: 0.1)", "strategy.protocol.down=Half()"];
    stopping_changes_nothing("fed-avg/small", &rough(&packed), false);
    let buffered = "strategy.protocol.aggregation=Buffered(size: 3)";
    stopping_changes_nothing("fed-avg/small", &rough(&[buffered]), false);
    stopping_changes_nothing(
        "fed-avg/small",
        &rough(&["strategy.protocol.aggregation=Mixed()"]),
        false,
    );
    stopping_changes_nothing("scaffold/small", &rough(&[]), false);
    for method in [
        "LocalOnly()",
        "FineTuned()",
        "FedNova()",
        "FedDyn()",
        "Moon()",
        "FedPer()",
        "FedRep()",
        "Ditto()",
        "Gcfl(mean_norm: 1000, longest_norm: 0, first_rounds: 1, by: Gradients(rounds: 2))",
        "Ifca()",
    ] {
        let method = format!("strategy.method={method}");
        let settings = [&["strategy.protocol.rounds=4", method.as_str()], &COMING_AND_GOING[..]].concat();
        stopping_changes_nothing("federated/small", &settings, false);
    }
    for method in ["FedGta()", "FedPub()"] {
        let method = format!("strategy.method={method}");
        let settings = [&["strategy.protocol.rounds=4", method.as_str()], &COMING_AND_GOING[..]].concat();
        stopping_changes_nothing("federated/communities", &settings, false);
    }
    for method in ["Ditto()", "FedPub()"] {
        let method = format!("strategy.method={method}");
        let with_memory = [
            "strategy.optimiser_state=Kept",
            "strategy.training.optimiser=Adam",
            "strategy.training.weight_decay=0",
        ];
        let settings = [
            &["strategy.protocol.rounds=4", method.as_str()],
            &with_memory[..],
            &COMING_AND_GOING[..],
        ]
        .concat();
        stopping_changes_nothing("federated/communities", &settings, false);
    }
    let structured = [
        "strategy.protocol.rounds=4",
        "strategy.method=FedStar()",
        "strategy.model.encoder=Structured(structure: 4)",
        "strategy.inputs=Structured(walks: 2, degrees: 2)",
    ];
    stopping_changes_nothing(
        "federated/small",
        &[&structured[..], &COMING_AND_GOING[..]].concat(),
        false,
    );
    let second = [
        "strategy.protocol.rounds=4",
        "strategy.personal.epochs=3",
        "dataset.n_nodes=120",
    ];
    stopping_changes_nothing("ada-fgl/small", &[&second[..], &COMING_AND_GOING[..]].concat(), false);
    let generators = [
        "strategy.protocol.rounds=4",
        "strategy.generator.epochs=3",
        "strategy.generator.steps=3",
        "dataset.n_nodes=120",
        "partition.n_clients=6",
    ];
    stopping_changes_nothing("fed-sage/small", &generators, false);
    stopping_changes_nothing(
        "fed-sage/small",
        &[&generators[..], &COMING_AND_GOING[..]].concat(),
        false,
    );
    let packed = ["strategy.generator.codec=Half()"];
    stopping_changes_nothing("fed-sage/small", &[&generators[..], &packed].concat(), false);
    let few = ["dataset.n_nodes=120", "strategy.protocol.rounds=4"];
    for way in [
        "strategy.upload=Rows",
        "strategy.upload=Dense",
        "strategy.protocol.secure=Pairwise()",
    ] {
        stopping_changes_nothing(
            "fed-gcn/small",
            &[&few[..], &COMING_AND_GOING[..], &[way]].concat(),
            false,
        );
    }
    // Among peers whoever borders on somebody who is away hears not all it needs.
    let peers = [
        "strategy.between=Peers",
        "network=Links(peer: (latency_ms: Uniform(low: 20, high: 200)))",
    ];
    stopping_changes_nothing("fed-gcn/small", &[&few[..], &peers].concat(), false);
    for private in ["Clients(clip: 1)", "Items(clip: 1)"] {
        let private = format!("strategy.protocol.private={private}");
        let few = [
            "dataset.n_graphs=200",
            "partition.n_clients=20",
            "strategy.protocol.rounds=4",
        ];
        stopping_changes_nothing("fed-avg/private", &[&few[..], &[&private]].concat(), false);
    }
}

#[test]
fn stopping_changes_nothing_of_the_others() {
    let jitter = "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 200)))";
    let smaller = ["dataset.n_nodes=200", jitter];
    stopping_changes_nothing("deep-walk/edge-response", &smaller, false);
    let few = ["dataset.n_graphs=48", "strategy.protocol.rounds=2"];
    stopping_changes_nothing("gw-ldp/small", &few, false);
    stopping_changes_nothing("fgcl/small", &["strategy.protocol.rounds=2"], false);
    let centralised = ["strategy.protocol.rounds=3", "strategy.setting=Centralised"];
    stopping_changes_nothing("fgcl/small", &centralised, false);
    let few = "dataset.n_functions=24";
    stopping_changes_nothing("ppgm/small", &[few, "strategy.training.epochs=1"], false);
    let fewer = [few, "partition.n_clients=5", "strategy.protocol.rounds=2"];
    stopping_changes_nothing("ppgm/federated", &fewer, false);
}
