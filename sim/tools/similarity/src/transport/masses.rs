//! Weights as integer numbers of units, so that flows are added and compared without rounding.

/// Units of a measure whose weights differ: `2^60` in all, which keeps every bit of a weight above
/// `2^-7`.
const FINE: i64 = 1 << 60;

/// Positive weights, divided by their sum, as integers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Masses {
    /// Parts of [`FINE`], each at least 1.
    fine: Vec<i64>,
    is_uniform: bool,
}

impl Masses {
    /// The masses of these weights: at least one, all positive and finite, of finite sum.
    pub(crate) fn new(weights: &[f64]) -> Masses {
        debug_assert!(weights.iter().all(|&weight| weight > 0.0));
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        let mut fine: Vec<i64> = weights
            .iter()
            .map(|weight| ((weight / sum * FINE as f64).round_ties_even() as i64).max(1))
            .collect();
        // What rounding left over goes to the first of the heaviest points, which notices least.
        let rest = FINE - fine.iter().sum::<i64>();
        let heaviest = (0..fine.len()).rev().max_by_key(|&i| fine[i]);
        if let Some(heaviest) = heaviest {
            fine[heaviest] += rest;
        }
        let is_uniform = weights.iter().all(|weight| *weight == weights[0]);
        Masses { fine, is_uniform }
    }

    /// Whether all weights are equal.
    pub(crate) fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// Both in units of the same size, and how many of these are the whole.
    ///
    /// Uniform weights of `n` and `m` points come in units of `1 / lcm(n, m)`: small integers, in
    /// which sums of products with integers, such as hop counts, are exact.
    pub(crate) fn common_units(&self, other: &Masses) -> (Vec<i64>, Vec<i64>, f64) {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let total = self.common_units_into(other, &mut a, &mut b);
        (a, b, total)
    }

    /// [`Masses::common_units`] into vectors of the caller's.
    pub(crate) fn common_units_into(&self, other: &Masses, a: &mut Vec<i64>, b: &mut Vec<i64>) -> f64 {
        a.clear();
        b.clear();
        if self.is_uniform && other.is_uniform {
            let (n, m) = (self.fine.len(), other.fine.len());
            let common = n / greatest_common_divisor(n, m) * m;
            a.resize(n, (common / n) as i64);
            b.resize(m, (common / m) as i64);
            common as f64
        } else {
            a.extend_from_slice(&self.fine);
            b.extend_from_slice(&other.fine);
            FINE as f64
        }
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_weights_come_in_units_of_the_least_common_multiple() {
        let (a, b, total) = Masses::new(&[0.25; 4]).common_units(&Masses::new(&[7.0; 6]));
        assert_eq!((a, b, total), (vec![3; 4], vec![2; 6], 12.0));
    }

    #[test]
    fn other_weights_keep_their_proportions_and_both_sides_the_same_sum() {
        let weights = [0.1, 0.2, 0.3, 0.4];
        let (a, b, total) = Masses::new(&weights).common_units(&Masses::new(&[1.0; 7]));
        assert_eq!(a.iter().sum::<i64>(), FINE);
        assert_eq!(b.iter().sum::<i64>(), FINE);
        for (units, weight) in a.iter().zip(weights) {
            assert!((*units as f64 / total - weight).abs() < 1e-16);
        }
        let (a, ..) = Masses::new(&[1.0, 1e-300]).common_units(&Masses::new(&[1.0]));
        assert_eq!(a, [FINE - 1, 1]);
    }
}
