//! METIS files: a graph (`.graph`), and a partition of one.
//!
//! The first line of a graph counts nodes and edges, and may state a format of three digits: sizes
//! of nodes, weights of nodes, weights of edges; and how many weights a node has. Line `i` below it
//! has the neighbours of node `i`, counted from 1, each edge at both ends. Lines with `%` are
//! comments, and a blank line is a node without neighbours. Sizes and weights of nodes are left
//! out, with a note.

use std::path::{Path, PathBuf};

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::assemble::{self, Edges};
use super::edge_list::add_labels;
use super::limits::MAX_NODES;
use super::side;
use super::text::{Text, fields};
use crate::data_source::{CatalogueEntry, DataSource, Isolated, are_paths, checked, is_path, own, stem};
use crate::{DataDirs, DataError, Dataset};

/// A graph file of METIS: counts on the first line, then the neighbours of each node from 1.
#[component(name = "Metis", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Metis {
    /// File, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Label file (`node class`); nodes are counted from 1, as in the graph.
    pub labels: Option<String>,
    /// Feature file, as of `EdgeList`.
    pub features: Option<String>,
    /// Split file, as of `EdgeList`.
    pub split: Option<String>,
    /// Keep only the largest component.
    pub largest_component: bool,
}

impl Metis {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
        let others = [
            ("labels", &self.labels),
            ("features", &self.features),
            ("split", &self.split),
        ];
        are_paths(&others, rules);
    }
}

impl DataSource for Metis {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let locate = |path: &Option<String>| path.as_ref().map(|path| dirs.locate_own(path)).transpose();
        let of_nodes = [locate(&self.labels)?, locate(&self.features)?, locate(&self.split)?];
        let dataset = read_metis(&self.name(), &dirs.locate_own(&self.path)?, &of_nodes)?;
        own(dataset, self.largest_component, Isolated::Keep)
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![CatalogueEntry::new("Metis(path: PATH)", "a graph file of METIS")]
    }
}

/// Reads a graph, and the labels, features and split that other files have of its nodes, which are
/// counted from 1 there, too.
fn read_metis(name: &str, path: &Path, [labels, features, split]: &[Option<PathBuf>; 3]) -> Result<Dataset, DataError> {
    let mut dataset = read_graph(name, path)?;
    let n_nodes = dataset.graph().n_nodes() as u64;
    let node_of = |id: u64| id.checked_sub(1).filter(|&node| node < n_nodes).map(|node| node as u32);
    if let Some(path) = labels {
        let text = Text::open(path)?;
        let label = |line: Result<(usize, &str), DataError>| {
            let (number, line) = line?;
            let [node, class] = fields(line)[..] else {
                return Err(text.error(number, "expected a node, counted from 1, and a class"));
            };
            let node = node_of(text.whole(number, node, "a node, counted from 1")?);
            let node = node.ok_or_else(|| text.error(number, format!("a node must lie in 1..={n_nodes}")));
            Ok((node?, class.to_owned(), number))
        };
        let labelled: Vec<(u32, String, usize)> = text.data_lines().map(label).collect::<Result<_, _>>()?;
        let labelled: Vec<(u32, &str, usize)> = labelled
            .iter()
            .map(|(node, class, line)| (*node, class.as_str(), *line))
            .collect();
        add_labels(&mut dataset, path, n_nodes as u32, &labelled)?;
    }
    side::add(&mut dataset, features.as_deref(), split.as_deref(), &node_of)?;
    Ok(dataset)
}

fn read_graph(name: &str, path: &Path) -> Result<Dataset, DataError> {
    let text = Text::open(path)?;
    let mut lines = text
        .lines()
        .filter(|line| !matches!(line, Ok((_, line)) if line.starts_with('%')));
    let (number, head) = lines.next().transpose()?.unwrap_or((1, ""));
    let counts: Vec<&str> = head.split_ascii_whitespace().collect();
    let (n_nodes, n_edges, format) = match counts[..] {
        [n, m] => (n, m, "0"),
        [n, m, format] | [n, m, format, _] => (n, m, format),
        _ => return Err(text.error(number, "expected the numbers of nodes and edges, and perhaps a format")),
    };
    let n_nodes: u64 = text.whole(number, n_nodes, "the number of nodes")?;
    let n_edges: usize = text.whole(number, n_edges, "the number of edges")?;
    if n_nodes == 0 || n_nodes > MAX_NODES {
        return Err(text.error(
            number,
            format!("a graph must have 1 to {MAX_NODES} nodes, got {n_nodes}"),
        ));
    }
    let digits = format!("{format:0>3}");
    let flag = |at: usize| digits.as_bytes().get(at) == Some(&b'1');
    if digits.len() != 3 || digits.bytes().any(|digit| !matches!(digit, b'0' | b'1')) {
        return Err(text.error(
            number,
            format!("the format must have three digits, each 0 or 1, got {format}"),
        ));
    }
    let (sizes, weighted) = (usize::from(flag(0)), flag(2));
    let n_weights: usize = match (flag(1), counts.get(3)) {
        (true, Some(n)) => text.whole(number, n, "the number of weights of a node")?,
        (true, None) => 1,
        (false, _) => 0,
    };
    let (mut pairs, mut weights) = (Vec::new(), Vec::new());
    // Blank lines at the end, which are nodes without neighbours, are not counted by all writers.
    for (from, line) in (0..).zip(lines) {
        let (number, line) = line?;
        if u64::from(from) == n_nodes {
            return Err(text.error(
                number,
                format!("more lines than the {n_nodes} nodes that the first line counts"),
            ));
        }
        let mut fields = line.split_ascii_whitespace();
        for _ in 0..sizes + n_weights {
            let field = fields
                .next()
                .ok_or_else(|| text.error(number, "the size or weights of the node are missing"))?;
            let _: f32 = text.number(number, field, "a size or weight of the node")?;
        }
        while let Some(field) = fields.next() {
            let node: u64 = text.whole(number, field, "a node, counted from 1")?;
            if node == 0 || node > n_nodes {
                return Err(text.error(number, format!("node {node} must lie in 1..={n_nodes}")));
            }
            pairs.push((from, (node - 1) as u32));
            if weighted {
                let field = fields
                    .next()
                    .ok_or_else(|| text.error(number, "the last neighbour has no weight"))?;
                weights.push(text.number(number, field, "the weight of an edge")?);
            }
        }
    }
    let mut dataset = Dataset {
        name: name.to_owned(),
        ..Dataset::default()
    };
    let edges = Edges {
        weights: weighted.then_some(weights),
        pairs,
        ..Edges::default()
    };
    let n = n_nodes as u32;
    let built = assemble::add_graphs(&mut dataset, &[0, n], &edges);
    built.map_err(|rule| DataError::format(path, rule))?;
    let found = dataset.graph().n_edges();
    if found != n_edges {
        let rule = format!(
            "the first line counts {n_edges} edges, and the lines below have {found}; the file is damaged or cut short"
        );
        return Err(DataError::format(path, rule));
    }
    if sizes + n_weights > 0 {
        dataset.notes.push("sizes and weights of nodes are not read".to_owned());
    }
    Ok(dataset)
}

#[cfg(test)]
mod tests;
