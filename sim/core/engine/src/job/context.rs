//! What a job may touch.

use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_metrics::{ClientId, Party, Round, SimTime};
use folkmoot_privacy::NoiseForm;
use serde::{Deserialize, Serialize};

/// Who asked for a job, in which round, at which event of its own, and when.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) by: Party,
    pub(crate) round: Round,
    pub(crate) counter: u64,
    pub(crate) at: SimTime,
}

/// All that a job may touch besides its work and its client's shard: randomness, named by who
/// asked for the work and when.
#[derive(Clone, Copy, Debug)]
pub struct JobContext {
    streams: Streams,
    noise: NoiseForm,
    asked: Asked,
}

impl JobContext {
    /// For the work that was asked for.
    pub(crate) fn new(streams: Streams, noise: NoiseForm, asked: Asked) -> Self {
        JobContext { streams, noise, asked }
    }

    pub(crate) fn asked(&self) -> Asked {
        self.asked
    }

    pub(crate) fn me(&self) -> Party {
        self.asked.by
    }

    /// The form of Laplace and Gaussian noise in this run.
    pub(crate) fn noise_form(&self) -> NoiseForm {
        self.noise
    }

    /// The round that the work counts for.
    pub fn round(&self) -> Round {
        self.asked.round
    }

    /// When the work was asked for.
    pub fn now(&self) -> SimTime {
        self.asked.at
    }

    /// The stream for `purpose` of the event that asked for the work.
    pub fn rng(&self, purpose: Purpose) -> SimRng {
        let Asked { by, round, counter, .. } = self.asked;
        self.streams.counted(purpose, by, round, counter)
    }

    /// The stream for `purpose` of this party in this round, whatever came before in it.
    pub fn round_rng(&self, purpose: Purpose) -> SimRng {
        self.streams.party(purpose, self.asked.by, self.asked.round)
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
            asked: Asked {
                by: Party::Client(me),
                round,
                counter: 0,
                at: SimTime(0),
            },
        }
    }
}
