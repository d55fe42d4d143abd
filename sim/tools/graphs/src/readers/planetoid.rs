//! The citation graphs of Planetoid, from archives.

use folkmoot_draws::SimRng;
use folkmoot_parts::component;

use super::npz::read_npz;
use crate::data_source::{CatalogueEntry, DataSource, cut, stem};
use crate::{DataDirs, DataError, Dataset};

/// A citation graph with bag-of-words features and the public split, from `planetoid/NAME.npz`.
#[component(name = "Planetoid")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planetoid {
    /// Name of the data set.
    #[component(required)]
    pub name: Citation,
    /// Keep only the largest component, as most papers count.
    #[component(default = true)]
    pub largest_component: bool,
}

/// The citation graphs of Planetoid.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Citation {
    /// 2,708 nodes, 5,278 edges, 1,433 features, 7 classes; largest component 2,485 / 5,069.
    Cora,
    /// 3,327 nodes, 4,552 edges, 3,703 features, 6 classes, 15 nodes without one; largest component
    /// 2,120 / 3,679.
    Citeseer,
    /// 19,717 nodes, 44,324 edges, 500 features, 3 classes; one component.
    Pubmed,
}

impl Citation {
    fn file(self) -> &'static str {
        match self {
            Citation::Cora => "planetoid/cora.npz",
            Citation::Citeseer => "planetoid/citeseer.npz",
            Citation::Pubmed => "planetoid/pubmed.npz",
        }
    }
}

const GET_PLANETOID: &str = "help: folkmoot data fetch NAME\n  then `python -m folkmoot planetoid FOLDER` with \
    the folder `planetoid` below the data folder, which converts the pickles of Planetoid's repository; or put an archive \
    in gnn-benchmark layout (`adj_*`, `attr_*`, `labels`, masks) into `planetoid/` below a data folder";

impl DataSource for Planetoid {
    fn name(&self) -> String {
        format!("{:?}", self.name)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        let file = self.name.file();
        let get = GET_PLANETOID.replace("NAME", &stem(file));
        let dataset = read_npz(&self.name(), &dirs.locate_set(file, &get)?, 0)?;
        Ok(cut(dataset, self.largest_component))
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![
            CatalogueEntry::at(
                Citation::Cora.file(),
                "Planetoid(name: Cora)",
                "citations, 2,708 nodes (largest component 2,485), 1,433 features, 7 classes",
            ),
            CatalogueEntry::at(
                Citation::Citeseer.file(),
                "Planetoid(name: Citeseer)",
                "citations, 3,327 nodes (largest component 2,120), 3,703 features, 6 classes",
            ),
            CatalogueEntry::at(
                Citation::Pubmed.file(),
                "Planetoid(name: Pubmed)",
                "citations, 19,717 nodes, 500 features, 3 classes",
            ),
        ]
    }
}
