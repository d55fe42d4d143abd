//! The discrete Laplace and the discrete Gaussian distribution, in exact arithmetic.
//!
//! C. Canonne, G. Kamath and T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS
//! 2020, algorithms 1 to 3. <https://arxiv.org/abs/2004.00010>
//!
//! All probabilities are ratios of integers of 128 bits, and no floating-point number occurs. A
//! scale is an integer: a noise scale that is none is given as an integer number of grid steps.

use crate::SimRng;
use crate::uniform::index;
use rand_chacha::rand_core::Rng;

/// The largest scale: squares of it, times the length of a series, fit into 128 bits.
pub const MAX_DISCRETE_SCALE: u64 = 1 << 46;

/// An integer `x` with probability proportional to `exp(-|x| / scale)`; `scale` lies in
/// `1..=MAX_DISCRETE_SCALE`. Takes as many words as it needs.
pub fn discrete_laplace(rng: &mut SimRng, scale: u64) -> i128 {
    let steps = u128::from(scale);
    loop {
        // The size in two parts: below the scale, and how many times the scale.
        let below = loop {
            let below = index(rng, scale as usize) as u128;
            if is_below_exp(rng, below, steps) {
                break below;
            }
        };
        let mut times = 0u128;
        while is_below_exp(rng, 1, 1) {
            times += 1;
        }
        let size = (below + steps * times) as i128;
        // A zero has one sign only.
        match (rng.next_u64() & 1, size) {
            (0, _) => return size,
            (_, 0) => {}
            _ => return -size,
        }
    }
}

/// An integer `x` with probability proportional to `exp(-x² / (2 scale²))`; `scale` lies in
/// `1..=MAX_DISCRETE_SCALE`. Takes as many words as it needs.
pub fn discrete_normal(rng: &mut SimRng, scale: u64) -> i128 {
    let steps = u128::from(scale);
    loop {
        let proposal = discrete_laplace(rng, scale);
        let off = proposal.unsigned_abs().abs_diff(steps);
        // No proposal in 2^64 of them is so far out; the square would not fit.
        let square = off.saturating_mul(off);
        if is_below_exp(rng, square, 2 * steps * steps) {
            return proposal;
        }
    }
}

/// Whether an event of probability `exp(-numerator / denominator)` occurs.
fn is_below_exp(rng: &mut SimRng, numerator: u128, denominator: u128) -> bool {
    let mut coin = |numerator, denominator| occurs(&mut || rng.next_u64(), numerator, denominator);
    (0..numerator / denominator).all(|_| series(&mut coin, 1, 1))
        && series(&mut coin, numerator % denominator, denominator)
}

/// The same for a ratio of at most 1: of coins with probabilities `ratio / 1`, `ratio / 2`, … the
/// first `k` succeed with probability `ratio^k / k!`, so that the first failure has an odd place
/// with probability `exp(-ratio)`.
fn series(coin: &mut impl FnMut(u128, u128) -> bool, numerator: u128, denominator: u128) -> bool {
    let mut place = 1;
    while coin(numerator, denominator * place) {
        place += 1;
    }
    place % 2 == 1
}

/// Whether an event of probability `numerator / denominator`, at most 1, occurs: compares the
/// binary digits of the ratio with random ones until two differ. `denominator` is below 2^127.
fn occurs(word: &mut impl FnMut() -> u64, mut numerator: u128, denominator: u128) -> bool {
    if numerator >= denominator {
        return true;
    }
    let n_bits = denominator.leading_zeros().min(64);
    while numerator > 0 {
        let shifted = numerator << n_bits;
        let (digits, random) = (shifted / denominator, u128::from(word() >> (64 - n_bits)));
        if random != digits {
            return random < digits;
        }
        numerator = shifted % denominator;
    }
    false
}

#[cfg(test)]
mod tests;
