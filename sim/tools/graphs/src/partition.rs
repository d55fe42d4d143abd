//! Dividing a data set among clients.
//!
//! A [`Partition`] lists for each client all that it can see: nodes of a node-level set, graphs of
//! a graph-level one. Shards are ascending. They are an exact cover (every item in exactly one
//! shard), except for [`KHop`] and [`Overlapping`], and for [`File`] where the card says so. A
//! partition may add edges to the graph that it divides ([`StructureSkew`]).

mod communities;
mod deal;
mod file;
mod k_hop;
mod level;
mod louvain;
mod multilevel;
mod property;
mod sizes;
mod skew;
mod split;
mod structure;

use folkmoot_parts::{Broken, Value};
use thiserror::Error;

use folkmoot_draws::SimRng;

use crate::{DataDirs, Dataset, Graph};

pub use communities::{Balance, Louvain};
pub use file::{Cover, File, Metis};
pub use k_hop::{Centres, KHop};
pub use multilevel::{Multilevel, Overlapping};
pub use property::{ByProperty, Given, Property};
pub use skew::{Iid, LabelSkew, NodePerClient, QuantitySkew};
pub use structure::StructureSkew;

/// A rule that divides data sets; third parties can add their own.
pub trait Partitioner: Send + Sync {
    /// Divides `dataset`; called once for each run, before any client exists. Files that it reads
    /// are looked for in `dirs`.
    ///
    /// # Errors
    /// [`PartitionError`] if the rule does not fit the data set, or a file is not what it should
    /// be; nothing is left behind.
    ///
    /// # Determinism
    /// The result may depend on the arguments, and what files hold, only.
    fn partition(&self, dataset: &Dataset, dirs: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError>;

    /// The same without data folders, so that files are found by absolute paths alone.
    ///
    /// # Errors
    /// As [`partition`](Self::partition).
    fn divide(&self, dataset: &Dataset, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        self.partition(dataset, &DataDirs::new(), rng)
    }
}

/// The items of every client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Bounds of the shards in `items`; `None` if shard `k` is item `k` alone, which then costs 4
    /// bytes a client.
    bounds: Option<Vec<u32>>,
    items: Vec<u32>,
    centres: Option<Vec<u32>>,
    added: Vec<(u32, u32)>,
    source: Option<(String, String)>,
    notes: Vec<String>,
}

impl Partition {
    /// Each of `n_items` items is a client.
    pub fn one_item_each(n_items: u32) -> Partition {
        Partition {
            bounds: None,
            items: (0..n_items).collect(),
            ..Partition::default()
        }
    }

    /// A partition with the given shards; each is sorted.
    ///
    /// # Errors
    /// [`PartitionError::TooLarge`] if the shards hold more than [`MAX_ENTRIES`] items together.
    pub fn from_shards(shards: Vec<Vec<u32>>) -> Result<Partition, PartitionError> {
        let mut partition = Partition {
            bounds: Some(vec![0]),
            ..Partition::default()
        };
        for mut shard in shards {
            shard.sort_unstable();
            partition.push(&shard)?;
        }
        Ok(partition)
    }

    /// As [`from_shards`](Self::from_shards) of `rule`, but none may be empty; `why` says how that
    /// comes and what to do.
    fn without_empty(shards: Vec<Vec<u32>>, rule: &'static str, why: &str) -> Result<Partition, PartitionError> {
        match shards.iter().position(Vec::is_empty) {
            None => Partition::from_shards(shards),
            Some(client) => Err(PartitionError::Empty {
                rule,
                client,
                n_clients: shards.len() as u32,
                why: why.to_owned(),
            }),
        }
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

    /// The same shards of a graph to which `edges` are added: pairs of nodes that have none.
    /// [`Dataset::with_edges`] is what clients then hold.
    pub fn with_added_edges(mut self, edges: Vec<(u32, u32)>) -> Partition {
        self.added = edges;
        self
    }

    /// The same shards with something that a reader of the results should know, in a sentence.
    pub fn with_note(mut self, note: String) -> Partition {
        self.notes.push(note);
        self
    }

    /// Edges that the graph gets before it is divided.
    pub fn added_edges(&self) -> &[(u32, u32)] {
        &self.added
    }

    /// The name and the BLAKE3 hash, in hexadecimal, of the file that the shards were read from.
    pub fn source(&self) -> Option<(&str, &str)> {
        self.source.as_ref().map(|(name, hash)| (name.as_str(), hash.as_str()))
    }

    /// What a reader of the results should know, each a sentence.
    pub fn notes(&self) -> &[String] {
        &self.notes
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

    /// The node that client `client_idx` is: the centre of its neighbourhood, or its only node;
    /// `None` if it is not one node.
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
        n_clients: u32,
        /// The least number of items of a client.
        min_size: u32,
    },
    /// The rule needs something that the data set does not have.
    #[error("partition {rule} needs {what}")]
    Needs {
        rule: &'static str,
        /// What it needs and what to do about it.
        what: &'static str,
    },
    /// Some client would have nothing.
    #[error("partition {rule} leaves client {client} of {n_clients} without any item: {why}")]
    Empty {
        rule: &'static str,
        /// The first such client.
        client: usize,
        /// How many there are to be.
        n_clients: u32,
        /// Why, and what to do about it.
        why: String,
    },
    /// Clients are so small that no slack is left.
    #[error(
        "partition.slack: {slack} must be below the {share} nodes that each of {n_clients} clients gets on average; lower it or \
             partition.n_clients, or set partition.balance: Whole"
    )]
    Slack {
        slack: u32,
        /// Nodes for each client, rounded down.
        share: usize,
        n_clients: u32,
    },
    /// The file of a partition is not there or not what it should be.
    #[error("partition.path: {0}")]
    File(String),
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

/// Refuses settings that break rules.
fn checked(settings: &impl Value) -> Result<(), PartitionError> {
    let broken = settings.broken();
    broken.is_empty().then_some(()).ok_or(PartitionError::Spec(broken))
}

/// The graph of a set that has but one.
fn one_graph<'a>(dataset: &'a Dataset, rule: &'static str) -> Result<&'a Graph, PartitionError> {
    let what = "a set with one graph; use Iid, LabelSkew or ByProperty instead";
    match dataset.is_graph_level() {
        true => Err(PartitionError::Needs { rule, what }),
        false => Ok(dataset.graph()),
    }
}

fn enough(n_items: usize, n_clients: u32, min_size: u32) -> Result<(), PartitionError> {
    // A client without any item is possible only where the card asks for it; more clients than
    // items never helps.
    let needed = u64::from(n_clients) * u64::from(min_size.max(1));
    if needed > n_items as u64 {
        Err(PartitionError::TooFewItems {
            n_items,
            n_clients,
            min_size,
        })
    } else {
        Ok(())
    }
}

/// Says that the weights of edges played no part, where there are some.
fn unweighted(partition: Partition, dataset: &Dataset) -> Partition {
    match dataset.graph().is_weighted() {
        true => partition.with_note("the graph is divided as if all its edges had the same weight".to_owned()),
        false => partition,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
mod file_tests;
