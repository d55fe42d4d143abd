//! The area under the ROC curve, from ranks, and average precision.

use super::{ScoreError, legal, same_length, shape};

/// The probability that a random positive item scores above a random negative one, ties counting
/// one half.
///
/// `positive` and `scores` have shape `(n,)`; scores may be infinite but not NaN. It is the
/// Mann-Whitney statistic `(R - P (P + 1) / 2) / (P N)` with `R` the sum of the `P` positives'
/// mid-ranks and `N` the number of negatives (Hanley and McNeil 1982). The ranks are summed as
/// integers, so the value does not depend on the order of the items.
///
/// # Errors
///
/// [`ScoreError::Length`], [`ScoreError::Value`] for a NaN, [`ScoreError::OneClass`] where all
/// items have one class.
///
/// # Complexity
///
/// O(n log n) time.
pub fn auc(positive: &[bool], scores: &[f64]) -> Result<f64, ScoreError> {
    same_length("scores", positive.len(), scores.len())?;
    legal("scores", scores, |score| !score.is_nan())?;
    let pairs = scores.iter().copied().zip(positive.iter().copied()).collect();
    rank_auc(pairs).ok_or(ScoreError::OneClass { task: 0 })
}

/// The largest share of positive items above some bound that at most `max_false` of the negative
/// ones are above: what is found at a given rate of false alarms.
///
/// `positive` and `scores` have shape `(n,)`; scores may be infinite but not NaN. Items of one
/// score lie above a bound together, so a group of equal scores that holds too many negatives
/// counts nothing. `max_false` in `0..=1`; nothing is interpolated.
///
/// # Errors
///
/// As [`auc`]; [`ScoreError::Value`] for a rate out of range.
pub fn true_positive_rate(positive: &[bool], scores: &[f64], max_false: f64) -> Result<f64, ScoreError> {
    same_length("scores", positive.len(), scores.len())?;
    legal("scores", scores, |score| !score.is_nan())?;
    legal("max_false", &[max_false], |rate| (0.0..=1.0).contains(&rate))?;
    let mut items: Vec<(f64, bool)> = scores.iter().copied().zip(positive.iter().copied()).collect();
    items.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let n_positive = items.iter().filter(|item| item.1).count();
    let n_negative = items.len() - n_positive;
    if n_positive == 0 || n_negative == 0 {
        return Err(ScoreError::OneClass { task: 0 });
    }
    let (mut found, mut alarms) = (0, 0);
    for group in items.chunk_by(|a, b| a.0 == b.0) {
        let hits = group.iter().filter(|item| item.1).count();
        alarms += group.len() - hits;
        if alarms as f64 > max_false * n_negative as f64 {
            break;
        }
        found += hits;
    }
    Ok(found as f64 / n_positive as f64)
}

/// The area for items `(score, positive)` without NaN; `None` if one class is missing.
pub(crate) fn rank_auc(mut items: Vec<(f64, bool)>) -> Option<f64> {
    items.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // `chunk_by` compares with ==, so that -0 and 0 tie although `total_cmp` tells them apart.
    auc_of_groups(items.chunk_by(|a, b| a.0 == b.0).map(|group| {
        let n_positive = group.iter().filter(|item| item.1).count() as u64;
        (n_positive, group.len() as u64 - n_positive)
    }))
}

/// The area for groups of items with one score, the lowest first: how many of a group are positive
/// and how many negative. `None` if one class is missing.
///
/// For items that are too many to be listed, such as all pairs of vertices. A positive item wins
/// against the negative ones of the groups below and half of those of its own, which is counted in
/// integers: the value is that of [`auc`] to the bit.
pub fn auc_of_groups(groups: impl IntoIterator<Item = (u64, u64)>) -> Option<f64> {
    let (mut n_positive, mut n_negative, mut doubled_wins) = (0, 0, 0);
    for (positive, negative) in groups {
        let (positive, negative) = (u128::from(positive), u128::from(negative));
        doubled_wins += positive * (2 * n_negative + negative);
        n_positive += positive;
        n_negative += negative;
    }
    (n_positive > 0 && n_negative > 0).then(|| doubled_wins as f64 / (2 * n_positive * n_negative) as f64)
}

/// A score of each of many binary tasks with missing labels.
#[derive(Clone, Debug, PartialEq)]
pub struct PerTask {
    /// Shape `(n_tasks,)`; `None` where the score is undefined for the labelled items.
    pub per_task: Vec<Option<f64>>,
    /// The mean over the tasks that have a score; `None` if there is none.
    pub mean: Option<f64>,
}

impl PerTask {
    pub(crate) fn of(per_task: Vec<Option<f64>>) -> PerTask {
        let used: Vec<f64> = per_task.iter().copied().flatten().collect();
        let mean = (!used.is_empty()).then(|| used.iter().sum::<f64>() / used.len() as f64);
        PerTask { per_task, mean }
    }

    /// How many tasks the mean is over.
    pub fn n_used(&self) -> usize {
        self.per_task.iter().flatten().count()
    }
}

/// The area of each of `n_tasks` binary tasks over its labelled items, and their mean; a task that
/// lacks a class has none.
///
/// `positive`, `labelled` and `scores` have shape `(n, n_tasks)`. Unlabelled entries are not looked
/// at.
///
/// # Errors
///
/// [`ScoreError::Empty`] without tasks, [`ScoreError::Length`], [`ScoreError::Value`] for a NaN at
/// a labelled place.
pub fn masked_auc(positive: &[bool], labelled: &[bool], scores: &[f64], n_tasks: usize) -> Result<PerTask, ScoreError> {
    per_task(positive, labelled, scores, n_tasks, rank_auc)
}

/// The average precision of each of `n_tasks` binary tasks over its labelled items, and their mean;
/// a task without a positive item has none.
///
/// It is `Σ (R_k − R_{k−1}) P_k` with the recall `R_k` and precision `P_k` of the items that score
/// at least the `k`-th largest score, as in scikit-learn's `average_precision_score`. Items of one
/// score pass together; nothing is interpolated. A constant score reaches the share of positives.
///
/// Shapes and errors as of [`masked_auc`].
///
/// # Errors
///
/// As [`masked_auc`].
pub fn masked_average_precision(
    positive: &[bool],
    labelled: &[bool],
    scores: &[f64],
    n_tasks: usize,
) -> Result<PerTask, ScoreError> {
    per_task(positive, labelled, scores, n_tasks, average_precision)
}

fn per_task(
    positive: &[bool],
    labelled: &[bool],
    scores: &[f64],
    n_tasks: usize,
    score: fn(Vec<(f64, bool)>) -> Option<f64>,
) -> Result<PerTask, ScoreError> {
    if n_tasks == 0 {
        return Err(ScoreError::Empty);
    }
    shape("positive", positive.len() / n_tasks, n_tasks, positive.len())?;
    same_length("labelled", positive.len(), labelled.len())?;
    same_length("scores", positive.len(), scores.len())?;
    let bad = |at: &usize| labelled[*at] && scores[*at].is_nan();
    if let Some(index) = (0..scores.len()).find(bad) {
        return Err(ScoreError::Value {
            input: "scores",
            index,
            value: scores[index],
        });
    }
    let of_task = |task: usize| {
        let places = (task..positive.len()).step_by(n_tasks).filter(|&at| labelled[at]);
        score(places.map(|at| (scores[at], positive[at])).collect())
    };
    Ok(PerTask::of((0..n_tasks).map(of_task).collect()))
}

/// The average precision for items `(score, positive)` without NaN; `None` without a positive one.
fn average_precision(mut items: Vec<(f64, bool)>) -> Option<f64> {
    items.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let n_positive = items.iter().filter(|item| item.1).count();
    let (mut found, mut passed, mut sum) = (0, 0, 0.0);
    for group in items.chunk_by(|a, b| a.0 == b.0) {
        let hits = group.iter().filter(|item| item.1).count();
        (found, passed) = (found + hits, passed + group.len());
        sum += hits as f64 * (found as f64 / passed as f64);
    }
    (n_positive > 0).then(|| sum / n_positive as f64)
}

/// The unweighted mean over classes of the area of "this class against the rest".
///
/// `actual` has shape `(n,)` with ids below `n_classes`, `scores` shape `(n, n_classes)`, used as
/// given: rows that should be probabilities must be normalised by the caller, because ranks within
/// a column change with the rows' scale.
///
/// # Errors
///
/// [`ScoreError::Length`], [`ScoreError::Class`], [`ScoreError::Value`] for a NaN, and
/// [`ScoreError::OneClass`] with the class that has no item or all of them; [`ScoreError::Empty`]
/// without classes.
pub fn auc_one_vs_rest(actual: &[u32], scores: &[f64], n_classes: usize) -> Result<f64, ScoreError> {
    if n_classes == 0 {
        return Err(ScoreError::Empty);
    }
    shape("scores", actual.len(), n_classes, scores.len())?;
    legal("scores", scores, |score| !score.is_nan())?;
    if let Some(index) = actual.iter().position(|&class| class as usize >= n_classes) {
        return Err(ScoreError::Class {
            index,
            class: actual[index],
            n_classes,
        });
    }
    let mut sum = 0.0;
    for task in 0..n_classes {
        let column = scores.iter().skip(task).step_by(n_classes);
        let items = column
            .zip(actual)
            .map(|(&score, &class)| (score, class as usize == task));
        sum += rank_auc(items.collect()).ok_or(ScoreError::OneClass { task })?;
    }
    Ok(sum / n_classes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_count_one_half() {
        assert_eq!(auc(&[false, true, true], &[0.5, 0.5, 0.9]).unwrap(), 0.75);
        assert_eq!(auc(&[false, true], &[0.0, -0.0]).unwrap(), 0.5);
        assert_eq!(auc(&[false, true], &[f64::NEG_INFINITY, f64::INFINITY]).unwrap(), 1.0);
    }

    #[test]
    fn what_is_found_counts_up_to_the_rate_of_false_alarms() {
        let positive = [true, false, true, true, false, false];
        let scores = [0.9, 0.8, 0.7, 0.7, 0.7, 0.1];
        let found = |rate| true_positive_rate(&positive, &scores, rate).unwrap();
        assert_eq!(
            [0.0, 0.34, 0.6, 0.67, 1.0].map(found),
            [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0, 1.0]
        );
        assert!(true_positive_rate(&[true], &[0.5], 0.1).is_err());
        assert!(true_positive_rate(&positive, &scores, 1.5).is_err());
    }

    #[test]
    fn an_unlabelled_value_is_not_looked_at() {
        let positive = [true, true, false, true, true, false];
        let labelled = [true, true, true, true, false, false];
        let scores = [0.9, 0.1, 0.2, 0.3, f64::NAN, f64::NAN];
        let found = masked_auc(&positive, &labelled, &scores, 2).unwrap();
        assert_eq!(found.per_task, [Some(1.0), None]);
        assert_eq!((found.mean, found.n_used()), (Some(1.0), 1));
        assert_eq!(
            masked_auc(&positive, &[true; 6], &scores, 2).unwrap_err().to_string(),
            "scores[4]: NaN is not a legal value"
        );
        assert!(masked_auc(&positive, &labelled, &scores, 4).is_err());
        assert_eq!(masked_auc(&[], &[], &[], 2).unwrap().mean, None);
    }

    /// By hand: the first task has precision 1 at recall 1/2 and 2/3 at 1; its last item is not
    /// known. In the second all score the same.
    #[test]
    fn precision_is_averaged_over_what_is_found() {
        let positive = [true, true, false, false, true, false, true, false];
        let labelled = [true, true, true, true, true, true, false, true];
        let scores = [0.9, 0.5, 0.7, 0.5, 0.6, 0.5, f64::NAN, 0.5];
        let found = masked_average_precision(&positive, &labelled, &scores, 2).unwrap();
        assert_eq!(found.per_task, [Some((1.0 + 2.0 / 3.0) / 2.0), Some(0.25)]);
        let none = masked_average_precision(&[false; 2], &[true; 2], &[0.1, 0.2], 1).unwrap();
        assert_eq!((none.per_task, none.mean), (vec![None], None));
    }

    #[test]
    fn a_class_without_items_has_no_area() {
        assert_eq!(
            auc_one_vs_rest(&[0, 1], &[0.0; 6], 3),
            Err(ScoreError::OneClass { task: 2 })
        );
    }

    proptest! {
        /// The definition, by counting pairs.
        #[test]
        fn the_area_is_the_share_of_pairs_in_order(items in proptest::collection::vec((0u8..6, any::<bool>()), 0..30)) {
            let positive: Vec<bool> = items.iter().map(|item| item.1).collect();
            let scores: Vec<f64> = items.iter().map(|item| f64::from(item.0)).collect();
            let (mut won, mut pairs) = (0.0, 0.0);
            for (a, _) in items.iter().filter(|item| item.1) {
                for (b, _) in items.iter().filter(|item| !item.1) {
                    won += if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 };
                    pairs += 1.0;
                }
            }
            match auc(&positive, &scores) {
                Ok(area) => prop_assert_eq!(area, won / pairs),
                Err(error) => {
                    prop_assert_eq!(error, ScoreError::OneClass { task: 0 });
                    prop_assert_eq!(pairs, 0.0);
                }
            }
        }
    }
}
