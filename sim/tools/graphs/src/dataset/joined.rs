//! Several sets of labelled graphs as one.

use std::path::Path;

use crate::{DataError, Dataset, Features, Properties, SparseRows};

/// What says which set a graph is of.
const SET: &str = "set";

impl Dataset {
    /// The graphs of all sets, one set after the other: columns of features and classes of graphs
    /// are each set's own, side by side, and which set a graph is of is its property `set`. Labels
    /// of nodes and edges, tasks and splits are left out.
    pub(crate) fn joined(name: String, sets: Vec<Dataset>) -> Result<Dataset, DataError> {
        let n_columns: usize = sets
            .iter()
            .filter_map(|set| Some(set.features.as_ref()?.n_columns()))
            .sum();
        let mut all = Dataset {
            name,
            ..Dataset::default()
        };
        let (mut rows, mut classes, mut of_set) = (Vec::new(), Vec::new(), Vec::new());
        let mut first_column = 0;
        for (at, set) in (0u32..).zip(&sets) {
            let n_nodes: usize = set.graphs.iter().map(crate::Graph::n_nodes).sum();
            match &set.features {
                Some(features) => {
                    rows.extend((0..n_nodes as u32).map(|node| shifted(features, node, first_column)));
                    first_column += features.n_columns() as u32;
                }
                None => {
                    rows.extend(std::iter::repeat_n(Vec::new(), n_nodes));
                    if n_columns > 0 {
                        all.notes.push(format!(
                            "nodes of {} bring nothing, and have zeros beside what others bring",
                            set.name
                        ));
                    }
                }
            }
            let labels = set.graph_labels.iter().flatten();
            classes.extend(labels.map(|class| class + all.n_classes as u32));
            all.n_classes += set.n_classes;
            of_set.extend(std::iter::repeat_n(at, set.graphs.len()));
            all.notes
                .extend(set.notes.iter().map(|note| format!("{}: {note}", set.name)));
        }
        if n_columns > 0 {
            let rows = SparseRows::from_rows(n_columns as u32, &rows);
            let rule = "the sets bring too many numbers together; name fewer";
            let rows = rows.ok_or_else(|| DataError::format(Path::new("tudataset"), rule))?;
            all.features = Some(Features::Sparse(rows));
        }
        let names = sets.iter().map(|set| vec![set.name.clone()]).collect();
        all.graph_labels = Some(classes);
        all.graph_properties = Properties::new(&[SET], names, of_set);
        all.graphs = sets.into_iter().flat_map(|set| set.graphs).collect();
        Ok(all)
    }
}

/// What a node brings that is not 0, `by` columns further on.
fn shifted(features: &Features, node: u32, by: u32) -> Vec<(u32, f32)> {
    match features {
        Features::Dense(matrix) => {
            let row = (by..).zip(matrix.row(node).iter().copied());
            row.filter(|(_, value)| *value != 0.0).collect()
        }
        Features::Sparse(matrix) => {
            let (columns, values) = matrix.row(node);
            columns
                .iter()
                .map(|column| column + by)
                .zip(values.iter().copied())
                .collect()
        }
    }
}
