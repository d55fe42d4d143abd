//! One graph cut among clients: what each holds, and what it borders on.

use folkmoot_classifiers::classifier::Shard;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_scenarios::algorithm::Source;

/// All that one client holds. It knows the edges of its own nodes, also those to nodes of others,
/// and who holds these; of such a node it knows no more.
pub struct Part {
    client: ClientId,
    shard: Shard,
    nodes: Vec<u32>,
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    foreign: Vec<u32>,
    owners: Vec<u32>,
}

impl Part {
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// Its nodes with the edges between them, as a classifier reads them.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The numbers of its nodes in the whole graph, ascending.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The neighbours of its node at this place, in the whole graph, ascending.
    pub fn neighbours(&self, place: usize) -> &[u32] {
        &self.neighbours[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// The nodes of others that it borders on, ascending.
    pub fn foreign(&self) -> &[u32] {
        &self.foreign
    }

    /// Who holds each of these.
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// The place of one of its own nodes.
    pub fn place(&self, node: u32) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    /// The place of a node among its own, or behind them among those that it borders on.
    pub fn place_among_all(&self, node: u32) -> Option<usize> {
        let behind = |place| self.nodes.len() + place;
        self.place(node)
            .or_else(|| self.foreign.binary_search(&node).ok().map(behind))
    }

    /// Whether its node at this place has a neighbour that another client holds.
    pub fn is_at_border(&self, place: usize) -> bool {
        self.neighbours(place).iter().any(|node| self.place(*node).is_none())
    }

    /// The clients that it borders on, ascending.
    pub fn borders_on(&self) -> Vec<u32> {
        let mut clients = self.owners.clone();
        clients.sort_unstable();
        clients.dedup();
        clients
    }
}

/// Who holds which node of one graph: what everybody knows, since whoever has an edge to another's
/// node must be able to say which it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    owners: Vec<u32>,
}

impl Cut {
    /// Who holds what, of a set that is one graph without weights or directions, each node of which
    /// one client holds.
    ///
    /// # Errors
    ///
    /// When the data are not such.
    pub fn new(source: &Source<'_>) -> Result<Cut, StrategyError> {
        let (dataset, partition) = (source.dataset, source.partition);
        let refuse = |why: &str| Err(StrategyError(why.to_owned()));
        if dataset.is_graph_level() {
            return refuse(
                "the data are many graphs and not one; choose a graph whose nodes have classes, such as Planetoid or DcSbm",
            );
        }
        let graph = dataset.graph();
        if graph.is_directed() || graph.is_weighted() {
            return refuse("edges must have neither direction nor weight here; choose another graph");
        }
        if !partition.is_exact_cover(dataset.n_items()) {
            return refuse("every node must be held by exactly one client; choose another partition, such as Louvain");
        }
        let mut owners = vec![0; graph.n_nodes()];
        for client in 0..partition.n_clients() {
            let shard = partition.shard(client);
            shard.iter().for_each(|node| owners[*node as usize] = client as u32);
        }
        Ok(Cut::of(owners))
    }

    /// A graph whose nodes are held by these.
    pub fn of(owners: Vec<u32>) -> Cut {
        Cut { owners }
    }

    /// Who holds each node.
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// What a client holds that has these nodes, ascending, and reads them so.
    pub fn part(&self, graph: &Graph, client: ClientId, nodes: &[u32], shard: Shard) -> Part {
        let (mut starts, mut neighbours) = (vec![0], Vec::new());
        for node in nodes {
            let mut of_node: Vec<u32> = graph.neighbours(*node).iter().copied().filter(|v| v != node).collect();
            of_node.sort_unstable();
            of_node.dedup();
            neighbours.extend(of_node);
            starts.push(neighbours.len() as u32);
        }
        let is_foreign = |node: &u32| self.owners[*node as usize] != client.0;
        let mut foreign: Vec<u32> = neighbours.iter().copied().filter(is_foreign).collect();
        foreign.sort_unstable();
        foreign.dedup();
        Part {
            client,
            shard,
            owners: foreign.iter().map(|node| self.owners[*node as usize]).collect(),
            nodes: nodes.to_vec(),
            starts,
            neighbours,
            foreign,
        }
    }
}
