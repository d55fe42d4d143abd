//! Agreement of predicted and actual labels: accuracy and F1.

use super::classes::{distinct, numbered};
use super::{PerTask, ScoreError, same_length};

/// F1 scores: `2 TP / (2 TP + FP + FN)`, 0 where that is 0 / 0.
#[derive(Clone, Debug, PartialEq)]
pub struct F1 {
    /// The score of the counts summed over the labels.
    pub micro: f64,
    /// The unweighted mean of the labels' scores.
    pub macro_mean: f64,
    /// The score of each label, ascending by label.
    pub per_label: Vec<f64>,
}

/// True positives, false positives and false negatives of one label.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) hits: u64,
    pub(crate) false_alarms: u64,
    pub(crate) misses: u64,
}

impl Counts {
    fn add(&mut self, actual: bool, predicted: bool) {
        self.hits += u64::from(actual && predicted);
        self.false_alarms += u64::from(!actual && predicted);
        self.misses += u64::from(actual && !predicted);
    }

    fn f1(self) -> f64 {
        match 2 * self.hits + self.false_alarms + self.misses {
            0 => 0.0,
            all => (2 * self.hits) as f64 / all as f64,
        }
    }
}

impl F1 {
    /// The scores of one or more labels' counts.
    pub(crate) fn of(counts: &[Counts]) -> F1 {
        let total = counts.iter().fold(Counts::default(), |sum, label| Counts {
            hits: sum.hits + label.hits,
            false_alarms: sum.false_alarms + label.false_alarms,
            misses: sum.misses + label.misses,
        });
        let per_label: Vec<f64> = counts.iter().map(|label| label.f1()).collect();
        F1 {
            micro: total.f1(),
            macro_mean: per_label.iter().sum::<f64>() / per_label.len() as f64,
            per_label,
        }
    }
}

/// F1 of a multi-label prediction: every item may have any of `n_labels` labels.
///
/// `actual` and `predicted` have shape `(n, n_labels)`. A label that nobody has and nobody predicts
/// scores 0 and counts in the mean, as scikit-learn's `zero_division = 0` has it.
///
/// # Errors
///
/// [`ScoreError::Empty`] without items or labels, [`ScoreError::Length`].
pub fn f1_multi_label(actual: &[bool], predicted: &[bool], n_labels: usize) -> Result<F1, ScoreError> {
    if n_labels == 0 || actual.is_empty() {
        return Err(ScoreError::Empty);
    }
    same_length("actual", actual.len() / n_labels * n_labels, actual.len())?;
    same_length("predicted", actual.len(), predicted.len())?;
    let mut counts = vec![Counts::default(); n_labels];
    for (actual, predicted) in actual.chunks(n_labels).zip(predicted.chunks(n_labels)) {
        for ((label, actual), predicted) in counts.iter_mut().zip(actual).zip(predicted) {
            label.add(*actual, *predicted);
        }
    }
    Ok(F1::of(&counts))
}

/// F1 of binary labels of which some are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct MaskedF1 {
    /// The score of the counts summed over the labels; `None` where nothing is positive, neither in
    /// truth nor as predicted.
    pub micro: Option<f64>,
    /// The score of each label, `None` where nothing of it is positive, and the mean of the others.
    pub labels: PerTask,
}

/// F1 of a multi-label prediction over the known labels: unlike in [`f1_multi_label`], a label that
/// no item has and none is predicted to have is left out of the mean.
///
/// `actual`, `known` and `predicted` have shape `(n, n_labels)`. Unknown entries are not looked at.
///
/// # Errors
///
/// [`ScoreError::Empty`] without labels, [`ScoreError::Length`].
pub fn masked_f1(actual: &[bool], known: &[bool], predicted: &[bool], n_labels: usize) -> Result<MaskedF1, ScoreError> {
    if n_labels == 0 {
        return Err(ScoreError::Empty);
    }
    same_length("actual", actual.len() / n_labels * n_labels, actual.len())?;
    same_length("known", actual.len(), known.len())?;
    same_length("predicted", actual.len(), predicted.len())?;
    let mut counts = vec![Counts::default(); n_labels];
    for (at, (actual, predicted)) in actual.iter().zip(predicted).enumerate().filter(|(at, _)| known[*at]) {
        counts[at % n_labels].add(*actual, *predicted);
    }
    let f1 = F1::of(&counts);
    let has_positive = |label: &Counts| label.hits + label.false_alarms + label.misses > 0;
    let of_label = |(label, f1): (&Counts, &f64)| has_positive(label).then_some(*f1);
    Ok(MaskedF1 {
        micro: counts.iter().any(has_positive).then_some(f1.micro),
        labels: PerTask::of(counts.iter().zip(&f1.per_label).map(of_label).collect()),
    })
}

/// F1 of a single-label prediction over the classes that occur in either input; `micro` then equals
/// [`accuracy`].
///
/// `actual` and `predicted` have shape `(n,)`; ids need not be consecutive.
///
/// # Errors
///
/// [`ScoreError::Empty`], [`ScoreError::Length`].
pub fn f1_multi_class(actual: &[u32], predicted: &[u32]) -> Result<F1, ScoreError> {
    if actual.is_empty() {
        return Err(ScoreError::Empty);
    }
    same_length("predicted", actual.len(), predicted.len())?;
    let ids = distinct(actual.iter().chain(predicted).copied());
    let mut counts = vec![Counts::default(); ids.len()];
    for (actual, predicted) in numbered(actual, &ids).into_iter().zip(numbered(predicted, &ids)) {
        if actual == predicted {
            counts[actual].hits += 1;
        } else {
            counts[actual].misses += 1;
            counts[predicted].false_alarms += 1;
        }
    }
    Ok(F1::of(&counts))
}

/// The share of items whose class was predicted; both inputs have shape `(n,)`.
///
/// # Errors
///
/// [`ScoreError::Empty`], [`ScoreError::Length`].
pub fn accuracy(actual: &[u32], predicted: &[u32]) -> Result<f64, ScoreError> {
    if actual.is_empty() {
        return Err(ScoreError::Empty);
    }
    same_length("predicted", actual.len(), predicted.len())?;
    let hits = actual.iter().zip(predicted).filter(|(a, p)| a == p).count();
    Ok(hits as f64 / actual.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_never_occurs_scores_zero_and_counts() {
        let f1 = f1_multi_label(&[true, false, true, false], &[true, false, false, false], 2).unwrap();
        assert_eq!(f1.per_label, [2.0 / 3.0, 0.0]);
        assert_eq!((f1.micro, f1.macro_mean), (2.0 / 3.0, 1.0 / 3.0));
        assert_eq!(f1_multi_label(&[], &[], 2), Err(ScoreError::Empty));
        assert!(matches!(
            f1_multi_label(&[true; 3], &[true; 3], 2),
            Err(ScoreError::Length { input: "actual", .. })
        ));
    }

    /// By hand: label 0 has a hit and a miss, 1 a false alarm, 2 nothing positive that is known.
    #[test]
    fn unknown_labels_and_labels_without_a_positive_are_left_out() {
        let actual = [true, false, false, true, false, true];
        let known = [true, true, true, true, true, false];
        let predicted = [true, true, false, false, false, true];
        let f1 = masked_f1(&actual, &known, &predicted, 3).unwrap();
        assert_eq!(f1.labels.per_task, [Some(2.0 / 3.0), Some(0.0), None]);
        assert_eq!((f1.micro, f1.labels.mean), (Some(0.5), Some(1.0 / 3.0)));
        let none = masked_f1(&[false], &[true], &[false], 1).unwrap();
        assert_eq!((none.micro, none.labels.mean), (None, None));
        assert!(masked_f1(&[true; 3], &[true; 3], &[true; 3], 2).is_err());
    }

    #[test]
    fn classes_are_those_that_occur_in_either_input() {
        let f1 = f1_multi_class(&[7, 7, 9, u32::MAX], &[7, 9, 9, 0]).unwrap();
        assert_eq!(f1.per_label, [0.0, 2.0 / 3.0, 2.0 / 3.0, 0.0]);
        assert_eq!(f1.micro, accuracy(&[7, 7, 9, u32::MAX], &[7, 9, 9, 0]).unwrap());
    }
}
