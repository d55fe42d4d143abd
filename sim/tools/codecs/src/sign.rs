//! Signs, and one size for each matrix.

use crate::bits::{BitReader, BitWriter, put_f32, take_f32, whole_bytes};
use crate::{Codec, Damaged, Shape, finite, matrices, n_values};
use folkmoot_draws::SimRng;
use folkmoot_parts::component;

/// Each value as its sign times the mean magnitude of its matrix; 0 counts as positive. One `f32`
/// per matrix and one bit per value. Without error feedback it may not converge.
///
/// S. P. Karimireddy, Q. Rebjock, S. Stich, M. Jaggi. Error Feedback Fixes SignSGD and other
/// Gradient Compression Schemes. ICML 2019, algorithm 1. <https://arxiv.org/abs/1901.09847>
#[component(
    name = "Sign",
    about = "one bit per value and one scale per matrix (Karimireddy et al. 2019)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// Error feedback: the sender adds the quantisation error (residual) to its next update. In
    /// rounds the residual includes updates lost in the network, but not those discarded by the
    /// server as late or surplus.
    #[component(default = true)]
    pub feedback: bool,
}

impl Codec for Sign {
    fn encode(&self, values: &[f32], shapes: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        for (_, matrix) in matrices(values, shapes) {
            let sum: f64 = matrix.iter().map(|x| f64::from(x.abs())).sum();
            put_f32(finite(sum / matrix.len().max(1) as f64), out);
        }
        let mut bits = BitWriter::new(out);
        values.iter().for_each(|x| bits.put(u64::from(*x < 0.0), 1));
    }

    fn decode(&self, mut bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let mut sizes = Vec::with_capacity(shapes.len());
        for _ in shapes {
            sizes.push(take_f32(&mut bytes)?);
        }
        let mut bits = BitReader::new(bytes);
        let mut values = Vec::with_capacity(n_values(shapes));
        for ([rows, columns], size) in shapes.iter().zip(sizes) {
            for _ in 0..rows * columns {
                values.push(if bits.take(1)? == 1 { -size } else { size });
            }
        }
        bits.finish()?;
        Ok(values)
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(4 * shapes.len() as u64 + whole_bytes(n_values(shapes) as u64))
    }

    fn feeds_back(&self) -> bool {
        self.feedback
    }
}
