//! The layers of graph networks, one file each: parameters in a [`Layout`](crate::Layout),
//! `forward` on a [`Tape`](crate::Tape).
//!
//! Weights have shape `(n_in, n_out)` and are applied as `x w + b`. A layer's parameters carry its
//! name, such as `conv0.weight`. Graph layers take any [`Adjacency`](crate::Adjacency), already
//! normalised where their formula asks for it:
//!
//! | layer | out | adjacency |
//! |---|---|---|
//! | [`Gcn`] | `S x W + b` | `D^−1/2 (A + I) D^−1/2` |
//! | [`Gin`] | `MLP((1 + ε) x + A x)` | `A` |
//! | [`GraphConv`] | `A x W_rel + x W_root + b` | `A` |
//! | [`Tag`] | `Σ_k S^k x W_k + b` | `D^−1/2 A D^−1/2` |
//! | [`light_gcn`] | `mean of S^l x` | `D^−1/2 A D^−1/2` |
//! | [`Sage`] | `(mean of neighbours) W_l + b + x W_r` | [`Csr::row_means`](crate::Csr::row_means) |
//! | [`Structured`] | `[GIN([h ‖ s]) ‖ tanh(Â s W + b)]` | a [`Csr`](crate::Csr), as `A` |
//! | [`Gat`] | attention over neighbours | a [`Csr`](crate::Csr) with self loops |

mod attention;
mod batch_norm;
mod gat;
mod gcn;
mod gin;
mod graph_conv;
mod layer_norm;
mod light_gcn;
mod linear;
mod lstm;
mod readout;
mod sage;
mod structured;
mod tag;
#[cfg(test)]
mod tests;

pub use attention::{Attended, MultiHeadAttention};
pub use batch_norm::{BatchNorm, Mode};
pub use gat::{Gat, Heads};
pub use gcn::Gcn;
pub use gin::Gin;
pub use graph_conv::GraphConv;
pub use layer_norm::LayerNorm;
pub use light_gcn::light_gcn;
pub use linear::Linear;
pub use lstm::{Direction, Lstm};
pub use readout::Readout;
pub use sage::Sage;
pub use structured::Structured;
pub use tag::Tag;
