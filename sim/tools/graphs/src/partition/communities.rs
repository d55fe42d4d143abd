//! Communities as clients: each one, or all shared out among a given number.

use folkmoot_draws::SimRng;

use super::sizes::{self, Room};
use super::spec::Balance;
use super::{Partition, PartitionError, louvain};
use crate::Graph;
use crate::measures::modularity;

/// The communities of a graph, by their smallest nodes.
pub(super) struct Communities {
    groups: Vec<Vec<u32>>,
    note: String,
}

/// Finds them; see [`louvain::communities`].
pub(super) fn of(graph: &Graph, resolution: f64, rng: Option<&mut SimRng>) -> Communities {
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
    pub(super) fn each_a_client(self) -> Result<Partition, PartitionError> {
        Ok(Partition::from_shards(self.groups)?.with_note(self.note))
    }

    pub(super) fn share_out(self, n_clients: u32, balance: Balance, slack: u32) -> Result<Partition, PartitionError> {
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
