//! Uniform numbers, and the choices made with them.

use crate::SimRng;
use rand_chacha::rand_core::Rng;

/// `2^-53`, the step of a number in `[0, 1)` with all its bits.
const STEP: f64 = 1.0 / (1u64 << 53) as f64;

/// A multiple of `2^-53` in `[0, 1)`. Takes one `u64`.
#[inline]
pub fn unit(rng: &mut SimRng) -> f64 {
    (rng.next_u64() >> 11) as f64 * STEP
}

/// A multiple of `2^-53` in `(0, 1]`, of which there is always a logarithm, and the lowest bit of
/// the word it came from. Takes one `u64`.
#[inline]
pub(crate) fn positive_unit(rng: &mut SimRng) -> (f64, bool) {
    let word = rng.next_u64();
    (((word >> 11) + 1) as f64 * STEP, word & 1 == 1)
}

/// A multiple of `2^-24` in `[0, 1)`, for numbers of single precision. Takes one `u32`.
#[inline]
pub fn unit_f32(rng: &mut SimRng) -> f32 {
    (rng.next_u32() >> 8) as f32 / 16_777_216.0
}

/// A uniform index in `0..n`, `n` at least 1, without bias. Takes one `u64`, and another one where
/// the first falls among the `2^64 mod n` words too many (D. Lemire. Fast Random Integer Generation
/// in an Interval. 2019).
#[inline]
pub fn index(rng: &mut SimRng, n: usize) -> usize {
    index_from(n, || rng.next_u64())
}

#[inline]
fn index_from(n: usize, mut word: impl FnMut() -> u64) -> usize {
    let n = n as u64;
    debug_assert!(n > 0);
    let mut wide = u128::from(word()) * u128::from(n);
    if (wide as u64) < n {
        let excess = n.wrapping_neg() % n;
        while (wide as u64) < excess {
            wide = u128::from(word()) * u128::from(n);
        }
    }
    (wide >> 64) as usize
}

/// An index in `0..n`, `n` below `2^32`, whose probabilities differ from each other by at most
/// `2^-32`. Takes one `u32`.
///
/// It stays beside [`index`] because skip-gram's windows and the shuffles of evaluations were drawn
/// with it, and their numbers are published; nothing new may use it.
#[inline]
pub fn index_by_word(rng: &mut SimRng, n: usize) -> usize {
    ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize
}

/// True with probability `p`, in 0..=1, exactly: also where `p` is far below 2^-64.
///
/// Compares `p` with a uniform number of unlimited length, 64 bits at a time: takes one `u64`, and
/// another one only while all bits so far agree.
pub fn bernoulli(rng: &mut SimRng, p: f64) -> bool {
    bernoulli_from(p, || rng.next_u64())
}

fn bernoulli_from(p: f64, mut word: impl FnMut() -> u64) -> bool {
    let mut left = p;
    loop {
        let scaled = left * 18_446_744_073_709_551_616.0;
        let whole = scaled.floor();
        let drawn = u128::from(word());
        // At most 2^64, which a `u128` holds; the rest is exact, because a float's low bits alone
        // remain.
        match drawn.cmp(&(whole as u128)) {
            std::cmp::Ordering::Less => return true,
            std::cmp::Ordering::Greater => return false,
            std::cmp::Ordering::Equal => left = scaled - whole,
        }
        if left == 0.0 {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    /// The certain and the impossible, and frequencies within 4 standard errors.
    #[test]
    fn choices_follow_their_probabilities() {
        let mut rng = SimRng::seed_from_u64(4);
        for p in [0.0, 1e-300, 0.3, 0.999, 1.0] {
            let n = 20_000;
            let hits = (0..n).filter(|_| bernoulli(&mut rng, p)).count() as f64 / f64::from(n);
            assert!(
                (hits - p).abs() <= 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt().max(1e-12),
                "{p} {hits}"
            );
        }
        let n = 30_000;
        let mut counts = [0u32; 3];
        (0..n).for_each(|_| counts[index(&mut rng, 3)] += 1);
        for count in counts {
            let error = 4.0 * (2.0 / 9.0 / f64::from(n)).sqrt();
            assert!((f64::from(count) / f64::from(n) - 1.0 / 3.0).abs() < error);
        }
        assert!((0..100).all(|_| index(&mut rng, 1) == 0 && index(&mut rng, usize::MAX) < usize::MAX));
    }

    /// The words of a fixed list, and how many of them were taken.
    fn from_list<T>(words: &[u64], choose: impl FnOnce(&mut dyn FnMut() -> u64) -> T) -> (T, usize) {
        let mut taken = 0;
        let choice = choose(&mut || {
            taken += 1;
            words[taken - 1]
        });
        (choice, taken)
    }

    /// 2^-64 is the chance of a first word 0, and half of it that of a second word below 2^63 as
    /// well.
    #[test]
    fn open_decisions_draw_again_and_others_do_not() {
        let tiny = 1.0 / 18_446_744_073_709_551_616.0;
        let flip = |p: f64, words: &[u64]| from_list(words, |word| bernoulli_from(p, word));
        assert_eq!(flip(tiny, &[0]), (true, 1));
        assert_eq!(flip(tiny, &[1]), (false, 1));
        assert_eq!(flip(tiny / 2.0, &[1]), (false, 1));
        assert_eq!(flip(tiny / 2.0, &[0, (1 << 63) - 1]), (true, 2));
        assert_eq!(flip(tiny / 2.0, &[0, 1 << 63]), (false, 2));
        assert_eq!(flip(1.0, &[u64::MAX]), (true, 1));
    }

    /// Of the 2^64 words, 0 is the one too many for three choices.
    #[test]
    fn words_too_many_are_drawn_again() {
        let choose = |words: &[u64]| from_list(words, |word| index_from(3, word));
        assert_eq!(choose(&[0, u64::MAX]), (2, 2));
        assert_eq!(choose(&[1]), (0, 1));
        assert_eq!(choose(&[u64::MAX / 3 + 1]), (1, 1));
    }

    #[test]
    fn every_index_is_drawn_equally_often() {
        let mut rng = SimRng::seed_from_u64(5);
        for draw in [index, index_by_word] {
            let mut counts = [0u32; 7];
            for _ in 0..70_000 {
                counts[draw(&mut rng, 7)] += 1;
            }
            let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
            assert!(chi2 < 22.5, "chi² of 6 degrees of freedom: {chi2}"); // 99.9 % quantile
        }
    }

    #[test]
    fn value_stability() {
        let mut rng = SimRng::seed_from_u64(7);
        let firsts = [unit(&mut rng), positive_unit(&mut rng).0].map(f64::to_bits);
        assert_eq!(firsts, [4_594_853_223_840_476_064, 4_595_220_474_943_196_568]);
        assert_eq!(unit_f32(&mut rng).to_bits(), 1_049_250_090);
        assert_eq!([index(&mut rng, 1000), index_by_word(&mut rng, 1000)], [36, 726]);
        let coins = [(); 8].map(|()| bernoulli(&mut rng, 0.5));
        assert_eq!(coins, [false, true, true, false, true, false, true, true]);
    }
}
