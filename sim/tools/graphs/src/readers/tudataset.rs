//! Folders of the TUDataset collection: one `NAME_*.txt` file each for edges, membership, and
//! labels.
//!
//! `NAME_A.txt` (`i, j`, node ids from 1 over all graphs), `NAME_graph_indicator.txt` and
//! `NAME_graph_labels.txt` are required; in the place of the last, `NAME_graph_attributes.txt` may
//! hold numbers to predict. `NAME_node_labels.txt`, `NAME_edge_labels.txt` and
//! `NAME_node_attributes.txt` are read where they exist. The collection stores every edge in both
//! directions; graphs are undirected. Class numbers are the ranks of the values in the files, so
//! any integer and any word is a class; several labels of one node are not read. A graph without a
//! node cannot be written in this form and is refused.

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};
use ndarray::Array2;

use super::assemble::{self, Level};
use super::classes::{self, Class};
use super::notes::note_cleaned;
use super::text::{Text, shown};
use crate::data_source::{CatalogueEntry, DataSource, checked};
use crate::{Cleaned, DataDirs, DataError, Dataset, Features, Graph, GraphBuilder, Labels};

const GET_TU: &str = "help: folkmoot data fetch NAME\n  or unpack the set's zip file of the TUDataset collection, so that `NAME_A.txt` \
    lies in `tudataset/NAME/` below a data folder";
const FOLDER: &str = "must be a folder of the TUDataset collection, such as \"MUTAG\" (letters, digits, `-` and `_`)";

/// A name is a folder and the beginning of file names: nothing that could lead elsewhere.
fn is_folder(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().all(plain)
}

/// Reads the set `name` from a data folder.
fn read(name: &str, dirs: &DataDirs, brought: Brought) -> Result<Dataset, DataError> {
    let get = GET_TU.replace("NAME", name);
    read_tudataset(
        name,
        &dirs.locate_set(Path::new("tudataset").join(name), &get)?,
        brought,
    )
}

/// A set of labelled graphs, from `tudataset/NAME/`.
#[component(name = "TuDataset", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct TuDataset {
    /// Folder name, such as `"MUTAG"`.
    #[component(required)]
    pub name: String,
    /// Append the node labels, one-hot, to the node attributes: MUTAG then has 7 features,
    /// PROTEINS_full 32.
    #[component(default = true)]
    pub label_features: bool,
}

impl TuDataset {
    fn rules(&self, rules: &mut Rules) {
        rules.require(is_folder(&self.name), "name", FOLDER);
    }
}

impl DataSource for TuDataset {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let brought = Brought {
            attributes: true,
            labels: self.label_features,
        };
        read(&self.name, dirs, brought)
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![
            CatalogueEntry::at(
                "tudataset/MUTAG",
                "TuDataset(name: \"MUTAG\")",
                "188 molecules, 2 classes, 7 features",
            ),
            CatalogueEntry::at(
                "tudataset/PROTEINS",
                "TuDataset(name: \"PROTEINS\")",
                "1,113 proteins, 2 classes, 4 features",
            ),
            CatalogueEntry::at(
                "tudataset/PROTEINS_full",
                "TuDataset(name: \"PROTEINS_full\")",
                "the same proteins, 32 features",
            ),
            CatalogueEntry::at(
                "tudataset/IMDB-BINARY",
                "TuDataset(name: \"IMDB-BINARY\")",
                "1,000 ego networks of actors, 2 classes, no features",
            ),
        ]
    }
}

/// Several sets of labelled graphs combined, from `tudataset/NAME/` each. The graph property
/// `set` names the source, so `ByProperty(property: Facet("set"))` makes each set a client.
/// Features and classes of each set have their own columns. Node and edge labels are dropped,
/// except as features.
#[component(name = "TuDatasets", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct TuDatasets {
    /// Folder names, each once, in the order of columns and classes.
    #[component(required)]
    pub names: Vec<String>,
    /// Start the features with the node attributes of sets that have them, such as atom
    /// coordinates.
    #[component(default = true)]
    pub attributes: bool,
    /// Append the node labels, one-hot.
    #[component(default = true)]
    pub label_features: bool,
}

impl TuDatasets {
    fn rules(&self, rules: &mut Rules) {
        let names = &self.names;
        let rule = "must name a set, such as [\"MUTAG\", \"PROTEINS\"]";
        rules.require(!names.is_empty(), "names", rule);
        if let Some(wrong) = names.iter().find(|name| !is_folder(name)) {
            rules.require(false, "names", format!("{FOLDER}, got {wrong:?}"));
        }
        if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            let rule = format!("must name each set once, got {:?} twice", names[at]);
            rules.require(false, "names", rule);
        }
    }
}

impl DataSource for TuDatasets {
    fn name(&self) -> String {
        self.names.join(" + ")
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let brought = Brought {
            attributes: self.attributes,
            labels: self.label_features,
        };
        let sets: Result<Vec<Dataset>, DataError> = self.names.iter().map(|name| read(name, dirs, brought)).collect();
        Dataset::joined(self.name(), sets?)
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![CatalogueEntry::at(
            "tudataset",
            "TuDatasets(names: [\"MUTAG\", \"PROTEINS\"])",
            "several of these as one, each with columns and classes of its own",
        )]
    }
}

/// What becomes a node's features.
#[derive(Clone, Copy)]
struct Brought {
    attributes: bool,
    /// Behind these its labels, one-hot.
    labels: bool,
}

/// Reads the folder `dir` of the set `name`.
///
/// Attributes followed by labels are how papers count 7 features in MUTAG and 32 in PROTEINS_full.
fn read_tudataset(name: &str, dir: &Path, brought: Brought) -> Result<Dataset, DataError> {
    let file = |part: &str| dir.join(format!("{name}_{part}.txt"));
    let optional = |part: &str| Some(file(part)).filter(|path| path.exists());
    let of_graphs = optional("graph_labels").or_else(|| optional("graph_attributes"));
    let mut required = ["A", "graph_indicator"].into_iter().filter(|part| !file(part).exists());
    let missing = required.next().or(of_graphs.is_none().then_some("graph_labels"));
    if let Some(part) = missing {
        // A download that failed leaves such a folder, too.
        let rule = format!(
            "the folder has no `{name}_{part}.txt`\n  help: folkmoot data fetch {name}\n  or unpack the whole zip file of the set into it"
        );
        return Err(DataError::format(dir, rule));
    }
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    let (n_graphs, has_classes) = match optional("graph_labels") {
        Some(path) => {
            let graph_values = classes_of(&path, "graph")?;
            let n_graphs = graph_values.len();
            let (classes, values) = numbered(&mut dataset, "graph", graph_values);
            dataset.n_classes = values;
            dataset.graph_labels = Some(classes);
            (n_graphs, true)
        }
        None => (read_targets(&mut dataset, &file("graph_attributes"))?, false),
    };
    let starts = graph_starts(&file("graph_indicator"), n_graphs)?;
    for (part, is_read) in [("graph_attributes", !has_classes), ("edge_attributes", false)] {
        if file(part).exists() && !is_read {
            dataset.notes.push(format!("{name}_{part}.txt is not read"));
        }
    }
    let edges = read_edges(&file("A"), &starts)?;
    let edge_values = optional("edge_labels")
        .map(|path| parallel(&path, "edge", edges.pairs.len()))
        .transpose()?;
    build_graphs(&mut dataset, &file("A"), &starts, &edges)?;
    if let Some(values) = edge_values {
        let (classes, _) = numbered(&mut dataset, "edge", values);
        dataset.edge_labels = Some(edge_labels(&dataset, &file("edge_labels"), &starts, &edges, &classes)?);
    }
    let n_nodes = starts.n_nodes();
    if let Some(path) = optional("node_labels") {
        let (classes, n_classes) = numbered(&mut dataset, "node", parallel(&path, "node", n_nodes)?);
        let pairs: Vec<(u32, u32)> = (0..).zip(classes).collect();
        let labels = Labels::from_pairs(n_nodes as u32, n_classes as u32, &pairs);
        dataset.node_labels = Some(labels.map_err(|error| DataError::labels(&path, error))?);
    }
    let attributes = optional("node_attributes")
        .filter(|_| brought.attributes)
        .map(|path| read_attributes(&path, n_nodes))
        .transpose()?;
    dataset.features = features(
        attributes,
        dataset.node_labels.as_ref().filter(|_| brought.labels),
        n_nodes,
    );
    Ok(dataset)
}

/// Which nodes belong to which graph: graph `g` owns the nodes `bounds[g]..bounds[g + 1]`.
struct Starts {
    bounds: Vec<u32>,
    /// The graph of each node.
    graph_of: Vec<u32>,
}

impl Starts {
    fn n_nodes(&self) -> usize {
        self.graph_of.len()
    }
}

/// The edges of `NAME_A.txt`, ids from 0 over all graphs, in the order of the file.
struct Edges {
    pairs: Vec<(u32, u32)>,
    /// The positions in `pairs` of the edges of each graph, in file order; bounds and positions.
    bounds: Vec<u32>,
    by_graph: Vec<u32>,
}

/// The classes of graphs, nodes or edges, one a line.
fn classes_of(path: &Path, what: &str) -> Result<Vec<Class>, DataError> {
    let text = Text::open(path)?;
    let parse = |line: Result<(usize, &str), DataError>| {
        let (number, line) = line?;
        if line.contains(',') {
            let rule = format!(
                "expected one label per {what}, got several ({}); keep the column with the classes, and write others of nodes into \
                 the set's `_node_attributes.txt`",
                shown(line)
            );
            return Err(text.error(number, rule));
        }
        let class = Class::parse(line).map_err(|rule| text.error(number, rule))?;
        class.ok_or_else(|| {
            text.error(
                number,
                format!("the label of the {what} is missing; each {what} needs one"),
            )
        })
    };
    text.lines().map(parse).collect()
}

/// Classes that must be as many as what they describe.
fn parallel(path: &Path, what: &str, expected: usize) -> Result<Vec<Class>, DataError> {
    let values = classes_of(path, what)?;
    check_len(path, values.len(), expected)?;
    Ok(values)
}

/// The numbers of classes, and how many there are; a note says which is which.
fn numbered(dataset: &mut Dataset, what: &str, classes: Vec<Class>) -> (Vec<u32>, usize) {
    let classes: Vec<Option<Class>> = classes.into_iter().map(Some).collect();
    let (ranks, names) = classes::ranked(&classes);
    classes::note_ranks(dataset, what, &names);
    (ranks.into_iter().flatten().collect(), names.len())
}

fn check_len(path: &Path, got: usize, expected: usize) -> Result<(), DataError> {
    if got == expected {
        return Ok(());
    }
    Err(DataError::format(
        path,
        format!("expected {expected} lines to go with the other files, got {got}"),
    ))
}

fn graph_starts(path: &Path, n_graphs: usize) -> Result<Starts, DataError> {
    let text = Text::open(path)?;
    let parse = |line: Result<(usize, &str), DataError>| {
        let (number, line) = line?;
        text.whole(number, line, "a graph id (an integer from 1)")
    };
    let graph_ids: Vec<u32> = text.lines().map(parse).collect::<Result<_, _>>()?;
    let without_node = |missing: usize| {
        format!("graph {missing} has no node; list its nodes, or take it out of the set and number the rest anew")
    };
    let mut bounds = vec![0];
    for (at, &id) in graph_ids.iter().enumerate() {
        if id == 0 || id as usize > n_graphs {
            let rule = format!("graph id {id} must lie in 1..={n_graphs} (the number of graphs)");
            return Err(DataError::line(path, at + 1, rule));
        }
        match (id as usize).cmp(&bounds.len()) {
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater if id as usize == bounds.len() + 1 && at > 0 => bounds.push(at as u32),
            std::cmp::Ordering::Greater => {
                let missing = bounds.len() + usize::from(at > 0);
                return Err(DataError::line(path, at + 1, without_node(missing)));
            }
            std::cmp::Ordering::Less => {
                let rule = format!(
                    "graph id {id} follows {}: nodes must be listed graph by graph",
                    bounds.len()
                );
                return Err(DataError::line(path, at + 1, rule));
            }
        }
    }
    if bounds.len() != n_graphs {
        return Err(DataError::format(path, without_node(bounds.len() + 1)));
    }
    bounds.push(graph_ids.len() as u32);
    Ok(Starts {
        bounds,
        graph_of: graph_ids.into_iter().map(|id| id - 1).collect(),
    })
}

fn read_edges(path: &Path, starts: &Starts) -> Result<Edges, DataError> {
    let text = Text::open(path)?;
    let n_nodes = starts.n_nodes();
    let mut pairs = Vec::new();
    for line in text.lines() {
        let (number, line) = line?;
        let Some((from, to)) = line.split_once(',') else {
            return Err(text.error(number, "expected two node ids with a comma between them"));
        };
        let id = |field: &str| {
            let id: u32 = text.whole(number, field.trim(), "a node id (an integer from 1)")?;
            if id == 0 || id as usize > n_nodes {
                return Err(text.error(
                    number,
                    format!("node id {id} must lie in 1..={n_nodes} (the number of nodes)"),
                ));
            }
            Ok(id - 1)
        };
        let (from, to) = (id(from)?, id(to)?);
        let (home, away) = (starts.graph_of[from as usize], starts.graph_of[to as usize]);
        if home != away {
            let rule = format!(
                "the edge joins graph {} to graph {}; an edge must stay in its graph",
                home + 1,
                away + 1
            );
            return Err(text.error(number, rule));
        }
        pairs.push((from, to));
    }
    let n_graphs = starts.bounds.len() - 1;
    let mut bounds = vec![0_u32; n_graphs + 1];
    for &(from, _) in &pairs {
        bounds[starts.graph_of[from as usize] as usize + 1] += 1;
    }
    for graph in 0..n_graphs {
        bounds[graph + 1] += bounds[graph];
    }
    let mut by_graph: Vec<u32> = (0..pairs.len() as u32).collect();
    by_graph.sort_by_key(|&at| starts.graph_of[pairs[at as usize].0 as usize]);
    Ok(Edges {
        pairs,
        bounds,
        by_graph,
    })
}

impl Edges {
    /// The edges of one graph with ids from 0 within it, each with its position in the file.
    fn of_graph<'a>(&'a self, graph: usize, starts: &'a Starts) -> impl Iterator<Item = (usize, (u32, u32))> + 'a {
        let first = starts.bounds[graph];
        let range = self.bounds[graph] as usize..self.bounds[graph + 1] as usize;
        self.by_graph[range].iter().map(move |&at| {
            let (u, v) = self.pairs[at as usize];
            (at as usize, (u - first, v - first))
        })
    }
}

fn build_graphs(dataset: &mut Dataset, path: &Path, starts: &Starts, edges: &Edges) -> Result<(), DataError> {
    let mut total = Cleaned::default();
    let mut one_way = 0;
    for graph in 0..starts.bounds.len() - 1 {
        let pairs: Vec<(u32, u32)> = edges.of_graph(graph, starts).map(|(_, pair)| pair).collect();
        let n_nodes = starts.bounds[graph + 1] - starts.bounds[graph];
        let (built, cleaned) = GraphBuilder::new(n_nodes)
            .build(&pairs)
            .map_err(|error| DataError::graph(path, error))?;
        total.self_loops += cleaned.self_loops;
        total.repeated += cleaned.repeated;
        one_way += built.n_edges() - cleaned.mirrored;
        dataset.graphs.push(built);
    }
    note_cleaned(dataset, total);
    if one_way > 0 {
        dataset.notes.push(format!(
            "{one_way} edges were listed in one direction only and were made symmetric"
        ));
    }
    let isolated: usize = dataset
        .graphs
        .iter()
        .map(|graph| crate::measures::isolated_nodes(graph).len())
        .sum();
    if isolated > 0 {
        dataset.notes.push(format!("{isolated} nodes have no edge"));
    }
    Ok(())
}

/// The class of every arc. Both directions and all repetitions of an edge must agree.
fn edge_labels(
    dataset: &Dataset,
    path: &Path,
    starts: &Starts,
    edges: &Edges,
    classes: &[u32],
) -> Result<Vec<u32>, DataError> {
    const UNSEEN: u32 = u32::MAX;
    let mut labels = Vec::with_capacity(dataset.graphs.iter().map(Graph::n_arcs).sum());
    for (graph_idx, graph) in dataset.graphs.iter().enumerate() {
        let start = labels.len();
        labels.resize(start + graph.n_arcs(), UNSEEN);
        for (at, (u, v)) in edges.of_graph(graph_idx, starts) {
            for (from, to) in [(u, v), (v, u)] {
                // A dropped self loop has no arc.
                let Ok(place) = graph.neighbours(from).binary_search(&to) else {
                    continue;
                };
                let slot = &mut labels[start + graph.arc_range(from).start + place];
                if *slot != UNSEEN && *slot != classes[at] {
                    return Err(DataError::line(
                        path,
                        at + 1,
                        "the label differs from an earlier one of the same edge",
                    ));
                }
                *slot = classes[at];
            }
        }
    }
    Ok(labels)
}

fn read_attributes(path: &Path, n_nodes: usize) -> Result<Array2<f32>, DataError> {
    let rows = Text::open(path)?.matrix("attribute")?;
    check_len(path, rows.n_rows, n_nodes)?;
    rows.array(path)
}

/// The numbers to predict of each graph, a target for each column. Returns how many graphs there
/// are.
fn read_targets(dataset: &mut Dataset, path: &Path) -> Result<usize, DataError> {
    let rows = Text::open(path)?.matrix("attribute")?;
    let n_graphs = rows.n_rows;
    let values = rows.array(path)?;
    let names = match values.ncols() {
        1 => vec!["target".to_owned()],
        n => (0..n).map(|at| format!("target_{at}")).collect(),
    };
    let values = values.into_iter().collect();
    assemble::add_targets(dataset, Level::Graphs, names, values).map_err(|rule| DataError::format(path, rule))?;
    Ok(n_graphs)
}

/// Attributes and one-hot labels side by side; `None` if there is neither.
fn features(attributes: Option<Array2<f32>>, labels: Option<&Labels>, n_nodes: usize) -> Option<Features> {
    let Some(labels) = labels else {
        return attributes.map(|matrix| Features::Dense(matrix.into()));
    };
    let n_attributes = attributes.as_ref().map_or(0, Array2::ncols);
    let mut joined = Array2::zeros((n_nodes, n_attributes + labels.n_classes()));
    for node in 0..n_nodes {
        if let Some(attributes) = &attributes {
            for column in 0..n_attributes {
                joined[[node, column]] = attributes[[node, column]];
            }
        }
        for &class in labels.of(node as u32) {
            joined[[node, n_attributes + class as usize]] = 1.0;
        }
    }
    Some(Features::Dense(joined.into()))
}

#[cfg(test)]
mod tests;
