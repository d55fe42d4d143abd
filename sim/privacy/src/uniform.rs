//! Uniform numbers from a stream, and the exact choices made with them.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A multiple of 2^-53 in [0, 1). Takes one `u64`.
pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// True with probability `p`, in 0..=1, exactly: also where `p` is far below 2^-64.
///
/// Compares `p` with a uniform number of unlimited length, 64 bits at a time: takes one `u64`, and another one only
/// while all bits so far agree.
pub(crate) fn bernoulli(p: f64, rng: &mut ChaCha8Rng) -> bool {
    bernoulli_from(p, || rng.next_u64())
}

fn bernoulli_from(p: f64, mut word: impl FnMut() -> u64) -> bool {
    let mut left = p;
    loop {
        let scaled = left * 18_446_744_073_709_551_616.0;
        let whole = scaled.floor();
        let drawn = u128::from(word());
        // At most 2^64, which a `u128` holds; the rest is exact, because a float's low bits alone remain.
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

/// An integer below `n`, at least 1, every one with the same probability. Takes one `u64`, and another one where the
/// first falls among the `2^64 mod n` words too many.
pub(crate) fn below(n: u32, rng: &mut ChaCha8Rng) -> u32 {
    below_from(n, || rng.next_u64())
}

fn below_from(n: u32, mut word: impl FnMut() -> u64) -> u32 {
    let n = u128::from(n);
    let excess = (1u128 << 64) % n;
    loop {
        // The high word is the choice; a low word below the excess marks what one choice has more than another
        // (D. Lemire. Fast Random Integer Generation in an Interval. 2019).
        let product = u128::from(word()) * n;
        if product & u128::from(u64::MAX) >= excess {
            return (product >> 64) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// The certain and the impossible, and frequencies within 4 standard errors.
    #[test]
    fn choices_follow_their_probabilities() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for p in [0.0, 1e-300, 0.3, 0.999, 1.0] {
            let n = 20_000;
            let hits = (0..n).filter(|_| bernoulli(p, &mut rng)).count() as f64 / f64::from(n);
            assert!(
                (hits - p).abs() <= 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt().max(1e-12),
                "{p} {hits}"
            );
        }
        let n = 30_000;
        let mut counts = [0u32; 3];
        (0..n).for_each(|_| counts[below(3, &mut rng) as usize] += 1);
        for count in counts {
            let error = 4.0 * (2.0 / 9.0 / f64::from(n)).sqrt();
            assert!((f64::from(count) / f64::from(n) - 1.0 / 3.0).abs() < error);
        }
        assert!((0..100).all(|_| below(1, &mut rng) == 0 && below(u32::MAX, &mut rng) < u32::MAX));
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

    /// 2^-64 is the chance of a first word 0, and half of it that of a second word below 2^63 as well.
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
        let choose = |words: &[u64]| from_list(words, |word| below_from(3, word));
        assert_eq!(choose(&[0, u64::MAX]), (2, 2));
        assert_eq!(choose(&[1]), (0, 1));
        assert_eq!(choose(&[u64::MAX / 3 + 1]), (1, 1));
    }
}
