//! The citation graphs as their authors published them, joined to one archive in gnn-benchmark layout.
//!
//! A graph's files are `ind.NAME.allx` and `ally` (features and classes of all nodes but the test nodes), `tx` and `ty` (those of
//! the test nodes), `test.index` (where the test nodes stand), `y` (as many rows as nodes train) and `graph`. Nodes that stand
//! nowhere have no features and no class, repeated neighbours and self loops count once or not at all, and classes are counted
//! by the one that is set in a row.

use super::beside;
use super::pickle::{self, Array, Value};
use folkmoot_metrics::npy::npy;
use std::fs;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The endings of the files that are read, in the order in which [`read`] takes them.
const FILES: [&str; 7] = ["allx", "tx", "ally", "ty", "y", "graph", "test.index"];

/// How many nodes after those that train validate.
const N_VALIDATE: usize = 500;

/// No index of such a file is larger.
const MOST_NODES: usize = 1 << 24;

/// Columns and values, by ascending columns.
type Row = Vec<(i32, f32)>;

/// What the files say.
#[derive(Debug, PartialEq)]
pub(super) struct Citations {
    n_columns: usize,
    /// One for each node.
    rows: Vec<Row>,
    /// For each node its neighbours, ascending.
    neighbours: Vec<Vec<i32>>,
    /// −1 where there is none.
    labels: Vec<i64>,
    n_train: usize,
    test: Vec<usize>,
}

/// Reads the files whose paths are `stem` and an ending.
///
/// # Errors
/// With the file, and what is wrong with it.
pub(super) fn read(stem: &Path) -> Result<Citations, (PathBuf, String)> {
    let path = |ending: &str| beside(stem, &format!(".{ending}"));
    let mut bytes = Vec::new();
    for ending in FILES {
        let path = path(ending);
        bytes.push(fs::read(&path).map_err(|error| (path, error.to_string()))?);
    }
    let value = |at: usize| pickle::read(&bytes[at]).map_err(|why| (path(FILES[at]), why));
    let wrong = |at: usize, why: &str| (path(FILES[at]), why.to_owned());
    let matrix = |at: usize| sparse(&value(at)?).ok_or_else(|| wrong(at, "is no sparse matrix"));
    let classes = |at: usize| dense(&value(at)?).ok_or_else(|| wrong(at, "is no table of classes"));
    let (all, test_rows) = (matrix(0)?, matrix(1)?);
    let (all_classes, test_classes, train) = (classes(2)?, classes(3)?, classes(4)?);
    let graph = adjacency(&value(5)?).ok_or_else(|| wrong(5, "is no graph"))?;
    let places = String::from_utf8_lossy(&bytes[6]);
    let places = places
        .lines()
        .map(|line| line.trim().parse().ok().filter(|&at| at < graph.len()));
    let test: Vec<usize> = places
        .collect::<Option<_>>()
        .ok_or_else(|| wrong(6, "has a line that is no node"))?;

    let n_nodes = graph.len();
    if test_rows.1.len() != test.len() || test_classes.len() != test.len() {
        return Err(wrong(6, "has not as many lines as there are test nodes"));
    }
    if all.1.len() > n_nodes || all_classes.len() != all.1.len() || all.0 != test_rows.0 {
        return Err(wrong(0, "does not go with the other files"));
    }
    if train.len() + N_VALIDATE > all.1.len() {
        return Err(wrong(4, "has more rows than there are nodes to train and validate"));
    }
    let mut rows = all.1;
    let mut labels = all_classes;
    rows.resize(n_nodes, Vec::new());
    labels.resize(n_nodes, -1);
    for ((&at, row), label) in test.iter().zip(test_rows.1).zip(test_classes) {
        rows[at] = row;
        labels[at] = label;
    }
    Ok(Citations {
        n_columns: all.0,
        rows,
        neighbours: graph,
        labels,
        n_train: train.len(),
        test,
    })
}

/// The number of columns, and for each row its columns and values.
fn sparse(value: &Value) -> Option<(usize, Vec<Row>)> {
    let Value::Matrix(parts) = value else {
        return None;
    };
    let array = |name: &str| match parts.get(name.as_bytes())? {
        Value::Array(array) => array.numbers(),
        _ => None,
    };
    let Value::Tuple(shape) = parts.get(b"_shape".as_slice())? else {
        return None;
    };
    let [Value::Int(_), Value::Int(n_columns)] = shape[..] else {
        return None;
    };
    let (ends, columns, values) = (array("indptr")?, array("indices")?, array("data")?);
    let is_column = |column: &f64| (0.0..n_columns as f64).contains(column);
    if columns.len() != values.len() || !columns.iter().all(is_column) {
        return None;
    }
    let row = |ends: &[f64]| {
        let places = ends[0] as usize..ends[1] as usize;
        let (columns, values) = (columns.get(places.clone())?, values.get(places)?);
        let mut row: Row = columns
            .iter()
            .zip(values)
            .map(|(&at, &x)| (at as i32, x as f32))
            .collect();
        row.sort_unstable_by_key(|(column, _)| *column);
        Some(row)
    };
    let rows: Option<Vec<_>> = ends.windows(2).map(row).collect();
    Some((usize::try_from(n_columns).ok()?, rows?))
}

/// For each row the first column that is set, −1 where none is.
fn dense(value: &Value) -> Option<Vec<i64>> {
    let Value::Array(array @ Array { shape, .. }) = value else {
        return None;
    };
    let &[_, n_columns] = &shape[..] else {
        return None;
    };
    let numbers = array.numbers().filter(|_| n_columns > 0)?;
    let class = |row: &[f64]| row.iter().position(|&x| x != 0.0).map_or(-1, |class| class as i64);
    Some(numbers.chunks_exact(n_columns).map(class).collect())
}

fn adjacency(value: &Value) -> Option<Vec<Vec<i32>>> {
    let Value::Dict(lists) = value else {
        return None;
    };
    let node = |node: i64| usize::try_from(node).ok().filter(|&node| node < MOST_NODES);
    let mut neighbours: Vec<Vec<i32>> = Vec::new();
    let mut join = |from: usize, to: Option<usize>| {
        let n_nodes = from.max(to.unwrap_or(0)) + 1;
        if neighbours.len() < n_nodes {
            neighbours.resize(n_nodes, Vec::new());
        }
        if let Some(to) = to.filter(|&to| to != from) {
            neighbours[from].push(to as i32);
            neighbours[to].push(from as i32);
        }
    };
    for (from, list) in lists {
        let (Value::Int(from), Value::List(list)) = (from, list) else {
            return None;
        };
        let from = node(*from)?;
        join(from, None);
        for &to in list {
            join(from, Some(node(to)?));
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    Some(neighbours)
}

impl Citations {
    /// Writes the archive.
    pub(super) fn write(&self, to: impl Write + Seek) -> io::Result<()> {
        let n_nodes = self.rows.len();
        let shape = |n: usize| {
            [n_nodes as i64, n as i64]
                .iter()
                .flat_map(|n| n.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let ends = |lengths: &mut dyn Iterator<Item = usize>| {
            let mut end = 0_i32;
            let mut bytes = end.to_le_bytes().to_vec();
            for length in lengths {
                end += length as i32;
                bytes.extend(end.to_le_bytes());
            }
            bytes
        };
        let cells = || self.rows.iter().flatten();
        let arcs = || self.neighbours.iter().flatten();
        let mask = |is_in: &dyn Fn(usize) -> bool| (0..n_nodes).map(|node| u8::from(is_in(node))).collect::<Vec<u8>>();
        let (n_train, n_validated) = (self.n_train, self.n_train + N_VALIDATE);
        let mut is_test = vec![false; n_nodes];
        self.test.iter().for_each(|&node| is_test[node] = true);
        let members: [(&str, &str, Vec<u8>); 12] = [
            ("adj_data", "<f4", arcs().flat_map(|_| 1_f32.to_le_bytes()).collect()),
            (
                "adj_indices",
                "<i4",
                arcs().flat_map(|node| node.to_le_bytes()).collect(),
            ),
            ("adj_indptr", "<i4", ends(&mut self.neighbours.iter().map(Vec::len))),
            ("adj_shape", "<i8", shape(n_nodes)),
            (
                "attr_data",
                "<f4",
                cells().flat_map(|(_, value)| value.to_le_bytes()).collect(),
            ),
            (
                "attr_indices",
                "<i4",
                cells().flat_map(|(column, _)| column.to_le_bytes()).collect(),
            ),
            ("attr_indptr", "<i4", ends(&mut self.rows.iter().map(Vec::len))),
            ("attr_shape", "<i8", shape(self.n_columns)),
            (
                "labels",
                "<i8",
                self.labels.iter().flat_map(|label| label.to_le_bytes()).collect(),
            ),
            ("train_mask", "|b1", mask(&|node| node < n_train)),
            ("val_mask", "|b1", mask(&|node| (n_train..n_validated).contains(&node))),
            ("test_mask", "|b1", mask(&|node| is_test[node])),
        ];
        let mut archive = ZipWriter::new(to);
        for (name, kind, data) in members {
            archive.start_file(format!("{name}.npy"), SimpleFileOptions::default())?;
            let size: usize = kind[2..].parse().unwrap_or(1);
            archive.write_all(&npy(kind, &[data.len() / size], &data))?;
        }
        archive.finish()?;
        Ok(())
    }
}
