//! The generator behind every stream.
//!
//! Most streams give one or two numbers and are never asked again. `rand_chacha` makes four blocks
//! of sixteen words at a time, which is right for long streams; here the block that is asked for
//! first is made alone, and what follows comes from there. The words are the same, one by one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Infallible, Rng, SeedableRng, TryRng, utils};
use std::fmt;

/// Words of a block.
const BLOCK: usize = 16;

/// ChaCha with 8 rounds (D. J. Bernstein, 2008), a 64-bit counter of blocks and a 64-bit number of
/// the stream in place of a nonce.
#[derive(Clone)]
pub struct SimRng {
    key: [u32; 8],
    stream: u64,
    /// The block that `block` is or, while `used` is none of its words, will be.
    number: u64,
    /// Words of `block` that are used; more than there are before it is made.
    used: usize,
    block: [u32; BLOCK],
    /// What comes after that block.
    rest: Option<ChaCha8Rng>,
}

/// What `used` is before there is a block.
const UNMADE: usize = usize::MAX;

impl SimRng {
    #[inline]
    pub(crate) fn new(key: [u32; 8], stream: u64) -> Self {
        SimRng {
            key,
            stream,
            number: 0,
            used: UNMADE,
            block: [0; BLOCK],
            rest: None,
        }
    }

    /// Goes to the start of another stream of the same key.
    #[inline]
    pub fn set_stream(&mut self, stream: u64) {
        *self = SimRng::new(self.key, stream);
    }

    /// Goes to word `at` of the stream, of 2^68.
    pub fn set_word_pos(&mut self, at: u128) {
        self.number = (at / BLOCK as u128) as u64;
        self.rest = None;
        self.make();
        self.used = (at % BLOCK as u128) as usize;
    }

    /// The next words, as many calls for one would give them, in a fraction of their time where
    /// there are many.
    pub fn fill_words(&mut self, words: &mut [u32]) {
        if self.used == UNMADE {
            self.make();
        }
        let left = &self.block[self.used..];
        let n = left.len().min(words.len());
        words[..n].copy_from_slice(&left[..n]);
        self.used += n;
        if n < words.len() {
            let rest = &mut words[n..];
            self.rest().fill_bytes(bytemuck::cast_slice_mut(rest));
            rest.iter_mut().for_each(|word| *word = u32::from_le(*word));
        }
    }

    /// Leaves the next `n` words out, in the time of a few.
    pub fn skip_words(&mut self, n: usize) {
        if self.used == UNMADE {
            self.make();
        }
        let left = n.min(BLOCK - self.used);
        self.used += left;
        if left < n {
            let rest = self.rest();
            rest.set_word_pos(rest.get_word_pos() + (n - left) as u128);
        }
    }

    fn make(&mut self) {
        self.block = block(&self.key, self.number, self.stream);
        self.used = 0;
    }

    /// Once no word of the block is left, or before there is one.
    #[cold]
    #[inline(never)]
    fn next(&mut self) -> u32 {
        if self.used == UNMADE {
            self.make();
            self.used = 1;
            return self.block[0];
        }
        self.rest().try_next_u32().unwrap_or_else(|never| match never {})
    }

    fn rest(&mut self) -> &mut ChaCha8Rng {
        let (key, stream, number) = (&self.key, self.stream, self.number);
        self.rest.get_or_insert_with(|| {
            let mut seed = [0; 32];
            for (bytes, word) in seed.chunks_exact_mut(4).zip(key) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let mut rest = ChaCha8Rng::from_seed(seed);
            rest.set_stream(stream);
            rest.set_word_pos(u128::from(number.wrapping_add(1)) * BLOCK as u128);
            rest
        })
    }
}

impl SeedableRng for SimRng {
    type Seed = [u8; 32];

    fn from_seed(seed: [u8; 32]) -> Self {
        SimRng::new(utils::read_words(&seed), 0)
    }
}

impl TryRng for SimRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        if let Some(word) = self.block.get(self.used) {
            self.used += 1;
            return Ok(*word);
        }
        match &mut self.rest {
            Some(rest) => rest.try_next_u32(),
            None => Ok(self.next()),
        }
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if self.used == UNMADE {
            self.make();
        }
        if let Some(rest) = &mut self.rest {
            return rest.try_next_u64();
        }
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u32())
    }
}

impl fmt::Debug for SimRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimRng")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

/// One block: rows of four words, of which a round takes columns and then diagonals.
#[inline]
fn block(key: &[u32; 8], number: u64, stream: u64) -> [u32; BLOCK] {
    // "expand 32-byte k".
    let start = [
        [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574],
        [key[0], key[1], key[2], key[3]],
        [key[4], key[5], key[6], key[7]],
        [
            number as u32,
            (number >> 32) as u32,
            stream as u32,
            (stream >> 32) as u32,
        ],
    ];
    let [mut a, mut b, mut c, mut d] = start;
    for _ in 0..4 {
        [a, b, c, d] = quarters([a, b, c, d]);
        (b, c, d) = (turned::<1>(b), turned::<2>(c), turned::<3>(d));
        [a, b, c, d] = quarters([a, b, c, d]);
        (b, c, d) = (turned::<3>(b), turned::<2>(c), turned::<1>(d));
    }
    let mut words = [0; BLOCK];
    for (row, (mixed, start)) in [a, b, c, d].into_iter().zip(start).enumerate() {
        words[4 * row..][..4].copy_from_slice(&added(mixed, start));
    }
    words
}

/// Four quarter-rounds, one in each column.
#[inline(always)]
fn quarters([mut a, mut b, mut c, mut d]: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
    a = added(a, b);
    d = mixed::<16>(d, a);
    c = added(c, d);
    b = mixed::<12>(b, c);
    a = added(a, b);
    d = mixed::<8>(d, a);
    c = added(c, d);
    b = mixed::<7>(b, c);
    [a, b, c, d]
}

#[inline(always)]
fn added(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

#[inline(always)]
fn mixed<const BITS: u32>(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| (a[i] ^ b[i]).rotate_left(BITS))
}

#[inline(always)]
fn turned<const BY: usize>(row: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| row[(i + BY) % 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(stream: u64) -> (SimRng, ChaCha8Rng) {
        let seed = std::array::from_fn(|i| (i * 37 + 5) as u8);
        let (mut ours, mut theirs) = (SimRng::from_seed(seed), ChaCha8Rng::from_seed(seed));
        ours.set_stream(stream);
        theirs.set_stream(stream);
        (ours, theirs)
    }

    /// Words, pairs of words and bytes in any mixture, over several of their buffers.
    #[test]
    fn every_word_is_that_of_rand_chacha() {
        for stream in [0, 1, 1 << 40, u64::MAX] {
            let (mut ours, mut theirs) = both(stream);
            for step in 0..400_usize {
                match step * step % 7 {
                    0 | 1 => assert_eq!(ours.next_u32(), theirs.next_u32(), "step {step}"),
                    2 | 3 => {
                        let (mut a, mut b) = (vec![0; step % 23], vec![0; step % 23]);
                        ours.fill_bytes(&mut a);
                        theirs.fill_bytes(&mut b);
                        assert_eq!(a, b, "step {step}");
                    }
                    _ => assert_eq!(ours.next_u64(), theirs.next_u64(), "step {step}"),
                }
            }
        }
    }

    /// From a new stream, from within its own first block, at its end and after it; as few as none
    /// and more than any buffer holds.
    #[test]
    fn words_at_once_are_those_of_single_calls() {
        for used in [0, 1, 7, 15, 16, 17, 40, 80] {
            for n in [0, 1, 8, 9, 16, 17, 64, 300] {
                let (mut ours, mut theirs) = both(3);
                (0..used).for_each(|_| assert_eq!(ours.next_u32(), theirs.next_u32()));
                let mut words = vec![0; n];
                ours.fill_words(&mut words);
                assert!(words.iter().all(|word| *word == theirs.next_u32()), "{n} after {used}");
                assert_eq!(ours.next_u32(), theirs.next_u32(), "the word after {n} after {used}");
                assert_eq!(ours.next_u64(), theirs.next_u64(), "those after it");
            }
        }
    }

    #[test]
    fn words_that_are_left_out_are_as_if_drawn() {
        for used in [0, 1, 15, 16, 17, 40] {
            for n in [0, 1, 15, 16, 17, 1_000] {
                let (mut ours, mut theirs) = both(5);
                (0..used).for_each(|_| assert_eq!(ours.next_u32(), theirs.next_u32()));
                for _ in 0..3 {
                    ours.skip_words(n);
                    (0..n).for_each(|_| _ = theirs.next_u32());
                    assert_eq!(ours.next_u32(), theirs.next_u32(), "{n} after {used}");
                }
                assert_eq!(ours.next_u64(), theirs.next_u64(), "those after it");
            }
        }
    }

    #[test]
    fn every_place_is_that_of_rand_chacha() {
        let (mut ours, mut theirs) = both(9);
        for at in [0, 1, 15, 16, 17, 63, 64, 1 << 30, (1 << 68) - 17, (1 << 68) - 1] {
            ours.set_word_pos(at);
            theirs.set_word_pos(at);
            for _ in 0..20 {
                assert_eq!(ours.next_u64(), theirs.next_u64(), "from word {at}");
            }
            let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
            assert_eq!(ours.next_u32(), theirs.next_u32(), "a copy goes on alike");
        }
    }
}
