//! Ego networks as shards.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};
use rand::seq::SliceRandom;

use super::{Partition, PartitionError, Partitioner, checked};
use crate::measures::EgoSearch;
use crate::{DataDirs, Dataset};

/// Ego networks: every client is a node and holds all nodes within some hops of it, directions
/// ignored. Shards overlap.
#[component(name = "KHop", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct KHop {
    /// Number of hops; larger values cover any real graph.
    #[component(default = 1, in = 0..=32)]
    pub hops: u32,
    /// Centre nodes, one client each.
    pub centres: Centres,
}

/// Centre nodes of the ego networks.
#[component]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Centres {
    /// Every node.
    #[default]
    All,
    /// The nodes of the training split.
    Train,
    /// A number of nodes, sampled uniformly without replacement.
    Sample(#[component(required)] u32),
    /// These nodes, each once, in this order, with the ids of the data set after
    /// `largest_component`.
    Nodes(#[component(required)] Vec<u32>),
}

impl KHop {
    /// What is no range.
    fn rules(&self, rules: &mut Rules) {
        let centres = &self.centres;
        let none = *centres == Centres::Sample(0) || *centres == Centres::Nodes(Vec::new());
        rules.require(!none, "centres", format!("must be at least 1 node, got {centres:?}"));
        if let Centres::Nodes(nodes) = centres {
            let mut sorted = nodes.clone();
            sorted.sort_unstable();
            let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
            let rule = twice.map(|pair| format!("must name each node once, got {} twice", pair[0]));
            rules.require(rule.is_none(), "centres", rule.unwrap_or_default());
        }
    }
}

impl Partitioner for KHop {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        if dataset.is_graph_level() {
            return Err(PartitionError::Needs {
                rule: "KHop",
                what: "a set with one graph; use NodePerClient or Iid instead",
            });
        }
        let graph = dataset.graph().undirected();
        let n_nodes = graph.n_nodes();
        let everyone = 0..n_nodes as u32;
        let centres: Vec<u32> = match &self.centres {
            Centres::All => everyone.collect(),
            Centres::Train => {
                let splits = dataset.splits.as_ref();
                let what =
                    "a data set with a training split for `centres: Train`; use All, Sample(n) or Nodes([…]) instead";
                let splits = splits.ok_or(PartitionError::Needs { rule: "KHop", what })?;
                everyone
                    .zip(&splits.train)
                    .filter(|(_, train)| **train)
                    .map(|(node, _)| node)
                    .collect()
            }
            Centres::Nodes(nodes) => {
                if let Some(&node) = nodes.iter().find(|node| **node as usize >= n_nodes) {
                    return Err(PartitionError::NoSuchCentre { node, n_nodes });
                }
                nodes.clone()
            }
            &Centres::Sample(wanted) if wanted as usize > n_nodes => {
                return Err(PartitionError::TooManyCentres { wanted, n_nodes });
            }
            &Centres::Sample(wanted) => {
                let mut nodes: Vec<u32> = everyone.collect();
                nodes.partial_shuffle(rng, wanted as usize).0.sort_unstable();
                // The chosen ones stand at the end of the slice; their order there is already settled.
                nodes.split_off(n_nodes - wanted as usize)
            }
        };
        let mut search = EgoSearch::new(n_nodes);
        let mut shard = Vec::new();
        let mut partition = Partition::from_shards(Vec::new())?;
        for &centre in &centres {
            search.search(&graph, centre, self.hops, &mut shard);
            partition.push(&shard)?;
        }
        partition.centres = Some(centres);
        Ok(partition)
    }
}
