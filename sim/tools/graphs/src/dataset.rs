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

use crate::measures::{degree_stats, isolated_nodes, largest_component};
use crate::{DataError, Features, Graph, GraphError, Labels, Properties, TaskLabels};

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
    /// The class of each graph; `None` for a node-level set, and for one with several tasks or
    /// missing labels.
    pub graph_labels: Option<Vec<u32>>,
    /// What each graph has besides its class, such as the compiler of a function's binary; `None`
    /// where nothing is known.
    pub graph_properties: Option<Properties>,
    /// The labels of each graph for one or more binary tasks, some of them missing.
    pub graph_tasks: Option<TaskLabels>,
    /// How many classes the learning task has: of graphs if they are labelled, else of nodes; 0
    /// without a task.
    pub n_classes: usize,
    /// The published split, if the files hold one.
    pub splits: Option<Splits>,
    /// The ids that the source file gives the nodes, if they are not `0..n_nodes`.
    pub node_ids: Option<Vec<u32>>,
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
        self.graph_labels.is_some() || self.graph_tasks.is_some() || self.graphs.len() != 1
    }

    /// Why there is no class to learn per item, and the way out.
    pub fn no_classes(&self) -> String {
        match &self.graph_tasks {
            Some(tasks) if tasks.n_tasks() > 1 => {
                let names: Vec<&str> = tasks.names().iter().take(12).map(String::as_str).collect();
                let more = if tasks.n_tasks() > 12 { ", …" } else { "" };
                format!(
                    "the data set has {} tasks ({}{more}), and one is learned here; name it in `MoleculeTable(path: …, tasks: [\"{}\"])`, \
                     or choose Fgcl, which learns all",
                    tasks.n_tasks(),
                    names.join(", ").escape_debug(),
                    names[0].escape_debug()
                )
            }
            Some(tasks) if tasks.n_missing() > 0 => format!(
                "{} of {} labels of the task {} are missing; leave those rows out of the file, name another task in `tasks: […]`, \
                 or choose Fgcl, which takes missing labels",
                tasks.n_missing(),
                tasks.n_graphs(),
                tasks.names()[0].escape_debug()
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
        let edge_labels = self.edge_labels.as_ref().map(|labels| {
            let kept = nodes.iter().flat_map(|&u| graph.arc_range(u).zip(graph.neighbours(u)));
            kept.filter(|(_, v)| nodes.binary_search(v).is_ok())
                .map(|(at, _)| labels[at])
                .collect()
        });
        let id = |node: u32| self.node_ids.as_ref().map_or(node, |ids| ids[node as usize]);
        Dataset {
            name: self.name.clone(),
            graphs: vec![graph.induced(nodes)],
            features: self.features.as_ref().map(|features| features.select(nodes)),
            structural_columns: self.structural_columns.clone(),
            node_labels: self.node_labels.as_ref().map(|labels| labels.select(nodes)),
            edge_labels,
            graph_labels: None,
            graph_properties: None,
            graph_tasks: None,
            n_classes: self.n_classes,
            splits: self.splits.as_ref().map(|splits| splits.select(nodes)),
            node_ids: Some(nodes.iter().map(|&node| id(node)).collect()),
            notes: self.notes.clone(),
            fingerprint_on_file: None,
        }
    }

    /// The set with more edges in its single graph: pairs of different nodes that have none, each
    /// without direction and of weight 1.
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
        self.graphs
            .iter()
            .find_map(Graph::damage)
            .or_else(features)
            .or_else(labels)
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
        if let Some(labels) = &self.node_labels {
            row("node classes", labels.n_classes().to_string());
            row("node labels", labels.n_labels().to_string());
            row("unlabelled nodes", labels.n_unlabelled().to_string());
        }
        if self.graph_labels.is_some() {
            row("graph classes", self.n_classes.to_string());
        }
        if let Some(properties) = &self.graph_properties {
            let facets: Vec<&str> = properties.facets().collect();
            let value = format!("{} ({})", properties.n_classes(), facets.join(" × "));
            row("graph properties", value);
        }
        if let Some(tasks) = &self.graph_tasks {
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
