//! Topologies in which all clients have as many neighbours, and nothing is drawn.

use super::{Topology, linked};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::Graph;
use folkmoot_parts::{Rules, component};

/// More links are not made, as they would not fit into memory with all that is sent along them.
const MOST_LINKS: u64 = 100_000_000;

/// That so many clients with so many neighbours each have links that fit.
fn fits(n_clients: u32, neighbours: u32) -> Result<(), StrategyError> {
    let n_links = u64::from(n_clients) * u64::from(neighbours) / 2;
    match n_links <= MOST_LINKS {
        true => Ok(()),
        false => Err(StrategyError(format!(
            "topology: {n_clients} clients with {neighbours} neighbours each have {n_links} links, and at most {MOST_LINKS} are made; \
             choose ErdosRenyi or Changing, or fewer neighbours"
        ))),
    }
}

/// Every client with every other: one exchange reaches the mean, at `n (n - 1)` messages.
#[component(name = "Complete", about = "complete graph: every client is linked with every other")]
#[derive(Clone, Copy, Debug)]
pub struct Complete {}

impl Topology for Complete {
    fn graph(&self, n_clients: u32, _: &mut SimRng) -> Result<Graph, StrategyError> {
        fits(n_clients, n_clients.saturating_sub(1))?;
        let links: Vec<(u32, u32)> = (0..n_clients).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        linked(n_clients, &links)
    }

    fn degree(&self, n_clients: u32) -> Option<u32> {
        n_clients.checked_sub(1)
    }
}

/// Clients in a ring, in the order of their ids, each linked with the nearest on both sides.
#[component(
    name = "Ring",
    about = "ring: each client is linked with the nearest ones on both sides",
    rules
)]
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Neighbours of each client, half on either side: even, and below the number of clients.
    #[component(default = 2, in = 2..=1_000_000)]
    pub neighbours: u32,
}

impl Ring {
    /// What ties the settings.
    fn rules(&self, rules: &mut Rules) {
        rules.require(self.neighbours.is_multiple_of(2), "neighbours", even(self.neighbours));
    }
}

/// The rule for numbers of neighbours that lie on both sides.
pub(super) fn even(neighbours: u32) -> String {
    format!("must be even, half on either side, got {neighbours}")
}

/// That so many clients have room for so many neighbours each.
pub(super) fn has_room(neighbours: u32, n_clients: u32) -> Result<(), StrategyError> {
    match neighbours < n_clients {
        true => Ok(()),
        false => Err(StrategyError(format!(
            "topology.neighbours: must be below the number of clients, {n_clients}, got {neighbours}; set fewer, or choose Complete"
        ))),
    }
}

impl Topology for Ring {
    fn graph(&self, n_clients: u32, _: &mut SimRng) -> Result<Graph, StrategyError> {
        has_room(self.neighbours, n_clients)?;
        fits(n_clients, self.neighbours)?;
        let reach = self.neighbours / 2;
        let links: Vec<(u32, u32)> = (0..n_clients)
            .flat_map(|u| (1..=reach).map(move |step| (u, (u + step) % n_clients)))
            .collect();
        linked(n_clients, &links)
    }

    fn degree(&self, _: u32) -> Option<u32> {
        Some(self.neighbours)
    }
}

/// Clients row by row on a grid whose ends meet, each linked with the four beside it; in two rows
/// or columns, those above and below are one.
#[component(
    name = "Torus",
    about = "torus: clients on a periodic grid, each linked with its four neighbours"
)]
#[derive(Clone, Copy, Debug)]
pub struct Torus {
    /// Rows: at least 2, and a divisor of the number of clients that leaves at least 2 columns. If
    /// omitted, the grid is as square as possible.
    #[component(at_least = 2, hint = "omit it for the squarest possible grid")]
    pub rows: Option<u32>,
}

impl Topology for Torus {
    fn graph(&self, n_clients: u32, _: &mut SimRng) -> Result<Graph, StrategyError> {
        let square = || {
            (2..=n_clients.isqrt())
                .rev()
                .find(|rows| n_clients.is_multiple_of(*rows))
        };
        let fits = |rows: &u32| *rows >= 2 && n_clients.is_multiple_of(*rows) && n_clients / rows >= 2;
        let rows = self.rows.or_else(square).filter(fits).ok_or_else(|| {
            StrategyError(format!(
                "topology.rows: a torus has at least 2 rows of at least 2 clients, all equally long, which {n_clients} clients cannot \
                 {}; change rows or the number of clients, or choose Ring",
                self.rows.map_or("form".to_owned(), |rows| format!("form in {rows} rows"))
            ))
        })?;
        let columns = n_clients / rows;
        let links: Vec<(u32, u32)> = (0..n_clients)
            .flat_map(|at| {
                let (row, column) = (at / columns, at % columns);
                [
                    (at, row * columns + (column + 1) % columns),
                    (at, (row + 1) % rows * columns + column),
                ]
            })
            .collect();
        linked(n_clients, &links)
    }
}
