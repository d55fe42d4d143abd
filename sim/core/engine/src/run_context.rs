//! The constant context of a run, for handlers and jobs.

use crate::client_blocks::Shares;
use crate::evaluator::Evaluator;
use crate::privacy::MechanismInfo;
use crate::strategy::{Setup, Shards, Strategy, System};
use crate::world::{AccessRates, ClientSelection, Transport, World};
use folkmoot_draws::Streams;
use folkmoot_metrics::trace::Followed;
use folkmoot_metrics::{Party, SimSpan};

/// What handlers and jobs run on: a strategy, its data and whoever watches.
pub(crate) struct Ground<'a, S: Strategy> {
    pub(crate) strategy: &'a S,
    pub(crate) shards: &'a dyn Shards<S>,
    pub(crate) evaluator: &'a dyn Evaluator<S>,
    pub(crate) streams: Streams,
    /// Whether work is not done; only `dry` asks.
    pub(crate) is_dry: bool,
}

impl<S: Strategy> Clone for Ground<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Strategy> Copy for Ground<'_, S> {}

impl<'a, S: Strategy> Ground<'a, S> {
    pub(crate) fn new(system: System<'a, S>, streams: Streams, is_dry: bool) -> Self {
        Ground {
            strategy: system.strategy,
            shards: system.shards,
            evaluator: system.evaluator,
            streams,
            is_dry,
        }
    }
}

/// The unchanging surroundings of a run, shared by all parts.
pub(crate) struct Env<'a, S: Strategy> {
    pub(crate) ground: Ground<'a, S>,
    pub(crate) world: &'a World,
    pub(crate) mechanisms: &'a [MechanismInfo],
    pub(crate) shares: Shares,
    pub(crate) lookahead: SimSpan,
    pub(crate) transport: Transport,
    /// Of the server's access link.
    pub(crate) server_rates: AccessRates,
    pub(crate) wire_check: bool,
    /// Whose life is noted, if anybody's.
    pub(crate) followed: Option<Followed>,
    /// Whether other threads help with jobs.
    pub(crate) has_helpers: bool,
}

impl<'a, S: Strategy> Env<'a, S> {
    pub(crate) fn selection(&self) -> &'a dyn ClientSelection {
        self.ground.strategy.selection().unwrap_or(&*self.world.cohort)
    }

    /// Of a participant's access link.
    pub(crate) fn rates(&self, party: Party) -> AccessRates {
        self.world.network.access(party, self.ground.streams)
    }

    /// Header bytes of a transmission of so many bytes of payload.
    pub(crate) fn header(&self, payload: u64) -> u64 {
        let header = u64::from(self.world.header_bytes);
        let frames = self
            .transport
            .framing
            .map_or(0, |framing| framing.headers(payload + header));
        header + frames
    }

    /// What a strategy may know of the run.
    pub(crate) fn setup(&self) -> Setup<'a> {
        Setup {
            n_clients: self.shares.n_clients(),
            world: self.world,
            selection: self.selection(),
            streams: self.ground.streams,
        }
    }
}
