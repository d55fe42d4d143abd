//! Uniform numbers from a stream.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A multiple of 2^-53 in [0, 1). Takes one `u64`.
pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
