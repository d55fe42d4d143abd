//! Draws from any law over few values, in constant time.

use crate::SimRng;
use rand_chacha::rand_core::Rng;

/// A law over `0..n` by M. D. Vose's alias method (1991): one 64-bit word a draw.
#[derive(Debug)]
pub struct Alias {
    /// For each cell, the share of it that is its own, in units of 2^−32, and who has the rest.
    cells: Vec<(u32, u32)>,
}

impl Alias {
    /// The law with probabilities in proportion to `weights`, of which at least one is positive.
    ///
    /// Shares are rounded to 2^−32, so a probability is off by 2^−32 / n at most.
    pub fn new(weights: &[f64]) -> Alias {
        let n = weights.len();
        let sum: f64 = weights.iter().sum();
        let mut scaled: Vec<f64> = weights.iter().map(|weight| weight * n as f64 / sum).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| scaled[i] < 1.0);
        let mut cells: Vec<(u32, u32)> = (0..n).map(|i| (u32::MAX, i as u32)).collect();
        while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
            cells[low] = ((scaled[low] * 4_294_967_296.0) as u32, high as u32);
            scaled[high] -= 1.0 - scaled[low];
            if scaled[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Alias { cells }
    }

    /// A draw. Takes one `u64`.
    #[inline]
    pub fn draw(&self, rng: &mut SimRng) -> u32 {
        let word = rng.next_u64();
        let cell = ((word >> 32) * self.cells.len() as u64) >> 32;
        let (own, other) = self.cells[cell as usize];
        if (word as u32) < own { cell as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn draws_follow_the_weights_within_five_standard_errors() {
        let weights = [1.0, 0.0, 5.0, 2.0, 0.5];
        let law = Alias::new(&weights);
        let mut rng = SimRng::seed_from_u64(3);
        let n = 200_000;
        let mut counts = [0u32; 5];
        for _ in 0..n {
            counts[law.draw(&mut rng) as usize] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let p = weight / 8.5;
            let error = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!((f64::from(*count) - f64::from(n) * p).abs() <= 5.0 * error);
        }
        assert_eq!(counts[1], 0, "a value of weight 0 is never drawn");
    }

    #[test]
    fn value_stability() {
        let law = Alias::new(&[1.0, 0.0, 5.0, 2.0, 0.5]);
        let mut rng = SimRng::seed_from_u64(7);
        assert_eq!([(); 8].map(|()| law.draw(&mut rng)), [0, 0, 3, 3, 3, 2, 0, 4]);
    }
}
