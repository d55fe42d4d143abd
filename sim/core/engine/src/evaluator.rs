//! What is seen from above: scores, attacks, audits and theory, beside a system and never inside
//! it.
//!
//! A [`Evaluator`] may hold the data set. It reads states and the ledger, writes a [`Sheet`] and
//! changes nothing: a run goes the same way whoever watches.

use crate::client_blocks::Shares;
use crate::strategy::{Letter, Setup, Strategy};
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_metrics::{ClientId, Direction, Kind, Ledger, Party, PrivacyRow, Round, RoundRow, Sheet, SimTime};

/// What watches a run of `S`. Every method has a default that sees nothing.
pub trait Evaluator<S: Strategy>: Send + Sync {
    /// Something that a handler shows: may raise counters of the strategy, by their places. Called
    /// on any thread.
    fn see(&self, _sight: S::Sight, _count: &mut dyn FnMut(usize, u64)) {}

    /// Where messages are encoded and read back ([`Options::wire_check`](crate::run::Options)): a
    /// message is sent, or it arrives. Called on any thread, for each party in the order of its
    /// events; for tests of who knows what.
    fn overhear(&self, _heard: &Heard<'_, S>) {}

    /// A round has ended: scores of the server's state. Called in the order of the rounds, and not
    /// in a dry run.
    fn after_round(&self, _round: &Ended<'_, S>, _sheet: &mut Sheet) {}

    /// Whether [`at_end`](Self::at_end) or [`scores`](Self::scores) looks at the states of clients.
    /// Where they do not, ranks keep them to themselves. Default: yes.
    fn reads_clients(&self, _strategy: &S) -> bool {
        true
    }

    /// The scores of controls that need the data and no training. Called once, before
    /// [`at_end`](Self::at_end), in a dry run too.
    fn controls(&self, _strategy: &S, _sheet: &mut Sheet) {}

    /// The run has ended: counts, which do not depend on the values that were learned.
    fn at_end(&self, _end: &End<'_, S>, _sheet: &mut Sheet) {}

    /// The run has ended: scores of what was learned. Called after [`at_end`](Self::at_end), and
    /// not in a dry run.
    fn scores(&self, _end: &End<'_, S>, _sheet: &mut Sheet) {}

    /// How many messages theory predicts for a row of the ledger, where it does.
    fn expected_messages(
        &self,
        _strategy: &S,
        _setup: &Setup<'_>,
        _kind: Kind,
        _round: Round,
        _direction: Direction,
    ) -> Option<f64> {
        None
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NoEvaluator;

impl<S: Strategy> Evaluator<S> for NoEvaluator {}

/// A message at one of its ends.
pub struct Heard<'a, S: Strategy> {
    pub at: SimTime,
    /// It arrives; otherwise it is sent.
    pub arrives: bool,
    pub from: Party,
    pub to: Party,
    /// The round in its header.
    pub round: Round,
    pub letter: &'a Letter<S>,
}

/// A round that has just ended.
pub struct Ended<'a, S: Strategy> {
    pub round: Round,
    pub strategy: &'a S,
    /// The server as it left the round.
    pub server: &'a S::Server,
    /// What the strategy knew at the start.
    pub setup: Setup<'a>,
}

/// What a run has come to.
pub struct End<'a, S: Strategy> {
    pub strategy: &'a S,
    pub server: &'a S::Server,
    pub clients: Clients<'a, S::Client>,
    /// What the strategy knew at the start.
    pub setup: Setup<'a>,
    /// Every message and byte.
    pub ledger: &'a Ledger,
    /// What releases have cost, a row for each of [`Strategy::mechanisms`], then one for each of
    /// [`Strategy::together`].
    pub privacy: &'a [PrivacyRow],
    pub rounds: &'a [RoundRow],
    /// The strategy's counters over all rounds, in the order of [`Strategy::COUNTERS`].
    pub counters: Vec<u64>,
    /// The same by round, from round 0 on, each with its name.
    pub by_round: &'a [(&'static str, Vec<u64>)],
    /// The streams of the run.
    pub streams: Streams,
}

impl<S: Strategy> End<'_, S> {
    /// The stream of what is drawn at the end.
    pub fn rng(&self) -> SimRng {
        self.streams.global(Purpose(*b"evaluate"))
    }
}

/// All clients' states at the end of a run; over several ranks none, where the evaluator does not
/// read them.
pub struct Clients<'a, C> {
    pub(crate) parts: Vec<&'a [C]>,
    pub(crate) shares: Shares,
}

impl<C> Clients<'_, C> {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.shares.n_clients()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state of one client.
    pub fn get(&self, client: ClientId) -> Option<&C> {
        let (part, place) = self.shares.find(client);
        self.parts.get(part)?.get(place)
    }

    /// All states, in ascending order of the clients.
    pub fn iter(&self) -> impl Iterator<Item = (ClientId, &C)> {
        (0..self.len()).map(ClientId).filter_map(|id| Some((id, self.get(id)?)))
    }
}
