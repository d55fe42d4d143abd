//! Topologies that are drawn once, by the generators of graphs.

use super::Topology;
use super::regular::{even, has_room};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::{DataDirs, DataSource, Graph, datasets};
use folkmoot_parts::{Rules, component};

/// The graph of a generated data set.
fn drawn(spec: &dyn DataSource, rng: &mut SimRng) -> Result<Graph, StrategyError> {
    let dataset = spec.load(&DataDirs::new(), rng);
    let dataset = dataset.map_err(|error| StrategyError(format!("topology: {error}")))?;
    Ok(dataset.graph().clone())
}

/// A ring some of whose links lead somewhere else (Watts & Strogatz 1998).
#[component(
    name = "SmallWorld",
    about = "small-world graph: a ring with rewired links (Watts & Strogatz 1998)",
    rules
)]
#[derive(Clone, Copy, Debug)]
pub struct SmallWorld {
    /// Neighbours of each client on the ring, half on either side: even, and below the number of
    /// clients.
    #[component(default = 4, in = 2..=1_024)]
    pub neighbours: u32,
    /// Rewiring probability of a link.
    #[component(default = 0.2, in = 0..=1)]
    pub rewired: f64,
}

impl SmallWorld {
    /// What ties the settings.
    fn rules(&self, rules: &mut Rules) {
        rules.require(self.neighbours.is_multiple_of(2), "neighbours", even(self.neighbours));
    }
}

impl Topology for SmallWorld {
    fn graph(&self, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError> {
        has_room(self.neighbours, n_clients)?;
        let spec = datasets::WattsStrogatz {
            n_nodes: n_clients,
            neighbours: self.neighbours,
            rewire_prob: self.rewired,
        };
        drawn(&spec, rng)
    }

    fn remedy(&self) -> &'static str {
        "raise topology.neighbours, lower topology.rewired, or change the seed"
    }
}

/// Every two clients with the same probability, independently (Erdős & Rényi 1959). Below a degree
/// of about `ln n` it mostly falls into parts, which is refused.
#[component(
    name = "ErdosRenyi",
    about = "Erdős–Rényi random graph: all links are equally likely (Erdős & Rényi 1959)"
)]
#[derive(Clone, Copy, Debug)]
pub struct ErdosRenyi {
    /// Expected number of neighbours; at most the number of clients − 1.
    #[component(default = 6.0, above = 0, at_most = 1_000_000)]
    pub degree: f64,
}

impl Topology for ErdosRenyi {
    fn graph(&self, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError> {
        let most = n_clients.saturating_sub(1);
        if self.degree > f64::from(most) {
            return Err(StrategyError(format!(
                "topology.degree: must be at most {most}, the number of clients less 1, got {}; set less, or choose Complete",
                self.degree
            )));
        }
        let spec = datasets::ErdosRenyi {
            n_nodes: n_clients,
            mean_degree: self.degree,
            min_degree: 0,
        };
        drawn(&spec, rng)
    }

    fn remedy(&self) -> &'static str {
        "raise topology.degree, or change the seed"
    }
}
