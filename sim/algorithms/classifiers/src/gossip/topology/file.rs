//! A topology that somebody else has made.

use super::{Topology, linked};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::Graph;
use folkmoot_parts::component;

/// The links of a file: a line `u v` for each, with ids of clients from 0 on, whichever way round;
/// empty lines and lines that begin with `#` or `%` are skipped. The manifest has its fingerprint.
#[component(name = "File", about = "links from a file, one per line")]
#[derive(Clone, Debug)]
pub struct File {
    /// Path of the file, relative to a data folder or absolute.
    #[component(required)]
    pub path: String,
}

impl Topology for File {
    fn graph(&self, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError> {
        self.graph_of(None, n_clients, rng)
    }

    fn edge_list(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn graph_of(&self, listed: Option<&Graph>, n_clients: u32, _: &mut SimRng) -> Result<Graph, StrategyError> {
        let listed = listed.ok_or_else(|| StrategyError(format!("topology.path: nobody has read {}", self.path)))?;
        let n_named = listed.n_nodes() as u32;
        if n_named > n_clients {
            return Err(StrategyError(format!(
                "topology.path: {} names client {}, and there are {n_clients}, from 0 on; change the file, or share the data out to \
                 {n_named} clients",
                self.path,
                n_named - 1
            )));
        }
        let links: Vec<(u32, u32)> = listed.edges().collect();
        linked(n_clients, &links)
    }

    fn remedy(&self) -> &'static str {
        "add links to the file of topology.path"
    }
}
