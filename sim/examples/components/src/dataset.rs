//! A data set: read from a file, or generated.

use folkmoot::draws::SimRng;
use folkmoot::graphs::{DataDirs, DataError, DataSource, Dataset, Features, Graph, Labels, SparseRows};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Two rails joined by rungs; the class of a node is its rail.
#[component(
    name = "Ladder",
    about = "two rails joined by rungs; the class of a node is its rail"
)]
#[derive(Clone, Copy, Debug)]
struct Ladder {
    /// Number of rungs.
    #[component(default = 40, in = 2..=1_000_000)]
    rungs: u32,
}

impl DataSource for Ladder {
    fn name(&self) -> String {
        format!("a ladder of {} rungs", self.rungs)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, _: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        let n = 2 * self.rungs;
        // Node 2 i is on the left rail, 2 i + 1 on the right one.
        let rails = (0..n - 2).map(|node| (node, node + 2));
        let rungs = (0..self.rungs).map(|at| (2 * at, 2 * at + 1));
        let edges: Vec<(u32, u32)> = rails.chain(rungs).collect();
        let graph = Graph::from_edges(n, &edges, false).expect("all ends are nodes");
        let classes: Vec<Option<u32>> = (0..n).map(|node| Some(node % 2)).collect();
        let rows: Vec<Vec<(u32, f32)>> = (0..n)
            .map(|node| vec![(node % 2, 1.0), (2, node as f32 / n as f32)])
            .collect();
        Ok(Dataset {
            features: Some(Features::Sparse(
                SparseRows::from_rows(3, &rows).expect("columns ascend"),
            )),
            node_labels: Some(Labels::from_single(2, &classes).expect("there are two classes")),
            n_classes: 2,
            ..Dataset::of_graph("ladder", graph)
        })
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_dataset::<Ladder>()?;
    registry.add_card("dataset", include_str!("../cards/dataset.ron"))
}
