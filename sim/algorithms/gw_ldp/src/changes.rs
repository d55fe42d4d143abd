//! How far a graph moves when it loses an edge or a node: what the metric would have to hide.
//!
//! The paper's figure on the sensitivity of Gromov-Wasserstein. Rows of the changed graph are those
//! that the last global model gives; its inputs are those of the nodes that stay.

use super::distances::{of_hops, spaces, weighed};
use super::evaluator::View;
use folkmoot_classifiers::classifier::GraphRows;
use folkmoot_draws::{Purpose, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_similarity::gw::{self, Space};
use rayon::prelude::*;

const CHANGE: Purpose = Purpose(*b"gl-chang");

/// What a graph lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    Edge,
    Node,
}

impl Lost {
    pub(super) fn name(self) -> &'static str {
        match self {
            Lost::Edge => "edge",
            Lost::Node => "node",
        }
    }

    pub(super) fn article(self) -> &'static str {
        match self {
            Lost::Edge => "an",
            Lost::Node => "a",
        }
    }
}

/// How far a graph moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) id: u32,
    pub(super) lost: Lost,
    /// Between the hop counts.
    pub(super) hops: f64,
    /// Between the embeddings, before anything is done to them.
    pub(super) clean: f64,
}

/// Changes every graph `n_times` by an edge less and as often by a node less, where it has one to
/// spare.
pub(super) fn all(system: &View<'_>, parameters: &[f32], n_times: u32) -> Result<Vec<Change>, String> {
    let inputs = system.input_rows();
    let of_graph = |inputs: &GraphRows| -> Result<Vec<Change>, String> {
        let graph = system.subjects.graph(inputs.id);
        let mut rng = system
            .streams
            .counted(CHANGE, Party::Server, Round(0), u64::from(inputs.id));
        let mut changes = Vec::new();
        for _ in 0..n_times {
            if graph.n_edges() > 0 {
                let lost = index(&mut rng, graph.n_edges());
                let edges: Vec<(u32, u32)> = graph
                    .edges()
                    .enumerate()
                    .filter(|(at, _)| *at != lost)
                    .map(|(_, e)| e)
                    .collect();
                let changed =
                    Graph::from_edges(graph.n_nodes() as u32, &edges, false).map_err(|error| error.to_string())?;
                changes.push(system.change(Lost::Edge, graph, inputs, &changed, inputs, parameters)?);
            }
            if graph.n_nodes() > 1 {
                let lost = index(&mut rng, graph.n_nodes());
                let stay: Vec<u32> = (0..graph.n_nodes() as u32)
                    .filter(|node| *node as usize != lost)
                    .collect();
                let width = inputs.width as usize;
                let row = |node: &u32| inputs.values[*node as usize * width..][..width].iter().copied();
                let left = GraphRows {
                    id: inputs.id,
                    values: stay.iter().flat_map(row).collect(),
                    width: inputs.width,
                };
                changes.push(system.change(Lost::Node, graph, inputs, &graph.induced(&stay), &left, parameters)?);
            }
        }
        Ok(changes)
    };
    let changes: Result<Vec<Vec<Change>>, String> = inputs.par_iter().map(of_graph).collect();
    Ok(changes?.concat())
}

impl View<'_> {
    fn change(
        &self,
        lost: Lost,
        graph: &Graph,
        inputs: &GraphRows,
        changed: &Graph,
        left: &GraphRows,
        parameters: &[f32],
    ) -> Result<Change, String> {
        let options = self.task.params.solver.options().unwrap_or_default();
        let between = |a: &Space, b: &Space| gw::gw(a, b, &options).map_err(|error| error.to_string());
        let weights = self.task.params.node_weights;
        let hops = |graph: &Graph| of_hops(graph, weights).map_err(|error| error.to_string());
        let embedded = |graph: &Graph, inputs: &GraphRows| -> Result<Space, String> {
            let rows = self
                .classifier
                .rows_of_graph(graph, inputs, parameters, self.task.params.representation);
            let values: Vec<f64> = rows.values.iter().map(|value| f64::from(*value)).collect();
            let space = spaces(vec![(&values[..], rows.width as usize)], self.task.params.distance);
            let space = space.map_err(|error| error.to_string())?.swap_remove(0);
            weighed(space, weights.degrees(graph).as_deref()).map_err(|error| error.to_string())
        };
        Ok(Change {
            id: inputs.id,
            lost,
            hops: between(&hops(graph)?, &hops(changed)?)?,
            clean: between(&embedded(graph, inputs)?, &embedded(changed, left)?)?,
        })
    }
}
