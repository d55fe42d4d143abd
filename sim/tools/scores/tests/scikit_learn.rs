//! Scores of several labels and of numbers, against scikit-learn 1.9.1: `average_precision_score`,
//! `roc_auc_score` and `f1_score` of each label on its known entries, `f1_score` of all known
//! entries for the micro mean, `mean_absolute_error`, `root_mean_squared_error` and `r2_score`.
#![allow(clippy::unwrap_used)]

use folkmoot_scores::{PerTask, masked_auc, masked_average_precision, masked_f1, number_errors};

const N_LABELS: usize = 4;

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got} {expected}");
}

fn near_all(got: &PerTask, expected: [f64; 3]) {
    let (last, first) = got.per_task.split_last().unwrap();
    first
        .iter()
        .zip(expected)
        .for_each(|(got, expected)| near(got.unwrap(), expected));
    assert_eq!(*last, None, "nothing of the last label is positive");
    near(got.mean.unwrap(), expected.iter().sum::<f64>() / 3.0);
}

#[test]
fn scores_of_several_labels_are_those_of_scikit_learn() {
    let all = || 0..40 * N_LABELS;
    let is_last = |i: usize| i % N_LABELS == 3;
    let scores: Vec<f64> = all().map(|i| ((i * 37 + 11) % 23) as f64 / 23.0).collect();
    let positive: Vec<bool> = all().map(|i| !is_last(i) && (i * 29 + 5) % 13 < 4).collect();
    let known: Vec<bool> = all().map(|i| (i * 17) % 9 != 0).collect();
    let predicted: Vec<bool> = all().map(|i| !is_last(i) && scores[i] > 0.6).collect();
    near_all(
        &masked_average_precision(&positive, &known, &scores, N_LABELS).unwrap(),
        [0.34998223865448747, 0.40276252820877567, 0.3312686258647457],
    );
    near_all(
        &masked_auc(&positive, &known, &scores, N_LABELS).unwrap(),
        [0.4905303030303031, 0.553030303030303, 0.509090909090909],
    );
    let f1 = masked_f1(&positive, &known, &predicted, N_LABELS).unwrap();
    near_all(
        &f1.labels,
        [0.38461538461538464, 0.2857142857142857, 0.37037037037037035],
    );
    near(f1.micro.unwrap(), 0.35135135135135137);
}

#[test]
fn errors_of_numbers_are_those_of_scikit_learn() {
    let actual: Vec<f64> = (0..50).map(|i| f64::from((i * 31) % 17) * 0.5 - 3.0).collect();
    let guess = |(i, y): (usize, &f64)| y + ((i * 7 % 5) as f64 - 1.5) * 0.4;
    let predicted: Vec<f64> = actual.iter().enumerate().map(guess).collect();
    let errors = number_errors(&actual, &predicted).unwrap();
    near(errors.mae, 0.52);
    near(errors.rmse, 0.6);
    near(errors.r2.unwrap(), 0.9399249061326659);
}
