//! A data set and a partition.

use folkmoot::draws::SimRng;
use folkmoot::graphs::{
    DataDirs, DataError, DataSource, Dataset, Features, Graph, Labels, Partition, PartitionError, Partitioner,
    SparseRows,
};
use folkmoot::prelude::*;

/// Two rails joined by rungs; the class of a node is its rail.
#[component(
    name = "Ladder",
    about = "two rails joined by rungs; the class of a node is its rail"
)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ladder {
    /// Number of rungs.
    #[component(default = 40, in = 2..=1_000_000)]
    pub(crate) rungs: u32,
}

/// Node after node to client after client.
#[component(name = "Turns", about = "node after node to client after client")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Number of clients.
    #[component(default = 4, at_least = 1)]
    pub(crate) n_clients: u32,
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

impl Partitioner for Turns {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        let n_nodes = dataset.graphs[0].n_nodes() as u32;
        let shard = |client: u32| (client..n_nodes).step_by(self.n_clients as usize).collect();
        Partition::from_shards((0..self.n_clients).map(shard).collect())
    }
}
