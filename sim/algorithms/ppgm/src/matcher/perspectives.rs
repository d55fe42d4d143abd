//! Each row against what it attends to among all rows of the other graph, from several
//! perspectives.
//!
//! X. Ling et al. Multilevel Graph Matching Networks for Deep Graph Similarity Learning. TNNLS
//! 2021, section on node-graph matching. <https://arxiv.org/abs/2007.04395>. H2MN does the same
//! with hyperedges.

use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};

/// See [`Tape::perspectives`].
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

    /// Rows of several graphs, each of shape `(n, d)`, and of the graphs to match them with, each
    /// `(n', d)`, to `(Σ n, n_perspectives)`.
    pub(super) fn forward(&self, tape: &mut Tape<'_>, own: &[Var], theirs: &[Var]) -> Var {
        tape.perspectives(own, theirs, self.weights.var())
    }
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
        let found = perspectives.forward(&mut tape, &[x], &[y]);
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
        let found = perspectives.forward(&mut tape, &[own], &[theirs]);
        assert_eq!(tape.value(found)[..2], [0.0; 2]);
        assert!(tape.value(found)[2..].iter().all(|cosine| (cosine - 1.0).abs() < 1e-5));
        let sum = tape.sum(found);
        tape.backward(sum);
        assert!(tape.gradient(own).iter().all(|x| x.is_finite()));
    }
}
