//! A component of every kind from another crate, a file each: `components sweep all`, and every other
//! command, knows them. `folkmoot new NAME --kind KIND` begins a crate with one of these files.

mod adversary;
mod aggregator;
mod attack;
mod availability;
mod codec;
mod dataset;
mod devices;
mod evaluator;
mod figure;
mod layer;
#[cfg(test)]
mod layer_tests;
mod loss;
mod method;
mod metric;
mod network;
mod partition;
mod selection;
mod server_optimizer;
mod topology;

use folkmoot::scenarios::registry::{Register, Registry};

/// What adds each kind, with a card.
const KINDS: [Register; 18] = [
    adversary::register,
    aggregator::register,
    attack::register,
    availability::register,
    codec::register,
    dataset::register,
    devices::register,
    evaluator::register,
    figure::register,
    layer::register,
    loss::register,
    method::register,
    metric::register,
    network::register,
    partition::register,
    selection::register,
    server_optimizer::register,
    topology::register,
];

/// A card that names a component of every kind.
const ALL: (&str, &str) = ("all", include_str!("../all.ron"));

fn main() -> std::process::ExitCode {
    let mut registry: Registry = folkmoot::shipped();
    for register in KINDS {
        register(&mut registry).expect("no shipped component is called so");
    }
    registry.add_card(ALL.0, ALL.1).expect("no shipped card is called so");
    folkmoot::main(registry)
}
