//! What a card's field `partition:` may say.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, Value, part};
use rand::seq::SliceRandom;

use super::{Partition, PartitionError, Partitioner, deal};
use crate::Dataset;
use crate::measures::EgoSearch;

/// The field `partition:` of a card. Items are nodes of a node-level set, graphs of a graph-level one.
#[part(rules)]
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionSpec {
    /// Every item is a client of its own, which knows that item alone.
    #[default]
    NodePerClient,
    /// Items are shuffled and dealt out: shard sizes differ by at most 1.
    Iid {
        /// Clients, at most as many as there are items.
        #[part(required, at_least = 1)]
        n_clients: u32,
    },
    /// The items of each class are spread by shares from a Dirichlet distribution (Hsu et al. 2019, Yurochkin et al. 2019): the
    /// smaller `alpha`, the fewer classes a client has. An item with several classes counts for one of them, drawn
    /// uniformly; unlabelled ones are a class of their own.
    LabelSkew {
        /// Clients, at most as many as there are items.
        #[part(required, at_least = 1)]
        n_clients: u32,
        /// Concentration.
        #[part(default = 0.5, above = 0)]
        alpha: f64,
        /// The least items of a client; the largest shards make up for smaller ones.
        #[part(default = 1)]
        min_size: u32,
    },
    /// Shard sizes are shares from a Dirichlet distribution; who is in a shard is random.
    QuantitySkew {
        /// Clients, at most as many as there are items.
        #[part(required, at_least = 1)]
        n_clients: u32,
        /// Concentration.
        #[part(default = 0.5, above = 0)]
        alpha: f64,
        /// The least items of a client; the largest shards make up for smaller ones.
        #[part(default = 1)]
        min_size: u32,
    },
    /// Every client is a node and knows all nodes within some hops of it, directions ignored. Shards overlap.
    KHop {
        /// Hops; farther away every real graph is one neighbourhood.
        #[part(default = 1, in = 0..=32)]
        hops: u32,
        /// Which nodes are clients.
        centres: Centres,
    },
}

/// Which nodes are the centres of neighbourhoods.
#[part]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Centres {
    /// Every node.
    #[default]
    All,
    /// The nodes of the training split.
    Train,
    /// So many nodes, drawn uniformly without repetition.
    Sample(#[part(required)] u32),
    /// These nodes, in this order and without repetition, as the data set numbers them: after `largest_component`.
    Nodes(#[part(required)] Vec<u32>),
}

impl PartitionSpec {
    /// What is no range.
    fn rules(&self, rules: &mut Rules) {
        if let PartitionSpec::KHop { centres, .. } = self {
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

    /// Divides a data set; see [`Partitioner::partition`], which it implements.
    ///
    /// # Errors
    /// [`PartitionError`] if a rule is broken, or if the rule does not fit the data set.
    pub fn partition(&self, dataset: &Dataset, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        let problems = self.broken();
        if !problems.is_empty() {
            return Err(PartitionError::Spec(problems));
        }
        let n_items = dataset.n_items();
        match *self {
            PartitionSpec::NodePerClient => Ok(Partition::one_item_each(n_items as u32)),
            PartitionSpec::Iid { n_clients } => {
                enough(n_items, n_clients, 1)?;
                let sizes = deal::even_sizes(n_items, n_clients as usize);
                Partition::from_shards(deal::by_sizes(n_items, &sizes, rng))
            }
            PartitionSpec::QuantitySkew {
                n_clients,
                alpha,
                min_size,
            } => {
                enough(n_items, n_clients, min_size)?;
                let sizes = deal::skewed_sizes(n_items, n_clients as usize, alpha, min_size as usize, rng);
                Partition::from_shards(deal::by_sizes(n_items, &sizes, rng))
            }
            PartitionSpec::LabelSkew {
                n_clients,
                alpha,
                min_size,
            } => {
                enough(n_items, n_clients, min_size)?;
                let classes = deal::items_by_class(dataset, rng).ok_or(PartitionError::Needs {
                    rule: "LabelSkew",
                    what: "labels; use Iid or QuantitySkew instead",
                })?;
                Partition::from_shards(deal::by_class(
                    classes,
                    n_clients as usize,
                    alpha,
                    min_size as usize,
                    rng,
                ))
            }
            PartitionSpec::KHop { hops, ref centres } => k_hop(dataset, hops, centres, rng),
        }
    }
}

impl Partitioner for PartitionSpec {
    fn partition(&self, dataset: &Dataset, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        PartitionSpec::partition(self, dataset, rng)
    }
}

fn enough(n_items: usize, n_clients: u32, min_size: u32) -> Result<(), PartitionError> {
    // A client without any item is possible only where the card asks for it; more clients than items never helps.
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

fn k_hop(dataset: &Dataset, hops: u32, centres: &Centres, rng: &mut SimRng) -> Result<Partition, PartitionError> {
    if dataset.is_graph_level() {
        return Err(PartitionError::Needs {
            rule: "KHop",
            what: "a set with one graph; use NodePerClient or Iid instead",
        });
    }
    let graph = dataset.graph().undirected();
    let n_nodes = graph.n_nodes();
    let everyone = 0..n_nodes as u32;
    let centres: Vec<u32> = match centres {
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
        search.search(&graph, centre, hops, &mut shard);
        partition.push(&shard)?;
    }
    partition.centres = Some(centres);
    Ok(partition)
}
