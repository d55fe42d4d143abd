//! Eigenvalues of symmetric matrices, and kernels without their negative part.
//!
//! Householder's reduction to three diagonals and implicit QL steps with Wilkinson's shifts (G. H.
//! Golub and C. F. Van Loan. Matrix Computations. 2013, Sec. 8.3). Eigenvectors are kept as rows,
//! so that every pass runs along memory.

use super::finite;
use crate::evaluation::{EvaluationError, require, same_length};
use crate::kernels;

/// QL steps at most for one eigenvalue, which takes two on average.
const MAX_STEPS: usize = 100;

/// The eigenvalues of a symmetric matrix and an orthonormal basis of eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The eigenvalues, ascending, of shape `(n,)`.
    pub values: Vec<f64>,
    /// Row `i` is the eigenvector of value `i`; of shape `(n, n)`.
    pub vectors: Vec<f64>,
}

/// The spectrum of `matrix`, of shape `(n, n)`, of which the mean with its transpose is taken.
///
/// # Errors
/// [`EvaluationError`] if the shape does not fit, a value is not finite, or some are so large that
/// sums overflow.
///
/// # Determinism
/// Sums in an order that depends on the shape alone. The sign of a vector is what the steps leave.
///
/// # Complexity
/// Some `12 n³` operations; `16 n²` bytes.
pub fn spectrum(matrix: &[f64], n: usize) -> Result<Spectrum, EvaluationError> {
    same_length("matrix", n * n, matrix.len())?;
    finite("matrix", matrix)?;
    let mut whole: Vec<f64> = (0..n * n)
        .map(|at| 0.5 * (matrix[at] + matrix[at % n * n + at / n]))
        .collect();
    let mut basis = vec![0.0; n * n];
    (0..n).for_each(|i| basis[i * n + i] = 1.0);
    let beside = reduce(&mut whole, &mut basis, n);
    let mut values: Vec<f64> = (0..n).map(|i| whole[i * n + i]).collect();
    let done = diagonalise(&mut values, beside, &mut basis, n) && values.iter().all(|value| value.is_finite());
    require(done, "matrix", || {
        "values must be so small that their squares can be added".to_string()
    })?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    Ok(Spectrum {
        values: order.iter().map(|&i| values[i]).collect(),
        vectors: order.iter().flat_map(|&i| &basis[i * n..][..n]).copied().collect(),
    })
}

/// The nearest positive semi-definite matrix to a symmetric one of shape `(n, n)`: its negative
/// eigenvalues become 0 (N. J. Higham 1988). A matrix without any is returned as it is.
///
/// # Errors
/// As [`spectrum`].
pub fn clip_negative(matrix: &[f64], n: usize) -> Result<Vec<f64>, EvaluationError> {
    let Spectrum { values, vectors } = spectrum(matrix, n)?;
    // What is to be removed has few eigenvalues for most kernels: it is formed instead of what
    // stays.
    let mut clipped = matrix.to_vec();
    for (value, vector) in values
        .iter()
        .zip(vectors.chunks_exact(n.max(1)))
        .filter(|(value, _)| **value < 0.0)
    {
        for (row, entry) in clipped.chunks_exact_mut(n).zip(vector) {
            kernels::add_scaled(row, -value * entry, vector);
        }
    }
    Ok(clipped)
}

/// Turns `matrix` into three diagonals by reflections, which `basis` takes part in; returns the
/// entries beside the diagonal, and a 0.
fn reduce(matrix: &mut [f64], basis: &mut [f64], n: usize) -> Vec<f64> {
    let mut beside = vec![0.0; n];
    let mut turned = vec![0.0; n];
    for k in 0..n.saturating_sub(1) {
        // Row k right of the diagonal is to become (length, 0, …, 0).
        let mut mirror = matrix[k * n..][k + 1..n].to_vec();
        let length = kernels::dot(&mirror, &mirror).sqrt();
        let length = if mirror[0] > 0.0 { -length } else { length };
        beside[k] = length;
        mirror[0] -= length;
        let square = kernels::dot(&mirror, &mirror);
        if square == 0.0 {
            continue;
        }
        let scale = 2.0 / square;
        let rest = |row: usize| row * n + k + 1..(row + 1) * n;
        // A - v w' - w v', with w = scale (A v - scale / 2 (v' A v) v).
        let mut other: Vec<f64> = (k + 1..n)
            .map(|row| scale * kernels::dot(&matrix[rest(row)], &mirror))
            .collect();
        let along = -0.5 * scale * kernels::dot(&other, &mirror);
        kernels::add_scaled(&mut other, along, &mirror);
        for row in k + 1..n {
            let (v, w) = (mirror[row - k - 1], other[row - k - 1]);
            kernels::add_scaled(&mut matrix[rest(row)], -v, &other);
            kernels::add_scaled(&mut matrix[rest(row)], -w, &mirror);
        }
        turned.fill(0.0);
        for row in k + 1..n {
            kernels::add_scaled(&mut turned, mirror[row - k - 1], &basis[row * n..][..n]);
        }
        for row in k + 1..n {
            kernels::add_scaled(&mut basis[row * n..][..n], -scale * mirror[row - k - 1], &turned);
        }
    }
    beside
}

/// Turns three diagonals into one by rotations, which `basis` takes part in; whether it came to an
/// end.
fn diagonalise(values: &mut [f64], mut beside: Vec<f64>, basis: &mut [f64], n: usize) -> bool {
    for first in 0..n {
        let mut n_steps = 0;
        loop {
            // The block that begins at `first` ends where an entry beside the diagonal is nothing
            // against its neighbours.
            let small = |i: usize| beside[i].abs() <= f64::EPSILON * (values[i].abs() + values[i + 1].abs());
            let last = (first..n - 1).find(|&i| small(i)).unwrap_or(n - 1);
            if last == first {
                break;
            }
            if n_steps == MAX_STEPS {
                return false;
            }
            n_steps += 1;
            // The eigenvalue of the first two by two nearer to its corner is the shift.
            let half = (values[first + 1] - values[first]) / (2.0 * beside[first]);
            let root = libm::hypot(half, 1.0);
            let root = if half < 0.0 { -root } else { root };
            let mut bulge = values[last] - values[first] + beside[first] / (half + root);
            let (mut sin, mut cos, mut moved) = (1.0, 1.0, 0.0);
            let mut split = None;
            for i in (first..last).rev() {
                let (across, along) = (sin * beside[i], cos * beside[i]);
                let length = libm::hypot(across, bulge);
                beside[i + 1] = length;
                if length == 0.0 {
                    split = Some(i);
                    break;
                }
                (sin, cos) = (across / length, bulge / length);
                let value = values[i + 1] - moved;
                let twist = (values[i] - value) * sin + 2.0 * cos * along;
                moved = sin * twist;
                values[i + 1] = value + moved;
                bulge = cos * twist - along;
                let (above, below) = basis.split_at_mut((i + 1) * n);
                kernels::rotate(&mut above[i * n..], &mut below[..n], cos, sin);
            }
            match split {
                // The block fell apart on the way: what was carried belongs to its lower part.
                Some(i) => values[i + 1] -= moved,
                None => {
                    values[first] -= moved;
                    beside[first] = bulge;
                }
            }
            beside[last] = 0.0;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symmetric matrix of numbers that look random, the same everywhere.
    fn symmetric(n: usize, seed: u32) -> Vec<f64> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 23) - 1.0
        };
        let drawn: Vec<f64> = (0..n * n).map(|_| next()).collect();
        (0..n * n).map(|at| drawn[at] + drawn[at % n * n + at / n]).collect()
    }

    fn assert_spectrum(matrix: &[f64], n: usize) {
        let Spectrum { values, vectors } = spectrum(matrix, n).unwrap();
        let size = matrix.iter().fold(1e-300f64, |most, x| most.max(x.abs()));
        assert!(values.is_sorted());
        for (i, a) in vectors.chunks_exact(n).enumerate() {
            for (j, b) in vectors.chunks_exact(n).enumerate() {
                let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-13 * n as f64);
            }
            for (row, entry) in matrix.chunks_exact(n).zip(a) {
                let image: f64 = row.iter().zip(a).map(|(x, y)| x * y).sum();
                assert!((image - values[i] * entry).abs() < 1e-14 * size * (n * n) as f64, "{n}");
            }
        }
    }

    #[test]
    fn vectors_are_orthonormal_and_keep_their_direction() {
        for n in [1, 2, 3, 17, 40] {
            assert_spectrum(&symmetric(n, n as u32), n);
        }
        // Equal eigenvalues, blocks, zeros and sizes far apart.
        assert_spectrum(&vec![1.0; 36], 6);
        assert_spectrum(&[0.0; 25], 5);
        let identity: Vec<f64> = (0..49).map(|at| f64::from(u8::from(at % 8 == 0))).collect();
        assert_spectrum(&identity, 7);
        let blocks: Vec<f64> = (0..36)
            .map(|at| f64::from(u8::from(at / 6 / 2 == at % 6 / 2)))
            .collect();
        assert_spectrum(&blocks, 6);
        let graded: Vec<f64> = (0..64).map(|at| libm::pow(10.0, -((at / 8 + at % 8) as f64))).collect();
        assert_spectrum(&graded, 8);
        assert!(spectrum(&[], 0).unwrap().values.is_empty());
    }

    /// The path of n nodes has the eigenvalues 2 cos(π k / (n + 1)).
    #[test]
    fn a_path_has_its_known_spectrum() {
        let n = 30usize;
        let path: Vec<f64> = (0..n * n)
            .map(|at| f64::from(u8::from((at / n).abs_diff(at % n) == 1)))
            .collect();
        let found = spectrum(&path, n).unwrap().values;
        for (k, value) in (1..=n).rev().zip(found) {
            let expected = 2.0 * libm::cos(std::f64::consts::PI * k as f64 / (n + 1) as f64);
            assert!((value - expected).abs() < 1e-13, "{k}: {value}, not {expected}");
        }
    }

    #[test]
    fn clipping_removes_the_negative_part_alone() {
        // Eigenvalues 3 and -1: what is left is 3/2 in every entry.
        let clipped = clip_negative(&[1.0, 2.0, 2.0, 1.0], 2).unwrap();
        assert!(clipped.iter().all(|x| (x - 1.5).abs() < 1e-15), "{clipped:?}");
        let positive = [2.0, 1.0, 1.0, 2.0];
        assert_eq!(clip_negative(&positive, 2).unwrap(), positive);
        let matrix = symmetric(25, 3);
        let before = spectrum(&matrix, 25).unwrap().values;
        let after = spectrum(&clip_negative(&matrix, 25).unwrap(), 25).unwrap().values;
        for (before, after) in before.into_iter().zip(after) {
            assert!((before.max(0.0) - after).abs() < 1e-12);
        }
    }

    #[test]
    fn what_has_no_spectrum_is_an_error() {
        let text = |matrix: &[f64], n| spectrum(matrix, n).unwrap_err().to_string();
        assert_eq!(text(&[1.0; 3], 2), "matrix: must have 4 items, got 3");
        assert_eq!(text(&[1.0, f64::NAN, 0.0, 1.0], 2), "matrix[1]: must be finite");
        assert!(text(&[1e300; 9], 3).contains("so small that their squares"));
    }
}
