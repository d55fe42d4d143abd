//! Who speaks with whom where there is no server: a part that a card names as `topology`.

mod changing;
mod drawn;
mod file;
mod regular;

pub use changing::Changing;
pub use drawn::{ErdosRenyi, SmallWorld};
pub use file::File;
pub use regular::{Complete, Ring, Torus};

use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::{Graph, measures};
use folkmoot_parts::component_type;

/// A way to link clients: an undirected graph whose nodes are the clients, without loops.
///
/// Everybody knows it before the run, and it depends on nobody's data.
pub trait Topology: Send + Sync {
    /// The graph of `n_clients` nodes; of the round that `rng` is for, where it changes.
    ///
    /// # Errors
    ///
    /// When there is none for so many clients; the message says what to set instead.
    fn graph(&self, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError>;

    /// The edge list that it is made of, relative to a data folder or absolute, which whoever runs
    /// reads. Default: none.
    fn edge_list(&self) -> Option<&str> {
        None
    }

    /// The graph of `n_clients` nodes by what is in the edge list. Default: that without one.
    ///
    /// # Errors
    ///
    /// As [`graph`](Self::graph).
    fn graph_of(&self, _listed: Option<&Graph>, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError> {
        self.graph(n_clients, rng)
    }

    /// Whether every round has a graph of its own, which then need not hang together. Default: one
    /// serves all rounds, and does.
    fn changes(&self) -> bool {
        false
    }

    /// The number of neighbours of each of `n_clients` clients, where all have the same number.
    /// Random tests compare it with the graph. Default: not stated.
    fn degree(&self, _n_clients: u32) -> Option<u32> {
        None
    }

    /// What to set where its graph falls into parts. Default: a part that never does.
    fn remedy(&self) -> &'static str {
        "choose Ring or Complete"
    }
}

component_type!(Topology, "topology", Ring { neighbours: 2 });

/// The graph of a topology for all rounds, in one piece, by what is in its edge list.
///
/// # Errors
///
/// As [`Topology::graph`], and when the graph falls into parts, which never come to one mean.
pub(super) fn connected(
    topology: &dyn Topology,
    listed: Option<&Graph>,
    n_clients: u32,
    rng: &mut SimRng,
) -> Result<Graph, StrategyError> {
    let graph = topology.graph_of(listed, n_clients, rng)?;
    match measures::components(&graph).sizes.len() {
        0 | 1 => Ok(graph),
        n => Err(StrategyError(format!(
            "topology: the links of the {n_clients} clients fall into {n} parts that never hear of each other; {}",
            topology.remedy()
        ))),
    }
}

/// The graph of these links among so many clients.
fn linked(n_clients: u32, links: &[(u32, u32)]) -> Result<Graph, StrategyError> {
    let graph = Graph::from_edges(n_clients, links, false);
    graph.map_err(|error| StrategyError(format!("topology: {error}")))
}

#[cfg(test)]
mod tests;
