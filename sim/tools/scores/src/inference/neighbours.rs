//! Nearest neighbours.

use super::scaling::Scaling;
use super::{Known, Table};
use folkmoot_learning::{Layout, Tape};

/// The labels of the `k` known rows nearest to a target in standardised numbers, each weighted by
/// one over its distance, for every `k`; where fewer rows are known, of all of them.
pub(super) fn learn_and_score(ks: &[f64], known: &Known, targets: &Table, n_classes: usize) -> Vec<Vec<f64>> {
    let scaling = Scaling::of(&known.rows);
    let [known_rows, targets] = [&known.rows, targets].map(|table| scaling.apply(table));
    let most = ks
        .iter()
        .fold(0, |most, k| most.max(*k as usize))
        .min(known.labels.len());
    let squares = |table: &Table| -> Vec<f64> {
        let square = |row: &[f32]| row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        table.rows().map(square).collect()
    };
    let (known_squares, target_squares) = (squares(&known_rows), squares(&targets));
    let products: Vec<f32> = Tape::with_own(|tape| {
        tape.load(&Layout::new(), &[]);
        let [a, b] = [&targets, &known_rows].map(|table| tape.input(table.n_rows(), table.width(), table.values()));
        let products = tape.matmul_transposed(a, b);
        tape.value(products).to_vec()
    });
    let mut scores = vec![vec![0.0; targets.n_rows() * n_classes]; ks.len()];
    let rows = products.chunks_exact(known_squares.len().max(1));
    for (i, (row, square)) in rows.zip(&target_squares).enumerate() {
        let distance = |(at, product): (usize, &f32)| {
            let sum = square + known_squares[at];
            // Below that it is the rounding of the product.
            let squared = (sum - 2.0 * f64::from(*product)).max(1e-6 * sum).max(f64::MIN_POSITIVE);
            (squared, at)
        };
        let mut near: Vec<(f64, usize)> = row.iter().enumerate().map(distance).collect();
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if most < near.len() {
            near.select_nth_unstable_by(most, order);
            near.truncate(most);
        }
        near.sort_unstable_by(order);
        for (k, scores) in ks.iter().zip(&mut scores) {
            let near = &near[..near.len().min(*k as usize)];
            let nearest = near.first().map_or(1.0, |(squared, _)| *squared);
            // In units of the nearest, so that no weight is beyond range.
            let weight = |squared: f64| (nearest / squared).sqrt();
            let total: f64 = near.iter().map(|(squared, _)| weight(*squared)).sum();
            for (squared, at) in near {
                scores[i * n_classes + known.labels[*at] as usize] += weight(*squared) / total;
            }
        }
    }
    scores
}
