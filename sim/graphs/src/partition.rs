//! Dividing a data set among clients.
//!
//! A [`Partition`] lists for each client all that it can see: nodes of a node-level set, graphs of a graph-level one. Shards
//! are ascending. They are an exact cover (every item in exactly one shard), except for [`PartitionSpec::KHop`], whose
//! neighbourhoods overlap.

mod deal;
mod spec;
mod split;

use folkmoot_parts::Broken;
use thiserror::Error;

use folkmoot_draws::SimRng;

use crate::Dataset;

pub use spec::{Centres, PartitionSpec};

/// A rule that divides data sets; third parties can add their own.
pub trait Partitioner: Send + Sync {
    /// Divides `dataset`; called once for each run, before any client exists.
    ///
    /// # Errors
    /// [`PartitionError`] if the rule does not fit the data set; nothing is left behind.
    ///
    /// # Determinism
    /// The result may depend on the arguments only.
    fn partition(&self, dataset: &Dataset, rng: &mut SimRng) -> Result<Partition, PartitionError>;
}

/// The items of every client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Bounds of the shards in `items`; `None` if shard `k` is item `k` alone, which then costs 4 bytes a client.
    bounds: Option<Vec<u32>>,
    items: Vec<u32>,
    centres: Option<Vec<u32>>,
}

impl Partition {
    /// Each of `n_items` items is a client.
    pub fn one_item_each(n_items: u32) -> Partition {
        Partition {
            bounds: None,
            items: (0..n_items).collect(),
            centres: None,
        }
    }

    /// A partition with the given shards; each is sorted.
    ///
    /// # Errors
    /// [`PartitionError::TooLarge`] if the shards hold more than [`MAX_ENTRIES`] items together.
    pub fn from_shards(shards: Vec<Vec<u32>>) -> Result<Partition, PartitionError> {
        let mut partition = Partition {
            bounds: Some(vec![0]),
            items: Vec::new(),
            centres: None,
        };
        for mut shard in shards {
            shard.sort_unstable();
            partition.push(&shard)?;
        }
        Ok(partition)
    }

    fn push(&mut self, shard: &[u32]) -> Result<(), PartitionError> {
        let n_entries = self.items.len() + shard.len();
        if n_entries > MAX_ENTRIES {
            return Err(PartitionError::TooLarge { n_entries });
        }
        self.items.extend_from_slice(shard);
        self.bounds.get_or_insert_with(|| vec![0]).push(n_entries as u32);
        Ok(())
    }

    /// How many clients there are.
    pub fn n_clients(&self) -> usize {
        self.bounds.as_ref().map_or(self.items.len(), |bounds| bounds.len() - 1)
    }

    /// The items of client `client_idx`, ascending.
    ///
    /// # Panics
    /// If `client_idx` is not below [`n_clients`](Self::n_clients).
    pub fn shard(&self, client_idx: usize) -> &[u32] {
        match &self.bounds {
            None => &self.items[client_idx..client_idx + 1],
            Some(bounds) => &self.items[bounds[client_idx] as usize..bounds[client_idx + 1] as usize],
        }
    }

    /// The node that client `client_idx` is: the centre of its neighbourhood, or its only node; `None` if it is not one node.
    ///
    /// # Panics
    /// If `client_idx` is not below [`n_clients`](Self::n_clients).
    pub fn centre(&self, client_idx: usize) -> Option<u32> {
        match (&self.centres, &self.bounds) {
            (Some(centres), _) => Some(centres[client_idx]),
            (None, None) => Some(self.items[client_idx]),
            (None, Some(_)) => None,
        }
    }

    /// Whether every one of `n_items` items is in exactly one shard.
    pub fn is_exact_cover(&self, n_items: usize) -> bool {
        let mut seen = vec![false; n_items];
        let fresh = |&item: &u32| {
            seen.get_mut(item as usize)
                .is_some_and(|seen| !std::mem::replace(seen, true))
        };
        self.items.len() == n_items && self.items.iter().all(fresh)
    }
}

/// The most entries that all shards may have together: 2 GiB.
pub const MAX_ENTRIES: usize = 1 << 29;

/// Why a data set cannot be divided as wanted; the scenario or the data set is to blame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PartitionError {
    /// The settings themselves break rules.
    #[error("{}", Broken::list(.0, "partition.", "\n"))]
    Spec(Vec<Broken>),
    /// There are fewer items than the clients must get.
    #[error(
        "{n_items} items are too few for {n_clients} clients with at least {min_size} each; lower partition.n_clients or partition.min_size"
    )]
    TooFewItems {
        /// How many items there are.
        n_items: usize,
        /// How many clients.
        n_clients: u32,
        /// The least number of items of a client.
        min_size: u32,
    },
    /// The rule needs something that the data set does not have.
    #[error("partition {rule} needs {what}")]
    Needs {
        /// Which rule.
        rule: &'static str,
        /// What it needs and what to do about it.
        what: &'static str,
    },
    /// More centres than nodes.
    #[error("partition.centres: {wanted} centres are wanted, but the graph has {n_nodes} nodes")]
    TooManyCentres {
        /// How many are wanted.
        wanted: u32,
        /// How many nodes there are.
        n_nodes: usize,
    },
    /// A centre that is not a node.
    #[error(
        "partition.centres: node {node} is not in the graph of {n_nodes} nodes, numbered from 0; with \
             dataset.largest_component they are numbered within it"
    )]
    NoSuchCentre {
        /// The centre.
        node: u32,
        /// How many nodes there are.
        n_nodes: usize,
    },
    /// The shards are too large together.
    #[error(
        "the shards would hold {n_entries} entries or more, over the limit of {MAX_ENTRIES}; use fewer hops or centres"
    )]
    TooLarge {
        /// How many entries were reached when the limit was met.
        n_entries: usize,
    },
}

#[cfg(test)]
mod tests;
