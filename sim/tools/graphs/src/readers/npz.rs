//! `.npz` archives: those of this project's own layout (`own`), and archives of one graph in the
//! layouts of others.
//!
//! gnn-benchmark's layout: `adj_indices`, `adj_indptr`, `adj_shape` are required, `adj_data`
//! (absent: all weights 1) is not; features are `attr_*` in sparse rows or a dense `attr_matrix`,
//! classes `labels` or, several per node, `labels_*` in sparse rows. The layouts of PyTorch
//! Geometric (`edge_index`, `edge_weight`, `x`, `y`, `num_nodes`) and of the heterophilous sets
//! (`edges`, `node_features`, `node_labels`) are read by these names. `train_mask`, `val_mask`,
//! `test_mask` are optional, for one split or for several. Other members are an error if they look
//! like data of nodes, else a note. Numbers may be of any integer or float type, bool for masks;
//! pickled objects are not read.
//! A zip file with one such archive in it and nothing else is read as that.

mod members;
mod own;

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_metrics::npy::{Array, Values};
use folkmoot_parts::{Rules, component};
use ndarray::Array2;

use super::classes::{self, Class};
use super::format::{binary, read_bytes};
use super::limits::MAX_NODES;
use super::notes::{note_cleaned, note_graph, note_unlabelled};
use crate::data_source::{CatalogueEntry, DataSource, Isolated, checked, is_path, own, stem};
use crate::{DataDirs, DataError, Dataset, Features, GraphBuilder, Labels, SparseRows, Splits};
use members::{EntryRows, LIMITS, Members, Sparse, open, open_listed, unwrapped};

/// A NumPy archive (`numpy.savez`), or a zip file containing one. Archives with the member
/// `folkmoot` hold one or many graphs in the layout of the page *Use your own graph*, which
/// `folkmoot.save` writes from Python. Others hold one graph in one of three layouts. PyTorch
/// Geometric: `edge_index`, `x`, `y`, `edge_weight`, `num_nodes`. gnn-benchmark: `adj_data`,
/// `adj_indices`, `adj_indptr`, `adj_shape`; features `attr_*` or a dense `attr_matrix`;
/// classes `labels` or `labels_*`. Heterophilous graphs: `edges`, `node_features`,
/// `node_labels`. All may have `train_mask`, `val_mask` and `test_mask`, used by
/// `split: Published`: an entry per item, or a column per published split. `train_masks`,
/// `val_masks` and `test_masks` have a row per split.
#[component(name = "Npz", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Npz {
    /// File, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Keep only the largest component.
    pub largest_component: bool,
    /// Number of the published split, from 0, if the file has several.
    pub split: u32,
}

impl Npz {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
    }
}

impl DataSource for Npz {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let dataset = read_npz(&self.name(), &dirs.locate_own(&self.path)?, self.split)?;
        own(dataset, self.largest_component, Isolated::Keep)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "a NumPy archive of one graph or many";
        vec![CatalogueEntry::new("Npz(path: PATH)", about)]
    }
}

/// Reads the whole graph; the caller cuts out its largest component.
pub(super) fn read_npz(name: &str, path: &Path, split: u32) -> Result<Dataset, DataError> {
    parse(name, read_bytes(path)?, split).map_err(|message| DataError::format(path, message))
}

fn parse(name: &str, bytes: Vec<u8>, split: u32) -> Result<Dataset, String> {
    let torch = binary(&bytes).filter(|(name, _)| name.ends_with("torch.save"));
    if let Some((name, way)) = torch {
        return Err(format!("{name}, not a NumPy archive; {way}"));
    }
    let members = open(unwrapped(bytes, LIMITS)?, LIMITS)?;
    if members.is_own {
        return own::parse(name, &members, split);
    }
    let (n_nodes, pairs, weights) = edges(&members)?;
    if n_nodes == 0 {
        return Err("the graph has no nodes".to_string());
    }
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    others(&mut dataset, &members, n_nodes)?;
    add_graph(&mut dataset, n_nodes, &pairs, &weights)?;
    add_features(&mut dataset, &members, n_nodes)?;
    if let Some(labels) = members.sparse("labels")? {
        if let Some(also) = members.first(&["labels", "y", "node_labels"]) {
            return Err(format!(
                "the archive holds `labels_indptr` and `{}`; keep one of them",
                also.0
            ));
        }
        add_memberships(&mut dataset, &labels, n_nodes)?;
    }
    if let Some((member, labels)) = members.only(&["labels", "y", "node_labels"])? {
        add_labels(&mut dataset, member, labels, n_nodes)?;
    }
    let (masks, note) = members.masks(("node", n_nodes as usize), split)?;
    dataset.splits = match masks {
        [Some(train), Some(val), Some(test)] => Some(Splits { train, val, test }),
        [None, None, None] => None,
        _ => return Err("of `train_mask`, `val_mask` and `test_mask` all or none must be present".to_string()),
    };
    dataset.notes.extend(note);
    if let Some(node) = dataset.splits.as_ref().and_then(Splits::twice) {
        return Err(format!(
            "node {node} is in two of the masks for training, validation and test"
        ));
    }
    Ok(dataset)
}

/// The features in an archive of one matrix, dense or as SciPy writes a sparse one.
pub(super) fn features(bytes: Vec<u8>, n_nodes: u32) -> Result<Features, String> {
    const DENSE: &[&str] = &["x", "features", "arr_0", "attr_matrix"];
    let members = open_listed(bytes, LIMITS, &[DENSE, members::SPARSE].concat())?;
    let by_rows = "a sparse matrix must be stored by rows; save scipy.sparse.csr_matrix(…) of it";
    match members.arrays.get("format").map(|array| &array.values) {
        Some(Values::Texts(texts)) if texts.iter().any(|text| text != "csr") => return Err(by_rows.to_owned()),
        _ => {}
    }
    match (members.sparse("")?, members.only(DENSE)?) {
        (None, Some((member, array))) => Ok(Features::Dense(matrix(member, array, n_nodes)?.into())),
        (Some(sparse), None) => {
            if sparse.n_rows != n_nodes {
                return Err(format!(
                    "`shape` must have one row per node ({n_nodes}), got {}",
                    sparse.n_rows
                ));
            }
            let rows = SparseRows::from_rows(sparse.n_columns, &sorted(sparse.rows)?);
            Ok(Features::Sparse(
                rows.ok_or("the matrix holds a column twice in one row")?,
            ))
        }
        _ => Err(members.missing("x") + "; the archive must hold one matrix, dense or of scipy.sparse.save_npz"),
    }
}

/// The number of nodes, and the edges with their weights.
type Edges = (u32, Vec<(u32, u32)>, Vec<f32>);

fn edges(members: &Members) -> Result<Edges, String> {
    let listed = members.only(&["edge_index", "edges"])?;
    let Some((member, array)) = listed else {
        let adjacency = members.sparse("adj")?.ok_or_else(|| {
            members.missing("adj_indptr")
                + "; write numpy.savez(\"graph.npz\", edge_index=…, x=…, y=…) with two rows of node ids, a row of features and a class per node"
        })?;
        let (n_nodes, n_columns) = (adjacency.n_rows, adjacency.n_columns);
        if n_nodes != n_columns {
            return Err(format!("the adjacency must be square, got {n_nodes} x {n_columns}"));
        }
        let rows = (0_u32..).zip(&adjacency.rows);
        let entries = rows.flat_map(|(row, entries)| entries.iter().map(move |&(column, w)| ((row, column), w)));
        let (pairs, weights) = entries.unzip();
        return Ok((n_nodes, pairs, weights));
    };
    if members.arrays.contains_key("adj_indptr") {
        return Err(format!(
            "the archive holds `adj_indptr` and `{member}`; keep one of them"
        ));
    }
    let ids = array.integers(member)?;
    let pairs: Vec<(i64, i64)> = match array.shape[..] {
        // Two rows of ids, unless two pairs are written one a line, as only the heterophilous sets
        // do.
        [2, n] if member == "edge_index" || n != 2 => (0..n).map(|at| (ids[at], ids[n + at])).collect(),
        [_, 2] => ids.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        _ => {
            return Err(format!(
                "`{member}` must have two rows or two columns of node ids, got {:?}",
                array.shape
            ));
        }
    };
    let n_nodes = n_nodes(members)?;
    let node = |id: i64| {
        let node = u32::try_from(id).ok().filter(|&node| node < n_nodes);
        node.ok_or_else(|| format!("`{member}` must lie in 0..{n_nodes}, got {id}"))
    };
    let pairs = pairs
        .into_iter()
        .map(|(u, v)| Ok((node(u)?, node(v)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let weights = match members.arrays.get("edge_weight") {
        Some(weights) if weights.n_values() != pairs.len() => {
            return Err(format!(
                "`edge_weight` must have one entry per edge ({}), got {}",
                pairs.len(),
                weights.n_values()
            ));
        }
        Some(weights) => weights.floats(),
        None => vec![1.0; pairs.len()],
    };
    Ok((n_nodes, pairs, weights))
}

/// As many nodes as there are rows of features or labels, or as stated.
fn n_nodes(members: &Members) -> Result<u32, String> {
    let stated = members
        .arrays
        .get("num_nodes")
        .map(|array| array.integers("num_nodes"))
        .transpose()?;
    let stated = match stated.as_deref() {
        None => None,
        Some(&[n]) if n >= 0 => usize::try_from(n).ok(),
        Some(&[n]) => return Err(format!("`num_nodes` must be a count, got {n}")),
        Some(values) => return Err(format!("`num_nodes` must be one number, got {}", values.len())),
    };
    let rows = || members.first(&["x", "node_features", "attr_matrix", "y", "node_labels", "labels"]);
    let n = stated.or_else(|| rows()?.1.shape.first().copied());
    let n = n.ok_or("the number of nodes is unknown; add the member `num_nodes`, features or labels")?;
    u32::try_from(n)
        .ok()
        .filter(|&n| u64::from(n) <= MAX_NODES)
        .ok_or_else(|| format!("{n} nodes are too many: at most {MAX_NODES} are read"))
}

/// Refuses members that look like data of nodes and are not read; notes the rest.
fn others(dataset: &mut Dataset, members: &Members, n_nodes: u32) -> Result<(), String> {
    const NAMES: &[&str] = &["node_names", "attr_names", "class_names", "metadata"];
    let is_data = |(name, descr, shape): &&(String, String, Vec<usize>)| {
        let is_number = !descr.is_empty() && !descr.contains(['O', 'U', 'S', 'V']);
        is_number && !NAMES.contains(&name.as_str()) && shape.contains(&(n_nodes as usize))
    };
    let shown = |name: &str| name.chars().take(40).collect::<String>().escape_debug().to_string();
    if let Some((name, _, shape)) = members.others.iter().find(is_data) {
        let name = shown(name);
        return Err(format!(
            "member `{name}` of shape {shape:?} looks like data of the {n_nodes} nodes and is not read; name features `attr_matrix`, \
             classes `labels`, edges `edge_index`, or leave the member out"
        ));
    }
    if !members.others.is_empty() {
        let names: Vec<String> = members
            .others
            .iter()
            .take(12)
            .map(|(name, ..)| format!("`{}`", shown(name)))
            .collect();
        let more = if members.others.len() > 12 { ", …" } else { "" };
        let verb = if names.len() == 1 { "member is" } else { "members are" };
        dataset
            .notes
            .push(format!("the archive's {verb} not read: {}{more}", names.join(", ")));
    }
    Ok(())
}

fn add_features(dataset: &mut Dataset, members: &Members, n_nodes: u32) -> Result<(), String> {
    let dense = members.only(&["attr_matrix", "x", "node_features"])?;
    let features = match (members.sparse("attr")?, dense) {
        (Some(_), Some((member, _))) => {
            return Err(format!(
                "the archive holds `attr_indptr` and `{member}`; keep one of them"
            ));
        }
        (
            Some(Sparse {
                n_rows,
                n_columns,
                rows,
            }),
            None,
        ) => {
            if n_rows != n_nodes {
                return Err(format!(
                    "`attr_shape` must have one row per node ({n_nodes}), got {n_rows}"
                ));
            }
            let features = SparseRows::from_rows(n_columns, &sorted(rows)?);
            Features::Sparse(features.ok_or("the attributes hold a column twice in one row")?)
        }
        (None, Some((member, array))) => Features::Dense(matrix(member, array, n_nodes)?.into()),
        (None, None) => return Ok(()),
    };
    let is_empty = |node: u32| match &features {
        Features::Sparse(rows) => rows.row(node).0.is_empty(),
        dense => dense.to_dense(&[node]).iter().all(|&value| value == 0.0),
    };
    let empty = (0..n_nodes).filter(|&node| is_empty(node)).count();
    if empty > 0 {
        dataset.notes.push(format!("{empty} nodes have no features"));
    }
    dataset.features = Some(features);
    Ok(())
}

/// A dense matrix with a row for each node.
pub(super) fn matrix(member: &str, array: &Array, n_nodes: u32) -> Result<Array2<f32>, String> {
    let n_columns = match array.shape[..] {
        [n_rows, n_columns] if n_rows == n_nodes as usize && n_columns > 0 => n_columns,
        [n_rows] if n_rows == n_nodes as usize => 1,
        _ => {
            return Err(format!(
                "`{member}` must have one row per node ({n_nodes}) and a column or more, got {:?}",
                array.shape
            ));
        }
    };
    if matches!(array.values, Values::Texts(_)) {
        return Err(format!("`{member}` must hold numbers, got texts"));
    }
    let values = array.floats();
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let (row, column) = (at / n_columns, at % n_columns);
        return Err(format!(
            "a feature must be finite, got {} in row {row}, column {column}",
            values[at]
        ));
    }
    Array2::from_shape_vec((n_nodes as usize, n_columns), values).map_err(|error| format!("`{member}`: {error}"))
}

fn sorted(mut rows: EntryRows) -> Result<EntryRows, String> {
    for (at, row) in rows.iter_mut().enumerate() {
        row.sort_by_key(|&(column, _)| column);
        if let Some((column, value)) = row.iter().find(|(_, value)| !value.is_finite()) {
            return Err(format!(
                "a feature must be finite, got {value} in row {at}, column {column}"
            ));
        }
    }
    Ok(rows)
}

fn add_graph(dataset: &mut Dataset, n_nodes: u32, listed: &[(u32, u32)], weights: &[f32]) -> Result<(), String> {
    let zeros = weights.iter().filter(|weight| **weight == 0.0).count();
    let entries = || listed.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
    let pairs: Vec<(u32, u32)> = entries().map(|(&pair, _)| pair).collect();
    let weights: Vec<f32> = entries().map(|(_, &weight)| weight).collect();
    let builder = GraphBuilder::new(n_nodes);
    let unweighted = weights.iter().all(|&weight| weight == 1.0);
    let built = if unweighted {
        builder.build(&pairs)
    } else {
        builder.build_weighted(&pairs, &weights)
    };
    let (graph, mut cleaned) = built.map_err(|error| error.to_string())?;
    let one_way = graph.n_edges() - cleaned.mirrored;
    cleaned.mirrored = 0;
    if one_way > 0 {
        dataset.notes.push(format!(
            "{one_way} edges were listed in one direction only and were made symmetric"
        ));
    }
    if zeros > 0 {
        dataset.notes.push(format!("{zeros} stored zeros are not edges"));
    }
    note_cleaned(dataset, cleaned);
    dataset.graphs.push(graph);
    note_graph(dataset);
    Ok(())
}

fn add_labels(dataset: &mut Dataset, member: &str, array: &Array, n_nodes: u32) -> Result<(), String> {
    let n = n_nodes as usize;
    if let [n_rows, n_columns] = array.shape[..]
        && n_rows == n
        && n_columns > 1
    {
        let rows = array.floats();
        let row = |values: &[f32]| {
            (0..)
                .zip(values)
                .filter(|(_, v)| **v != 0.0)
                .map(|(c, &v)| (c, v))
                .collect()
        };
        let labels = Sparse {
            n_rows: n_nodes,
            n_columns: n_columns as u32,
            rows: rows.chunks_exact(n_columns).map(row).collect(),
        };
        return add_memberships(dataset, &labels, n_nodes);
    }
    if array.n_values() != n {
        return Err(format!(
            "`{member}` must have one entry per node ({n_nodes}), got {}",
            array.n_values()
        ));
    }
    let wrong = |rule: String| format!("`{member}`: {rule}");
    let mut parsed: Vec<Option<Class>> = match &array.values {
        Values::Bools(values) => values.iter().map(|&set| Some(Class::Number(i64::from(set)))).collect(),
        Values::Integers(values) => values.iter().map(|&value| Some(Class::Number(value))).collect(),
        Values::Texts(values) => values
            .iter()
            .map(|text| Class::parse(text))
            .collect::<Result<_, _>>()
            .map_err(wrong)?,
        Values::Floats(values) => {
            let classes = values.iter().map(|&value| Class::of_number(f64::from(value)));
            classes.collect::<Result<_, _>>().map_err(wrong)?
        }
        Values::Doubles(values) => {
            let classes = values.iter().map(|&value| Class::of_number(value));
            classes.collect::<Result<_, _>>().map_err(wrong)?
        }
    };
    classes::negative_is_unlabelled(&mut parsed);
    let (ranks, names) = classes::ranked(&parsed);
    let labels = Labels::from_single(names.len() as u32, &ranks).map_err(|error| error.to_string())?;
    note_unlabelled(dataset, &labels);
    if !names.is_empty() {
        classes::note_ranks(dataset, "node", &names);
    }
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

/// Labels as a matrix with a row for each node and a column for each class.
fn add_memberships(dataset: &mut Dataset, labels: &Sparse, n_nodes: u32) -> Result<(), String> {
    if labels.n_rows != n_nodes {
        return Err(format!(
            "labels in a matrix must have one row per node ({n_nodes}), got {}",
            labels.n_rows
        ));
    }
    let mut pairs = Vec::new();
    for (row, entries) in (0..).zip(&labels.rows) {
        for &(column, value) in entries.iter().filter(|(_, value)| *value != 0.0) {
            if value != 1.0 {
                return Err(format!(
                    "labels in a matrix must be 0 and 1, got {value} in row {row}, column {column}"
                ));
            }
            pairs.push((row, column));
        }
    }
    let labels = Labels::from_pairs(n_nodes, labels.n_columns, &pairs).map_err(|error| error.to_string())?;
    note_unlabelled(dataset, &labels);
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

#[cfg(test)]
mod tests;
