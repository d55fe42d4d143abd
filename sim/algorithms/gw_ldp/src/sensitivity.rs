//! Sensitivity of Gromov-Wasserstein distances: how far a graph moves without an edge or a node.
//!
//! For the paper's figure on sensitivity. The last global model computes the rows of the changed
//! graph from the inputs of the remaining nodes.

use super::distances::{of_hops, spaces, weighed};
use super::evaluator::View;
use folkmoot_classifiers::classifier::GraphRows;
use folkmoot_draws::{Purpose, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_similarity::gw::{self, Space};
use rayon::prelude::*;

const CHANGE: Purpose = Purpose(*b"gl-chang");

/// The removed part of a graph.
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

/// Distances between a graph and its changed version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) id: u32,
    pub(super) lost: Lost,
    /// Between the hop counts.
    pub(super) hops: f64,
    /// Between the embeddings, without noise.
    pub(super) embedding: f64,
}

/// The two spaces of a graph that are compared.
struct Spaces {
    hops: Space,
    embedding: Space,
}

/// Removes a random edge, and separately a random node, `n_times` from each graph that has one to
/// spare.
pub(super) fn measure(view: &View<'_>, parameters: &[f32], n_times: u32) -> Result<Vec<Change>, String> {
    let inputs = view.input_rows();
    let of_graph = |inputs: &GraphRows| -> Result<Vec<Change>, String> {
        let graph = view.subjects.graph(inputs.id);
        let mut changes = Vec::new();
        if graph.n_edges() == 0 && graph.n_nodes() <= 1 {
            return Ok(changes);
        }
        let whole = view.spaces_of(graph, inputs, parameters)?;
        let mut rng = view
            .streams
            .counted(CHANGE, Party::Server, Round(0), u64::from(inputs.id));
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
                let changed = view.spaces_of(&changed, inputs, parameters)?;
                changes.push(view.change(inputs.id, Lost::Edge, &whole, &changed)?);
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
                let changed = view.spaces_of(&graph.induced(&stay), &left, parameters)?;
                changes.push(view.change(inputs.id, Lost::Node, &whole, &changed)?);
            }
        }
        Ok(changes)
    };
    let changes: Vec<Result<Vec<Change>, String>> = inputs.par_iter().map(of_graph).collect();
    Ok(changes.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

impl View<'_> {
    /// The spaces of hop counts and of embeddings of a graph with these inputs.
    fn spaces_of(&self, graph: &Graph, inputs: &GraphRows, parameters: &[f32]) -> Result<Spaces, String> {
        let params = &self.task.params;
        let hops = of_hops(graph, params.node_weights).map_err(|error| error.to_string())?;
        let rows = self
            .classifier
            .rows_of_graph(graph, inputs, parameters, params.representation);
        let values: Vec<f64> = rows.values.iter().map(|value| f64::from(*value)).collect();
        let space = spaces(vec![(&values[..], rows.width as usize)], params.distance);
        let space = space.map_err(|error| error.to_string())?.swap_remove(0);
        let degrees = params.node_weights.degrees(graph);
        let embedding = weighed(space, degrees.as_deref()).map_err(|error| error.to_string())?;
        Ok(Spaces { hops, embedding })
    }

    fn change(&self, id: u32, lost: Lost, whole: &Spaces, changed: &Spaces) -> Result<Change, String> {
        let options = self.task.params.solver.options().unwrap_or_default();
        let between = |a: &Space, b: &Space| gw::gw(a, b, &options).map_err(|error| error.to_string());
        Ok(Change {
            id,
            lost,
            hops: between(&whole.hops, &changed.hops)?,
            embedding: between(&whole.embedding, &changed.embedding)?,
        })
    }
}
