//! Edge lists (`u v`, or `u v weight` if the card says so) with an optional list of labels
//! (`node class`).
//!
//! Fields are separated by blanks, commas or semicolons, as the line has them. Blank lines,
//! comments that begin with `#` or `%` and a first line that names the columns are skipped; a third
//! field `{}`, as NetworkX writes it, is no field. Ids are whole numbers that start at `first_id`,
//! or any with `renumber`. A label list may name a node on several lines (several classes) and
//! nodes without an edge. Other layouts, such as adjacency lists, are refused with their name and a
//! command that converts them.

mod layout;

use std::path::{Path, PathBuf};

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::classes::{self, Class};
use super::columns;
use super::limits::MAX_NODES;
use super::notes::{note_cleaned, note_graph, note_unlabelled};
use super::side;
use super::text::{Text, fields, shown, whole};
use crate::data_source::{CatalogueEntry, DataSource, Isolated, are_paths, checked, is_path, own, stem};
use crate::{DataDirs, DataError, Dataset, GraphBuilder, Labels};

/// Text files with one edge per line, and optionally one label per line. Blanks, commas or
/// semicolons separate fields; the first line may be a header.
#[component(name = "EdgeList", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeList {
    /// Edge file, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub edges: String,
    /// Label file (`node class`, numbers or words); none by default. Nodes that occur only
    /// there have no edges.
    pub labels: Option<String>,
    /// Feature file: `.npy`, `.npz` (dense or `scipy.sparse.save_npz`), or text with one row of
    /// numbers per node in ascending order of ids, or with a header whose first column is `id`.
    pub features: Option<String>,
    /// Split file (`node part`, where the part is `train`, `valid` or `test`), used by `split:
    /// Published`.
    pub split: Option<String>,
    /// Whether edges are directed.
    pub directed: bool,
    /// Whether a third column contains edge weights.
    pub weighted: bool,
    /// Smallest node id.
    pub first_id: u32,
    /// Renumber the ids that occur from 0 in ascending order; ids may then have up to 64 bits.
    pub renumber: bool,
    /// Keep only the largest component.
    pub largest_component: bool,
    /// Handling of isolated nodes.
    pub isolated: Isolated,
}

impl EdgeList {
    fn rules(&self, rules: &mut Rules) {
        is_path("edges", &self.edges, rules);
        let others = [
            ("labels", &self.labels),
            ("features", &self.features),
            ("split", &self.split),
        ];
        are_paths(&others, rules);
        let rule = "must be 0 (its default) with `renumber: true`, which starts at 0 whatever the ids are";
        rules.require(!self.renumber || self.first_id == 0, "first_id", rule);
    }
}

impl DataSource for EdgeList {
    fn name(&self) -> String {
        stem(&self.edges)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let edges = dirs.locate_own(&self.edges)?;
        let locate = |path: &Option<String>| path.as_ref().map(|path| dirs.locate_own(path)).transpose();
        let options = EdgeListOptions {
            labels: locate(&self.labels)?,
            features: locate(&self.features)?,
            split: locate(&self.split)?,
            directed: self.directed,
            weighted: self.weighted,
            first_id: self.first_id,
            renumber: self.renumber,
        };
        let dataset = read_edge_list(&self.name(), &edges, &options)?;
        own(dataset, self.largest_component, self.isolated)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "a text file of edges, and optionally of labels, features and a split";
        vec![CatalogueEntry::new("EdgeList(edges: PATH)", about)]
    }
}

const EMAIL_EDGES: &str = "small-graphs/email-eu-core/email-Eu-core.txt";
const EMAIL_LABELS: &str = "small-graphs/email-eu-core/email-Eu-core-department-labels.txt";
const GET_EMAIL: &str = "help: folkmoot data fetch EmailEuCore\n  or unpack SNAP's `email-Eu-core.txt.gz` and \
    `email-Eu-core-department-labels.txt.gz` into `small-graphs/email-eu-core/` below a data folder";

/// SNAP's e-mail network of a research institution, from `small-graphs/email-eu-core/`: 1,005
/// nodes, 42 departments.
#[component(name = "EmailEuCore")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmailEuCore {
    /// Keep edge directions (sender to recipient); otherwise 16,064 undirected edges.
    pub directed: bool,
    /// Keep only the largest component, of 986 nodes.
    pub largest_component: bool,
    /// Whether to keep the 19 nodes whose only edge is a self-loop.
    pub isolated: Isolated,
}

impl DataSource for EmailEuCore {
    fn name(&self) -> String {
        "EmailEuCore".to_owned()
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        let edges = dirs.locate_set(EMAIL_EDGES, GET_EMAIL)?;
        let options = EdgeListOptions {
            labels: Some(dirs.locate_set(EMAIL_LABELS, GET_EMAIL)?),
            directed: self.directed,
            ..EdgeListOptions::default()
        };
        let dataset = read_edge_list(&self.name(), &edges, &options)?;
        own(dataset, self.largest_component, self.isolated)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "e-mails of a research institution, 1,005 nodes, 16,064 undirected edges, 42 classes";
        vec![CatalogueEntry::at(EMAIL_EDGES, "EmailEuCore()", about)]
    }
}

/// How the two files are to be understood.
#[derive(Default)]
pub(crate) struct EdgeListOptions {
    pub(crate) labels: Option<PathBuf>,
    pub(crate) features: Option<PathBuf>,
    pub(crate) split: Option<PathBuf>,
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
/// Nodes are all ids from `first_id` to the largest one in both files, self loops included; ids
/// that no edge names are isolated nodes and noted as such.
pub(crate) fn read_edge_list(name: &str, path: &Path, options: &EdgeListOptions) -> Result<Dataset, DataError> {
    let text = Text::of_edges(path)?;
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    let listed = match parse_edges(&text, options, &mut dataset) {
        Ok(listed) => listed,
        Err(error) => return Err(layout::named(&text, options.weighted).unwrap_or(error)),
    };
    layout::refuse_counts(&text, (&listed.pairs, &listed.weights), &mut dataset)?;
    let labels_text = options.labels.as_deref().map(Text::open).transpose()?;
    let labelled = match &labels_text {
        Some(text) => parse_labels(text, options, &mut dataset)?,
        None => Vec::new(),
    };
    if let Some(text) = &labels_text {
        refuse_shifted(text, &listed.pairs, &labelled)?;
    }
    let nodes = Nodes::new(path, &listed.pairs, &labelled, options, &mut dataset)?;
    let pairs: Vec<(u32, u32)> = listed.pairs.iter().map(|&(u, v)| (nodes.of(u), nodes.of(v))).collect();
    let builder = GraphBuilder::new(nodes.n_nodes).directed(options.directed);
    // Weights that are all 1 say nothing, as in matrices.
    let built = if options.weighted && listed.weights.iter().any(|&weight| weight != 1.0) {
        builder.build_weighted(&pairs, &listed.weights)
    } else {
        builder.build(&pairs)
    };
    let (graph, cleaned) = built.map_err(|error| DataError::graph(path, error))?;
    note_cleaned(&mut dataset, cleaned);
    dataset.graphs.push(graph);
    note_graph(&mut dataset);
    if let Some(text) = &labels_text {
        let of = labelled.iter().map(|&(id, class, line)| (nodes.of(id), class, line));
        add_labels(&mut dataset, &text.path, nodes.n_nodes, &of.collect::<Vec<_>>())?;
    }
    let node_of = |id: u64| nodes.find(id);
    side::add(
        &mut dataset,
        options.features.as_deref(),
        options.split.as_deref(),
        &node_of,
    )?;
    Ok(dataset)
}

/// The pairs as written, and their weights if the list is weighted.
struct Listed {
    pairs: Vec<(u64, u64)>,
    weights: Vec<f32>,
}

fn parse_edges(text: &Text, options: &EdgeListOptions, dataset: &mut Dataset) -> Result<Listed, DataError> {
    let mut pairs = Vec::new();
    let mut weights = Vec::new();
    for (at, line) in text.data_lines().enumerate() {
        let (number, line) = line?;
        let fields = fields(line);
        if at == 0 && is_header(&fields) {
            edge_columns(text, number, &fields, options)?;
            dataset.notes.push(header_note(line));
            if let (true, Some(weight)) = (options.weighted, fields.get(2))
                && !columns::is_one(weight, columns::WEIGHTS)
            {
                let note = format!(
                    "the third column of the edges, {}, was read as their weights",
                    shown(weight)
                );
                dataset.notes.push(note);
            }
            continue;
        }
        let (&[from, to], rest) = fields.split_first_chunk().ok_or_else(|| {
            let got = fields.first().map_or("", |field| field);
            text.error(
                number,
                format!("expected two node ids, got one field, \"{}\"", got.escape_debug()),
            )
        })?;
        // What NetworkX writes for an edge without data.
        let rest = if rest == ["{}"] { &[] } else { rest };
        match (options.weighted, rest) {
            (true, [weight]) => weights.push(text.number(number, weight, "a weight")?),
            (true, _) => return Err(text.error(number, "expected two node ids and a weight")),
            (false, []) => {}
            (false, _) => {
                let rule = "expected two node ids, got more; state `weighted: true` if the third column is a weight";
                return Err(text.error(number, rule));
            }
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

/// Whether the first line names columns: none of its fields is a number, and there are two at
/// least.
fn is_header(fields: &[&str]) -> bool {
    let is_name = |field: &&str| field.parse::<f64>().is_err() && !field.starts_with(['{', '-']);
    fields.len() >= 2 && fields.iter().all(is_name)
}

fn header_note(line: &str) -> String {
    let short: String = line.chars().take(60).collect();
    format!(
        "the first line, \"{}\", names columns and is not data",
        short.escape_debug()
    )
}

/// Ends lie in the first two columns: a header that names them elsewhere would be read wrongly.
fn edge_columns(text: &Text, number: usize, header: &[&str], options: &EdgeListOptions) -> Result<(), DataError> {
    let at = |names: &[&str]| header.iter().position(|column| columns::is_one(column, names));
    match (at(columns::SOURCES), at(columns::TARGETS)) {
        _ if columns::is_index(header[0]) => {
            let rule = "the first column has no name: an index, as pandas writes it; write the file with index=False";
            Err(text.error(number, rule))
        }
        (Some(source), Some(target)) if source > 1 || target > 1 || options.directed && source > target => {
            let (rule, way) = match options.directed {
                true => ("the source and the target of an edge", "in this order"),
                false => ("the ends of edges", "in any order"),
            };
            let rule = format!(
                "{rule} must be the first two columns, {way}, but `{}` is column {} and `{}` column {}; reorder the columns",
                header[source].escape_debug(),
                source + 1,
                header[target].escape_debug(),
                target + 1
            );
            Err(text.error(number, rule))
        }
        _ => Ok(()),
    }
}

fn node_id(text: &Text, line: usize, field: &str, options: &EdgeListOptions) -> Result<u64, DataError> {
    let most = u64::from(u32::MAX - 1);
    let first = u64::from(options.first_id);
    match whole(field) {
        Some(id) if options.renumber || (first..=most).contains(&id) => Ok(id),
        Some(id) if id > most => {
            let rule = format!(
                "node id {id} must lie in {first}..={most}; `renumber: true` numbers the ids that occur from 0"
            );
            Err(text.error(line, rule))
        }
        Some(id) => {
            let rule = format!("node id {id} must lie in {first}..={most} (`first_id` states where ids start)");
            Err(text.error(line, rule))
        }
        None if field.parse::<f64>().is_ok() => text.whole(line, field, "a node id (an integer from 0)"),
        None => {
            let rule = format!(
                "expected a node id (an integer from 0), got {}; if nodes have names, give the file a header and read it with \
                 `Tables(edges: …)`, or write numbers in all files, as networkx.convert_node_labels_to_integers does",
                shown(field)
            );
            Err(text.error(line, rule))
        }
    }
}

/// The node of each label and its class as written.
fn parse_labels<'a>(
    text: &'a Text,
    options: &EdgeListOptions,
    dataset: &mut Dataset,
) -> Result<Vec<(u64, &'a str, usize)>, DataError> {
    let mut labelled = Vec::new();
    for (at, line) in text.data_lines().enumerate() {
        let (number, line) = line?;
        let fields = fields(line);
        if at == 0 && is_header(&fields) {
            if columns::is_id(fields[1]) || columns::is_one(fields[0], columns::LABELS) {
                let rule = "the id of the node must be the first column, and its class the second; reorder the columns";
                return Err(text.error(number, rule));
            }
            dataset.notes.push(header_note(line));
            continue;
        }
        let [node, class] = fields[..] else {
            let rule = format!(
                "expected a node id and a class, got {} fields; a node with several classes has a line for each",
                fields.len()
            );
            return Err(text.error(number, rule));
        };
        labelled.push((node_id(text, number, node, options)?, class, number));
    }
    Ok(labelled)
}

/// Refuses labels whose ids are those of the edges moved by one: the two files count from different
/// numbers.
fn refuse_shifted(text: &Text, pairs: &[(u64, u64)], labelled: &[(u64, &str, usize)]) -> Result<(), DataError> {
    let ends = || pairs.iter().flat_map(|&(u, v)| [u, v]);
    let ids = || labelled.iter().map(|&(node, ..)| node);
    let (Some(least), Some(most)) = (ends().min(), ends().max()) else {
        return Ok(());
    };
    match (ids().min(), ids().max()) {
        (Some(first), Some(last))
            if first.abs_diff(least) == 1 && last.abs_diff(most) == 1 && (first > least) == (last > most) =>
        {
            let rule = format!(
                "labels name nodes {first} to {last}, edges {least} to {most}: one file counts from another number; \
                 number the nodes of both alike"
            );
            Err(DataError::format(&text.path, rule))
        }
        _ => Ok(()),
    }
}

/// How ids of the files become nodes from 0.
struct Nodes {
    /// The ids in ascending order, where they are numbered through.
    ids: Option<Vec<u64>>,
    first_id: u64,
    n_nodes: u32,
}

impl Nodes {
    fn new(
        path: &Path,
        pairs: &[(u64, u64)],
        labelled: &[(u64, &str, usize)],
        options: &EdgeListOptions,
        dataset: &mut Dataset,
    ) -> Result<Nodes, DataError> {
        let ends = || pairs.iter().flat_map(|&(u, v)| [u, v]);
        let all = || ends().chain(labelled.iter().map(|&(node, ..)| node));
        let (least, largest) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let first_id = u64::from(options.first_id);
        let n_lines = (pairs.len() + labelled.len()) as u64;
        let ids = options.renumber.then(|| {
            let mut ids: Vec<u64> = all().collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        });
        let n_nodes = match &ids {
            Some(ids) => ids.len() as u64,
            None => largest - first_id + 1,
        };
        if ids.is_none() && largest - first_id >= MAX_NODES_PER_LINE * n_lines + 1024 {
            let rule = format!(
                "ids reach far beyond the number of lines; number the nodes without gaps, or state `renumber: true` \
                 (largest id {largest}, {n_lines} lines)"
            );
            return Err(DataError::format(path, rule));
        }
        if n_nodes > MAX_NODES {
            return Err(DataError::format(
                path,
                format!("{n_nodes} nodes are too many: at most {MAX_NODES} are read"),
            ));
        }
        if let Some(ids) = &ids {
            let small: Result<Vec<u32>, _> = ids.iter().map(|&id| u32::try_from(id)).collect();
            match small {
                Ok(small) => dataset.node_ids = Some(small),
                Err(_) => dataset.notes.push(
                    "ids beyond 4294967295 are not kept: nodes have numbers from 0 in ascending order of their ids"
                        .to_string(),
                ),
            }
        } else if options.first_id > 0 {
            dataset.node_ids = Some((0..n_nodes as u32).map(|node| node + options.first_id).collect());
        }
        let nodes = Nodes {
            ids,
            first_id,
            n_nodes: n_nodes as u32,
        };
        let (mut has_edge, mut occurs) = (vec![false; n_nodes as usize], vec![false; n_nodes as usize]);
        ends().for_each(|id| has_edge[nodes.of(id) as usize] = true);
        all().for_each(|id| occurs[nodes.of(id) as usize] = true);
        let count = |set: &[bool]| set.iter().filter(|is| **is).count();
        if count(&occurs) > count(&has_edge) {
            let only = count(&occurs) - count(&has_edge);
            dataset
                .notes
                .push(format!("{only} nodes are named by the labels alone"));
        }
        if nodes.ids.is_none() {
            note_gaps(dataset, (first_id, least, largest), count(&occurs) as u64);
        }
        Ok(nodes)
    }

    /// The node of an id that may not occur.
    fn find(&self, id: u64) -> Option<u32> {
        match &self.ids {
            Some(ids) => ids.binary_search(&id).ok().map(|node| node as u32),
            None => {
                let node = id.checked_sub(self.first_id)?;
                u32::try_from(node).ok().filter(|&node| node < self.n_nodes)
            }
        }
    }

    fn of(&self, id: u64) -> u32 {
        match &self.ids {
            Some(ids) => ids.binary_search(&id).map_or(0, |node| node as u32),
            None => (id - self.first_id) as u32,
        }
    }
}

/// Notes ids that never occur and became nodes all the same.
fn note_gaps(dataset: &mut Dataset, (first_id, least, largest): (u64, u64, u64), n_ids: u64) {
    if least > first_id {
        let added = match least - first_id {
            1 => format!("node {first_id} was"),
            _ => format!("nodes {first_id} to {} were", least - 1),
        };
        dataset.notes.push(format!(
            "ids start at {least}, so {added} added without edges; set `first_id: {least}` if nodes are counted from {least}"
        ));
    }
    let gaps = largest - least + 1 - n_ids;
    if gaps > 0 {
        dataset.notes.push(format!(
            "{gaps} ids between {least} and {largest} do not occur and became nodes without an edge; \
             `renumber: true` leaves them out"
        ));
    }
}

/// Adds the classes that a file has of nodes: the node, its class as written, and the line.
pub(super) fn add_labels(
    dataset: &mut Dataset,
    path: &Path,
    n_nodes: u32,
    labelled: &[(u32, &str, usize)],
) -> Result<(), DataError> {
    let mut parsed: Vec<Option<Class>> = Vec::with_capacity(labelled.len());
    for &(_, field, line) in labelled {
        parsed.push(Class::parse(field).map_err(|rule| DataError::line(path, line, rule))?);
    }
    classes::negative_is_unlabelled(&mut parsed);
    let (ranks, names) = classes::ranked(&parsed);
    if names.is_empty() {
        return Err(DataError::format(path, "the file holds no class"));
    }
    let of = labelled.iter().zip(ranks);
    let pairs: Vec<(u32, u32)> = of.filter_map(|(&(node, ..), rank)| Some((node, rank?))).collect();
    let labels = Labels::from_pairs(n_nodes, names.len() as u32, &pairs);
    let labels = labels.map_err(|error| DataError::labels(path, error))?;
    if labels.n_labels() < pairs.len() {
        dataset.notes.push(format!(
            "{} repeated labels were dropped",
            pairs.len() - labels.n_labels()
        ));
    }
    note_unlabelled(dataset, &labels);
    classes::note_ranks(dataset, "node", &names);
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

#[cfg(test)]
mod tests;
