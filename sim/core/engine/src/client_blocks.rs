//! Division of clients: among the ranks in blocks, among a rank's parts, and within a part into
//! blocks with an agenda each.
//!
//! A block's states fit a core's cache, and a window is gone through block by block. Parts get
//! their clients in turns of so many neighbours, so that ids which are busy together, as a
//! generator's hubs, are not all in one. Nothing that comes of a run depends on it.

use folkmoot_metrics::{ClientId, Party};
use std::ops::Range;

/// Clients of a block: 2 to this. Few where assertions are checked, so that a test's clients are in
/// several.
const BLOCK: u32 = if cfg!(debug_assertions) { 2 } else { 12 };
/// Turns a part gets at least, where there are so many clients.
const TURNS: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    n_clients: u32,
    /// Which rank this is, of how many.
    rank: usize,
    n_ranks: usize,
    /// The first of this rank's clients, and how many they are.
    first: u32,
    n_here: u32,
    n_parts: u32,
    /// Neighbours that are dealt out at a time: 2 to this.
    turn: u32,
}

impl Shares {
    /// Shares of a rank's block of `n_clients` clients among at most `wanted` parts.
    pub(crate) fn new(n_clients: u32, wanted: u32, (rank, n_ranks): (usize, usize)) -> Self {
        let Range { start: first, end } = of_rank(n_clients, rank, n_ranks);
        let n_here = end - first;
        let n_parts = wanted.clamp(1, n_here.max(1));
        let turn = (n_here / n_parts / TURNS).checked_ilog2().unwrap_or(0).min(BLOCK);
        Shares {
            n_clients,
            rank,
            n_ranks,
            first,
            n_here,
            n_parts,
            turn,
        }
    }

    /// The number of all clients.
    pub(crate) fn n_clients(self) -> u32 {
        self.n_clients
    }

    /// The number of this rank's clients.
    pub(crate) fn n_here(self) -> u32 {
        self.n_here
    }

    /// Into how many parts this rank's clients are dealt.
    pub(crate) fn n_parts(self) -> u32 {
        self.n_parts
    }

    /// The clients of a rank.
    pub(crate) fn block(self, rank: usize) -> Range<u32> {
        of_rank(self.n_clients, rank, self.n_ranks)
    }

    /// A part's clients, in the order of their places there.
    pub(crate) fn clients(self, part: u32) -> impl Iterator<Item = ClientId> {
        let of_turn = move |turn: u32| {
            let first = turn << self.turn;
            first..first.saturating_add(1 << self.turn).min(self.n_here)
        };
        let n_turns = self.n_here.div_ceil(1 << self.turn);
        let turns = (part..n_turns).step_by(self.n_parts as usize);
        turns.flat_map(of_turn).map(move |place| ClientId(self.first + place))
    }

    /// A client's part among those of the clients, and its place there. After this rank's parts
    /// come the other ranks in their order, with a part each.
    #[inline]
    pub(crate) fn find(self, client: ClientId) -> (usize, usize) {
        let id = client.0.wrapping_sub(self.first);
        if id >= self.n_here {
            return self.find_elsewhere(client);
        }
        let turn = id >> self.turn;
        let (part, before) = match self.n_parts {
            1 => (0, turn),
            n => (turn % n, turn / n),
        };
        let place = before << self.turn | id & ((1 << self.turn) - 1);
        (part as usize, place as usize)
    }

    #[cold]
    fn find_elsewhere(self, client: ClientId) -> (usize, usize) {
        let rank = self.rank(Party::Client(client));
        let nth = if rank < self.rank { rank } else { rank - 1 };
        let place = client.0 - self.block(rank).start;
        (self.n_parts as usize + nth, place as usize)
    }

    /// Whether a party is of this rank.
    #[inline]
    pub(crate) fn is_here(self, party: Party) -> bool {
        match party {
            Party::Server => self.rank == 0,
            Party::Client(id) => id.0.wrapping_sub(self.first) < self.n_here,
        }
    }

    /// The rank of a party.
    pub(crate) fn rank(self, party: Party) -> usize {
        match party {
            Party::Server => 0,
            Party::Client(id) => {
                // The last one that begins at or before it.
                let before = (u64::from(id.0) + 1) * self.n_ranks as u64;
                before.div_ceil(u64::from(self.n_clients)) as usize - 1
            }
        }
    }

    /// The part of a party of this rank, the server's being 0, and its block there.
    #[inline]
    pub(crate) fn of(self, party: Party) -> (usize, usize) {
        match party {
            Party::Server => (0, 0),
            Party::Client(id) => {
                let (part, place) = self.find(id);
                (part + 1, place >> BLOCK)
            }
        }
    }

    /// How many blocks a part of so many clients has: at least one.
    pub(crate) fn blocks(n_clients: usize) -> usize {
        n_clients.div_ceil(1 << BLOCK).max(1)
    }
}

/// The clients of a rank: all have equally many, but for one.
pub(crate) fn of_rank(n_clients: u32, rank: usize, n_ranks: usize) -> Range<u32> {
    let start = |rank: usize| (u64::from(n_clients) * rank as u64 / n_ranks as u64) as u32;
    start(rank)..start(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_where_it_is_looked_for() {
        for n_clients in [0, 1, 7, 8, 9, 1000, 4096, 4097, 40_000, 100_001] {
            for (wanted, n_ranks) in [(1, 1), (3, 1), (8, 1), (1, 2), (3, 3), (2, 10)] {
                let mut seen = 0;
                for rank in 0..n_ranks {
                    let shares = Shares::new(n_clients, wanted, (rank, n_ranks));
                    let block = shares.block(rank);
                    assert_eq!(block.start, seen, "blocks follow each other");
                    for part in 0..shares.n_parts() {
                        let clients: Vec<ClientId> = shares.clients(part).collect();
                        for (place, &id) in clients.iter().enumerate() {
                            let party = Party::Client(id);
                            assert!(block.contains(&id.0) && shares.is_here(party) && shares.rank(party) == rank);
                            let found = shares.find(id);
                            assert_eq!(
                                found,
                                (part as usize, place),
                                "{id:?} of {n_clients} in {wanted}, {n_ranks}"
                            );
                            let (of, block) = shares.of(party);
                            assert_eq!(of, part as usize + 1);
                            assert!(block < Shares::blocks(clients.len()));
                        }
                        seen += clients.len() as u32;
                    }
                    assert_eq!(block.end, seen);
                    assert_eq!(shares.is_here(Party::Server), rank == 0);
                    let others = (0..n_ranks).filter(|other| *other != rank);
                    for (nth, other) in others.enumerate() {
                        for (place, id) in shares.block(other).enumerate().step_by(97) {
                            assert!(!shares.is_here(Party::Client(ClientId(id))));
                            assert_eq!(shares.find(ClientId(id)), (shares.n_parts() as usize + nth, place));
                        }
                    }
                }
                assert_eq!(seen, n_clients);
            }
        }
    }

    #[test]
    fn the_last_turn_of_as_many_clients_as_there_are_ids_is_whole() {
        let shares = Shares::new(u32::MAX, 1 << 20, (0, 1));
        let last = ClientId(u32::MAX - 1);
        let (part, place) = shares.find(last);
        let mut clients = shares.clients(part as u32);
        assert_eq!((clients.nth(place), clients.next()), (Some(last), None));
    }

    #[test]
    fn parts_are_of_like_size() {
        for (n_clients, wanted) in [(1000, 8), (100_000, 8), (1_000_000, 32)] {
            let shares = Shares::new(n_clients, wanted, (0, 1));
            let sizes: Vec<usize> = (0..wanted).map(|part| shares.clients(part).count()).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(
                most - least <= n_clients as usize / wanted as usize / 4 + 1,
                "{sizes:?}"
            );
        }
    }
}
