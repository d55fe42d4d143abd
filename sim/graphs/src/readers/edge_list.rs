//! Edge lists (`u v`, or `u v weight` if the card says so) with an optional list of labels (`node class`).
//!
//! Fields are separated by blanks; blank lines and lines that begin with `#` or `%` are skipped, as in the SNAP collection.
//! Ids start at `first_id`. A label list may name a node on several lines (several classes).

use std::path::{Path, PathBuf};

use super::text::{Text, compact};
use super::{MAX_NODES, note_cleaned};
use crate::{DataError, Dataset, GraphBuilder, Labels};

/// How the two files are to be understood.
pub(crate) struct EdgeListOptions {
    pub(crate) labels: Option<PathBuf>,
    pub(crate) directed: bool,
    pub(crate) weighted: bool,
    pub(crate) first_id: u32,
    /// Whether ids with gaps are numbered through.
    pub(crate) renumber: bool,
}

/// Ids may leave this many gaps for each line: a short file must not ask for an enormous graph.
const MAX_NODES_PER_LINE: u64 = 64;

/// Reads an edge list and, if the options name one, its labels.
///
/// Nodes are all ids from `first_id` to the largest one in the edge list, self loops included; ids that no line names are
/// isolated nodes and noted as such.
pub(crate) fn read_edge_list(name: &str, path: &Path, options: &EdgeListOptions) -> Result<Dataset, DataError> {
    let text = Text::open(path)?;
    let Listed { mut pairs, weights } = parse_edges(&text, options)?;
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    let n_nodes = if options.renumber {
        let flat: Vec<u32> = pairs.iter().flat_map(|&(u, v)| [u, v]).collect();
        let (codes, ids) = compact(&flat);
        pairs = codes.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let n_nodes = ids.len() as u32;
        dataset.node_ids = Some(ids);
        n_nodes
    } else {
        let largest = pairs.iter().map(|&(u, v)| u.max(v)).max().map_or(0, u64::from);
        if largest - u64::from(options.first_id) >= MAX_NODES_PER_LINE * pairs.len() as u64 + 1024 {
            let rule =
                "ids reach far beyond the number of lines; number the nodes without gaps, or state `renumber: true`";
            return Err(DataError::format(
                path,
                format!("{rule} (largest id {largest}, {} edges)", pairs.len()),
            ));
        }
        for (u, v) in &mut pairs {
            (*u, *v) = (*u - options.first_id, *v - options.first_id);
        }
        let n_nodes = largest - u64::from(options.first_id) + 1;
        if n_nodes > MAX_NODES {
            return Err(DataError::format(
                path,
                format!("{n_nodes} nodes are too many: at most {MAX_NODES} are read"),
            ));
        }
        if options.first_id > 0 {
            dataset.node_ids = Some((0..n_nodes as u32).map(|node| node + options.first_id).collect());
        }
        n_nodes as u32
    };
    let builder = GraphBuilder::new(n_nodes).directed(options.directed);
    let built = if options.weighted {
        builder.build_weighted(&pairs, &weights)
    } else {
        builder.build(&pairs)
    };
    let (graph, cleaned) = built.map_err(|error| DataError::graph(path, error))?;
    note_cleaned(&mut dataset, cleaned);
    let isolated = crate::measures::isolated_nodes(&graph).len();
    if isolated > 0 {
        dataset.notes.push(format!("{isolated} nodes have no edge"));
    }
    dataset.graphs.push(graph);
    if let Some(labels) = &options.labels {
        read_labels(&mut dataset, labels, options, n_nodes)?;
    }
    Ok(dataset)
}

/// The pairs as written, and their weights if the list is weighted.
struct Listed {
    pairs: Vec<(u32, u32)>,
    weights: Vec<f32>,
}

fn parse_edges(text: &Text, options: &EdgeListOptions) -> Result<Listed, DataError> {
    let mut pairs = Vec::new();
    let mut weights = Vec::new();
    for line in text.lines() {
        let (number, line) = line?;
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let mut fields = line.split_ascii_whitespace();
        let (from, to, third, rest) = (fields.next(), fields.next(), fields.next(), fields.next());
        let (Some(from), Some(to)) = (from, to) else {
            return Err(text.error(number, "expected two node ids, got one field"));
        };
        match (options.weighted, third, rest) {
            (false, Some(_), _) => {
                let rule = "expected two node ids, got more; state `weighted: true` if the third column is a weight";
                return Err(text.error(number, rule));
            }
            (true, Some(weight), None) => weights.push(text.number(number, weight, "a weight")?),
            (true, _, _) => return Err(text.error(number, "expected two node ids and a weight")),
            (false, None, _) => {}
        }
        pairs.push((
            node_id(text, number, from, options)?,
            node_id(text, number, to, options)?,
        ));
    }
    if pairs.is_empty() {
        return Err(DataError::format(&text.path, "the file holds no edge"));
    }
    Ok(Listed { pairs, weights })
}

fn node_id(text: &Text, line: usize, field: &str, options: &EdgeListOptions) -> Result<u32, DataError> {
    let id: u32 = text.number(line, field, "a node id (an integer from 0 to 4294967294)")?;
    if id == u32::MAX || id < options.first_id {
        let rule = format!("node id {id} must lie in {}..={}", options.first_id, u32::MAX - 1);
        return Err(text.error(line, rule + " (`first_id` states where ids start)"));
    }
    Ok(id)
}

fn read_labels(dataset: &mut Dataset, path: &Path, options: &EdgeListOptions, n_nodes: u32) -> Result<(), DataError> {
    let text = Text::open(path)?;
    let mut nodes = Vec::new();
    let mut classes: Vec<u32> = Vec::new();
    for line in text.lines() {
        let (number, line) = line?;
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [node, class] = fields[..] else {
            return Err(text.error(
                number,
                format!("expected a node id and a class, got {} fields", fields.len()),
            ));
        };
        let id = node_id(&text, number, node, options)?;
        let node = match (&dataset.node_ids, options.renumber) {
            (Some(ids), true) => ids.binary_search(&id).ok().map(|node| node as u32),
            _ => Some(id - options.first_id).filter(|node| *node < n_nodes),
        };
        let missing = || {
            text.error(
                number,
                format!("a label for node {id}, which the edge list does not have"),
            )
        };
        nodes.push(node.ok_or_else(missing)?);
        classes.push(text.number(number, class, "a class (an integer from 0)")?);
    }
    let (codes, values) = compact(&classes);
    let pairs: Vec<(u32, u32)> = nodes.into_iter().zip(codes).collect();
    let labels =
        Labels::from_pairs(n_nodes, values.len() as u32, &pairs).map_err(|error| DataError::labels(path, error))?;
    if labels.n_labels() < pairs.len() {
        dataset.notes.push(format!(
            "{} repeated labels were dropped",
            pairs.len() - labels.n_labels()
        ));
    }
    if labels.n_unlabelled() > 0 {
        dataset
            .notes
            .push(format!("{} nodes have no label", labels.n_unlabelled()));
    }
    if values.iter().enumerate().any(|(code, &value)| code as u32 != value) {
        dataset.notes.push(format!(
            "{} distinct classes were numbered through from 0",
            values.len()
        ));
    }
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

#[cfg(test)]
mod tests;
