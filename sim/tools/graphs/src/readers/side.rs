//! Files that describe the nodes of a graph from another file: features, and a split.
//!
//! Features are a `.npy` matrix, an `.npz` archive of one matrix (`x`, `features` or `arr_0`) or of
//! a sparse one as `scipy.sparse.save_npz` writes it, or a text file with a row of numbers per
//! node. Rows follow the nodes in ascending order of their ids, unless a text file has a header
//! whose first column has the ids. A split is a text file with an id and `train`, `valid` or
//! `test` on each line; nodes that it does not name are in no part.

use std::path::Path;

use folkmoot_metrics::npy::Array;
use ndarray::Array2;

use super::columns;
use super::format::read_bytes;
use super::npz;
use super::tables::part_of;
use super::text::{Text, fields, shown};
use crate::{DataError, Dataset, Features, Splits};

/// The most numbers of a matrix.
const MOST: usize = 1 << 27;

/// The node of an id as the files write it.
pub(super) type NodeOf<'a> = &'a dyn Fn(u64) -> Option<u32>;

/// Adds the features and the split that files have of the nodes of a set with one graph.
pub(super) fn add(
    dataset: &mut Dataset,
    features: Option<&Path>,
    split: Option<&Path>,
    node_of: NodeOf<'_>,
) -> Result<(), DataError> {
    let n_nodes = dataset.graph().n_nodes();
    if let Some(path) = features {
        dataset.features = Some(read_features(path, n_nodes, node_of, &mut dataset.notes)?);
    }
    if let Some(path) = split {
        dataset.splits = Some(read_split(path, n_nodes, node_of)?);
    }
    Ok(())
}

fn read_features(
    path: &Path,
    n_nodes: usize,
    node_of: NodeOf<'_>,
    notes: &mut Vec<String>,
) -> Result<Features, DataError> {
    let bytes = read_bytes(path)?;
    let wrong = |message: String| DataError::format(path, message);
    if bytes.starts_with(b"\x93NUMPY") {
        let array = Array::parse(&bytes, MOST).map_err(wrong)?;
        let rows = npz::matrix("the array", &array, n_nodes as u32).map_err(wrong)?;
        return Ok(Features::Dense(rows.into()));
    }
    match bytes.starts_with(b"PK") {
        true => npz::features(bytes, n_nodes as u32).map_err(wrong),
        false => of_text(&Text::open(path)?, n_nodes, node_of, notes),
    }
}

fn of_text(text: &Text, n_nodes: usize, node_of: NodeOf<'_>, notes: &mut Vec<String>) -> Result<Features, DataError> {
    let mut by_id = false;
    let mut rows: Vec<Option<Vec<f32>>> = vec![None; n_nodes];
    let (mut width, mut next) = (None, 0);
    for (at, line) in text.data_lines().enumerate() {
        let (number, line) = line?;
        let fields = fields(line);
        let is_name = |field: &&str| field.parse::<f64>().is_err();
        if at == 0 && fields.iter().all(is_name) {
            by_id = columns::is_any_id(fields[0]);
            if let Some(column) = fields.iter().skip(1).position(|name| columns::is_id(name)) {
                let rule = format!(
                    "the column with the ids of nodes must be the first, and it is column {}",
                    column + 2
                );
                return Err(text.error(number, rule));
            }
            if columns::is_index(fields[0]) {
                let rule = "the first column has no name; name it `id` if it has the ids of nodes, or write the file with index=False";
                return Err(text.error(number, rule));
            }
            if !by_id {
                notes.push(format!(
                    "the first column of features is {}, which names no ids: rows follow the nodes in ascending order of their ids",
                    shown(fields[0])
                ));
            }
            continue;
        }
        let numbers = if by_id {
            fields.get(1..).unwrap_or_default()
        } else {
            &fields[..]
        };
        let node = match by_id {
            true => node_of(text.whole(number, fields[0], "the id of a node")?),
            false => Some(next).filter(|&next| (next as usize) < n_nodes),
        };
        let Some(node) = node else {
            let rule = match by_id {
                true => format!("node {} is not in the graph", shown(fields[0])),
                false => format!("more rows than the {n_nodes} nodes of the graph"),
            };
            return Err(text.error(number, rule));
        };
        next += 1;
        if numbers.is_empty() || width.is_some_and(|width| width != numbers.len()) {
            let expected = width.map_or("a number or more".to_owned(), |width: usize| format!("{width} numbers"));
            return Err(text.error(number, format!("expected {expected} per node, got {}", numbers.len())));
        }
        width = Some(numbers.len());
        let number = |field: &&str| -> Result<f32, DataError> {
            let value: f32 = text.number(number, field, "a number")?;
            match value.is_finite() {
                true => Ok(value),
                false => Err(text.error(number, format!("a feature must be finite, got {value}"))),
            }
        };
        let row = numbers.iter().map(number).collect::<Result<Vec<f32>, _>>()?;
        if rows[node as usize].replace(row).is_some() {
            return Err(DataError::format(
                &text.path,
                format!("node {} has two rows", shown(fields[0])),
            ));
        }
    }
    if let Some(node) = rows.iter().position(Option::is_none) {
        let n = rows.iter().filter(|row| row.is_none()).count();
        let rule = format!("{n} of {n_nodes} nodes have no row, such as the node at position {node}");
        return Err(DataError::format(&text.path, rule));
    }
    let values: Vec<f32> = rows.into_iter().flatten().flatten().collect();
    let matrix = Array2::from_shape_vec((n_nodes, width.unwrap_or(0)), values);
    let matrix = matrix.map_err(|error| DataError::format(&text.path, error.to_string()))?;
    Ok(Features::Dense(matrix.into()))
}

fn read_split(path: &Path, n_nodes: usize, node_of: NodeOf<'_>) -> Result<Splits, DataError> {
    let text = Text::open(path)?;
    let mut codes = vec![None; n_nodes];
    for (at, line) in text.data_lines().enumerate() {
        let (number, line) = line?;
        let [id, part] = fields(line)[..] else {
            return Err(text.error(number, "expected a node and train, valid or test"));
        };
        if at == 0 && id.parse::<f64>().is_err() && part_of(part).is_none() {
            continue;
        }
        let node = node_of(text.whole(number, id, "the id of a node")?);
        let node = node.ok_or_else(|| text.error(number, format!("node {} is not in the graph", shown(id))))?;
        let code = part_of(part)
            .ok_or_else(|| text.error(number, format!("expected train, valid or test, got {}", shown(part))))?;
        match &mut codes[node as usize] {
            Some(_) => return Err(text.error(number, format!("node {} is named twice", shown(id)))),
            empty => *empty = Some(code),
        }
    }
    let codes: Vec<u32> = codes.into_iter().map(|code| code.unwrap_or(0)).collect();
    Ok(Splits::from_codes(&codes))
}
