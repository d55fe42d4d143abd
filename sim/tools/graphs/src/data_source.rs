//! What a data set is to a card: a component that loads a [`Dataset`], with its lines of `folkmoot
//! list`.

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Broken, Rules, Value, component};

use crate::{DataDirs, DataError, Dataset};

/// Data that a card can name: read from files, built in or drawn.
pub trait DataSource: Send + Sync {
    /// The name in run directories and figures.
    fn name(&self) -> String;

    /// Whether the data are drawn from the stream given to [`load`](Self::load), rather than read
    /// or built in.
    fn is_generated(&self) -> bool;

    /// An estimate of the memory that they take, in bytes, where it is known. Default: it is not.
    fn n_bytes(&self) -> Option<u64> {
        None
    }

    /// How many nodes are drawn at most, where that is known. Default: it is not.
    fn n_generated(&self) -> Option<u64> {
        None
    }

    /// Reads or draws them.
    ///
    /// # Errors
    ///
    /// [`DataError::Spec`] if a rule of the settings is broken; [`DataError::Missing`],
    /// [`DataError::Read`], [`DataError::Line`] or [`DataError::Format`] for what is wrong with the
    /// files.
    ///
    /// # Determinism
    ///
    /// Draws from `rng` only if [`is_generated`](Self::is_generated).
    fn load(&self, dirs: &DataDirs, rng: &mut SimRng) -> Result<Dataset, DataError>;

    /// Lines of `folkmoot list`. Default: none; the list then has the name and description of the
    /// component.
    fn entries() -> Vec<CatalogueEntry>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

/// One line of `folkmoot list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// How a card writes it, such as `Planetoid(name: Cora)`.
    pub name: &'static str,
    /// What it is, with its size.
    pub about: &'static str,
    /// Where its file is expected below a data folder; `None` if there is none.
    pub file: Option<&'static str>,
}

impl CatalogueEntry {
    /// A data set without a file in a data folder: built in, generated, or of the user's own files.
    pub fn new(name: &'static str, about: &'static str) -> CatalogueEntry {
        let file = None;
        CatalogueEntry { name, about, file }
    }

    /// One that is expected at `file` below a data folder.
    pub fn at(file: &'static str, name: &'static str, about: &'static str) -> CatalogueEntry {
        let file = Some(file);
        CatalogueEntry { name, about, file }
    }
}

/// Handling of isolated nodes.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolated {
    /// Keep them.
    #[default]
    Keep,
    /// Remove them; a note reports their number.
    Drop,
}

/// Refuses settings that break rules.
pub(crate) fn checked(settings: &impl Value) -> Result<(), DataError> {
    let broken = settings.broken();
    broken.is_empty().then_some(()).ok_or(DataError::Spec(broken))
}

/// Requires that `field` names a file or folder.
pub(crate) fn is_path(field: &str, path: &str, rules: &mut Rules) {
    rules.require(!path.trim().is_empty(), field, "must name a file, got an empty text");
}

/// The same for each of several fields that may be left out.
pub(crate) fn are_paths(fields: &[(&str, &Option<String>)], rules: &mut Rules) {
    for (field, path) in fields {
        path.iter().for_each(|path| is_path(field, path, rules));
    }
}

/// The name of a file or folder without its ending.
pub(crate) fn stem(path: &str) -> String {
    let stem = Path::new(path).file_stem();
    stem.map_or_else(|| path.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Leaves out what the card does not want of the user's own files, and notes the split that they
/// hold, which a card must ask for.
///
/// # Errors
/// [`DataError::Spec`] if nodes are to be cut out of the graphs of a set.
pub(crate) fn own(mut dataset: Dataset, largest_component: bool, isolated: Isolated) -> Result<Dataset, DataError> {
    if let Some(splits) = &dataset.splits {
        let (train, val, test) = splits.sizes();
        let items = if dataset.is_graph_level() { "graphs" } else { "nodes" };
        dataset.notes.push(format!(
            "the files have masks for training, validation and test ({train}, {val}, {test} {items}), which only \
             `split: Published` uses"
        ));
    }
    if largest_component && dataset.is_graph_level() {
        let n = dataset.graphs.len();
        return Err(DataError::Spec(vec![Broken {
            path: "largest_component".to_owned(),
            rule: format!("must be false (its default) for a set of {n} graphs"),
        }]));
    }
    let dataset = cut(dataset, largest_component);
    Ok(match isolated {
        Isolated::Keep => dataset,
        Isolated::Drop => dataset.without_isolated(),
    })
}

/// The largest component alone, if that is asked for.
pub(crate) fn cut(dataset: Dataset, largest_component: bool) -> Dataset {
    match largest_component {
        true => dataset.on_largest_component(),
        false => dataset,
    }
}
