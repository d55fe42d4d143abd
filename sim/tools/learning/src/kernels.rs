//! The loops in which the time goes, in safe code that vectorises, compiled for several instruction
//! sets.
//!
//! One rule holds here: a result has the same bits on every CPU with FMA. Every product that is
//! added is one `mul_add`. A sum into an element of a matrix is one ascending chain; a sum over a
//! row runs over [`LANES`] partial sums that are folded in one order, whatever the width of the
//! registers. Nothing here allocates, draws or knows what its numbers mean.

pub(crate) mod elementwise;
pub(crate) mod functions;
pub(crate) mod moments;
pub(crate) mod perspectives;
pub(crate) mod product;
pub(crate) mod recurrent;
pub(crate) mod row;
mod skip_gram;
pub(crate) mod sparse;

pub(crate) use skip_gram::{MAX_OUTPUTS, Output, Scratch, Step, add, step};

/// How many partial sums a sum of products has: element `i` goes to partial sum `i % LANES`.
pub(crate) const LANES: usize = 16;

/// The sum of the partial sums, halves first.
#[inline(always)]
fn fold(mut sums: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}
