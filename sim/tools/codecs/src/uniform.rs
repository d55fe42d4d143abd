//! Even steps between the least and the greatest number of a matrix.

use crate::bits::{BitReader, BitWriter, put_f32, take_f32, whole_bytes};
use crate::range::{Decoder, Encoder, Tree};
use crate::{Codec, Damaged, Shape, finite, matrices, n_values};
use folkmoot_draws::{SimRng, unit};
use folkmoot_parts::component;

/// Uniform quantisation to `2^bits` levels between the minimum and maximum of a matrix. Sends
/// minimum and step as `f32` per matrix, then the levels.
#[component(name = "Uniform", about = "uniform quantisation with 1 to 16 bits per value")]
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    /// Bits per value.
    #[component(default = 8, in = 1..=16)]
    pub bits: u32,
    /// Rounding to a level.
    pub rounding: Rounding,
    /// Encoding of the levels.
    pub symbols: Symbols,
    /// Error feedback: the sender adds the quantisation error (residual) to its next update. In
    /// rounds the residual includes updates lost in the network, but not those discarded by the
    /// server as late or surplus.
    #[component(default = false)]
    pub feedback: bool,
}

/// Rounding to a level.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest level; halves round up.
    #[default]
    Nearest,
    /// Stochastic and unbiased.
    Stochastic,
}

/// Encoding of the levels.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// Fixed width.
    #[default]
    Fixed,
    /// Adaptive range coder, reset for each message.
    Range,
}

impl Codec for Uniform {
    fn encode(&self, values: &[f32], shapes: &[Shape], rng: &mut SimRng, out: &mut Vec<u8>) {
        let top = ((1_u32 << self.bits) - 1) as f64;
        let mut levels = Vec::with_capacity(values.len());
        for (_, matrix) in matrices(values, shapes) {
            let low = matrix.iter().copied().fold(f32::INFINITY, f32::min);
            let high = matrix.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let (low, high) = if matrix.is_empty() { (0.0, 0.0) } else { (low, high) };
            let step = finite((f64::from(high) - f64::from(low)) / top);
            put_f32(low, out);
            put_f32(step, out);
            levels.extend(matrix.iter().map(|x| {
                let exact = match step {
                    0.0 => 0.0,
                    step => (f64::from(*x) - f64::from(low)) / f64::from(step),
                };
                let level = match self.rounding {
                    Rounding::Nearest => (exact + 0.5).floor(),
                    Rounding::Stochastic => exact.floor() + f64::from(u8::from(unit(rng) < exact - exact.floor())),
                };
                level.clamp(0.0, top) as u32
            }));
        }
        put_symbols(self.symbols, self.bits, levels.into_iter(), out);
    }

    fn decode(&self, mut bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let mut scales = Vec::with_capacity(shapes.len());
        for _ in shapes {
            scales.push((take_f32(&mut bytes)?, take_f32(&mut bytes)?));
        }
        let mut levels = take_symbols(self.symbols, self.bits, n_values(shapes), bytes)?.into_iter();
        let mut values = Vec::with_capacity(levels.len());
        for ([rows, columns], (low, step)) in shapes.iter().zip(scales) {
            let number = |level: u32| finite(f64::from(low) + f64::from(level) * f64::from(step));
            values.extend(levels.by_ref().take(rows * columns).map(number));
        }
        Ok(values)
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        let levels = whole_bytes(n_values(shapes) as u64 * u64::from(self.bits));
        (self.symbols == Symbols::Fixed).then_some(8 * shapes.len() as u64 + levels)
    }

    fn feeds_back(&self) -> bool {
        self.feedback
    }

    fn suits_models(&self) -> bool {
        true
    }

    fn is_random(&self) -> bool {
        self.rounding == Rounding::Stochastic
    }

    fn packs_singly(&self) -> bool {
        self.symbols == Symbols::Fixed
    }
}

/// Appends symbols of `width` bits each.
pub(crate) fn put_symbols(how: Symbols, width: u32, symbols: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    match how {
        Symbols::Fixed => {
            let mut bits = BitWriter::new(out);
            symbols.for_each(|symbol| bits.put(u64::from(symbol), width));
        }
        Symbols::Range => {
            let start = out.len();
            let (mut coder, mut tree) = (Encoder::new(out), Tree::new(width));
            symbols.for_each(|symbol| coder.put(&mut tree, symbol));
            coder.finish(start);
        }
    }
}

/// Reads `n` symbols of `width` bits each, to the end of the bytes.
pub(crate) fn take_symbols(how: Symbols, width: u32, n: usize, bytes: &[u8]) -> Result<Vec<u32>, Damaged> {
    match how {
        Symbols::Fixed => {
            let mut bits = BitReader::new(bytes);
            let symbols: Result<Vec<u32>, Damaged> = (0..n).map(|_| bits.take(width).map(|x| x as u32)).collect();
            bits.finish()?;
            symbols
        }
        Symbols::Range => {
            let (mut coder, mut tree) = (Decoder::new(bytes), Tree::new(width));
            let symbols = (0..n).map(|_| coder.take(&mut tree)).collect();
            coder.finish()?;
            Ok(symbols)
        }
    }
}
