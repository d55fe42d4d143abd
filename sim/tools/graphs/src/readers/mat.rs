//! MATLAB 5 `.mat` files in the layout of BlogCatalog: a square matrix of edges and a matrix of
//! node × class labels.
//!
//! Handles little- and big-endian files, compressed and plain elements, small elements, and sparse
//! or full matrices of any stored number type. Labels may also be one column or row of class
//! numbers. Variables other than the two named are noted. Stored zeros are not edges. Format:
//! "MAT-File Format", The MathWorks, level 5. Not read: complex values, text, cell
//! arrays, structures, files of level 4 and 7.3 (HDF5).

mod element;
mod matrix;

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::classes::{self, Class};
use super::format::read_bytes;
use super::limits::MAX_NODES;
use super::notes::{note_cleaned, note_graph, note_unlabelled};
use crate::data_source::{CatalogueEntry, DataSource, checked, cut, is_path, stem};
use crate::{DataDirs, DataError, Dataset, GraphBuilder, Labels};
use matrix::Matrix;

/// A MATLAB 5 file in BlogCatalog's layout.
#[component(name = "Mat", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Mat {
    /// File, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Variable with the square adjacency matrix.
    #[component(default = "network")]
    pub network: String,
    /// Variable with the classes, if any: one row per node and one column per class, or one
    /// column of class numbers.
    #[component(default = "group")]
    pub group: String,
    /// Whether the adjacency matrix is directed.
    pub directed: bool,
    /// Keep only the largest component.
    pub largest_component: bool,
}

impl Mat {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
        let rule = "must name a variable, got an empty text";
        rules.require(!self.network.is_empty(), "network", rule);
        rules.require(self.network != self.group, "group", "must differ from `network`");
    }
}

impl DataSource for Mat {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let dataset = read_mat(&self.name(), &dirs.locate_own(&self.path)?, self)?;
        Ok(cut(dataset, self.largest_component))
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "a MATLAB 5 file with `network` and `group`";
        vec![CatalogueEntry::new("Mat(path: PATH)", about)]
    }
}

const BLOG_CATALOG: &str = "blogcatalog/blogcatalog.mat";
const GET_BLOG_CATALOG: &str = "help: folkmoot data fetch BlogCatalog\n  or put `blogcatalog.mat`, the file that DeepWalk's repository \
    has among its example graphs, at `blogcatalog/blogcatalog.mat` below a data folder";

/// BlogCatalog3, from `blogcatalog/blogcatalog.mat`: 10,312 nodes, 333,983 edges, 39 classes,
/// several per node.
#[component(name = "BlogCatalog")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlogCatalog {}

impl DataSource for BlogCatalog {
    fn name(&self) -> String {
        "BlogCatalog".to_owned()
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        let layout = Mat {
            path: BLOG_CATALOG.to_owned(),
            network: "network".to_owned(),
            group: "group".to_owned(),
            directed: false,
            largest_component: false,
        };
        read_mat(&self.name(), &dirs.locate_set(&layout.path, GET_BLOG_CATALOG)?, &layout)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "friendships of bloggers, 10,312 nodes, 333,983 edges, 39 classes (several per node)";
        vec![CatalogueEntry::at(BLOG_CATALOG, "BlogCatalog", about)]
    }
}

/// Reads the graph and its labels.
fn read_mat(name: &str, path: &Path, options: &Mat) -> Result<Dataset, DataError> {
    parse(name, &read_bytes(path)?, options).map_err(|message| DataError::format(path, message))
}

fn parse(name: &str, bytes: &[u8], options: &Mat) -> Result<Dataset, String> {
    let (mut network, mut group, mut others) = (None, None, Vec::new());
    matrix::visit(bytes, |variable, read| {
        let slot = match variable {
            _ if variable == options.network.as_str() => &mut network,
            _ if variable == options.group => &mut group,
            _ => {
                others.push(format!("`{}`", variable.escape_debug()));
                return Ok(());
            }
        };
        if slot.replace(read()?).is_some() {
            return Err(format!("variable `{variable}` occurs twice"));
        }
        Ok(())
    })?;
    let Some(network) = network else {
        let found = if others.is_empty() {
            "no matrix".to_string()
        } else {
            others.join(", ")
        };
        return Err(format!(
            "there is no variable `{}` with the edges (found {found})",
            options.network
        ));
    };
    let mut dataset = dataset_of(name, &network, options)?;
    match group {
        Some(group) => add_labels(&mut dataset, &group, &options.group)?,
        None => dataset.notes.push(format!(
            "there is no variable `{}`, so nodes have no labels; `group` names the variable with them",
            options.group
        )),
    }
    if !others.is_empty() {
        dataset.notes.push(format!(
            "other variables of the file are not read: {}",
            others.join(", ")
        ));
    }
    Ok(dataset)
}

fn dataset_of(name: &str, network: &Matrix, options: &Mat) -> Result<Dataset, String> {
    let (n_rows, n_columns) = (network.n_rows, network.n_columns);
    if n_rows != n_columns {
        return Err(format!(
            "variable `{}` must be square, got {n_rows} x {n_columns}",
            options.network
        ));
    }
    if n_rows == 0 {
        return Err(format!(
            "variable `{}` has no rows, so the graph has no nodes",
            options.network
        ));
    }
    if u64::from(n_rows) > MAX_NODES {
        return Err(format!("{n_rows} nodes are too many: at most {MAX_NODES} are read"));
    }
    let (mut pairs, mut weights) = (Vec::new(), Vec::new());
    let mut zeros = 0;
    for &(row, column, value) in &network.entries {
        if value == 0.0 {
            zeros += 1;
        } else {
            pairs.push((row, column));
            weights.push(value as f32);
        }
    }
    let builder = GraphBuilder::new(n_rows).directed(options.directed);
    let unweighted = weights.iter().all(|&weight| weight == 1.0);
    let built = if unweighted {
        builder.build(&pairs)
    } else {
        builder.build_weighted(&pairs, &weights)
    };
    let (graph, mut cleaned) = built.map_err(|error| error.to_string())?;
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    if !options.directed {
        // A symmetric matrix holds each edge twice by its nature; only what lacks its mirror is
        // worth a word.
        let one_way = graph.n_edges() - cleaned.mirrored;
        cleaned.mirrored = 0;
        if one_way > 0 {
            dataset.notes.push(format!(
                "{one_way} edges stood on one side of the diagonal only and were made symmetric"
            ));
        }
    }
    if zeros > 0 {
        dataset.notes.push(format!("{zeros} stored zeros are not edges"));
    }
    note_cleaned(&mut dataset, cleaned);
    dataset.graphs.push(graph);
    note_graph(&mut dataset);
    Ok(dataset)
}

fn add_labels(dataset: &mut Dataset, group: &Matrix, variable: &str) -> Result<(), String> {
    let n_nodes = dataset.graph().n_nodes() as u32;
    let n_classes = match (group.n_rows, group.n_columns) {
        (rows, 1) if rows == n_nodes => return add_numbers(dataset, group, variable),
        (1, columns) if columns == n_nodes => return add_numbers(dataset, group, variable),
        (rows, columns) if rows == n_nodes => columns,
        (rows, columns) => {
            let hint = if columns == n_nodes { "; transpose it" } else { "" };
            return Err(format!(
                "variable `{variable}` must have one row per node ({n_nodes}), got {rows}{hint}"
            ));
        }
    };
    if let Some((row, column, value)) = group
        .entries
        .iter()
        .find(|(_, _, value)| *value != 0.0 && *value != 1.0)
    {
        return Err(format!(
            "variable `{variable}` has {n_classes} columns, so that it must hold 0 and 1, got {value} in row {}, column {}; \
             class numbers stand in one column",
            row + 1,
            column + 1
        ));
    }
    let set = group.entries.iter().filter(|(_, _, value)| *value != 0.0);
    let pairs: Vec<(u32, u32)> = set.map(|&(row, column, _)| (row, column)).collect();
    let labels = Labels::from_pairs(n_nodes, n_classes, &pairs).map_err(|error| error.to_string())?;
    note_unlabelled(dataset, &labels);
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

/// Classes as numbers, one for each node; what a sparse vector does not store is 0, a class as any
/// other.
fn add_numbers(dataset: &mut Dataset, group: &Matrix, variable: &str) -> Result<(), String> {
    let n_nodes = dataset.graph().n_nodes();
    let mut numbers = vec![0.0; n_nodes];
    for &(row, column, value) in &group.entries {
        numbers[row.max(column) as usize] = value;
    }
    let parsed: Result<Vec<Option<Class>>, String> = numbers.into_iter().map(Class::of_number).collect();
    let mut parsed = parsed.map_err(|rule| format!("variable `{variable}`: {rule}"))?;
    classes::negative_is_unlabelled(&mut parsed);
    let (ranks, names) = classes::ranked(&parsed);
    let labels = Labels::from_single(names.len() as u32, &ranks).map_err(|error| error.to_string())?;
    let n = names.len();
    dataset.notes.push(format!(
        "variable `{variable}` is one column of {n} class numbers, not a matrix of labels"
    ));
    note_unlabelled(dataset, &labels);
    if n > 0 {
        classes::note_ranks(dataset, "node", &names);
    }
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

#[cfg(test)]
mod tests;
