//! What a walk tells clients of each other, by the distance of the two along links.
//!
//! E. Cyffers, A. Bellet, J. Upadhyay. Differentially Private Decentralized Learning with Random
//! Walks. ICML 2024, theorem 1. <https://arxiv.org/abs/2402.07471>
//!
//! A client sees no model but those that pass through it. With steps of noise of standard deviation
//! `σ` and `T` steps over `n` clients, what client `v` learns of `u` has a Rényi divergence of
//! order `α` of at most `α T ln T / (σ² n²) + α T / (σ² n) × [−ln(I − W + 11ᵀ / n)]_uv`, `W` being
//! the chain that visits all alike. That is `α` times a number, so epsilon at a delta is
//! `ρ + 2 √(ρ ln(1 / δ))`. The matrix may be negative far away: no loss is below 0.

use super::Chain;
use folkmoot_graphs::Graph;

/// `−ln(I − W + 11ᵀ / n)` for the max-degree chain, shape `(n, n)`: by the eigenvalues of `W` other
/// than that of the constant.
///
/// # Complexity
///
/// O(n³) for each of some ten sweeps: for hundreds of clients.
pub fn communicability(graph: &Graph) -> Vec<f64> {
    let n = graph.n_nodes();
    let mut w = vec![0.0; n * n];
    for u in 0..n as u32 {
        for &v in graph.neighbours(u) {
            w[u as usize * n + v as usize] = Chain::MaxDegree.step_probability(graph, u, v);
        }
        w[u as usize * n + u as usize] = Chain::MaxDegree.stay_probability(graph, u);
    }
    // I − W + 11ᵀ/n is positive definite, and its logarithm that of its eigenvalues; the constant
    // has 1, whose logarithm is 0.
    let mut a: Vec<f64> = (0..n * n)
        .map(|at| f64::from(at / n == at % n) - w[at] + 1.0 / n as f64)
        .collect();
    let vectors = diagonalised(&mut a, n);
    let mut logarithm = vec![0.0; n * n];
    for k in 0..n {
        let value = -libm::log(a[k * n + k].max(f64::MIN_POSITIVE));
        for i in 0..n {
            let left = value * vectors[i * n + k];
            (0..n).for_each(|j| logarithm[i * n + j] += left * vectors[j * n + k]);
        }
    }
    logarithm
}

/// Turns a symmetric matrix into its eigenvalues, on the diagonal, by Jacobi's rotations in cyclic
/// order; returns the vectors as columns.
fn diagonalised(a: &mut [f64], n: usize) -> Vec<f64> {
    let mut vectors: Vec<f64> = (0..n * n).map(|at| f64::from(at / n == at % n)).collect();
    for _ in 0..50 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let apq = a[p * n + q];
                off += apq * apq;
                if apq == 0.0 {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                let turn = |m: &mut [f64], i: usize, j: usize| {
                    let (x, y) = (m[i], m[j]);
                    (m[i], m[j]) = (c * x - s * y, s * x + c * y);
                };
                (0..n).for_each(|k| turn(a, k * n + p, k * n + q));
                (0..n).for_each(|k| turn(a, p * n + k, q * n + k));
                (0..n).for_each(|k| turn(&mut vectors, k * n + p, k * n + q));
            }
        }
        if off < 1e-26 {
            break;
        }
    }
    vectors
}

/// What client `v` learns of `u` in `steps` steps with noise of `sigma`: the factor of the order in
/// the bound; `entry` is that of [`communicability`].
pub fn pairwise_loss(steps: f64, n_clients: f64, sigma: f64, entry: f64) -> f64 {
    let square = sigma * sigma;
    let all = steps * libm::log(steps.max(1.0)) / (square * n_clients * n_clients);
    (all + steps / (square * n_clients) * entry).max(0.0)
}

/// The epsilon at `delta` of a divergence of `loss` times its order (Bun & Steinke 2016, lemma
/// 3.5).
pub fn epsilon(loss: f64, delta: f64) -> f64 {
    loss + 2.0 * (loss * libm::log(1.0 / delta)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of four users, by hand.
    #[test]
    fn a_path_has_the_matrix_of_a_hand() {
        let path = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], false).unwrap();
        let all = communicability(&path);
        for (at, expected) in [(1, 0.210_246), (2, -0.412_979), (3, -0.586_266)] {
            assert!((all[at] - expected).abs() < 1e-6, "{at}: {}", all[at]);
        }
        // Symmetric, and rows sum to 0: the constant is in the kernel.
        for i in 0..4 {
            assert!((0..4).map(|j| all[4 * i + j]).sum::<f64>().abs() < 1e-12);
            assert!((0..4).all(|j| (all[4 * i + j] - all[4 * j + i]).abs() < 1e-12));
        }
    }

    /// Of a complete graph all pairs learn alike; far away nobody's loss is below 0.
    #[test]
    fn a_complete_graph_hides_everybody_alike() {
        let links: Vec<(u32, u32)> = (0..7).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        let all = communicability(&Graph::from_edges(7, &links, false).unwrap());
        assert!(
            (0..49)
                .filter(|at| at / 7 != at % 7)
                .all(|at| (all[at] - all[1]).abs() < 1e-12)
        );
        assert_eq!(pairwise_loss(2.0, 100.0, 1.0, -5.0), 0.0);
        let loss = pairwise_loss(100.0, 10.0, 2.0, 0.5);
        assert!((loss - (100.0 * libm::log(100.0) / 400.0 + 1.25)).abs() < 1e-12);
        assert!((epsilon(0.25, 1e-5) - (0.25 + 2.0 * (0.25 * libm::log(1e5)).sqrt())).abs() < 1e-12);
    }
}
