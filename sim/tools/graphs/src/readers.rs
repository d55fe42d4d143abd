//! Readers of graph files, one file each. A new format is one more file here and one arm in `DatasetSpec::load`.
//!
//! Each reader turns bytes into a [`Dataset`], counts in its notes whatever it cleaned, and answers any
//! input, truncated or random, with a [`DataError`]: it never panics, and never allocates more than the bytes at hand justify.

mod classes;
mod edge_list;
mod format;
mod function_graphs;
mod karate;
mod mat;
mod molecules;
mod musae;
mod npz;
mod rows;
#[cfg(test)]
mod testing;
mod text;
mod tudataset;

use std::path::Path;

use crate::{Cleaned, DataError, Dataset, Labels};

pub(crate) use edge_list::{EdgeListOptions, read_edge_list};
pub(crate) use function_graphs::{Binary, FunctionOptions, read_function_graphs};
pub(crate) use karate::karate;
pub(crate) use mat::{MatOptions, read_mat};
pub(crate) use molecules::{MoleculeOptions, Tasks, read_molecules};
pub(crate) use musae::{MusaeFiles, read_musae};
pub(crate) use npz::read_npz;
pub(crate) use text::{Text, fields};
pub(crate) use tudataset::{Brought, read_tudataset};

/// The most nodes that a file may describe.
pub(crate) const MAX_NODES: u64 = 1 << 26;

/// The most bytes that one compressed part of a file may unpack to.
const MAX_UNPACKED: u64 = 1 << 30;

fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    let bytes = std::fs::read(path).map_err(|source| DataError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let bytes = format::unpacked(path, bytes)?;
    if bytes.is_empty() {
        return Err(DataError::format(path, "the file is empty"));
    }
    Ok(bytes)
}

/// Says in notes what cleaning removed; nothing is said about what did not occur.
fn note_cleaned(dataset: &mut Dataset, cleaned: Cleaned) {
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            dataset.notes.push(format!("{count} {what}"));
        }
    };
    note(cleaned.self_loops, "self loops were dropped");
    note(cleaned.repeated, "repeated edges were dropped");
    note(cleaned.mirrored, "edges were listed in both directions and count once");
}

/// Says in notes which nodes of the last graph have no edge, and which of its weights mean little to a graph convolution.
fn note_graph(dataset: &mut Dataset) {
    let Some(graph) = dataset.graphs.last() else {
        return;
    };
    let isolated = crate::measures::isolated_nodes(graph).len();
    let count = |is: fn(f32) -> bool| {
        graph
            .arc_weights()
            .unwrap_or_default()
            .iter()
            .filter(|w| is(**w))
            .count()
    };
    // An edge without direction is two arcs.
    let edges = |n_arcs: usize| if graph.is_directed() { n_arcs } else { n_arcs / 2 };
    let (zero, negative) = (edges(count(|w| w == 0.0)), edges(count(|w| w < 0.0)));
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            dataset.notes.push(format!("{count} {what}"));
        }
    };
    note(isolated, "nodes have no edge");
    note(zero, "edges have weight 0 and stay edges");
    let rule = "edges have a negative weight; in a graph convolution a node whose weights do not sum to more than 0 receives nothing";
    note(negative, rule);
}

/// Says in a note how many nodes have no label.
fn note_unlabelled(dataset: &mut Dataset, labels: &Labels) {
    if labels.n_unlabelled() > 0 {
        dataset
            .notes
            .push(format!("{} nodes have no label", labels.n_unlabelled()));
    }
}

/// Shared by the tests of all readers: files in a fresh folder, and the real data where there is any.
#[cfg(test)]
pub(crate) mod test_files {
    pub(crate) use super::testing::real_data;
    use std::path::PathBuf;

    /// A folder of its own for one test, removed on drop.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn new(test: &str) -> Folder {
            let dir = std::env::temp_dir().join(format!("folkmoot-graphs-{}-{test}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Folder(dir)
        }

        pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // A folder that cannot be removed must not fail the test that used it.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
