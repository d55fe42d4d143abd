//! How a [`DatasetSpec`] becomes a [`Dataset`]: which reader or generator, and what is cut off.

use folkmoot_parts::{Broken, Value};
use std::path::Path;

use folkmoot_draws::SimRng;

use super::{DatasetSpec, Isolated, generate, molecules, own};
use crate::mapped::read_mapped;
use crate::readers::{self, Brought, EdgeListOptions, MatOptions};
use crate::sources::{BLOG_CATALOG, EMAIL_EDGES, EMAIL_LABELS};
use crate::{DataDirs, DataError, Dataset};

impl DatasetSpec {
    /// Reads or draws the data set.
    ///
    /// # Errors
    /// [`DataError::Spec`] if a rule is broken; [`DataError::Missing`], [`DataError::Read`],
    /// [`DataError::Line`] or [`DataError::Format`] for what is wrong with the files.
    ///
    /// # Determinism
    /// Draws from `rng` only if [`is_generated`](Self::is_generated).
    pub fn load(&self, dirs: &DataDirs, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let problems = self.broken();
        if !problems.is_empty() {
            return Err(DataError::Spec(problems));
        }
        let name = self.name();
        match self {
            DatasetSpec::Karate => Ok(readers::karate()),
            DatasetSpec::BlogCatalog => {
                let options = MatOptions {
                    network: "network",
                    group: "group",
                    directed: false,
                };
                readers::read_mat(&name, &dirs.locate(BLOG_CATALOG)?, &options)
            }
            DatasetSpec::EmailEuCore { .. } | DatasetSpec::EdgeList { .. } => self.load_edge_list(dirs),
            DatasetSpec::Planetoid {
                name: citation,
                largest_component,
            } => {
                let dataset = readers::read_npz(&name, &dirs.locate(citation.file())?)?;
                Ok(cut(dataset, *largest_component, Isolated::Keep))
            }
            DatasetSpec::Musae {
                name,
                largest_component,
            } => Ok(cut(name.load(dirs)?, *largest_component, Isolated::Keep)),
            DatasetSpec::TuDataset { name, label_features } => {
                let brought = Brought {
                    attributes: true,
                    labels: *label_features,
                };
                readers::read_tudataset(name, &dirs.locate(Path::new("tudataset").join(name))?, brought)
            }
            DatasetSpec::TuDatasets {
                names,
                attributes,
                label_features,
            } => {
                let brought = Brought {
                    attributes: *attributes,
                    labels: *label_features,
                };
                let folder = |set: &String| dirs.locate(Path::new("tudataset").join(set));
                let read = |set: &String| readers::read_tudataset(set, &folder(set)?, brought);
                let sets: Result<Vec<Dataset>, DataError> = names.iter().map(read).collect();
                Dataset::joined(name, sets?)
            }
            DatasetSpec::FunctionGraphs { name, n_nodes, scaling } => name.load(*n_nodes, *scaling, dirs),
            DatasetSpec::Molecules { .. } | DatasetSpec::MoleculeTable { .. } => molecules::load(self, dirs),
            DatasetSpec::Mat {
                path,
                network,
                group,
                directed,
                largest_component,
            } => {
                let options = MatOptions {
                    network,
                    group,
                    directed: *directed,
                };
                let dataset = readers::read_mat(&name, &dirs.locate_own(path)?, &options)?;
                Ok(cut(dataset, *largest_component, Isolated::Keep))
            }
            DatasetSpec::Mapped { path } => read_mapped(&dirs.locate_own(path)?),
            DatasetSpec::Npz {
                path,
                largest_component,
            } => {
                let mut dataset = readers::read_npz(&name, &dirs.locate_own(path)?)?;
                note_splits(&mut dataset);
                whole_graphs(&dataset, *largest_component)?;
                Ok(cut(dataset, *largest_component, Isolated::Keep))
            }
            DatasetSpec::Tables { .. }
            | DatasetSpec::GraphMl { .. }
            | DatasetSpec::Ogb { .. }
            | DatasetSpec::Metis { .. } => own::load(self, dirs),
            _ => generate::generate(self, rng),
        }
    }

    /// Reads `EmailEuCore`, which is an edge list at a known place, or `EdgeList`.
    fn load_edge_list(&self, dirs: &DataDirs) -> Result<Dataset, DataError> {
        let (edges, labels) = match self {
            DatasetSpec::EdgeList { edges, labels, .. } => (edges.as_str(), labels.as_deref()),
            _ => (EMAIL_EDGES, Some(EMAIL_LABELS)),
        };
        let locate = |path: &str| match self {
            DatasetSpec::EdgeList { .. } => dirs.locate_own(path),
            _ => dirs.locate(path),
        };
        let edges = locate(edges)?;
        let labels = labels.map(locate).transpose()?;
        let (features, split) = match self {
            DatasetSpec::EdgeList { features, split, .. } => (features.as_deref(), split.as_deref()),
            _ => (None, None),
        };
        let plain = EdgeListOptions {
            labels,
            features: features.map(locate).transpose()?,
            split: split.map(locate).transpose()?,
            directed: false,
            weighted: false,
            first_id: 0,
            renumber: false,
        };
        let (options, largest_component, isolated) = match *self {
            DatasetSpec::EdgeList {
                directed,
                weighted,
                first_id,
                renumber,
                largest_component,
                isolated,
                ..
            } => (
                EdgeListOptions {
                    directed,
                    weighted,
                    first_id,
                    renumber,
                    ..plain
                },
                largest_component,
                isolated,
            ),
            DatasetSpec::EmailEuCore {
                directed,
                largest_component,
                isolated,
            } => (EdgeListOptions { directed, ..plain }, largest_component, isolated),
            _ => (plain, false, Isolated::Keep),
        };
        let mut dataset = readers::read_edge_list(&self.name(), &edges, &options)?;
        note_splits(&mut dataset);
        Ok(cut(dataset, largest_component, isolated))
    }
}

/// Says in a note that the files hold a split, which a card must ask for.
pub(super) fn note_splits(dataset: &mut Dataset) {
    if let Some(splits) = &dataset.splits {
        let (train, val, test) = splits.sizes();
        let items = if dataset.is_graph_level() { "graphs" } else { "nodes" };
        dataset.notes.push(format!(
            "the files have masks for training, validation and test ({train}, {val}, {test} {items}), which only \
             `split: Published` uses"
        ));
    }
}

/// Refuses to cut nodes out of the graphs of a set.
pub(super) fn whole_graphs(dataset: &Dataset, largest_component: bool) -> Result<(), DataError> {
    if !largest_component || !dataset.is_graph_level() {
        return Ok(());
    }
    let what = format!(
        "must be false (its default) for a set of {} graphs",
        dataset.graphs.len()
    );
    Err(DataError::Spec(vec![Broken {
        path: "largest_component".to_owned(),
        rule: what,
    }]))
}

/// Leaves out what the card does not want.
pub(super) fn cut(dataset: Dataset, largest_component: bool, isolated: Isolated) -> Dataset {
    let dataset = if largest_component {
        dataset.on_largest_component()
    } else {
        dataset
    };
    match isolated {
        Isolated::Keep => dataset,
        Isolated::Drop => dataset.without_isolated(),
    }
}
