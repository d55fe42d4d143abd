//! The data set of a card.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::{Columns, Table, of_tables};
use crate::data_source::{CatalogueEntry, DataSource, Isolated, are_paths, checked, is_path, own, stem};
use crate::{DataDirs, DataError, Dataset};

/// Tables of nodes and edges: CSV, TSV or semicolon-separated files with a header. Ids may be
/// text. Columns with the usual names are found without settings.
#[component(name = "Tables", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// Edge table, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub edges: String,
    /// Node table; by default the nodes are the ends of the edges.
    pub nodes: Option<String>,
    /// Column with the node id; by default `id`, `node`, `node_id` or `name`, else the first.
    pub id: Option<String>,
    /// Column with the class of a node; by default `label`, `class` or `y`, if present.
    pub label: Option<String>,
    /// Columns with binary labels (0, 1 or empty), instead of `label`.
    pub labels: Vec<String>,
    /// Columns with numbers to predict, instead of `label`.
    pub targets: Vec<String>,
    /// Feature columns; columns with words are one-hot encoded. By default all other columns
    /// with numbers and no gap.
    pub features: Vec<String>,
    /// Column with `train`, `valid` or `test`; by default `split`, if present.
    pub split: Option<String>,
    /// Column with the client, for `partition: Given()`; by default `client`, if present.
    pub client: Option<String>,
    /// Columns for `partition: ByProperty(property: Facet(…))`.
    pub properties: Vec<String>,
    /// Edge column with the first end; by default `source`, `src`, `from` or `u`, else the
    /// first.
    pub source: Option<String>,
    /// Edge column with the second end; by default `target`, `dst`, `to` or `v`, else the
    /// second.
    pub target: Option<String>,
    /// Edge column with the weight; by default `weight`, if present.
    pub weight: Option<String>,
    /// Edge columns to keep as features.
    pub edge_features: Vec<String>,
    /// Whether edges are directed.
    pub directed: bool,
    /// Keep only the largest component.
    pub largest_component: bool,
    /// Handling of isolated nodes.
    pub isolated: Isolated,
}

impl Tables {
    fn rules(&self, rules: &mut Rules) {
        is_path("edges", &self.edges, rules);
        are_paths(&[("nodes", &self.nodes)], rules);
    }
}

impl DataSource for Tables {
    fn name(&self) -> String {
        stem(&self.edges)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let columns = Columns {
            id: self.id.as_deref(),
            label: self.label.as_deref(),
            labels: &self.labels,
            targets: &self.targets,
            features: &self.features,
            split: self.split.as_deref(),
            client: self.client.as_deref(),
            properties: &self.properties,
            source: self.source.as_deref(),
            target: self.target.as_deref(),
            weight: self.weight.as_deref(),
            edge_features: &self.edge_features,
            directed: self.directed,
        };
        let nodes = self.nodes.as_ref().map(|path| dirs.locate_own(path)).transpose()?;
        let edges = dirs.locate_own(&self.edges)?;
        let nodes = nodes.as_deref().map(Table::open).transpose()?;
        let dataset = of_tables(&self.name(), nodes.as_ref(), &Table::open(&edges)?, &columns)?;
        own(dataset, self.largest_component, self.isolated)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "tables of edges and nodes, CSV or TSV, with text ids";
        vec![CatalogueEntry::new("Tables(edges: PATH)", about)]
    }
}
