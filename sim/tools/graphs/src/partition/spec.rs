//! What a card's field `partition:` may say.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, Value, component};
use rand::seq::SliceRandom;

use super::{Partition, PartitionError, Partitioner, communities, deal, file, multilevel, property, structure};
use crate::measures::EgoSearch;
use crate::{DataDirs, Dataset, Graph};

/// The field `partition:` of a card. Items are nodes of a node-level set, graphs of a graph-level
/// one.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionSpec {
    /// Every item is a client of its own, which knows that item alone.
    #[default]
    NodePerClient,
    /// Items are shuffled and dealt out: shard sizes differ by at most 1.
    Iid {
        /// Clients, at most as many as there are items.
        #[component(required, at_least = 1)]
        n_clients: u32,
    },
    /// The items of each class are spread by shares from a Dirichlet distribution (Hsu et al. 2019,
    /// Yurochkin et al. 2019): the smaller `alpha`, the fewer classes a client has. An item with
    /// several classes counts for one of them, drawn uniformly; unlabelled ones are a class of
    /// their own.
    LabelSkew {
        /// Clients, at most as many as there are items.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// Concentration.
        #[component(default = 0.5, above = 0)]
        alpha: f64,
        /// The least items of a client; the largest shards make up for smaller ones.
        #[component(default = 1)]
        min_size: u32,
    },
    /// Shard sizes are shares from a Dirichlet distribution; who is in a shard is random.
    QuantitySkew {
        /// Clients, at most as many as there are items.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// Concentration.
        #[component(default = 0.5, above = 0)]
        alpha: f64,
        /// The least items of a client; the largest shards make up for smaller ones.
        #[component(default = 1)]
        min_size: u32,
    },
    /// Every client is a node and knows all nodes within some hops of it, directions ignored.
    /// Shards overlap.
    KHop {
        /// Hops; farther away every real graph is one neighbourhood.
        #[component(default = 1, in = 0..=32)]
        hops: u32,
        /// Which nodes are clients.
        centres: Centres,
    },
    /// Communities by greedy modularity (Louvain, Blondel et al. 2008), shared out by the rules of
    /// the published codes of federated subgraphs. It draws no random number: nodes are visited in
    /// ascending order and ties go to the lowest community. Edges count 1, directions and weights
    /// ignored.
    Louvain {
        /// Clients; without it every community is one.
        #[component(at_least = 1)]
        n_clients: Option<u32>,
        /// How communities of any size become clients of about one size.
        balance: Balance,
        /// Nodes by which a piece of a community is smaller than a client's even share, which
        /// `Whole` has no use for: 20 in FedSage and OpenFGL, 0 in FedGTA.
        #[component(default = 20)]
        slack: u32,
        /// How much edges within are to exceed what degrees would give (Reichardt & Bornholdt
        /// 2006), in steps of a thousandth: the higher, the more communities.
        #[component(default = 1.0, in = 0.001..=1000)]
        resolution: f64,
        /// Visit nodes in an order drawn from the seed.
        shuffled: bool,
    },
    /// Parts of about one size with few edges between them, by halving on coarser and coarser
    /// graphs as METIS does (Karypis & Kumar 1998). It draws no random number, and its cuts are not
    /// METIS's. Edges count 1, directions and weights ignored; a part may be unconnected.
    Multilevel {
        /// Clients, at most as many as there are nodes.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// How much larger or smaller than the even share a part may be, as a share of it.
        #[component(default = 0.03, in = 0..=1)]
        imbalance: f64,
    },
    /// Parts by `Multilevel`, of each of which several clients get nodes of their own choice, drawn
    /// uniformly without repetition (FED-PUB, Baek et al. 2023): the clients of part 0 first.
    /// Shards overlap, and a node may be in none.
    Overlapping {
        /// Parts, at most as many as there are nodes.
        #[component(required, at_least = 1)]
        n_parts: u32,
        /// Clients of each part.
        #[component(default = 5, in = 1..=1_000_000)]
        copies: u32,
        /// The share of a part's nodes that each of them gets, rounded down, but at least one node.
        #[component(default = 0.5, above = 0, at_most = 1)]
        share: f64,
        /// How much larger or smaller than the even share a part may be, as a share of it.
        #[component(default = 0.03, in = 0..=1)]
        imbalance: f64,
    },
    /// Parts by `Multilevel`, some of which get edges between nodes of one class and the others
    /// between nodes of different classes (AdaFGL, Li et al. 2024, injection at random): every pair
    /// of a part's nodes that has no edge and fits is joined with one probability. Clients hold,
    /// and data sets report, the graph with these edges. The classes of all nodes are used, those
    /// of tested ones too.
    StructureSkew {
        /// Clients, at most as many as there are nodes.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// The probability that a client gets edges between nodes of one class.
        #[component(default = 0.5, in = 0..=1)]
        homophilous: f64,
        /// New edges to be expected for each edge inside a part.
        #[component(default = 0.5, in = 0..=100)]
        rate: f64,
        /// How much larger or smaller than the even share a part may be, as a share of it.
        #[component(default = 0.03, in = 0..=1)]
        imbalance: f64,
    },
    /// Items by what they are: a client has items of one value, or such as follow each other in the
    /// order of a number.
    ByProperty {
        /// Of which property.
        property: Property,
        /// Clients; without it every value that occurs is one, in the order of values. Fewer
        /// clients than values get values whole, the largest first, each the one that has fewest
        /// items then.
        #[component(at_least = 1)]
        n_clients: Option<u32>,
    },
    /// A partition that was published: a text file whose first line names columns apart by commas,
    /// among them `node` (`graph` for a set of graphs) and `client`, with a line for each item, by
    /// the id that the data set's own files give it. Clients are numbered from 0 without a gap;
    /// lines that begin with `#` and other columns say nothing.
    File {
        /// The file, relative to a data folder or absolute.
        #[component(required)]
        path: String,
        /// Whether every item must have one client.
        cover: Cover,
    },
}

/// How communities are shared out among a given number of clients.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Communities are cut into pieces of a client's even share less the slack, in the order of
    /// their nodes. Pieces, the largest first, fill one client up to its share, then go to the next
    /// with room for less than share and slack, or to the smallest (FedSage and OpenFGL).
    #[default]
    Fill,
    /// The same pieces go to clients in turn, as long as there is room for share and slack
    /// (FederatedScope).
    RoundRobin,
    /// Communities stay whole: each, the largest first, goes to the client with fewest nodes then.
    Whole,
}

/// What items are shared out by.
#[component]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Their class. An item with several counts for one of them, drawn uniformly; unlabelled ones
    /// are a class of their own, the last.
    #[default]
    Class,
    /// What a graph has besides its class, such as the compiler and the level of its binary, all
    /// together.
    Facets,
    /// One of these alone, such as `"compiler"`.
    Facet(#[component(required)] String),
    /// The degree of a node, or the mean degree of a graph, in ascending order; needs `n_clients`.
    Degree,
    /// The nodes of a graph, in ascending order; needs `n_clients`.
    Nodes,
    /// The mean of an item's features, in ascending order; needs `n_clients`.
    MeanFeature,
}

/// What a published partition must cover.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Every item has exactly one client.
    #[default]
    Exact,
    /// An item may have several clients or none; a line that says again what another says counts
    /// once.
    Any,
}

/// Which nodes are the centres of neighbourhoods.
#[component]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Centres {
    /// Every node.
    #[default]
    All,
    /// The nodes of the training split.
    Train,
    /// So many nodes, drawn uniformly without repetition.
    Sample(#[component(required)] u32),
    /// These nodes, in this order and without repetition, as the data set numbers them: after
    /// `largest_component`.
    Nodes(#[component(required)] Vec<u32>),
}

impl PartitionSpec {
    /// What is no range.
    fn rules(&self, rules: &mut Rules) {
        if let PartitionSpec::Louvain {
            n_clients: None,
            balance,
            ..
        } = self
        {
            let rule = "needs n_clients: without it every community is a client";
            rules.require(*balance == Balance::default(), "balance", rule);
        }
        if let PartitionSpec::ByProperty {
            property: property @ (Property::Degree | Property::Nodes | Property::MeanFeature),
            n_clients: None,
        } = self
        {
            let rule = format!("must be given for property: {property:?}, which is a number");
            rules.require(false, "n_clients", rule);
        }
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

    /// Divides a data set without data folders, so that files are found by absolute paths alone;
    /// see [`Partitioner::partition`].
    ///
    /// # Errors
    /// [`PartitionError`] if a rule is broken, or if the rule does not fit the data set.
    pub fn partition(&self, dataset: &Dataset, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        Partitioner::partition(self, dataset, &DataDirs::new(), rng)
    }
}

impl Partitioner for PartitionSpec {
    fn partition(&self, dataset: &Dataset, dirs: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        let problems = self.broken();
        if !problems.is_empty() {
            return Err(PartitionError::Spec(problems));
        }
        let partition = self.divide(dataset, dirs, rng)?;
        let of_edges = matches!(
            self,
            PartitionSpec::Louvain { .. }
                | PartitionSpec::Multilevel { .. }
                | PartitionSpec::Overlapping { .. }
                | PartitionSpec::StructureSkew { .. }
        );
        Ok(match of_edges && dataset.graph().is_weighted() {
            true => partition.with_note("the graph is divided as if all its edges had the same weight".to_owned()),
            false => partition,
        })
    }
}

impl PartitionSpec {
    fn divide(&self, dataset: &Dataset, dirs: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
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
            PartitionSpec::Louvain {
                n_clients,
                balance,
                slack,
                resolution,
                shuffled,
            } => {
                let graph = one_graph(dataset, "Louvain")?;
                let found = communities::of(graph, resolution, shuffled.then_some(rng));
                match n_clients {
                    None => found.each_a_client(),
                    Some(n_clients) => {
                        enough(n_items, n_clients, 1)?;
                        found.share_out(n_clients, balance, slack)
                    }
                }
            }
            PartitionSpec::Multilevel { n_clients, imbalance } => {
                let graph = one_graph(dataset, "Multilevel")?;
                enough(n_items, n_clients, 1)?;
                Partition::from_shards(multilevel::cut(graph, n_clients as usize, imbalance))
            }
            PartitionSpec::Overlapping {
                n_parts,
                copies,
                share,
                imbalance,
            } => {
                let graph = one_graph(dataset, "Overlapping")?;
                enough(n_items, n_parts, 1)?;
                let parts = multilevel::cut(graph, n_parts as usize, imbalance);
                Partition::from_shards(deal::copies(&parts, copies, share, rng)?)
            }
            PartitionSpec::StructureSkew {
                n_clients,
                homophilous,
                rate,
                imbalance,
            } => {
                let graph = one_graph(dataset, "StructureSkew")?;
                enough(n_items, n_clients, 1)?;
                let shards = multilevel::cut(graph, n_clients as usize, imbalance);
                structure::skew(dataset, shards, (homophilous, rate), rng)
            }
            PartitionSpec::ByProperty {
                ref property,
                n_clients,
            } => {
                enough(n_items, n_clients.unwrap_or(1), 1)?;
                property::partition(property, n_clients, dataset, rng)
            }
            PartitionSpec::File { ref path, cover } => file::read(path, cover, dataset, dirs),
        }
    }
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
