//! Each row against what it attends to among all rows of the other graph, from several
//! perspectives.
//!
//! X. Ling et al. Multilevel Graph Matching Networks for Deep Graph Similarity Learning. TNNLS
//! 2021, section on node-graph matching. <https://arxiv.org/abs/2007.04395>. H2MN does the same
//! with hyperedges.

use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};

/// Squared lengths below it count as this much, so that a row of zeros resembles nothing, and rows
/// near it have a bounded gradient.
const SHORTEST: f32 = 1e-6;

/// `cos(w_k ∘ x_i, w_k ∘ y_i)` for each row `x_i` and perspective `k`, where `y_i` is the mean of
/// the other graph's rows, each weighted by its cosine with `x_i`, or not at all where that is
/// negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Perspectives {
    /// `(n_perspectives, d)`
    weights: Parameter,
}

impl Perspectives {
    pub(super) fn new(layout: &mut Layout, name: &str, n_perspectives: usize, d: usize) -> Perspectives {
        Perspectives {
            weights: layout.weight(name, n_perspectives, d, Init::Glorot),
        }
    }

    /// `(n, d)` and the other graph's `(n', d)` to `(n, n_perspectives)`.
    pub(super) fn forward(&self, tape: &mut Tape<'_>, own: Var, theirs: Var) -> Var {
        let attended = attended(tape, own, theirs);
        // The cosine of rows times w is a quotient of sums that w² weights.
        let weights = tape.square(self.weights.var());
        let product = tape.multiply(own, attended);
        let mut cosines = tape.matmul_transposed(product, weights);
        for x in [own, attended] {
            let squares = tape.square(x);
            let squares = tape.matmul_transposed(squares, weights);
            let by_length = tape.reciprocal_root(SHORTEST, squares);
            cosines = tape.multiply(cosines, by_length);
        }
        cosines
    }
}

/// For each own row the sum over the others' of `max(cos, 0)` times the row, divided by their
/// number: what follows is a cosine, so the sum of the weights does not matter to it.
fn attended(tape: &mut Tape<'_>, own: Var, theirs: Var) -> Var {
    let n_others = tape.shape(theirs).0;
    let directions = [own, theirs].map(|rows| of_length_one(tape, rows));
    let cosines = tape.matmul_transposed(directions[0], directions[1]);
    let weights = tape.relu(cosines);
    let attended = tape.matmul(weights, theirs);
    tape.scale(1.0 / n_others.max(1) as f32, attended)
}

fn of_length_one(tape: &mut Tape<'_>, rows: Var) -> Var {
    let d = tape.shape(rows).1;
    let ones = tape.constant_with(1, d, |row| row.fill(1.0));
    let squares = tape.square(rows);
    let squares = tape.matmul_transposed(squares, ones);
    let by_length = tape.reciprocal_root(SHORTEST, squares);
    let by_length = tape.matmul(by_length, ones);
    tape.multiply(rows, by_length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Rng, SeedableRng, SimRng};

    fn cosine(a: &[f64], b: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
    }

    /// The definition, row by row and perspective by perspective.
    #[test]
    fn rows_are_compared_from_each_perspective_with_what_they_attend_to() {
        let (d, n, n_others, n_perspectives) = (5, 3, 6, 2);
        let mut rng = SimRng::seed_from_u64(1);
        let mut draw = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.next_u32() as f32 / 2f32.powi(31) - 1.0).collect() };
        let (own, theirs) = (draw(n * d), draw(n_others * d));
        let mut layout = Layout::new();
        let perspectives = Perspectives::new(&mut layout, "w", n_perspectives, d);
        let weights = draw(layout.len());
        let mut tape = Tape::new();
        tape.load(&layout, &weights);
        let (x, y) = (tape.constant(n, d, &own), tape.constant(n_others, d, &theirs));
        let found = perspectives.forward(&mut tape, x, y);
        let wide = |values: &[f32]| -> Vec<Vec<f64>> {
            let rows = values.chunks_exact(d);
            rows.map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect()
        };
        let (own, theirs, weights) = (wide(&own), wide(&theirs), wide(&weights));
        let mut negative = 0;
        for (i, x) in own.iter().enumerate() {
            let mut attended = vec![0.0; d];
            for y in &theirs {
                let weight = cosine(x, y).max(0.0);
                negative += usize::from(weight == 0.0);
                for (sum, y) in attended.iter_mut().zip(y) {
                    *sum += weight * y;
                }
            }
            for (k, w) in weights.iter().enumerate() {
                let seen = |row: &[f64]| row.iter().zip(w).map(|(x, w)| x * w).collect::<Vec<f64>>();
                let exact = cosine(&seen(x), &seen(&attended));
                let got = f64::from(tape.value(found)[i * n_perspectives + k]);
                assert!((got - exact).abs() < 1e-5, "{got} and {exact}");
            }
        }
        assert!(negative > 0, "some cosines are negative");
    }

    #[test]
    fn a_row_of_zeros_resembles_nothing() {
        let mut layout = Layout::new();
        let perspectives = Perspectives::new(&mut layout, "w", 2, 3);
        let mut tape = Tape::new();
        tape.load(&layout, &[1.0; 6]);
        let own = tape.variable(2, 3, &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
        let theirs = tape.constant(1, 3, &[1.0, 2.0, 3.0]);
        let found = perspectives.forward(&mut tape, own, theirs);
        assert_eq!(tape.value(found)[..2], [0.0; 2]);
        assert!(tape.value(found)[2..].iter().all(|cosine| (cosine - 1.0).abs() < 1e-5));
        let sum = tape.sum(found);
        tape.backward(sum);
        assert!(tape.gradient(own).iter().all(|x| x.is_finite()));
    }
}
