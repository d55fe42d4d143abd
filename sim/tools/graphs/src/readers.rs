//! Readers of graph files, one file each. A new format is one more file here and one arm in
//! `DatasetSpec::load`.
//!
//! Each reader turns bytes into a [`Dataset`](crate::Dataset), counts in its notes whatever it
//! cleaned, and answers any input, truncated or random, with a [`DataError`](crate::DataError): it
//! never panics, and never allocates more than the bytes at hand justify.

mod assemble;
mod classes;
mod edge_list;
mod format;
mod function_graphs;
mod graphml;
mod karate;
mod limits;
mod mat;
mod metis;
mod molecules;
mod musae;
mod notes;
mod npz;
mod ogb;
mod rows;
mod side;
mod tables;
#[cfg(test)]
mod testing;
mod text;
mod tudataset;

pub(crate) use assemble::CLIENT;
pub(crate) use edge_list::{EdgeListOptions, read_edge_list};
pub(crate) use function_graphs::{Binary, FunctionOptions, read_function_graphs};
pub(crate) use graphml::read_graphml;
pub(crate) use karate::karate;
pub(crate) use limits::MAX_NODES;
pub(crate) use mat::{MatOptions, read_mat};
pub(crate) use metis::read_metis;
pub(crate) use molecules::{MoleculeOptions, Tasks, read_molecules};
pub(crate) use musae::{MusaeFiles, read_musae};
pub(crate) use npz::read_npz;
pub(crate) use ogb::read_ogb;
pub(crate) use tables::{Columns, read_tables};
pub(crate) use text::{Text, fields};
pub(crate) use tudataset::{Brought, read_tudataset};

/// Shared by the tests of all readers: files in a fresh folder, and the real data where there is
/// any.
#[cfg(test)]
pub(crate) mod test_files {
    pub(crate) use super::testing::{not_run, real_data};
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
