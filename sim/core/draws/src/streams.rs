//! Streams by name: a seed, a purpose, a party, a round and a counter.

use crate::SimRng;
use folkmoot_metrics::{Party, Round};

/// What a stream is for: eight ASCII bytes, such as `*b"local-dp"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Purpose(pub [u8; 8]);

/// All streams of a run, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of a run with this seed.
    pub fn new(seed: u64) -> Self {
        Streams { seed }
    }

    pub fn seed(self) -> u64 {
        self.seed
    }

    /// The stream for `purpose` of `party` in `round`. The ChaCha key *is* these four words, so no
    /// two streams share a key.
    #[inline]
    pub fn party(self, purpose: Purpose, party: Party, round: Round) -> SimRng {
        self.counted(purpose, party, round, 0)
    }

    /// The stream for the `counter`-th event or message of a party: the ChaCha nonce tells the
    /// counters apart.
    #[inline]
    pub fn counted(self, purpose: Purpose, party: Party, round: Round, counter: u64) -> SimRng {
        let purpose = u64::from_le_bytes(purpose.0);
        let (party, round) = (party.index(), round.0);
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        let key = [
            low(self.seed),
            high(self.seed),
            low(purpose),
            high(purpose),
            party,
            0,
            round,
            0,
        ];
        SimRng::new(key, counter)
    }

    /// The stream for a purpose of the whole run, such as generating the data.
    pub fn global(self, purpose: Purpose) -> SimRng {
        self.party(purpose, Party::Server, Round(u32::MAX))
    }
}

/// The full name of a stream that may not be needed: opened only by whoever draws.
#[derive(Clone, Copy, Debug)]
pub struct StreamName {
    streams: Streams,
    purpose: Purpose,
    party: Party,
    round: Round,
    counter: u64,
}

impl StreamName {
    /// The name of the stream that [`Streams::counted`] would open.
    pub fn new(streams: Streams, purpose: Purpose, party: Party, round: Round, counter: u64) -> Self {
        StreamName {
            streams,
            purpose,
            party,
            round,
            counter,
        }
    }

    pub fn open(self) -> SimRng {
        self.streams.counted(self.purpose, self.party, self.round, self.counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::ClientId;
    use rand_chacha::rand_core::Rng;

    const TEST: Purpose = Purpose(*b"testtest");

    #[test]
    fn value_stability() {
        let streams = Streams::new(1);
        let mut rng = streams.party(TEST, Party::Client(ClientId(2)), Round(3));
        let firsts = [rng.next_u64(), rng.next_u64()];
        assert_eq!(firsts, VALUE_STABILITY);
        let mut counted = streams.counted(TEST, Party::Client(ClientId(2)), Round(3), 0);
        assert_eq!(
            counted.next_u64(),
            VALUE_STABILITY[0],
            "counter 0 is the party's own stream"
        );
    }

    const VALUE_STABILITY: [u64; 2] = [2374067946770698107, 6265646509199129042];

    #[test]
    fn streams_with_different_names_differ() {
        let streams = Streams::new(1);
        let client = |c| Party::Client(ClientId(c));
        let mut firsts = vec![
            streams.party(TEST, client(0), Round(0)).next_u64(),
            streams.party(TEST, client(1), Round(0)).next_u64(),
            streams.party(TEST, client(0), Round(1)).next_u64(),
            streams.party(Purpose(*b"other   "), client(0), Round(0)).next_u64(),
            streams.counted(TEST, client(0), Round(0), 1).next_u64(),
            Streams::new(2).party(TEST, client(0), Round(0)).next_u64(),
            streams.global(TEST).next_u64(),
        ];
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 7);
    }
}
