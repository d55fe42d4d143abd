//! What a partition makes of a data set, counted: who has how many items of which label, which
//! edges nobody sees whole, and which items several or none have.

use super::Partition;
use crate::profile::labels;
use crate::{Dataset, Graph};
use folkmoot_metrics::{Division, PartitionRow};

/// With more clients than this, some that follow each other share a row.
const MOST_ROWS: usize = 1000;
/// With more labels than this, the smallest are counted together.
const MOST_LABELS: usize = 64;

/// What a client, or several, have.
#[derive(Clone, Debug)]
struct Shards {
    size: u64,
    inner: u64,
    cut: u64,
    /// Items by the place of their label among the names.
    items: Vec<u64>,
}

impl Partition {
    /// What the data come to, and what the clients have of them, by label.
    ///
    /// # Complexity
    /// O(shards and the arcs of their nodes); where every client is one node and the graph has no
    /// loops, no arc is looked at.
    pub fn split(&self, dataset: &Dataset) -> (Division, Vec<PartitionRow>) {
        let (places, names) = places(dataset);
        let n_clients = self.n_clients();
        let step = n_clients.div_ceil(MOST_ROWS).max(1);
        let none = Shards {
            size: 0,
            inner: 0,
            cut: 0,
            items: vec![0; names.len()],
        };
        let mut groups = vec![none; n_clients.div_ceil(step)];
        for client in 0..n_clients {
            let group = &mut groups[client / step];
            group.size += self.shard(client).len() as u64;
            for &item in self.shard(client) {
                let mut is_labelled = false;
                each_label(dataset, item, |label| {
                    is_labelled = true;
                    group.items[places[label]] += 1;
                });
                if let Some(unlabelled) = group.items.last_mut().filter(|_| !is_labelled) {
                    *unlabelled += 1;
                }
            }
        }
        let mut count = |client: usize, inner: u64, cut: u64| {
            let group = &mut groups[client / step];
            group.inner += inner;
            group.cut += cut;
        };
        let cut_edges = match dataset.is_graph_level() {
            true => self.whole_graphs(&dataset.graphs, &mut count),
            false => self.cut_graph(dataset.graph(), &mut count),
        };
        let (shared_items, spare_items) = self.uneven(dataset.n_items());
        let division = Division {
            of: if dataset.is_graph_level() { "graphs" } else { "nodes" }.to_owned(),
            items: dataset.n_items() as u64,
            clients: n_clients as u64,
            edges: dataset.graphs.iter().map(|graph| graph.n_edges() as u64).sum(),
            cut_edges,
            shared_items,
            spare_items,
        };
        let rows = groups.iter().enumerate().flat_map(|(at, group)| {
            let row = |(name, items): (&String, &u64)| PartitionRow {
                client: (at * step) as u32,
                clients: (n_clients - at * step).min(step) as u32,
                shard_size: group.size,
                inner_edges: group.inner,
                cut_edges: group.cut,
                label: name.clone(),
                items: *items,
            };
            let is_empty = group.size == 0;
            // A client that has nothing has a row all the same: the last.
            let kept = move |(place, (_, items)): &(usize, (&String, &u64))| {
                **items > 0 || is_empty && *place + 1 == group.items.len()
            };
            let all = names.iter().zip(&group.items).enumerate();
            all.filter(kept).map(|(_, pair)| row(pair)).collect::<Vec<_>>()
        });
        (division, rows.collect())
    }

    /// How many of `n_items` items are in several shards, and how many in none.
    fn uneven(&self, n_items: usize) -> (u64, u64) {
        if self.bounds.is_none() {
            return (0, n_items.saturating_sub(self.items.len()) as u64);
        }
        let mut n_shards = vec![0_u32; n_items];
        self.items.iter().for_each(|&item| n_shards[item as usize] += 1);
        let count = |is: fn(u32) -> bool| n_shards.iter().filter(|n| is(**n)).count() as u64;
        (count(|n| n > 1), count(|n| n == 0))
    }

    /// Counts the edges of graphs, which no shard cuts; returns those of graphs that nobody has.
    fn whole_graphs(&self, graphs: &[Graph], count: &mut dyn FnMut(usize, u64, u64)) -> u64 {
        let mut is_seen = vec![false; graphs.len()];
        for client in 0..self.n_clients() {
            for &graph in self.shard(client) {
                is_seen[graph as usize] = true;
                count(client, graphs[graph as usize].n_edges() as u64, 0);
            }
        }
        let unseen = graphs.iter().zip(is_seen).filter(|(_, is_seen)| !is_seen);
        unseen.map(|(graph, _)| graph.n_edges() as u64).sum()
    }

    /// Counts the edges inside and at the border of each shard; returns those that lie in no shard
    /// whole.
    fn cut_graph(&self, graph: &Graph, count: &mut dyn FnMut(usize, u64, u64)) -> u64 {
        let may_loop = graph.is_directed() || 2 * graph.n_edges() != graph.n_arcs();
        if self.bounds.is_none() {
            let mut n_loops = 0;
            for client in 0..self.n_clients() {
                let node = self.items[client];
                let loops = u64::from(may_loop && graph.has_edge(node, node));
                n_loops += loops;
                count(client, loops, graph.degree(node) as u64 - loops);
            }
            return graph.n_edges() as u64 - n_loops;
        }
        // In which shard a node was seen last.
        let mut last = vec![u32::MAX; graph.n_nodes()];
        let mut is_whole = vec![false; graph.n_arcs()];
        for client in 0..self.n_clients() {
            let shard = self.shard(client);
            shard.iter().for_each(|&node| last[node as usize] = client as u32);
            let (mut inner, mut cut) = (0, 0);
            for &node in shard {
                for (at, &other) in graph.arc_range(node).zip(graph.neighbours(node)) {
                    if last[other as usize] != client as u32 {
                        cut += 1;
                        continue;
                    }
                    is_whole[at] = true;
                    // An undirected edge is met from both its ends.
                    inner += u64::from(graph.is_directed() || node <= other);
                }
            }
            count(client, inner, cut);
        }
        let arcs = graph.arcs().zip(is_whole);
        let cut = arcs.filter(|((u, v), is_whole)| !is_whole && (graph.is_directed() || u <= v));
        cut.count() as u64
    }
}

/// For each label its place among the names, and the names: the largest labels in their order, the
/// others together if there are any, and last what has no label.
fn places(dataset: &Dataset) -> (Vec<usize>, Vec<String>) {
    let (labels, _) = labels(dataset);
    let mut order: Vec<usize> = (0..labels.len()).collect();
    if labels.len() > MOST_LABELS {
        order.sort_by_key(|&label| (std::cmp::Reverse(labels[label].1), label));
        order.truncate(MOST_LABELS - 1);
        order.sort_unstable();
    }
    let places = (0..labels.len()).map(|label| order.binary_search(&label).unwrap_or(order.len()));
    let places = places.collect();
    let mut names: Vec<String> = order.iter().map(|&label| labels[label].0.clone()).collect();
    if names.len() < labels.len() {
        names.push("other labels".to_owned());
    }
    names.push("unlabelled".to_owned());
    (places, names)
}

/// Tells every label of an item, by its place among the data set's.
fn each_label(dataset: &Dataset, item: u32, mut tell: impl FnMut(usize)) {
    if let Some(tasks) = &dataset.graph_tasks {
        tasks.known(item).filter(|(_, is)| *is).for_each(|(task, _)| tell(task));
    } else if let Some(classes) = &dataset.graph_labels {
        tell(classes[item as usize] as usize);
    } else if let Some(labels) = dataset.node_labels.as_ref().filter(|_| !dataset.is_graph_level()) {
        labels.of(item).iter().for_each(|&class| tell(class as usize));
    }
}
