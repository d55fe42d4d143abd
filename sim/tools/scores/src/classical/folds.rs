//! Folds for cross-validation.

use folkmoot_draws::{SimRng, shuffle_by_words};

use crate::evaluation::{EvaluationError, require};

/// Which items train and which are predicted, each in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The items that train.
    pub train: Vec<u32>,
    /// The items that are predicted.
    pub test: Vec<u32>,
}

/// The fold in `0..n_folds` of each item, so that the sizes of two folds differ by at most 1, both
/// in all and within every class of `y`.
///
/// A class with fewer items than folds is missing from some of them.
///
/// # Errors
/// [`EvaluationError`] if `n_folds` does not lie in `2..=y.len()`.
///
/// # Determinism
/// Draws `y.len() − 1` 32-bit words.
pub fn stratified_folds(y: &[u32], n_folds: usize, rng: &mut SimRng) -> Result<Vec<u32>, EvaluationError> {
    require((2..=y.len()).contains(&n_folds), "n_folds", || {
        format!("must lie in 2..={} (items), got {n_folds}", y.len())
    })?;
    let mut order: Vec<u32> = (0..y.len() as u32).collect();
    shuffle_by_words(rng, &mut order);
    order.sort_by_key(|&item| y[item as usize]);
    // Dealing the classes one after the other without a new start keeps the folds even as well as
    // the classes.
    let mut folds = vec![0; y.len()];
    for (at, &item) in order.iter().enumerate() {
        folds[item as usize] = (at % n_folds) as u32;
    }
    Ok(folds)
}

/// One split for each fold, in which that fold is predicted from all others.
pub fn splits(folds: &[u32]) -> Vec<Split> {
    let n_folds = folds.iter().max().map_or(0, |&last| last + 1);
    let of = |fold| {
        let (test, train) = (0..folds.len() as u32).partition(|&item| folds[item as usize] == fold);
        Split { train, test }
    };
    (0..n_folds).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    #[test]
    fn folds_are_even_in_all_and_within_every_class() {
        for (n_items, n_folds) in [(23, 5), (10, 10), (40, 3), (7, 2)] {
            let y: Vec<u32> = (0..n_items).map(|item| [4, 0, 4, 9, 4][item % 5]).collect();
            let folds = stratified_folds(&y, n_folds, &mut SimRng::seed_from_u64(1)).unwrap();
            let spread = |counted: &dyn Fn(u32) -> bool| {
                let size = |fold| (0..n_items).filter(|&i| folds[i] == fold && counted(y[i])).count();
                let sizes: Vec<usize> = (0..n_folds as u32).map(size).collect();
                sizes.iter().max().unwrap() - sizes.iter().min().unwrap()
            };
            assert!(spread(&|_| true) <= 1);
            for class in [0, 4, 9] {
                assert!(spread(&|y| y == class) <= 1, "{n_items} {n_folds} {class}");
            }
        }
    }

    #[test]
    fn splits_predict_every_item_once_from_all_others() {
        let found = splits(&[1, 0, 1, 2]);
        let split = |train: &[u32], test: &[u32]| Split {
            train: train.to_vec(),
            test: test.to_vec(),
        };
        let expected = [
            split(&[0, 2, 3], &[1]),
            split(&[1, 3], &[0, 2]),
            split(&[0, 1, 2], &[3]),
        ];
        assert_eq!(found, expected);
        assert_eq!(splits(&[]), []);
    }

    #[test]
    fn value_stability_and_limits() {
        let y = [0, 0, 0, 0, 1, 1, 1, 1, 1];
        let folds = stratified_folds(&y, 3, &mut SimRng::seed_from_u64(7)).unwrap();
        assert_eq!(folds, STABLE);
        let error = stratified_folds(&y, 10, &mut SimRng::seed_from_u64(7)).unwrap_err();
        assert_eq!(error.to_string(), "n_folds: must lie in 2..=9 (items), got 10");
    }

    const STABLE: [u32; 9] = [1, 0, 2, 0, 1, 2, 0, 1, 2];
}
