//! The multi-bit encoder: a few entries of a matrix become random signs, the rest zeros.
//!
//! H. Jin and X. Chen. Gromov-Wasserstein Discrepancy with Local Differential Privacy for
//! Distributed Structural Graphs. 2022, Algorithm 1; after S. Sajadmanesh and D. Gatica-Perez.
//! Locally Private Graph Neural Networks. CCS 2021.
//!
//! An entry `x` in `low..=high` that is sampled becomes +1 with probability
//! `1 / (e^b + 1) + (x - low) / (high - low) × (e^b - 1) / (e^b + 1)` and -1 otherwise, `b` being
//! the budget of an entry; one that is not sampled becomes 0. Which entries are sampled does not
//! depend on the data, so a release costs `b` for each.
//!
//! The paper draws `m` positions from the whole matrix in its algorithm and `m` from each row in
//! its proof: [`Entries`] has both readings. Not modelled: the sparse layout on the wire, which
//! belongs to the strategy that sends it.

use folkmoot_draws::{SimRng, unit};

use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, positive};
use crate::noise::NoiseForm;

/// The budget at which one sampled entry more pays:
/// `m* = max(1, min(width, floor(epsilon / 2.18)))`.
const EPSILON_PER_ENTRY: f64 = 2.18;

/// Where the `m` sampled entries lie and what each may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// `m` in every row, `epsilon / (m n_rows)` each: the whole release costs `epsilon`.
    Row,
    /// `m` in the whole matrix, `epsilon / m` each: the whole release costs `epsilon`.
    Total,
    /// `m` in the whole matrix, `epsilon / (m n_rows)` each, as published: the release costs only
    /// `epsilon / n_rows`.
    TotalAsPublished,
}

/// The number of sampled entries that the paper recommends,
/// `max(1, min(width, floor(epsilon / 2.18)))`.
pub fn recommended_entries(epsilon: f64, width: usize) -> usize {
    // A float becomes the nearest integer in range: NaN becomes 0 and infinity the largest.
    ((epsilon / EPSILON_PER_ENTRY).floor() as usize).min(width).max(1)
}

/// The encoder for matrices of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultiBit {
    entries: Entries,
    epsilon: f64,
    n_rows: usize,
    width: usize,
    n_sampled: usize,
    low: f64,
    high: f64,
}

impl MultiBit {
    /// The encoder of matrices of shape `(n_rows, width)` with values in 0..=1 and the recommended
    /// number of entries.
    ///
    /// # Errors
    ///
    /// When `epsilon` is not finite and positive, or the shape is empty.
    pub fn new(entries: Entries, epsilon: f64, n_rows: usize, width: usize) -> Result<Self, ParameterError> {
        positive("epsilon", epsilon)?;
        positive("n_rows", n_rows as f64)?;
        positive("width", width as f64)?;
        Ok(MultiBit {
            entries,
            epsilon,
            n_rows,
            width,
            n_sampled: recommended_entries(epsilon, width),
            low: 0.0,
            high: 1.0,
        })
    }

    /// The same encoder for values in `low..=high`.
    ///
    /// # Errors
    ///
    /// When the bounds are not finite or not in order, or so far apart that their difference is
    /// infinite.
    pub fn with_range(self, low: f64, high: f64) -> Result<Self, ParameterError> {
        match (high - low).is_finite() && low < high {
            true => Ok(MultiBit { low, high, ..self }),
            false => Err(ParameterError {
                name: "high - low",
                rule: "finite and greater than 0",
                got: high - low,
            }),
        }
    }

    /// The same encoder with `m = n_sampled` entries of every row, or of the whole matrix.
    ///
    /// # Errors
    ///
    /// When there are fewer entries to sample from, or none is asked for.
    pub fn with_sampled(self, n_sampled: usize) -> Result<Self, ParameterError> {
        match (1..=self.pool()).contains(&n_sampled) {
            true => Ok(MultiBit { n_sampled, ..self }),
            false => Err(ParameterError {
                name: "n_sampled",
                rule: "at least 1 and at most the number of entries it is drawn from",
                got: n_sampled as f64,
            }),
        }
    }

    /// How many entries one draw of positions chooses among.
    fn pool(&self) -> usize {
        match self.entries {
            Entries::Row => self.width,
            Entries::Total | Entries::TotalAsPublished => self.n_rows.saturating_mul(self.width),
        }
    }

    /// The `m` of the formulas: sampled entries of every row, or of the whole matrix.
    pub fn n_sampled(&self) -> usize {
        self.n_sampled
    }

    /// The budget `b` of one sampled entry.
    pub fn entry_budget(&self) -> f64 {
        let (m, n) = (self.n_sampled as f64, self.n_rows as f64);
        match self.entries {
            Entries::Row | Entries::TotalAsPublished => self.epsilon / (m * n),
            Entries::Total => self.epsilon / m,
        }
    }

    /// The probability that a given entry is sampled: `m / width`, or `m / (n_rows width)`.
    pub fn selection_probability(&self) -> f64 {
        self.n_sampled as f64 / self.pool() as f64
    }

    /// The cost of the whole release: the budget of an entry times the number of sampled entries.
    pub fn total_epsilon(&self) -> f64 {
        match self.entries {
            Entries::Row | Entries::Total => self.epsilon,
            Entries::TotalAsPublished => self.epsilon / self.n_rows as f64,
        }
    }

    /// The probability that a sampled entry of value `x` becomes +1; `x` lies in `low..=high`.
    pub fn probability(&self, x: f64) -> f64 {
        // 1 / (e^b + 1) = (1 - tanh(b / 2)) / 2 and (e^b - 1) / (e^b + 1) = tanh(b / 2): exact for
        // the tiniest and largest b.
        let lean = libm::tanh(self.entry_budget() / 2.0);
        0.5 + lean * ((x - self.low) / (self.high - self.low) - 0.5)
    }

    /// The mean of an encoded entry whose value is `x`, sampled or not.
    pub fn mean(&self, x: f64) -> f64 {
        self.selection_probability() * (2.0 * self.probability(x) - 1.0)
    }

    /// The factor of [`MultiBit::rectify`]: `(high - low) / (2 π) × (e^b + 1) / (e^b - 1)`, π the
    /// selection probability.
    pub fn rectifier_scale(&self) -> f64 {
        let lean = libm::tanh(self.entry_budget() / 2.0);
        (self.high - self.low) / (2.0 * self.selection_probability() * lean)
    }

    /// An encoded entry as an unbiased estimate of its value:
    /// `rectifier_scale × encoded + (low + high) / 2`.
    pub fn rectify(&self, encoded: i8) -> f64 {
        self.rectifier_scale() * f64::from(encoded) + 0.5 * (self.low + self.high)
    }
}

impl Mechanism for MultiBit {
    /// A row-major matrix of the encoder's shape with values in its range.
    type Input = [f64];
    /// -1, 0 or +1 for each entry.
    type Release = Vec<i8>;

    /// Goes through the entries in index order: one `u64` decides whether an entry is sampled, a
    /// second one the sign of a sampled entry. Takes `n_rows × width + (number of sampled entries)`
    /// values.
    fn release_in(&self, _: NoiseForm, input: &[f64], rng: &mut SimRng) -> Result<Vec<i8>, ReleaseError> {
        let expected = self.n_rows.saturating_mul(self.width);
        if input.len() != expected {
            let got = input.len();
            return Err(ReleaseError::Length { expected, got });
        }
        if let Some(index) = input.iter().position(|x| !(self.low..=self.high).contains(x)) {
            let value = input[index];
            return Err(ReleaseError::Value { index, value });
        }
        let mut encoded = Vec::with_capacity(input.len());
        for group in input.chunks(self.pool()) {
            // Selection sampling (Knuth, The Art of Computer Programming 2, Algorithm 3.4.2 S):
            // every subset of m is equally likely.
            let mut wanted = self.n_sampled;
            for (at, &x) in group.iter().enumerate() {
                let left = (group.len() - at) as f64;
                if unit(rng) * left < wanted as f64 {
                    wanted -= 1;
                    encoded.push(if unit(rng) < self.probability(x) { 1 } else { -1 });
                } else {
                    encoded.push(0);
                }
            }
        }
        Ok(encoded)
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost {
            epsilon: self.total_epsilon(),
            delta: 0.0,
            unit: "all entries of the matrix",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    fn encoder(entries: Entries, epsilon: f64, n_rows: usize, width: usize) -> MultiBit {
        MultiBit::new(entries, epsilon, n_rows, width).unwrap()
    }

    #[test]
    fn value_stability() {
        let mechanism = encoder(Entries::Row, 6.0, 4, 3);
        let input: Vec<f64> = (0..12).map(|i| f64::from(i) / 11.0).collect();
        let release = mechanism.release(&input, &mut SimRng::seed_from_u64(7)).unwrap();
        assert_eq!(release, STABLE);
    }

    const STABLE: [i8; 12] = [1, 0, -1, 1, 0, -1, 1, 0, 1, 1, 1, 0];

    /// The share of each sign of each entry, within 4 standard errors.
    #[test]
    fn signs_follow_their_probabilities_under_every_reading() {
        let input = [0.0, 0.25, 0.5, 1.0, 0.9, 0.1];
        for (seed, entries) in [Entries::Row, Entries::Total, Entries::TotalAsPublished]
            .into_iter()
            .enumerate()
        {
            let mechanism = encoder(entries, 6.0, 2, 3);
            let mut rng = SimRng::seed_from_u64(seed as u64);
            let n = 40_000;
            let mut counts = [[0u32; 2]; 6];
            for _ in 0..n {
                let release = mechanism.release(&input, &mut rng).unwrap();
                for (counts, sign) in counts.iter_mut().zip(release) {
                    counts[0] += u32::from(sign == 1);
                    counts[1] += u32::from(sign == -1);
                }
            }
            for (counts, x) in counts.into_iter().zip(input) {
                let plus = mechanism.probability(x);
                for (count, conditional) in counts.into_iter().zip([plus, 1.0 - plus]) {
                    let p = mechanism.selection_probability() * conditional;
                    let error = (p * (1.0 - p) / f64::from(n)).sqrt();
                    assert!(
                        (f64::from(count) / f64::from(n) - p).abs() < 4.0 * error,
                        "{entries:?} at {x}"
                    );
                }
            }
        }
    }

    /// With one of two entries sampled, every pair of entries of a row is equally likely to be the
    /// sampled one.
    #[test]
    fn all_subsets_are_equally_likely() {
        let mechanism = encoder(Entries::Row, 6.0, 1, 4);
        let mut rng = SimRng::seed_from_u64(9);
        let n = 30_000;
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..n {
            let release = mechanism.release(&[0.5; 4], &mut rng).unwrap();
            let subset: Vec<usize> = (0..4).filter(|&at| release[at] != 0).collect();
            *counts.entry(subset).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        let error = (1.0 / 6.0 * 5.0 / 6.0 / f64::from(n)).sqrt();
        for count in counts.into_values() {
            assert!((f64::from(count) / f64::from(n) - 1.0 / 6.0).abs() < 4.0 * error);
        }
    }

    /// All entries at one end against all at the other: the likeliest release tells them apart by
    /// the sum of the budgets.
    #[test]
    fn the_worst_log_ratio_is_the_stated_cost() {
        for entries in [Entries::Row, Entries::Total, Entries::TotalAsPublished] {
            let mechanism = encoder(entries, 5.0, 3, 4).with_range(-1.0, 3.0).unwrap();
            let per_entry = libm::log(mechanism.probability(3.0) / mechanism.probability(-1.0));
            assert!((per_entry - mechanism.entry_budget()).abs() < 1e-12);
            let release = mechanism.release(&[0.0; 12], &mut SimRng::seed_from_u64(1)).unwrap();
            let n_sampled = release.iter().filter(|sign| **sign != 0).count();
            let worst = per_entry * n_sampled as f64;
            assert!((worst - mechanism.cost().epsilon).abs() < 1e-12, "{entries:?}");
        }
    }

    /// Whatever the range, the mean of a rectified entry is its value, and a range that is none
    /// says what it is.
    #[test]
    fn rectified_entries_are_unbiased_in_any_range() {
        let mechanism = encoder(Entries::Row, 5.0, 3, 4).with_range(-1.0, 3.0).unwrap();
        for x in [-1.0, 0.25, 3.0] {
            let (sampled, plus) = (mechanism.selection_probability(), mechanism.probability(x));
            let by_sign = [(1, sampled * plus), (-1, sampled * (1.0 - plus)), (0, 1.0 - sampled)];
            let mean: f64 = by_sign.map(|(sign, p)| p * mechanism.rectify(sign)).iter().sum();
            assert!((mean - x).abs() < 1e-12, "{mean} for {x}");
        }
        let error = mechanism.with_range(5.0, 2.0).unwrap_err().to_string();
        assert_eq!(error, "high - low: must be finite and greater than 0, got -3");
    }

    /// Algorithm 1 at its default epsilon = 1 / n: the sign is a coin that leans by 1 / 4n² (MUTAG:
    /// n = 18).
    #[test]
    fn the_default_budget_leaves_a_fair_coin() {
        let mechanism = encoder(Entries::Row, 1.0 / 18.0, 18, 2);
        let lean = mechanism.probability(1.0) - 0.5;
        assert!((lean - 1.0 / (4.0 * 18.0 * 18.0)).abs() < 1e-9);
        assert!((mechanism.rectifier_scale() - 648.0).abs() < 0.1);
    }

    #[test]
    fn recommended_entries_stay_within_one_and_the_width() {
        let recommended = [0.0, 2.17, 4.35, 4.36, 1e9, f64::NAN].map(|epsilon| recommended_entries(epsilon, 4));
        assert_eq!(recommended, [1, 1, 1, 2, 4, 1]);
    }

    #[test]
    fn parameters_and_inputs_are_checked() {
        let mechanism = encoder(Entries::Row, 1.0, 2, 2);
        for refused in [
            MultiBit::new(Entries::Row, 0.0, 2, 2),
            MultiBit::new(Entries::Row, 1.0, 0, 2),
            MultiBit::new(Entries::Row, 1.0, 2, 0),
            mechanism.with_range(1.0, 1.0),
            mechanism.with_range(f64::NAN, 1.0),
            mechanism.with_range(-f64::MAX, f64::MAX),
            mechanism.with_sampled(0),
            mechanism.with_sampled(3),
        ] {
            assert!(refused.is_err(), "{refused:?}");
        }
        let mut rng = SimRng::seed_from_u64(1);
        let error = mechanism.release(&[0.0; 3], &mut rng).unwrap_err();
        assert_eq!(error, ReleaseError::Length { expected: 4, got: 3 });
        for bad in [f64::NAN, 1.5, -0.1] {
            let error = mechanism.release(&[0.0, 0.0, bad, 0.0], &mut rng).unwrap_err();
            assert!(matches!(error, ReleaseError::Value { index: 2, .. }));
        }
    }

    proptest! {
        #[test]
        fn every_row_has_its_number_of_signs(n_rows in 1usize..6, width in 1usize..6, epsilon in 0.1f64..20.0, seed: u64) {
            let mut rng = SimRng::seed_from_u64(seed);
            let row = encoder(Entries::Row, epsilon, n_rows, width);
            for signs in row.release(&vec![0.5; n_rows * width], &mut rng).unwrap().chunks(width) {
                prop_assert_eq!(signs.iter().filter(|sign| **sign != 0).count(), row.n_sampled());
            }
            let total = encoder(Entries::Total, epsilon, n_rows, width);
            let release = total.release(&vec![0.5; n_rows * width], &mut rng).unwrap();
            prop_assert_eq!(release.iter().filter(|sign| **sign != 0).count(), total.n_sampled());
        }

        #[test]
        fn the_rectifier_inverts_the_mean(x in 0.0f64..1.0, epsilon in 0.1f64..20.0, width in 1usize..6) {
            let mechanism = encoder(Entries::Row, epsilon, 3, width);
            let estimate = mechanism.rectifier_scale() * mechanism.mean(x) + 0.5;
            prop_assert!((estimate - x).abs() < 1e-9);
        }
    }
}
