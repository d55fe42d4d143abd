//! A set of labelled graphs, one random model for each class: something to learn without any file.
//!
//! All models have a mean degree near 4, so that a classifier must look at how degrees are spread
//! and where edges lead.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;

use super::{Generator, MAX_NODES, barabasi_albert, erdos_renyi, pair, watts_strogatz};
use crate::{DataError, Dataset, Graph};

/// How many models there are.
const N_MODELS: u32 = 3;

/// Synthetic graph classes without features, mean degree near 4. Class 0: Watts & Strogatz (4
/// neighbours, rewiring 0.1); class 1: Barabási & Albert (2 edges); class 2: independent edges.
/// Graph `i` has the class `i` modulo `n_classes`.
#[component(name = "GraphClasses", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphClasses {
    /// Number of graphs, `n_classes`..=1000000.
    #[component(default = 200)]
    pub n_graphs: u32,
    /// Number of classes.
    #[component(default = 2, in = 2..=3)]
    pub n_classes: u32,
    /// Minimum number of nodes per graph.
    #[component(default = 12, in = 5..=10_000)]
    pub min_nodes: u32,
    /// Maximum number of nodes per graph, `min_nodes`..=10000; sizes are uniform in between.
    #[component(default = 28)]
    pub max_nodes: u32,
}

impl GraphClasses {
    fn rules(&self, rules: &mut Rules) {
        let (n_graphs, min_nodes, max_nodes) = (self.n_graphs, self.min_nodes, self.max_nodes);
        let least = self.n_classes.clamp(2, N_MODELS);
        let rule = format!("must lie in {least}..=1000000, got {n_graphs}");
        rules.require((least..=1_000_000).contains(&n_graphs), "n_graphs", rule);
        let rule = format!("must lie in {min_nodes} (min_nodes)..=10000, got {max_nodes}");
        rules.require((min_nodes..=10_000).contains(&max_nodes), "max_nodes", rule);
        let rule =
            format!("and n_graphs give up to {max_nodes} × {n_graphs} nodes; at most {MAX_NODES} are drawn, lower one");
        rules.require(self.n_nodes() <= u64::from(MAX_NODES), "max_nodes", rule);
    }
}

impl Generator for GraphClasses {
    const ENTRY: [&'static str; 2] = [
        "GraphClasses()",
        "generated: labelled graphs, a random model for each class",
    ];

    fn n_nodes(&self) -> u64 {
        u64::from(self.n_graphs) * u64::from(self.max_nodes)
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let labels: Vec<u32> = (0..self.n_graphs).map(|i| i % self.n_classes).collect();
        let draw = |class: &u32| {
            let n_nodes = rng.random_range(self.min_nodes..=self.max_nodes);
            let edges = graph_of_class(*class, n_nodes, rng);
            let pairs: Vec<(u32, u32)> = edges.into_iter().map(pair).collect();
            Graph::from_edges(n_nodes, &pairs, false)
        };
        Ok(Dataset {
            name: Self::NAME.to_owned(),
            graphs: labels.iter().map(draw).collect::<Result<_, _>>()?,
            graph_labels: Some(labels),
            n_classes: self.n_classes as usize,
            ..Dataset::default()
        })
    }
}

/// Draws the edges of one graph of `class`, with 4 nodes or more: 0 a ring of 4 neighbours each
/// with a tenth of its edges rewired, 1 preferential attachment of 2 edges a node, 2 independent
/// edges.
///
/// # Determinism
/// As the models draw.
fn graph_of_class(class: u32, n_nodes: u32, rng: &mut SimRng) -> Vec<u64> {
    match class {
        0 => watts_strogatz(n_nodes, 4, 0.1, rng),
        1 => barabasi_albert(n_nodes, 2, rng),
        _ => erdos_renyi(n_nodes, 4.0, rng),
    }
}
