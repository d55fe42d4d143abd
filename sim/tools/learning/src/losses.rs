//! Losses with their gradients, as plain loops in double precision.
//!
//! They are the definitions that the trained kernels are tested against; nothing here is meant to
//! be fast.

/// The loss of one centre and context, with its gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipGramLoss {
    pub loss: f64,
    /// The gradient with respect to all input vectors; shape `(n, dim)`, zero but in the centre's
    /// row.
    pub grad_input: Vec<f64>,
    /// The gradient with respect to all output vectors; shape `(n, dim)`.
    pub grad_output: Vec<f64>,
}

/// `−ln σ(u · o) − Σ_k ln σ(−u · n_k)` for the input vector `u` of `center`, the output vectors `o`
/// of `context` and `n_k` of `negatives`.
///
/// `input` and `output` have shape `(n, dim)`. A negative that occurs twice counts twice.
///
/// # Panics
/// If a vertex has no row, or the shapes differ.
pub fn skip_gram_negative_sampling(
    input: &[f64],
    output: &[f64],
    dim: usize,
    center: u32,
    context: u32,
    negatives: &[u32],
) -> SkipGramLoss {
    let mut result = SkipGramLoss::zero(input, output);
    let u = row(input, dim, center);
    let outputs = std::iter::once((context, 1.0)).chain(negatives.iter().map(|&negative| (negative, 0.0)));
    for (vertex, label) in outputs {
        let o = row(output, dim, vertex);
        let score = dot(u, o);
        // ln(1 + e^−s) for the positive, ln(1 + e^s) for a negative, without overflow.
        let against = if label > 0.0 { -score } else { score };
        result.loss += against.max(0.0) + libm::log1p(libm::exp(-against.abs()));
        let slope = 1.0 / (1.0 + libm::exp(-score)) - label;
        add_scaled(row_mut(&mut result.grad_input, dim, center), slope, o);
        add_scaled(row_mut(&mut result.grad_output, dim, vertex), slope, u);
    }
    result
}

/// `−ln (e^(u · o) / Σ_v e^(u · o_v))` for the input vector `u` of `center` and the output vector
/// `o` of `context`.
///
/// `input` and `output` have shape `(n, dim)`; the sum goes over all `n` vertices.
///
/// # Panics
/// If a vertex has no row, or the shapes differ.
pub fn skip_gram_softmax(input: &[f64], output: &[f64], dim: usize, center: u32, context: u32) -> SkipGramLoss {
    let mut result = SkipGramLoss::zero(input, output);
    let u = row(input, dim, center);
    let scores: Vec<f64> = output.chunks_exact(dim).map(|o| dot(u, o)).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| libm::exp(score - largest)).sum();
    result.loss = largest + libm::log(sum) - scores[context as usize];
    for (vertex, score) in scores.iter().enumerate() {
        let label = if vertex == context as usize { 1.0 } else { 0.0 };
        let slope = libm::exp(score - largest) / sum - label;
        let o = row(output, dim, vertex as u32);
        add_scaled(row_mut(&mut result.grad_input, dim, center), slope, o);
        add_scaled(row_mut(&mut result.grad_output, dim, vertex as u32), slope, u);
    }
    result
}

impl SkipGramLoss {
    fn zero(input: &[f64], output: &[f64]) -> SkipGramLoss {
        assert_eq!(input.len(), output.len(), "inputs and outputs have one shape");
        SkipGramLoss {
            loss: 0.0,
            grad_input: vec![0.0; input.len()],
            grad_output: vec![0.0; output.len()],
        }
    }
}

fn row(matrix: &[f64], dim: usize, vertex: u32) -> &[f64] {
    &matrix[vertex as usize * dim..][..dim]
}

fn row_mut(matrix: &mut [f64], dim: usize, vertex: u32) -> &mut [f64] {
    &mut matrix[vertex as usize * dim..][..dim]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_scaled(to: &mut [f64], scale: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += scale * from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIM: usize = 3;

    fn values(shift: usize) -> Vec<f64> {
        (0..15).map(|i| ((i * 7 + shift) % 11) as f64 / 4.0 - 1.2).collect()
    }

    /// Central differences of `loss` agree with both of its gradients.
    fn differences_agree(loss: impl Fn(&[f64], &[f64]) -> SkipGramLoss) {
        let (input, output) = (values(0), values(5));
        let exact = loss(&input, &output);
        let h = 1e-5;
        for i in 0..input.len() {
            let moved = |matrix: &[f64], by: f64| {
                let mut matrix = matrix.to_vec();
                matrix[i] += by;
                matrix
            };
            let by_input = loss(&moved(&input, h), &output).loss - loss(&moved(&input, -h), &output).loss;
            let by_output = loss(&input, &moved(&output, h)).loss - loss(&input, &moved(&output, -h)).loss;
            assert!((by_input / (2.0 * h) - exact.grad_input[i]).abs() < 1e-8);
            assert!((by_output / (2.0 * h) - exact.grad_output[i]).abs() < 1e-8);
        }
    }

    #[test]
    fn gradients_are_those_of_central_differences() {
        differences_agree(|input, output| skip_gram_negative_sampling(input, output, DIM, 1, 2, &[3, 0, 3, 1]));
        differences_agree(|input, output| skip_gram_softmax(input, output, DIM, 4, 0));
    }

    #[test]
    fn large_scores_do_not_overflow() {
        let input = vec![800.0, 0.0, 0.0, -800.0, 0.0, 0.0];
        let output = vec![1.0, 0.0, 0.0, -1.0, 0.0, 0.0];
        assert_eq!(skip_gram_negative_sampling(&input, &output, DIM, 0, 0, &[1]).loss, 0.0);
        assert_eq!(
            skip_gram_negative_sampling(&input, &output, DIM, 1, 0, &[1]).loss,
            1600.0
        );
        assert_eq!(skip_gram_softmax(&input, &output, DIM, 1, 0).loss, 1600.0);
    }
}
