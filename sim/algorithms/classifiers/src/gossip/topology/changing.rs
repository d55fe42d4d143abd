//! A topology that is drawn anew for every round.

use super::{Topology, linked};
use folkmoot_draws::{SimRng, shuffle};
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::Graph;
use folkmoot_parts::component;

/// New pairs of clients in every round: with one neighbour a random matching, with more as many
/// matchings laid over each other. Where two have a pair in common, its clients have a neighbour
/// fewer; of an odd number of clients, each matching leaves one out. Of a single round the links
/// fall into parts; over the rounds everybody hears of everybody.
///
/// S. Boyd, A. Ghosh, B. Prabhakar, D. Shah. Randomized Gossip Algorithms. IEEE Transactions on
/// Information Theory 52(6), 2006, for matrices drawn anew.
#[component(
    name = "Changing",
    about = "time-varying topology: new random pairs of clients in every round"
)]
#[derive(Clone, Copy, Debug)]
pub struct Changing {
    /// Maximum number of neighbours of a client in one round.
    #[component(default = 1, in = 1..=1_024)]
    pub neighbours: u32,
}

impl Topology for Changing {
    fn graph(&self, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError> {
        let mut order: Vec<u32> = (0..n_clients).collect();
        let mut links = Vec::new();
        for _ in 0..self.neighbours {
            shuffle(rng, &mut order);
            links.extend(order.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        }
        linked(n_clients, &links)
    }

    fn changes(&self) -> bool {
        true
    }
}
