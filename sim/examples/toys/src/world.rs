//! The environment: networks, devices, availability and client selection.

use folkmoot::draws::{SimRng, StreamName};
use folkmoot::engine::world::network::{AccessRates, Link, Network, Verdict};
use folkmoot::engine::world::{Availability, Candidates, ClientSelection, Devices, Periodic, Presence, PresenceCursor};
use folkmoot::prelude::*;
use folkmoot::traces::{Model, Shelf, TraceError};
use std::ops::ControlFlow;

/// Every message takes the same time.
#[component(name = "Wire", about = "every message takes the same time")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// Latency.
    #[component(default = 5.0, above = 0, at_most = 1e6, unit = "ms")]
    pub(crate) latency_ms: f64,
}

/// A wire, longer the more clients there are.
#[component(name = "LongWires", about = "a wire, one millisecond longer for each client")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongWires {}

/// One speed for all.
#[component(name = "Steady", about = "one speed for all clients")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// Speed.
    #[component(default = 1e6, above = 0, unit = "operations per second")]
    pub(crate) ops_per_s: f64,
}

/// Later clients are slower.
#[component(name = "Ranked", about = "client i takes i + 1 times as long as the first")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked {}

/// The same hours for all.
#[component(name = "Shifts", about = "the same hours of a day for all")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shifts {
    /// Share of the day that clients are online.
    #[component(default = 0.9, above = 0, at_most = 1)]
    pub(crate) online_share: f64,
}

/// Shifts, shorter the more clients share the work.
#[component(name = "Roster", about = "shifts, shorter the more clients there are")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roster {}

/// Every other client, in turn by rounds.
#[component(name = "EveryOther", about = "every other client, in turn by rounds")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct EveryOther {}

impl Network for Wire {
    fn verdict(&self, _: Link, _: Bytes, _: StreamName) -> Verdict {
        Verdict {
            attempts: 1,
            arrives: true,
            after: self.lookahead(),
        }
    }

    fn access(&self, _: Party, _: Streams) -> AccessRates {
        AccessRates::default()
    }

    fn lookahead(&self) -> SimSpan {
        SimSpan::from_secs(self.latency_ms / 1e3).max(SimSpan(1))
    }
}

impl Model<dyn Network> for LongWires {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Network>, TraceError> {
        Ok(Box::new(Wire {
            latency_ms: f64::from(shelf.n_clients()),
        }))
    }
}

impl Devices for Steady {
    fn span(&self, _: ClientId, work: f64, _: Streams) -> SimSpan {
        SimSpan::from_secs(work / self.ops_per_s)
    }
}

impl Devices for Ranked {
    fn span(&self, client: ClientId, work: f64, _: Streams) -> SimSpan {
        SimSpan::from_secs(work / 1e6 * f64::from(client.0 + 1))
    }
}

impl Model<dyn Devices> for Ranked {
    fn make(&self, _: &mut Shelf<'_>) -> Result<Box<dyn Devices>, TraceError> {
        Ok(Box::new(*self))
    }
}

impl Shifts {
    fn hours(&self) -> Periodic {
        let day = SimSpan::from_secs(86_400.0);
        Periodic {
            period: day,
            online: SimSpan((self.online_share * day.0 as f64) as u64).max(SimSpan(1)),
            passed: SimSpan(0),
        }
    }
}

impl Availability for Shifts {
    fn presence(&self, _: ClientId, _: Round, at: SimTime, _: &mut PresenceCursor, _: Streams) -> Presence {
        self.hours().presence(at)
    }

    fn online(&self, _: ClientId, rounds: &[(Round, SimTime)], _: Streams) -> SimSpan {
        self.hours().online(rounds)
    }

    fn absences(
        &self,
        _: ClientId,
        rounds: &[(Round, SimTime)],
        _: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
        self.hours().absences(rounds, tell);
    }
}

impl Model<dyn Availability> for Roster {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Availability>, TraceError> {
        Ok(Box::new(Shifts {
            online_share: 1.0 / f64::from(shelf.n_clients()).sqrt(),
        }))
    }
}

impl ClientSelection for EveryOther {
    fn name(&self) -> &str {
        "EveryOther"
    }

    fn select(&self, clients: &mut Candidates<'_>, _: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        let first = clients.round.0 % 2;
        Ok((first..clients.n_clients).step_by(2).map(ClientId).collect())
    }

    fn asked(&self, n_clients: u32) -> u32 {
        n_clients.div_ceil(2)
    }

    fn needed(&self, n_clients: u32) -> u32 {
        (n_clients / 2).max(1)
    }

    fn mean_asked(&self, n_clients: u32) -> f64 {
        f64::from(n_clients) / 2.0
    }
}
