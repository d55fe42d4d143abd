//! What a model makes of single nodes: the embeddings of whole graphs, row by row.

use super::data::{Kind, Part, Shard};
use super::task::Truth;
use super::{Classifier, Inputs};
use folkmoot_graphs::Graph;
use folkmoot_learning::{Batch, Csr, Tape};
use folkmoot_parts::component;
use serde::{Deserialize, Serialize};

/// Representation of a node.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRows {
    /// Class probabilities of the node, in 0..=1; width: the number of classes.
    #[default]
    Probabilities,
    /// Softmax of the node's output of the last graph layer, in 0..=1; width: `hidden`, or the
    /// number of classes without a head.
    HiddenSoftmax,
    /// Output of the last graph layer, unbounded; width as for `HiddenSoftmax`.
    Hidden,
}

/// The rows of the nodes of one graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphRows {
    /// The graph's place in a set of graphs; for part of one graph, the client's number.
    pub id: u32,
    /// Row-major, of shape `(n_nodes, width)`, in the order of the nodes.
    pub values: Vec<f32>,
    /// At least 1.
    pub width: u32,
}

impl GraphRows {
    /// The number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.values.len() / self.width as usize
    }
}

impl Shard {
    /// The graphs of the client that are for `part`, each as (place in the set, class), ascending;
    /// none for a client that knows part of one graph.
    pub fn graph_items(&self, part: Part) -> impl Iterator<Item = (u32, u32)> {
        let (items, classes) = match self.kind() {
            Kind::Graphs { items, classes, .. } => (&items[part as usize][..], &classes[part as usize][..]),
            Kind::Nodes { .. } => (&[][..], &[][..]),
        };
        items.iter().copied().zip(classes.iter().copied())
    }

    /// How many neighbours each node of each graph of the client has, graphs in the order of
    /// [`Classifier::node_rows`].
    pub fn degrees(&self) -> Vec<Vec<u32>> {
        // Whatever matrix a network propagates with has an entry for each neighbour, and perhaps
        // one for the node itself.
        let of_node = |csr: &Csr, node: usize| {
            let others = csr.columns()[csr.range(node)].iter();
            others.filter(|other| **other as usize != node).count() as u32
        };
        let of_batch = |batch: &Batch| -> Vec<Vec<u32>> {
            let of_graph = |bounds: &[u32]| {
                (bounds[0]..bounds[1])
                    .map(|node| of_node(batch.csr(), node as usize))
                    .collect()
            };
            batch.bounds().windows(2).map(of_graph).collect()
        };
        match self.kind() {
            Kind::Nodes { batch, .. } => of_batch(batch),
            Kind::Graphs { items, parts, .. } => {
                let parts = parts.iter().zip(items.iter());
                let mut all: Vec<(u32, Vec<u32>)> = parts
                    .flat_map(|((batch, _), items)| items.iter().copied().zip(of_batch(batch)))
                    .collect();
                all.sort_by_key(|(id, _)| *id);
                all.into_iter().map(|(_, degrees)| degrees).collect()
            }
        }
    }
}

impl Classifier {
    /// The rows of all graphs of a client, those that train, validate and test, by ascending id;
    /// for a client that knows part of one graph, the rows of that part.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another network.
    pub fn node_rows(&self, shard: &Shard, parameters: &[f32], rows: NodeRows) -> Vec<GraphRows> {
        match shard.kind() {
            Kind::Nodes { client, batch, .. } => self.rows_of(batch, &[*client], parameters, rows),
            Kind::Graphs { items, parts, .. } => {
                let of_part =
                    |((batch, _), items): (&(Batch, Truth), &Vec<u32>)| self.rows_of(batch, items, parameters, rows);
                let mut all: Vec<GraphRows> = parts.iter().zip(items.iter()).flat_map(of_part).collect();
                all.sort_by_key(|graph| graph.id);
                all
            }
        }
    }

    /// What the network sees of the nodes of all graphs of a client, as
    /// [`node_rows`](Self::node_rows).
    pub fn input_rows(&self, shard: &Shard) -> Vec<GraphRows> {
        let width = self.network.n_features();
        let of_batch = |batch: &Batch, ids: &[u32]| -> Vec<GraphRows> { cut(batch, ids, batch.rows(), width) };
        match shard.kind() {
            Kind::Nodes { client, batch, .. } => of_batch(batch, &[*client]),
            Kind::Graphs { items, parts, .. } => {
                let parts = parts.iter().zip(items.iter());
                let mut all: Vec<GraphRows> = parts.flat_map(|((batch, _), items)| of_batch(batch, items)).collect();
                all.sort_by_key(|graph| graph.id);
                all
            }
        }
    }

    /// The rows of the nodes of any graph; `inputs` has one row a node, and degrees are counted
    /// anew.
    ///
    /// # Panics
    ///
    /// If the inputs do not fit the graph or the network, or the parameters are those of another
    /// network.
    pub fn rows_of_graph(&self, graph: &Graph, inputs: &GraphRows, parameters: &[f32], rows: NodeRows) -> GraphRows {
        let mut features = inputs.values.clone();
        if let Inputs::Degree { most } = self.inputs {
            features.fill(0.0);
            for (node, row) in (0..).zip(features.chunks_exact_mut(inputs.width as usize)) {
                row[graph.degree(node).min(most as usize)] = 1.0;
            }
        }
        let mut batch = Batch::new(self.network.n_features());
        batch.push(&self.encoder.propagation().matrix(&Csr::from_graph(graph)), &features);
        self.rows_of(&batch, &[inputs.id], parameters, rows).swap_remove(0)
    }

    /// How wide the rows are.
    pub fn width(&self, rows: NodeRows) -> usize {
        match rows {
            NodeRows::Probabilities => self.network.n_classes(),
            NodeRows::HiddenSoftmax | NodeRows::Hidden => self.network.n_hidden(),
        }
    }

    fn rows_of(&self, batch: &Batch, ids: &[u32], parameters: &[f32], rows: NodeRows) -> Vec<GraphRows> {
        if ids.is_empty() {
            return Vec::new();
        }
        let width = self.width(rows);
        let values = Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let nodes = match rows {
                NodeRows::Probabilities => self.network.node_logits(tape, batch),
                NodeRows::HiddenSoftmax | NodeRows::Hidden => self.network.node_rows(tape, batch),
            };
            let nodes = match rows {
                NodeRows::Hidden => nodes,
                NodeRows::Probabilities | NodeRows::HiddenSoftmax => tape.softmax(nodes, None),
            };
            tape.value(nodes).to_vec()
        });
        cut(batch, ids, &values, width)
    }
}

/// Rows of all nodes of a batch, graph by graph.
fn cut(batch: &Batch, ids: &[u32], values: &[f32], width: usize) -> Vec<GraphRows> {
    let of_graph = |(&id, bounds): (&u32, &[u32])| GraphRows {
        id,
        values: values[bounds[0] as usize * width..bounds[1] as usize * width].to_vec(),
        width: width as u32,
    };
    ids.iter().zip(batch.bounds().windows(2)).map(of_graph).collect()
}
