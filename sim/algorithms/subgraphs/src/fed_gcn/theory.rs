//! What a cut comes to: how many rows there are to exchange, the bytes that follow, and whose
//! features show.

use super::settings::{Between, Carries, Plan, Upload};
use crate::Cut;
use folkmoot_graphs::Graph;
use std::collections::{BTreeMap, BTreeSet};

/// What is counted of a graph and its cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub n_nodes: u64,
    /// Edges between nodes of two clients.
    pub cut_edges: u64,
    /// Over all nodes, the clients that hold a neighbour of it: the count of the paper's figures
    /// for one hop (its code, notebook of communication costs).
    pub one_hop: u64,
    /// The same with the rows of two hops, which come besides.
    pub two_hop: u64,
    /// Over clients, the nodes that each holds or borders on.
    pub known: u64,
    /// Over clients, the nodes of others that each borders on.
    pub foreign: u64,
    /// Nodes with a neighbour at another client.
    pub at_border: u64,
    /// Of nodes sent by `carries: Features`: how many, and their neighbours.
    pub(super) features_up: [u64; 2],
    /// The same of those that are answered.
    pub(super) features_down: [u64; 2],
    /// The same of those that go among peers, in one hop.
    pub(super) features_across: [u64; 2],
    /// Nodes whose features are the share of a sum that one client sends the server, if it sends
    /// all; if it sends none of its own nodes' that others have no part in; and if it sends others'
    /// alone.
    pub(super) shown: [u64; 3],
    /// Nodes without neighbours, whose sum is what they bring.
    pub(super) alone: u64,
    /// Nodes whose features another client can tell from what it gets, with one hop and with two.
    pub(super) shown_to_clients: [u64; 2],
    /// The same among peers.
    pub(super) shown_to_peers: [u64; 2],
}

/// Counts of a graph that is cut so, where features go `hops` steps.
pub fn count(graph: &Graph, cut: &Cut, hops: u32) -> Counts {
    let owners = cut.owners();
    let n = graph.n_nodes() as u32;
    let others = |v: u32| graph.neighbours(v).iter().copied().filter(move |u| *u != v);
    let mut counts = Counts {
        n_nodes: u64::from(n),
        ..Counts::default()
    };
    let (mut all_up, mut some_up, mut foreign_up) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut told = [BTreeSet::new(), BTreeSet::new()];
    let mut told_by_peers = [BTreeSet::new(), BTreeSet::new()];
    // Whoever holds some of a node's neighbours, with them.
    let mut reached: Vec<BTreeSet<u32>> =
        vec![BTreeSet::new(); owners.iter().max().map_or(0, |most| *most as usize + 1)];
    for v in 0..n {
        let owner = owners[v as usize];
        let mut holders: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        others(v).for_each(|u| holders.entry(owners[u as usize]).or_default().push(u));
        counts.one_hop += holders.len() as u64;
        let foreign = holders.keys().filter(|client| **client != owner).count() as u64;
        counts.foreign += foreign;
        counts.at_border += u64::from(foreign > 0);
        counts.cut_edges += others(v).filter(|u| v < *u && owners[*u as usize] != owner).count() as u64;
        counts.alone += u64::from(holders.is_empty());
        // The holder's share has the node itself.
        holders.entry(owner).or_default().push(v);
        for (client, nodes) in &holders {
            if let [only] = nodes[..] {
                all_up.insert(only);
                if foreign > 0 {
                    some_up.insert(only);
                }
                if *client != owner {
                    foreign_up.insert(only);
                    told_by_peers[0].insert(only);
                }
            }
            if *client != owner {
                reached[*client as usize].insert(v);
            }
            // Taking away what it holds itself, a client is left with the others' part.
            let left: Vec<u32> = holders
                .iter()
                .filter(|(other, _)| *other != client)
                .flat_map(|(_, nodes)| nodes)
                .copied()
                .collect();
            if let [only] = left[..] {
                told[usize::from(*client != owner)].insert(only);
                told_by_peers[1].insert(only);
            }
        }
    }
    counts.known = counts.n_nodes + counts.foreign;
    counts.two_hop = counts.one_hop + counts.foreign;
    counts.shown = [&all_up, &some_up, &foreign_up].map(|nodes| nodes.len() as u64);
    let union = |a: &BTreeSet<u32>, b: &BTreeSet<u32>| a.union(b).count() as u64;
    counts.shown_to_clients = [told[0].len() as u64, union(&told[0], &told[1])];
    counts.shown_to_peers = [
        told_by_peers[0].len() as u64,
        union(&told_by_peers[0], &told_by_peers[1]),
    ];
    let add = |to: &mut [u64; 2], v: u32| *to = [to[0] + 1, to[1] + others(v).count() as u64];
    let is_at_border = |v: u32| others(v).any(|u| owners[u as usize] != owners[v as usize]);
    for (client, reached) in reached.iter_mut().enumerate() {
        reached.iter().for_each(|v| add(&mut counts.features_across, *v));
        if hops == 2 {
            let further: Vec<u32> = reached.iter().flat_map(|v| others(*v)).collect();
            reached.extend(further.into_iter().filter(|u| owners[*u as usize] as usize != client));
        }
        reached.iter().for_each(|v| add(&mut counts.features_down, *v));
    }
    for v in 0..n {
        let mut own = others(v).filter(|u| owners[*u as usize] == owners[v as usize]);
        if is_at_border(v) || hops == 2 && own.any(is_at_border) {
            add(&mut counts.features_up, v);
        }
    }
    counts
}

impl Counts {
    /// Bytes of payload of the exchange among `n_clients`, if nobody is away.
    pub(super) fn bytes(&self, plan: &Plan, n_clients: u64) -> u64 {
        let (d, n) = (plan.n_features as u64, self.n_nodes);
        let degree = u64::from(plan.has_degrees());
        let two = plan.hops == 2;
        let wanted = if two { self.known } else { n };
        let nodes = |[count, neighbours]: [u64; 2]| count * (4 * d + 8) + 4 * neighbours;
        let masks = match plan.is_secure && plan.hops > 0 {
            // Keys, the roster, shares up and down, masked sums with their number, survivors,
            // unmasking.
            true => {
                let n_masked = if plan.is_masked() { n * (d + degree) } else { 0 };
                let (all, pairs) = (n_clients * n_clients, n_clients * n_clients.saturating_sub(1));
                64 * n_clients + 68 * all + 2 * 96 * pairs + 8 * (n_masked + 1) * n_clients + 4 * all + 36 * all
            }
            false => 0,
        };
        let rows = match (plan.hops, plan.carries, plan.between, plan.upload) {
            (0, ..) => 0,
            (_, Carries::Features, Between::Server, _) => nodes(self.features_up) + nodes(self.features_down),
            (_, Carries::Features, Between::Peers, _) => nodes(self.features_across),
            (_, Carries::Sums, Between::Peers, _) => {
                let back = if two { 4 * d + 4 + 4 * degree } else { 0 };
                self.foreign * (4 * d + 4 + back)
            }
            _ if plan.is_masked() => wanted * (4 + 4 * d + 4 * degree),
            (.., Upload::Dense) => n_clients * 4 * n * (d + degree) + wanted * (4 + 4 * d + 4 * degree),
            (.., Upload::Rows) => (self.known + wanted) * (4 * d + 4 + 4 * degree),
            (.., Upload::Border) => {
                let (up, down) = match two {
                    true => (self.foreign + self.at_border, self.at_border + self.foreign),
                    false => (self.foreign, self.at_border),
                };
                (up + down) * (4 * d + 4 + 4 * degree)
            }
        };
        masks + rows
    }

    /// Nodes whose features the server can read off a row.
    pub(super) fn shown_to_server(&self, plan: &Plan) -> u64 {
        match (plan.hops, plan.carries, plan.between, plan.upload) {
            (0, ..) | (.., Between::Peers, _) => 0,
            (_, Carries::Features, ..) => self.features_up[0],
            _ if plan.is_masked() => self.alone,
            (.., Upload::Rows | Upload::Dense) => self.shown[0],
            (2, .., Upload::Border) => self.shown[1],
            (.., Upload::Border) => self.shown[2],
        }
    }

    /// Nodes whose features some other client can tell from what it gets, taking away what it holds
    /// itself.
    pub(super) fn shown_to_clients(&self, plan: &Plan) -> u64 {
        match (plan.hops, plan.carries, plan.between) {
            (0, ..) => 0,
            (_, Carries::Features, Between::Server) => self.features_shown(plan.hops),
            (_, Carries::Features, Between::Peers) => self.at_border,
            (hops, Carries::Sums, Between::Server) => self.shown_to_clients[usize::from(hops == 2)],
            (hops, Carries::Sums, Between::Peers) => self.shown_to_peers[usize::from(hops == 2)],
        }
    }

    /// Nodes that are sent as they are.
    fn features_shown(&self, hops: u32) -> u64 {
        match hops {
            2 => self.features_up[0],
            _ => self.at_border,
        }
    }
}
