//! Users' data in text formats and folders: which reader, with which settings.

use super::load::{cut, note_splits, whole_graphs};
use super::{DatasetSpec, Isolated};
use crate::readers::{self, Columns};
use crate::{DataDirs, DataError, Dataset};

/// Reads `Tables`, `GraphMl`, `Ogb` or `Metis`.
pub(super) fn load(spec: &DatasetSpec, dirs: &DataDirs) -> Result<Dataset, DataError> {
    let name = spec.name();
    let (mut dataset, largest_component, isolated) = match spec {
        DatasetSpec::Tables {
            edges,
            nodes,
            largest_component,
            isolated,
            ..
        } => {
            let nodes = nodes.as_ref().map(|path| dirs.locate_own(path)).transpose()?;
            let edges = dirs.locate_own(edges)?;
            let read = readers::read_tables(&name, nodes, &edges, &columns(spec))?;
            (read, *largest_component, *isolated)
        }
        DatasetSpec::GraphMl {
            path,
            largest_component,
            isolated,
            ..
        } => {
            let read = readers::read_graphml(&name, &dirs.locate_own(path)?, &columns(spec))?;
            (read, *largest_component, *isolated)
        }
        DatasetSpec::Ogb {
            path,
            split,
            directed,
            largest_component,
        } => {
            let read = readers::read_ogb(&name, &dirs.locate_own(path)?, split.as_deref(), *directed)?;
            (read, *largest_component, Isolated::Keep)
        }
        DatasetSpec::Metis {
            path,
            labels,
            features,
            split,
            largest_component,
        } => {
            let [labels, features, split] =
                [labels, features, split].map(|path| path.as_ref().map(|path| dirs.locate_own(path)).transpose());
            let of_nodes = [labels?, features?, split?];
            let read = readers::read_metis(&name, &dirs.locate_own(path)?, &of_nodes)?;
            (read, *largest_component, Isolated::Keep)
        }
        _ => unreachable!("only these formats are loaded here"),
    };
    note_splits(&mut dataset);
    whole_graphs(&dataset, largest_component)?;
    Ok(cut(dataset, largest_component, isolated))
}

/// The columns that the settings name.
fn columns(spec: &DatasetSpec) -> Columns<'_> {
    match spec {
        DatasetSpec::Tables {
            id,
            label,
            labels,
            targets,
            features,
            split,
            client,
            properties,
            source,
            target,
            weight,
            edge_features,
            directed,
            ..
        } => Columns {
            id: id.as_deref(),
            label: label.as_deref(),
            labels,
            targets,
            features,
            split: split.as_deref(),
            client: client.as_deref(),
            properties,
            source: source.as_deref(),
            target: target.as_deref(),
            weight: weight.as_deref(),
            edge_features,
            directed: *directed,
        },
        DatasetSpec::GraphMl {
            label,
            labels,
            targets,
            features,
            split,
            client,
            properties,
            weight,
            edge_features,
            ..
        } => Columns {
            label: label.as_deref(),
            labels,
            targets,
            features,
            split: split.as_deref(),
            client: client.as_deref(),
            properties,
            weight: weight.as_deref(),
            edge_features,
            ..Columns::default()
        },
        _ => Columns::default(),
    }
}
