//! Folders of the Open Graph Benchmark: CSV files without headers, each packed by gzip.
//!
//! `raw/edge.csv.gz` (`from,to`, nodes of each graph from 0), `raw/num-node-list.csv.gz` and
//! `raw/num-edge-list.csv.gz` (one line per graph) are required. `raw/node-feat.csv.gz`,
//! `raw/edge-feat.csv.gz`, `raw/node-label.csv.gz` or `raw/graph-label.csv.gz`, and
//! `split/NAME/{train,valid,test}.csv.gz` are read where they are; other files of `raw` are noted.
//! Labels of one column that are whole are classes, several columns of 0, 1 and missing are binary
//! labels, and others are numbers. Sets of several types of nodes or edges are refused.

use std::path::{Path, PathBuf};

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::assemble::{self, Edges, Level};
use super::classes::{Class, is_missing};
use super::limits::MAX_NODES;
use super::text::{Rows, Text, fields};
use crate::data_source::{CatalogueEntry, DataSource, Isolated, checked, is_path, own, stem};
use crate::{DataDirs, DataError, Dataset, Features, Splits};

/// A folder of the Open Graph Benchmark with `raw/` and `split/`: node or graph level, one type
/// of nodes and edges.
#[component(name = "Ogb", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Ogb {
    /// Folder, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Folder in `split/`, such as `"time"`; by default the only one.
    pub split: Option<String>,
    /// Whether edges are directed.
    pub directed: bool,
    /// Keep only the largest component.
    pub largest_component: bool,
}

impl Ogb {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
    }
}

impl DataSource for Ogb {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let dir = dirs.locate_own(&self.path)?;
        let dataset = read_ogb(&self.name(), &dir, self.split.as_deref(), self.directed)?;
        own(dataset, self.largest_component, Isolated::Keep)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "a folder of the Open Graph Benchmark, one type of nodes and edges";
        vec![CatalogueEntry::new("Ogb(path: PATH)", about)]
    }
}

const READ: &[&str] = &[
    "edge.csv.gz",
    "edge-feat.csv.gz",
    "graph-label.csv.gz",
    "node-feat.csv.gz",
    "node-label.csv.gz",
    "num-edge-list.csv.gz",
    "num-node-list.csv.gz",
];

/// Reads the set in the folder `dir`, with the split `split`, or the only one.
fn read_ogb(name: &str, dir: &Path, split: Option<&str>, directed: bool) -> Result<Dataset, DataError> {
    let raw = dir.join("raw");
    let file = |name: &str| raw.join(name);
    let optional = |name: &str| Some(file(name)).filter(|path| path.exists());
    for several in [
        "triplet-type-list.csv.gz",
        "num-node-dict.csv.gz",
        "nodetype-has-feat.csv.gz",
        "relations",
    ] {
        if file(several).exists() {
            let rule =
                format!("`raw/{several}` means several types of nodes or edges; only graphs of one type are read");
            return Err(DataError::format(dir, rule));
        }
    }
    if let Some(missing) = ["edge.csv.gz", "num-node-list.csv.gz", "num-edge-list.csv.gz"]
        .iter()
        .find(|name| !file(name).exists())
    {
        let rule = format!("the folder has no `raw/{missing}`; unpack the whole zip file of the set into it");
        return Err(DataError::format(dir, rule));
    }
    let mut dataset = Dataset {
        name: name.to_owned(),
        ..Dataset::default()
    };
    let n_nodes = counts(&file("num-node-list.csv.gz"))?;
    let n_edges = counts(&file("num-edge-list.csv.gz"))?;
    if n_nodes.len() != n_edges.len() {
        let rule = format!(
            "{} graphs have nodes and {} have edges; download the set again",
            n_nodes.len(),
            n_edges.len()
        );
        return Err(DataError::format(&raw, rule));
    }
    let mut bounds = vec![0_u64];
    for n in &n_nodes {
        bounds.push(bounds[bounds.len() - 1] + n);
    }
    let all = bounds[bounds.len() - 1];
    if all > MAX_NODES || n_nodes.contains(&0) {
        return Err(DataError::format(
            &raw,
            format!("graphs must have 1 node each and {MAX_NODES} together, got {all}"),
        ));
    }
    let bounds: Vec<u32> = bounds.into_iter().map(|bound| bound as u32).collect();
    let edges = Edges {
        pairs: pairs(&file("edge.csv.gz"), &bounds, &n_edges)?,
        features: optional("edge-feat.csv.gz")
            .map(|path| Text::open(&path)?.matrix("feature"))
            .transpose()?
            .map(|rows| (rows.values, rows.n_columns)),
        weights: None,
        directed,
    };
    if let Some((values, n)) = edges
        .features
        .as_ref()
        .filter(|(values, n)| values.len() != n * edges.pairs.len())
    {
        let rule = format!(
            "expected a row per edge ({}), got {}",
            edges.pairs.len(),
            values.len() / n
        );
        return Err(DataError::format(&file("edge-feat.csv.gz"), rule));
    }
    let built = assemble::add_graphs(&mut dataset, &bounds, &edges);
    built.map_err(|rule| DataError::format(&file("edge.csv.gz"), rule))?;
    if let Some(path) = optional("node-feat.csv.gz") {
        let rows = Text::open(&path)?.matrix("feature")?;
        per(&path, Level::Nodes, rows.n_rows, all as usize)?;
        dataset.features = Some(Features::Dense(rows.array(&path)?.into()));
    }
    let level = match optional("graph-label.csv.gz") {
        Some(path) => {
            add_labels(&mut dataset, &path, Level::Graphs, n_nodes.len())?;
            Level::Graphs
        }
        None => Level::Nodes,
    };
    if let Some(path) = optional("node-label.csv.gz") {
        add_labels(&mut dataset, &path, Level::Nodes, all as usize)?;
    }
    let n_items = match level {
        Level::Graphs => n_nodes.len(),
        Level::Nodes => all as usize,
    };
    dataset.splits = splits(&dir.join("split"), split, n_items)?;
    note_others(&mut dataset, &raw);
    Ok(dataset)
}

fn note_others(dataset: &mut Dataset, raw: &Path) {
    let entries = std::fs::read_dir(raw).into_iter().flatten().flatten();
    let mut others: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    others.retain(|name| name.ends_with(".gz") && !READ.contains(&name.as_str()));
    others.sort_unstable();
    if !others.is_empty() {
        let others = others.join(", ");
        dataset
            .notes
            .push(format!("files of `raw` that are not read: {}", others.escape_debug()));
    }
}

fn per(path: &Path, level: Level, got: usize, expected: usize) -> Result<(), DataError> {
    let one = level.one();
    match got == expected {
        true => Ok(()),
        false => Err(DataError::format(
            path,
            format!("expected a row per {one} ({expected}), got {got}"),
        )),
    }
}

/// Whole numbers, one a line.
fn counts(path: &Path) -> Result<Vec<u64>, DataError> {
    let text = Text::open(path)?;
    let count = |line: Result<(usize, &str), DataError>| {
        let (number, line) = line?;
        text.whole(number, line, "a number of nodes or edges")
    };
    text.lines().map(count).collect()
}

/// The edges of all graphs, whose nodes are numbered through.
fn pairs(path: &Path, bounds: &[u32], n_edges: &[u64]) -> Result<Vec<(u32, u32)>, DataError> {
    let text = Text::open(path)?;
    let mut lines = text.lines();
    let mut pairs = Vec::new();
    for (graph, &n) in n_edges.iter().enumerate() {
        let (first, n_nodes) = (bounds[graph], bounds[graph + 1] - bounds[graph]);
        for _ in 0..n {
            let line = lines.next().transpose()?;
            let (number, line) = line.ok_or_else(|| {
                let rule = format!("the file ends after {} edges, and graph {graph} has {n}", pairs.len());
                DataError::format(path, rule)
            })?;
            let [from, to] = fields(line)[..] else {
                return Err(text.error(number, "expected two nodes, `from,to`"));
            };
            let node = |field: &str| -> Result<u32, DataError> {
                let node: u32 = text.whole(number, field, "a node, counted from 0 in its graph")?;
                match node < n_nodes {
                    true => Ok(first + node),
                    false => Err(text.error(
                        number,
                        format!("node {node} must be below {n_nodes}, the nodes of graph {graph}"),
                    )),
                }
            };
            pairs.push((node(from)?, node(to)?));
        }
    }
    match lines.next() {
        None => Ok(pairs),
        Some(line) => Err(text.error(line?.0, "more edges than `num-edge-list.csv.gz` counts")),
    }
}

fn add_labels(dataset: &mut Dataset, path: &Path, level: Level, n_items: usize) -> Result<(), DataError> {
    let text = Text::open(path)?;
    let Rows {
        n_rows,
        n_columns,
        values,
    } = text.rows("label", |line, field| match is_missing(field) {
        true => Ok(f64::NAN),
        false => text.number(line, field, "a label"),
    })?;
    per(path, level, n_rows, n_items)?;
    let is_whole = |value: &f64| value.is_nan() || value.fract() == 0.0;
    let is_binary = |value: &f64| value.is_nan() || *value == 0.0 || *value == 1.0;
    let added = if n_columns == 1 && values.iter().all(is_whole) {
        let classes: Result<Vec<Option<Class>>, String> = values.iter().map(|&value| Class::of_number(value)).collect();
        classes.and_then(|classes| assemble::add_classes(dataset, level, classes))
    } else if values.iter().all(is_binary) {
        let labels = values
            .iter()
            .map(|value| (!value.is_nan()).then_some(*value == 1.0))
            .collect();
        assemble::add_tasks(dataset, level, assemble::numbered(n_columns), labels)
    } else {
        if values.iter().all(is_whole) {
            let note =
                "the labels, whole numbers in several columns, were read as numbers to predict and not as classes";
            dataset.notes.push(note.to_owned());
        }
        let values = values.into_iter().map(|value| value as f32).collect();
        assemble::add_targets(dataset, level, assemble::numbered(n_columns), values)
    };
    added.map_err(|rule| DataError::format(path, rule))
}

/// The split of this name, or the only one there is.
fn splits(dir: &Path, split: Option<&str>, n_items: usize) -> Result<Option<Splits>, DataError> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort_unstable();
    let name = |path: &PathBuf| {
        path.file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = folders.iter().map(name).collect();
    let folder = match (split, &folders[..]) {
        (None, []) => return Ok(None),
        (None, [only]) => only,
        (None, _) => {
            let rule = format!(
                "there are several splits, {}; name one with `split`",
                names.join(", ").escape_debug()
            );
            return Err(DataError::format(dir, rule));
        }
        (Some(split), _) => {
            let found = names.iter().position(|name| name == split);
            let rule = || {
                format!(
                    "there is no split {split:?}; there are {}",
                    names.join(", ").escape_debug()
                )
            };
            &folders[found.ok_or_else(|| DataError::format(dir, rule()))?]
        }
    };
    let mut codes = vec![0; n_items];
    for (part, code) in [("train", 1), ("valid", 2), ("test", 3)] {
        let path = folder.join(format!("{part}.csv.gz"));
        let text = Text::open(&path)?;
        for line in text.lines() {
            let (number, line) = line?;
            let item: usize = text.whole(number, line, "the number of an item, from 0")?;
            match codes.get_mut(item) {
                Some(known) if *known == 0 => *known = code,
                Some(_) => return Err(text.error(number, format!("item {item} is in two parts of the split"))),
                None => return Err(text.error(number, format!("item {item} must be below {n_items}"))),
            }
        }
    }
    Ok(Some(Splits::from_codes(&codes)))
}

#[cfg(test)]
mod tests;
