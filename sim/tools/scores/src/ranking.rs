//! How far two orders of the same items agree: rank correlations, and how many of the first are the
//! same.

use crate::ScoreError;

/// What equal values rank as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// One after the other, in the order of their items: what sorting gives.
    ByIndex,
    /// All as the mean of their places, which a correlation takes account of.
    Mean,
}

impl Ties {
    /// The ranks of `values`, from 0.
    fn ranks(self, values: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut ranks = vec![0.0; values.len()];
        for (place, item) in order.iter().enumerate() {
            ranks[*item] = place as f64;
        }
        if self == Ties::Mean {
            for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
                let mean = equal.iter().map(|&item| ranks[item]).sum::<f64>() / equal.len() as f64;
                equal.iter().for_each(|&item| ranks[item] = mean);
            }
        }
        ranks
    }
}

fn checked(a: &[f64], b: &[f64]) -> Result<(), ScoreError> {
    if a.is_empty() {
        return Err(ScoreError::Empty);
    }
    if a.len() != b.len() {
        return Err(ScoreError::Length {
            input: "b",
            expected: a.len(),
            got: b.len(),
        });
    }
    for (input, values) in [("a", a), ("b", b)] {
        if let Some(index) = values.iter().position(|value| value.is_nan()) {
            return Err(ScoreError::Value {
                input,
                index,
                value: values[index],
            });
        }
    }
    Ok(())
}

/// Spearman's ρ: the correlation of ranks. 0 where all items of one side rank the same.
///
/// # Errors
///
/// No items, another number of them on the other side, or a value that is no number; so for all
/// functions here.
pub fn spearman(a: &[f64], b: &[f64], ties: Ties) -> Result<f64, ScoreError> {
    checked(a, b)?;
    let middle = (a.len() - 1) as f64 / 2.0;
    let [a, b] = [a, b].map(|values| ties.ranks(values));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let lengths = product(&a, &a).sqrt() * product(&b, &b).sqrt();
    Ok(if lengths > 0.0 { product(&a, &b) / lengths } else { 0.0 })
}

/// Kendall's τ of ranks, corrected for ties (τ-b). 0 where all items of one side rank the same.
///
/// # Complexity
///
/// The square of the number of items.
pub fn kendall(a: &[f64], b: &[f64], ties: Ties) -> Result<f64, ScoreError> {
    checked(a, b)?;
    let [a, b] = [a, b].map(|values| ties.ranks(values));
    let (mut agree, mut untied_a, mut untied_b) = (0_i64, 0_u64, 0_u64);
    for i in 0..a.len() {
        for j in 0..i {
            let [x, y] = [&a, &b].map(|ranks| ranks[i].total_cmp(&ranks[j]) as i64);
            agree += x * y;
            untied_a += x.unsigned_abs();
            untied_b += y.unsigned_abs();
        }
    }
    let most = (untied_a as f64).sqrt() * (untied_b as f64).sqrt();
    Ok(if most > 0.0 { agree as f64 / most } else { 0.0 })
}

/// Of the `k` items of greatest score the share that are no further than the `k`-th nearest; ties
/// in score go to the first items.
///
/// # Errors
///
/// As [`spearman`], and where there are fewer than `k` items or `k` is 0.
pub fn precision_at(k: usize, scores: &[f64], distances: &[f64]) -> Result<f64, ScoreError> {
    checked(scores, distances)?;
    let mut near = distances.to_vec();
    near.sort_by(f64::total_cmp);
    let mut best: Vec<usize> = (0..scores.len()).collect();
    best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (Some(last), Some(best)) = (k.checked_sub(1).and_then(|at| near.get(at)), best.get(..k)) else {
        return Err(ScoreError::Empty);
    };
    let found = best.iter().filter(|&&item| distances[item] <= *last).count();
    Ok(found as f64 / k as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 8] = [0.1, 0.5, 0.5, 0.9, 0.2, 0.7, 0.7, 0.7];
    const B: [f64; 8] = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];

    /// Against scipy 1.17: `spearmanr(A, B)`, `kendalltau(A, B)`.
    #[test]
    fn correlations_of_tied_ranks_are_those_of_scipy() {
        assert!((spearman(&A, &B, Ties::Mean).unwrap() + 0.080_271_386_564_524_39).abs() < 1e-12);
        assert!((kendall(&A, &B, Ties::Mean).unwrap() + 0.039_283_710_065_919_31).abs() < 1e-12);
    }

    #[test]
    fn the_same_order_and_the_reverse_are_the_ends() {
        let up = [1.0, 2.0, 3.0, 4.0];
        let down = [9.0, 7.0, 5.0, -1.0];
        for ties in [Ties::ByIndex, Ties::Mean] {
            assert!((spearman(&up, &up, ties).unwrap() - 1.0).abs() < 1e-15);
            assert!((spearman(&up, &down, ties).unwrap() + 1.0).abs() < 1e-15);
            assert!((kendall(&up, &up, ties).unwrap() - 1.0).abs() < 1e-15);
            assert!((kendall(&up, &down, ties).unwrap() + 1.0).abs() < 1e-15);
        }
        // Items in a row that rank the same by value do not by index.
        let flat = [1.0; 4];
        assert_eq!(kendall(&up, &flat, Ties::Mean), Ok(0.0));
        assert_eq!(spearman(&flat, &up, Ties::Mean), Ok(0.0));
        assert!((kendall(&up, &flat, Ties::ByIndex).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn all_that_are_as_near_as_the_last_count() {
        let scores = [0.9, 0.8, 0.7, 0.6, 0.5];
        assert_eq!(precision_at(2, &scores, &[1.0, 1.0, 2.0, 3.0, 3.0]), Ok(1.0));
        assert_eq!(precision_at(2, &scores, &[3.0, 1.0, 1.0, 1.0, 3.0]), Ok(0.5));
        assert_eq!(precision_at(2, &scores, &[3.0, 3.0, 1.0, 1.0, 2.0]), Ok(0.0));
        assert_eq!(precision_at(6, &scores, &[0.0; 5]), Err(ScoreError::Empty));
        assert_eq!(precision_at(0, &scores, &[0.0; 5]), Err(ScoreError::Empty));
    }

    #[test]
    fn what_is_no_number_is_named() {
        let wrong = spearman(&[1.0, f64::NAN], &[1.0, 2.0], Ties::Mean).unwrap_err();
        assert_eq!(wrong.to_string(), "a[1]: NaN is not a legal value");
        assert!(kendall(&[1.0], &[1.0, 2.0], Ties::Mean).is_err());
        assert_eq!(spearman(&[], &[], Ties::Mean), Err(ScoreError::Empty));
    }
}
