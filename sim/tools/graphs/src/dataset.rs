//! A data set after reading: graphs with what is known about their nodes, edges and wholes.
//!
//! Nodes of several graphs are numbered through: graph `g` owns the positions
//! [`Dataset::node_range`]`(g)` of features, labels and splits, and the positions
//! [`Dataset::arc_range`]`(g)` of edge labels. Everything a reader dropped or changed is in
//! `notes`, with counts, and nothing is dropped without a note.

mod class_split;
mod fingerprint;
mod joined;

use std::ops::Range;

pub use class_split::SplitError;

use crate::features::DenseRows;
use crate::measures::{degree_stats, isolated_nodes, largest_component};
use crate::profile::Spread;
use crate::properties::CLIENT;
use crate::{DataError, Features, Graph, GraphError, Labels, Properties, Targets, TaskLabels};

/// One or more graphs and their annotations.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Dataset {
    /// The name as the card writes it, such as `BlogCatalog`.
    pub name: String,
    /// The graphs; exactly one for a node-level set.
    pub graphs: Vec<Graph>,
    /// One row per node, over all graphs in order.
    pub features: Option<Features>,
    /// Ranges of columns of `features`, ascending, that are functions of who is joined to whom,
    /// such as an atom's degree.
    pub structural_columns: Vec<Range<u32>>,
    /// The classes of each node, over all graphs in order.
    pub node_labels: Option<Labels>,
    /// One class per arc, over all graphs in order, each in the order of [`Graph::arcs`].
    pub edge_labels: Option<Vec<u32>>,
    /// Features of each arc, one row per arc, over all graphs in order, each in the order of
    /// [`Graph::arcs`]. No built-in algorithm uses them.
    pub edge_features: Option<DenseRows>,
    /// The labels of each node, over all graphs in order, for one or more binary tasks; only where
    /// some are missing, else they are `node_labels`.
    pub node_tasks: Option<TaskLabels>,
    /// What each node has in addition to its class, over all graphs in order, such as its client.
    pub node_properties: Option<Properties>,
    /// The class of each graph; `None` for a node-level set, and for one with several tasks or
    /// missing labels.
    pub graph_labels: Option<Vec<u32>>,
    /// What each graph has besides its class, such as the compiler of a function's binary; `None`
    /// where nothing is known.
    pub graph_properties: Option<Properties>,
    /// The labels of each graph for one or more binary tasks, some of them missing.
    pub graph_tasks: Option<TaskLabels>,
    /// The numbers to predict for each node or each graph.
    pub targets: Option<Targets>,
    /// How many classes the learning task has: of graphs if they are labelled, else of nodes; 0
    /// without a task.
    pub n_classes: usize,
    /// The published split, if the files hold one.
    pub splits: Option<Splits>,
    /// The ids that the source file gives the nodes, if they are not `0..n_nodes`.
    pub node_ids: Option<Vec<u32>>,
    /// The texts that the source file names the nodes by, each once, over all graphs in order.
    pub node_names: Option<Vec<String>>,
    /// What reading or generating changed, with counts, each one sentence.
    pub notes: Vec<String>,
    /// The fingerprint, where the file that the set was read from states it. A set made of parts of
    /// another has none.
    pub fingerprint_on_file: Option<String>,
}

/// Which nodes (or graphs) train, validate and test; masks of equal length, disjoint but not
/// covering all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splits {
    /// Whether each item trains.
    pub train: Vec<bool>,
    /// Whether each item validates.
    pub val: Vec<bool>,
    /// Whether each item tests.
    pub test: Vec<bool>,
}

impl Splits {
    /// For each item 1 if it trains, 2 if it validates, 3 if it tests, 0 if none of them.
    pub(crate) fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        let code = |item| match (self.train[item], self.val[item], self.test[item]) {
            (true, ..) => 1,
            (_, true, _) => 2,
            (.., true) => 3,
            _ => 0,
        };
        (0..self.train.len()).map(code)
    }

    /// What [`codes`](Self::codes) made codes of.
    pub(crate) fn from_codes(codes: &[u32]) -> Splits {
        let mask = |code| codes.iter().map(|&item| item == code).collect();
        Splits {
            train: mask(1),
            val: mask(2),
            test: mask(3),
        }
    }

    /// The first item that is in two of the masks.
    pub(crate) fn twice(&self) -> Option<usize> {
        let n = |item: usize| u8::from(self.train[item]) + u8::from(self.val[item]) + u8::from(self.test[item]);
        (0..self.train.len()).find(|&item| n(item) > 1)
    }

    fn select(&self, items: &[u32]) -> Splits {
        let pick = |mask: &[bool]| items.iter().map(|&item| mask[item as usize]).collect();
        Splits {
            train: pick(&self.train),
            val: pick(&self.val),
            test: pick(&self.test),
        }
    }

    /// The sizes of train, validation and test.
    pub fn sizes(&self) -> (usize, usize, usize) {
        let count = |mask: &[bool]| mask.iter().filter(|&&set| set).count();
        (count(&self.train), count(&self.val), count(&self.test))
    }
}

impl Dataset {
    /// A node-level set without annotations.
    pub fn of_graph(name: &str, graph: Graph) -> Dataset {
        Dataset {
            name: name.to_string(),
            graphs: vec![graph],
            ..Dataset::default()
        }
    }

    /// The graph of a node-level set (of a graph-level set, its first graph).
    ///
    /// # Panics
    /// If there is no graph at all; readers and generators never return such a set.
    pub fn graph(&self) -> &Graph {
        self.graphs.first().expect("a data set has at least one graph")
    }

    /// Whether the items to divide among clients are whole graphs rather than nodes of one graph.
    pub fn is_graph_level(&self) -> bool {
        let has_targets = self.targets.as_ref().is_some_and(Targets::are_of_graphs);
        self.graph_labels.is_some() || self.graph_tasks.is_some() || has_targets || self.graphs.len() != 1
    }

    /// Why there is not one class per item, and the way out, for what learns classes alone.
    pub fn no_classes(&self) -> String {
        const NEEDS: &str = "one class per item is needed here";
        const LEARNS: &str = "choose FedAvg";
        match &self.graph_tasks {
            Some(tasks) if tasks.n_tasks() > 1 => {
                let names: Vec<&str> = tasks.names().iter().take(12).map(String::as_str).collect();
                let more = if tasks.n_tasks() > 12 { ", …" } else { "" };
                format!(
                    "the data set has {} tasks ({}{more}), and {NEEDS}; name one in `MoleculeTable(path: …, tasks: [\"{}\"])`, \
                     or {LEARNS}, which learns all",
                    tasks.n_tasks(),
                    names.join(", ").escape_debug(),
                    names[0].escape_debug()
                )
            }
            Some(tasks) if tasks.n_missing() > 0 => format!(
                "{} of {} labels of the task {} are missing, and {NEEDS}; leave those rows out of the file, name another task in \
                 `tasks: […]`, or {LEARNS}, which takes missing labels",
                tasks.n_missing(),
                tasks.n_graphs(),
                tasks.names()[0].escape_debug()
            ),
            _ if self.node_tasks.is_some() => format!(
                "the data set has binary labels of nodes, and {NEEDS}; store a class per node, or {LEARNS}, which learns several \
                 labels"
            ),
            _ if self.node_labels.as_ref().is_some_and(Labels::is_multi_label) => format!(
                "a node of the data set has several classes, and {NEEDS}; choose a set whose nodes have one each, or {LEARNS}, \
                 which learns several labels"
            ),
            _ if self.targets.is_some() => format!(
                "the data set has numbers to predict, and {NEEDS}; store a class for each range of values, or {LEARNS}, \
                 which predicts numbers"
            ),
            _ => "the data set has no classes to learn; choose one with labels".to_owned(),
        }
    }

    /// How many items there are to divide: graphs of a graph-level set, nodes of a node-level one.
    pub fn n_items(&self) -> usize {
        if self.is_graph_level() {
            self.graphs.len()
        } else {
            self.graph().n_nodes()
        }
    }

    /// What each item is in addition to its class.
    pub(crate) fn item_properties(&self) -> Option<&Properties> {
        match self.is_graph_level() {
            true => self.graph_properties.as_ref(),
            false => self.node_properties.as_ref(),
        }
    }

    /// The client that the data state for each item.
    pub(crate) fn given_clients(&self) -> Option<Properties> {
        self.item_properties()?.facet(CLIENT)
    }

    /// How many clients the data state, if they state any.
    pub fn n_given_clients(&self) -> Option<usize> {
        self.given_clients().map(|clients| clients.n_classes())
    }

    /// How many nodes all graphs have together.
    pub fn n_nodes(&self) -> usize {
        self.graphs.iter().map(Graph::n_nodes).sum()
    }

    /// The positions of the nodes of graph `graph_idx` in features, labels and splits.
    ///
    /// # Complexity
    /// O(n_graphs).
    pub fn node_range(&self, graph_idx: usize) -> Range<usize> {
        let start = self.graphs[..graph_idx].iter().map(Graph::n_nodes).sum();
        start..start + self.graphs[graph_idx].n_nodes()
    }

    /// The positions of the arcs of graph `graph_idx` in `edge_labels`.
    ///
    /// # Complexity
    /// O(n_graphs).
    pub fn arc_range(&self, graph_idx: usize) -> Range<usize> {
        let start = self.graphs[..graph_idx].iter().map(Graph::n_arcs).sum();
        start..start + self.graphs[graph_idx].n_arcs()
    }

    /// The set on some nodes of its single graph (ascending, distinct); notes stay, and node ids
    /// are carried along.
    ///
    /// # Panics
    /// If the set is graph-level or a node does not exist.
    pub fn restrict(&self, nodes: &[u32]) -> Dataset {
        assert!(
            !self.is_graph_level(),
            "only a node-level set can be cut down to some of its nodes"
        );
        let graph = self.graph();
        let arcs = || {
            let kept = nodes.iter().flat_map(|&u| graph.arc_range(u).zip(graph.neighbours(u)));
            kept.filter(|(_, v)| nodes.binary_search(v).is_ok()).map(|(at, _)| at)
        };
        let of_arcs = |features: &DenseRows| features.select(&arcs().map(|at| at as u32).collect::<Vec<_>>());
        let id = |node: u32| self.node_ids.as_ref().map_or(node, |ids| ids[node as usize]);
        Dataset {
            name: self.name.clone(),
            graphs: vec![graph.induced(nodes)],
            features: self.features.as_ref().map(|features| features.select(nodes)),
            structural_columns: self.structural_columns.clone(),
            node_labels: self.node_labels.as_ref().map(|labels| labels.select(nodes)),
            edge_labels: self
                .edge_labels
                .as_ref()
                .map(|labels| arcs().map(|at| labels[at]).collect()),
            edge_features: self.edge_features.as_ref().map(of_arcs),
            node_tasks: self.node_tasks.as_ref().map(|tasks| tasks.select(nodes)),
            node_properties: self.node_properties.as_ref().map(|all| all.select(nodes)),
            targets: self.targets.as_ref().map(|targets| targets.select(nodes)),
            graph_labels: None,
            graph_properties: None,
            graph_tasks: None,
            n_classes: self.n_classes,
            splits: self.splits.as_ref().map(|splits| splits.select(nodes)),
            node_ids: Some(nodes.iter().map(|&node| id(node)).collect()),
            node_names: self.node_names.as_ref().map(|names| {
                let name = |&node: &u32| names[node as usize].clone();
                nodes.iter().map(name).collect()
            }),
            notes: self.notes.clone(),
            fingerprint_on_file: None,
        }
    }

    /// The set with more edges in its single graph: pairs of different nodes that have none, each
    /// without direction and of weight 1. Features of edges, which the added ones do not have, are
    /// left out, with a note.
    ///
    /// # Errors
    /// [`GraphError`] for a node that does not exist, or too many edges.
    ///
    /// # Panics
    /// If the set is graph-level, or its edges have labels.
    pub fn with_edges(&self, added: &[(u32, u32)]) -> Result<Dataset, GraphError> {
        assert!(
            !self.is_graph_level() && self.edge_labels.is_none(),
            "only a node-level set whose edges have no labels can get more"
        );
        let mut set = self.clone();
        set.graphs = vec![self.graph().with_edges(added)?];
        if set.edge_features.take().is_some() {
            set.notes
                .push("edge features are left out, since added edges have none".to_owned());
        }
        set.fingerprint_on_file = None;
        Ok(set)
    }

    /// The set on the largest component of its graph, with a note of what was left out.
    pub(crate) fn on_largest_component(self) -> Dataset {
        let nodes = largest_component(self.graph());
        let note = |left: usize| format!("kept the largest component: {left} nodes outside it were left out");
        self.keep(nodes, note)
    }

    /// The set without the nodes that have no edge, with a note.
    pub(crate) fn without_isolated(self) -> Dataset {
        let isolated = isolated_nodes(self.graph());
        let n_nodes = self.graph().n_nodes() as u32;
        let nodes = (0..n_nodes)
            .filter(|node| isolated.binary_search(node).is_err())
            .collect();
        self.keep(nodes, |left| format!("left out {left} isolated nodes"))
    }

    fn keep(self, nodes: Vec<u32>, note: impl Fn(usize) -> String) -> Dataset {
        let left = self.graph().n_nodes() - nodes.len();
        if left == 0 {
            return self;
        }
        let mut kept = self.restrict(&nodes);
        kept.notes.push(note(left));
        kept
    }

    /// A BLAKE3 hash, in hexadecimal, of everything parsed: graphs, features, labels, splits and
    /// ids, but neither name nor notes.
    ///
    /// It names the content, not the file: line ends, compression or the order of lines do not
    /// change it. A mapped file states it, and is not read for it.
    pub fn fingerprint(&self) -> String {
        self.fingerprint_on_file
            .clone()
            .unwrap_or_else(|| fingerprint::of(self))
    }

    /// What is wrong with as much of a mapped file as has been read, if anything is: then nothing
    /// that was made of the set counts.
    pub fn damage(&self) -> Option<DataError> {
        let features = || self.features.as_ref().and_then(Features::damage);
        let labels = || self.node_labels.as_ref().and_then(Labels::damage);
        let of_edges = || self.edge_features.as_ref().and_then(DenseRows::damage);
        self.graphs
            .iter()
            .find_map(Graph::damage)
            .or_else(features)
            .or_else(labels)
            .or_else(of_edges)
    }

    /// Rows of (what, value) with the counts that a reader of a paper compares: for
    /// `folkmoot show`.
    pub fn describe(&self) -> Vec<(String, String)> {
        let mut rows = vec![("name".to_string(), self.name.clone())];
        let mut row = |what: &str, value: String| rows.push((what.to_string(), value));
        if self.is_graph_level() {
            let n_graphs = self.graphs.len().max(1) as f64;
            let arcs: usize = self.graphs.iter().map(Graph::n_arcs).sum();
            let edges: usize = self.graphs.iter().map(Graph::n_edges).sum();
            row("graphs", self.graphs.len().to_string());
            row("mean nodes", format!("{:.2}", self.n_nodes() as f64 / n_graphs));
            row("mean edges", format!("{:.2}", edges as f64 / n_graphs));
            row("mean arcs", format!("{:.2}", arcs as f64 / n_graphs));
            row(
                "isolated nodes",
                self.graphs
                    .iter()
                    .map(|g| isolated_nodes(g).len())
                    .sum::<usize>()
                    .to_string(),
            );
        } else {
            let graph = self.graph();
            let stats = degree_stats(graph);
            row("nodes", graph.n_nodes().to_string());
            row(
                if graph.is_directed() { "arcs" } else { "edges" },
                graph.n_edges().to_string(),
            );
            row(
                "degree",
                format!(
                    "{} to {}, mean {:.2}, median {}",
                    stats.min, stats.max, stats.mean, stats.median
                ),
            );
            row("isolated nodes", stats.isolated.to_string());
            row("largest component", format!("{} nodes", largest_component(graph).len()));
            row("weighted", if graph.is_weighted() { "yes" } else { "no" }.to_string());
        }
        if let Some(features) = &self.features {
            row("features", features.n_columns().to_string());
        }
        if let Some(features) = &self.edge_features {
            row("edge features", features.n_columns().to_string());
        }
        if let Some(labels) = &self.node_labels {
            row("node classes", labels.n_classes().to_string());
            row("node labels", labels.n_labels().to_string());
            row("unlabelled nodes", labels.n_unlabelled().to_string());
        }
        if self.graph_labels.is_some() {
            row("graph classes", self.n_classes.to_string());
        }
        if let Some(properties) = &self.graph_properties {
            row("graph properties", properties.described());
        }
        if let Some(properties) = &self.node_properties {
            row("node properties", properties.described());
        }
        if let Some(clients) = self.given_clients() {
            let items = if self.is_graph_level() { "graphs" } else { "nodes" };
            let mut sizes = vec![0; clients.n_classes()];
            clients.classes().iter().for_each(|&client| sizes[client as usize] += 1);
            let spread = Spread::of(sizes);
            let value = format!("{}, with {} to {} {items}", clients.n_classes(), spread.min, spread.max);
            row("clients", value);
        }
        for tasks in [&self.graph_tasks, &self.node_tasks].into_iter().flatten() {
            row("tasks", tasks.n_tasks().to_string());
            for (task, name) in tasks.names().iter().enumerate() {
                let (positive, negative) = tasks.counts(task);
                let missing = tasks.n_graphs() - positive - negative;
                row(
                    "task",
                    format!("{name}: {positive} positive, {negative} negative, {missing} missing"),
                );
            }
        }
        if let Some(targets) = &self.targets {
            let items = if targets.are_of_graphs() { "graphs" } else { "nodes" };
            for (target, name) in targets.names().iter().enumerate() {
                let value = match targets.summary(target) {
                    Some((least, mean, most, known)) => {
                        let missing = targets.n_items() - known;
                        format!("{name} of {items}: {least} to {most}, mean {mean:.4}, {missing} missing")
                    }
                    None => format!("{name} of {items}: all missing"),
                };
                row("to predict", value);
            }
        }
        if let Some(names) = &self.node_names {
            let mut listed: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
            if names.len() > 3 {
                listed.push("…");
            }
            row("node ids", listed.join(", ").escape_debug().to_string());
        }
        if let Some(splits) = &self.splits {
            let (train, val, test) = splits.sizes();
            row("train / validation / test", format!("{train} / {val} / {test}"));
        }
        row("fingerprint", self.fingerprint());
        for note in &self.notes {
            row("note", note.clone());
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Dataset {
        let graph = Graph::from_edges(4, &[(0, 1), (2, 3), (1, 3)], false).unwrap();
        let labels = Labels::from_pairs(4, 2, &[(0, 0), (3, 1)]).unwrap();
        Dataset {
            node_labels: Some(labels),
            n_classes: 2,
            ..Dataset::of_graph("example", graph)
        }
    }

    #[test]
    fn fingerprint_depends_on_content_but_not_on_name_or_notes() {
        let mut other = example();
        other.name = "renamed".to_string();
        other.notes.push("a note".to_string());
        assert_eq!(other.fingerprint(), example().fingerprint());
        other.node_labels = None;
        assert_ne!(other.fingerprint(), example().fingerprint());
        let with_task = |label| Dataset {
            graph_tasks: TaskLabels::new(vec!["a".to_string()], vec![label]).ok(),
            ..example()
        };
        assert_ne!(with_task(None).fingerprint(), example().fingerprint());
        assert_ne!(with_task(None).fingerprint(), with_task(Some(false)).fingerprint());
        assert_eq!(example().fingerprint().len(), 64);
    }

    #[test]
    fn restricting_carries_labels_and_ids_along() {
        let part = example().restrict(&[1, 3]).restrict(&[1]);
        assert_eq!(part.node_ids, Some(vec![3]));
        assert_eq!(part.node_labels.unwrap().of(0), [1]);
    }

    #[test]
    fn description_counts_a_node_level_set() {
        let rows = example().describe();
        let value = |what: &str| {
            rows.iter()
                .find(|(key, _)| key == what)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(
            (value("nodes"), value("edges"), value("unlabelled nodes")),
            (Some("4"), Some("3"), Some("2"))
        );
    }
}
