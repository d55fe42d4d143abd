//! What a card's field `partition:` may say.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, Value, component};
use rand::seq::SliceRandom;

use super::{Partition, PartitionError, Partitioner, communities, deal, file, multilevel, property, structure};
use crate::measures::EgoSearch;
use crate::{DataDirs, Dataset, Graph};

/// Partition of the data among clients (field `partition:`). Items are nodes of a node-level set,
/// graphs of a graph-level set.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionSpec {
    /// One item per client.
    #[default]
    NodePerClient,
    /// IID: items are shuffled and distributed evenly; shard sizes differ by at most 1.
    Iid {
        /// Number of clients, at most the number of items.
        #[component(required, at_least = 1)]
        n_clients: u32,
    },
    /// Label skew: the items of each class are distributed by Dirichlet proportions (Hsu et al.
    /// 2019, Yurochkin et al. 2019). Smaller `alpha`: fewer classes per client. An item with
    /// several classes counts for one of them, drawn uniformly; unlabelled items form their own
    /// class.
    LabelSkew {
        /// Number of clients, at most the number of items.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// Concentration parameter α of the Dirichlet distribution.
        #[component(default = 0.5, above = 0)]
        alpha: f64,
        /// Minimum number of items per client, taken from the largest shards.
        #[component(default = 1)]
        min_size: u32,
    },
    /// Quantity skew: shard sizes follow a Dirichlet distribution; items are assigned at random.
    QuantitySkew {
        /// Number of clients, at most the number of items.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// Concentration parameter α of the Dirichlet distribution.
        #[component(default = 0.5, above = 0)]
        alpha: f64,
        /// Minimum number of items per client, taken from the largest shards.
        #[component(default = 1)]
        min_size: u32,
    },
    /// Ego networks: every client is a node and holds all nodes within some hops of it, directions
    /// ignored. Shards overlap.
    KHop {
        /// Number of hops; larger values cover any real graph.
        #[component(default = 1, in = 0..=32)]
        hops: u32,
        /// Centre nodes, one client each.
        centres: Centres,
    },
    /// Louvain communities (greedy modularity, Blondel et al. 2008), assigned to clients by the
    /// rules of published subgraph FL code. Deterministic unless `shuffled`: nodes are visited in
    /// ascending order and ties go to the lowest community. Directions and weights are ignored.
    Louvain {
        /// Number of clients; by default one per community.
        #[component(at_least = 1)]
        n_clients: Option<u32>,
        /// How communities of different sizes are assigned to clients of similar size.
        balance: Balance,
        /// Number of nodes by which a community piece is smaller than the even share; unused by
        /// `Whole`. 20 in FedSage and OpenFGL, 0 in FedGTA.
        #[component(default = 20)]
        slack: u32,
        /// Modularity resolution (Reichardt & Bornholdt 2006), in steps of 0.001; higher values
        /// give more communities.
        #[component(default = 1.0, in = 0.001..=1000)]
        resolution: f64,
        /// Visit nodes in a random order, drawn from the seed.
        shuffled: bool,
    },
    /// Balanced minimum-cut parts by multilevel bisection, as in METIS (Karypis & Kumar 1998).
    /// Deterministic; cuts differ from METIS's. Directions and weights are ignored; parts may be
    /// disconnected.
    Multilevel {
        /// Number of clients, at most the number of nodes.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// Allowed relative deviation of a part's size from the even share.
        #[component(default = 0.03, in = 0..=1)]
        imbalance: f64,
    },
    /// Overlapping subgraphs (FED-PUB, Baek et al. 2023): several clients per `Multilevel` part,
    /// each with a uniform sample of its nodes. Clients of part 0 come first. Shards overlap, and a
    /// node may be in none.
    Overlapping {
        /// Number of parts, at most the number of nodes.
        #[component(required, at_least = 1)]
        n_parts: u32,
        /// Number of clients per part.
        #[component(default = 5, in = 1..=1_000_000)]
        copies: u32,
        /// Fraction of a part's nodes that each client gets, rounded down, at least one node.
        #[component(default = 0.5, above = 0, at_most = 1)]
        share: f64,
        /// Allowed relative deviation of a part's size from the even share.
        #[component(default = 0.03, in = 0..=1)]
        imbalance: f64,
    },
    /// Structure skew by random edge injection (AdaFGL, Li et al. 2024) into `Multilevel` parts:
    /// homophilous parts get edges within classes, the others between classes. Every suitable
    /// non-adjacent pair of a part is joined with the same probability. Clients and reports use the
    /// graph with these edges. Classes of all nodes are used, including test nodes.
    StructureSkew {
        /// Number of clients, at most the number of nodes.
        #[component(required, at_least = 1)]
        n_clients: u32,
        /// Probability that a client is homophilous (edges within classes).
        #[component(default = 0.5, in = 0..=1)]
        homophilous: f64,
        /// Expected number of new edges per edge inside a part.
        #[component(default = 0.5, in = 0..=100)]
        rate: f64,
        /// Allowed relative deviation of a part's size from the even share.
        #[component(default = 0.03, in = 0..=1)]
        imbalance: f64,
    },
    /// Partition by property: a client has the items of one value, or consecutive items in the
    /// order of a numeric property.
    ByProperty {
        /// Property to partition by.
        property: Property,
        /// Number of clients; by default one per value, in the order of values. With fewer clients
        /// than values, each value, largest first, goes to the client with the fewest items.
        #[component(at_least = 1)]
        n_clients: Option<u32>,
    },
    /// The clients stated in the data: a member `client` of an `Npz` archive, or a column `client`
    /// of `Tables`. Clients are in ascending order, numbers before names.
    Given {
        /// Number of clients; by default one per client of the data. With fewer clients, each
        /// client of the data, largest first, goes to the client with the fewest items.
        #[component(at_least = 1)]
        n_clients: Option<u32>,
    },
    /// Published partition: a comma-separated text file with a header and one line per item. Column
    /// `node` (`graph` for a set of graphs) holds the id, a number or text, from the data set's own
    /// files, `client` the client from 0 without gaps. Lines that begin with `#` and other columns
    /// are ignored.
    File {
        /// The file, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Whether every item must belong to exactly one client.
        cover: Cover,
    },
    /// A partition file of METIS (`gpmetis`): line `i` has the part of item `i`, from 0 without
    /// gaps. Each part is a client.
    Metis {
        /// The file, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
    },
}

/// Assignment of communities to a given number of clients.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Communities are split, in node order, into pieces of the even share minus `slack`. Pieces,
    /// largest first, fill one client up to the even share, then the next with room below share
    /// plus slack, or the smallest (FedSage, OpenFGL).
    #[default]
    Fill,
    /// The same pieces, assigned round-robin to clients with room below share plus slack
    /// (FederatedScope).
    RoundRobin,
    /// Whole communities: each, largest first, goes to the client with the fewest nodes.
    Whole,
}

/// Property by which items are partitioned.
#[component]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Class. An item with several classes counts for one of them, drawn uniformly; unlabelled
    /// items form the last class.
    #[default]
    Class,
    /// All properties in addition to the class jointly, such as compiler and optimisation level of
    /// a binary.
    Facets,
    /// A single property, such as `"compiler"`.
    Facet(#[component(required)] String),
    /// Degree of a node, or mean degree of a graph, ascending; needs `n_clients`.
    Degree,
    /// Number of nodes of a graph, ascending; needs `n_clients`.
    Nodes,
    /// Mean of an item's features, ascending; needs `n_clients`.
    MeanFeature,
}

/// Required coverage of a published partition.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Every item belongs to exactly one client.
    #[default]
    Exact,
    /// An item may belong to several clients or none; duplicate lines count once.
    Any,
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
                    what: "labels that are classes; use Iid or QuantitySkew instead",
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
            PartitionSpec::Given { n_clients } => {
                enough(n_items, n_clients.unwrap_or(1), 1)?;
                property::given(dataset, n_clients)
            }
            PartitionSpec::Metis { ref path } => file::read_metis(path, dataset, dirs),
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
