//! What a job may touch.

use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_metrics::{ClientId, Party, Round};
use folkmoot_privacy::NoiseForm;

/// All that a job may touch besides its work and its client's shard: randomness, named by who
/// asked for the work and when.
#[derive(Clone, Copy, Debug)]
pub struct JobContext {
    streams: Streams,
    noise: NoiseForm,
    me: Party,
    round: Round,
    counter: u64,
}

impl JobContext {
    /// For the work that a party asked for in a round, at its event of that number.
    pub(crate) fn new(streams: Streams, noise: NoiseForm, (me, round, counter): (Party, Round, u64)) -> Self {
        JobContext {
            streams,
            noise,
            me,
            round,
            counter,
        }
    }

    /// Who asked for the work, in which round and at which event of its own.
    pub(crate) fn asked_by(&self) -> (Party, Round, u64) {
        (self.me, self.round, self.counter)
    }

    pub(crate) fn me(&self) -> Party {
        self.me
    }

    /// The form of Laplace and Gaussian noise in this run.
    pub(crate) fn noise_form(&self) -> NoiseForm {
        self.noise
    }

    /// The round that the work counts for.
    pub fn round(&self) -> Round {
        self.round
    }

    /// The stream for `purpose` of the event that asked for the work.
    pub fn rng(&self, purpose: Purpose) -> SimRng {
        self.streams.counted(purpose, self.me, self.round, self.counter)
    }

    /// The stream for `purpose` of this party in this round, whatever came before in it.
    pub fn round_rng(&self, purpose: Purpose) -> SimRng {
        self.streams.party(purpose, self.me, self.round)
    }

    /// The stream for `purpose` of one item of the data: the same in every round and at every
    /// client.
    pub fn item_rng(&self, purpose: Purpose, item: u32) -> SimRng {
        self.streams.counted(purpose, Party::Server, Round(0), u64::from(item))
    }

    /// The context of a client's work in `round`, with discrete noise, for tests of what works.
    pub fn of_test(seed: u64, me: ClientId, round: Round) -> JobContext {
        JobContext {
            streams: Streams::new(seed),
            noise: NoiseForm::Discrete,
            me: Party::Client(me),
            round,
            counter: 0,
        }
    }
}
