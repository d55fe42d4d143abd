//! Dense adjacencies outside the tape: what a graph of noisy weights needs before layers may use
//! it.

use crate::DegreeRule;
use crate::csr::factor;

/// Replaces the square matrix `a`, of shape `(n, n)`, by `D^−1/2 (A + I) D^−1/2`, or without
/// `self_loops` by `D^−1/2 A D^−1/2`; `D` holds the sums of rows under `rule`, which `degrees`
/// takes.
///
/// The bits are those of [`Tape::normalise_dense`](crate::Tape::normalise_dense); for weights that
/// do not learn, it is done once here and not in every step.
///
/// # Panics
/// If `a` has another length.
///
/// # Complexity
/// O(n²) time; allocates only to make `degrees` as long as `n`.
pub fn normalise_dense(a: &mut [f32], n: usize, self_loops: bool, rule: DegreeRule, degrees: &mut Vec<f32>) {
    assert_eq!(a.len(), n * n, "an adjacency is square");
    if self_loops {
        a.iter_mut().step_by(n + 1).for_each(|own| *own += 1.0);
    }
    degrees.clear();
    degrees.extend(a.chunks_exact(n.max(1)).map(|row| rule.degree(row)));
    for (row, degree) in a.chunks_exact_mut(n.max(1)).zip(&*degrees) {
        let own = factor(*degree);
        for (weight, degree) in row.iter_mut().zip(&*degrees) {
            *weight *= own * factor(*degree);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tape;

    #[test]
    fn the_bits_are_those_of_the_tape() {
        let n = 7;
        let weights: Vec<f32> = (0..n * n)
            .map(|i| ((i % n) * (i / n) % 5) as f32 * 0.37 - 0.61 * ((i * 31) % 3) as f32)
            .collect();
        for (self_loops, rule) in [
            (true, DegreeRule::Masked),
            (true, DegreeRule::Abs),
            (false, DegreeRule::Masked),
            (false, DegreeRule::Abs),
        ] {
            let mut tape = Tape::new();
            let a = tape.constant(n, n, &weights);
            let expected = tape.normalise_dense(a, None, self_loops, rule);
            let (mut got, mut degrees) = (weights.clone(), Vec::new());
            normalise_dense(&mut got, n, self_loops, rule, &mut degrees);
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
            assert_eq!(bits(&got), bits(tape.value(expected)));
            assert_eq!(degrees, tape.degrees(expected));
            if rule == DegreeRule::Masked {
                assert!(degrees.iter().any(|degree| *degree <= 0.0), "the case has none to mask");
            }
        }
        normalise_dense(&mut [], 0, true, DegreeRule::Masked, &mut Vec::new());
    }
}
