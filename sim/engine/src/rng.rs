//! Named random streams, and draws from them that are the same on every machine.
//!
//! A stream is derived from its name whenever it is needed and never stored or shared, so adding a consumer moves nobody
//! else's numbers. The transcendental functions come from the `libm` crate: the system's differ between machines, and
//! `rand_distr` takes the system's as soon as any crate in the build turns on `num-traits/std`.

use folkmoot_metrics::{Party, Round};
use rand::{Rng, SeedableRng};

/// The generator behind every stream.
pub type SimRng = rand_chacha::ChaCha8Rng;

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

    /// The seed.
    pub fn seed(self) -> u64 {
        self.seed
    }

    /// The stream for `purpose` of `party` in `round`. The ChaCha key *is* these four words, so no two streams share a
    /// key.
    #[inline]
    pub fn party(self, purpose: Purpose, party: Party, round: Round) -> SimRng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&purpose.0);
        key[16..24].copy_from_slice(&u64::from(party.index()).to_le_bytes());
        key[24..].copy_from_slice(&u64::from(round.0).to_le_bytes());
        SimRng::from_seed(key)
    }

    /// The stream for the `counter`-th event or message of a party: the ChaCha nonce tells the counters apart.
    #[inline]
    pub fn counted(self, purpose: Purpose, party: Party, round: Round, counter: u64) -> SimRng {
        let mut rng = self.party(purpose, party, round);
        rng.set_stream(counter);
        rng
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

    /// Opens it.
    pub fn open(self) -> SimRng {
        self.streams.counted(self.purpose, self.party, self.round, self.counter)
    }
}

/// A uniform number in `[0, 1)` with 53 random bits.
#[inline]
pub fn unit(rng: &mut SimRng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A uniform index in `0..n` without bias (Lemire 2019, by rejection). `n` must be positive.
#[inline]
pub fn index(rng: &mut SimRng, n: usize) -> usize {
    let n = n as u64;
    debug_assert!(n > 0);
    let mut wide = u128::from(rng.next_u64()) * u128::from(n);
    if (wide as u64) < n {
        let threshold = n.wrapping_neg() % n;
        while (wide as u64) < threshold {
            wide = u128::from(rng.next_u64()) * u128::from(n);
        }
    }
    (wide >> 64) as usize
}

/// An exponential draw with mean 1, by inversion.
#[inline]
pub fn exponential(rng: &mut SimRng) -> f64 {
    -libm::log1p(-unit(rng))
}

/// A standard normal draw, by the Box–Muller transform (one of its two values; no state is kept).
#[inline]
pub fn normal(rng: &mut SimRng) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(rng));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::ClientId;

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

    /// Means and variances within 4 standard errors of theory.
    #[test]
    fn draws_have_their_moments() {
        let mut rng = Streams::new(5).global(TEST);
        let n = 100_000;
        let mut check = |draw: fn(&mut SimRng) -> f64, mean: f64, variance: f64, fourth: f64| {
            let draws: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
            let got_mean = draws.iter().sum::<f64>() / f64::from(n);
            let got_variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
            assert!((got_mean - mean).abs() < 4.0 * (variance / f64::from(n)).sqrt());
            assert!((got_variance - variance).abs() < 4.0 * ((fourth - variance * variance) / f64::from(n)).sqrt());
        };
        check(unit, 0.5, 1.0 / 12.0, 1.0 / 80.0);
        check(exponential, 1.0, 1.0, 9.0);
        check(normal, 0.0, 1.0, 3.0);
    }

    #[test]
    fn every_index_is_drawn_equally_often() {
        let mut rng = Streams::new(5).global(TEST);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[index(&mut rng, 7)] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 22.5, "chi² of 6 degrees of freedom: {chi2}"); // 99.9 % quantile
    }
}
