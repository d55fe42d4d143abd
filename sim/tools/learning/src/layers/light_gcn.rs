//! Propagation without weights.
//!
//! X. He et al. LightGCN: Simplifying and Powering Graph Convolution Network for Recommendation.
//! SIGIR 2020, equations 3 and 4.

use crate::{Adjacency, Tape, Var};

/// The mean of `S^l x` for `l` in `0..=n_layers`, with `S = D^−1/2 A D^−1/2`: nothing in it learns.
pub fn light_gcn<'g>(tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var, n_layers: usize) -> Var {
    let (mut moved, mut sum) = (x, x);
    for _ in 0..n_layers {
        moved = tape.propagate(adjacency, moved);
        sum = tape.add(sum, moved);
    }
    tape.scale(1.0 / (n_layers as f32 + 1.0), sum)
}
