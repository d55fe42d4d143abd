//! Errors of predicted numbers.

use super::{ScoreError, legal, same_length};

/// Errors of predicted numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberErrors {
    /// Mean absolute error, in the unit of the numbers.
    pub mae: f64,
    /// Root of the mean squared error, in the same unit.
    pub rmse: f64,
    /// The coefficient of determination, `1 − Σ (y − ŷ)² / Σ (y − ȳ)²` with `ȳ` the mean of these
    /// numbers; `None` where all of them are equal. At most 1; below 0 it is worse than `ȳ`.
    pub r2: Option<f64>,
}

/// Errors of `predicted` against `actual`, both of shape `(n,)`; sums are in ascending order.
///
/// # Errors
///
/// [`ScoreError::Empty`], [`ScoreError::Length`], and [`ScoreError::Value`] for a number that is
/// not finite.
pub fn number_errors(actual: &[f64], predicted: &[f64]) -> Result<NumberErrors, ScoreError> {
    if actual.is_empty() {
        return Err(ScoreError::Empty);
    }
    same_length("predicted", actual.len(), predicted.len())?;
    legal("actual", actual, f64::is_finite)?;
    legal("predicted", predicted, f64::is_finite)?;
    let n = actual.len() as f64;
    let mean = actual.iter().sum::<f64>() / n;
    let (mut absolute, mut squared, mut spread) = (0.0, 0.0, 0.0);
    for (y, guess) in actual.iter().zip(predicted) {
        absolute += (y - guess).abs();
        squared += (y - guess) * (y - guess);
        spread += (y - mean) * (y - mean);
    }
    let differ = actual.iter().any(|y| *y != actual[0]);
    Ok(NumberErrors {
        mae: absolute / n,
        rmse: (squared / n).sqrt(),
        r2: (differ && spread > 0.0).then(|| 1.0 - squared / spread),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_definition() {
        let errors = number_errors(&[1.0, 2.0, 3.0, 6.0], &[1.0, 4.0, 3.0, 5.0]).unwrap();
        assert_eq!((errors.mae, errors.rmse), (0.75, (1.25_f64).sqrt()));
        assert_eq!(errors.r2, Some(1.0 - 5.0 / 14.0));
        let mean = number_errors(&[1.0, 3.0], &[2.0, 2.0]).unwrap();
        assert_eq!(mean.r2, Some(0.0));
        assert_eq!(number_errors(&[0.1; 3], &[0.2; 3]).unwrap().r2, None);
        assert_eq!(number_errors(&[], &[]), Err(ScoreError::Empty));
        assert!(number_errors(&[1.0], &[f64::NAN]).is_err() && number_errors(&[1.0], &[]).is_err());
    }
}
