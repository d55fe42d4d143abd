//! Communities of any size, shared out among a given number of clients.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How full a client may get when pieces of communities are shared out: by the published codes, a
/// client's `share` is the number of nodes over that of clients, rounded down, and pieces have at
/// most `share − slack` nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) share: usize,
    pub(super) slack: usize,
}

/// The nodes of each client, and how many pieces found no client with room and went to the
/// smallest.
type Dealt = (Vec<Vec<u32>>, usize);

/// Cuts communities of more than `most` nodes into pieces of `most`, in the order of their nodes,
/// and sorts all by size, largest first. What is left of a community stands behind all others until
/// then.
fn pieces(communities: Vec<Vec<u32>>, most: usize) -> Vec<Vec<u32>> {
    let mut pieces = communities;
    let mut at = 0;
    while at < pieces.len() {
        if pieces[at].len() > most {
            let rest = pieces[at].split_off(most);
            pieces.push(rest);
        }
        at += 1;
    }
    pieces.sort_by_key(|piece| Reverse(piece.len()));
    pieces
}

fn smallest(shards: &[Vec<u32>]) -> usize {
    let sizes = shards.iter().map(Vec::len).enumerate();
    sizes
        .min_by_key(|&(client, size)| (size, client))
        .map_or(0, |(client, _)| client)
}

/// Gives each piece to the client that is being filled, until it has its share; then to the next
/// that has room.
pub(super) fn fill(communities: Vec<Vec<u32>>, n_clients: usize, room: Room) -> Dealt {
    let mut shards = vec![Vec::new(); n_clients];
    let mut open: Vec<usize> = (0..n_clients).collect();
    let mut at = 0;
    let mut n_misfits = 0;
    for piece in pieces(communities, room.share - room.slack) {
        if shards[open[at]].len() >= room.share && open.len() > 1 {
            open.remove(at);
            at %= open.len();
        }
        let has_room = |at: &usize| shards[open[*at]].len() + piece.len() < room.share + room.slack;
        let found = (at..open.len()).chain(0..at).find(has_room);
        let client = match found {
            Some(found) => {
                at = found;
                open[found]
            }
            None => {
                n_misfits += 1;
                smallest(&shards)
            }
        };
        shards[client].extend(piece);
    }
    (shards, n_misfits)
}

/// Gives each piece to the next client in turn that has room.
pub(super) fn round_robin(communities: Vec<Vec<u32>>, n_clients: usize, room: Room) -> Dealt {
    let mut shards = vec![Vec::new(); n_clients];
    let mut next = 0;
    let mut n_misfits = 0;
    for piece in pieces(communities, room.share - room.slack) {
        let has_room = |client: &usize| shards[*client].len() + piece.len() <= room.share + room.slack;
        let found = (next..n_clients).chain(0..next).find(has_room);
        let client = found.unwrap_or_else(|| smallest(&shards));
        n_misfits += usize::from(found.is_none());
        next = (client + 1) % n_clients;
        shards[client].extend(piece);
    }
    (shards, n_misfits)
}

/// Gives each community whole, the largest first, to the client that has fewest items then.
pub(super) fn whole(mut communities: Vec<Vec<u32>>, n_clients: usize) -> Vec<Vec<u32>> {
    communities.sort_by_key(|community| Reverse(community.len()));
    let mut shards = vec![Vec::new(); n_clients];
    let mut by_size: BTreeSet<(usize, usize)> = (0..n_clients).map(|client| (0, client)).collect();
    for community in communities {
        if let Some((size, client)) = by_size.pop_first() {
            by_size.insert((size + community.len(), client));
            shards[client].extend(community);
        }
    }
    shards
}
