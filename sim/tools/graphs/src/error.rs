//! What can be wrong with data: with a file, with a list of edges, with labels.

use folkmoot_parts::Broken;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a data set could not be loaded. None of these leaves anything behind; the caller may try
/// another set.
#[derive(Debug, Error)]
pub enum DataError {
    /// No folder holds the file.
    #[error("{}", missing(.what, .looked, .get))]
    Missing {
        /// The path below a data folder.
        what: PathBuf,
        /// Every place looked in, with the origin of its folder.
        looked: Vec<(String, PathBuf)>,
        /// How to get the set, in a sentence.
        get: String,
    },
    /// The file exists but cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Read {
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A text file breaks a rule of its format.
    #[error("{}:{line}: {message}", .path.display())]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The rule and what was found.
        message: String,
    },
    /// A file breaks a rule of its format that belongs to no single line.
    #[error("{}: {message}", .path.display())]
    Format {
        path: PathBuf,
        /// The rule and what was found.
        message: String,
    },
    /// The settings themselves break rules.
    #[error("{}", Broken::list(.0, "dataset.", "\n"))]
    Spec(Vec<Broken>),
    /// A generator asked for more than a graph can hold.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Where a data set was looked for, and how to get it.
fn missing(what: &Path, looked: &[(String, PathBuf)], get: &str) -> String {
    let mut text = format!("{} was not found", what.display());
    if looked.is_empty() {
        text += "; no data folder was named (--data DIR or FOLKMOOT_DATA)";
    }
    for (origin, path) in looked {
        text += &format!("\n  looked for {} ({origin})", path.display());
    }
    text + "\n  " + get
}

impl DataError {
    pub(crate) fn line(path: &Path, line: usize, message: impl Into<String>) -> DataError {
        DataError::Line {
            path: path.to_path_buf(),
            line,
            message: message.into(),
        }
    }

    pub(crate) fn format(path: &Path, message: impl Into<String>) -> DataError {
        DataError::Format {
            path: path.to_path_buf(),
            message: message.into(),
        }
    }

    pub(crate) fn graph(path: &Path, error: GraphError) -> DataError {
        DataError::format(path, error.to_string())
    }

    pub(crate) fn labels(path: &Path, error: LabelError) -> DataError {
        DataError::format(path, error.to_string())
    }
}

/// Why a list of node pairs is not a graph.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum GraphError {
    /// A pair names a node that does not exist.
    #[error("an edge names node {id}, but ids must be below {n_nodes} (the number of nodes)")]
    NodeOutOfRange {
        /// The id in the pair.
        id: u32,
        /// How many nodes the graph has.
        n_nodes: u32,
    },
    /// More pairs than 32-bit offsets can address.
    #[error("{pairs} edges are too many: at most {} fit 32-bit offsets", u32::MAX / 2)]
    TooManyArcs {
        /// How many pairs were given.
        pairs: usize,
    },
    /// The weights are not parallel to the pairs.
    #[error("{pairs} edges came with {weights} weights; give each edge one")]
    WeightCount {
        /// How many pairs were given.
        pairs: usize,
        /// How many weights were given.
        weights: usize,
    },
    /// A weight is not a finite number.
    #[error("edge {from} {to}: the weight must be finite, got {weight}")]
    Weight {
        /// Source of the pair.
        from: u32,
        /// Target of the pair.
        to: u32,
        weight: f32,
    },
    /// One edge is listed with two weights.
    #[error(
        "edge {from} {to} is listed with weight {first} and with {second}; keep one of them, or state \
                     that the graph is directed if the directions differ"
    )]
    Conflict {
        /// Source of the edge.
        from: u32,
        /// Target of the edge.
        to: u32,
        /// The weight listed first.
        first: f32,
        /// The weight that differs.
        second: f32,
    },
}

/// Why (node, class) pairs are not labels.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LabelError {
    /// A label for a node that does not exist.
    #[error("a label names node {node}, but the graph has nodes 0..{n_nodes} only")]
    Node {
        node: u32,
        /// How many nodes there are.
        n_nodes: u32,
    },
    /// A class that does not exist.
    #[error("node {node} has class {class}, but classes must be below {n_classes}")]
    Class {
        node: u32,
        class: u32,
        /// How many classes there are.
        n_classes: u32,
    },
}
