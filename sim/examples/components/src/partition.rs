//! A partition: which client holds which items.

use folkmoot::draws::SimRng;
use folkmoot::graphs::{DataDirs, Dataset, Partition, PartitionError, Partitioner};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// Node after node to client after client.
#[component(name = "Turns", about = "node after node to client after client")]
#[derive(Clone, Copy, Debug)]
struct Turns {
    /// Number of clients.
    #[component(default = 4, at_least = 1)]
    n_clients: u32,
}

impl Partitioner for Turns {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        let n_nodes = dataset.graphs[0].n_nodes() as u32;
        let shard = |client: u32| (client..n_nodes).step_by(self.n_clients as usize).collect();
        Partition::from_shards((0..self.n_clients).map(shard).collect())
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_partition::<Turns>()?;
    registry.add_card("partition", include_str!("../cards/partition.ron"))
}
