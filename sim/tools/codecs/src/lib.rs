//! Codecs: how numbers that are learned become bytes, and what of them comes out again.
//!
//! A [`Codec`] is a part that a card names, such as `protocol: (uplink_codec: TopK(share: 0.01))`.
//! It takes matrices as one vector, row after row, and gives whole bytes; what is counted of a
//! message is what was written. Encoders draw from the stream they are given, decoders from
//! nothing, so a message means the same wherever it is read.
//!
//! What an encoder leaves out is lost, unless its sender keeps it and adds it to what it sends next
//! ([`feedback`]).
//!
//! ```
//! use folkmoot_codecs::{Codec, Qsgd};
//! use folkmoot_draws::{Purpose, Streams};
//!
//! let values = [0.5, -0.25, 0.0, 1.0];
//! let mut bytes = Vec::new();
//! let codec = Qsgd { levels: 4, ..Qsgd::default() };
//! codec.encode(&values, &[[2, 2]], &mut Streams::new(1).global(Purpose(*b"example ")), &mut bytes);
//! // A norm, and four symbols of four bits each.
//! assert_eq!(bytes.len(), 4 + 2);
//! assert_eq!(codec.decode(&bytes, &[[2, 2]])?.len(), 4);
//! # Ok::<(), folkmoot_codecs::Damaged>(())
//! ```

mod bits;
mod float;
mod low_rank;
mod qsgd;
mod range;
mod sign;
mod sparse;
#[cfg(test)]
mod tests;
mod uniform;

pub use bits::{BitReader, BitWriter};
pub use float::{Bfloat, Half, Plain};
pub use low_rank::LowRank;
pub use qsgd::{Levels, Qsgd};
pub use sign::Sign;
pub use sparse::{Positions, RandomK, TopK};
pub use uniform::{Rounding, Symbols, Uniform};

use folkmoot_draws::SimRng;
use folkmoot_parts::component_type;
use thiserror::Error;

/// Rows and columns of a matrix.
pub type Shape = [usize; 2];

/// How many numbers matrices of these shapes hold.
pub fn n_values(shapes: &[Shape]) -> usize {
    shapes.iter().map(|[rows, columns]| rows * columns).sum()
}

/// Bytes that no encoder has written for matrices of these shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damaged {
    /// They end too early.
    #[error("the encoding ends too early")]
    TooShort,
    /// Some are left over.
    #[error("the encoding has bytes left over")]
    TooLong,
    /// A value breaks a rule of the encoding.
    #[error("{0}")]
    Invalid(&'static str),
}

/// How numbers become bytes.
pub trait Codec: Send + Sync {
    /// Appends the encoding of `values`, which are finite and the entries of matrices of `shapes`,
    /// one after the other, each row by row.
    ///
    /// Whatever is rounded at random is drawn from `rng`.
    fn encode(&self, values: &[f32], shapes: &[Shape], rng: &mut SimRng, out: &mut Vec<u8>);

    /// What the other side reads: one finite number for each that was encoded.
    ///
    /// # Errors
    ///
    /// Where the bytes are not those of an encoding; never a panic, whatever they are.
    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged>;

    /// How many bytes an encoding has, where that does not depend on the numbers.
    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64>;

    /// Whether numbers travel as they are. True of [`Plain`] alone. Default: no.
    fn is_plain(&self) -> bool {
        false
    }

    /// Whether the sender keeps what an encoding leaves out, and adds it to the next. Default: no.
    fn feeds_back(&self) -> bool {
        false
    }

    /// Whether a model may be sent so, and not only the change of one: of a model nothing can be
    /// left out. Default: no.
    fn suits_models(&self) -> bool {
        false
    }

    /// Whether the same numbers are packed otherwise another time. Default: no.
    fn is_random(&self) -> bool {
        false
    }

    /// Whether each number is packed by itself, behind what is common to its matrix: then a few of
    /// them can be sent behind the same. Their number alone says how many bytes they take. Default:
    /// no.
    fn packs_singly(&self) -> bool {
        false
    }

    /// The most that an encoding's mean squared error comes to, as a share of the squared length of
    /// the `n_values` numbers of a matrix, where that is known. Default: it is not.
    fn most_error(&self, _n_values: usize) -> Option<f64> {
        None
    }

    /// What every sender of a round sends alike, where there is such: then what several send can be
    /// added up without being read, and secure aggregation can hide it. Default: nothing.
    fn common(&self, _n_values: usize, _round: u32) -> Option<Common> {
        None
    }
}

/// Which numbers all senders of a round send.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// Where they stand, ascending.
    pub positions: Vec<u32>,
    /// By how much they are multiplied.
    pub scale: f64,
}

component_type!(Codec, "codec", Plain {});

/// Encodes `values` and what `memory` has left of earlier ones, and keeps there what this encoding
/// leaves out: the sum of all that was decoded and of the memory is that of all values, but for
/// rounding.
///
/// An empty memory is one of zeros.
///
/// S. P. Karimireddy, Q. Rebjock, S. Stich, M. Jaggi. Error Feedback Fixes SignSGD and other
/// Gradient Compression Schemes. ICML 2019, algorithm 2. <https://arxiv.org/abs/1901.09847>
///
/// # Panics
///
/// If memory and values have different lengths.
pub fn feedback(
    codec: &dyn Codec,
    values: &[f32],
    memory: &mut Vec<f32>,
    shapes: &[Shape],
    rng: &mut SimRng,
    out: &mut Vec<u8>,
) {
    memory.resize(if memory.is_empty() { values.len() } else { memory.len() }, 0.0);
    assert_eq!(memory.len(), values.len(), "a memory has a number for each value");
    remember(memory, values, 1.0);
    let start = out.len();
    codec.encode(memory, shapes, rng, out);
    let sent = codec
        .decode(&out[start..], shapes)
        .expect("what was encoded can be read");
    remember(memory, &sent, -1.0);
}

/// Adds values times a sign to a memory, which stays finite: where a training diverges, what is
/// kept may grow beyond the greatest number.
pub fn remember(memory: &mut [f32], values: &[f32], sign: f32) {
    for (kept, x) in memory.iter_mut().zip(values) {
        *kept = (*kept + sign * x).clamp(f32::MIN, f32::MAX);
    }
}

/// The matrices of a vector, each with its shape.
fn matrices<'a>(values: &'a [f32], shapes: &'a [Shape]) -> impl Iterator<Item = (Shape, &'a [f32])> {
    let mut rest = values;
    shapes.iter().map(move |&[rows, columns]| {
        let (matrix, after) = rest.split_at(rows * columns);
        rest = after;
        ([rows, columns], matrix)
    })
}

/// The nearest `f32`, and the greatest finite one beyond them.
fn finite(x: f64) -> f32 {
    (x as f32).clamp(f32::MIN, f32::MAX)
}
