//! Readers of graph files with the data sets that they read, one file for each format. A new one
//! is one more file here and one line in `Registry::base`.
//!
//! Each reader turns bytes into a [`Dataset`](crate::Dataset), counts in its notes whatever it
//! cleaned, and answers any input, truncated or random, with a [`DataError`](crate::DataError): it
//! never panics, and never allocates more than the bytes at hand justify.

mod assemble;
mod classes;
mod columns;
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
mod planetoid;
mod rows;
mod side;
mod tables;
#[cfg(test)]
mod testing;
mod text;
mod tudataset;

pub(crate) use limits::MAX_NODES;
pub(crate) use text::{Text, fields};

pub use edge_list::{EdgeList, EmailEuCore};
pub use function_graphs::{FunctionGraphs, Functions};
pub use graphml::GraphMl;
pub use karate::Karate;
pub use mat::{BlogCatalog, Mat};
pub use metis::Metis;
pub use molecules::{Invalid, MoleculeSet, MoleculeTable, Molecules};
pub use musae::{Musae, MusaeSet};
pub use npz::Npz;
pub use ogb::Ogb;
pub use planetoid::{Citation, Planetoid};
pub use tables::Tables;
pub use tudataset::{TuDataset, TuDatasets};

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
