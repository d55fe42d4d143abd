//! A data set as one file of fixed layout that is mapped into memory: opening it takes
//! milliseconds, and of its arcs only those pages are read that somebody looks at.
//!
//! | at  | bytes   | what (numbers are little-endian)                                                  |
//! |-----|---------|-----------------------------------------------------------------------------------|
//! | 0   | 8       | `FOLKMOOT`                                                                        |
//! | 8   | 4       | version of the format, 1                                                          |
//! | 12  | 4       | 0x0a0b0c0d                                                                        |
//! | 16  | 8       | bytes of the header, digests included                                             |
//! | 24  | 8       | bytes of the file                                                                 |
//! | 32  | 32      | BLAKE3 of the header without this field                                           |
//! | 64  | 32      | the data set's fingerprint                                                        |
//! | 96  | 8       | how many sections there are                                                       |
//! | 104 | 24 each | sections, by ascending kind: kind, where it starts, its bytes                     |
//! |     | 32 each | BLAKE3 of each block of 64 KiB of the first section, then of the second, and so on |
//!
//! Sections follow each other, each from the next multiple of 4,096 on, with zeros between them
//! that belong to the section before. Their content is in `Kind`. Row bounds have 32 bits as
//! everywhere in this crate: a graph of more arcs takes more than 16 GiB for its targets alone. All
//! other sizes and places have 64.
//!
//! **What is checked when.** Opening checks the header, that every section lies where it must and
//! is as long as the others say, and that row bounds ascend; it reads row bounds, splits, and what
//! there is one of for each arc or graph, such as classes. Targets, weights, features and the
//! nodes' labels are checked a block at a time when they are first read: the digest, and that ids
//! are nodes, columns or classes (`Section`). So whoever holds some of the nodes, or some of the
//! graphs, reads their pages. The fingerprint is believed, so that a run need not read all to know
//! it; [`verify`] believes nothing, and checks besides that rows ascend and that an undirected
//! graph has both arcs of each edge.

mod read;
mod write;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use crate::data_source::{CatalogueEntry, DataSource, checked, is_path, stem};
use crate::{DataDirs, DataError, Dataset};
use read::read_mapped;

pub use read::verify;
pub use write::write;

/// A data set written by `folkmoot data` as one memory-mapped file: only the arcs, features and
/// labels in use are read. Results are identical to those of the original set.
#[component(name = "Mapped", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// File, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
}

impl Mapped {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
    }
}

impl DataSource for Mapped {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        read_mapped(&dirs.locate_own(&self.path)?)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "a memory-mapped file written by `folkmoot data`; for millions of nodes";
        vec![CatalogueEntry::new("Mapped(path: PATH)", about)]
    }
}

const MAGIC: [u8; 8] = *b"FOLKMOOT";
const VERSION: u32 = 1;
const MARK: u32 = 0x0a0b_0c0d;
/// Where the header's digest stands.
const DIGEST_AT: usize = 32;
const DIGEST: usize = 32;
/// The header without sections and their digests.
const FIXED: usize = 104;
/// What the header says of a section.
const ENTRY: usize = 24;
/// Sections start at multiples of this, a page's size.
const ALIGN: usize = 4_096;

/// What a section holds. Arrays of several graphs stand one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Four words a graph: nodes, arcs, edges, and 1 if it is directed plus 2 if it is weighted.
    Graphs,
    /// Row bounds: for each graph one word more than it has nodes.
    Offsets,
    /// The target of each arc.
    Targets,
    /// The weight of each arc, `f32`, of the graphs that are weighted.
    Weights,
    /// Names, notes, and how the following are to be read, as JSON.
    Description,
    /// Row bounds of sparse features.
    FeatureOffsets,
    /// Columns of sparse features.
    FeatureColumns,
    /// Values of sparse features, or all of dense ones, `f32`.
    FeatureValues,
    /// Row bounds of the nodes' classes.
    LabelOffsets,
    LabelClasses,
    /// A class for each arc.
    EdgeLabels,
    /// A class for each graph.
    GraphLabels,
    /// The joint class of each graph's properties.
    GraphProperties,
    /// For each graph and task 0 for no, 1 for yes, 2 for not known.
    GraphTasks,
    /// For each node, or graph, 1 if it trains, 2 if it validates, 3 if it tests, 0 if none of
    /// them.
    Splits,
    /// The nodes' ids at the source.
    NodeIds,
    /// For each arc its features, `f32`.
    EdgeFeatures,
    /// For each node and task 0 for no, 1 for yes, 2 for not known.
    NodeTasks,
    /// The joint class of each node's properties.
    NodeProperties,
    /// For each item and target a number, `f32`, NaN where it is not known.
    Predicted,
    /// Bounds of the nodes' names in the following section, one word more than there are nodes.
    NameBounds,
    /// The nodes' names, UTF-8, one after the other.
    Names,
}

impl Kind {
    const ALL: [Kind; 22] = [
        Kind::Graphs,
        Kind::Offsets,
        Kind::Targets,
        Kind::Weights,
        Kind::Description,
        Kind::FeatureOffsets,
        Kind::FeatureColumns,
        Kind::FeatureValues,
        Kind::LabelOffsets,
        Kind::LabelClasses,
        Kind::EdgeLabels,
        Kind::GraphLabels,
        Kind::GraphProperties,
        Kind::GraphTasks,
        Kind::Splits,
        Kind::NodeIds,
        Kind::EdgeFeatures,
        Kind::NodeTasks,
        Kind::NodeProperties,
        Kind::Predicted,
        Kind::NameBounds,
        Kind::Names,
    ];
}

/// The facets of properties, and the values of each joint class.
type Facets = (Vec<String>, Vec<Vec<String>>);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: String,
    notes: Vec<String>,
    n_classes: usize,
    structural_columns: Vec<std::ops::Range<u32>>,
    /// Columns of the features, if there are any.
    n_columns: Option<u32>,
    /// Classes of the nodes, if they are labelled.
    n_node_classes: Option<u32>,
    /// The facets of the graphs' properties, and the values of each joint class.
    properties: Option<Facets>,
    tasks: Vec<String>,
    // Absent where a set has no such part: files without them are what they always were.
    /// Columns of the features of arcs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n_edge_columns: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    node_tasks: Vec<String>,
    /// As `properties`, of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node_properties: Option<Facets>,
    /// The names of numbers to predict, and whether graphs have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    targets: Option<(Vec<String>, bool)>,
}

/// The next place where a section may start.
fn aligned(at: usize) -> Option<usize> {
    at.checked_next_multiple_of(ALIGN)
}

#[cfg(test)]
mod tests;
