//! Agreement and quality of clusterings.

use super::classes::{distinct, numbered};
use super::{ScoreError, legal, same_length, shape};

/// How often each pair of clusters meets: the contingency table of two clusterings of the same
/// items.
struct Table {
    /// Cluster of the first, cluster of the second, items in both; only pairs that meet, ascending.
    both: Vec<(usize, usize, u64)>,
    /// Items of each cluster of the first.
    rows: Vec<u64>,
    /// Items of each cluster of the second.
    columns: Vec<u64>,
    n_items: u64,
}

impl Table {
    fn of(first: &[u32], second: &[u32]) -> Result<Table, ScoreError> {
        if first.is_empty() {
            return Err(ScoreError::Empty);
        }
        same_length("second", first.len(), second.len())?;
        let (row_ids, column_ids) = (distinct(first.iter().copied()), distinct(second.iter().copied()));
        let columns = numbered(second, &column_ids);
        let mut pairs: Vec<(usize, usize)> = numbered(first, &row_ids).into_iter().zip(columns).collect();
        pairs.sort_unstable();
        let mut table = Table {
            both: Vec::new(),
            rows: vec![0; row_ids.len()],
            columns: vec![0; column_ids.len()],
            n_items: first.len() as u64,
        };
        for group in pairs.chunk_by(|a, b| a == b) {
            let ((row, column), size) = (group[0], group.len() as u64);
            table.both.push((row, column, size));
            table.rows[row] += size;
            table.columns[column] += size;
        }
        Ok(table)
    }
}

/// The adjusted Rand index of two clusterings: 1 for equal ones, about 0 for independent ones,
/// possibly negative.
///
/// `first` and `second` have shape `(n,)`; only which items share a label matters. With `a` the
/// pairs together in both, `b` and `c` those together in one only and `d` the rest it is
/// `2 (a d - b c) / ((a + b)(b + d) + (a + c)(c + d))`, and 1 where `b = c = 0` (Hubert and Arabie
/// 1985).
///
/// # Errors
///
/// [`ScoreError::Empty`], [`ScoreError::Length`].
///
/// # Complexity
///
/// O(n log n) time.
pub fn adjusted_rand(first: &[u32], second: &[u32]) -> Result<f64, ScoreError> {
    let table = Table::of(first, second)?;
    let ordered_pairs = |size: u64| size * (size - 1);
    let together: u64 = table.both.iter().map(|&(_, _, size)| ordered_pairs(size)).sum();
    let first_only = table.rows.iter().map(|&size| ordered_pairs(size)).sum::<u64>() - together;
    let second_only = table.columns.iter().map(|&size| ordered_pairs(size)).sum::<u64>() - together;
    if first_only == 0 && second_only == 0 {
        return Ok(1.0);
    }
    let apart = ordered_pairs(table.n_items) - together - first_only - second_only;
    let [a, b, c, d] = [together, first_only, second_only, apart].map(|count| count as f64);
    Ok(2.0 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d)))
}

/// The mutual information of two clusterings divided by the arithmetic mean of their entropies;
/// lies in 0..=1.
///
/// `first` and `second` have shape `(n,)`. Two clusterings of one cluster each agree perfectly: 1.
///
/// # Errors
///
/// [`ScoreError::Empty`], [`ScoreError::Length`].
///
/// # Complexity
///
/// O(n log n) time.
pub fn normalised_mutual_info(first: &[u32], second: &[u32]) -> Result<f64, ScoreError> {
    let table = Table::of(first, second)?;
    if table.both.len() == 1 {
        return Ok(1.0);
    }
    let n = table.n_items as f64;
    let entropy = |sizes: &[u64]| -> f64 {
        let shares = sizes.iter().map(|&size| size as f64 / n);
        shares.map(|share| -share * libm::log(share)).sum()
    };
    let mut information = 0.0;
    for &(row, column, both) in &table.both {
        let both = both as f64;
        information += both / n * libm::log(both * n / (table.rows[row] as f64 * table.columns[column] as f64));
    }
    let mean_entropy = (entropy(&table.rows) + entropy(&table.columns)) / 2.0;
    Ok((information / mean_entropy).clamp(0.0, 1.0))
}

/// The mean silhouette of a clustering under a given distance; lies in -1..=1.
///
/// `distances` has shape `(n, n)`, `labels` shape `(n,)`. For an item, `a` is the mean distance to
/// the others of its cluster, `b` the smallest mean distance to another cluster, and its silhouette
/// `(b - a) / max(a, b)`; 0 for an item alone in its cluster and where both are 0 (Rousseeuw 1987).
/// The diagonal is not looked at.
///
/// # Errors
///
/// [`ScoreError::Length`], [`ScoreError::Value`] for a distance that is not finite or negative,
/// [`ScoreError::Clusters`].
///
/// # Complexity
///
/// O(n²) time.
pub fn silhouette(distances: &[f64], labels: &[u32]) -> Result<f64, ScoreError> {
    let n_items = labels.len();
    shape("distances", n_items, n_items, distances.len())?;
    legal("distances", distances, |distance| {
        distance.is_finite() && distance >= 0.0
    })?;
    let ids = distinct(labels.iter().copied());
    if ids.len() < 2 || ids.len() >= n_items {
        return Err(ScoreError::Clusters {
            n_clusters: ids.len(),
            n_items,
        });
    }
    let clusters = numbered(labels, &ids);
    let mut sizes = vec![0u64; ids.len()];
    clusters.iter().for_each(|&cluster| sizes[cluster] += 1);
    let mut sums = vec![0.0; ids.len()];
    let mut total = 0.0;
    for (item, (row, &own)) in distances.chunks(n_items).zip(&clusters).enumerate() {
        if sizes[own] == 1 {
            continue;
        }
        sums.fill(0.0);
        for (other, (distance, &cluster)) in row.iter().zip(&clusters).enumerate() {
            if other != item {
                sums[cluster] += distance;
            }
        }
        let within = sums[own] / (sizes[own] - 1) as f64;
        let others = (0..ids.len()).filter(|&cluster| cluster != own);
        let between = others
            .map(|cluster| sums[cluster] / sizes[cluster] as f64)
            .fold(f64::INFINITY, f64::min);
        let largest = within.max(between);
        if largest > 0.0 {
            total += (between - within) / largest;
        }
    }
    Ok(total / n_items as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_partitions_agree_whatever_their_labels() {
        let (a, b) = ([0, 0, 1, 2, 2], [9, 9, 4, 0, 0]);
        assert_eq!(adjusted_rand(&a, &b).unwrap(), 1.0);
        assert!((normalised_mutual_info(&a, &b).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(
            (adjusted_rand(&[3], &[1]), normalised_mutual_info(&[3], &[1])),
            (Ok(1.0), Ok(1.0))
        );
    }

    #[test]
    fn one_cluster_says_nothing_about_another_clustering() {
        assert_eq!(normalised_mutual_info(&[0, 0, 0], &[0, 1, 2]).unwrap(), 0.0);
        assert_eq!(adjusted_rand(&[0, 0, 0], &[0, 1, 2]).unwrap(), 0.0);
    }

    /// Pairs {0,1} and {2} at 0, 1, 5 on a line: silhouettes 4/5, 3/4 and, alone in its cluster, 0.
    #[test]
    fn silhouette_by_hand() {
        let distances = [0.0, 1.0, 5.0, 1.0, 0.0, 4.0, 5.0, 4.0, 0.0];
        assert_eq!(silhouette(&distances, &[5, 5, 2]).unwrap(), (0.8 + 0.75) / 3.0);
        assert_eq!(silhouette(&[0.0; 9], &[5, 5, 2]).unwrap(), 0.0);
        assert!(matches!(
            silhouette(&distances, &[1, 2, 3]),
            Err(ScoreError::Clusters { n_clusters: 3, .. })
        ));
        assert!(matches!(
            silhouette(&[0.0, -1.0, 1.0, 0.0], &[0, 1]),
            Err(ScoreError::Value { .. })
        ));
    }
}
