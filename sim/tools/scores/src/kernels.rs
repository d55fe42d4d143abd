//! The loops in which the time goes, in safe code that vectorises, compiled for several instruction
//! sets.
//!
//! The rule is that of the kernels of learning: a result has the same bits on every CPU with FMA.
//! Every product that is added is one `mul_add`, and a sum over a row runs over [`LANES`] partial
//! sums that are folded in one order. [`dots`] has the bits of a plain loop instead: there the
//! lanes are of other vectors.

mod dense;
mod logistic;
mod tsne;

pub(crate) use dense::{add_scaled, dot, dots, rotate};
pub(crate) use logistic::{add_scaled_rows, row_products};
pub(crate) use tsne::{FAR, Forces, forces};

/// How many partial sums a sum of products has: element `i` goes to partial sum `i % LANES`.
pub(crate) const LANES: usize = 16;

/// The sum of the partial sums, halves first.
#[inline(always)]
fn fold(mut sums: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}
