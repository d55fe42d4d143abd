//! How well an embedding keeps neighbourhoods.

use super::{ScoreError, legal, shape};

/// The trustworthiness of an embedding: 1 if the `k` nearest neighbours of every embedded item are
/// its nearest in the data.
///
/// `data` has shape `(n, n_features)`, `embedded` shape `(n, n_components)`; both under the
/// Euclidean distance, ties by index. With `r(i, j)` the rank of `j` among the neighbours of `i` in
/// the data (1 = nearest) and `U(i)` the `k` nearest in the embedding, it is `1 - 2 / (n k (2n - 3k
/// - 1)) × sum over i, j in U(i) of max(0, r(i, j) - k)` (Venna and Kaski 2001).
///
/// # Errors
///
/// [`ScoreError::Empty`] for a width of 0, [`ScoreError::Length`], [`ScoreError::Value`] for a
/// value that is not finite, [`ScoreError::Neighbours`] unless `1 <= k < n / 2`.
///
/// # Complexity
///
/// O(n² (n_features + n_components + log n)) time.
pub fn trustworthiness(
    data: &[f64],
    n_features: usize,
    embedded: &[f64],
    n_components: usize,
    k: usize,
) -> Result<f64, ScoreError> {
    if n_features == 0 || n_components == 0 {
        return Err(ScoreError::Empty);
    }
    let n_items = data.len() / n_features;
    shape("data", n_items, n_features, data.len())?;
    shape("embedded", n_items, n_components, embedded.len())?;
    legal("data", data, f64::is_finite)?;
    legal("embedded", embedded, f64::is_finite)?;
    if k == 0 || k >= n_items.div_ceil(2) {
        return Err(ScoreError::Neighbours { k, n_items });
    }
    let mut rank = vec![0usize; n_items];
    let mut excess = 0u128;
    for item in 0..n_items {
        for (at, other) in nearest(data, n_features, item).into_iter().enumerate() {
            rank[other] = at + 1;
        }
        for other in nearest(embedded, n_components, item).into_iter().take(k) {
            excess += rank[other].saturating_sub(k) as u128;
        }
    }
    let (n, k) = (n_items as f64, k as f64);
    Ok(1.0 - 2.0 * excess as f64 / (n * k * (2.0 * n - 3.0 * k - 1.0)))
}

/// The other rows, nearest to row `item` first, ties by index.
fn nearest(rows: &[f64], width: usize, item: usize) -> Vec<usize> {
    let here = &rows[item * width..(item + 1) * width];
    let mut others: Vec<(f64, usize)> = rows
        .chunks(width)
        .enumerate()
        .filter(|(other, _)| *other != item)
        .map(|(other, row)| (row.iter().zip(here).map(|(a, b)| (a - b) * (a - b)).sum(), other))
        .collect();
    others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    others.into_iter().map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_copy_is_trusted_fully() {
        let data = [0.0, 1.0, 3.0, 7.0, 15.0];
        let scaled = data.map(|x| -2.0 * x);
        assert_eq!(trustworthiness(&data, 1, &scaled, 1, 2).unwrap(), 1.0);
        assert!(matches!(
            trustworthiness(&data, 1, &scaled, 1, 3),
            Err(ScoreError::Neighbours { k: 3, n_items: 5 })
        ));
        assert!(trustworthiness(&[], 1, &[], 1, 1).is_err());
        assert!(trustworthiness(&data, 1, &data[..4], 1, 1).is_err());
    }

    /// Items at 0, 1, 3 embedded at 0, 3, 1 with k = 1: item 0 finds 2 (rank 2), item 1 finds 2
    /// (rank 2), item 2 finds 0 (rank 2); the excess is 3 and the factor 2 / (3 × 1 × 2).
    #[test]
    fn false_neighbours_are_counted_by_their_rank() {
        assert_eq!(
            trustworthiness(&[0.0, 1.0, 3.0], 1, &[0.0, 3.0, 1.0], 1, 1).unwrap(),
            0.0
        );
    }
}
