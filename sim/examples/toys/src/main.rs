//! A toy of every kind of component that a card names for all algorithms in rounds, each in its
//! smallest form: `toys sweep toys`, and every other command, knows them.

mod data;
mod learning;
mod world;

use folkmoot::classifiers::attacks::add_attack;
use folkmoot::classifiers::classifier::graph_layers::GraphLayers;
use folkmoot::classifiers::federated::Method;
use folkmoot::classifiers::gossip::Topology;
use folkmoot::codecs::Codec;
use folkmoot::rounds::{Rule, ServerOptimiser};
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Adds all of them.
fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_dataset::<data::Ladder>()?;
    registry.add_partition::<data::Turns>()?;
    registry.add_network::<world::Wire>()?;
    registry.add_made_network::<world::LongWires>()?;
    registry.add_devices::<world::Steady>()?;
    registry.add_made_devices::<world::Ranked>()?;
    registry.add_availability::<world::Shifts>()?;
    registry.add_made_availability::<world::Roster>()?;
    registry.add_selection::<world::EveryOther>()?;
    registry.add_component::<dyn Codec, learning::Backwards>()?;
    registry.add_component::<dyn Rule, learning::Loudest>()?;
    registry.add_component::<dyn ServerOptimiser, learning::HalfWay>()?;
    registry.add_component::<dyn Method, learning::Twice>()?;
    registry.add_component::<dyn Topology, learning::Star>()?;
    registry.add_component::<dyn GraphLayers, learning::Neighbours>()?;
    add_attack::<learning::Length>(registry)?;
    registry.add_card("toys", include_str!("../toys.ron"))
}

fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::shipped();
    register(&mut registry).expect("no shipped component is called so");
    folkmoot::main(registry)
}
