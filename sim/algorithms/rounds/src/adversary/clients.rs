//! Which clients are malicious.

use folkmoot_draws::{draw_first, unit};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) const CHOSEN: Purpose = Purpose(*b"rd-malic");

/// Which clients are malicious.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum MaliciousClients {
    /// No client.
    #[default]
    Off,
    /// A random fraction of all clients, drawn once per run: the nearest number, at least one.
    Fraction(#[component(required, above = 0, at_most = 1)] f64),
    /// The fraction of clients with the most items; of equals the first.
    Largest(#[component(required, above = 0, at_most = 1)] f64),
    /// Clients by their numbers, from 0.
    Named(#[component(required)] Vec<u32>),
}

impl MaliciousClients {
    pub fn is_none(&self) -> bool {
        match self {
            MaliciousClients::Off => true,
            MaliciousClients::Fraction(_) | MaliciousClients::Largest(_) => false,
            MaliciousClients::Named(clients) => clients.is_empty(),
        }
    }

    /// Checks the numbers of clients that are named.
    ///
    /// # Errors
    ///
    /// When there is no such client.
    pub fn check(&self, n_clients: u32) -> Result<(), StrategyError> {
        let MaliciousClients::Named(clients) = self else {
            return Ok(());
        };
        match clients.iter().find(|client| **client >= n_clients) {
            None => Ok(()),
            Some(client) => Err(StrategyError(format!(
                "protocol.malicious.clients: there is no client {client}; there are {n_clients}, from 0"
            ))),
        }
    }

    /// Who they are, ascending; `size` gives the number of items of a client, `rng` is the run's
    /// stream for [`CHOSEN`].
    pub(super) fn of(&self, n_clients: u32, size: impl Fn(ClientId) -> u64, rng: &mut SimRng) -> Vec<u32> {
        let part = |fraction: &f64| {
            let n = (fraction * f64::from(n_clients)).round().max(1.0) as usize;
            n.min(n_clients as usize)
        };
        let mut clients = match self {
            MaliciousClients::Off => Vec::new(),
            MaliciousClients::Fraction(fraction) => {
                let mut all: Vec<u32> = (0..n_clients).collect();
                draw_first(rng, &mut all, part(fraction));
                all.truncate(part(fraction));
                all
            }
            MaliciousClients::Largest(fraction) => {
                let mut all: Vec<u32> = (0..n_clients).collect();
                all.sort_by_key(|client| std::cmp::Reverse(size(ClientId(*client))));
                all.truncate(part(fraction));
                all
            }
            MaliciousClients::Named(clients) => clients.clone(),
        };
        clients.sort_unstable();
        clients.dedup();
        clients
    }
}

/// The malicious clients of a run, once somebody has asked for them: the draw is of all clients.
#[derive(Debug, Default)]
pub struct Drawn(Mutex<Option<(u64, Arc<[u32]>)>>);

impl Drawn {
    /// Who they are, ascending; `rng` gives the run's stream for [`CHOSEN`].
    pub(crate) fn of(
        &self,
        clients: &MaliciousClients,
        (n_clients, size): (u32, impl Fn(ClientId) -> u64),
        rng: impl Fn() -> SimRng,
    ) -> Arc<[u32]> {
        if clients.is_none() {
            return Arc::default();
        }
        // Another run has another stream.
        let run = unit(&mut rng()).to_bits();
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*drawn {
            Some((of, known)) if *of == run => Arc::clone(known),
            _ => {
                let known: Arc<[u32]> = clients.of(n_clients, size, &mut rng()).into();
                *drawn = Some((run, Arc::clone(&known)));
                known
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::Streams;

    #[test]
    fn clients_are_those_that_a_card_says() {
        let sizes = [3, 9, 1, 9, 4];
        let of = |clients: &MaliciousClients| {
            let size = |client: ClientId| sizes[client.0 as usize];
            clients.of(5, size, &mut Streams::new(1).global(CHOSEN))
        };
        assert_eq!(of(&MaliciousClients::Largest(0.6)), [1, 3, 4]);
        assert_eq!(of(&MaliciousClients::Largest(0.2)), [1], "of equals the first");
        assert_eq!(of(&MaliciousClients::Fraction(0.4)).len(), 2);
        assert_eq!(of(&MaliciousClients::Fraction(0.01)).len(), 1);
        assert_eq!(of(&MaliciousClients::Named(vec![4, 0, 4])), [0, 4]);
        assert!(of(&MaliciousClients::Off).is_empty());
    }
}
