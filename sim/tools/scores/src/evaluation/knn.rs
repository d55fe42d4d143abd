//! The class of the nearest nodes.

use rayon::prelude::*;

use super::{EvaluationError, require, same_length};
use crate::kernels::{LANES, dots};
use folkmoot_graphs::Embeddings;

/// The majority class of the `k` nearest of `y.len()` training items, for each row of `distances`,
/// of shape `(n_test, y.len())`.
///
/// Ties in distance go to the smaller index, ties in the vote to the smaller class.
///
/// # Errors
/// [`EvaluationError`] if `k` does not lie in `1..=y.len()`, the shape does not fit, or a distance
/// is NaN.
pub fn knn_precomputed(distances: &[f64], y: &[u32], k: usize) -> Result<Vec<u32>, EvaluationError> {
    check_k(k, y.len())?;
    let n_test = distances.len().div_ceil(y.len());
    same_length("distances", n_test * y.len(), distances.len())?;
    if let Some(index) = distances.iter().position(|distance| distance.is_nan()) {
        return Err(EvaluationError::NotFinite {
            input: "distances",
            index,
        });
    }
    Ok(distances.chunks_exact(y.len()).map(|row| vote(row, y, k)).collect())
}

/// The majority class of the `k` training nodes nearest by cosine, for each test node; `classes`
/// has one class per training node.
///
/// A vector of zeros has cosine 0 with every other. Ties are those of [`knn_precomputed`], by
/// position in `train`.
///
/// # Errors
/// [`EvaluationError`] if `k` does not lie in `1..=train.len()`, the lengths differ, or a node has
/// no vector or one that is not finite.
///
/// # Complexity
/// O(test × train × dim), in parallel over the test nodes.
pub fn knn_cosine(
    vectors: &Embeddings,
    train: &[u32],
    classes: &[u32],
    test: &[u32],
    k: usize,
) -> Result<Vec<u32>, EvaluationError> {
    check_k(k, train.len())?;
    same_length("classes", train.len(), classes.len())?;
    let blocks: Vec<Vec<[f64; LANES]>> = train
        .chunks(LANES)
        .map(|block| side_by_side(vectors, block))
        .collect::<Result<_, _>>()?;
    let test: Vec<Vec<f64>> = test.iter().map(|&v| direction(vectors, v)).collect::<Result<_, _>>()?;
    Ok(test
        .par_iter()
        .map(|x| {
            let products = blocks.iter().flat_map(|block| dots(x, block)).take(train.len());
            let row: Vec<f64> = products.map(|product| 1.0 - product).collect();
            vote(&row, classes, k)
        })
        .collect())
}

/// The directions of at most `LANES` vertices, an element of each at a time; zeros where there are
/// fewer.
fn side_by_side(vectors: &Embeddings, vertices: &[u32]) -> Result<Vec<[f64; LANES]>, EvaluationError> {
    let mut block = vec![[0.0; LANES]; vectors.dim()];
    for (lane, &vertex) in vertices.iter().enumerate() {
        for (column, value) in block.iter_mut().zip(direction(vectors, vertex)?) {
            column[lane] = value;
        }
    }
    Ok(block)
}

/// The vector of `vertex`, scaled to length 1.
pub(super) fn direction(vectors: &Embeddings, vertex: u32) -> Result<Vec<f64>, EvaluationError> {
    let n_vertices = vectors.n_vertices();
    if vertex as usize >= n_vertices {
        return Err(EvaluationError::Vertex { vertex, n_vertices });
    }
    let values: Vec<f64> = vectors.of(vertex).iter().map(|&x| x.into()).collect();
    let length = dot(&values, &values).sqrt();
    if !length.is_finite() {
        let index = vertex as usize * vectors.dim();
        return Err(EvaluationError::NotFinite {
            input: "vectors",
            index,
        });
    }
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    Ok(values.iter().map(|x| x * scale).collect())
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn check_k(k: usize, n_train: usize) -> Result<(), EvaluationError> {
    require((1..=n_train).contains(&k), "k", || {
        format!("must lie in 1..={n_train} (training items), got {k}")
    })
}

fn vote(distances: &[f64], y: &[u32], k: usize) -> u32 {
    let mut nearest: Vec<usize> = (0..y.len()).collect();
    let order = |a: &usize, b: &usize| distances[*a].total_cmp(&distances[*b]).then(a.cmp(b));
    nearest.select_nth_unstable_by(k - 1, order);
    let mut classes: Vec<u32> = nearest[..k].iter().map(|&i| y[i]).collect();
    classes.sort_unstable();
    let mut best = (0, 0);
    for run in classes.chunk_by(|a, b| a == b) {
        // Classes ascend, so only a larger vote wins.
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_smaller_index_and_class() {
        let y = [5, 2, 2, 7];
        assert_eq!(knn_precomputed(&[1.0, 1.0, 3.0, 0.5], &y, 1).unwrap(), [7]);
        // Nearest: 3, then 0 before 1.
        assert_eq!(knn_precomputed(&[1.0, 1.0, 3.0, 0.5], &y, 2).unwrap(), [5]);
        assert_eq!(knn_precomputed(&[1.0, 1.0, 3.0, 0.5], &y, 4).unwrap(), [2]);
        assert_eq!(knn_precomputed(&[0.0; 8], &y, 3).unwrap(), [2, 2]);
    }

    #[test]
    fn cosine_ignores_lengths() {
        let vectors = Embeddings::new(2, vec![1.0, 0.0, 0.0, 2.0, 9.0, 1.0, 0.1, 0.9, 0.0, 0.0]);
        assert_eq!(
            knn_cosine(&vectors, &[0, 1], &[4, 3], &[2, 3, 4], 1).unwrap(),
            [4, 3, 4]
        );
    }

    #[test]
    fn what_has_no_neighbours_is_an_error() {
        let text = |result: Result<Vec<u32>, EvaluationError>| result.unwrap_err().to_string();
        assert_eq!(
            text(knn_precomputed(&[], &[], 1)),
            "k: must lie in 1..=0 (training items), got 1"
        );
        assert_eq!(
            text(knn_precomputed(&[1.0; 3], &[0, 1], 1)),
            "distances: must have 4 items, got 3"
        );
        assert_eq!(
            text(knn_precomputed(&[1.0, f64::NAN], &[0, 1], 1)),
            "distances[1]: must be finite"
        );
        let vectors = Embeddings::new(1, vec![1.0, 2.0]);
        assert_eq!(
            text(knn_cosine(&vectors, &[0], &[0], &[2], 1)),
            "vertex ids must lie below 2, got 2"
        );
    }
}
