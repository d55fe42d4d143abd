//! One vertex per client: the shards of algorithms whose clients are the vertices of a graph.

use super::WalkGraph;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_scenarios::algorithm::{Source, without_weights};
use serde::Serialize;
use std::sync::Arc;

/// Shard of a client that owns one vertex: its neighbours, and theirs if a trusted party sends
/// them.
#[derive(Clone, Copy)]
pub struct OwnVertex<'a> {
    graph: &'a Graph,
    vertex: u32,
    knows_two_hops: bool,
}

impl<'a> OwnVertex<'a> {
    pub fn vertex(self) -> u32 {
        self.vertex
    }

    pub fn neighbours(self) -> &'a [u32] {
        self.graph.neighbours(self.vertex)
    }

    /// The neighbours of one of its neighbours, ascending; none unless a trusted party sends them.
    pub fn neighbours_of(self, neighbour: u32) -> &'a [u32] {
        match self.knows_two_hops && self.graph.has_edge(self.vertex, neighbour) {
            true => self.graph.neighbours(neighbour),
            false => &[],
        }
    }
}

/// One vertex for each client: client `v` owns vertex `v`.
pub struct VertexOwners {
    pub walked: Arc<WalkGraph>,
    /// Whether every client knows the neighbours of its neighbours, for a control that no
    /// deployment has.
    pub knows_two_hops: bool,
}

impl<S: for<'a> Strategy<Shard<'a> = OwnVertex<'a>>> Shards<S> for VertexOwners {
    fn n_clients(&self) -> u32 {
        self.walked.graph().n_nodes() as u32
    }

    #[inline]
    fn shard(&self, client: ClientId) -> OwnVertex<'_> {
        OwnVertex {
            graph: self.walked.graph(),
            vertex: client.0,
            knows_two_hops: self.knows_two_hops,
        }
    }

    fn size(&self, _: ClientId) -> u64 {
        1
    }

    fn trusted(&self) -> Option<&'static str> {
        match (&self.walked.links, self.knows_two_hops) {
            (None, false) => None,
            (Some(_), false) => Some("takes held-out edges, drawn from the whole graph, away from their vertices"),
            (None, true) => Some("tells every vertex the neighbours of its neighbours"),
            (Some(_), true) => Some(
                "takes held-out edges, drawn from the whole graph, away from their vertices, and tells every vertex the neighbours of \
                 its neighbours",
            ),
        }
    }
}

/// Public facts about a graph whose vertices are clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The number of vertices, which is the number of clients.
    pub n_nodes: u32,
}

impl Facts {
    /// Of a data set of one undirected graph with a client for each vertex.
    ///
    /// # Errors
    ///
    /// When there are several graphs, or the graph is directed, weighted or has no vertex: walks
    /// need neighbours who know each other, and choose among them alike. When there is not one
    /// client for each vertex.
    pub fn new(source: &Source<'_>) -> Result<Facts, StrategyError> {
        let refuse = |why: String| Err(StrategyError(why));
        let [graph] = source.dataset.graphs.as_slice() else {
            let (data, n) = (&source.dataset.name, source.dataset.graphs.len());
            return refuse(format!(
                "walks on one graph, and {data} has {n}; choose another data set"
            ));
        };
        if graph.is_directed() {
            return refuse("needs an undirected graph; read the data set as undirected".to_owned());
        }
        without_weights(source.dataset)?;
        if graph.n_nodes() == 0 {
            return refuse("needs at least one vertex".to_owned());
        }
        let (n_nodes, n_clients) = (graph.n_nodes() as u32, source.n_clients());
        match n_clients == n_nodes {
            true => Ok(Facts { n_nodes }),
            false => refuse(format!(
                "needs one client per vertex, {n_nodes}; got {n_clients} (use partition: NodePerClient)"
            )),
        }
    }
}
