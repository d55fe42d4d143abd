//! The forces on one point of a t-SNE map.

use multiversion::multiversion;

use super::{LANES, fold};

/// A coordinate so far from all others that its similarity vanishes beside any other's, though its
/// square is finite: what coordinates are padded with.
pub(crate) const FAR: f64 = 1e150;

/// What all points do to one: `pull` is `Σ p_j s_j (at - y_j)`, `push` is `Σ s_j² (at - y_j)` and
/// `total` is `Σ s_j`, with the similarity `s_j = 1 / (1 + |at - y_j|²)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forces {
    pub(crate) pull: [f64; 2],
    pub(crate) push: [f64; 2],
    pub(crate) total: f64,
}

/// The forces on the point `at` from points with the coordinates `x` and `y` and the probabilities
/// `p`.
///
/// All three have one length, a multiple of [`LANES`]; coordinates are padded with [`FAR`],
/// probabilities with 0.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn forces(p: &[f64], x: &[f64], y: &[f64], at: [f64; 2]) -> Forces {
    let ((p, _), (x, _), (y, _)) = (p.as_chunks::<LANES>(), x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut sums = [[0.0f64; LANES]; 5];
    for ((p, x), y) in p.iter().zip(x).zip(y) {
        for lane in 0..LANES {
            let (dx, dy) = (at[0] - x[lane], at[1] - y[lane]);
            let similarity = 1.0 / dx.mul_add(dx, dy.mul_add(dy, 1.0));
            let (pull, push) = (p[lane] * similarity, similarity * similarity);
            sums[0][lane] = pull.mul_add(dx, sums[0][lane]);
            sums[1][lane] = pull.mul_add(dy, sums[1][lane]);
            sums[2][lane] = push.mul_add(dx, sums[2][lane]);
            sums[3][lane] = push.mul_add(dy, sums[3][lane]);
            sums[4][lane] += similarity;
        }
    }
    let [pull_x, pull_y, push_x, push_y, total] = sums.map(fold);
    Forces {
        pull: [pull_x, pull_y],
        push: [push_x, push_y],
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three points against a plain loop; the padding changes no bit.
    #[test]
    fn forces_are_those_of_the_definition() {
        let points = [[0.5, -1.0], [2.0, 0.25], [-1.5, 0.0]];
        let p = [0.25, 0.5, 0.125];
        let pad = |width: usize| {
            let mut columns = [vec![0.0; width], vec![FAR; width], vec![FAR; width]];
            for (at, point) in points.iter().enumerate() {
                columns[0][at] = p[at];
                columns[1][at] = point[0];
                columns[2][at] = point[1];
            }
            columns
        };
        let at = [0.5, 0.5];
        let [one, x, y] = pad(LANES);
        let got = forces(&one, &x, &y, at);
        let mut expected = [0.0; 5];
        for (point, p) in points.iter().zip(p) {
            let d = [at[0] - point[0], at[1] - point[1]];
            let s = 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]);
            let terms = [p * s * d[0], p * s * d[1], s * s * d[0], s * s * d[1], s];
            expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        let flat = [got.pull[0], got.pull[1], got.push[0], got.push[1], got.total];
        for (got, expected) in flat.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-15, "{flat:?}");
        }
        let [more, x, y] = pad(3 * LANES);
        assert_eq!(forces(&more, &x, &y, at), got);
    }
}
