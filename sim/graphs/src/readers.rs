//! Readers of graph files, one file each. A new format is one more file here and one arm in `DatasetSpec::load`.
//!
//! Each reader turns bytes into a [`Dataset`], counts in its notes whatever it cleaned, and answers any
//! input, truncated or random, with a [`DataError`]: it never panics, and never allocates more than the bytes at hand justify.

mod edge_list;
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

use crate::{Cleaned, DataError, Dataset};

pub(crate) use edge_list::{EdgeListOptions, read_edge_list};
pub(crate) use function_graphs::{Binary, FunctionOptions, read_function_graphs};
pub(crate) use karate::karate;
pub(crate) use mat::{MatOptions, read_mat};
pub(crate) use molecules::{MoleculeOptions, Tasks, read_molecules};
pub(crate) use musae::{MusaeFiles, read_musae};
pub(crate) use npz::read_npz;
pub(crate) use text::Text;
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
