//! Communities as clients: each one, or all shared out among a given number.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::sizes::{self, Room};
use super::{Partition, PartitionError, Partitioner, checked, enough, louvain, one_graph, unweighted};
use crate::measures::modularity;
use crate::{DataDirs, Dataset, Graph};

/// Louvain communities (greedy modularity, Blondel et al. 2008), assigned to clients by the
/// rules of published subgraph FL code. Deterministic unless `shuffled`: nodes are visited in
/// ascending order and ties go to the lowest community. Directions and weights are ignored.
#[component(name = "Louvain", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Louvain {
    /// Number of clients; by default one per community.
    #[component(at_least = 1)]
    pub n_clients: Option<u32>,
    /// How communities of different sizes are assigned to clients of similar size.
    pub balance: Balance,
    /// Number of nodes by which a community piece is smaller than the even share; unused by
    /// `Whole`. 20 in FedSage and OpenFGL, 0 in FedGTA.
    #[component(default = 20)]
    pub slack: u32,
    /// Modularity resolution (Reichardt & Bornholdt 2006), in steps of 0.001; higher values
    /// give more communities.
    #[component(default = 1.0, in = 0.001..=1000)]
    pub resolution: f64,
    /// Visit nodes in a random order, drawn from the seed.
    pub shuffled: bool,
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

impl Louvain {
    /// What is no range.
    fn rules(&self, rules: &mut Rules) {
        let rule = "needs n_clients: without it every community is a client";
        let fits = self.n_clients.is_some() || self.balance == Balance::default();
        rules.require(fits, "balance", rule);
    }
}

impl Partitioner for Louvain {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let graph = one_graph(dataset, "Louvain")?;
        let found = of(graph, self.resolution, self.shuffled.then_some(rng));
        let partition = match self.n_clients {
            None => found.each_a_client(),
            Some(n_clients) => {
                enough(dataset.n_items(), n_clients, 1)?;
                found.share_out(n_clients, self.balance, self.slack)
            }
        };
        Ok(unweighted(partition?, dataset))
    }
}

/// The communities of a graph, by their smallest nodes.
struct Communities {
    groups: Vec<Vec<u32>>,
    note: String,
}

/// Finds them; see [`louvain::communities`].
fn of(graph: &Graph, resolution: f64, rng: Option<&mut SimRng>) -> Communities {
    let groups = louvain::communities(graph, resolution, rng);
    let mut group_of = vec![0; graph.n_nodes()];
    for (group, nodes) in (0..).zip(&groups) {
        nodes.iter().for_each(|&node| group_of[node as usize] = group);
    }
    let note = format!(
        "Louvain found {} communities, the largest of {} nodes, of modularity {:.6}",
        groups.len(),
        groups.iter().map(Vec::len).max().unwrap_or(0),
        modularity(graph, &group_of)
    );
    Communities { groups, note }
}

impl Communities {
    fn each_a_client(self) -> Result<Partition, PartitionError> {
        Ok(Partition::from_shards(self.groups)?.with_note(self.note))
    }

    fn share_out(self, n_clients: u32, balance: Balance, slack: u32) -> Result<Partition, PartitionError> {
        let n_groups = self.groups.len();
        let n_nodes: usize = self.groups.iter().map(Vec::len).sum();
        let share = n_nodes / n_clients as usize;
        if balance != Balance::Whole && slack as usize >= share {
            return Err(PartitionError::Slack {
                slack,
                share,
                n_clients,
            });
        }
        let room = Room {
            share,
            slack: slack as usize,
        };
        let (shards, n_misfits) = match balance {
            Balance::Fill => sizes::fill(self.groups, n_clients as usize, room),
            Balance::RoundRobin => sizes::round_robin(self.groups, n_clients as usize, room),
            Balance::Whole => (sizes::whole(self.groups, n_clients as usize), 0),
        };
        let why = match balance {
            Balance::Whole => {
                format!("there are {n_groups} communities; lower partition.n_clients, or raise partition.resolution")
            }
            _ => "the others hold all nodes; lower partition.slack or partition.n_clients".to_owned(),
        };
        let partition = Partition::without_empty(shards, "Louvain", &why)?.with_note(self.note);
        Ok(match n_misfits {
            0 => partition,
            n => partition.with_note(format!(
                "{n} pieces of communities found no client with room and went to the smallest"
            )),
        })
    }
}
