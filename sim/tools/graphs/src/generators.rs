//! Random graphs, simple and undirected but for control flow, drawn on one thread, the same for the
//! same stream.
//!
//! Each file has a data set of cards ([`Generator`]) and the function that draws it from its
//! checked settings and a stream. Degrees that a model leaves at 0 can be lifted to `min_degree`
//! afterwards ([`lift`]); every repair has a bound, and what it added is noted in the data set.

mod barabasi_albert;
mod contextual_sbm;
mod control_flow;
mod dc_sbm;
mod erdos_renyi;
mod graph_classes;
mod lift;
mod rmat;
mod watts_strogatz;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules};
use rand::RngExt;

use crate::data_source::{CatalogueEntry, DataSource, checked};
use crate::{DataDirs, DataError, Dataset, Graph, Labels};
use barabasi_albert::barabasi_albert;
use erdos_renyi::erdos_renyi;
use lift::lift;
use watts_strogatz::watts_strogatz;

pub use barabasi_albert::BarabasiAlbert;
pub use contextual_sbm::ContextualSbm;
pub use control_flow::ControlFlow;
pub use dc_sbm::DcSbm;
pub use erdos_renyi::ErdosRenyi;
pub use graph_classes::GraphClasses;
pub use rmat::Rmat;
pub use watts_strogatz::WattsStrogatz;

/// A data set that is drawn.
pub(crate) trait Generator: Component {
    /// How a card writes it, and what it is, for `folkmoot list`.
    const ENTRY: [&'static str; 2];

    /// Nodes that are drawn, at most.
    fn n_nodes(&self) -> u64;

    /// About how many neighbours a node has.
    fn mean_degree(&self) -> f64 {
        4.0
    }

    /// Sparse features of a node.
    fn n_features(&self) -> u32 {
        0
    }

    /// Draws the data set from checked settings.
    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError>;
}

impl<G: Generator> DataSource for G {
    fn name(&self) -> String {
        G::NAME.to_owned()
    }

    fn is_generated(&self) -> bool {
        true
    }

    /// The sum over nodes with their features and over edges. An edge counts as a pair of nodes, in
    /// both lists of neighbours and during sorting.
    fn n_bytes(&self) -> Option<u64> {
        let of_node = 32.0 + 4.0 * f64::from(self.n_features()) + 16.0 * self.mean_degree();
        Some((self.n_nodes() as f64 * of_node) as u64)
    }

    fn n_generated(&self) -> Option<u64> {
        Some(self.n_nodes())
    }

    fn load(&self, _: &DataDirs, rng: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        self.draw(rng)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let [name, about] = G::ENTRY;
        vec![CatalogueEntry::new(name, about)]
    }
}

/// The most nodes of a generated graph.
const MAX_NODES: u32 = 1 << 26;
/// The most edges of a generated graph: 8 GiB of candidates while it is drawn.
const MAX_EDGES: f64 = (1_u64 << 30) as f64;
const MAX_MIN_DEGREE: u32 = 64;
/// Above this, the quadratic searches within one node's neighbours would be felt.
const MAX_EDGES_PER_NODE: u32 = 1_024;

/// `most` is the largest mean degree that the model can reach with `n_nodes`.
fn check_mean_degree(value: f64, n_nodes: u32, most: f64, rules: &mut Rules) {
    let rule = format!("must lie in 0..={most} with {n_nodes} nodes, got {value}");
    rules.require((0.0..=most).contains(&value), "mean_degree", rule);
    let n_edges = f64::from(n_nodes) * value / 2.0;
    let rule =
        format!("gives {n_edges} edges with {n_nodes} nodes; at most {MAX_EDGES} are drawn, lower one of the two");
    rules.require(n_edges.is_nan() || n_edges <= MAX_EDGES, "mean_degree", rule);
}

fn check_min_degree(value: u32, n_nodes: u32, rules: &mut Rules) {
    let most = MAX_MIN_DEGREE.min(most_edges_per_node(n_nodes));
    let rule = format!("must lie in 0..={most} with {n_nodes} nodes, got {value}");
    rules.require(value <= most, "min_degree", rule);
}

/// The most neighbours that each of `n_nodes` nodes can be given.
fn most_neighbours(n_nodes: u32) -> u32 {
    MAX_EDGES_PER_NODE.min(most_edges_per_node(n_nodes))
}

fn most_edges_per_node(n_nodes: u32) -> u32 {
    let affordable = (MAX_EDGES / f64::from(n_nodes).max(1.0)) as u32;
    n_nodes.saturating_sub(1).min(affordable)
}

/// Half of the other nodes: the greatest mean degree of models that draw edges again and again
/// until they differ.
fn half(n_nodes: u32) -> f64 {
    (f64::from(n_nodes) - 1.0) / 2.0
}

/// The number of edges that gives the mean degree.
fn n_edges(n_nodes: u32, mean_degree: f64) -> usize {
    (f64::from(n_nodes) * mean_degree / 2.0) as usize
}

fn note_missing(dataset: &mut Dataset, missing: usize) {
    if missing > 0 {
        dataset.notes.push(format!(
            "{missing} edges short of the stated mean degree: the model kept drawing edges it had drawn"
        ));
    }
}

/// The data set of one graph; `added` edges lifted all degrees to `min_degree`.
fn assemble(
    name: &str,
    n_nodes: u32,
    edges: Vec<u64>,
    labels: Option<Labels>,
    (added, min_degree): (usize, u32),
) -> Result<Dataset, DataError> {
    let pairs: Vec<(u32, u32)> = edges.iter().map(|&edge| pair(edge)).collect();
    drop(edges);
    let graph = Graph::from_edges(n_nodes, &pairs, false)?;
    let mut dataset = Dataset::of_graph(name, graph);
    if added > 0 {
        let note = format!("{added} edges were added so that every degree is at least {min_degree}");
        dataset.notes.push(note);
    }
    dataset.n_classes = labels.as_ref().map_or(0, Labels::n_classes);
    dataset.node_labels = labels;
    Ok(dataset)
}

/// A node drawn uniformly from `0..n_nodes`.
fn node(n_nodes: u32, rng: &mut SimRng) -> u32 {
    rng.random_range(0..n_nodes)
}

/// An undirected edge as one sortable number, smaller id first.
fn key(u: u32, v: u32) -> u64 {
    u64::from(u.min(v)) << 32 | u64::from(u.max(v))
}

/// The edge that [`key`] stands for.
fn pair(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// After this many rounds [`distinct_edges`] is content with fewer edges: a model that keeps
/// drawing the same ones has no more.
const MAX_ROUNDS: u32 = 24;

/// Draws edges until `n_edges` distinct ones without self loops are there, or [`MAX_ROUNDS`] rounds
/// have passed.
///
/// Each round draws as many candidates as are missing, so the edges kept follow the law of `draw`
/// given that they differ. Returned sorted, 8 bytes an edge.
fn distinct_edges(n_edges: usize, rng: &mut SimRng, mut draw: impl FnMut(&mut SimRng) -> (u32, u32)) -> Vec<u64> {
    let mut edges: Vec<u64> = Vec::with_capacity(n_edges);
    for _ in 0..MAX_ROUNDS {
        for _ in 0..n_edges - edges.len() {
            let (u, v) = draw(rng);
            if u != v {
                edges.push(key(u, v));
            }
        }
        // The stable sort recognises the long sorted run left by the round before.
        edges.sort();
        edges.dedup();
        if edges.len() == n_edges {
            break;
        }
    }
    edges
}

#[cfg(test)]
mod tests;
