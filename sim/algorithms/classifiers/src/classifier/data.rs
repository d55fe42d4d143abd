//! The shards: what each client trains on, validates with and tests on, ready for the network.

use super::brought::Brought;
use super::graph_layers::GraphLayers;
use super::narrow::Narrow;
use super::task::{Known, TargetScale, Task, Truth};
use super::{Inputs, Nodes, Parts, Scale, Split, Target};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph, Labels, Partition};
use folkmoot_learning::{Batch, Csr};
use folkmoot_parts::Chosen;
use folkmoot_scores::inference::{Scaling, Table};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What items are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Train,
    /// To choose settings by.
    Validation,
    /// To be scored on.
    Test,
}

/// All that one client holds.
#[derive(Clone)]
pub struct Shard {
    kind: Kind,
    /// Beside the rest, which is far away: every message is handled with these.
    n_train: u32,
    n_train_nodes: u32,
    /// Its nodes as they train where they use few of their columns.
    narrow: Option<Box<Narrow>>,
    /// What its client trains on in the rounds of an attack that changes training items.
    pub(super) poisoned: Option<Box<Shard>>,
    /// The same without the training items that are to be forgotten, and with these alone.
    pub(super) divided: Option<Box<[Shard; 2]>>,
}

/// A graph as it trains: its matrix, its features, and what is to be answered of it.
pub(super) type Single = (Csr, Vec<f32>, Truth);

/// Whole graphs, or nodes of one. An item's position within a part is that within `items`.
#[derive(Clone)]
pub(super) enum Kind {
    /// Whole graphs: a batch and the truth of its graphs or of their nodes for each part, the
    /// graphs' own classes if they have such, and the training graphs one by one for smaller
    /// batches.
    Graphs {
        items: Box<[Vec<u32>; 3]>,
        classes: Box<[Vec<u32>; 3]>,
        parts: Box<[(Batch, Truth); 3]>,
        single: Vec<Single>,
    },
    /// Nodes of one graph: a batch of one graph, the truth of each node, and for each part which
    /// nodes are in it, and which values of theirs are known.
    Nodes {
        client: u32,
        batch: Box<Batch>,
        truth: Box<Truth>,
        masks: [Vec<bool>; 3],
        known: Box<[Vec<bool>; 3]>,
        train: Vec<u32>,
    },
}

/// One part as the network sees it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) batch: &'a Batch,
    pub(super) truth: &'a Truth,
    /// The rows that count, if not all.
    pub(super) mask: Option<&'a [bool]>,
    /// The values that count, of shape `(n_rows, width)`; empty for classes.
    pub(super) known: &'a [bool],
}

impl<'a> View<'a> {
    /// All rows of a batch.
    pub(super) fn whole(batch: &'a Batch, truth: &'a Truth) -> View<'a> {
        View {
            batch,
            truth,
            mask: None,
            known: &truth.known,
        }
    }

    /// The same of other nodes, if there are such.
    pub(super) fn of(self, nodes: Option<&'a Batch>) -> View<'a> {
        View {
            batch: nodes.unwrap_or(self.batch),
            ..self
        }
    }

    /// How many items count.
    pub(super) fn len(&self) -> usize {
        self.mask.map_or(self.truth.n_rows(), |mask| {
            mask.iter().filter(|counts| **counts).count()
        })
    }

    /// The rows that count, ascending.
    pub(super) fn rows(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.truth.n_rows()).filter(move |row| self.mask.is_none_or(|mask| mask[*row]))
    }
}

impl Shard {
    pub(super) fn new(kind: Kind) -> Shard {
        let (n_train, batch) = match &kind {
            Kind::Graphs { parts, .. } => (parts[Part::Train as usize].1.n_rows(), &parts[Part::Train as usize].0),
            Kind::Nodes { train, batch, .. } => (train.len(), &**batch),
        };
        Shard {
            n_train: n_train as u32,
            n_train_nodes: batch.csr().n_rows() as u32,
            narrow: None,
            poisoned: None,
            divided: None,
            kind,
        }
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(super) fn view(&self, part: Part) -> View<'_> {
        match &self.kind {
            Kind::Graphs { parts, .. } => {
                let (batch, truth) = &parts[part as usize];
                View::whole(batch, truth)
            }
            Kind::Nodes {
                batch,
                truth,
                masks,
                known,
                ..
            } => View {
                batch,
                truth,
                mask: Some(&masks[part as usize]),
                known: &known[part as usize],
            },
        }
    }

    /// Lets its batches keep the features that are not 0, where few are, and, for networks that
    /// begin with them, sums over neighbours.
    pub(super) fn make_ready(&mut self, sums: bool) {
        match &mut self.kind {
            Kind::Graphs { parts, .. } => parts.iter_mut().for_each(|(batch, _)| make_ready(batch, sums)),
            Kind::Nodes { batch, .. } => {
                make_ready(batch, sums);
                self.narrow = Narrow::of(batch);
            }
        }
        if let Some(poisoned) = &mut self.poisoned {
            poisoned.make_ready(sums);
        }
        let divided = self.divided.iter_mut().flat_map(|both| both.iter_mut());
        divided.for_each(|shard| shard.make_ready(sums));
    }

    /// What its client trains on in the rounds of an attack.
    pub fn poisoned(&self) -> &Shard {
        self.poisoned.as_deref().unwrap_or(self)
    }

    pub(super) fn narrow(&self) -> Option<&Narrow> {
        self.narrow.as_deref()
    }

    #[cfg(test)]
    pub(super) fn forget_narrow(&mut self) {
        self.narrow = None;
    }

    /// The nodes of one graph, where it holds such; without labels where these are not classes.
    pub fn nodes(&self) -> Option<Nodes<'_>> {
        match &self.kind {
            Kind::Graphs { .. } => None,
            Kind::Nodes {
                batch, truth, masks, ..
            } => Some(Nodes {
                matrix: batch.csr(),
                labels: &truth.classes,
                masks,
            }),
        }
    }

    /// How many labels it learns from.
    pub fn n_train(&self) -> usize {
        self.n_train as usize
    }

    /// How many items its training may be cut into batches of.
    pub(super) fn n_items(&self) -> usize {
        match &self.kind {
            Kind::Graphs { single, .. } => single.len(),
            Kind::Nodes { train, .. } => train.len(),
        }
    }

    /// Nodes that take part in a pass over the training items.
    pub(super) fn n_train_nodes(&self) -> usize {
        self.n_train_nodes as usize
    }
}

/// See [`Shard::make_ready`].
pub(super) fn make_ready(batch: &mut Batch, sums: bool) {
    batch.keep_nonzeros();
    if sums {
        batch.keep_neighbour_sums();
    }
}

pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, StrategyError> {
    Err(StrategyError(why.into()))
}

/// How a network reads a data set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) task: Task,
    /// Of the numbers to predict; empty for other tasks.
    pub(super) scales: Arc<[TargetScale]>,
    pub(super) inputs: Inputs,
    pub(super) scale: Scale,
    pub(super) target: Target,
    pub(super) split: Split,
    pub(super) encoder: Chosen<dyn GraphLayers>,
}

/// The shards of all clients; of those that are not needed here, an empty one.
pub(super) fn shards(
    reading: Reading,
    run: &folkmoot_scenarios::algorithm::Source<'_>,
) -> Result<Vec<Shard>, StrategyError> {
    let source = Source::of_clients(reading, run.dataset, run.partition)?;
    let of_client = |client: u32| {
        if !run.needed.contains(&client) {
            return source.nothing();
        }
        let items = run.partition.shard(client as usize);
        let parts = source.parts(client, items, run.streams);
        source.shard(client, items, parts)
    };
    let shards: Vec<Result<Shard, StrategyError>> = (0..run.n_clients()).into_par_iter().map(of_client).collect();
    shards.into_iter().collect()
}

/// How many outputs a network has: classes, labels or numbers.
pub(super) fn n_outputs(task: Task, target: Target, dataset: &Dataset) -> usize {
    match (target, &dataset.node_labels) {
        (Target::NodeLabels, Some(labels)) if task == Task::Classes => labels.n_classes(),
        _ => task.n_outputs(dataset),
    }
}

/// The class of each node, over all graphs in order, where these are learned in a set of graphs.
fn node_classes(target: Target, dataset: &Dataset) -> Result<Option<Vec<u32>>, StrategyError> {
    if target == Target::Classes || !dataset.is_graph_level() {
        return Ok(None);
    }
    let labels = dataset.node_labels.as_ref();
    let single = |labels: &Labels| -> Option<Vec<u32>> {
        (0..labels.n_nodes() as u32).map(|node| labels.single(node)).collect()
    };
    match labels.and_then(single) {
        Some(classes) => Ok(Some(classes)),
        None => refuse("the data set has not one class for each node; set target: Classes"),
    }
}

/// Where the nodes of each graph begin.
pub fn starts(graphs: &[Graph]) -> Vec<u32> {
    let mut start = 0;
    let next = |graph: &Graph| {
        start += graph.n_nodes() as u32;
        start - graph.n_nodes() as u32
    };
    graphs.iter().map(next).collect()
}

/// What is other in a shard than in the data set; by default nothing.
#[derive(Default)]
pub struct Changes {
    /// The classes of items.
    pub classes: BTreeMap<u32, u32>,
    /// Replaced graphs, by item.
    pub graphs: BTreeMap<u32, Graph>,
    /// Nodes in which columns have a value, before any scaling.
    pub nodes: BTreeSet<u32>,
    pub columns: Vec<usize>,
    pub value: f32,
    /// Nodes of one graph that have neither edges nor features.
    pub without: BTreeSet<u32>,
}

/// What shards are made from.
pub(super) struct Source<'a> {
    reading: Reading,
    dataset: &'a Dataset,
    items: Known,
    node_classes: Option<Vec<u32>>,
    brought: Brought<'a>,
    starts: Vec<u32>,
}

impl<'a> Source<'a> {
    pub(super) fn new(reading: Reading, dataset: &'a Dataset) -> Result<Source<'a>, StrategyError> {
        reading.split.check_published(dataset)?;
        if reading.encoder.needs_edges() {
            folkmoot_scenarios::algorithm::without_weights(dataset)?;
        }
        Ok(Source {
            dataset,
            items: Known::of(reading.task, dataset, &reading.scales)?,
            node_classes: node_classes(reading.target, dataset)?,
            brought: Brought::new(reading.inputs, dataset)?,
            starts: starts(&dataset.graphs),
            reading,
        })
    }

    /// The same for all clients of a partition.
    pub(super) fn of_clients(
        reading: Reading,
        dataset: &'a Dataset,
        partition: &Partition,
    ) -> Result<Source<'a>, StrategyError> {
        reading.split.suits(dataset, partition)?;
        Source::new(reading, dataset)
    }

    /// How the items of a client are divided, those of which something is known.
    pub(super) fn parts(&self, client: u32, items: &[u32], streams: Streams) -> Parts {
        let labelled = self.items.labelled(items);
        self.reading.split.divide(self.dataset, client, labelled, streams)
    }

    /// The items among `items` of which something is known, in their order.
    pub(super) fn labelled(&self, items: &[u32]) -> Vec<u32> {
        self.items.labelled(items)
    }

    /// The class of an item, if it has one.
    pub(super) fn class(&self, item: u32) -> Option<u32> {
        self.items.class(item)
    }

    /// What a client holds of `items`, of which those of `parts` train, validate and test.
    pub(super) fn shard(&self, client: u32, items: &[u32], parts: Parts) -> Result<Shard, StrategyError> {
        self.shard_with(client, items, parts, &Changes::default())
    }

    /// The same with changes.
    pub(super) fn shard_with(
        &self,
        client: u32,
        items: &[u32],
        parts: Parts,
        changes: &Changes,
    ) -> Result<Shard, StrategyError> {
        match self.dataset.is_graph_level() {
            true => self.graphs(parts, changes),
            false => self.nodes_with(client, items, parts, changes),
        }
    }

    /// The shard of a client that is not needed here.
    pub(super) fn nothing(&self) -> Result<Shard, StrategyError> {
        self.graphs(Parts::default(), &Changes::default())
    }

    fn graphs(&self, items: Parts, changes: &Changes) -> Result<Shard, StrategyError> {
        let class = |item: &u32| changes.classes.get(item).copied();
        let single = |item: &u32| -> Result<Single, StrategyError> {
            let graph = changes.graphs.get(item).unwrap_or(&self.dataset.graphs[*item as usize]);
            let start = self.starts[*item as usize];
            let rows: Vec<u32> = (start..start + graph.n_nodes() as u32).collect();
            let matrix = self.reading.encoder.propagation().matrix(&Csr::from_graph(graph));
            let truth = match (&self.node_classes, class(item)) {
                (_, Some(class)) => Truth::of_classes(vec![class]),
                (Some(classes), _) => Truth::of_classes(rows.iter().map(|node| classes[*node as usize]).collect()),
                (None, None) => self.items.truth(&[*item]),
            };
            Ok((matrix, self.brought.of(graph, &rows)?, truth))
        };
        let mut graphs: Vec<Vec<Single>> = Vec::with_capacity(3);
        for part in &items {
            graphs.push(part.iter().map(single).collect::<Result<_, _>>()?);
        }
        if self.reading.scale == Scale::Standardised {
            let scaling = self.scaling(
                graphs[Part::Train as usize]
                    .iter()
                    .flat_map(|(_, features, _)| features),
            );
            let all = graphs.iter_mut().flatten();
            all.for_each(|(_, features, _)| *features = self.scaled(&scaling, features));
        }
        let batch = |graphs: &Vec<Single>| {
            let (mut batch, mut all) = (Batch::new(self.brought.n_features()), Truth::default());
            for (matrix, features, truth) in graphs {
                batch.push(matrix, features);
                all.extend(truth);
            }
            (batch, all)
        };
        let parts = [batch(&graphs[0]), batch(&graphs[1]), batch(&graphs[2])];
        let class = |item: &u32| class(item).or_else(|| self.class(*item));
        let of_items = |part: &Vec<u32>| part.iter().filter_map(class).collect();
        let classes = [of_items(&items[0]), of_items(&items[1]), of_items(&items[2])];
        Ok(Shard::new(Kind::Graphs {
            items: Box::new(items),
            classes: Box::new(classes),
            parts: Box::new(parts),
            single: graphs.swap_remove(Part::Train as usize),
        }))
    }

    /// What brings numbers to mean 0 and variance 1 over the nodes that train.
    fn scaling<'f>(&self, train: impl Iterator<Item = &'f f32>) -> Scaling {
        let values: Vec<f32> = train.copied().collect();
        Scaling::of(&Table::from_rows(values.chunks_exact(self.brought.n_features())))
    }

    fn scaled(&self, scaling: &Scaling, features: &[f32]) -> Vec<f32> {
        scaling
            .apply(&Table::from_rows(features.chunks_exact(self.brought.n_features())))
            .values()
            .to_vec()
    }

    pub(super) fn nodes(&self, client: u32, items: &[u32], parts: Parts) -> Result<Shard, StrategyError> {
        self.nodes_with(client, items, parts, &Changes::default())
    }

    fn nodes_with(&self, client: u32, items: &[u32], parts: Parts, changes: &Changes) -> Result<Shard, StrategyError> {
        let mut graph = self.dataset.graph().induced(items);
        if !changes.without.is_empty() {
            let is_gone = |place: u32| changes.without.contains(&items[place as usize]);
            let left = |(u, v): &(u32, u32)| !is_gone(*u) && !is_gone(*v);
            let edges: Vec<(u32, u32)> = graph.edges().filter(left).collect();
            graph = Graph::from_edges(items.len() as u32, &edges, graph.is_directed()).expect("ends are nodes");
        }
        let mut features = self.brought.of(&graph, items)?;
        let rows = items.iter().zip(features.chunks_exact_mut(self.brought.n_features()));
        for (_, row) in rows.filter(|(item, _)| changes.without.contains(item)) {
            row.fill(0.0);
        }
        let rows = items.iter().zip(features.chunks_exact_mut(self.brought.n_features()));
        for (_, row) in rows.filter(|(item, _)| changes.nodes.contains(item)) {
            changes.columns.iter().for_each(|column| row[*column] = changes.value);
        }
        let mask = |part: &Vec<u32>| items.iter().map(|item| part.binary_search(item).is_ok()).collect();
        let masks: [Vec<bool>; 3] = [mask(&parts[0]), mask(&parts[1]), mask(&parts[2])];
        if self.reading.scale == Scale::Standardised {
            let rows = features
                .chunks_exact(self.brought.n_features())
                .zip(&masks[Part::Train as usize]);
            let train = rows.filter(|(_, trains)| **trains).flat_map(|(row, _)| row);
            features = self.scaled(&self.scaling(train), &features);
        }
        let mut batch = Batch::new(self.brought.n_features());
        batch.push(
            &self.reading.encoder.propagation().matrix(&Csr::from_graph(&graph)),
            &features,
        );
        let train = (0..items.len() as u32).filter(|at| masks[0][*at as usize]).collect();
        let mut truth = self.items.truth(items);
        for (class, item) in truth.classes.iter_mut().zip(items) {
            *class = changes.classes.get(item).copied().unwrap_or(*class);
        }
        let mut known = [Vec::new(), Vec::new(), Vec::new()];
        masks
            .iter()
            .zip(&mut known)
            .for_each(|(mask, to)| truth.known_in(mask, to));
        Ok(Shard::new(Kind::Nodes {
            client,
            batch: Box::new(batch),
            truth: Box::new(truth),
            known: Box::new(known),
            masks,
            train,
        }))
    }
}
