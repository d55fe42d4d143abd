//! Items dealt at random: evenly, or skewed by class or quantity.

use folkmoot_draws::SimRng;
use folkmoot_parts::component;

use super::{Partition, PartitionError, Partitioner, checked, deal, enough};
use crate::{DataDirs, Dataset};

/// One item per client.
#[component(name = "NodePerClient")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodePerClient {}

impl Partitioner for NodePerClient {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        Ok(Partition::one_item_each(dataset.n_items() as u32))
    }
}

/// IID: items are shuffled and distributed evenly; shard sizes differ by at most 1.
#[component(name = "Iid")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iid {
    /// Number of clients, at most the number of items.
    #[component(required, at_least = 1)]
    pub n_clients: u32,
}

impl Partitioner for Iid {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let n_items = dataset.n_items();
        enough(n_items, self.n_clients, 1)?;
        let sizes = deal::even_sizes(n_items, self.n_clients as usize);
        Partition::from_shards(deal::by_sizes(n_items, &sizes, rng))
    }
}

/// Label skew: the items of each class are distributed by Dirichlet proportions (Hsu et al.
/// 2019, Yurochkin et al. 2019). Smaller `alpha`: fewer classes per client. An item with
/// several classes counts for one of them, drawn uniformly; unlabelled items form their own
/// class.
#[component(name = "LabelSkew")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelSkew {
    /// Number of clients, at most the number of items.
    #[component(required, at_least = 1)]
    pub n_clients: u32,
    /// Concentration parameter α of the Dirichlet distribution.
    #[component(default = 0.5, above = 0)]
    pub alpha: f64,
    /// Minimum number of items per client, taken from the largest shards.
    #[component(default = 1)]
    pub min_size: u32,
}

impl Partitioner for LabelSkew {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        enough(dataset.n_items(), self.n_clients, self.min_size)?;
        let classes = deal::items_by_class(dataset, rng).ok_or(PartitionError::Needs {
            rule: "LabelSkew",
            what: "labels that are classes; use Iid or QuantitySkew instead",
        })?;
        let (n_clients, min_size) = (self.n_clients as usize, self.min_size as usize);
        Partition::from_shards(deal::by_class(classes, n_clients, self.alpha, min_size, rng))
    }
}

/// Quantity skew: shard sizes follow a Dirichlet distribution; items are assigned at random.
#[component(name = "QuantitySkew")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantitySkew {
    /// Number of clients, at most the number of items.
    #[component(required, at_least = 1)]
    pub n_clients: u32,
    /// Concentration parameter α of the Dirichlet distribution.
    #[component(default = 0.5, above = 0)]
    pub alpha: f64,
    /// Minimum number of items per client, taken from the largest shards.
    #[component(default = 1)]
    pub min_size: u32,
}

impl Partitioner for QuantitySkew {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let n_items = dataset.n_items();
        enough(n_items, self.n_clients, self.min_size)?;
        let (n_clients, min_size) = (self.n_clients as usize, self.min_size as usize);
        let sizes = deal::skewed_sizes(n_items, n_clients, self.alpha, min_size, rng);
        Partition::from_shards(deal::by_sizes(n_items, &sizes, rng))
    }
}
