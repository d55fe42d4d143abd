//! How clients are shared out: among the parts, and within a part into blocks with an agenda each.
//!
//! A block's states fit a core's cache, and a window is gone through block by block. Parts get their clients in turns of so many
//! neighbours, so that ids which are busy together, as a generator's hubs, are not all in one. Nothing that comes of a run depends on it.

use folkmoot_metrics::{ClientId, Party};

/// Clients of a block: 2 to this. Few where assertions are checked, so that a test's clients are in several.
const BLOCK: u32 = if cfg!(debug_assertions) { 2 } else { 12 };
/// Turns a part gets at least, where there are so many clients.
const TURNS: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    n_clients: u32,
    n_parts: u32,
    /// Neighbours that are dealt out at a time: 2 to this.
    turn: u32,
}

impl Shares {
    /// Shares of `n_clients` clients among at most `wanted` parts.
    pub(crate) fn new(n_clients: u32, wanted: u32) -> Self {
        let n_parts = wanted.clamp(1, n_clients.max(1));
        let turn = (n_clients / n_parts / TURNS).checked_ilog2().unwrap_or(0).min(BLOCK);
        Shares {
            n_clients,
            n_parts,
            turn,
        }
    }

    pub(crate) fn n_clients(self) -> u32 {
        self.n_clients
    }

    pub(crate) fn n_parts(self) -> u32 {
        self.n_parts
    }

    /// A part's clients, in the order of their places there.
    pub(crate) fn clients(self, part: u32) -> impl Iterator<Item = ClientId> {
        let of_turn = move |turn: u32| {
            let first = turn << self.turn;
            first..first.saturating_add(1 << self.turn).min(self.n_clients)
        };
        let n_turns = self.n_clients.div_ceil(1 << self.turn);
        let turns = (part..n_turns).step_by(self.n_parts as usize);
        turns.flat_map(of_turn).map(ClientId)
    }

    /// A client's part among those of the clients, and its place there.
    #[inline]
    pub(crate) fn find(self, client: ClientId) -> (usize, usize) {
        let turn = client.0 >> self.turn;
        let (part, before) = match self.n_parts {
            1 => (0, turn),
            n => (turn % n, turn / n),
        };
        let place = before << self.turn | client.0 & ((1 << self.turn) - 1);
        (part as usize, place as usize)
    }

    /// A party's part, the server's being 0, and its block there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_where_it_is_looked_for() {
        for n_clients in [0, 1, 7, 8, 9, 1000, 4096, 4097, 40_000, 100_001] {
            for wanted in [1, 3, 8] {
                let shares = Shares::new(n_clients, wanted);
                let mut seen = 0;
                for part in 0..shares.n_parts() {
                    let clients: Vec<ClientId> = shares.clients(part).collect();
                    for (place, &id) in clients.iter().enumerate() {
                        assert_eq!(
                            shares.find(id),
                            (part as usize, place),
                            "{id:?} of {n_clients} in {wanted}"
                        );
                        let (of, block) = shares.of(Party::Client(id));
                        assert_eq!(of, part as usize + 1);
                        assert!(block < Shares::blocks(clients.len()));
                    }
                    seen += clients.len() as u32;
                }
                assert_eq!(seen, n_clients);
            }
        }
    }

    #[test]
    fn the_last_turn_of_as_many_clients_as_there_are_ids_is_whole() {
        let shares = Shares::new(u32::MAX, 1 << 20);
        let last = ClientId(u32::MAX - 1);
        let (part, place) = shares.find(last);
        let mut clients = shares.clients(part as u32);
        assert_eq!((clients.nth(place), clients.next()), (Some(last), None));
    }

    #[test]
    fn parts_are_of_like_size() {
        for (n_clients, wanted) in [(1000, 8), (100_000, 8), (1_000_000, 32)] {
            let shares = Shares::new(n_clients, wanted);
            let sizes: Vec<usize> = (0..wanted).map(|part| shares.clients(part).count()).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(
                most - least <= n_clients as usize / wanted as usize / 4 + 1,
                "{sizes:?}"
            );
        }
    }
}
