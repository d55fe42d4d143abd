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
    /// Clients by their numbers, from 0.
    Named(#[component(required)] Vec<u32>),
}

impl MaliciousClients {
    pub(crate) fn is_none(&self) -> bool {
        match self {
            MaliciousClients::Off => true,
            MaliciousClients::Fraction(_) => false,
            MaliciousClients::Named(clients) => clients.is_empty(),
        }
    }

    /// Checks the numbers of clients that are named.
    pub(crate) fn check(&self, n_clients: u32) -> Result<(), StrategyError> {
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

    /// Who they are, ascending; `rng` is the run's stream for [`CHOSEN`].
    fn of(&self, n_clients: u32, rng: &mut SimRng) -> Vec<u32> {
        let mut clients = match self {
            MaliciousClients::Off => Vec::new(),
            MaliciousClients::Fraction(fraction) => {
                let n = (fraction * f64::from(n_clients)).round().max(1.0) as usize;
                let mut all: Vec<u32> = (0..n_clients).collect();
                draw_first(rng, &mut all, n.min(n_clients as usize));
                all.truncate(n);
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
pub(crate) struct Drawn(Mutex<Option<(u64, Arc<[u32]>)>>);

impl Drawn {
    /// Who they are, ascending; `rng` gives the run's stream for [`CHOSEN`].
    pub(crate) fn of(&self, clients: &MaliciousClients, n_clients: u32, rng: impl Fn() -> SimRng) -> Arc<[u32]> {
        if clients.is_none() {
            return Arc::default();
        }
        // Another run has another stream.
        let run = unit(&mut rng()).to_bits();
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*drawn {
            Some((of, known)) if *of == run => Arc::clone(known),
            _ => {
                let known: Arc<[u32]> = clients.of(n_clients, &mut rng()).into();
                *drawn = Some((run, Arc::clone(&known)));
                known
            }
        }
    }
}
