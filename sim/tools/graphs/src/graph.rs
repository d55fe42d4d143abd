//! Graphs in compressed sparse rows: the one form in which every other part of this crate sees a
//! graph.
//!
//! A [`Graph`] owns sorted rows of targets, optional weights parallel to them, and whether it is
//! directed. It promises that no arc occurs twice, that an undirected graph holds every edge in
//! both rows, and that every id is below `n_nodes`. What was dropped on the way is counted in
//! [`Cleaned`], so that a reader can report it. Labels and features live in
//! [`Dataset`](crate::Dataset), because a graph of a million nodes must not pay for what it does
//! not have.
//!
//! The rows are in memory, or in a file that is mapped into it and then read where somebody looks
//! ([`Column`]).

mod rows;

use std::ops::Range;

use crate::column::Column;
use crate::{DataError, GraphError};
use rows::{Rows, View};

/// A graph over the nodes `0..n_nodes`, in compressed sparse rows.
///
/// The row of node `u` is its list of targets (all neighbours if the graph is undirected),
/// ascending and without repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Row bounds, of length `n_nodes + 1`.
    offsets: Column<u32>,
    targets: Column<u32>,
    weights: Option<Column<f32>>,
    directed: bool,
    n_edges: usize,
}

/// What [`GraphBuilder`] removed from a list of node pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Pairs `(u, u)`, removed unless the builder keeps them.
    pub self_loops: usize,
    /// Pairs that had occurred before in the same direction.
    pub repeated: usize,
    /// Distinct pairs `(v, u)` of an undirected graph whose other direction `(u, v)` was listed
    /// too: each edge was written twice.
    pub mirrored: usize,
}

/// Builds a [`Graph`] from node pairs, and says what it dropped.
///
/// ```
/// use folkmoot_graphs::GraphBuilder;
/// let (graph, cleaned) = GraphBuilder::new(3).build(&[(0, 1), (1, 0), (2, 2), (0, 1)])?;
/// assert_eq!((graph.n_edges(), cleaned.self_loops, cleaned.repeated, cleaned.mirrored), (1, 1, 1, 1));
/// # Ok::<(), folkmoot_graphs::GraphError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GraphBuilder {
    n_nodes: u32,
    directed: bool,
    keep_self_loops: bool,
}

impl GraphBuilder {
    /// An undirected graph of `n_nodes` nodes that drops self loops.
    pub fn new(n_nodes: u32) -> GraphBuilder {
        GraphBuilder {
            n_nodes,
            directed: false,
            keep_self_loops: false,
        }
    }

    /// Whether a pair `(u, v)` is an arc from `u` to `v` only.
    pub fn directed(mut self, directed: bool) -> GraphBuilder {
        self.directed = directed;
        self
    }

    /// Whether a pair `(u, u)` stays: control-flow graphs have loops that their papers count.
    pub fn keep_self_loops(mut self, keep: bool) -> GraphBuilder {
        self.keep_self_loops = keep;
        self
    }

    /// Builds an unweighted graph.
    ///
    /// # Errors
    /// [`GraphError::NodeOutOfRange`] and [`GraphError::TooManyArcs`].
    ///
    /// # Complexity
    /// O(n_nodes + n_pairs log max_degree) time, about 20 bytes a pair at the peak.
    pub fn build(self, pairs: &[(u32, u32)]) -> Result<(Graph, Cleaned), GraphError> {
        self.assemble(pairs, None)
    }

    /// Builds a weighted graph; `weights` is parallel to `pairs`.
    ///
    /// # Errors
    /// As [`build`](Self::build), and [`GraphError::WeightCount`], [`GraphError::Weight`] for a
    /// weight that is not finite, and [`GraphError::Conflict`] when one edge is listed with two
    /// weights: choosing one would be a guess.
    pub fn build_weighted(self, pairs: &[(u32, u32)], weights: &[f32]) -> Result<(Graph, Cleaned), GraphError> {
        if weights.len() != pairs.len() {
            return Err(GraphError::WeightCount {
                pairs: pairs.len(),
                weights: weights.len(),
            });
        }
        if let Some(at) = weights.iter().position(|weight| !weight.is_finite()) {
            return Err(GraphError::Weight {
                from: pairs[at].0,
                to: pairs[at].1,
                weight: weights[at],
            });
        }
        self.assemble(pairs, Some(weights))
    }

    fn assemble(self, pairs: &[(u32, u32)], weights: Option<&[f32]>) -> Result<(Graph, Cleaned), GraphError> {
        // Undirected graphs store both directions, and offsets are 32 bits wide.
        if pairs.len() > (u32::MAX / 2) as usize {
            return Err(GraphError::TooManyArcs { pairs: pairs.len() });
        }
        if let Some(&(from, to)) = pairs.iter().find(|(u, v)| *u >= self.n_nodes || *v >= self.n_nodes) {
            return Err(GraphError::NodeOutOfRange {
                id: from.max(to),
                n_nodes: self.n_nodes,
            });
        }
        let loops = pairs.iter().filter(|(u, v)| u == v).count();
        let self_loops = if self.keep_self_loops { 0 } else { loops };
        let listed = Rows::from_pairs(self.n_nodes as usize, pairs, weights, self.keep_self_loops)?;
        let mut cleaned = Cleaned {
            self_loops,
            repeated: pairs.len() - self_loops - listed.targets.len(),
            mirrored: 0,
        };
        if self.directed {
            return Ok((Graph::of_arcs(listed), cleaned));
        }
        let distinct = listed.targets.len();
        let rows = listed
            .view()
            .merge(listed.view().transpose().view(), |from, to, first, second| {
                if first == second {
                    Ok(first)
                } else {
                    Err(GraphError::Conflict {
                        from,
                        to,
                        first,
                        second,
                    })
                }
            })?;
        let graph = Graph::symmetric(rows);
        cleaned.mirrored = distinct - graph.n_edges;
        Ok((graph, cleaned))
    }
}

impl Graph {
    /// Builds a graph from node pairs; repeated pairs and self loops are dropped
    /// ([`GraphBuilder::build`] also counts them).
    ///
    /// # Errors
    /// [`GraphError::NodeOutOfRange`] and [`GraphError::TooManyArcs`].
    pub fn from_edges(n_nodes: u32, edges: &[(u32, u32)], directed: bool) -> Result<Graph, GraphError> {
        GraphBuilder::new(n_nodes)
            .directed(directed)
            .build(edges)
            .map(|(graph, _)| graph)
    }

    /// Counts the edges of rows that hold both directions of each.
    fn symmetric(rows: Rows) -> Graph {
        let n_nodes = rows.offsets.len() - 1;
        let loops = (0..n_nodes)
            .filter(|&u| rows.row(u).binary_search(&(u as u32)).is_ok())
            .count();
        let n_edges = (rows.targets.len() + loops) / 2;
        Graph::of_rows(rows, false, n_edges)
    }

    /// A directed graph: every arc is an edge.
    fn of_arcs(rows: Rows) -> Graph {
        let n_edges = rows.targets.len();
        Graph::of_rows(rows, true, n_edges)
    }

    fn of_rows(rows: Rows, directed: bool, n_edges: usize) -> Graph {
        let weights = rows.weights.map(Column::from);
        Graph::of_columns((rows.offsets.into(), rows.targets.into()), weights, directed, n_edges)
    }

    /// A graph whose rows somebody else has checked: bounds that ascend from 0 to the number of
    /// targets, targets that are nodes.
    pub(crate) fn of_columns(
        (offsets, targets): (Column<u32>, Column<u32>),
        weights: Option<Column<f32>>,
        directed: bool,
        n_edges: usize,
    ) -> Graph {
        Graph {
            offsets,
            targets,
            weights,
            directed,
            n_edges,
        }
    }

    /// What is wrong with what has been read of a mapped graph, if anything is.
    pub(crate) fn damage(&self) -> Option<DataError> {
        let weights = || self.weights.as_ref().and_then(Column::damage);
        self.offsets.damage().or_else(|| self.targets.damage()).or_else(weights)
    }

    fn view(&self) -> View<'_> {
        View {
            offsets: self.offsets(),
            targets: self.targets(),
            weights: self.arc_weights(),
        }
    }

    /// How many nodes there are; their ids are `0..n_nodes`.
    pub fn n_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many edges there are: arcs if the graph is directed, otherwise unordered pairs, each
    /// counted once.
    pub fn n_edges(&self) -> usize {
        self.n_edges
    }

    /// How many stored arcs there are: twice the edges of an undirected graph (a kept self loop is
    /// one arc).
    pub fn n_arcs(&self) -> usize {
        self.targets.len()
    }

    /// Whether an arc from `u` to `v` says nothing about one from `v` to `u`.
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// How many targets `u` has; for an undirected graph its number of neighbours.
    ///
    /// # Panics
    /// If `u` is not below `n_nodes`, as all methods that take a node do: ids come from the graph
    /// itself.
    pub fn degree(&self, u: u32) -> usize {
        self.arc_range(u).len()
    }

    /// The targets of `u`, ascending.
    #[inline]
    pub fn neighbours(&self, u: u32) -> &[u32] {
        self.targets.slice(self.arc_range(u))
    }

    /// The weights of the arcs of `u`, parallel to [`neighbours`](Self::neighbours); `None` if the
    /// graph is unweighted.
    pub fn weights(&self, u: u32) -> Option<&[f32]> {
        let range = self.arc_range(u);
        self.weights.as_ref().map(|weights| weights.slice(range))
    }

    /// Whether arcs carry weights.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The positions of `u`'s arcs among all arcs: arc-wise arrays such as edge labels are indexed
    /// by them.
    pub fn arc_range(&self, u: u32) -> Range<usize> {
        let u = u as usize;
        let bounds = self.offsets.slice(u..u + 2);
        bounds[0] as usize..bounds[1] as usize
    }

    /// Whether the arc from `u` to `v` exists, by binary search.
    pub fn has_edge(&self, u: u32, v: u32) -> bool {
        self.neighbours(u).binary_search(&v).is_ok()
    }

    /// All arcs `(source, target)`, in storage order.
    pub fn arcs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.n_nodes() as u32).flat_map(move |u| self.neighbours(u).iter().map(move |&v| (u, v)))
    }

    /// Every edge once: all arcs of a directed graph, otherwise the pairs with `source <= target`.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.arcs().filter(move |(u, v)| self.directed || u <= v)
    }

    /// The row bounds, of length `n_nodes + 1`: node `u` owns the arcs
    /// `offsets[u]..offsets[u + 1]`.
    pub fn offsets(&self) -> &[u32] {
        self.offsets.all()
    }

    /// The targets of all arcs, row after row, of length `n_arcs`.
    pub fn targets(&self) -> &[u32] {
        self.targets.all()
    }

    /// The weights of all arcs, parallel to [`targets`](Self::targets).
    pub fn arc_weights(&self) -> Option<&[f32]> {
        self.weights.as_ref().map(Column::all)
    }

    /// The same graph without directions: `u` and `v` are neighbours if either arc exists.
    ///
    /// Where both arcs exist with different weights the edge has their mean.
    pub fn undirected(&self) -> Graph {
        if !self.directed {
            return self.clone();
        }
        let mean = |_, _, first: f32, second: f32| Ok((first + second) / 2.0);
        let merged = self.view().merge(self.view().transpose().view(), mean);
        Graph::symmetric(merged.expect("taking a mean does not fail"))
    }

    /// The same graph with more edges, in both directions and of weight 1; those that it has stay
    /// as they are.
    ///
    /// # Errors
    /// As [`GraphBuilder::build`].
    pub(crate) fn with_edges(&self, added: &[(u32, u32)]) -> Result<Graph, GraphError> {
        let mut pairs: Vec<(u32, u32)> = if self.directed {
            self.arcs().collect()
        } else {
            self.edges().collect()
        };
        let mut weights: Vec<f32> = Vec::new();
        if let Some(all) = self.arc_weights() {
            let arcs = self.arcs().zip(all).filter(|((u, v), _)| self.directed || u <= v);
            weights.extend(arcs.map(|(_, weight)| *weight));
        }
        // Nodes that do not exist are the builder's to refuse.
        let has = |u: u32, v: u32| (u as usize) < self.n_nodes() && self.has_edge(u, v);
        for &(u, v) in added.iter().filter(|(u, v)| !has(*u, *v)) {
            pairs.push((u, v));
            if self.directed && !has(v, u) {
                pairs.push((v, u));
            }
        }
        let builder = GraphBuilder::new(self.n_nodes() as u32)
            .directed(self.directed)
            .keep_self_loops(true);
        let (graph, _) = match self.is_weighted() {
            true => {
                weights.resize(pairs.len(), 1.0);
                builder.build_weighted(&pairs, &weights)?
            }
            false => builder.build(&pairs)?,
        };
        Ok(graph)
    }

    /// The subgraph on `nodes` (ascending, distinct); node `i` of the result is `nodes[i]`.
    ///
    /// # Complexity
    /// O(sum of the nodes' degrees × log n) time; no array of the whole graph's size, so a million
    /// neighbourhoods are cheap.
    pub fn induced(&self, nodes: &[u32]) -> Graph {
        self.placed(nodes, |node| nodes.binary_search(&node).ok().map(|at| at as u32))
    }

    /// The same graph with its nodes in another order; node `i` of the result is `order[i]`.
    ///
    /// # Panics
    /// If `order` does not name every node once.
    pub fn reordered(&self, order: &[u32]) -> Graph {
        assert_eq!(order.len(), self.n_nodes(), "an order names every node once");
        let mut places = vec![None; order.len()];
        for (place, node) in order.iter().enumerate() {
            let before = places[*node as usize].replace(place as u32);
            assert_eq!(before, None, "an order names every node once");
        }
        self.placed(order, |node| places[node as usize])
    }

    /// The graph on `nodes` in their order, with the edges among those that have a place in it.
    fn placed(&self, nodes: &[u32], place: impl Fn(u32) -> Option<u32>) -> Graph {
        let mut rows = Rows {
            offsets: vec![0],
            targets: Vec::new(),
            weights: self.is_weighted().then(Vec::new),
        };
        let mut row: Vec<(u32, usize)> = Vec::new();
        for &u in nodes {
            let neighbours = self.neighbours(u).iter().enumerate();
            row.clear();
            row.extend(neighbours.filter_map(|(at, v)| Some((place(*v)?, at))));
            row.sort_unstable();
            rows.targets.extend(row.iter().map(|(target, _)| target));
            if let (Some(kept), Some(all)) = (&mut rows.weights, self.weights(u)) {
                kept.extend(row.iter().map(|(_, at)| all[*at]));
            }
            rows.offsets.push(rows.targets.len() as u32);
        }
        match self.directed {
            true => Graph::of_arcs(rows),
            false => Graph::symmetric(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_mirrors_and_loops_are_counted_apart() {
        let pairs = [(0, 1), (1, 0), (0, 1), (2, 2), (1, 2)];
        let (graph, cleaned) = GraphBuilder::new(4).build(&pairs).unwrap();
        assert_eq!(
            cleaned,
            Cleaned {
                self_loops: 1,
                repeated: 1,
                mirrored: 1
            }
        );
        assert_eq!((graph.n_nodes(), graph.n_edges(), graph.n_arcs()), (4, 2, 4));
        assert_eq!(graph.neighbours(1), [0, 2]);
        assert_eq!(graph.degree(3), 0);
        let (directed, cleaned) = GraphBuilder::new(4).directed(true).build(&pairs).unwrap();
        assert_eq!(
            cleaned,
            Cleaned {
                self_loops: 1,
                repeated: 1,
                mirrored: 0
            }
        );
        assert_eq!(directed.n_edges(), 3);
        assert!(directed.has_edge(1, 2) && !directed.has_edge(2, 1));
        assert_eq!(directed.undirected(), graph);
    }

    #[test]
    fn kept_self_loops_count_as_one_edge_and_one_arc() {
        let (graph, cleaned) = GraphBuilder::new(2)
            .keep_self_loops(true)
            .build(&[(0, 0), (0, 1)])
            .unwrap();
        assert_eq!((graph.n_edges(), graph.n_arcs(), cleaned.self_loops), (2, 3, 0));
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 0), (0, 1)]);
    }

    #[test]
    fn weights_follow_their_edges_and_contradictions_are_refused() {
        let builder = GraphBuilder::new(3);
        let (graph, _) = builder
            .build_weighted(&[(2, 0), (0, 1), (1, 0)], &[0.5, 2.0, 2.0])
            .unwrap();
        assert_eq!(graph.weights(0), Some(&[2.0, 0.5][..]));
        let conflict = builder.build_weighted(&[(0, 1), (1, 0)], &[1.0, 2.0]).unwrap_err();
        assert!(conflict.to_string().contains("weight 1 and with 2"), "{conflict}");
        let (directed, _) = builder
            .directed(true)
            .build_weighted(&[(0, 1), (1, 0)], &[1.0, 2.0])
            .unwrap();
        assert_eq!(directed.undirected().weights(0), Some(&[1.5][..]));
        assert!(matches!(
            builder.build_weighted(&[(0, 1)], &[f32::NAN]),
            Err(GraphError::Weight { .. })
        ));
        assert!(matches!(
            builder.build_weighted(&[(0, 1)], &[]),
            Err(GraphError::WeightCount { .. })
        ));
    }

    #[test]
    fn node_beyond_the_count_is_an_error() {
        let error = Graph::from_edges(2, &[(0, 2)], false).unwrap_err();
        assert_eq!(error, GraphError::NodeOutOfRange { id: 2, n_nodes: 2 });
    }

    #[test]
    fn another_order_names_the_same_edges() {
        let pairs = [(0, 2), (2, 3), (1, 2)];
        for directed in [false, true] {
            let builder = GraphBuilder::new(4).directed(directed);
            let (graph, _) = builder.build_weighted(&pairs, &[1.0, 2.0, 3.0]).unwrap();
            let order = [2, 0, 3, 1];
            let moved = graph.reordered(&order);
            for (u, from) in order.iter().enumerate() {
                for (v, to) in order.iter().enumerate() {
                    let weight = |graph: &Graph, u: u32, v: u32| {
                        let at = graph.neighbours(u).binary_search(&v).ok();
                        at.map(|at| graph.weights(u).unwrap()[at])
                    };
                    assert_eq!(weight(&moved, u as u32, v as u32), weight(&graph, *from, *to));
                }
            }
        }
    }

    #[test]
    fn induced_subgraph_keeps_inner_edges_only() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)], false).unwrap();
        let part = graph.induced(&[1, 2, 4]);
        assert_eq!(part.edges().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
    }
}
