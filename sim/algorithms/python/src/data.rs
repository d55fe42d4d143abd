//! The data of all clients as workers map them: one file of arrays, each client's its own.
//!
//! ```text
//! "FKSHARD1", u64 n, n bytes of JSON: {"clients": [0, 1, …], "fields": [[name, dtype, shape], …]}
//! for each client and field: u64 offset, u64 size of the one dimension that is null in the shape
//! the arrays, at multiples of 64 bytes
//! ```
//!
//! Numbers are little-endian; the client -1 is the whole data set. Nothing of one client lies in
//! another's arrays.

use crate::poison::{Poisoned, Version};
use crate::protocol::Array;
use folkmoot_classifiers::classifier::{Brought, Changes, Inputs, Parts, Split, starts};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, DenseRows, Graph, Labels, Targets, TaskLabels};
use folkmoot_scenarios::algorithm::Source;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

const MAGIC: &[u8] = b"FKSHARD1";
const ALIGNMENT: u64 = 64;
/// The number that stands for no class.
const NO_CLASS: i64 = -1;

/// How an app reads a data set.
pub(crate) struct Reading<'a> {
    source: &'a Source<'a>,
    split: Split,
    /// The items of each client by part, in place of those of the split.
    divided: Option<&'a [Parts]>,
    brought: Brought<'a>,
    starts: Vec<u32>,
    /// Who changes items, if anybody does.
    poisoned: Option<Poisoned>,
}

/// The arrays of a client, and how many of its items train.
pub(crate) struct ClientArrays {
    pub(crate) arrays: Vec<Array<'static>>,
    pub(crate) n_train: u32,
}

impl<'a> Reading<'a> {
    /// How an app reads the data of a run.
    pub(crate) fn new(inputs: Inputs, split: Split, source: &'a Source<'a>) -> Result<Self, StrategyError> {
        let dataset = source.dataset;
        if split == Split::Published && dataset.splits.is_none() {
            let why = "the data set was published without a split; set split: Shares()";
            return Err(StrategyError(why.to_owned()));
        }
        if matches!(split, Split::Shares { .. }) && !source.partition.is_exact_cover(dataset.n_items()) {
            let why = "the shards overlap or leave something out; set split: Common(), All or Published, or choose another partition";
            return Err(StrategyError(why.to_owned()));
        }
        let inputs = inputs.resolved(dataset.features.is_some());
        Ok(Reading {
            source,
            split,
            divided: None,
            brought: Brought::new(inputs, dataset)?,
            starts: starts(&dataset.graphs),
            poisoned: None,
        })
    }

    /// The same with other items in each part.
    pub(crate) fn divided_into(self, divided: Option<&'a [Parts]>) -> Self {
        Reading { divided, ..self }
    }

    /// The same with what malicious clients change.
    pub(crate) fn poisoned(self, poisoned: Option<Poisoned>) -> Self {
        Reading { poisoned, ..self }
    }

    /// The class of an item, where one class is learned of each.
    pub(crate) fn class(&self, item: u32) -> Option<u32> {
        match self.known(self.dataset().is_graph_level())? {
            Known::Classes(classes) => Some(classes[item as usize]),
            Known::Labels(labels) => labels.single(item),
            Known::Tasks(_) | Known::Numbers(_) => None,
        }
    }

    /// The graphs of the data set.
    pub(crate) fn graphs_of_set(&self) -> &'a [Graph] {
        &self.dataset().graphs
    }

    /// The labelled items of a client that train, validate and test.
    pub(crate) fn parts(&self, client: u32) -> Parts {
        if let Some(divided) = self.divided {
            return divided[client as usize].clone();
        }
        let items = self.source.partition.shard(client as usize);
        let labelled = items.iter().copied().filter(|item| self.is_labelled(*item)).collect();
        self.split.divide(self.dataset(), client, labelled, self.source.streams)
    }

    /// Numbers that a node brings.
    pub(crate) fn n_features(&self) -> usize {
        self.brought.n_features()
    }

    fn dataset(&self) -> &'a Dataset {
        self.source.dataset
    }

    fn is_weighted(&self) -> bool {
        self.dataset().graphs.iter().any(Graph::is_weighted)
    }

    /// Whether something is known of an item. Without labels, every item is one to learn from.
    fn is_labelled(&self, item: u32) -> bool {
        match self.known(self.dataset().is_graph_level()) {
            Some(known) => known.is_of(item),
            None => true,
        }
    }

    /// What is known of graphs, or else of nodes.
    fn known(&self, of_graphs: bool) -> Option<Known<'a>> {
        let dataset = self.dataset();
        let tasks = match of_graphs {
            true => &dataset.graph_tasks,
            false => &dataset.node_tasks,
        };
        let classes = dataset.graph_labels.as_ref().filter(|_| of_graphs).map(Known::Classes);
        let labels = dataset.node_labels.as_ref().filter(|_| !of_graphs).map(Known::Labels);
        let targets = dataset.targets.as_ref();
        let numbers = targets.filter(|targets| targets.are_of_graphs() == of_graphs);
        let known = classes.or(labels).or(tasks.as_ref().map(Known::Tasks));
        known.or(numbers.map(Known::Numbers))
    }

    /// The items of a shard by part, and what is other in it than in the data set.
    pub(crate) fn version(&self, shard: u32) -> (Parts, Changes) {
        let (version, client) = Version::of(shard, self.source.n_clients());
        let parts = self.parts(client);
        match &self.poisoned {
            Some(poisoned) => poisoned.shard((version, client), parts, self),
            None => (parts, Changes::default()),
        }
    }

    /// The arrays of a shard.
    pub(crate) fn shard(&self, shard: u32) -> Result<ClientArrays, StrategyError> {
        let (_, client) = Version::of(shard, self.source.n_clients());
        let (parts, changes) = self.version(shard);
        self.of(self.source.partition.shard(client as usize), &parts, &changes)
    }

    /// The arrays of the whole data set, with all edges and every client's split.
    pub(crate) fn whole(&self) -> Result<ClientArrays, StrategyError> {
        let mut parts = Parts::default();
        for client in 0..self.source.n_clients() {
            parts
                .iter_mut()
                .zip(self.parts(client))
                .for_each(|(all, own)| all.extend(own));
        }
        parts.iter_mut().for_each(|part| {
            part.sort_unstable();
            part.dedup();
        });
        let items: Vec<u32> = (0..self.dataset().n_items() as u32).collect();
        self.of(&items, &parts, &Changes::default())
    }

    fn of(&self, items: &[u32], parts: &Parts, changes: &Changes) -> Result<ClientArrays, StrategyError> {
        let mut arrays = match self.dataset().is_graph_level() {
            true => self.graphs(items, changes)?,
            false => self.nodes(items, changes)?,
        };
        for (name, part) in ["train_mask", "val_mask", "test_mask"].into_iter().zip(parts) {
            let mask = items
                .iter()
                .map(|item| u8::from(part.binary_search(item).is_ok()))
                .collect();
            arrays.push(array(name, "bool", vec![items.len()], mask));
        }
        Ok(ClientArrays {
            arrays,
            n_train: parts[0].len() as u32,
        })
    }

    fn features(&self, graph: &Graph, rows: &[u32]) -> Result<Vec<f32>, StrategyError> {
        self.brought.of(graph, rows)
    }

    fn nodes(&self, items: &[u32], changes: &Changes) -> Result<Vec<Array<'static>>, StrategyError> {
        let (dataset, whole) = (self.dataset(), self.dataset().graph());
        let graph = whole.induced(items);
        let (n, mut x) = (items.len(), self.features(&graph, items)?);
        let rows = items.iter().zip(x.chunks_exact_mut(self.n_features().max(1)));
        for (_, row) in rows.filter(|(item, _)| changes.nodes.contains(item)) {
            changes.columns.iter().for_each(|column| row[*column] = changes.value);
        }
        let mut arrays = vec![
            array(
                "nodes",
                "int64",
                vec![n],
                longs(items.iter().map(|item| i64::from(*item))),
            ),
            array(
                "x",
                "float32",
                vec![n, self.n_features()],
                bytemuck::cast_slice(&x).to_vec(),
            ),
        ];
        arrays.extend(edges(std::iter::once((0, &graph)), self.is_weighted()));
        let known = self.known(false);
        arrays.extend(known.map(|known| with_classes(known.array("y", items), items, changes)));
        if let Some(features) = &dataset.edge_features {
            arrays.push(edge_attr(features, arcs_between(whole, items).map(Some)));
        }
        // Edges to nodes of other clients: who is joined to whom is known, and nothing else of
        // these.
        let mut sorted: Vec<u32> = items.to_vec();
        sorted.sort_unstable();
        let mut border: [Vec<i64>; 2] = Default::default();
        for (at, item) in items.iter().enumerate() {
            for other in whole
                .neighbours(*item)
                .iter()
                .filter(|other| sorted.binary_search(other).is_err())
            {
                border[0].push(at as i64);
                border[1].push(i64::from(*other));
            }
        }
        let n_border = border[0].len();
        arrays.push(array(
            "border_index",
            "int64",
            vec![2, n_border],
            longs(border.into_iter().flatten()),
        ));
        Ok(arrays)
    }

    fn graphs(&self, items: &[u32], changes: &Changes) -> Result<Vec<Array<'static>>, StrategyError> {
        let dataset = self.dataset();
        let graph_of = |item: &u32| changes.graphs.get(item).unwrap_or(&dataset.graphs[*item as usize]);
        let (mut x, mut rows, mut node_ptr, mut edge_ptr) = (Vec::new(), Vec::new(), vec![0_i64], vec![0_i64]);
        for item in items {
            let graph = graph_of(item);
            let start = self.starts[*item as usize];
            let of_graph: Vec<u32> = (start..start + graph.n_nodes() as u32).collect();
            x.extend(self.features(graph, &of_graph)?);
            rows.extend(of_graph);
            node_ptr.push(rows.len() as i64);
            edge_ptr.push(edge_ptr.last().copied().unwrap_or_default() + graph.n_arcs() as i64);
        }
        let n = items.len();
        let mut arrays = vec![
            array(
                "graphs",
                "int64",
                vec![n],
                longs(items.iter().map(|item| i64::from(*item))),
            ),
            array("node_ptr", "int64", vec![n + 1], longs(node_ptr.iter().copied())),
            array("edge_ptr", "int64", vec![n + 1], longs(edge_ptr.into_iter())),
            array(
                "x",
                "float32",
                vec![rows.len(), self.n_features()],
                bytemuck::cast_slice(&x).to_vec(),
            ),
        ];
        let graphs = items.iter().map(graph_of);
        arrays.extend(edges(node_ptr.iter().copied().zip(graphs), self.is_weighted()));
        let known = self.known(true);
        arrays.extend(known.map(|known| with_classes(known.array("y", items), items, changes)));
        arrays.extend(self.known(false).map(|known| known.array("node_y", &rows)));
        // The arcs of the data set; of one that was planted none.
        let arcs = || {
            items.iter().flat_map(|item| {
                let known = dataset.arc_range(*item as usize);
                let whole: Vec<Option<usize>> = match changes.graphs.get(item) {
                    None => known.map(Some).collect(),
                    Some(graph) => same_arcs(&dataset.graphs[*item as usize], graph, known.start),
                };
                whole
            })
        };
        if let Some(labels) = &dataset.edge_labels {
            let label = |arc: Option<usize>| arc.map_or(0, |arc| i64::from(labels[arc]));
            let all: Vec<i64> = arcs().map(label).collect();
            arrays.push(array("edge_y", "int64", vec![all.len()], longs(all.into_iter())));
        }
        if let Some(features) = &dataset.edge_features {
            arrays.push(edge_attr(features, arcs()));
        }
        Ok(arrays)
    }
}

/// What is known of nodes, or of graphs.
enum Known<'a> {
    /// One class each.
    Classes(&'a Vec<u32>),
    /// One class each, or several.
    Labels(&'a Labels),
    /// Yes, no or unknown, for several tasks.
    Tasks(&'a TaskLabels),
    /// Numbers, NaN where unknown.
    Numbers(&'a Targets),
}

impl Known<'_> {
    /// Whether something is known of an item.
    fn is_of(&self, item: u32) -> bool {
        match self {
            Known::Classes(_) => true,
            Known::Labels(labels) => !labels.of(item).is_empty(),
            Known::Tasks(tasks) => tasks.known(item).next().is_some(),
            Known::Numbers(targets) => targets.of(item).iter().any(|x| !x.is_nan()),
        }
    }

    /// An array of some rows: classes as whole numbers, several classes of one item as 0 and 1;
    /// labels of which some are missing, and numbers, as floats. A single column has one dimension.
    fn array(&self, name: &'static str, rows: &[u32]) -> Array<'static> {
        let n = rows.len();
        let floats = |width: usize, values: Vec<f32>| {
            let shape = if width == 1 { vec![n] } else { vec![n, width] };
            array(name, "float32", shape, bytemuck::cast_slice(&values).to_vec())
        };
        match self {
            Known::Classes(classes) => {
                let classes = rows.iter().map(|row| i64::from(classes[*row as usize]));
                array(name, "int64", vec![n], longs(classes))
            }
            Known::Labels(labels) if labels.is_multi_label() => {
                let n_classes = labels.n_classes();
                let mut hot = vec![0; n * n_classes];
                for (row, hot) in rows.iter().zip(hot.chunks_exact_mut(n_classes)) {
                    labels.of(*row).iter().for_each(|class| hot[*class as usize] = 1);
                }
                array(name, "uint8", vec![n, n_classes], hot)
            }
            Known::Labels(labels) => {
                let class = |row: &u32| labels.single(*row).map_or(NO_CLASS, i64::from);
                array(name, "int64", vec![n], longs(rows.iter().map(class)))
            }
            Known::Tasks(tasks) => {
                let number = |label: &Option<bool>| label.map_or(f32::NAN, |label| f32::from(u8::from(label)));
                floats(
                    tasks.n_tasks(),
                    rows.iter().flat_map(|row| tasks.of(*row)).map(number).collect(),
                )
            }
            Known::Numbers(targets) => floats(
                targets.names().len(),
                rows.iter().flat_map(|row| targets.of(*row)).copied().collect(),
            ),
        }
    }
}

/// The positions, among all arcs of a graph, of those between `nodes` (ascending), in the order of
/// the subgraph on these.
fn arcs_between<'g>(graph: &'g Graph, nodes: &'g [u32]) -> impl Iterator<Item = usize> + 'g {
    let of_node = |node: &'g u32| graph.arc_range(*node).zip(graph.neighbours(*node));
    let between = nodes.iter().flat_map(of_node);
    between
        .filter(|(_, to)| nodes.binary_search(to).is_ok())
        .map(|(at, _)| at)
}

/// Classes with those that are changed.
fn with_classes(mut y: Array<'static>, items: &[u32], changes: &Changes) -> Array<'static> {
    if !changes.classes.is_empty() {
        let changed = items.iter().enumerate();
        for (at, class) in changed.filter_map(|(at, item)| Some((at, changes.classes.get(item)?))) {
            y.bytes.to_mut()[8 * at..][..8].copy_from_slice(&i64::from(*class).to_le_bytes());
        }
    }
    y
}

/// For each arc of `graph` the place of the same arc in another graph on these nodes, which begins
/// at `start`, if it is there.
fn same_arcs(other: &Graph, graph: &Graph, start: usize) -> Vec<Option<usize>> {
    let place = |(from, to): (u32, u32)| {
        let at = other.neighbours(from).iter().position(|neighbour| *neighbour == to)?;
        Some(start + other.arc_range(from).start + at)
    };
    graph.arcs().map(place).collect()
}

/// The features of arcs, 0 for one without any.
fn edge_attr(features: &DenseRows, arcs: impl Iterator<Item = Option<usize>>) -> Array<'static> {
    let (mut values, mut n): (Vec<f32>, usize) = (Vec::new(), 0);
    for arc in arcs {
        match arc {
            Some(arc) => values.extend(features.row(arc as u32)),
            None => values.resize(values.len() + features.n_columns(), 0.0),
        }
        n += 1;
    }
    let bytes = bytemuck::cast_slice(&values).to_vec();
    array("edge_attr", "float32", vec![n, features.n_columns()], bytes)
}

/// The arcs of graphs whose nodes begin at these positions, with weights where the data set has
/// any.
fn edges<'g>(graphs: impl Iterator<Item = (i64, &'g Graph)>, is_weighted: bool) -> Vec<Array<'static>> {
    let mut ends: [Vec<i64>; 2] = Default::default();
    let mut weights: Vec<f32> = Vec::new();
    for (start, graph) in graphs {
        for (from, to) in graph.arcs() {
            ends[0].push(start + i64::from(from));
            ends[1].push(start + i64::from(to));
        }
        match graph.arc_weights() {
            Some(own) => weights.extend(own),
            None => weights.resize(ends[0].len(), 1.0),
        }
    }
    let n = ends[0].len();
    let mut arrays = vec![array(
        "edge_index",
        "int64",
        vec![2, n],
        longs(ends.into_iter().flatten()),
    )];
    if is_weighted {
        arrays.push(array(
            "edge_weight",
            "float32",
            vec![n],
            bytemuck::cast_slice(&weights).to_vec(),
        ));
    }
    arrays
}

fn longs(values: impl Iterator<Item = i64>) -> Vec<u8> {
    values.flat_map(i64::to_le_bytes).collect()
}

fn array(name: &'static str, dtype: &'static str, shape: Vec<usize>, bytes: Vec<u8>) -> Array<'static> {
    Array {
        name: name.into(),
        dtype: dtype.into(),
        shape,
        bytes: bytes.into(),
    }
}

/// The dimension of an array that differs between clients.
fn varying(name: &str) -> usize {
    usize::from(["edge_index", "border_index"].contains(&name))
}

/// Writes the file of these clients' arrays, one client after the other; `None` is the whole data
/// set. Returns the training items of each.
///
/// # Errors
///
/// When the file cannot be written, or the data do not suit.
pub(crate) fn write(
    path: &Path,
    clients: &[Option<u32>],
    mut of_client: impl FnMut(Option<u32>) -> Result<ClientArrays, StrategyError>,
) -> Result<Vec<u32>, StrategyError> {
    let failed = |error: io::Error| StrategyError(format!("the data cannot be written for workers: {error}"));
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let (mut at, mut index, mut fields, mut n_train) = (0, Vec::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for client in clients {
        let own = of_client(*client)?;
        if fields.is_empty() {
            fields = own.arrays.iter().map(|array| field(array)).collect::<Vec<_>>();
            let header = header(clients, &fields);
            start = (MAGIC.len() + 8 + header.len()) as u64;
            at = start + 16 * (clients.len() * fields.len()) as u64;
            file.write_all(MAGIC).map_err(failed)?;
            file.write_all(&(header.len() as u64).to_le_bytes()).map_err(failed)?;
            file.write_all(&header).map_err(failed)?;
        }
        for (array, known) in own.arrays.iter().zip(&fields) {
            assert_eq!(&field(array), known, "clients have the same fields");
            at = at.next_multiple_of(ALIGNMENT);
            index.push([at, array.shape[varying(&array.name)] as u64]);
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            file.write_all(&array.bytes).map_err(failed)?;
            at += array.bytes.len() as u64;
        }
        n_train.push(own.n_train);
    }
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    for entry in index.iter().flatten() {
        file.write_all(&entry.to_le_bytes()).map_err(failed)?;
    }
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.set_len(at.max(start + 16 * index.len() as u64)).map_err(failed)?;
    Ok(n_train)
}

fn field(array: &Array<'_>) -> serde_json::Value {
    let mut shape: Vec<Option<usize>> = array.shape.iter().map(|n| Some(*n)).collect();
    shape[varying(&array.name)] = None;
    json!([array.name, array.dtype, shape])
}

/// The header, as long as arrays behind it are aligned.
fn header(clients: &[Option<u32>], fields: &[serde_json::Value]) -> Vec<u8> {
    let clients: Vec<i64> = clients.iter().map(|client| client.map_or(-1, i64::from)).collect();
    let mut text = json!({"clients": clients, "fields": fields}).to_string().into_bytes();
    let n = (MAGIC.len() + 8 + text.len()).next_multiple_of(ALIGNMENT as usize) - MAGIC.len() - 8;
    text.resize(n, b' ');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_that_stay_keep_their_place_and_planted_ones_have_none() {
        let path = Graph::from_edges(3, &[(0, 1), (1, 2)], false).unwrap();
        let triangle = Graph::from_edges(3, &[(0, 1), (1, 2), (0, 2)], false).unwrap();
        let places = [Some(10), None, Some(11), Some(12), None, Some(13)];
        assert_eq!(same_arcs(&path, &triangle, 10), places);
    }
}
