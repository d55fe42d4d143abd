//! Graphs, labels, and their division: training graphs per client, validation and test graphs.

use super::options::NodeOrder;
use super::{Params, Setting};
use folkmoot_classifiers::classifier::{Brought, Split, split_shuffled, starts};
use folkmoot_draws::shuffle;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, TaskLabels};
use folkmoot_learning::Csr;
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

const SPLIT: Purpose = Purpose(*b"fg-split");
const NODES: Purpose = Purpose(*b"fg-nodes");

/// Public facts about the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The number of clients.
    pub n_clients: u32,
    /// Number of node features.
    pub n_features: u32,
    /// Number of classes, or of binary tasks.
    pub n_outputs: u32,
    /// Whether features of a node are computed from edges, as its degree is: noise on edges does
    /// not hide them.
    pub inputs_reveal_edges: bool,
}

impl Facts {
    pub(super) fn new(params: &Params, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let dataset = source.dataset;
        if !dataset.is_graph_level() {
            return refuse("the data set is one graph, and views are made of many; choose a set of labelled graphs");
        }
        let inputs = params.inputs.resolved(dataset.features.is_some());
        let n_features = Brought::new(inputs, dataset)?.n_features() as u32;
        Ok(Facts {
            n_clients: source.n_clients(),
            n_outputs: labels(dataset)?.n_outputs() as u32,
            n_features,
            inputs_reveal_edges: inputs.reveal_edges(dataset),
        })
    }
}

/// Data of one client: its training graphs, and the ids of its evaluated graphs.
pub struct ClientData {
    /// Positions of the training graphs in the data set, ascending.
    ids: Vec<u32>,
    graphs: Vec<Arc<Item>>,
    labels: Labels,
    /// Positions of its graphs for validation and test, ascending.
    evaluated: Vec<u32>,
}

impl ClientData {
    /// Number of training graphs.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Position of its training graph number `at` in the data set.
    pub(super) fn id(&self, at: u32) -> u32 {
        self.ids[at as usize]
    }

    /// Its training graph number `at`.
    pub(super) fn graph(&self, at: u32) -> &Item {
        &self.graphs[at as usize]
    }

    pub(super) fn graphs(&self) -> impl Iterator<Item = &Item> {
        self.graphs.iter().map(|graph| &**graph)
    }

    /// Positions of its graphs for validation and test, ascending.
    pub(super) fn evaluated(&self) -> &[u32] {
        &self.evaluated
    }

    /// Labels of its training graphs, by number.
    pub(super) fn labels(&self) -> &Labels {
        &self.labels
    }
}

/// A graph ready for the network.
pub(super) struct Item {
    pub(super) n_nodes: usize,
    /// Pairs of different nodes, each once, the smaller first; empty if the graph is directed or
    /// weighted.
    pub(super) edges: Vec<(u32, u32)>,
    /// Propagation matrix of the encoder on the unchanged graph.
    pub(super) matrix: Csr,
    /// Shape `(n_nodes, n_features)`.
    pub(super) features: Vec<f32>,
}

/// Labels to learn.
pub(super) enum Labels {
    /// One class per graph, and the number of classes.
    Classes(Vec<u32>, usize),
    /// Several binary tasks, some labels missing.
    Tasks(TaskLabels),
}

impl Labels {
    /// Number of logits per graph.
    pub(super) fn n_outputs(&self) -> usize {
        match self {
            Labels::Classes(_, n_classes) => *n_classes,
            Labels::Tasks(tasks) => tasks.n_tasks(),
        }
    }

    /// Whether two graphs are known to have different labels.
    pub(super) fn differ(&self, one: u32, other: u32) -> bool {
        match self {
            Labels::Classes(classes, _) => classes[one as usize] != classes[other as usize],
            Labels::Tasks(tasks) => tasks.differ(one, other),
        }
    }

    /// Labels of some graphs.
    fn select(&self, items: &[u32]) -> Labels {
        match self {
            Labels::Classes(classes, n) => {
                Labels::Classes(items.iter().map(|item| classes[*item as usize]).collect(), *n)
            }
            Labels::Tasks(tasks) => Labels::Tasks(tasks.select(items)),
        }
    }

    fn is_known(&self, item: u32) -> bool {
        match self {
            Labels::Classes(..) => true,
            Labels::Tasks(tasks) => tasks.known(item).next().is_some(),
        }
    }
}

/// All graphs, and their division among clients.
pub(super) struct Data {
    pub(super) items: Vec<Arc<Item>>,
    pub(super) labels: Labels,
    /// The training graphs of each client, ascending.
    pub(super) shards: Vec<Vec<u32>>,
    /// The validation and test graphs of each client, ascending.
    evaluated: Vec<Vec<u32>>,
    pub(super) validation: Vec<u32>,
    pub(super) test: Vec<u32>,
}

fn refuse<T>(why: impl Into<String>) -> Result<T, StrategyError> {
    Err(StrategyError(why.into()))
}

impl Data {
    /// The graphs of a data set, trained on by the clients of its partition.
    ///
    /// # Errors
    ///
    /// When features are not finite, noise meets graphs that are no tables of pairs, or nobody has
    /// anything to train on.
    pub(super) fn new(params: &Params, source: &Source<'_>) -> Result<Data, StrategyError> {
        let (dataset, partition) = (source.dataset, source.partition);
        let labels = labels(dataset)?;
        let inputs = params.inputs.resolved(dataset.features.is_some());
        let is_noisy = !params.setting.epsilons().is_empty();
        if (is_noisy || params.drops_edges())
            && let Some(at) = dataset.graphs.iter().position(|g| g.is_directed() || g.is_weighted())
        {
            return refuse(format!(
                "graph {at} is directed or weighted, and views are made of tables of pairs that are joined or not; use a setting \
                 without noise, and no contrast.drop_edges"
            ));
        }
        let brought = Brought::new(inputs, dataset)?;
        let starts = starts(&dataset.graphs);
        let item = |at: usize| -> Result<Arc<Item>, StrategyError> {
            let mut graph = Cow::Borrowed(&dataset.graphs[at]);
            let mut rows: Vec<u32> = (starts[at]..starts[at] + graph.n_nodes() as u32).collect();
            if params.node_order == NodeOrder::Shuffled {
                let mut rng = source.streams.counted(NODES, Party::Server, Round(0), at as u64);
                shuffle(&mut rng, &mut rows);
                let order: Vec<u32> = rows.iter().map(|row| row - starts[at]).collect();
                graph = Cow::Owned(graph.reordered(&order));
            }
            let graph = &*graph;
            let mut features = brought.of(graph, &rows)?;
            if params.normalise_features {
                features.chunks_exact_mut(brought.n_features()).for_each(normalise);
            }
            let is_table = !graph.is_directed() && !graph.is_weighted();
            let pairs = graph.edges().filter(|(u, v)| is_table && u != v);
            let arcs = match params.setting {
                Setting::NoEdges => without_arcs(graph.n_nodes()),
                _ => Csr::from_graph(graph),
            };
            Ok(Arc::new(Item {
                n_nodes: graph.n_nodes(),
                edges: pairs.map(|(u, v)| (u.min(v), u.max(v))).collect(),
                matrix: params.model.encoder.propagation().matrix(&arcs),
                features,
            }))
        };
        let items: Vec<Result<Arc<Item>, StrategyError>> =
            (0..dataset.graphs.len()).into_par_iter().map(item).collect();
        let [train, validation, test] = split(params.split, dataset, &labels, source.streams)?;
        let of_client = |client: usize, takes: &dyn Fn(&u32) -> bool| -> Vec<u32> {
            let mut items: Vec<u32> = partition.shard(client).to_vec();
            items.retain(takes);
            items.sort_unstable();
            items
        };
        let is_trained = |item: &u32| train.binary_search(item).is_ok();
        let is_evaluated = |item: &u32| [&validation, &test].iter().any(|part| part.binary_search(item).is_ok());
        let mut data = Data {
            items: items.into_iter().collect::<Result<_, _>>()?,
            labels,
            shards: (0..partition.n_clients())
                .map(|client| of_client(client, &is_trained))
                .collect(),
            evaluated: (0..partition.n_clients())
                .map(|client| of_client(client, &is_evaluated))
                .collect(),
            validation,
            test,
        };
        if params.setting == Setting::Centralised {
            data.centralise();
        }
        match data.shards.iter().all(Vec::is_empty) {
            true => refuse("no client has anything to train on; raise split.train or label the data"),
            false => Ok(data),
        }
    }

    /// The data of each client.
    pub(super) fn client_data(&self) -> Vec<ClientData> {
        let own = |(ids, evaluated): (&Vec<u32>, &Vec<u32>)| ClientData {
            ids: ids.clone(),
            graphs: ids.iter().map(|id| Arc::clone(&self.items[*id as usize])).collect(),
            labels: self.labels.select(ids),
            evaluated: evaluated.clone(),
        };
        self.shards.iter().zip(&self.evaluated).map(own).collect()
    }

    /// All training graphs at the first client.
    fn centralise(&mut self) {
        let mut all = self.shards.concat();
        all.sort_unstable();
        all.dedup();
        self.shards.iter_mut().for_each(Vec::clear);
        if let Some(first) = self.shards.first_mut() {
            *first = all;
        }
    }
}

impl Item {
    /// The same graph with an edge between a pair of nodes, or without it.
    pub(super) fn with_pair(&self, params: &Params, pair: (u32, u32), joined: bool) -> Item {
        let mut edges = self.edges.clone();
        edges.retain(|edge| *edge != pair);
        edges.extend(joined.then_some(pair));
        let arcs: Vec<(u32, u32)> = edges.iter().flat_map(|(u, v)| [(*u, *v), (*v, *u)]).collect();
        let arcs = match params.setting {
            Setting::NoEdges => without_arcs(self.n_nodes),
            _ => Csr::from_arcs(self.n_nodes as u32, &arcs, None).expect("pairs are of its nodes"),
        };
        Item {
            n_nodes: self.n_nodes,
            edges,
            matrix: params.model.encoder.propagation().matrix(&arcs),
            features: self.features.clone(),
        }
    }
}

fn without_arcs(n_nodes: usize) -> Csr {
    Csr::from_arcs(n_nodes as u32, &[], None).expect("an empty arc list is valid")
}

/// Divides a row by its sum, where that is positive. Row sums include structural columns, so every
/// normalised value depends on edges.
fn normalise(row: &mut [f32]) {
    let sum: f64 = row.iter().map(|x| f64::from(*x)).sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / sum) as f32);
    }
}

fn labels(dataset: &Dataset) -> Result<Labels, StrategyError> {
    let n_items = dataset.n_items();
    let (labels, n) = match (&dataset.graph_labels, &dataset.graph_tasks) {
        (Some(classes), _) if dataset.n_classes >= 2 => {
            if let Some(item) = classes.iter().position(|class| *class as usize >= dataset.n_classes) {
                return refuse(format!(
                    "graph {item} has class {}, and classes must lie below {}",
                    classes[item], dataset.n_classes
                ));
            }
            (Labels::Classes(classes.clone(), dataset.n_classes), classes.len())
        }
        (_, Some(tasks)) => (Labels::Tasks(tasks.clone()), tasks.n_graphs()),
        _ => return refuse("the data set has no labels of graphs to learn; choose one with two classes or with tasks"),
    };
    match n == n_items {
        true => Ok(labels),
        false => refuse(format!("the data set has labels for {n} graphs and {n_items} graphs")),
    }
}

/// Training, validation and test, each ascending, of the graphs with a known label.
fn split(split: Split, dataset: &Dataset, labels: &Labels, streams: Streams) -> Result<[Vec<u32>; 3], StrategyError> {
    split.check_published(dataset)?;
    let items: Vec<u32> = (0..dataset.n_items() as u32)
        .filter(|item| labels.is_known(*item))
        .collect();
    Ok(match split {
        Split::All => [items, Vec::new(), Vec::new()],
        Split::Published => {
            let splits = dataset.splits.as_ref().expect("the split was checked");
            let pick = |mask: &[bool]| items.iter().copied().filter(|item| mask[*item as usize]).collect();
            [pick(&splits.train), pick(&splits.val), pick(&splits.test)]
        }
        // One division of all graphs is common to all clients, so both mean the same.
        Split::Shares { train, validation } | Split::Common { train, validation } => {
            split_shuffled(items, train, validation, &mut streams.global(SPLIT))
        }
    })
}
