//! Disturbed starts: plans near `p q'` with the right sums.

use super::space::Space;
use crate::transport::kernels::{columns_times, rows_times};
use folkmoot_draws::{SeedableRng, SimRng, unit};

/// Sums this close to the weights are right.
const BALANCED: f64 = 1e-15;

/// Writes a disturbed `p q'` of shape `(n, stride)`.
///
/// # Determinism
/// Draws `n × m` numbers, row by row, from the stream of (`seed`, `attempt`).
pub(super) fn disturbed(a: &Space, b: &Space, jitter: f64, seed: u64, attempt: u32, plan: &mut Vec<f64>) {
    let (n, m, stride) = (a.n(), b.n(), b.stride());
    let mut rng = stream(seed, attempt);
    plan.clear();
    plan.resize(n * stride, 0.0);
    for (row, p) in plan.chunks_exact_mut(stride).zip(a.weights()) {
        for (value, q) in row.iter_mut().zip(b.weights()) {
            let uniform = 2.0 * unit(&mut rng) - 1.0;
            *value = p * q * (1.0 + jitter * uniform);
        }
    }
    // Scaling rows and columns in turn converges fast so near to the product; a hundred turns are
    // for jitter near 1.
    let mut sums = vec![0.0; n];
    let mut column_sums = vec![0.0; stride];
    let ones = vec![1.0; n.max(stride)];
    for _ in 0..100 {
        columns_times(plan, &ones[..n], &mut column_sums);
        for row in plan.chunks_exact_mut(stride) {
            for ((value, q), sum) in row.iter_mut().zip(b.weights()).zip(&column_sums[..m]) {
                *value *= q / sum;
            }
        }
        rows_times(plan, &ones[..stride], &mut sums);
        let mut error = 0.0;
        for ((row, p), sum) in plan.chunks_exact_mut(stride).zip(a.weights()).zip(&sums) {
            error += (p - sum).abs();
            row.iter_mut().for_each(|value| *value *= p / sum);
        }
        if error <= BALANCED {
            break;
        }
    }
}

/// The stream of one start; its key is what names it.
fn stream(seed: u64, attempt: u32) -> SimRng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(b"gw-start");
    key[16..20].copy_from_slice(&attempt.to_le_bytes());
    SimRng::from_seed(key)
}
