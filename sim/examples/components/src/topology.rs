//! A topology: which clients exchange models without a server.

use folkmoot::classifiers::gossip::Topology;
use folkmoot::draws::SimRng;
use folkmoot::graphs::Graph;
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// All clients around the first one.
#[component(name = "Star", about = "all clients around the first one")]
#[derive(Clone, Copy, Debug)]
struct Star {}

impl Topology for Star {
    fn graph(&self, n_clients: u32, _: &mut SimRng) -> Result<Graph, StrategyError> {
        let edges: Vec<(u32, u32)> = (1..n_clients).map(|client| (0, client)).collect();
        Ok(Graph::from_edges(n_clients, &edges, false).expect("all ends are clients"))
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Topology, Star>()?;
    registry.add_card("topology", include_str!("../cards/topology.ron"))
}
