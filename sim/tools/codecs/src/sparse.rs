//! A few of the numbers, and where they stand.

use crate::bits::{BitReader, BitWriter, put_f32, take_f32, whole_bytes, width};
use crate::{Codec, Common, Damaged, Shape, finite, n_values};
use folkmoot_draws::{Purpose, SimRng, Streams, draw_first};
use folkmoot_parts::component;

/// Top-k sparsification: the values of largest magnitude (ties: lowest index first), as positions
/// and `f32` values. All others are decoded as 0.
///
/// A. F. Aji, K. Heafield. Sparse Communication for Distributed Gradient Descent. EMNLP 2017.
/// <https://arxiv.org/abs/1704.05021>
#[component(
    name = "TopK",
    about = "top-k sparsification: the values of largest magnitude (Aji and Heafield 2017)"
)]
#[derive(Clone, Copy, Debug)]
pub struct TopK {
    /// Fraction of the values that is sent, at least one value.
    #[component(default = 0.01, above = 0, at_most = 1)]
    pub share: f64,
    /// Encoding of the positions.
    pub positions: Positions,
    /// Error feedback: the sender adds the omitted values (residual) to its next update. In rounds
    /// the residual includes updates lost in the network, but not those discarded by the server as
    /// late or surplus.
    #[component(default = true)]
    pub feedback: bool,
}

/// Encoding of the positions.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// Fixed-width indices with the minimum number of bits.
    #[default]
    Packed,
    /// Bitmask with one bit per position.
    Bitmask,
    /// Gaps between positions in Elias omega code.
    Elias,
}

/// Random sparsification: as many values as [`TopK`] sends, at random positions; sent as an
/// eight-byte seed and `f32` values. Under secure aggregation all clients derive the positions from
/// the round number, and no seed is sent.
///
/// J. Konečný, H. B. McMahan, F. X. Yu, P. Richtárik, A. T. Suresh, D. Bacon. Federated Learning:
/// Strategies for Improving Communication Efficiency. 2016, section 2 (random mask).
/// <https://arxiv.org/abs/1610.05492>
#[component(name = "RandomK", about = "random sparsification (Konečný et al. 2016)")]
#[derive(Clone, Copy, Debug)]
pub struct RandomK {
    /// Fraction of the values that is sent, at least one value.
    #[component(default = 0.01, above = 0, at_most = 1)]
    pub share: f64,
    /// Error feedback: the sender adds the omitted values (residual) to its next update. Otherwise
    /// values are divided by the fraction, which makes them unbiased. In rounds the residual
    /// includes updates lost in the network, but not those discarded by the server as late or
    /// surplus.
    #[component(default = false)]
    pub feedback: bool,
}

/// How many of `n` numbers a share comes to.
fn n_sent(share: f64, n: usize) -> usize {
    ((share * n as f64).ceil() as usize).clamp(n.min(1), n)
}

fn drawn(seed: u64, n: usize, k: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..n as u32).collect();
    draw_first(&mut Streams::new(seed).global(Purpose(*b"random k")), &mut all, k);
    all.truncate(k);
    all.sort_unstable();
    all
}

impl RandomK {
    /// By how much what is sent is multiplied.
    fn scale(&self, n: usize, k: usize) -> f64 {
        match self.feedback {
            true => 1.0,
            false => n as f64 / k as f64,
        }
    }
}

impl Codec for TopK {
    fn encode(&self, values: &[f32], _: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        let (n, k) = (values.len(), n_sent(self.share, values.len()));
        let mut order: Vec<u32> = (0..n as u32).collect();
        let size = |at: &u32| values[*at as usize].abs();
        let first = |a: &u32, b: &u32| size(b).total_cmp(&size(a)).then(a.cmp(b));
        if 0 < k && k < n {
            order.select_nth_unstable_by(k - 1, first);
        }
        order.truncate(k);
        order.sort_unstable();
        let mut bits = BitWriter::new(out);
        match self.positions {
            Positions::Packed => order.iter().for_each(|at| bits.put(u64::from(*at), width(n as u64))),
            Positions::Bitmask => {
                let mut sent = order.iter().copied().peekable();
                (0..n as u32).for_each(|at| bits.put(u64::from(sent.next_if_eq(&at).is_some()), 1));
            }
            Positions::Elias => {
                let mut last = 0;
                for at in &order {
                    bits.put_omega(u64::from(at + 1 - last));
                    last = at + 1;
                }
            }
        }
        order
            .iter()
            .for_each(|at| bits.put(u64::from(values[*at as usize].to_bits()), 32));
    }

    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let n = n_values(shapes);
        let k = n_sent(self.share, n);
        let mut bits = BitReader::new(bytes);
        let mut order = Vec::with_capacity(k);
        match self.positions {
            Positions::Packed => {
                for _ in 0..k {
                    order.push(bits.take(width(n as u64))? as usize);
                }
            }
            Positions::Bitmask => {
                for at in 0..n {
                    if bits.take(1)? == 1 {
                        order.push(at);
                    }
                }
            }
            Positions::Elias => {
                let mut next = 0;
                for _ in 0..k {
                    next += bits.take_omega(n as u64)? as usize;
                    order.push(next - 1);
                }
            }
        }
        let is_ascending = order.windows(2).all(|pair| pair[0] < pair[1]);
        if order.len() != k || !is_ascending || order.last().is_some_and(|at| *at >= n) {
            return Err(Damaged::Invalid(
                "the positions are not as many as the share says, ascending",
            ));
        }
        let mut values = vec![0.0; n];
        for at in order {
            values[at] = f32::from_bits(bits.take(32)? as u32);
            if !values[at].is_finite() {
                return Err(Damaged::Invalid("a number is not finite"));
            }
        }
        bits.finish()?;
        Ok(values)
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        let n = n_values(shapes) as u64;
        let k = n_sent(self.share, n as usize) as u64;
        let positions = match self.positions {
            Positions::Packed => k * u64::from(width(n)),
            Positions::Bitmask => n,
            Positions::Elias => return None,
        };
        Some(whole_bytes(positions + 32 * k))
    }

    fn feeds_back(&self) -> bool {
        self.feedback
    }
}

impl Codec for RandomK {
    fn encode(&self, values: &[f32], _: &[Shape], rng: &mut SimRng, out: &mut Vec<u8>) {
        let (n, k) = (values.len(), n_sent(self.share, values.len()));
        let mut words = [0; 2];
        rng.fill_words(&mut words);
        let seed = u64::from(words[0]) | u64::from(words[1]) << 32;
        out.extend_from_slice(&seed.to_le_bytes());
        for at in drawn(seed, n, k) {
            let x = values[at as usize];
            put_f32(finite(f64::from(x) * self.scale(n, k)), out);
        }
    }

    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let n = n_values(shapes);
        let (seed, mut bytes) = bytes.split_first_chunk().ok_or(Damaged::TooShort)?;
        let mut values = vec![0.0; n];
        for at in drawn(u64::from_le_bytes(*seed), n, n_sent(self.share, n)) {
            values[at as usize] = take_f32(&mut bytes)?;
        }
        match bytes.is_empty() {
            true => Ok(values),
            false => Err(Damaged::TooLong),
        }
    }

    fn is_random(&self) -> bool {
        true
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(8 + 4 * n_sent(self.share, n_values(shapes)) as u64)
    }

    fn feeds_back(&self) -> bool {
        self.feedback
    }

    /// What is left out, or where it is made up for by the scale `s`, `s − 1` on average.
    fn most_error(&self, n_values: usize) -> Option<f64> {
        let k = n_sent(self.share, n_values);
        let left_out = 1.0 - k as f64 / n_values.max(1) as f64;
        Some(if self.feedback {
            left_out
        } else {
            self.scale(n_values, k) - 1.0
        })
    }

    fn common(&self, n_values: usize, round: u32) -> Option<Common> {
        let k = n_sent(self.share, n_values);
        Some(Common {
            positions: drawn(u64::from(round), n_values, k),
            scale: self.scale(n_values, k),
        })
    }
}
