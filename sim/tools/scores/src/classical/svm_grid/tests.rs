//! The grid against single fits, and what nested folds may know.

use super::*;
use folkmoot_draws::{Rng, SeedableRng};

/// Distances on a line of which class 1 is the part beyond 0; every tenth item has the wrong class.
fn line(n: usize) -> (Vec<f64>, Vec<u32>) {
    let mut rng = SimRng::seed_from_u64(5);
    let x: Vec<f64> = (0..n)
        .map(|_| f64::from(rng.next_u32() >> 8) / f64::from(1 << 22) - 2.0)
        .collect();
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| u32::from((*x > 0.0) != (i % 10 == 9)))
        .collect();
    let distances = x
        .iter()
        .flat_map(|a| x.iter().map(move |b| (a - b) * (a - b)))
        .collect();
    (distances, y)
}

fn small() -> SvmGrid {
    SvmGrid {
        c: vec![1e-3, 1.0, 1e3],
        gamma: vec![1e-3, 1.0, 1e3],
        n_inner_folds: 3,
        ..SvmGrid::default()
    }
}

#[test]
fn the_default_grid_is_that_of_the_paper() {
    let SvmGrid { c, gamma, .. } = SvmGrid::default();
    assert_eq!((c.len(), c[0], c[7], c[14]), (15, 1e-7, 1.0, 1e7));
    assert_eq!(
        (gamma.len(), gamma[0], gamma[10], gamma[20]),
        (21, 1.0 / 1024.0, 1.0, 1024.0)
    );
}

/// The counts of a grid are those of one fit and prediction after the other.
#[test]
fn a_grid_counts_what_single_fits_predict() {
    let (distances, y) = line(30);
    let folds = splits(&stratified_folds(&y, 3, &mut SimRng::seed_from_u64(1)).unwrap());
    let grid = small();
    let choice = grid.select(&distances, &y, &folds).unwrap();
    let block = |rows: &[u32], columns: &[u32], gamma: f64| -> Vec<f64> {
        let entry = |row: u32, column: u32| libm::exp(-gamma * distances[row as usize * 30 + column as usize]);
        let row = |&row: &u32| {
            columns
                .iter()
                .map(move |&column| entry(row, column))
                .collect::<Vec<_>>()
        };
        rows.iter().flat_map(row).collect()
    };
    let mut expected = Vec::new();
    for &gamma in &grid.gamma {
        for &c in &grid.c {
            let mut n = 0;
            for Split { train, test } in &folds {
                let classes: Vec<u32> = train.iter().map(|&item| y[item as usize]).collect();
                let model = grid.svm(c).fit(&block(train, train, gamma), &classes).unwrap();
                let predicted = model.predict(&block(test, train, gamma)).unwrap();
                n += std::iter::zip(test, predicted)
                    .filter(|(item, class)| y[**item as usize] == *class)
                    .count();
            }
            expected.push(n as u32);
        }
    }
    assert_eq!(choice.n_correct, expected);
    let best = expected.iter().copied().max().unwrap();
    assert!(best >= 26 && choice.n_tested == 30, "{expected:?}");
    let at = |c: f64, gamma: f64| {
        let position = |list: &[f64], value| list.iter().position(|other| *other == value).unwrap();
        expected[position(&grid.gamma, gamma) * 3 + position(&grid.c, c)]
    };
    assert_eq!(at(choice.c, choice.gamma), best);
}

#[test]
fn of_equal_points_the_first_c_and_then_the_first_gamma_is_chosen() {
    // Two heaps far from each other: all points of the grid are right about every item.
    let y: Vec<u32> = (0..12).map(|item| item / 6).collect();
    let distances: Vec<f64> = (0..144)
        .map(|at| f64::from(u8::from(at / 12 / 6 != at % 12 / 6)))
        .collect();
    let folds = splits(&stratified_folds(&y, 3, &mut SimRng::seed_from_u64(1)).unwrap());
    let choice = small().select(&distances, &y, &folds).unwrap();
    assert_eq!((choice.c, choice.gamma, choice.n_correct), (1e-3, 1e-3, vec![12; 9]));
}

#[test]
fn nested_folds_predict_every_item_and_do_not_depend_on_threads() {
    let (distances, y) = line(60);
    let run = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let mut rng = SimRng::seed_from_u64(2);
        pool.install(|| small().cross_validate(&distances, &y, 5, &mut rng).unwrap())
    };
    let found = run(1);
    assert_eq!(found, run(3));
    let right = found.predictions.iter().zip(&y).filter(|(a, b)| a == b).count();
    assert!(
        (found.accuracy.mean - right as f64 / 60.0).abs() < 1e-12,
        "folds of 12 items each"
    );
    // One label in ten is wrong and cannot be learnt.
    assert!((50..=56).contains(&right), "{right}");
    assert!(found.choices.iter().all(|choice| choice.n_tested == 48));
}

/// Where the test items of a fold lie moves what the other folds choose from, and nothing of its
/// own choice.
#[test]
fn a_fold_is_chosen_without_its_test_items() {
    let (mut distances, y) = line(40);
    let cross = |distances: &[f64]| {
        let mut rng = SimRng::seed_from_u64(3);
        small().cross_validate(distances, &y, 4, &mut rng).unwrap().choices
    };
    let folds = stratified_folds(&y, 4, &mut SimRng::seed_from_u64(3)).unwrap();
    let before = cross(&distances);
    for (at, distance) in distances.iter_mut().enumerate() {
        if folds[at / 40] == 2 || folds[at % 40] == 2 {
            *distance = 4.0 - *distance / 4.0;
        }
    }
    let after = cross(&distances);
    let same: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a == b).collect();
    assert_eq!(same, [false, false, true, false]);
}

#[test]
fn what_cannot_be_chosen_is_an_error() {
    let (distances, y) = line(12);
    let text = |grid: SvmGrid, distances: &[f64], splits: &[Split]| {
        grid.select(distances, &y, splits).unwrap_err().to_string()
    };
    let split = |train: &[u32], test: &[u32]| Split {
        train: train.to_vec(),
        test: test.to_vec(),
    };
    let none = SvmGrid { c: vec![], ..small() };
    assert_eq!(text(none, &distances, &[]), "c: must have a value or more, got none");
    let zero = SvmGrid {
        gamma: vec![1.0, 0.0],
        ..small()
    };
    assert_eq!(
        text(zero, &distances, &[]),
        "gamma: must be finite and greater than 0, got 0"
    );
    assert_eq!(text(small(), &[0.0; 3], &[]), "distances: must have 144 items, got 3");
    assert_eq!(
        text(small(), &[-1.0; 144], &[]),
        "distances: must be at least 0 up to rounding, got -1"
    );
    assert_eq!(text(small(), &distances, &[]), "splits: must be one or more, got 0");
    assert_eq!(
        text(small(), &distances, &[split(&[12], &[1])]),
        "splits: items must lie below 12"
    );
    assert_eq!(
        text(small(), &distances, &[split(&[], &[1])]),
        "splits: must have training and test items"
    );
    let many = SvmGrid {
        n_inner_folds: 9,
        ..small()
    };
    let error = many
        .cross_validate(&distances, &y, 3, &mut SimRng::seed_from_u64(1))
        .unwrap_err();
    assert_eq!(error.to_string(), "n_inner_folds: must lie in 2..=8 (items), got 9");
}

/// Clipped, the kernel of every point is the nearest positive one over all items.
#[test]
fn a_clipped_grid_fits_clipped_kernels() {
    let (mut distances, y) = line(30);
    // Roots of distances that no longer keep the triangle inequality: far from any positive kernel.
    for (at, distance) in distances.iter_mut().enumerate() {
        let (low, high) = ((at / 30).min(at % 30), (at / 30).max(at % 30));
        *distance *= 0.2 + 1.6 * f64::from(u8::from((low * 7 + high * 3) % 5 < 2));
    }
    let folds = splits(&stratified_folds(&y, 3, &mut SimRng::seed_from_u64(1)).unwrap());
    let grid = SvmGrid {
        c: vec![10.0],
        gamma: vec![0.5],
        clip: true,
        ..small()
    };
    let kernel: Vec<f64> = distances.iter().map(|distance| libm::exp(-0.5 * distance)).collect();
    let clipped = clip_negative(&kernel, 30).unwrap();
    let change = kernel
        .iter()
        .zip(&clipped)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(change > 0.05, "{change}");
    let right = |kernel: &[f64]| -> u32 {
        let each = folds
            .iter()
            .map(|split| grid.predict(kernel, &y, split, 10.0).n_correct);
        each.sum()
    };
    assert_ne!(
        right(&kernel),
        right(&clipped),
        "the test would not see a grid that does not clip"
    );
    assert_eq!(
        grid.select(&distances, &y, &folds).unwrap().n_correct,
        [right(&clipped)]
    );
}

#[test]
fn fits_that_stop_early_are_counted() {
    let (distances, y) = line(30);
    let grid = SvmGrid {
        max_steps: 2,
        ..small()
    };
    let found = grid
        .cross_validate(&distances, &y, 3, &mut SimRng::seed_from_u64(4))
        .unwrap();
    assert_eq!(found.n_stopped, 3);
    assert!(
        found.choices.iter().all(|choice| choice.n_stopped == 27),
        "nine points of three splits each"
    );
    let full = small()
        .cross_validate(&distances, &y, 3, &mut SimRng::seed_from_u64(4))
        .unwrap();
    assert!(full.n_stopped == 0 && full.choices.iter().all(|choice| choice.n_stopped == 0));
}

/// A kernel given is the kernel computed, and the last fit sees what the choice did not.
#[test]
fn a_given_kernel_is_as_good_as_its_distances() {
    let (distances, y) = line(40);
    let grid = SvmGrid {
        gamma: vec![0.5],
        ..small()
    };
    let every_fourth_from = |rest: &[u32]| -> Vec<u32> { (0..40).filter(|i| rest.contains(&(i % 4))).collect() };
    let (chosen, outer) = (
        Split {
            train: every_fourth_from(&[0, 1]),
            test: every_fourth_from(&[2]),
        },
        Split {
            train: every_fourth_from(&[0, 1, 2]),
            test: every_fourth_from(&[3]),
        },
    );
    let by_distance = grid
        .choose_and_test(
            Comparison::Distances(&distances),
            &y,
            std::slice::from_ref(&chosen),
            &outer,
        )
        .unwrap();
    let kernel: Vec<f64> = distances.iter().map(|distance| libm::exp(-0.5 * distance)).collect();
    let by_kernel = grid
        .choose_and_test(Comparison::Kernel(&kernel), &y, std::slice::from_ref(&chosen), &outer)
        .unwrap();
    assert_eq!(by_distance.predictions, by_kernel.predictions);
    assert_eq!((by_distance.choice.gamma, by_kernel.choice.gamma), (0.5, 1.0));
    assert_eq!(by_distance.choice.c, by_kernel.choice.c);
    assert_eq!((by_distance.choice.n_tested, by_distance.predictions.len()), (10, 10));
    let tested = outer.test.iter().map(|&item| y[item as usize]);
    let right = by_distance.predictions.iter().zip(tested).filter(|(a, b)| **a == *b);
    assert_eq!(right.count() as u32, by_distance.n_correct);
    assert!(by_distance.n_correct >= 8, "{by_distance:?}");
    let short = grid.choose_and_test(Comparison::Kernel(&kernel[1..]), &y, &[chosen], &outer);
    assert_eq!(short.unwrap_err().to_string(), "kernel: must have 1600 items, got 1599");
}
