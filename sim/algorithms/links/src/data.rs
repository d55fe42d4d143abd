//! What each client holds, and the pairs that the evaluator scores.

use crate::division::{Division, Part};
use crate::pairs::{Evaluated, Plane, evaluated, may_join};
use crate::predictor::Predictor;
use crate::refuse;
use crate::settings::{CrossEdges, Params};
use crate::train::LinkTrainer;
use folkmoot_classifiers::classifier::Brought;
use folkmoot_draws::index;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph};
use folkmoot_learning::Batch;
use folkmoot_rounds::Rounds;
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The node property that states sides.
pub(crate) const SIDE: &str = "side";
const STRANGERS: Purpose = Purpose(*b"lk-stran");

/// The data of one client: its nodes, the nodes of others that it knows, and its training edges.
/// Nodes are numbered by their place in [`nodes`](Self::nodes).
#[derive(Clone, Debug)]
pub struct Shard {
    nodes: Vec<u32>,
    n_own: usize,
    batch: Batch,
    positives: Vec<(u32, u32)>,
    /// All training edges that the client knows, ascending, to draw negative samples beside.
    known: Vec<(u32, u32)>,
    /// The side of each node of a bipartite graph; else empty.
    sides: Vec<u32>,
}

impl Shard {
    /// Its nodes in the whole graph: own nodes, then ends of edges to other clients, then random
    /// nodes; each group ascending.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// How many of these are its own.
    pub fn n_own(&self) -> usize {
        self.n_own
    }

    /// Its nodes with the edges that messages pass along.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The edges that it is trained to predict, each with the smaller place first.
    pub fn positives(&self) -> &[(u32, u32)] {
        &self.positives
    }

    /// Whether two places are a negative sample: they may have an edge, and no training edge that
    /// the client knows joins them.
    pub(crate) fn is_negative(&self, a: u32, b: u32) -> bool {
        a != b && may_join(&self.sides, a, b) && self.known.binary_search(&(a.min(b), a.max(b))).is_err()
    }
}

/// What shards are made from.
pub(crate) struct Maker<'a> {
    params: &'a Params,
    predictor: Predictor,
    brought: Brought<'a>,
    division: Division,
    graph: &'a Graph,
    sides: Vec<u32>,
    streams: Streams,
}

/// The side of each node where the data set states one, for graphs whose edges join different
/// sides, such as users and items; else nothing.
pub(crate) fn sides(dataset: &Dataset) -> Vec<u32> {
    let stated = dataset.node_properties.as_ref().and_then(|all| all.facet(SIDE));
    stated.map_or_else(Vec::new, |sides| sides.classes().to_vec())
}

impl<'a> Maker<'a> {
    pub(crate) fn new(params: &'a Params, source: &'a Source<'_>) -> Result<Maker<'a>, StrategyError> {
        let dataset = source.dataset;
        let inputs = params.inputs.resolved(dataset.features.is_some());
        let brought = Brought::new(inputs, dataset)?;
        Ok(Maker {
            params,
            predictor: Predictor::new(params, brought.n_features()),
            brought,
            division: Division::new(params.split, source.streams),
            graph: dataset.graph(),
            sides: sides(dataset),
            streams: source.streams,
        })
    }

    /// The shard of a client that holds `own` (ascending).
    fn shard(&self, client: u32, own: &[u32]) -> Result<Shard, StrategyError> {
        let is_own = |node: u32| own.binary_search(&node).is_ok();
        let mut edges: Vec<((u32, u32), Part)> = Vec::new();
        let mut others = BTreeSet::new();
        for &u in own {
            for &v in self.graph.neighbours(u) {
                let is_inner = is_own(v);
                if u == v || is_inner && v < u || !is_inner && self.params.cross_edges == CrossEdges::Unknown {
                    continue;
                }
                let part = self.division.part(u, v);
                if part.is_held_out() {
                    continue;
                }
                if !is_inner {
                    others.insert(v);
                }
                edges.push(((u, v), part));
            }
        }
        let mut nodes = own.to_vec();
        nodes.extend(&others);
        nodes.extend(self.strangers(client, own, &others));
        self.shard_of(nodes, own.len(), &edges)
    }

    /// Random nodes that are neither own nor other ends of known edges, ascending.
    fn strangers(&self, client: u32, own: &[u32], others: &BTreeSet<u32>) -> BTreeSet<u32> {
        let n = self.graph.n_nodes();
        let wanted = (self.params.negatives.strangers as usize).min(n - own.len() - others.len());
        let rng = &mut self.streams.party(STRANGERS, Party::Client(ClientId(client)), Round(0));
        let mut drawn = BTreeSet::new();
        while drawn.len() < wanted {
            let node = index(rng, n) as u32;
            if own.binary_search(&node).is_err() && !others.contains(&node) {
                drawn.insert(node);
            }
        }
        drawn
    }

    /// A shard of `nodes`, of which the first `n_own` are own, with these training edges.
    fn shard_of(&self, nodes: Vec<u32>, n_own: usize, edges: &[((u32, u32), Part)]) -> Result<Shard, StrategyError> {
        let mut places: Vec<(u32, u32)> = nodes.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let place = |node: u32| {
            let at = places.binary_search_by_key(&node, |(node, _)| *node);
            places[at.expect("ends of edges are among the nodes")].1
        };
        let local = |keep: fn(Part) -> bool| -> Vec<(u32, u32)> {
            let kept = edges.iter().filter(|(_, part)| keep(*part));
            let ends = kept.map(|((u, v), _)| (place(*u), place(*v)));
            let mut local: Vec<(u32, u32)> = ends.map(|(a, b)| (a.min(b), a.max(b))).collect();
            local.sort_unstable();
            local
        };
        let messages = local(Part::passes_messages);
        let graph = Graph::from_edges(nodes.len() as u32, &messages, false);
        let graph = graph.map_err(|error| StrategyError(error.to_string()))?;
        let features = self.brought.of(&graph, &nodes)?;
        Ok(Shard {
            batch: self.predictor.batch(&graph, &features),
            positives: local(Part::is_predicted),
            known: local(|_| true),
            sides: match self.sides.is_empty() {
                true => Vec::new(),
                false => nodes.iter().map(|node| self.sides[*node as usize]).collect(),
            },
            n_own,
            nodes,
        })
    }

    /// One shard with the whole graph, as if a single client held it.
    pub(crate) fn whole(&self) -> Result<Shard, StrategyError> {
        let nodes: Vec<u32> = (0..self.graph.n_nodes() as u32).collect();
        let edges: Vec<((u32, u32), Part)> = self.division.edges(self.graph);
        let training: Vec<((u32, u32), Part)> = edges.into_iter().filter(|(_, part)| !part.is_held_out()).collect();
        self.shard_of(nodes.clone(), nodes.len(), &training)
    }
}

/// All data of a run.
pub struct Held {
    shards: Vec<Shard>,
    sizes: Vec<u64>,
    trusted: Option<&'static str>,
    /// The client of each node; `u32::MAX` for nodes of no client.
    owners: Vec<u32>,
    evaluated: [Evaluated; 2],
}

impl Held {
    /// Divides the edges and makes the shards of the clients that are needed; those of others are
    /// empty.
    ///
    /// # Errors
    ///
    /// When a node is in several shards, features are not finite, or no client has a training edge.
    pub fn new(params: &Params, source: &Source<'_>) -> Result<Held, StrategyError> {
        let graph = source.dataset.graph();
        let mut owners = vec![u32::MAX; graph.n_nodes()];
        let own: Vec<&[u32]> = (0..source.n_clients())
            .map(|client| source.partition.shard(client as usize))
            .collect();
        for (client, nodes) in (0..).zip(&own) {
            for &node in *nodes {
                if std::mem::replace(&mut owners[node as usize], client) != u32::MAX {
                    return refuse(format!(
                        "node {node} is in the shards of several clients; choose a partition without overlap, such as Louvain() or Iid()"
                    ));
                }
            }
        }
        let maker = Maker::new(params, source)?;
        let of_client = |client: u32| match source.needed.contains(&client) {
            true => maker.shard(client, own[client as usize]),
            false => maker.shard_of(Vec::new(), 0, &[]),
        };
        let shards: Vec<Result<Shard, StrategyError>> =
            (0..source.n_clients()).into_par_iter().map(of_client).collect();
        let shards = shards.into_iter().collect::<Result<Vec<Shard>, StrategyError>>()?;
        let all_are_here = source.needed.len() == shards.len();
        if all_are_here && shards.iter().all(|shard| shard.positives.is_empty()) {
            return refuse(
                "no client has an edge to train on; lower split.validation and split.test, or set cross_edges: Known",
            );
        }
        let evaluated = match all_are_here {
            true => evaluated(
                Plane {
                    graph,
                    sides: &maker.sides,
                },
                &maker.division.edges(graph),
                (&owners, &own),
                (params.negatives.ranked as usize, source.streams),
            ),
            false => Default::default(),
        };
        Ok(Held {
            shards,
            sizes: source.sizes(),
            trusted: params.trusted(),
            owners,
            evaluated,
        })
    }

    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The pairs without an edge that test edges are scored against.
    pub fn test_non_edges(&self) -> impl Iterator<Item = (u32, u32)> {
        let all = &self.evaluated[1].all;
        let others = all.pairs.iter().zip(&all.is_edge).filter(|(_, is_edge)| !**is_edge);
        others.map(|(pair, _)| *pair)
    }

    /// The client of a node; `u32::MAX` without one.
    pub(crate) fn owner(&self, node: u32) -> u32 {
        self.owners[node as usize]
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.owners.len()
    }

    /// The pairs of validation and test edges.
    pub(crate) fn evaluated(&self) -> &[Evaluated; 2] {
        &self.evaluated
    }
}

/// The shards as the engine hands them out.
pub(crate) struct Handed(pub(crate) std::sync::Arc<Held>);

impl Shards<Rounds<LinkTrainer>> for Handed {
    fn n_clients(&self) -> u32 {
        self.0.shards.len() as u32
    }

    fn shard(&self, client: ClientId) -> &Shard {
        &self.0.shards[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.0.sizes[client.0 as usize]
    }

    fn trusted(&self) -> Option<&'static str> {
        self.0.trusted
    }
}
