//! gnn-benchmark `.npz` archives: adjacency and attributes in compressed sparse rows, labels and masks.
//!
//! Members `adj_indices`, `adj_indptr`, `adj_shape` are required; `adj_data` (absent: all weights 1), `attr_*`, `labels`
//! (negative: unlabelled) and `train_mask`, `val_mask`, `test_mask` are optional, all others ignored. Numbers may be of any
//! integer or float type, bool for masks; pickled objects are not read. A zip file with one such archive in it and nothing else is read as that.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;

use folkmoot_metrics::npy::{Array, Values};
use zip::ZipArchive;

use super::{MAX_NODES, MAX_UNPACKED, note_cleaned, read_bytes};
use crate::{DataError, Dataset, Features, GraphBuilder, Labels, SparseRows, Splits};

/// The members that are read, if they are there.
const MEMBERS: &[&str] = &[
    "adj_data",
    "adj_indices",
    "adj_indptr",
    "adj_shape",
    "attr_data",
    "attr_indices",
    "attr_indptr",
    "attr_shape",
    "labels",
    "test_mask",
    "train_mask",
    "val_mask",
];

/// The most that an archive may hold, all of its members together.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes as they lie in the archive, unpacked.
    bytes: u64,
    /// Numbers: each takes eight bytes in memory, however few in the archive.
    numbers: usize,
}

const LIMITS: Limits = Limits {
    bytes: MAX_UNPACKED,
    numbers: 1 << 27,
};

/// Reads the whole graph; the caller cuts out its largest component.
pub(crate) fn read_npz(name: &str, path: &Path) -> Result<Dataset, DataError> {
    parse(name, read_bytes(path)?).map_err(|message| DataError::format(path, message))
}

/// The arrays of an archive by name.
struct Members {
    arrays: BTreeMap<&'static str, Array>,
    /// What the archive holds, for messages.
    found: String,
}

fn parse(name: &str, bytes: Vec<u8>) -> Result<Dataset, String> {
    let members = open(unwrapped(bytes, LIMITS)?, LIMITS)?;
    let adjacency = members.sparse("adj")?.ok_or_else(|| members.missing("adj_indptr"))?;
    let n_nodes = adjacency.n_rows;
    if n_nodes != adjacency.n_columns {
        return Err(format!(
            "the adjacency must be square, got {n_nodes} x {}",
            adjacency.n_columns
        ));
    }
    if n_nodes == 0 {
        return Err("`adj_shape` is 0 x 0, so the graph has no nodes".to_string());
    }
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    add_graph(&mut dataset, n_nodes, &adjacency.rows)?;
    if let Some(Sparse {
        n_rows,
        n_columns,
        rows,
    }) = members.sparse("attr")?
    {
        if n_rows != n_nodes {
            return Err(format!(
                "`attr_shape` must have one row per node ({n_nodes}), got {n_rows}"
            ));
        }
        let features = SparseRows::from_rows(n_columns, &sorted(rows)?);
        let features = features.ok_or("the attributes hold a column twice in one row")?;
        let empty = (0..n_nodes).filter(|&node| features.row(node).0.is_empty()).count();
        if empty > 0 {
            dataset.notes.push(format!("{empty} nodes have no features"));
        }
        dataset.features = Some(Features::Sparse(features));
    }
    if let Some(labels) = members.arrays.get("labels") {
        add_labels(&mut dataset, &labels.integers("labels")?, n_nodes)?;
    }
    let mask = |name: &str| match members.arrays.get(name) {
        Some(array) => node_mask(array, name, n_nodes).map(Some),
        None => Ok(None),
    };
    dataset.splits = match (mask("train_mask")?, mask("val_mask")?, mask("test_mask")?) {
        (Some(train), Some(val), Some(test)) => Some(Splits { train, val, test }),
        (None, None, None) => None,
        _ => return Err("of `train_mask`, `val_mask` and `test_mask` all or none must be present".to_string()),
    };
    if let Some(splits) = &dataset.splits {
        let twice =
            |node: usize| u8::from(splits.train[node]) + u8::from(splits.val[node]) + u8::from(splits.test[node]) > 1;
        if let Some(node) = (0..n_nodes as usize).find(|&node| twice(node)) {
            return Err(format!(
                "node {node} is in two of the masks for training, validation and test"
            ));
        }
    }
    Ok(dataset)
}

/// Entries `(column, value)` by row.
type EntryRows = Vec<Vec<(u32, f32)>>;

/// A sparse matrix as the archive holds it: columns within a row in any order.
struct Sparse {
    n_rows: u32,
    n_columns: u32,
    rows: EntryRows,
}

fn sorted(mut rows: EntryRows) -> Result<EntryRows, String> {
    for row in &mut rows {
        row.sort_by_key(|&(column, _)| column);
        if let Some((column, value)) = row.iter().find(|(_, value)| !value.is_finite()) {
            return Err(format!("a feature must be finite, got {value} in column {column}"));
        }
    }
    Ok(rows)
}

fn add_graph(dataset: &mut Dataset, n_nodes: u32, rows: &EntryRows) -> Result<(), String> {
    let entries = || {
        (0_u32..)
            .zip(rows)
            .flat_map(|(row, entries)| entries.iter().map(move |&(column, w)| (row, column, w)))
    };
    let zeros = entries().filter(|(_, _, weight)| *weight == 0.0).count();
    let pairs: Vec<(u32, u32)> = entries()
        .filter(|entry| entry.2 != 0.0)
        .map(|(u, v, _)| (u, v))
        .collect();
    let weights: Vec<f32> = entries().map(|entry| entry.2).filter(|weight| *weight != 0.0).collect();
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
    let isolated = crate::measures::isolated_nodes(&graph).len();
    if isolated > 0 {
        dataset.notes.push(format!("{isolated} nodes have no edge"));
    }
    dataset.graphs.push(graph);
    Ok(())
}

fn add_labels(dataset: &mut Dataset, classes: &[i64], n_nodes: u32) -> Result<(), String> {
    if classes.len() != n_nodes as usize {
        return Err(format!(
            "`labels` must have one entry per node ({n_nodes}), got {}",
            classes.len()
        ));
    }
    let most = classes.iter().copied().max().unwrap_or(-1);
    // More classes than nodes means that the numbers are not class numbers; it would also let a file ask for any memory.
    if most >= i64::from(n_nodes) {
        return Err(format!(
            "`labels` holds class {most}, but classes must be below the number of nodes ({n_nodes})"
        ));
    }
    let single: Vec<Option<u32>> = classes.iter().map(|&class| u32::try_from(class).ok()).collect();
    let labels = Labels::from_single((most + 1).max(0) as u32, &single).map_err(|error| error.to_string())?;
    if labels.n_unlabelled() > 0 {
        dataset
            .notes
            .push(format!("{} nodes have no label", labels.n_unlabelled()));
    }
    dataset.n_classes = labels.n_classes();
    dataset.node_labels = Some(labels);
    Ok(())
}

/// The one `.npz` archive that a zip file has in it, or the file as it is.
fn unwrapped(bytes: Vec<u8>, limits: Limits) -> Result<Vec<u8>, String> {
    let mut archive = archive_of(&bytes[..])?;
    let inner = match archive.len() {
        1 => archive.by_index(0).ok(),
        _ => None,
    };
    let Some(inner) = inner.filter(|file| file.name_raw().ends_with(b".npz")) else {
        drop(archive);
        return Ok(bytes);
    };
    let mut content = Vec::new();
    let read = inner.take(limits.bytes + 1).read_to_end(&mut content);
    read.map_err(|error| format!("the .npz archive in it is damaged or cut short ({error})"))?;
    match content.len() as u64 > limits.bytes {
        true => Err(format!(
            "the .npz archive in it unpacks to more than {} bytes",
            limits.bytes
        )),
        false => Ok(content),
    }
}

fn archive_of<B: AsRef<[u8]>>(bytes: B) -> Result<ZipArchive<Cursor<B>>, String> {
    ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("not a .npz archive ({error})"))
}

fn open(bytes: Vec<u8>, limits: Limits) -> Result<Members, String> {
    let mut left = limits;
    let mut archive = archive_of(bytes)?;
    let mut members = Members {
        arrays: BTreeMap::new(),
        found: String::new(),
    };
    for at in 0..archive.len() {
        let file = archive
            .by_index(at)
            .map_err(|error| format!("member {at} of the archive is damaged ({error})"))?;
        let file_name = String::from_utf8_lossy(file.name_raw()).into_owned();
        let short = file_name.strip_suffix(".npy").unwrap_or(&file_name);
        if !members.found.is_empty() {
            members.found.push_str(", ");
        }
        members
            .found
            .extend(short.chars().take(40).flat_map(char::escape_debug));
        let Some(&known) = MEMBERS.iter().find(|&&member| member == short) else {
            continue;
        };
        let mut content = Vec::new();
        let read = file.take(left.bytes + 1).read_to_end(&mut content);
        read.map_err(|error| format!("member `{known}` is damaged or cut short ({error})"))?;
        let Some(bytes) = left.bytes.checked_sub(content.len() as u64) else {
            let most = limits.bytes;
            return Err(format!("the members up to `{known}` unpack to more than {most} bytes"));
        };
        left.bytes = bytes;
        let array = Array::parse(&content, left.numbers).map_err(|message| format!("member `{known}`: {message}"))?;
        left.numbers -= array.n_values();
        if members.arrays.insert(known, array).is_some() {
            return Err(format!("member `{known}` occurs twice"));
        }
    }
    Ok(members)
}

/// The values of an array as a mask over the nodes.
fn node_mask(array: &Array, name: &str, n_nodes: u32) -> Result<Vec<bool>, String> {
    match &array.values {
        Values::Bools(values) if values.len() == n_nodes as usize => Ok(values.clone()),
        Values::Bools(values) => Err(format!(
            "`{name}` must have one entry per node ({n_nodes}), got {}",
            values.len()
        )),
        _ => Err(format!("`{name}` must hold bools")),
    }
}

impl Members {
    fn missing(&self, member: &str) -> String {
        let found = if self.found.is_empty() { "nothing" } else { &self.found };
        format!("member `{member}` is missing (found {found})")
    }

    fn require(&self, member: &str) -> Result<&Array, String> {
        self.arrays.get(member).ok_or_else(|| self.missing(member))
    }

    /// The sparse matrix `prefix_*`: `None` if none of its members is there.
    fn sparse(&self, prefix: &str) -> Result<Option<Sparse>, String> {
        let member = |part: &str| format!("{prefix}_{part}");
        let parts = ["indptr", "indices", "shape", "data"];
        if parts
            .iter()
            .all(|part| !self.arrays.contains_key(member(part).as_str()))
        {
            return Ok(None);
        }
        let shape = self.require(&member("shape"))?.integers(&member("shape"))?;
        let bounds = self.require(&member("indptr"))?.integers(&member("indptr"))?;
        let indices = self.require(&member("indices"))?.integers(&member("indices"))?;
        let values = match self.arrays.get(member("data").as_str()) {
            Some(data) => data.floats(),
            None => vec![1.0; indices.len()],
        };
        let size = |number: i64| u32::try_from(number).ok().filter(|&size| u64::from(size) <= MAX_NODES);
        let &[n_rows, n_columns] = &shape[..] else {
            return Err(format!("`{prefix}_shape` must hold 2 numbers, got {}", shape.len()));
        };
        let (Some(n_rows), Some(n_columns)) = (size(n_rows), size(n_columns)) else {
            return Err(format!(
                "`{prefix}_shape` must lie in 0..={MAX_NODES}, got {n_rows} x {n_columns}"
            ));
        };
        if bounds.len() != n_rows as usize + 1 {
            return Err(format!(
                "`{prefix}_indptr` must have {} entries, got {}",
                u64::from(n_rows) + 1,
                bounds.len()
            ));
        }
        if indices.len() != values.len() {
            return Err(format!(
                "`{prefix}_indices` has {} entries, `{prefix}_data` {}",
                indices.len(),
                values.len()
            ));
        }
        let rising = bounds[0] == 0 && bounds.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising || bounds[n_rows as usize] != indices.len() as i64 {
            return Err(format!(
                "`{prefix}_indptr` must rise from 0 to the number of entries ({})",
                indices.len()
            ));
        }
        if let Some(index) = indices
            .iter()
            .find(|&&index| index < 0 || index >= i64::from(n_columns))
        {
            return Err(format!("`{prefix}_indices` must lie in 0..{n_columns}, got {index}"));
        }
        let row = |pair: &[i64]| {
            let range = pair[0] as usize..pair[1] as usize;
            indices[range.clone()]
                .iter()
                .zip(&values[range])
                .map(|(&index, &value)| (index as u32, value))
                .collect()
        };
        Ok(Some(Sparse {
            n_rows,
            n_columns,
            rows: bounds.windows(2).map(row).collect(),
        }))
    }
}

#[cfg(test)]
mod tests;
